"""Source lines cut into pieces that a table colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pygments.lexers.python import CythonLexer, PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

Shade = Literal["", "keyword", "string", "comment", "number", "name", "builtin"]
Piece = tuple[Shade, str]

LONGEST_FILE = 30_000
"""A file with more lines than this is shown in one colour: cutting it up would take longer than reading it."""

_SHADES: tuple[tuple[Any, Shade], ...] = (
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Keyword, "keyword"),
    (Operator.Word, "keyword"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Decorator, "builtin"),
    (Name.Builtin, "builtin"),
)


def pieces(lines: Sequence[str], file: str) -> list[list[Piece]]:
    """The pieces of each line; joined, they are the line again."""
    plain: list[list[Piece]] = [[("", line)] if line else [] for line in lines]
    if len(lines) > LONGEST_FILE:
        return plain
    lexer = (PythonLexer if file.endswith(".py") else CythonLexer)(stripnl=False, ensurenl=False)
    found: list[list[Piece]] = [[]]
    for token, text in lexer.get_tokens("\n".join(lines)):
        shade = _shade(token)
        first, *rest = text.split("\n")
        _append(found[-1], shade, first)
        for part in rest:
            found.append([])
            _append(found[-1], shade, part)
    # The lexer may take liberties with odd characters; a line it changed is shown as it is.
    if len(found) != len(lines):
        return plain
    return [
        cut if "".join(text for _, text in cut) == line else whole for cut, whole, line in zip(found, plain, lines, strict=True)
    ]


def _append(line: list[Piece], shade: Shade, text: str) -> None:
    if not text:
        return
    if line and line[-1][0] == shade:
        line[-1] = (shade, line[-1][1] + text)
    else:
        line.append((shade, text))


def _shade(token: Any) -> Shade:
    for kind, shade in _SHADES:
        if token in kind:
            return shade
    return ""
