"""What a call costs: bare, under cyprof, and under cProfile on a build with Cython's own profiling. ns per call.

    python benchmarks/probe_cost.py [ROUNDS]

Every round runs every variant once; compare within a row.
"""

from __future__ import annotations

import cProfile
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import build, interleaved, median_text, seconds

from cyprof.probe import _runtime

SOURCE = """
# cython: cdivision=True
cdef double leaf(double x) except? -1.0:
    return x * 0.5 + 1.0

cdef double leaf_nogil(double x) noexcept nogil:
    return x * 0.5 + 1.0

def leaf_def(double x):
    return x

def cdef_calls(long n):
    cdef long i
    cdef double x = 0.0
    for i in range(n):
        x = leaf(x)
    return x

def nogil_calls(long n):
    cdef long i
    cdef double x = 0.0
    with nogil:
        for i in range(n):
            x = leaf_nogil(x)
    return x

def def_calls(long n):
    cdef long i
    for i in range(n):
        leaf_def(1.0)
"""
CALLS = 200_000
TRACED_CALLS = 20_000


def python_leaf(x: float) -> float:
    return x


def python_calls(n: int) -> None:
    for _ in range(n):
        python_leaf(1.0)


def bare(function: Callable[[int], object]) -> float:
    return seconds(lambda: function(CALLS)) / CALLS * 1e9


def under_cyprof(function: Callable[[int], object]) -> float:
    _runtime.start("sampled")
    try:
        return seconds(lambda: function(CALLS)) / CALLS * 1e9
    finally:
        _runtime.stop()


def under_cprofile(function: Callable[[int], object]) -> float:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        return seconds(lambda: function(TRACED_CALLS)) / TRACED_CALLS * 1e9
    finally:
        profiler.disable()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as folder:
        builds = {way: build(Path(folder), SOURCE, way) for way in ("bare", "probed", "stock")}
    print(f"Python {sys.version.split()[0]}, median of {rounds} interleaved rounds (least-greatest)")
    print(f"{'':12}{'bare':>22}{'cyprof':>24}{'cProfile':>28}   cost of cyprof   cProfile's / cyprof's")
    for name in ("cdef_calls", "nogil_calls", "def_calls", "python_calls"):
        functions = {way: python_calls if name == "python_calls" else getattr(module, name) for way, module in builds.items()}
        figures = interleaved(
            {
                "bare": lambda functions=functions: bare(functions["bare"]),
                "cyprof": lambda functions=functions: under_cyprof(functions["probed"]),
                "cProfile": lambda functions=functions: under_cprofile(functions["stock"]),
            },
            rounds,
        )
        own = statistics.median(ours - without for ours, without in zip(figures["cyprof"], figures["bare"], strict=True))
        theirs = statistics.median(other - without for other, without in zip(figures["cProfile"], figures["bare"], strict=True))
        print(
            f"{name:12}{median_text(figures['bare']):>22}{median_text(figures['cyprof']):>24}"
            f"{median_text(figures['cProfile']):>28}{own:12.1f} ns{theirs / max(own, 0.1):18.0f}"
        )
    if sys.version_info[:2] == (3, 12):
        print("On 3.12 cProfile records no Cython function at all: its figures for them are those of a blind tool.")


if __name__ == "__main__":
    main()
