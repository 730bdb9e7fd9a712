"""What a line costs: bare, under cyprof, and under line_profiler on a build with Cython's own line tracing. ns per line.

    python benchmarks/line_cost.py [ROUNDS]

line_profiler is given the nogil lines through a def function that holds them: a cdef function cannot be handed to it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import build, interleaved, median_text, seconds
from line_profiler import LineProfiler

from cyprof.probe import _runtime

# Each round is four lines; the loop's own line is a fifth. The values depend on each other, so that no round is skipped.
SOURCE = """
# cython: cdivision=True
def gil_lines(long n):
    cdef long i = 0
    cdef unsigned long x = 1
    while i < n:
        x = x * 636413622 + 1
        x = x ^ (x >> 7)
        x = x + 3
        i += 1
    return x

def nogil_lines(long n):
    cdef long i = 0
    cdef unsigned long x = 1
    with nogil:
        while i < n:
            x = x * 636413622 + 1
            x = x ^ (x >> 7)
            x = x + 3
            i += 1
    return x
"""
LINES = 5
ROUNDS_OF_LOOP = 400_000
TRACED_ROUNDS = 2_000


def bare(function: Callable[[int], object]) -> float:
    return seconds(lambda: function(ROUNDS_OF_LOOP)) / ROUNDS_OF_LOOP / LINES * 1e9


def under_cyprof(function: Callable[[int], object]) -> float:
    _runtime.start("sampled", True)
    try:
        return bare(function)
    finally:
        _runtime.stop()


def under_line_profiler(function: Callable[[int], object]) -> float:
    profiler = LineProfiler()
    profiler.add_function(function)
    profiler.enable_by_count()
    try:
        return seconds(lambda: function(TRACED_ROUNDS)) / TRACED_ROUNDS / LINES * 1e9
    finally:
        profiler.disable_by_count()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    folder = tempfile.TemporaryDirectory()
    builds = {way: build(Path(folder.name), SOURCE, way) for way in ("bare", "probed_lines", "stock_lines")}
    print(f"Python {sys.version.split()[0]}, median of {rounds} interleaved rounds (least-greatest)")
    print(f"{'':12}{'bare':>20}{'cyprof':>20}{'line_profiler':>30}   cost of cyprof   line_profiler's / cyprof's")
    for name in ("gil_lines", "nogil_lines"):
        functions = {way: getattr(module, name) for way, module in builds.items()}
        figures = interleaved(
            {
                "bare": lambda functions=functions: bare(functions["bare"]),
                "cyprof": lambda functions=functions: under_cyprof(functions["probed_lines"]),
                "line_profiler": lambda functions=functions: under_line_profiler(functions["stock_lines"]),
            },
            rounds,
        )
        own = statistics.median(ours - without for ours, without in zip(figures["cyprof"], figures["bare"], strict=True))
        theirs = statistics.median(
            other - without for other, without in zip(figures["line_profiler"], figures["bare"], strict=True)
        )
        print(
            f"{name:12}{median_text(figures['bare']):>20}{median_text(figures['cyprof']):>20}"
            f"{median_text(figures['line_profiler']):>30}{own:12.2f} ns{theirs / max(own, 0.01):18.0f}"
        )
    folder.cleanup()
    if sys.version_info[:2] == (3, 12):
        print("On 3.12 line_profiler records no Cython line at all: its figures are those of a blind tool.")


if __name__ == "__main__":
    main()
