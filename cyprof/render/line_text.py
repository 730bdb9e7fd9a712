"""The line table as text: coloured and fitted to a terminal, or plain with no line cut."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Profile
from ..view import ViewOptions
from ..view.line_advice import Advice
from ..view.line_rows import FilePart, SourceProvider
from ..view.line_table import FunctionLines, LineTable, line_table
from ..view.units import share_text, time_text, visible
from .line_highlight import Piece, pieces
from .line_sources import source_text_of
from .line_text_rows import Layout, heat_style, score_style
from .line_words import (
    COLUMNS,
    calls_text,
    place_text,
    run_facts,
    score_text,
    slowdown_text,
    source_warning,
    title_text,
    unseen_text,
    without_text,
)
from .registry import renderer
from .styled import Line, joined, wrapped

_NAMED = 12


@renderer(".txt", description="the line table as plain text", groups=("lines",))
def text_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The line table without colours, no line cut."""
    return line_table_text(profile, options).encode("utf-8", errors="replace")


def line_table_text(
    profile: Profile, options: ViewOptions, width: int = 0, color: bool = False, source: SourceProvider | None = None
) -> str:
    """The line table as text that ends in a line break; with ANSI colours when `color`.

    `width` is the terminal's: columns give way and long lines are wrapped to fit it. 0 is for no terminal, where every
    column stands and no line is broken. `source` gives the sources; without it they are read from their files.
    """
    source = source or source_text_of(profile)
    table = line_table(profile, options, source)
    layout = Layout(table.functions, width)
    lines: list[Line] = [*_wrap(_head(table), width), []]
    if table.message:
        lines += _wrap([[("bold", table.message)]], width)
    lines += _summary(table, width)
    shades = _Shades(source, color)
    for function in table.functions:
        lines += [[], *_wrap(_function_head(function), width)]
        for part in function.parts:
            lines += [*_wrap(_part_head(function, part), width), layout.header()]
            lines += layout.rows(part, shades.of(part), function.calls_others)
    lines += _wrap(_tail(table, layout, options), width)
    return joined(lines, color)


class _Shades:
    """The pieces of each file's lines; one piece a line where nothing is coloured."""

    def __init__(self, source: SourceProvider, color: bool) -> None:
        self._source = source
        self._color = color
        self._known: dict[str, list[list[Piece]]] = {}

    def of(self, part: FilePart) -> list[list[Piece]]:
        if part.file not in self._known:
            lines = self._source(part.file).lines or ()
            self._known[part.file] = pieces(lines, part.file) if self._color else [[("", line)] for line in lines]
        return self._known[part.file]


def _wrap(lines: Iterable[Line], width: int) -> list[Line]:
    found: list[Line] = []
    for line in lines:
        text = line[0][1] if line else ""
        found += wrapped(line, width, len(text) - len(text.lstrip()) + 2)
    return found


def _head(table: LineTable) -> list[Line]:
    return [[("bold", title_text(table)), ("", "   " + ", ".join(run_facts(table)))]]


def _summary(table: LineTable, width: int) -> list[Line]:
    if not table.functions:
        return []
    if not table.first:
        return _wrap([[("", table.first_message)]], width)
    lines: list[Line] = [[("bold", "Worth an edit first")]]
    places = [f"{one.place}:{one.line}" for one in table.first]
    names = [visible(one.function.name) + (f" (+{one.others})" if one.others else "") for one in table.first]
    for number, (one, place, name) in enumerate(zip(table.first, places, names, strict=True), 1):
        line = _advice_line(number, one, f"{place:<{max(map(len, places))}}", f"{name:<{max(map(len, names))}}")
        lines += wrapped(line, width, 26)
        score = score_text(one.score)
        why: Line = [("", " " * 24)]
        if one.score:
            why += [(score_style(one.score), score if score.startswith("py") else f"py {score}"), ("", "  ")]
        lines += wrapped([*why, ("dim", one.why)], width, 24)
    return lines


def _advice_line(number: int, one: Advice, place: str, name: str) -> Line:
    return [
        ("", f"{number:>3}. "),
        (heat_style(one.share), f"{share_text(one.share):>6}"),
        ("", f"  {time_text(one.self_ns):>8}  "),
        ("", f"{place}  "),
        ("bold", name),
        ("", f"  {visible(one.text)}"),
    ]


def _function_head(entry: FunctionLines) -> list[Line]:
    times = entry.times
    lines: list[Line] = [
        [("bold underline", visible(entry.function.name)), ("", "  "), ("cyan", entry.kind), ("", f"  {place_text(entry)}")],
        [
            ("", f"  {calls_text(entry)}, self {time_text(times.self_ns)} ("),
            (heat_style(entry.share), share_text(entry.share)),
            ("", f" of the run), total {time_text(times.total_ns)} ({share_text(entry.total_share)})"),
        ],
    ]
    if slowdown := slowdown_text(entry):
        lines.append([("bold yellow", f"  ! {slowdown}") if entry.slowed else ("", f"  {slowdown}")])
    return lines


def _part_head(entry: FunctionLines, part: FilePart) -> list[Line]:
    lines: list[Line] = []
    if part.file != entry.function.file:
        lines.append([("", f"  in {visible(part.file)}")])
    if warning := source_warning(part):
        lines.append([("bold yellow", f"  ! {warning}")])
    return lines


def _tail(table: LineTable, layout: Layout, options: ViewOptions) -> list[Line]:
    lines = [*table.left_out]
    lines += [without_text(group, _NAMED) for group in table.without]
    lines += map(unseen_text, table.unseen)
    lines += table.notes
    if layout.missing:
        lines.append(f"Columns the terminal is too narrow for: {', '.join(layout.missing)}.")
    found: list[Line] = [[("", line)] for line in lines]
    if options.explain:
        longest = max(len(title) for title in layout.widths)
        legend: list[Line] = [
            [("bold", f"{title:<{longest}}"), ("", f"  {words}")] for title, words in COLUMNS.items() if title in layout.widths
        ]
    else:
        legend = [[("dim", f"{title}: {COLUMNS[title]}.")] for title in ("py", "verdict") if title in layout.widths]
    blocks = [block for block in (found, legend if table.functions else []) if block]
    return [line for block in blocks for line in ([], *block)]
