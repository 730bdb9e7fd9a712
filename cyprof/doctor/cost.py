"""What Cython's own tracing costs when nobody listens: measured here with two builds of one small module."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from .result import CallCost

_MODULE = """\
# cython: language_level=3
cdef int _kept = 0

def by_python(x):
    return x

cdef int by_c(int x) except -1:
    global _kept
    _kept = _kept ^ x
    return x

cdef int without_gil(int x) noexcept nogil:
    global _kept
    _kept = _kept ^ x
    return x

# Called through pointers, so that the C compiler keeps the calls.
cdef int (*call_c)(int) except -1
cdef int (*call_without_gil)(int) noexcept nogil
call_c = by_c
call_without_gil = without_gil

def loop_python(int n):
    cdef int i
    for i in range(n):
        by_python(i)

def loop_c(int n):
    cdef int i
    for i in range(n):
        call_c(i)

def loop_without_gil(int n):
    cdef int i
    with nogil:
        for i in range(n):
            call_without_gil(i)
"""
_BUILD = """\
import sys
import setuptools
from Cython.Build import cythonize
from setuptools import Extension
traced = {"profile": True, "linetrace": True}
macros = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1")]
extensions = [
    *cythonize([Extension("plain", ["plain.pyx"])], quiet=True),
    *cythonize([Extension("traced", ["traced.pyx"], define_macros=macros)], compiler_directives=traced, quiet=True),
]
setuptools.setup(name="cost", ext_modules=extensions, script_args=["-q", "build_ext", "--inplace", "-j2"])
"""
# Rounds alternate between the two, and the fastest of each counts: what else the machine does comes on top, never off.
_MEASURE = """\
import json
import sys
import time
sys.path.insert(0, ".")
import plain
import traced
COUNT = 100_000
best = {}
for _ in range(9):
    for module in (plain, traced):
        for name in ("loop_python", "loop_c", "loop_without_gil"):
            loop = getattr(module, name)
            started = time.perf_counter_ns()
            loop(COUNT)
            spent = (time.perf_counter_ns() - started) / COUNT
            key = module.__name__, name
            best[key] = min(spent, best.get(key, spent))
print(json.dumps([list(best.values())[:3], list(best.values())[3:]]))
"""
_PATIENCE = 120.0
DOCUMENTED = CallCost(
    (10.2, 0.6, 0.5),
    (66.1, 16.8, 545.8),
    "measured by cyprof's authors with Cython 3.3.1 and gcc 12 for Python 3.13 on a Linux virtual machine, not here",
)


def call_cost(measure: bool, progress: Callable[[str], None]) -> tuple[CallCost, str]:
    """The cost of a call, measured here or else as documented, and why it could not be measured ("" when it was, or was not to
    be)."""
    if not measure:
        return DOCUMENTED, ""
    progress("measuring what Cython's tracing costs here (--no-measure leaves it out)")
    try:
        with TemporaryDirectory(prefix="cyprof-cost-") as folder:
            return _measured(Path(folder)), ""
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        words = error.stderr.strip().splitlines() if isinstance(error, subprocess.CalledProcessError) and error.stderr else []
        return DOCUMENTED, f"The cost of tracing could not be measured here: {words[-1] if words else error}"


def _measured(folder: Path) -> CallCost:
    for name in ("plain", "traced"):
        (folder / f"{name}.pyx").write_text(_MODULE, encoding="utf-8")
    _python(_BUILD, folder)
    plain, traced = json.loads(_python(_MEASURE, folder).splitlines()[-1])
    return CallCost(
        tuple(plain), tuple(traced), f"measured here, Python {sys.version.partition(' ')[0]}, no profiler listening"
    )


def _python(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=folder, capture_output=True, text=True, check=True, timeout=_PATIENCE
    )
    return done.stdout
