"""How often `cyprof diff` is right: about a program held against itself, and about one slow-down of 10 %.

    python benchmarks/diff_rates.py [TRIES [RUNS [PERCENT]]]        (20, 5 and 10 when left out)

A small program of fixed work stands in for a large one. Each try records it RUNS times in turns with a twin that is the
same, and with one in which a Cython function does PERCENT more work. Wanted in 19 tries of 20: no change named between
twins, and the slow function named and ranked first.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cyprof.collect import RecordOptions
from cyprof.collect.rounds import in_rounds
from cyprof.target import Target, side_targets
from cyprof.view import ViewOptions
from cyprof.view.compare import Ratio, Side, compare

WORK = """
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
cdef double chain(Py_ssize_t n, double x) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        x = x * 1.0000001 + 1e-9 / (x + 1.0)
    return x

def series(Py_ssize_t n):
    cdef double x = 1
    cdef Py_ssize_t i
    for i in range(40):
        x += chain(n, 1.0 + i)
    return x

def mixing(Py_ssize_t n):
    cdef Py_ssize_t i
    cdef unsigned long s = 1
    for i in range(n):
        s = s * 6364136223846793005UL + 1442695040888963407UL
        s ^= s >> 17
    return s

def boxed(list values):
    total = 0
    for value in values:
        total += value * 3
    return total

cdef double roots(double[::1] values) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(values.shape[0]):
        total += values[i] / (1.0 + values[i] * values[i])
    return total

def rooted(double[::1] values, int times):
    cdef double total = 0
    for _ in range(times):
        total += roots(values)
    return total
"""
PROGRAM = """
import numpy as np
import work

def squares(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

def product(a):
    return a.dot(a).sum()

def main():
    boxes = list(range(60000))
    a, values = np.ones((300, 300)), np.linspace(0, 1, 50000)
    for _ in range(12):
        work.series(3000)
        work.mixing({mixing})
        work.boxed(boxes)
        work.rooted(values, 60)
        squares(50000)
        for _ in range(3):
            product(a)

main()
"""
STEPS = 3_000_000
SLOWED = "mixing"


def write(folder: Path, steps: int) -> str:
    """A copy of the program, as an operand of the command."""
    folder.mkdir()
    (folder / "work.pyx").write_text(WORK.lstrip())
    (folder / "program.py").write_text(PROGRAM.format(mixing=steps))
    return str(folder / "program.py")


def quiet(text: str) -> None:
    """Progress that nobody looks at."""
    del text


@dataclass
class Try:
    """What was said in one try: changes named between twins; the slow function's rank among the changes (0 when it was not
    called slower) and ratio; other changes named beside it."""

    alarms: list[str]
    rank: int
    ratio: Ratio
    others: list[str]


def attempt(sides: Sequence[Sequence[Target]], runs: int) -> Try:
    """Records the three programs in turns and compares the first with each other one."""
    taken = in_rounds(sides, runs, RecordOptions(silent=True), quiet)
    before, twin, slow = (Side(name, one.profiles) for name, one in zip(("before", "twin", "slow"), taken, strict=True))
    same, changed = compare(before, twin, ViewOptions()), compare(before, slow, ViewOptions())
    named = [row for row in changed.rows if row.verdict != "same"]
    found = next((rank for rank, row in enumerate(named, 1) if row.title == SLOWED and row.change == "slower"), 0)
    ratio = next(row.ratio for row in changed.rows if row.title == SLOWED)
    assert ratio is not None
    alarms = [row.title for row in same.rows if row.verdict != "same"] + ["the pace"] * (same.pace_change != "same")
    return Try(alarms, found, ratio, [row.title for row in named if row.title != SLOWED])


def main() -> None:
    words = [int(word) for word in sys.argv[1:]]
    tries, runs, percent = (*words, *(20, 5, 10)[len(words) :])
    # A second thread of the matrix product would wait for whatever else the machine does.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    done: list[Try] = []
    print(f"Python {sys.version.split()[0]}, {runs} runs a side, {SLOWED} slowed by {percent} %\n")
    print(f"{'try':>3}  {'twins':<20}  {f'{SLOWED}: rank, ratio':<24}  {'others named':<20}  {'time':>6}  load", flush=True)
    with tempfile.TemporaryDirectory() as name:
        steps = (("before", STEPS), ("twin", STEPS), ("slow", STEPS * (100 + percent) // 100))
        operands = [write(Path(name) / side, count) for side, count in steps]
        sides = [side_targets(operand, (), "cyprof diff") for operand in operands]
        in_rounds(sides, 1, RecordOptions(silent=True), quiet)  # builds
        for number in range(1, tries + 1):
            start = time.perf_counter()
            one = attempt(sides, runs)
            done.append(one)
            found = f"{one.rank or 'not found'}, {one.ratio.value:.2f} ({one.ratio.low:.2f}-{one.ratio.high:.2f})"
            print(f"{number:>3}  {', '.join(one.alarms) or 'alike':<20}  {found:<24}  {', '.join(one.others) or '-':<20}  "
                  f"{time.perf_counter() - start:>4.0f} s  {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    least = math.ceil(tries * 19 / 20)
    print(f"\ntwins alike in every function:  {sum(not one.alarms for one in done)} of {tries}  (wanted: {least})")
    print(f"slowed function found, named:   {sum(one.rank > 0 for one in done)} of {tries}  (wanted: {least})")
    print(f"slowed function ranked first:   {sum(one.rank == 1 for one in done)} of {tries}  (wanted: {least})")


if __name__ == "__main__":
    main()
