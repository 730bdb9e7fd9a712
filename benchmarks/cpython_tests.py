"""CPython's own tests of profilers, tracers, threads and forks, without cyprof and under it: which results differ.

    python benchmarks/cpython_tests.py [TEST ...]

The tests come with the interpreter that runs this (its `test` package; some distributions leave it out). Prints each test that
ends otherwise under cyprof, with what it said, and a line of sums. Exit code 1 when a difference is not among the known ones,
which docs/reliability.md explains.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = ("test_sys_setprofile", "test_sys_settrace", "test_threading", "test_fork1", "test_monitoring", "test_cprofile")
KNOWN: dict[str, str] = {}
"""Tests that end otherwise, by the end of their name, and why."""

RESULT = re.compile(r"^(test\w+) \(([\w.]+)\)(?: .*?)?\.\.\. .*?(ok|FAIL|ERROR|skipped.*|expected failure)$", re.M | re.S)


def results(command: list[str], tests: tuple[str, ...], folder: str) -> tuple[dict[str, str], str]:
    """How each test method ended, by its full name, and all that was said."""
    found: dict[str, str] = {}
    said = ""
    for test in tests:
        done = subprocess.run(
            [*command, "-m", "unittest", *(["--"] if "cyprof" in command else []), "-v", f"test.{test}"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=1800,
        )  # fmt: skip
        said += done.stdout
        for block in re.split(r"\n(?=test\w+ \()", done.stdout):
            name = re.match(r"test\w+ \(([\w.]+)\)", block)
            end = re.search(r"\.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped|expected failure)$", block, re.M)
            if name and end:
                found[name[1]] = end[1]
    return found, said


def main(words: list[str]) -> int:
    tests = tuple(words) or TESTS
    tests = tuple(test for test in tests if test != "test_monitoring" or sys.version_info >= (3, 12))
    with tempfile.TemporaryDirectory() as folder:
        plain, _ = results([sys.executable], tests, folder)
        ours, said = results([sys.executable, "-m", "cyprof", "run", "--quiet", "-o", "tests.cyprof"], tests, folder)
    Path("cpython_tests.log").write_text(said, encoding="utf-8")
    other = {name: (end, ours.get(name, "missing")) for name, end in plain.items() if ours.get(name) != end}
    surprises = 0
    for name, (before, now) in sorted(other.items()):
        why = next((reason for ending, reason in KNOWN.items() if name.endswith(ending)), "")
        surprises += not why
        print(f"{name}: {before} without cyprof, {now} under it. {why or 'NOT KNOWN'}")
    print(f"Python {sys.version.split()[0]}: {len(plain)} tests, {len(plain) - len(other)} end alike, {len(other)} otherwise")
    return 1 if surprises or not plain else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
