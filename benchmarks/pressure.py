"""What large programs ask of cyprof: deep recursion, very many call paths, calls, functions, modules, runs at once.

    python benchmarks/pressure.py [CASE ...] [--seconds N]

Each case is a program that is made, built and recorded as a user would, in a folder and a cache of its own. Prints a table;
exit code 1 when a count is wrong, memory grows, or a run fails. --seconds is how long the case `long run` lasts.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import cyprof

Verdict = tuple[bool, str]


class Place:
    """A folder with a program, and a cold cache beside it."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        self.environ = {**os.environ, "CYPROF_CACHE_DIR": str(folder / "cache")}
        for name, text in files.items():
            (folder / name).write_text(text)

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "cyprof", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *words: str) -> str:
        """Runs cyprof and returns what it wrote to stdout; SystemExit with its words when it fails."""
        process = self.start(*words)
        out, err = process.communicate()
        if process.returncode:
            raise SystemExit(f"cyprof {' '.join(words)}: exit code {process.returncode}\n{err}")
        return out

    def record(self, *args: str) -> cyprof.Profile:
        self.run("run", "prog.py", "-o", "run.cyprof", "--quiet", "--", *args)
        return cyprof.load(self.folder / "run.cyprof")


def calls(profile: cyprof.Profile) -> Counter[str]:
    found: Counter[str] = Counter()
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        found[function.name] += times.calls
    return found


def seconds(start: float) -> str:
    return f"{time.monotonic() - start:.1f} s"


DEEP = """
cdef int down(int n) noexcept nogil:
    return 0 if n == 0 else down(n - 1) + 1
cdef int ping(int n) noexcept nogil:
    return 0 if n == 0 else pong(n - 1) + 1
cdef int pong(int n) noexcept nogil:
    return 0 if n == 0 else ping(n - 1) + 1
def nogil(int n):
    return down(n) + ping(n)
def function(n):
    return 0 if n == 0 else function(n - 1) + 1
"""
DEEP_PROGRAM = """
import sys, threading, deep
def python(n):
    return 0 if n == 0 else python(n - 1) + 1
def main():
    sys.setrecursionlimit(300_000)
    assert deep.nogil(100_000) == 200_000 and deep.function(100_000) == python(100_000) == 100_000
threading.stack_size(1 << 30)
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


def recursion(folder: Path) -> Verdict:
    profile = Place(folder, {"deep.pyx": DEEP, "prog.py": DEEP_PROGRAM}).record()
    found = calls(profile)
    wanted = {"down": 100_001, "function": 100_001, "python": 100_001}
    fine = all(found[name] == count for name, count in wanted.items()) and found["ping"] + found["pong"] == 100_001
    return fine, f"100,000 deep in cdef nogil (alone and in turns), def and Python: {len(profile.tree):,} nodes, counts exact"


PATHS = """
import itertools
def make(number):
    exec(f"def f{number}(path):\\n    if path: return path[0](path[1:])\\n", globals())
    return globals()[f"f{number}"]
functions = [make(number) for number in range(10)]
for path in itertools.product(functions, repeat=6):
    path[0](path[1:])
"""


def paths(folder: Path) -> Verdict:
    start = time.monotonic()
    profile = Place(folder, {"prog.py": PATHS}).record()
    took = seconds(start)
    found = calls(profile)
    fine = all(found[f"f{number}"] == 600_000 for number in range(10)) and len(profile.tree) < 510_000
    said = any("more call paths than are kept apart" in note for note in profile.notes)
    return fine and said, f"1,111,110 paths: {len(profile.tree):,} kept apart, the rest shared and said; counts exact, {took}"


CALLS = """
cdef long step(long n) noexcept nogil:
    return n + 1
def work(long count):
    cdef long i, total = 0
    with nogil:
        for i in range(count):
            total = step(total)
    return total
