"""One function's table in HTML."""

from __future__ import annotations

from html import escape

from ...view.line_advice import STRONG_SCORE
from ...view.line_rows import FilePart, Fold, LineRow, SourceProvider
from ...view.line_table import FunctionLines
from ...view.units import count_text, share_number, share_text, time_text, visible
from ..line_highlight import Piece, Shade, pieces
from ..line_words import (
    COLUMNS,
    VERDICTS,
    calls_text,
    fold_text,
    place_text,
    slowdown_text,
    source_warning,
)

_HEAT_FROM = (0.0, 0.001, 0.005, 0.02, 0.08, 0.25)
"""The least share of the run's time for each step of the heat colours."""
_VERY_YELLOW = 20
_CLASSES: dict[Shade, str] = {
    "keyword": "k",
    "string": "s",
    "comment": "c",
    "number": "n",
    "name": "f",
    "builtin": "b",
}
_HEADINGS = {
    "line": "",
    "hits": "hits",
    "per hit": "per hit",
    "self": "self",
    "total": "total",
    "% func": "% func",
    "% run": "% run",
    "time": "% func",
    "Python": "py",
    "verdict": "verdict",
    "source": "",
}
"""The columns, and which of the tables' columns explains each."""
_WIDTHS = {"per hit": 8, "self": 8, "total": 8, "% func": 6, "% run": 5, "verdict": 7}
"""The widest text of each column, in characters; hits and line numbers are measured."""
_LEFT = {"source": "code", "time": "left", "verdict": "left"}
_CHUNK = 250
"""A long table is built of pieces of so many rows: a browser lays out only those in sight."""
_NOT_REACHED = "hits", "per hit", "self", "total", "% func", "% run", "time"


class Shades:
    """The pieces of each file's lines, cut up when first asked for."""

    def __init__(self, source: SourceProvider) -> None:
        self._source = source
        self._known: dict[str, list[list[Piece]]] = {}

    def line(self, file: str, number: int) -> str:
        """A line as HTML."""
        if file not in self._known:
            self._known[file] = pieces(self._source(file).lines or (), file)
        lines = self._known[file]
        return "".join(_piece(*piece) for piece in lines[number - 1]) if number <= len(lines) else ""


def _piece(shade: Shade, text: str) -> str:
    # A tab is a tab in HTML; everything else that cannot be seen is shown as a sign.
    code = escape("\t".join(visible(part) for part in text.split("\t")), quote=False)
    return f'<span class="{_CLASSES[shade]}">{code}</span>' if shade in _CLASSES else code


def line_id(function: int, part: int, line: int) -> str:
    """The id of a row: `f12-0-34`, line 34 of function 12 in its first file."""
    return f"f{function}-{part}-{line}"


def function_table(entry: FunctionLines, shades: Shades) -> str:
    """A function's section: what it is, what it took, and its lines."""
    times = entry.times
    slowdown = slowdown_text(entry)
    slow_class = ' class="warning"' if entry.slowed else ' class="soft"'
    head = [
        f'<section class="function" id="f{entry.function.id}">',
        f'<h2>{_text(entry.function.name)} <span class="kind">{_text(entry.kind)}</span></h2>',
        f'<p class="place">{_text(place_text(entry))}</p>',
        f"<p>{_text(calls_text(entry))} · "
        f"self <b>{_text(time_text(times.self_ns))}</b> ({_text(share_text(entry.share))} of the run) · "
        f"total {_text(time_text(times.total_ns))} ({_text(share_text(entry.total_share))})</p>",
        f"<p{slow_class}>{_text(slowdown)}</p>" if slowdown else "",
    ]
    parts = [_part(entry, number, part, shades) for number, part in enumerate(entry.parts)]
    return "\n".join([*(line for line in head if line), *parts, "</section>"])


def _part(entry: FunctionLines, number: int, part: FilePart, shades: Shades) -> str:
    warning = source_warning(part)
    # Without callees a column of totals would only repeat the self times.
    titles = [title for title in _HEADINGS if entry.calls_others or title != "total"]
    rows = [_table_row(entry, number, part, row, titles, shades) for row in part.rows]
    head = f"{_columns(titles, part)}\n<thead>{_heading_row(titles)}</thead>"
    chunks = [_chunk(head, rows[first : first + _CHUNK]) for first in range(0, len(rows), _CHUNK)]
    lines = [
        f'<p class="place">in {_text(part.file)}</p>' if part.file != entry.function.file else "",
        f'<p class="warning">{_text(warning)}</p>' if warning else "",
        *chunks,
    ]
    return "\n".join(line for line in lines if line)


