"""What a line's time and its Python interaction say together, and which lines are worth an edit first.

The annotation score counts the calls of Python's C API in the C of a line, those on error paths too: an index that is checked
has 2, a division that is checked 5, a `for` over a list about 12. It says nothing of how often a line runs, so it is only read
together with the measured time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..model import Function

Verdict = Literal["python", "check", "c", "interpreted", "leave"]
"""`python`: hot and yellow, the line goes through Python. `check`: hot, C with a check or a conversion that may call Python.
`c`: hot and white, the cost is in the C code itself. `interpreted`: hot, in a Python function. `leave`: cold and yellow."""

HOT_SHARE = 0.01
"""A line with this part of the run's time or more, callees left out, is hot."""
STRONG_SCORE = 8
"""From this score on a line goes through Python; below it there is a check or a conversion."""
SUMMARY_LINES = 10

_SAVES: dict[Verdict, float] = {"python": 0.9, "interpreted": 0.8, "check": 0.4, "c": 0.1, "leave": 0.0}
"""The part of a line's time that an edit can be hoped to save: only their order matters."""
_HEAVY_NS = 5_000
"""Names, attributes, calls and boxes of one line cost Python tens to hundreds of ns; above this it works on something big."""
_SAVES_OF_CALLED_C = 0.1
_PARALLEL = re.compile(r"\s*(?:for\b.*\bprange\s*\(|with\b.*\bparallel\s*\()")
_IMPORT = re.compile(r"\s*(?:import\b|from\s.+\bimport\b)")


@dataclass(frozen=True, slots=True)
class Advice:
    """A line worth an edit. `function` has most of its time, `others` says how many more functions share the line (as the
    specialisations of a fused function do). Time in ns, `share` of the run. `heavy`: a hit takes so long that the time is in
    what the line calls in C."""

    file: str
    place: str
    line: int
    function: Function
    others: int
    text: str
    self_ns: int
    share: float
    score: int | None
    verdict: Verdict
    slowdown: float
    heavy: bool
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of one function that may be worth an edit. `slowdown`: how many times longer the function took for its line
    probes, 1 where that is nothing or unknown."""

    file: str
    place: str
    line: int
    function: Function
    text: str
    hits: int
    self_ns: int
    score: int | None
    slowdown: float = 1.0


def verdict_of(share: float, score: int | None, language: str) -> Verdict | None:
    """What a share (0 to 1) of the run and an annotation score (None where none is known) mean together."""
    if share >= HOT_SHARE:
        if language == "python":
            return "interpreted"
        if score is None:
            return None
        return "c" if score == 0 else "check" if score < STRONG_SCORE else "python"
    return "leave" if score is not None and score >= STRONG_SCORE else None


def advise(candidates: Iterable[Candidate], whole_ns: int, most: int) -> tuple[Advice, ...]:
    """The hot lines in the order of the time an edit may save, at most so many. Equal lines of one file are one."""
    by_line: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_line[candidate.file, candidate.line].append(candidate)
    found = []
    for group in by_line.values():
        spent = sum(candidate.self_ns for candidate in group)
        top = max(group, key=lambda candidate: candidate.self_ns)
        verdict = verdict_of(spent / whole_ns, top.score, top.function.language)
        if verdict is not None and spent >= HOT_SHARE * whole_ns:
            found.append(_advice(top, len({one.function.id for one in group}) - 1, spent, spent / whole_ns, verdict))
    found.sort(key=lambda one: (-one.self_ns / one.slowdown * _saves(one), one.file, one.line))
    return tuple(found[:most])


def _advice(top: Candidate, others: int, spent: int, share: float, verdict: Verdict) -> Advice:
    at_definition = top.line == top.function.line
    return Advice(
        file=top.file,
        place=top.place,
        line=top.line,
        function=top.function,
        others=others,
        text=top.text.strip(),
        self_ns=spent,
        share=share,
        score=top.score,
        verdict=verdict,
        slowdown=top.slowdown,
        heavy=_is_heavy(top),
        why=_why(verdict, top, at_definition) + _slowed(top.slowdown),
    )


def _saves(advice: Advice) -> float:
    """The part of a line's time that an edit of it can be hoped to save."""
    if _IMPORT.match(advice.text):
        return 0.0
    if _PARALLEL.match(advice.text):
        return _SAVES["c"]
    saves = _SAVES[advice.verdict]
    return min(saves, _SAVES_OF_CALLED_C) if advice.heavy else saves


def _why(verdict: Verdict, top: Candidate, at_definition: bool) -> str:
    if at_definition and top.function.kind in ("def", "cpdef"):
        return "entering the function: its arguments are unpacked and converted. Call it less often, or as cdef from Cython."
    if at_definition and top.function.kind == "cdef":
        return "calling the function and returning: let the compiler put it into its callers (inline), or call it less often."
    if _IMPORT.match(top.text):
        return "an import: what the modules do while they load takes the time."
    if _PARALLEL.match(top.text):
        return "a parallel loop: starting its threads and waiting for the last of them is part of this line."
    if _is_heavy(top):
        through = "is a Python line" if verdict == "interpreted" else "goes through Python"
        return f"{through}, but takes too long for that alone: the time is in the C it calls, such as an operator of numpy's."
    if verdict == "python":
        return "goes through Python: C types for what it uses keep it in C."
    if verdict == "check":
        return f"C, with a check or a conversion that may reach for Python{_directive_for(top.text)}."
    if verdict == "interpreted":
        return "runs in the interpreter: move the loop around it into Cython, or compile the module."
    return "the cost is in the C code itself: only fewer rounds, another algorithm or better memory access help."


def _slowed(slowdown: float) -> str:
    return f" Line probes made its function {slowdown:.1f} times as slow: it is ranked without that." if slowdown > 1 else ""


def _is_heavy(line: Candidate) -> bool:
    """Whether one hit takes longer than what Python itself can take for a line."""
    through_python = line.function.language == "python" or (line.score or 0) >= STRONG_SCORE
    return through_python and line.self_ns >= _HEAVY_NS * max(1, line.hits)


def _directive_for(text: str) -> str:
    """Which directives may take the check out, as far as the source line tells."""
    code = text.partition("#")[0]
    directives = []
    if "[" in code:
        directives += ["boundscheck(False)", "wraparound(False)"]
    if "/" in code or "%" in code:
        directives.append("cdivision(True)")
    if not directives:
        return ""
    return f"; where it is safe, {', '.join(directives)} {'take' if len(directives) > 1 else 'takes'} it out"
