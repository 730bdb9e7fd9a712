"""Runs cyprof and plain python as a user would, in a folder of small programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """What came of a command. `code` is negative for the signal it died by."""

    code: int
    out: str
    err: str


def environ(**more: str) -> dict[str, str]:
    """The environment without settings of the tester's own that would change what is tested."""
    left_out = ("CYPROF_", "PYTHONWARNINGS", "PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {**plain, "LC_ALL": "C.UTF-8", **more}


def run(command: Sequence[str], folder: Path, stdin: str = "", *, timeout: float = 600, **more: str) -> Done:
    """Runs a command in `folder` to its end; fails after `timeout` seconds."""
    done = subprocess.run(
        command, cwd=folder, env=environ(**more), input=stdin, capture_output=True, encoding="utf-8",
        errors="surrogateescape", check=False, timeout=timeout,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def python(folder: Path, *words: str, stdin: str = "", **more: str) -> Done:
    """`python words` in `folder`."""
    return run([sys.executable, *words], folder, stdin, **more)


def cyprof(folder: Path, *words: str, flags: Sequence[str] = (), stdin: str = "", **more: str) -> Done:
    """`cyprof words` in `folder`, on an interpreter with `flags`."""
    return run([sys.executable, *flags, "-m", "cyprof", *words], folder, stdin, **more)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes a tree of files and returns its folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
