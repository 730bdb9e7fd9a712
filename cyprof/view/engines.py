"""What three profilers say of one program, side by side, and in words why they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..model import Function, Key, Profile
from .classify import matches, origin_of, probed_packages
from .file_names import file_names
from .options import ViewOptions
from .table import kind_text, row_label

_CLEARLY = 1.25
"""A time this many times that of another is a difference to explain."""
_WORTH_NS = 20_000
"""Smaller differences of times are noise."""
_MOOD = "One run was slower here than the other by more than the profilers cost: a busy machine, a cold file or cache."


@dataclass(frozen=True, slots=True)
class Numbers:
    """Calls and times in ns that a profiler gives a function; None where it gives none."""

    calls: int | None = None
    self_ns: int | None = None
    total_ns: int | None = None


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One function. `reasons` are indices into the table's reasons."""

    label: str
    kind: str
    probes: Numbers
    cprofile: Numbers
    line_profiler: Numbers
    reasons: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EngineTable:
    """Rows by the probes' self time; `reasons` are the sentences that rows refer to, `walls_ns` how long each run
    took, `notes` what else a reader must know."""

    rows: tuple[EngineRow, ...]
    reasons: tuple[str, ...]
    walls_ns: tuple[int, int, int]
    notes: tuple[str, ...] = ()


def engine_table(probes: Profile, cprofile: Profile, line_profiler: Profile, options: ViewOptions) -> EngineTable:
    """The user's functions, and the C functions they call, as the probes, cProfile and line_profiler saw them."""
    facts = _Facts(probes, cprofile, line_profiler)
    reasons: dict[str, int] = {}
    rows = []
    kept = _wanted(probes, options)
    names = file_names(function.file for function in kept)
    for function in kept:
        ours, theirs, lines = facts.numbers(function)
        found = [*facts.calls(function, theirs), *facts.times(function, ours, theirs), *facts.lines(function, lines)]
        places = tuple(reasons.setdefault(reason, len(reasons)) for reason in found)
        rows.append(EngineRow(row_label(function, names), kind_text(function), ours, theirs, lines, places))
    walls = (probes.run.wall_ns, cprofile.run.wall_ns, line_profiler.run.wall_ns)
    others = (("cprofile", cprofile), ("line_profiler", line_profiler))
    notes = tuple(f"{name}: {note}" for name, profile in others for note in profile.notes)
    return EngineTable(tuple(rows), tuple(reasons), walls, notes)


def _wanted(probes: Profile, options: ViewOptions) -> list[Function]:
    """The functions to list, by self time, those of one file and line once."""
    packages = probed_packages(probes)
    own = {f.id for f in probes.functions if origin_of(f, packages) == "own"}
    called = {e.callee for e in probes.edges if e.caller in own and probes.functions[e.callee].language == "c"}
    ran = set(probes.tree.function)
    chosen = [f for f in probes.functions if f.id in ran and (options.everything or f.id in own | called)]
    chosen = [f for f in chosen if not matches(f, options.hide) and (not options.only or matches(f, options.only))]
    chosen.sort(key=lambda f: (-probes.function_times[f.id].self_ns, f.id))
    first: dict[Key, Function] = {}
    for function in chosen:
        first.setdefault(_key(function), function)
    kept = list(first.values())
    return kept if options.top is None else kept[: options.top]


def _key(function: Function) -> Key:
    """What tells a function apart in all three: where it is defined, or its name for one of C's."""
    return (function.file, function.line, "") if function.file else ("", 0, f"{function.module}:{function.name}")


def _sums(profile: Profile, keep: Iterable[int]) -> dict[Key, list[int]]:
    found: dict[Key, list[int]] = defaultdict(lambda: [0, 0, 0])
    for number in keep:
        times, row = profile.function_times[number], found[_key(profile.functions[number])]
        for place, value in enumerate((times.calls, times.self_ns, times.total_ns)):
            row[place] += value
    return found


