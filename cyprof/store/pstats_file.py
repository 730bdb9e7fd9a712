"""A pstats file, as cProfile, `profile` and others write it, as a Profile.

It holds each function's figures and those of its calls from each caller, and no call paths. So the tree has two levels: a
function's root stands for what no caller accounts for, its children are the calls it makes, with the figures of the edge. Self
time, total time and calls of functions and edges are those of the file, to the nanosecond.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..model import NO_PARENT, CallTree, Function, Kind, Profile, Run, Stated
from .marshalled import Entry, Key, MarshalError, read_stats

SUFFIXES = (".prof", ".pstats", ".pstat")
LARGEST = 1 << 24
"""No more bytes than this are read: some 400,000 calls of one function by another, as cProfile writes them."""

_CYTHON_FILES = (".pyx", ".pxd", ".pxi")
_LIBRARY = re.compile(r"^.*[/\\](?:site-packages|dist-packages|lib(?:64)?[/\\]python\d+\.\d+t?)[/\\](.+)$", re.S)
_FROZEN = re.compile(r"<frozen ([\w.]+)>")
_METHOD = re.compile(r"<method '(.+)' of '(.+)' objects>")
_LONGEST = 1000
"""Longer names are not taken apart, which could take very long."""
_BUILTIN = re.compile(r"<built-in (?:method|function) (.+)>")


def stats_profile(data: bytes, path: Path) -> Profile:
    """The profile that a pstats file holds. What it cannot tell is left out: call paths, threads, lines, waiting. A function's
    language is told from its file, and its kind is `python` where the file says nothing. Raises MarshalError."""
    stats = read_stats(data)
    keys = list(dict.fromkeys([*stats, *(caller for entry in stats.values() for caller in entry.callers)]))
    functions = _functions(keys)
    rows = _Rows(stats, {key: number for number, key in enumerate(keys)})
    times = [_ns(entry.sums.self_s) for entry in stats.values()]
    return Profile(
        run=Run(target=str(path), clock="", wall_ns=sum(times)),
        functions=functions,
        tree=rows.tree,
        stated=Stated(rows.primitive_calls, rows.total_ns),
        notes=_notes(path, stats),
    )


def _notes(path: Path, stats: dict[Key, Entry]) -> list[str]:
    sums = [calls for entry in stats.values() for calls in (entry.sums, *entry.callers.values())]
    notes = [f"{path.name} is a pstats file: it tells who calls whom, not along which path, and no kinds, threads or lines."]
    if any(calls.total_s is None for calls in sums):
        notes.append("It does not tell the time of each caller's calls: arrows show 0 s.")
    negative = sum((calls.self_s or 0) < 0 or (calls.total_s or 0) < 0 for calls in sums)
    if negative:
        notes.append(f"It holds {negative:,} times below zero, which are shown as 0 s.")
    return notes


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
            raise MarshalError(f"{key[2][:80]} is called {called:,} times by its callers and {entry.sums.calls:,} times at all")
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


def _functions(keys: list[Key]) -> list[Function]:
    modules = _modules({file for file, _, _ in keys})
    functions = []
    for number, (file, line, name) in enumerate(keys):
        if file in ("~", "") and line == 0:
            module, short = _builtin(name)
            functions.append(Function(number, module, short, "", 0, "builtin", language="c"))
            continue
        kind: Kind = "module" if name == "<module>" else "python"
        language: Literal["cython", "python"] = "cython" if file.lower().endswith(_CYTHON_FILES) else "python"
        functions.append(Function(number, modules[file], name, file, line, kind, language=language))
    return functions


def _builtin(name: str) -> tuple[str, str]:
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


def _modules(files: set[str]) -> dict[str, str]:
    """By file the name of its module, as far as its path tells: whole for an installed one, else the file's own name, with
    its folder where two files share it."""
    names: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    for file in files:
        frozen, library = _FROZEN.fullmatch(file), _LIBRARY.search(file)
        if frozen or file.startswith("<"):
            names[file] = frozen[1] if frozen else file
            continue
        parts = [part for part in re.split(r"[/\\]", library[1] if library else file) if part]
        parts = [*parts[:-1], re.sub(r"\.\w+$", "", parts[-1])] if parts else [file]
        paths[file] = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
        if library:
            names[file] = ".".join(paths[file])
    shared = Counter(parts[-1] for file, parts in paths.items() if file not in names)
    for file, parts in paths.items():
        names.setdefault(file, ".".join(parts[-2:] if shared[parts[-1]] > 1 else parts[-1:]))
    return names
