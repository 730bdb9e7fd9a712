"""A comparison in the terminal, and as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from ..view import ViewOptions
from ..view.compare import Comparison, LineChange, line_changes
from ..view.compare import words as say
from ..view.units import visible
from .line_sources import source_text_of
from .registry import renderer
from .styled import Line, joined, wrapped

_STYLES = {"slower": "bold red", "faster": "bold green", "new": "yellow", "gone": "yellow", "moved": "cyan", "absorbed": "cyan"}
_MOST_LINES = 30
_MOST_WITHOUT_VERDICT = 10
_LONGEST = 60


@renderer(".txt", description="the tables as plain text", groups=("diff",))
def diff_bytes(found: tuple[Comparison, ...], options: ViewOptions) -> bytes:
    """The comparisons as plain text."""
    return diff_text(found, options).encode()


def diff_text(found: Sequence[Comparison], options: ViewOptions, width: int = 0, color: bool = False) -> str:
    """The comparisons, of the first side with each other one, as text that ends in a line break."""
    lines: list[Line] = []
    for number, one in enumerate(found):
        if number:
            lines += [[], []]
        lines += _table(one, number + 1, options, width)
    return joined(lines, color)


def _table(found: Comparison, number: int, options: ViewOptions, width: int) -> list[Line]:
    head = [say.side_text(0, found.before), say.side_text(number, found.after), "", say.pace_text(found)]
    lines: list[Line] = [row for text in head for row in wrapped([("", text)], width, 3)]
    lines.append([])
    rows = found.rows if options.top is None else found.rows[: options.top]
    labels = say.labels(found)
    cells = [
        [say.calls_text(row), say.self_text(row), say.total_text(row), say.ratio_text(row.ratio), say.verdict_text(row),
         _cut(label), say.kind_of(row)]
        for row, label in zip(rows, labels, strict=False)
    ]  # fmt: skip
    styles = [_STYLES.get(row.change or row.verdict, "") if row.verdict != "absorbed" else "cyan" for row in rows]
    lines += _grid(say.COLUMNS, cells, styles)
    lines.append([])
    notes = [f"{row.title}: {row.why}." for row in rows if row.why and row.verdict != "same"]
    changed = line_changes(found, source_text_of)
    if changed:
        lines += [*_line_table(changed), *wrapped([("", say.lines_text(changed))], width, 3), []]
    for text in filter(None, (*notes, say.summary_text(found), *found.notes, say.unknown_ratio_text(found))):
        lines += wrapped([("", text)], width, 3)
    return lines


def _line_table(changed: list[LineChange]) -> list[Line]:
    without = [line for line in changed if line.change == "unknown"]
    kept = [line for line in changed if line.change not in ("same", "unknown")] + without[:_MOST_WITHOUT_VERDICT]
    kept = kept[:_MOST_LINES]
    cells = [
        [
            say.hits_text(line),
            say.line_self_text(line),
            say.ratio_text(line.ratio),
            say.VERDICTS[line.change],
            line.function.name,
            say.line_number_text(line),
            _cut(visible(line.text.strip())),
        ]
        for line in kept
    ]
    styles = [_STYLES.get(line.change, "") for line in kept]
    return _grid(say.LINE_COLUMNS, cells, styles)


def _grid(names: Sequence[str], cells: list[list[str]], styles: list[str]) -> list[Line]:
    """A table with numbers to the right and words to the left."""
    if not cells:
        return []
    widths = [max(len(name), *(len(row[column]) for row in cells)) for column, name in enumerate(names)]

    def line(row: list[str], style: str) -> Line:
        found: Line = []
        for name, text, size in zip(names, row, widths, strict=True):
            padded = text.ljust(size) if name in say.WORD_COLUMNS else text.rjust(size)
            found.append((style if name in ("ratio", "verdict", "function") or style == "bold" else "", f"{padded}  "))
        return found

    return [line(list(names), "bold"), *(line(row, style) for row, style in zip(cells, styles, strict=True))]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"…{text[1 - _LONGEST :]}"
