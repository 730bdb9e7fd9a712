"""How often `cyprof diff` is right: about a program held against itself, and about one slow-down of 10 %.

    python benchmarks/diff_rates.py [TRIES [RUNS [PERCENT]]]        (20, 5 and 10 when left out)

A small program of fixed work stands in for a large one. Each try records it RUNS times in turns with a twin that is the
same, and with one in which a Cython function does PERCENT more work. Wanted in 19 tries of 20: no change named between
twins, and the slow function named and ranked first.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from cyprof.collect import RecordOptions
from cyprof.collect.rounds import in_rounds
from cyprof.target import side_targets
from cyprof.view import ViewOptions
from cyprof.view.compare import Side, compare

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


def main() -> None:
    words = [int(word) for word in sys.argv[1:]]
    tries, runs, percent = (*words, *(20, 5, 10)[len(words) :])
    silent, found, first, named = 0, 0, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = (("before", STEPS), ("twin", STEPS), ("slow", STEPS * (100 + percent) // 100))
        operands = [write(folder / side, count) for side, count in steps]
        sides = [side_targets(operand, (), "cyprof diff") for operand in operands]
        options = RecordOptions(silent=True)
        in_rounds(sides, 1, options, quiet)  # builds
        for number in range(tries):
            start = time.perf_counter()
            before, twin, slow = (Side(*side) for side in zip(
                ("before", "twin", "slow"), (taken.profiles for taken in in_rounds(sides, runs, options, quiet)),
                strict=True))  # fmt: skip
            same, changed = compare(before, twin, ViewOptions()), compare(before, slow, ViewOptions())
            alarms = [row.title for row in same.rows if row.verdict != "same"] + ["the pace"] * (same.pace_change != "same")
            ranked = [row for row in changed.rows if row.verdict != "same"]
            silent += not alarms
            found += any(row.title == SLOWED and row.change == "slower" for row in ranked)
            first += bool(ranked) and ranked[0].title == SLOWED
            named += alarms
            ratio = next(row.ratio for row in changed.rows if row.title == SLOWED)
            assert ratio is not None
            others = [row.title for row in ranked if row.title != SLOWED]
            paces = [pace for side in changed.paces for pace in side]
            print(f"try {number + 1}: twins {alarms or 'alike'}; {SLOWED} {ratio.value:.3f} "
                  f"({ratio.low:.3f}-{ratio.high:.3f}), others: {others or 'none'}; paces {min(paces):.2f}-{max(paces):.2f}; "
                  f"{time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip
    print(f"Python {sys.version.split()[0]}, {runs} runs a side, slowed by {percent} %")
    print(f"twins called the same in every function: {silent} of {tries}{f' (named: {named})' if named else ''}")
    print(f"slowed function found: {found} of {tries}, ranked first: {first} of {tries}")


if __name__ == "__main__":
    main()
