"""cProfile in the process of the program, in the place of the probes' runtime: same calls, another recording."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from cProfile import Profile, label
from types import CodeType
from typing import Any

Key = tuple[str, int, str]

_profile = Profile()
_times = [0, 0, 0, 0]


def hide(prefix: str) -> None:
    """The probes leave out files of cyprof's; none of them runs while cProfile does."""


def start(clock: str, lines: bool, own: Callable[[str], bool] | None) -> None:
    """Takes the time; cProfile itself is switched on around the program, as `python -m cProfile` does."""
    del clock, lines, own
    _times[:2] = time.perf_counter_ns(), time.process_time_ns()


def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Runs the program under cProfile."""
    _profile.enable()
    try:
        exec(code, namespace)
    finally:
        _profile.disable()


def stop() -> dict[str, Any]:
    """What cProfile recorded, in the form of its own files, with the modules that files belong to."""
    _times[2:] = time.perf_counter_ns(), time.process_time_ns()
    return {
        "stats": _stats(),
        "wall_ns": _times[2] - _times[0],
        "cpu_ns": _times[3] - _times[1],
        "modules": modules_by_file(),
    }


def _stats() -> dict[Key, list[Any]]:
    """pstats' form: primitive calls, calls, self and total time, and the same by caller.

    cProfile's own `create_stats` keeps the last where several code objects have one label, as the specialisations of a fused
    function and functions that are made anew do. Here they add up.
    """
    stats: dict[Key, list[Any]] = {}
    entries = _profile.getstats()
    for entry in entries:
        row = stats.setdefault(label(entry.code), [0, 0, 0.0, 0.0, {}])
        _add(row, entry)
    for entry in entries:
        for call in entry.calls or ():
            callers = stats[label(call.code)][4]
            _add(callers.setdefault(label(entry.code), [0, 0, 0.0, 0.0]), call)
    return stats


def _add(row: list[Any], entry: Any) -> None:
    for place, value in enumerate((entry.callcount - entry.reccallcount, entry.callcount, entry.inlinetime, entry.totaltime)):
        row[place] += value


def modules_by_file() -> dict[str, str]:
    """The names of the modules that were imported from Python files, by file."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and isinstance(name, str):
            found.setdefault(file, name)
    return found
