"""The flags of the running interpreter, and the path a program gets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cyprof.target import Target, program_path
from cyprof.target.interpreter import first_path_entry, interpreter_flags


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        (["python", "-m", "cyprof", "graph", "-O"], []),
        (["python", "/usr/bin/cyprof", "graph", "-u"], []),
        (["python", "-O", "-u", "-m", "cyprof"], ["-O", "-u"]),
        (["python", "-Obm", "cyprof"], ["-Ob"]),
        (["python", "-X", "dev", "-Wignore", "-W", "error", "x.py"], ["-X", "dev", "-Wignore", "-W", "error"]),
        (["python", "-bX", "importtime", "-c", "pass", "-O"], ["-bX", "importtime"]),
        (["python", "-i", "-qIi", "x.py"], ["-I"]),
        (["python", "--check-hash-based-pycs", "never", "-B", "x.py"], ["--check-hash-based-pycs", "never", "-B"]),
        (["python"], []),
        (["python", "-"], []),
    ],
)
def test_flags(command: list[str], flags: list[str]) -> None:
    assert interpreter_flags(command) == flags


def test_first_path_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("real/a.py", "folder/__main__.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    (tmp_path / "link.py").symlink_to("real/a.py")
    assert first_path_entry(Target("script", "real/a.py")) == str(tmp_path.resolve() / "real")
    assert first_path_entry(Target("script", "link.py")) == str(tmp_path.resolve() / "real")
    assert first_path_entry(Target("script", "folder")) == f"{Path.cwd()}{os.sep}folder"
    assert first_path_entry(Target("module", "a")) == str(Path.cwd())
    assert first_path_entry(Target("code", "pass")) == ""
    assert program_path(Target("code", "pass"))[1:] == sys.path[1:]
