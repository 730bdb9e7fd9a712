"""Lines of styled pieces, as text for a terminal or plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style

Styled = tuple[str, str]
"""A style in rich's words, "" for none, and a text."""
Line = list[Styled]


@cache
def _style(words: str) -> Style:
    return Style.parse(words)


def joined(lines: Iterable[Line], color: bool) -> str:
    """The lines, each ended by a line break, with ANSI colours when `color`; spaces at their ends are gone."""
    return "".join(f"{_ansi(_stripped(line)) if color else plain(line).rstrip()}\n" for line in lines)


def plain(line: Line) -> str:
    """The text of a line."""
    return "".join(text for _, text in line)


def _ansi(line: Line) -> str:
    return "".join(_style(words).render(text, color_system=ColorSystem.STANDARD) if words else text for words, text in line)


def _stripped(line: Line) -> Line:
    kept = list(line)
    while kept and not kept[-1][1].rstrip():
        kept.pop()
    if kept:
        kept[-1] = (kept[-1][0], kept[-1][1].rstrip())
    return kept


def wrapped(line: Line, width: int, indent: int) -> list[Line]:
    """The line cut into several, the first at most `width` cells wide and the others too with their indent. Cuts behind a
    space where one is near, else anywhere; nothing is lost. `width` 0 leaves the line whole."""
    if not width or cell_len(plain(line)) <= width:
        return [line]
    indent = min(indent, width // 2)
    rows: list[Line] = []
    rest, room = line, width
    while rest:
        cut = _cut_at(plain(rest), room)
        head, rest = _split(rest, cut)
        rows.append([("", " " * indent), *head] if rows else head)
        room = width - indent
    return rows


def _cut_at(text: str, room: int) -> int:
    """How many characters of a text fit into so many cells, cut behind a space where that costs less than half of them."""
    used = 0
    position = 0
    while position < len(text) and (used := used + cell_len(text[position])) <= room:
        position += 1
    if position == len(text):
        return position
    space = text.rfind(" ", 0, position) + 1
    return space if space > position // 2 and text[:space].strip() else max(1, position)


def _split(line: Sequence[Styled], at: int) -> tuple[Line, Line]:
    head: Line = []
    for index, (style, text) in enumerate(line):
        if at < len(text):
            tail = [(style, text[at:]), *line[index + 1 :]]
            return ([*head, (style, text[:at])] if at else head), tail
        head.append((style, text))
        at -= len(text)
    return head, []