@dataclass
class _Facts:
    """The three profiles, by function, and what the probes know that explains the others."""

    probes: Profile
    cprofile: Profile
    line_profiler: Profile
    _ours: dict[Key, list[int]] = field(init=False)
    _theirs: dict[Key, list[int]] = field(init=False)
    _lines: dict[Key, list[int]] = field(init=False)
    _from_cython: Counter[Key] = field(init=False)
    _elsewhere: Counter[Key] = field(init=False)
    _resumes: Counter[Key] = field(init=False)
    _calls_c: set[Key] = field(init=False)

    def __post_init__(self) -> None:
        probes, functions = self.probes, self.probes.functions
        self._ours = _sums(probes, sorted(set(probes.tree.function)))
        self._theirs = _sums(self.cprofile, range(len(self.cprofile.functions)))
        self._lines = _sums(self.line_profiler, range(len(self.line_profiler.functions)))
        self._from_cython, self._elsewhere, self._resumes = Counter(), Counter(), Counter()
        self._calls_c = set()
        for edge in probes.edges:
            caller, callee = functions[edge.caller], functions[edge.callee]
            if callee.language == "c" and caller.language == "cython":
                self._from_cython[_key(callee)] += edge.calls
                self._calls_c.add(_key(caller))
        main = min(probes.tree.thread, default=0)
        for node, number in enumerate(probes.tree.function):
            key = _key(functions[number])
            self._resumes[key] += probes.tree.resumes[node]
            if probes.tree.thread[node] != main:
                self._elsewhere[key] += probes.tree.calls[node]

    def numbers(self, function: Function) -> tuple[Numbers, Numbers, Numbers]:
        """What each of the three says."""
        key = _key(function)
        theirs = Numbers(*self._theirs[key]) if key in self._theirs else Numbers()
        lines = Numbers(total_ns=self._lines[key][2]) if key in self._lines else Numbers()
        return Numbers(*self._ours[key]), theirs, lines

    def calls(self, function: Function, theirs: Numbers) -> list[str]:
        """Why cProfile counts other calls."""
        key = _key(function)
        ours = self._ours[key][0]
        seen = theirs.calls or 0
        if seen == ours:
            return []
        python = self.cprofile.run.python
        if function.language == "cython" and python.startswith("3.12."):
            return ["Cython tells cProfile nothing on Python 3.12."]
        if self._from_cython[key] and seen == ours - self._from_cython[key]:
            return ["cProfile does not see calls of C functions made from Cython: their time is the Cython function's."]
        if self._resumes[key] and seen > ours:
            return ["cProfile counts each resume of a generator or coroutine as a call."]
        if self._elsewhere[key] and seen == ours - self._elsewhere[key]:
            return ["cProfile was started in one thread, and these calls were made in others."]
        if function.kind == "cpdef" and seen > ours:
            return ["cProfile counts a cpdef method also where it only looks up the Python method that replaces it."]
        if function.language == "c" and seen < ours:
            return ["cProfile knows functions and methods written in C, called from Python, and not types and other callables."]
        if function.language == "c":
            return ["cProfile also counts what the importing of cyprof's builds calls."]
        return ["The program, or its imports, did not do the same twice."]

    def times(self, function: Function, ours: Numbers, theirs: Numbers) -> list[str]:
        """Why cProfile's self time is another."""
        mine, other, calls = ours.self_ns or 0, theirs.self_ns or 0, theirs.calls or 0
        if not calls or abs(mine - other) < _WORTH_NS or max(mine, other) < _CLEARLY * min(mine, other):
            return []
        if other < mine:
            return [_MOOD]
        found = []
        if _key(function) in self._calls_c:
            found.append("cProfile's self time holds the C functions that the Cython function calls.")
        if calls >= 100:
            found.append("cProfile's own cost lies in its times: some 100 to 1,000 ns for each call a function makes or gets.")
        return found or [_MOOD]

    def lines(self, function: Function, seen: Numbers) -> list[str]:
        """Why line_profiler has no time for a function."""
        if seen.total_ns is not None or function.kind in ("module", "builtin"):
            return []
        if self._elsewhere[_key(function)] and self.line_profiler.run.python.startswith("3.11."):
            return ["On Python 3.11 line_profiler watches only the thread it was started in."]
        if "<" in function.name:
            return ["line_profiler is handed the functions of modules and classes, not those made inside functions."]
        if function.language == "python":
            return ["line_profiler is handed the functions of the script and of imported modules; class bodies are none."]
        if self.line_profiler.run.python.startswith("3.12."):
            return ["line_profiler sees no Cython on Python 3.12."]
        if function.kind == "cdef":
            return ["line_profiler needs a Python object to watch, and a cdef function is none."]
        return ["line_profiler gets at no special method or property of a cdef class, nor at a function written on one line."]