"""


def many_calls(folder: Path) -> Verdict:
    start = time.monotonic()
    program = "import fast\nassert fast.work(5_000_000_000) == 5_000_000_000\n"
    found = calls(Place(folder, {"fast.pyx": CALLS, "prog.py": program}).record())
    return found["step"] == 5_000_000_000, f"{found['step']:,} calls counted (2**32 is 4,294,967,296), {seconds(start)}"


def functions(folder: Path) -> Verdict:
    count = 5_000
    source = "\n".join(f"cdef int f{i}(int n) noexcept nogil:\n    return n + {i}" for i in range(count))
    source += "\ndef work():\n    cdef long total = 0\n" + "".join(f"    total += f{i}(1)\n" for i in range(count))
    start = time.monotonic()
    place = Place(folder, {"wide.pyx": source + "    return total\n", "prog.py": "import wide\nwide.work()\n"})
    found = calls(place.record())
    took, start = seconds(start), time.monotonic()
    table = place.run("stats", "run.cyprof", "--all")
    rows = sum("wide.pyx:" in line for line in table.splitlines())
    fine = all(found[f"f{i}"] == 1 for i in range(count)) and rows >= count
    return fine, f"one module of 5,000 functions: built and run in {took}, its table of {rows:,} rows in {seconds(start)}"


LONG = """
import sys, threading, time
import fast
def page():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4
def f(n): return fast.work(n)
begin, lasting = time.monotonic(), float(sys.argv[1])
quarter = most = rounds = 0
while time.monotonic() < begin + lasting:
    for _ in range(200): f(1000)
    thread = threading.Thread(target=f, args=(1000,))
    thread.start()
    thread.join()
    rounds += 1
    most = max(most, page())
    if not quarter and time.monotonic() > begin + lasting / 4:
        quarter = most
print(quarter, most, rounds)
"""


def long_run(folder: Path, lasting: float) -> Verdict:
    place = Place(folder, {"fast.pyx": CALLS, "prog.py": LONG})
    out = place.run("run", "prog.py", "-o", "run.cyprof", "--quiet", "--", str(lasting))
    quarter, most, rounds = map(int, out.split())
    found = calls(cyprof.load(folder / "run.cyprof"))
    fine = found["step"] == rounds * 201 * 1000 and most < quarter + 2048
    return fine, (
        f"{lasting:g} s, {found['step']:,} calls, {rounds:,} threads, a part written about every second: "
        f"{quarter:,} kB after a quarter of it, at most {most:,} kB"
    )


def modules(folder: Path) -> Verdict:
    files = {f"m{i}.pyx": f"def f(int n):\n    return n + {i}\n" for i in range(200)}
    program = "".join(f"import m{i}\nm{i}.f(1)\n" for i in range(200))
    start = time.monotonic()
    found = calls(Place(folder, {**files, "prog.py": program}).record())
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return found["f"] == 200, f"200 modules built at once in {seconds(start)}, no process larger than {most} MB"


def races(folder: Path) -> Verdict:
    won = 0
    for number in range(50):
        here = folder / str(number)
        here.mkdir()
        place = Place(here, {"fast.pyx": CALLS, "prog.py": "import fast\nprint(fast.work(10))\n"})
        both = [place.start("run", "prog.py", "-o", f"{which}.cyprof") for which in "ab"]
        outs = [process.communicate()[0] for process in both]
        builds = len(list((here / "cache" / "builds").glob("*/*/manifest.json")))
        counts = [calls(cyprof.load(here / f"{which}.cyprof"))["step"] for which in "ab"]
        won += outs == ["10\n", "10\n"] and counts == [10, 10] and builds == 1
    return won == 50, f"two runs for one cold cache, 50 times: {won} times both were right and it was built once"


CASES: dict[str, Callable[[Path], Verdict]] = {
    "recursion": recursion, "paths": paths, "calls": many_calls, "functions": functions, "modules": modules, "races": races,
}  # fmt: skip


def main() -> int:
    """Prints the table and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}, long run (default: all)")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    good = True
    cases = {**CASES, "long run": functools.partial(long_run, lasting=options.seconds)}
    for name in options.cases or cases:
        with tempfile.TemporaryDirectory() as folder:
            fine, text = cases[name](Path(folder))
        print(f"{name:<10} {'ok   ' if fine else 'WRONG'} {text}", flush=True)
        good &= fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
