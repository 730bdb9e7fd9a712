"""Runs a program of tests/integration/programs under cyprof and reads the JSON it writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
_HITS = re.compile(r"# hits (\d+)")


class Recording:
    """A profile as JSON, with the questions that tests ask of it. Names are those of the program's own functions."""

    def __init__(self, data: dict[str, Any], folder: Path, stdout: str) -> None:
        self.data = data
        self.folder = folder
        self.stdout = stdout
        self._by_id = {function["id"]: function for function in data["functions"]}

    def functions(self, name: str) -> list[dict[str, Any]]:
        """The functions of that qualified name, those of the program's files and those written in C."""
        own = str(self.folder) + "/"
        found = [f for f in self.data["functions"] if f["name"] == name]
        return [f for f in found if f["file"].startswith(own) or f["kind"] == "builtin"]

    def function(self, name: str) -> dict[str, Any]:
        """The one function of that name."""
        found = self.functions(name)
        assert len(found) == 1, f"{len(found)} functions {name}: {found}"
        return found[0]

    def calls(self, name: str) -> int:
        """Calls of all functions of that name."""
        return sum(f["calls"] for f in self.functions(name))

    def edges(self, caller: str) -> dict[str, int]:
        """Calls by callee, from the program's functions named `caller`."""
        ids = {f["id"] for f in self.functions(caller)}
        found: Counter[str] = Counter()
        for edge in self.data["calls"]:
            if edge["caller"] in ids:
                found[self._by_id[edge["callee"]]["name"]] += edge["calls"]
        return dict(found)

    def hits(self) -> dict[tuple[str, int], int]:
        """Hits by file name and line, over all functions."""
        found: Counter[tuple[str, int]] = Counter()
        for line in self.data["lines"]:
            found[Path(line["file"]).name, line["line"]] += line["hits"]
        return dict(found)

    def calls_by_thread(self, name: str) -> dict[str, int]:
        """Calls of a function by thread name."""
        ids = {f["id"] for f in self.functions(name)}
        names = {t["id"]: t["name"] for t in self.data["threads"]}
        found: Counter[str] = Counter()
        for node in self.data["tree"]:
            if node["function"] in ids:
                found[names[node["thread"]]] += node["calls"]
        return {thread: calls for thread, calls in found.items() if calls}


def record(
    folder: Path, script: str, *, lines: bool, arguments: tuple[str, ...] = (), options: tuple[str, ...] = ()
) -> Recording:
    """Runs one of the programs in a copy of their folder, with line probes or with function probes only."""
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    out = folder / "out.json"
    after = ["--", *arguments] if arguments else []
    if lines:
        done = _cyprof(["lines", script, "-o", str(out), *options, *after], folder)
    else:
        done = _cyprof(["run", script, "-o", "out.cyprof", *options, *after], folder)
        _cyprof(["export", "out.cyprof", "-o", str(out)], folder)
    return Recording(json.loads(out.read_text()), folder, done.stdout)


def _cyprof(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "cyprof", *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def expected_hits(name: str) -> dict[tuple[str, int], int]:
    """What the comments "hits N" of a source say."""
    lines = (PROGRAMS / name).read_text().splitlines()
    return {(name, number): int(match[1]) for number, line in enumerate(lines, 1) if (match := _HITS.search(line))}
