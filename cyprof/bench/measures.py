"""What one call of a variant does to the machine, measured in the variant's own process."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_PERF_NUMBERS = {"x86_64": 298, "aarch64": 241}
_EVENTS = {"instructions": 1, "branches": 4, "branch misses": 5, "cache misses": 3}
_USAGE_S = 0.8
_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_ROUNDING = {"rtol": 1e-5, "atol": 1e-8}
_DISABLED_USER_ONLY = 1 | 1 << 5 | 1 << 6
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403


class NoCountersError(Exception):
    """The kernel gives no hardware counters; the message says why."""


def arrays(values: Any) -> Iterator[Any]:
    """The arrays among arguments or a result."""
    if hasattr(values, "nbytes") and hasattr(values, "size"):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from arrays(value)


def array_bytes(values: Any) -> int:
    """The bytes of all arrays among values."""
    return sum(int(array.nbytes) for array in arrays(values))


def peak_bytes(call: Callable[[], Any]) -> int:
    """The most bytes a call held at once, as tracemalloc sees them: numpy's arrays and Python's objects."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return max(0, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


def seconds(call: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """How long a call took, the mean of several in s, and how long other programs kept all of them from the processor: that
    is taken off."""
    # The waits are read within the time, or a wait between the two readings would be taken off what does not hold it.
    start = time.perf_counter()
    before = _kept_off_s()
    for _ in range(repeats):
        call()
    kept_off = max(0.0, _kept_off_s() - before)
    wall = time.perf_counter() - start
    kept_off = min(kept_off, wall)
    return (wall - kept_off) / repeats, kept_off


def _kept_off_s() -> float:
    """How long this thread has waited for a processor so far, by the second number of schedstat (Documentation/scheduler/
    sched-stats.rst of Linux); 0 where the kernel does not tell."""
    try:
        return int(_SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def usage(call: Callable[[], Any]) -> tuple[float, float, float]:
    """Page faults, system and user time in s, of one call: the mean of several. Most kernels tell system from user time by
    looks some ms apart, so the calls go on until there were many looks."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    end = time.perf_counter() + _USAGE_S
    times = 0
    while times < 3 or time.perf_counter() < end:
        call()
        times += 1
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = (after.ru_minflt - before.ru_minflt, after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime)
    return spent[0] / times, spent[1] / times, spent[2] / times


def counters(call: Callable[[], Any]) -> dict[str, float]:
    """Hardware counts of one call. Raises NoCountersError where there are none.

    By perf_event_open, as its manual page has it: one event a descriptor, counting this thread in user mode.
    """
    opened = {name: _open(number) for name, number in _EVENTS.items()}
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        for request in (_RESET, _ENABLE):
            for descriptor in opened.values():
                libc.ioctl(descriptor, request, 0)
        call()
        for descriptor in opened.values():
            libc.ioctl(descriptor, _DISABLE, 0)
        return {name: float(struct.unpack("q", os.read(descriptor, 8))[0]) for name, descriptor in opened.items()}
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def _open(event: int) -> int:
    number = _PERF_NUMBERS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise NoCountersError(f"no way to ask for them on {platform.system()} {platform.machine()} is known here")
    attributes = ctypes.create_string_buffer(128)
    struct.pack_into("IIQ", attributes, 0, 0, 128, event)
    struct.pack_into("Q", attributes, 40, _DISABLED_USER_ONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.syscall(number, attributes, 0, -1, -1, 0))
    if descriptor < 0:
        raise NoCountersError(f"the kernel gives no hardware counters ({os.strerror(ctypes.get_errno())})")
    return descriptor


def disagreement(result: Any, first: Any, arguments: Sequence[Any]) -> str:
    """Where a result differs from the first variant's, "" where it does not beyond rounding."""
    import numpy as np

    if not any(True for _ in arrays(first)) or not any(True for _ in arrays(result)):
        return "" if _alike(result, first) else f"it gives {_short(result)}, the first {_short(first)}"
    for mine, other in zip(arrays(result), arrays(first), strict=False):
        if mine.shape != other.shape:
            return f"its result has the shape {mine.shape}, the first's {other.shape}"
        differs = ~np.isclose(np.asarray(mine, float), np.asarray(other, float), equal_nan=True, **_ROUNDING)
        count = int(differs.sum())
        if count:
            place = tuple(int(index) for index in np.argwhere(differs)[0])
            inputs = [array[place] for array in arrays(list(arguments)) if array.shape == mine.shape]
            where = f"where the input is {_short(inputs[0])}" if inputs else f"at {place}"
            values = f"it gives {_short(mine[place])}, the first {_short(other[place])}"
            return f"{count:,} of {mine.size:,} values differ: {where} {values}"
    return ""


def _alike(result: Any, first: Any) -> bool:
    """Whether two results without arrays are the same: numbers beyond rounding, anything else as it compares."""
    if isinstance(result, int | float) and isinstance(first, int | float):
        return math.isclose(result, first, rel_tol=_ROUNDING["rtol"], abs_tol=_ROUNDING["atol"])
    return bool(result == first)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
