"""Builds and runs small programs for the tests of cyprof.build, each in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from folders import listing

__all__ = ["ROOT", "Bench", "Built", "listing", "write"]

ROOT = Path(__file__).resolve().parents[2]

_BUILD = """
import json, sys
from types import SimpleNamespace
from cyprof.build import build_loose
from cyprof.build.modules import find_sources
from cyprof.cython.hook import ProbeOptions
from cyprof.errors import BuildError
script, lines = sys.argv[1], sys.argv[2] == "lines"
path = [script.rpartition("/")[0], *sys.path[1:]]
said = []
try:
    sources = find_sources(SimpleNamespace(script=script, module=None, code=None), path)
    overlay = build_loose(sources, ProbeOptions(lines=lines), said.append, path).to_json()
    error = None
except BuildError as caught:
    overlay, error = None, [caught.message, caught.hint, caught.log]
imported = [name for name in ("Cython", "setuptools", "numpy") if name in sys.modules]
print(json.dumps({"overlay": overlay, "said": said, "error": error, "imported": imported}))
"""

_RUN = """
import json, sys
script, overlay, build_missing = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "build"
sys.path[0] = script.rpartition("/")[0]
from cyprof.build import Overlay
from cyprof.build import overlay as finder
finder.install(Overlay.from_json(overlay), build_missing=build_missing)
exec(compile(open(script).read(), script, "exec"), {"__name__": "__main__", "__file__": script})
print("loaded", *finder.loaded())
"""


@dataclass
class Built:
    """What a build gave: `overlay` as JSON or `error` as [message, hint, log], and the progress lines."""

    overlay: dict[str, Any] | None
    said: list[str]
    error: list[str] | None
    imported: list[str]

    def entry(self, module: str) -> dict[str, Any]:
        assert self.overlay is not None, self.error
        entry = self.overlay["modules"][module]
        assert isinstance(entry, dict)
        return entry


class Bench:
    """A folder for programs and a cache that builds may share."""

    def __init__(self, cache: Path, python: str = sys.executable) -> None:
        self.cache = cache
        self.python = python

    def environ(self, **more: str) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("CYPROF_")}
        return {**plain, "PYTHONPATH": str(ROOT), "CYPROF_CACHE_DIR": str(self.cache), **more}

    def start(self, script: Path, lines: bool = False, cwd: Path | None = None, **more: str) -> subprocess.Popen[str]:
        command = [self.python, "-c", _BUILD, str(script), "lines" if lines else ""]
        return subprocess.Popen(command, env=self.environ(**more), cwd=cwd or script.parent, stdout=subprocess.PIPE, text=True)

    def build(self, script: Path, lines: bool = False, cwd: Path | None = None, **more: str) -> Built:
        return self.finish(self.start(script, lines, cwd, **more))

    def finish(self, process: subprocess.Popen[str]) -> Built:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        return Built(**json.loads(output.splitlines()[-1]))

    def run(
        self, script: Path, overlay: dict[str, Any] | None, build_missing: bool = False, **more: str
    ) -> subprocess.CompletedProcess[str]:
        empty: dict[str, Any] = {"modules": {}, "probes": {}, "skipped": {}, "notes": []}
        command = [
            self.python,
            "-c",
            _RUN,
            str(script),
            json.dumps(overlay or empty),
            "build" if build_missing else "",
        ]
        return subprocess.run(
            command,
            env=self.environ(**more),
            cwd=script.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def output(self, script: Path, **more: str) -> list[str]:
        """Builds and runs a program and returns the lines it printed, the modules it loaded last."""
        built = self.build(script, **more)
        assert built.overlay is not None, built.error
        done = self.run(script, built.overlay, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes a tree of files and returns its main.py."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "main.py"
