"""What a stock profiler cannot see of a program with Cython in it, by Python version: measured, not read."""

from __future__ import annotations


def blind_spots(engine: str, python: tuple[int, ...], with_cython: bool) -> str:
    """One sentence on what the combination cannot see."""
    version = ".".join(map(str, python[:2]))
    command = "lines" if engine == "line_profiler" else "stats"
    if python[:2] == (3, 12) and with_cython:
        name = "line_profiler" if engine == "line_profiler" else "cProfile"
        return (
            f"On Python 3.12 {name} sees nothing of Cython at all: {name} listens to sys.monitoring, and Cython can only speak "
            f"to that from 3.13 on; leave out --engine, and cyprof {command} sees all of it."
        )
    if engine == "line_profiler":
        more = "prange loops and other threads" if python[:2] < (3, 12) else "prange loops and lines that raise"
        return (
            f"On Python {version} line_profiler sees def and cpdef functions that are Python objects, and not cdef functions, "
            f"properties and special methods of cdef classes, closures, {more}; leave out --engine to see them."
        )
    if python[:2] < (3, 12):
        return (
            f"On Python {version} cProfile sees the thread it was started in, and not other threads, prange workers, and calls "
            "of C functions made from Cython; leave out --engine to see them."
        )
    return (
        f"On Python {version} cProfile sees Python and Cython functions, and not calls of C functions made from Cython, and it "
        "mixes the stacks of threads; leave out --engine to see them."
    )
