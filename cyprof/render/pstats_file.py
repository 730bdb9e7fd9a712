"""pstats' file, as cProfile writes it: for `python -m pstats`, snakeviz, tuna and gprof2dot.

It is marshalled: a dict from (file, line, name) to (primitive calls, calls, self time, total time, callers), where callers
is a dict from the same keys to (calls, primitive calls, self time, total time). Lib/pstats.py and Modules/_lsprof.c of CPython
say so; note the two orders of the counts. Times are seconds. Call paths have no place in it.
"""

from __future__ import annotations

import marshal

from ..model import Function, Profile
from ..view import ViewOptions
from ..view.names import distinct
from ..view.table import c_name
from ..view.units import visible
from .registry import FOR_OTHER_VIEWERS, renderer

MARSHAL_VERSION = 4  # read by every Python since 3.4
Key = tuple[str, int, str]
Calls = tuple[int, int, float, float]
Entry = tuple[int, int, float, float, dict[Key, Calls]]


@renderer(
    ".prof",
    name="pstats",
    description="for python -m pstats, snakeviz, tuna, gprof2dot -f pstats",
    groups=FOR_OTHER_VIEWERS,
    limits="A pstats file tells who calls whom, not along which path, and has no lines, threads or waiting time.",
)
def pstats_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """All functions that ran. Options do not change it."""
    del options
    return marshal.dumps(pstats_table(profile), MARSHAL_VERSION)


def pstats_table(profile: Profile) -> dict[Key, Entry]:
    """What `pstats.Stats(file).stats` is to be. Times in seconds."""
    keys = function_keys(profile)
    callers: dict[int, dict[Key, Calls]] = {function: {} for function in sorted(set(profile.tree.function))}
    for edge in profile.edges:
        row = (edge.calls, edge.primitive_calls, edge.self_ns / 1e9, edge.total_ns / 1e9)
        callers[edge.callee][keys[edge.caller]] = row
    table: dict[Key, Entry] = {}
    for function, of_function in callers.items():
        times = profile.function_times[function]
        table[keys[function]] = (times.primitive_calls, times.calls, times.self_ns / 1e9, times.total_ns / 1e9, of_function)
    return table


def function_keys(profile: Profile) -> list[Key]:
    """By function id what pstats knows it by. C functions have no file, but a name in cProfile's form. A function that
    shares file, line and name with another gets its module behind its name."""
    places = [_place(function) for function in profile.functions]
    names = distinct(profile.functions, (_name, _name_in_module), lambda function: places[function.id])
    return [(*place, name) for place, name in zip(places, names, strict=True)]


def _place(function: Function) -> tuple[str, int]:
    if function.language == "c":
        return "~", 0
    return visible(function.file or function.module) or "~", function.line


def _name_in_module(function: Function) -> str:
    return f"{_name(function)} [{visible(function.module)}]" if function.module else _name(function)


def _name(function: Function) -> str:
    return f"<{c_name(function)}>" if function.language == "c" else visible(function.name)
