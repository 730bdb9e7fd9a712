"""The rows of a line table as text: which columns fit, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..view.line_advice import STRONG_SCORE
from ..view.line_rows import FilePart, Fold, LineRow
from ..view.line_table import FunctionLines
from ..view.units import share_number, time_text, visible
from .line_highlight import Piece, Shade
from .line_words import VERDICTS, fold_text, score_text
from .styled import Line, wrapped

LEAST_SOURCE = 36
"""Columns give way until the source has at least so much room."""
_INDENT = 4

_VERDICT_STYLES = {"python": "bold yellow", "check": "yellow", "c": "bold", "interpreted": "bold", "leave": "dim"}
SHADES: dict[Shade, str] = {
    "": "",
    "keyword": "blue",
    "string": "green",
    "comment": "dim",
    "number": "cyan",
    "name": "bold",
    "builtin": "cyan",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title and what stands in it for a reached line, right-aligned."""

    title: str
    cell: Callable[[LineRow], str]
    style: Callable[[LineRow], str] = lambda _row: ""


def heat_style(share: float) -> str:
    """The style for a share (0 to 1) of the run's time."""
    if share >= 0.25:
        return "bold bright_white on red"
    if share >= 0.01:
        return "bold red" if share >= 0.05 else "red"
    return "" if share >= 0.001 else "dim"


def score_style(score: int | None) -> str:
    """The style for an annotation score: the yellow of Cython's own page."""
    if not score:
        return "dim"
    return "black on yellow" if score >= STRONG_SCORE else "yellow"


def _own_heat(row: LineRow) -> str:
    return heat_style(row.run_share)


COLUMNS = (
    Column("line", lambda row: str(row.line), lambda _row: "dim"),
    Column("hits", lambda row: f"{row.hits:,}" if row.hits else ""),
    Column("per hit", lambda row: time_text(row.per_hit_ns) if row.per_hit_ns else ""),
    Column("self", lambda row: time_text(row.self_ns), _own_heat),
    Column("total", lambda row: time_text(row.total_ns)),
    Column("% func", lambda row: share_number(row.share)),
    Column("% run", lambda row: share_number(row.run_share), _own_heat),
    Column("py", lambda row: score_text(row.score), lambda row: score_style(row.score)),
    Column(
        "verdict",
        lambda row: VERDICTS[row.verdict] if row.verdict else "",
        lambda row: _VERDICT_STYLES[row.verdict] if row.verdict else "",
    ),
)
_GIVE_WAY = ("per hit", "% func", "verdict", "total")
"""The columns a narrow terminal does without, the first to go first."""


class Layout:
    """The columns of the whole table, so that all functions line up. `missing` names those the terminal is too narrow for."""

    def __init__(self, functions: Sequence[FunctionLines], width: int) -> None:
        rows = [row for function in functions for row in function.rows if row.hits is not None]
        last = max((row.line for function in functions for row in function.rows), default=0)
        widths = {column.title: max([len(column.title), *(len(column.cell(row)) for row in rows)]) for column in COLUMNS}
        widths["line"] = max(widths["line"], len(str(last)))
        # An empty column would only take room: scores where there is no Cython, totals where nothing is called.
        empty = {title for title in ("py", "verdict") if not any(_column(title).cell(row) for row in rows)}
        if not any(function.calls_others for function in functions):
            empty.add("total")
        self.widths = {title: size for title, size in widths.items() if title not in empty}
        self.missing: list[str] = []
        for title in _GIVE_WAY:
            if width and width - self.left_width < LEAST_SOURCE and title in self.widths:
                del self.widths[title]
                self.missing.append(title)
        self.columns = [column for column in COLUMNS if column.title in self.widths]
        self.source_width = max(20, width - self.left_width) if width else 0

    @property
    def left_width(self) -> int:
        """The cells left of the source."""
        return sum(size + 2 for size in self.widths.values())

    def header(self) -> Line:
        """The titles of the columns."""
        titles = "".join(f"{column.title:>{self.widths[column.title]}}  " for column in self.columns)
        return [("bold", f"{titles}source")]

    def rows(self, part: FilePart, source: Sequence[list[Piece]], calls_others: bool) -> Iterable[Line]:
        """The rows of one file of a function; `source` are the pieces of the file's lines, by line from 1."""
        for row in part.rows:
            if isinstance(row, Fold):
                yield [("dim", f"{'⋮':>{self.widths['line']}}  {fold_text(row)}")]
                continue
            left = list(self._left(row, calls_others))
            text = source[row.line - 1] if row.line <= len(source) else []
            right = [(SHADES[shade], visible(piece)) for shade, piece in _expanded(text)]
            indent = len(row.text.expandtabs(8)) - len(row.text.expandtabs(8).lstrip()) + _INDENT
            first, *more = wrapped(right, self.source_width, indent)
            yield [*left, *first]
            for line in more:
                yield [("", " " * self.left_width), *line]

    def _left(self, row: LineRow, calls_others: bool) -> Iterable[tuple[str, str]]:
        for column in self.columns:
            size = self.widths[column.title]
            if row.hits is None and column.title != "line":
                yield "", " " * (size + 2)
                continue
            text = column.cell(row)
            style = column.style(row)
            if column.title == "total":
                # The same number twice would only hide where the two differ.
                text = text if calls_others and row.total_ns != row.self_ns else ""
            yield "", " " * (size - len(text))
            yield style, text
            yield "", "  "


def _column(title: str) -> Column:
    return next(column for column in COLUMNS if column.title == title)


def _expanded(line: list[Piece]) -> Iterable[Piece]:
    """The pieces with tabs replaced by spaces up to the next multiple of eight."""
    position = 0
    for shade, text in line:
        parts = text.split("\t")
        for number, part in enumerate(parts):
            position += len(part)
            spaces = 8 - position % 8 if number < len(parts) - 1 else 0
            position += spaces
            yield shade, part + " " * spaces
