"""coverage and cyprof on one program: coverage reports what it reports alone, and cyprof counts every call."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import cyprof, python, write

import cyprof as product

pytestmark = pytest.mark.every_python

FILES = {
    "helper.py": """
import threading

def work(n):
    found = []
    def inner():
        for i in range(n):
            found.append(i)
        if n < 0:
            found.append(1)
    thread = threading.Thread(target=inner)
    thread.start()
    thread.join()
    return sum(found)
""",
    "prog.py": """
import helper

def branches(n):
    if n > 3:
        return helper.work(n)
    elif n > 100:
        return 1
    return 0

def items():
    yield 1
    yield 2

if __name__ == "__main__":
    for i in range(10):
        branches(i)
    print(sum(items()))
""",
    "test_it.py": "import prog\ndef test_it():\n    assert prog.branches(5) == 10\n",
}
CORES = ["ctrace", "sysmon"] if sys.version_info >= (3, 12) else ["ctrace"]


def measured(folder: Path) -> dict[str, Any]:
    """What coverage says of each file of the program. Run from its sources, cyprof's own files would be among them."""
    done = python(folder, "-m", "coverage", "json", "-q", "-o", "coverage.json")
    assert done.code == 0, done.out + done.err
    files = json.loads((folder / "coverage.json").read_text())["files"]
    return {name: found for name, found in files.items() if name in FILES}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("command", ["run", "lines"])
def test_the_result_of_coverage_is_the_same(tmp_path: Path, core: str, command: str) -> None:
    folder = write(tmp_path, FILES)
    words = ("-m", "coverage", "run", "prog.py")
    assert python(folder, *words, COVERAGE_CORE=core).out == "3\n"
    alone = measured(folder)
    assert set(alone) == {"prog.py", "helper.py"}
    (folder / ".coverage").unlink()
    record = ("run", "-o", "r.cyprof", *(["--lines"] if command == "lines" else []))
    done = cyprof(folder, *record, "-m", "coverage", "--", "run", "prog.py", COVERAGE_CORE=core)
    assert (done.code, done.out) == (0, "3\n"), done.err
    assert measured(folder) == alone
    profile = product.load(folder / "r.cyprof")
    calls = {function.name: times.calls for function, times in zip(profile.functions, profile.function_times, strict=True)}
    assert (calls["branches"], calls["work"], calls["work.<locals>.inner"]) == (10, 6, 6)
    hidden = [note for note in profile.notes if "lines of Python functions were not seen" in note]
    assert bool(hidden) == (command == "lines" and sys.version_info < (3, 12))


def test_pytest_cov(tmp_path: Path) -> None:
    folder = write(tmp_path, FILES)
    words = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--cov=.", "--cov-report=", "test_it.py")
    assert python(folder, "-m", "pytest", *words).code == 0
    alone = measured(folder)
    assert set(alone) == set(FILES)
    (folder / ".coverage").unlink()
    done = cyprof(folder, "run", "-o", "r.cyprof", "-m", "pytest", "--", *words)
    assert done.code == 0, done.out + done.err
    assert measured(folder) == alone
    profile = product.load(folder / "r.cyprof")
    calls = {function.name: times.calls for function, times in zip(profile.functions, profile.function_times, strict=True)}
    assert (calls["test_it"], calls["branches"], calls["work.<locals>.inner"]) == (1, 1, 1)
