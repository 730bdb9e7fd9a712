"""CPython's own tests of profilers, tracers, threads and forks, without cyprof and under it: which results differ.

    python benchmarks/cpython_tests.py [--limit SECONDS] [TEST ...]

The tests come with the interpreter that runs this (its `test` package; some distributions leave it out). Prints how long each
module of them takes, each test that ends otherwise under cyprof, and a line of sums; what the tests said goes to
cpython_tests.log. Tests that begin by asserting that no tool listens to anything are told apart. Exit code 1 when another ends
otherwise, and when a module takes longer than the limit in either run.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import IO

TESTS = ("test_sys_setprofile", "test_sys_settrace", "test_threading", "test_fork1", "test_monitoring", "test_cprofile")
ASSUMED = "self.assertEqual(sys.monitoring.get_events(tool), 0)"
"""What tests of test_monitoring begin with: that no tool listens to anything. One does."""
CUT_OFF = "cut off at the limit"


def results(command: list[str], test: str, folder: str, limit: float) -> tuple[dict[str, str], str]:
    """How each test method of a module ended, by its full name, and all that was said. At the limit the module is ended, with
    all that it started; tests it had not come to are then missing."""
    words = [*command, "-m", "unittest", *(["--"] if "cyprof" in command else []), "-v", f"test.{test}"]
    with subprocess.Popen(
        words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = f"{process.communicate()[0]}\n{CUT_OFF}\n"
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=test\w+ \()", said):
        name = re.match(r"test\w+ \(([\w.]+)\)", block)
        end = re.search(r"\.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped|expected failure)$", block, re.M)
        if name and end:
            found[name[1]] = end[1]
    return found, said


def assume_no_tool(said: str) -> set[str]:
    """The tests that failed at that assumption."""
    failures = [block.partition("\n\n---")[0] for block in said.split(f"\n{'=' * 70}\n")[1:]]
    names = (re.match(r"FAIL: test\w+ \(([\w.]+)\)", text) for text in failures if ASSUMED in text and "in setUp" in text)
    return {name[1] for name in names if name}


def both(test: str, folder: str, limit: float, log: IO[str]) -> tuple[dict[str, str], dict[str, str], set[str], bool]:
    """How the tests of a module end without cyprof and under it, which are known to fail under it, and whether neither run was
    cut off. Prints the times."""
    begun = time.monotonic()
    plain, said = results([sys.executable], test, folder, limit)
    between = time.monotonic()
    ours, said_ours = results([sys.executable, "-m", "cyprof", "run", "--quiet", "-o", "tests.cyprof"], test, folder, limit)
    log.write(said + said_ours)
    whole = CUT_OFF not in said + said_ours
    took = f"{between - begun:.0f} s without cyprof, {time.monotonic() - between:.0f} s under it"
    print(f"{test}: {len(plain)} tests, {took}{'' if whole else ', ' + CUT_OFF}", flush=True)
    return plain, ours, assume_no_tool(said_ours), whole


def main() -> int:
    """Prints the results and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=TESTS, metavar="TEST", help=f"by default {', '.join(TESTS)}")
    parser.add_argument("--limit", type=float, default=1800, metavar="SECONDS", help="of a module's run (default: 1800)")
    options = parser.parse_args()
    # What starts this in the background may have Ctrl-C ignored, and some of the tests wait for one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tests = [test for test in options.tests if test != "test_monitoring" or sys.version_info >= (3, 12)]
    there = Path(sysconfig.get_path("stdlib")) / "test"
    missing = [test for test in tests if not (there / f"{test}.py").exists() and not (there / test).is_dir()]
    if missing:
        raise SystemExit(f"This Python has no {', '.join(missing)}: take one that was installed with its own tests.")
    plain: dict[str, str] = {}
    ours: dict[str, str] = {}
    known: set[str] = set()
    whole = True
    with tempfile.TemporaryDirectory() as folder, Path("cpython_tests.log").open("w", encoding="utf-8") as log:
        for test in tests:
            one, other, expected, complete = both(test, folder, options.limit, log)
            known |= expected
            plain |= one
            ours |= other
            whole &= complete
    differ = {name: (end, ours.get(name, "missing")) for name, end in plain.items() if ours.get(name) != end}
    surprises = {name: ends for name, ends in differ.items() if name not in known}
    for name, (before, now) in sorted(surprises.items()):
        print(f"{name}: {before} without cyprof, {now} under it")
    sums = f"{len(plain) - len(differ)} end alike, {len(known)} begin by asserting that no tool listens"
    print(f"Python {sys.version.split()[0]}: {len(plain)} tests, {sums}, {len(surprises)} end otherwise")
    return 0 if plain and whole and not surprises else 1


if __name__ == "__main__":
    sys.exit(main())
