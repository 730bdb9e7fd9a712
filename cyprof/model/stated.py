"""What profilers state that know callers and callees, and no call paths: the content of a pstats file, as a call tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .calltree import NO_PARENT, CallTree
from .function import Function

Key = tuple[str, int, str]
"""File, line and name, by which pstats knows a function."""
LineTimings = dict[Key, list[tuple[int, int, int]]]
"""line_profiler's own form: (line, hits, time) by (file, first line, name)."""

_METHOD = re.compile(r"<(?:method|slot wrapper) '(.+)' of '(.+)' objects>")
_BUILTIN = re.compile(r"<built-in (?:method|function) (.+)>")
_LONGEST = 1000
"""Longer names are not taken apart, which could take very long."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What is stated of a function, or of a function as called from one other. Times in seconds, None where calls only were
    counted (by Python's own `profile` module)."""

    calls: int
    primitive_calls: int
    self_s: float | None
    total_s: float | None


@dataclass(slots=True)
class Entry:
    """A function's own figures and its callers."""

    sums: Calls
    callers: dict[Key, Calls] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stated:
    """What a source that knows callers and callees, but no call paths, states of its calls, by node of a tree of two levels.

    In that tree a function's root node stands for its calls from nowhere and holds a child for each function it calls. The
    totals of the children are those of the edges; the root holds what is missing to the function's own total, which is
    negative where recursion makes the edges' times overlap. The same holds for the primitive calls.
    """

    primitive_calls: list[int]
    total_ns: list[int]


@dataclass(frozen=True, slots=True)
class Engine:
    """Another profiler that recorded in the place of the probes: its name, and a sentence on what it cannot see. `timings` are
    those of line_profiler, in units of `unit` seconds."""

    name: str
    blind_spot: str
    timings: LineTimings = field(default_factory=dict)
    unit: float = 1e-9


def from_stats(stats: dict[Key, Entry], function_of: Callable[[int, Key], Function]) -> tuple[list[Function], CallTree, Stated]:
    """What a Profile is made of, from the figures of each function and of its calls from each caller. Self time, total time and
    calls of functions and edges are those stated, to the nanosecond; times below zero count as 0.

    The functions are those of `stats`, in its order, then callers that are not in it. `function_of` makes one of its id and
    key; it is not asked for those of C. Raises ValueError where callers call a function more often than it is called.
    """
    keys = list(dict.fromkeys([*stats, *(caller for entry in stats.values() for caller in entry.callers)]))
    functions = [_c_function(number, key[2]) if _is_of_c(key) else function_of(number, key) for number, key in enumerate(keys)]
    rows = _Rows(stats, {key: number for number, key in enumerate(keys)})
    return functions, rows.tree, Stated(rows.primitive_calls, rows.total_ns)


def _is_of_c(key: Key) -> bool:
    return key[0] in ("~", "") and key[1] == 0


def _c_function(number: int, name: str) -> Function:
    module, short = _module_and_name(name)
    return Function(number, module, short, "", 0, "builtin", language="c")


def _module_and_name(name: str) -> tuple[str, str]:
    """Module and qualified name of a C function from the name cProfile gives it."""
    method = _METHOD.fullmatch(name) if len(name) <= _LONGEST else None
    if method:
        module, _, owner = method[2].rpartition(".")
        return module or "builtins", f"{owner}.{method[1]}"
    function = _BUILTIN.fullmatch(name)
    if not function:
        return "builtins", name
    module, _, short = function[1].rpartition(".")
    return (module, short) if module.replace(".", "").isidentifier() else ("builtins", function[1])


def _ns(seconds: float | None) -> int:
    return max(0, round((seconds or 0.0) * 1e9))


@dataclass(slots=True)
class _Left:
    """What of a function's figures its callers do not account for."""

    calls: int = 0
    primitive_calls: int = 0
    self_ns: int = 0
    total_ns: int = 0


@dataclass
class _Rows:
    """The tree, with the primitive calls and total time of each node."""

    stats: dict[Key, Entry]
    numbers: dict[Key, int]
    tree: CallTree = field(default_factory=CallTree)
    primitive_calls: list[int] = field(default_factory=list)
    total_ns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        left = {key: self._left(key, entry) for key, entry in self.stats.items()}
        calling = {caller for entry in self.stats.values() for caller in entry.callers}
        roots: dict[Key, int] = {}
        for key in self.numbers:
            rest = left.get(key, _Left())
            if key in calling or rest != _Left() or not self.stats[key].callers:
                roots[key] = self._add(NO_PARENT, key, rest.calls, rest.primitive_calls, rest.self_ns, rest.total_ns)
        for key, entry in self.stats.items():
            own_times = self._own_times(entry)
            for caller, calls in entry.callers.items():
                total = _ns(calls.total_s)
                self._add(roots[caller], key, calls.calls, calls.primitive_calls, own_times[caller], total)

    def _add(self, parent: int, key: Key, calls: int, primitive_calls: int, self_ns: int, total_ns: int) -> int:
        self.primitive_calls.append(primitive_calls)
        self.total_ns.append(total_ns)
        return self.tree.add(parent, self.numbers[key], calls=calls, self_ns=self_ns)

    def _left(self, key: Key, entry: Entry) -> _Left:
        called = sum(calls.calls for calls in entry.callers.values())
        if called > entry.sums.calls:
            raise ValueError(f"{key[2][:80]} is called {called:,} times by its callers and {entry.sums.calls:,} times at all")
        # A call of itself is under another call of the same function: neither primitive nor time of its own.
        others = [calls for caller, calls in entry.callers.items() if caller != key]
        return _Left(
            entry.sums.calls - called,
            entry.sums.primitive_calls - sum(calls.primitive_calls for calls in others),
            _ns(entry.sums.self_s) - sum(self._own_times(entry).values()),
            _ns(entry.sums.total_s) - sum(_ns(calls.total_s) for calls in others),
        )

    @staticmethod
    def _own_times(entry: Entry) -> dict[Key, int]:
        """Self time by caller, together never more than the function's: rounding may make them so."""
        left = _ns(entry.sums.self_s)
        own_times = {}
        for caller, calls in entry.callers.items():
            own_times[caller] = own = min(_ns(calls.self_s), left)
            left -= own
        return own_times