def _chunk(head: str, rows: list[str]) -> str:
    start = f'<div class="chunk" style="--rows:{len(rows)}"><table class="source">\n{head}\n<tbody>'
    return "\n".join([start, *rows, "</tbody>\n</table></div>"])


def _columns(titles: list[str], part: FilePart) -> str:
    """Widths for all columns: a browser need not look at every row, and the pieces of a long table line up."""
    widths = dict(_WIDTHS)
    reached = [row for row in part.lines if row.hits]
    widths["hits"] = max([len("hits"), *(len(f"{row.hits:,}") for row in reached)])
    widths["line"] = max(len("line"), len(str(max((row.line for row in part.lines), default=0))))
    cells = (
        f'<col style="width:calc({widths[title]}ch + 0.9rem)">' if title in widths else f'<col class="{title.lower()}">'
        for title in titles
    )
    return f"<colgroup>{''.join(cells)}</colgroup>"


def _heading_row(titles: list[str]) -> str:
    cells = []
    for title in titles:
        words = COLUMNS.get(_HEADINGS[title], "")
        about = f' title="{escape(words)}"' if words else ""
        kind = f' class="{_LEFT[title]}"' if title in _LEFT else ""
        cells.append(f'<th scope="col"{kind}{about}>{title}</th>')
    return f"<tr>{''.join(cells)}</tr>"


def _table_row(
    entry: FunctionLines, number: int, part: FilePart, row: LineRow | Fold, titles: list[str], shades: Shades
) -> str:
    if isinstance(row, Fold):
        return f'<tr class="fold"><th>⋮</th><td colspan="{len(titles) - 1}">{_text(fold_text(row))}</td></tr>'
    place = line_id(entry.function.id, number, row.line)
    code = f'<td class="code">{shades.line(part.file, row.line)}</td></tr>'
    head = f'<th scope="row"><a href="#{place}">{row.line}</a></th>'
    if row.hits is not None:
        return _reached(row, place, entry.calls_others, head, code)
    blank = sum(title in _NOT_REACHED for title in titles)
    return f'<tr id="{place}">{head}<td colspan="{blank}"></td>{score_cell(row)}<td></td>{code}'


def _reached(row: LineRow, place: str, calls_others: bool, head: str, code: str) -> str:
    cells = [
        f"{row.hits:,}" if row.hits else "",
        time_text(row.per_hit_ns) if row.per_hit_ns else "",
        time_text(row.self_ns),
        *([time_text(row.total_ns) if row.total_ns != row.self_ns else ""] if calls_others else []),
        share_number(row.share),
        share_number(row.run_share),
    ]
    hot = ' class="hot"' if row.verdict not in (None, "leave") else ""
    verdict = VERDICTS[row.verdict] if row.verdict else ""
    return (
        f'<tr id="{place}"{hot} title="{_text(_tooltip(row))}">{head}'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + heat_cell(row)
        + score_cell(row)
        + f'<td class="verdict">{verdict}</td>{code}'
    )


def heat_cell(row: LineRow) -> str:
    """The cell whose bar shows the line's part of its function, and whose colour its part of the run."""
    level = max(step for step, least in enumerate(_HEAT_FROM) if row.run_share >= least)
    bar = f'<i style="width:{100 * row.share:.1f}%"></i>' if row.self_ns else ""
    return f'<td class="heat h{level}">{bar}</td>'


def score_cell(row: LineRow) -> str:
    """The cell in the yellow of the line's annotation score."""
    if not row.score:
        return f'<td class="y">{"·" if row.score == 0 else ""}</td>'
    level = 1 if row.score < STRONG_SCORE else 2 if row.score < _VERY_YELLOW else 3
    return f'<td class="y y{level}">{row.score}</td>'


def _tooltip(row: LineRow) -> str:
    words = [
        f"line {row.line}: {count_text(row.hits or 0, 'hit')}",
        f"self {time_text(row.self_ns)}, {share_text(row.share)} of the function, {share_text(row.run_share)} of the run",
        f"total {time_text(row.total_ns)}",
    ]
    if row.per_hit_ns:
        words.append(f"{time_text(row.per_hit_ns)} a hit")
    if row.score is not None:
        words.append(f"annotation score {row.score}")
    return "; ".join(words)


def _text(text: str) -> str:
    return escape(visible(text))
