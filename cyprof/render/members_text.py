"""Each function over the members of a merged profile, in the terminal and as plain text."""

from __future__ import annotations

from ..model import Profile
from ..view import Spread, SpreadRow, SpreadTable, ViewOptions, spread_table
from ..view.units import count_text, time_text, visible
from .registry import renderer
from .styled import Line, joined, wrapped
from .text import fitted, seconds_text

_UNEVEN = 1.2
"""A function whose slowest member takes so many times the mean is marked."""
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 32
_LONGEST_LABEL = 100
_LABEL_COLUMN = "filename:lineno(function)"

COLUMNS = {
    "min, median, max": "self time in seconds over all of them (total time with --sort total); 0 where it did not run",
    "max/mean": "how much longer the slowest took than the mean: 1.00 is even, the number of them is one that does all",
    "at": "which of them is the slowest",
    "shape": "one bar for each, in their order, as high as its time",
    "calls": "how often the function was called by each: the least and the most",
}


@renderer(".txt", description="the table as plain text", groups=("ranks",))
def members_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The table as plain text."""
    return members_text(profile, options).encode()


def members_text(profile: Profile, options: ViewOptions, width: int = 0, color: bool = False) -> str:
    """The table as text that ends in a line break; with ANSI colours when `color`. `width` is the terminal's, 0 for none.
    Raises ValueError for a profile that was not merged."""
    table = spread_table(profile, options)
    lines = [*_head(table, width), *_body(table, width), []]
    lines += [row for note in table.notes for row in wrapped([("", note)], width, 4)]
    if options.explain:
        longest = max(map(len, COLUMNS))
        explained: list[Line] = [[("bold", name.ljust(longest)), ("", f"  {text}")] for name, text in COLUMNS.items()]
        lines += [[], *(row for line in explained for row in wrapped(line, width, longest + 2))]
    return joined(lines, color)


def _head(table: SpreadTable, width: int) -> list[Line]:
    targets = dict.fromkeys(member.target for member in table.members)
    lines: list[Line] = [[("", f"{count_text(len(table.members), table.noun)} of {', '.join(targets)}")], []]
    hosts = len({member.host for member in table.members}) > 1
    names = ["", "wall", "processor", "waiting", "calls", *(["host"] if hosts else [])]
    rows = [
        [member.title, time_text(member.wall_ns), time_text(member.cpu_ns), time_text(member.wait_ns), f"{member.calls:,}"]
        + ([member.host] if hosts else [])
        for member in table.members
    ]
    widths = [max(len(row[column]) for row in [names, *rows]) for column in range(len(names))]
    for number, row in enumerate([names, *rows]):
        cells = [
            text.ljust(size) if column in (0, 5) else text.rjust(size)
            for column, (text, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append([("" if number else "bold", "   " + "  ".join(cells))])
    lines += [[], [("", f"   Ordered by: {table.order}")]]
    return [*lines, *(row for text in table.reduced for row in wrapped([("", f"   {visible(text)}")], width, 3)), []]


def _cells(row: SpreadRow, table: SpreadTable) -> list[str]:
    spread = row.total_ns if table.by_total else row.self_ns
    times = [seconds_text(value) for value in (spread.least, spread.median, spread.greatest)]
    calls = f"{row.calls.least}-{row.calls.greatest}" if row.calls.least != row.calls.greatest else str(row.calls.least)
    return [*times, f"{spread.ratio:.2f}", table.members[spread.at].title, shape(spread), calls]


def shape(spread: Spread) -> str:
    """A bar for each member, as high as its figure; where there are very many, one for the greatest of several."""
    values = spread.values
    step = -(-len(values) // _MOST_BARS)
    tops = [max(values[place : place + step]) for place in range(0, len(values), step)]
    most = max(1, *tops)
    return "".join(_BARS[round((len(_BARS) - 1) * value / most)] if value else " " for value in tops)


def _body(table: SpreadTable, width: int) -> list[Line]:
    if not table.rows:
        return [[("", "   No function is left to list.")]]
    names = ["min", "median", "max", "max/mean", "at", "shape", "calls"]
    rows = [_cells(row, table) for row in table.rows]
    widths = [max(len(cells[column]) for cells in [names, *rows]) for column in range(len(names))]
    longest = max(len(_LABEL_COLUMN), *(len(row.label) for row in table.rows))
    room = min(longest, _LONGEST_LABEL)
    kinds = max(len("kind"), *(len(row.kind) for row in table.rows))
    if width:
        room = max(len(_LABEL_COLUMN), min(room, width - sum(widths) - 2 * len(widths) - 2 - kinds))

    def line(cells: list[str], label: str, kind: str, style: str) -> Line:
        left = ("at", "shape")
        pieces: Line = [
            (
                style if name == "max/mean" else style if style == "bold" else "",
                (text.ljust(size) if name in left else text.rjust(size)) + "  ",
            )
            for name, text, size in zip(names, cells, widths, strict=True)
        ]
        return [
            *pieces,
            (style if style == "bold" else "", fitted(label, room) + "  "),
            ("bold" if style == "bold" else "cyan", kind),
        ]

    def style(row: SpreadRow) -> str:
        spread = row.total_ns if table.by_total else row.self_ns
        return "yellow" if spread.ratio >= _UNEVEN else ""

    body = [line(cells, row.label, row.kind, style(row)) for cells, row in zip(rows, table.rows, strict=True)]
    return [line(names, _LABEL_COLUMN, "kind", "bold"), *body]
