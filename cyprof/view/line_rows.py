"""The rows of one function's line table: every line from its first to its last, reached or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..model import Function, LineTimes
from .line_advice import Verdict, verdict_of
from .line_blocks import block_end, innermost

FOLDED_FROM = 4
"""A stretch of at least so many lines that belong to other functions is folded into one row."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text, without line ends; None where it cannot be read. `changed`: it is no longer what ran."""

    lines: tuple[str, ...] | None = None
    changed: bool = False


SourceProvider = Callable[[str], SourceText]
"""Gives the text of a file by its path."""


@dataclass(frozen=True, slots=True)
class LineRow:
    """One line. `hits` is None where it was not reached. Times in ns: `per_hit_ns` with callees, as `total_ns`.

    `share` is its self time's part of the function's, `run_share` of the run's. `score` is Cython's annotation score: 0 for
    a line that is all C, None where none is known, as in Python functions and on lines without code.
    """

    line: int
    text: str
    hits: int | None = None
    self_ns: int = 0
    total_ns: int = 0
    per_hit_ns: float | None = None
    share: float = 0.0
    run_share: float = 0.0
    score: int | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Lines that belong to other functions, `first` to `last`, shown as one row."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class FilePart:
    """The rows of a function in one file; a module body with an include has one for each file. `name` is the file's short
    name; `found` says whether its text was read, `changed` whether it has changed since it ran."""

    file: str
    name: str
    rows: tuple[LineRow | Fold, ...]
    found: bool
    changed: bool

    @property
    def lines(self) -> list[LineRow]:
        """The rows that are lines."""
        return [row for row in self.rows if isinstance(row, LineRow)]


@dataclass(frozen=True, slots=True)
class Extents:
    """Where each function lies in each file, and which function a line belongs to."""

    of: dict[tuple[int, str], tuple[int, int]]
    owner: dict[str, list[tuple[int, int] | None]]


def find_extents(records: dict[int, dict[str, list[LineTimes]]], functions: list[Function], source: SourceProvider) -> Extents:
    """The extents of all functions with line records, the records given by function and file."""
    found: dict[tuple[int, str], tuple[int, int]] = {}
    by_file: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, files in records.items():
        function = functions[number]
        for file, times in files.items():
            extent = _extent(function, file, times, source)
            found[number, file] = extent
            by_file[file].append(extent)
    owner = {file: innermost(extents, max(last for _, last in extents)) for file, extents in by_file.items()}
    return Extents(found, owner)


def _extent(function: Function, file: str, times: list[LineTimes], source: SourceProvider) -> tuple[int, int]:
    reached = [time.line for time in times]
    first, last = min(reached), max(reached)
    if file == function.file and function.line:
        first = min(first, function.line)
        lines = source(file).lines
        if lines is not None and not function.name.endswith(">"):
            last = max(last, block_end(lines, function.line))
    return first, last


def rows_of(
    function: Function,
    file: str,
    times: Iterable[LineTimes],
    *,
    extents: Extents,
    source: SourceText,
    scores: dict[int, int] | None,
    own_ns: int,
    whole_ns: int,
    unfold: bool,
) -> tuple[LineRow | Fold, ...]:
    """The rows of a function in one file; `own_ns` and `whole_ns` are what 100 % of function and run stand for."""
    reached = {time.line: time for time in times}
    extent = extents.of[function.id, file]
    owner = extents.owner[file]
    lines = source.lines or ()
    rows: list[LineRow | Fold] = []
    stretch: list[LineRow] = []

    def close_stretch() -> None:
        folds = not unfold and len(stretch) >= FOLDED_FROM
        rows.extend([Fold(stretch[0].line, stretch[-1].line)] if folds else stretch)
        stretch.clear()

    for number in range(extent[0], extent[1] + 1):
        text = lines[number - 1] if number <= len(lines) else ""
        time = reached.get(number)
        if time is None:
            # A score above zero also tells of code that was not reached; without one it may be a comment.
            row = LineRow(number, text, score=(scores or {}).get(number) if function.language == "cython" else None)
            # A module body runs through the whole file: what it did not reach is the inside of functions.
            foreign = function.kind == "module" or owner[number] != extent
            if foreign:
                stretch.append(row)
                continue
        else:
            row = _row(time, text, function.language, scores, own_ns, whole_ns)
        close_stretch()
        rows.append(row)
    close_stretch()
    return tuple(rows)


def _row(time: LineTimes, text: str, language: str, scores: dict[int, int] | None, own_ns: int, whole_ns: int) -> LineRow:
    run_share = time.self_ns / whole_ns
    score = scores.get(time.line, 0) if scores is not None and language == "cython" else None
    return LineRow(
        line=time.line,
        text=text,
        hits=time.hits,
        self_ns=time.self_ns,
        total_ns=time.total_ns,
        per_hit_ns=time.total_ns / time.hits if time.hits else None,
        share=time.self_ns / own_ns,
        run_share=run_share,
        score=score,
        verdict=verdict_of(run_share, score, language),
    )
