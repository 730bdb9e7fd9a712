"""Text for Graphviz: quoted strings and HTML-like labels that survive any name."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping

_ENTITY = re.compile(r"&(?=#?\w+;)")


def quoted(text: str) -> str:
    """A double-quoted DOT string that Graphviz shows exactly as the text is."""
    return f'"{between_quotes(text)}"'


def between_quotes(text: str) -> str:
    """What stands between the quotes of `quoted`."""
    # Graphviz reads \N and the like, and XML entities, in ordinary strings too.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return _ENTITY.sub("&amp;", escaped)


def escaped(text: str) -> str:
    """Text inside an HTML-like label. Spaces that would collapse are kept."""
    return html.escape(text, quote=False).replace("  ", "&#160;&#160;")


def font(text: str, color: str = "", size: float | None = None, bold: bool = False) -> str:
    """Escaped text in a colour, size and weight; "" for no text, which Graphviz would not take with a font."""
    if not text:
        return ""
    inner = escaped(text)
    if bold:
        inner = f"<B>{inner}</B>"
    attributes = f' COLOR="{color}"' if color else ""
    if size:
        attributes += f' POINT-SIZE="{size:g}"'
    return f"<FONT{attributes}>{inner}</FONT>" if attributes else inner


def cell(content: str, align: str = "LEFT", **attributes: object) -> str:
    """A table cell."""
    more = "".join(f' {name.upper()}="{value}"' for name, value in attributes.items())
    return f'<TD ALIGN="{align}"{more}>{content}</TD>'


def table(rows: list[str], **attributes: object) -> str:
    """A table of ready-made rows of cells."""
    more = "".join(f' {name.upper()}="{value}"' for name, value in attributes.items())
    return f"<TABLE{more}>{''.join(f'<TR>{row}</TR>' for row in rows)}</TABLE>"


def attributes(values: Mapping[str, object]) -> str:
    """An attribute list in brackets. A value that starts with `<` and ends with `>` is an HTML-like label, any other is
    quoted; None is left out."""
    parts = []
    for name, value in values.items():
        if value is None:
            continue
        text = f"{value:g}" if isinstance(value, float) else str(value)
        markup = name == "label" and text.startswith("<") and text.endswith(">")
        parts.append(f"{name}=<{text}>" if markup else f"{name}={quoted(text)}")
    return f"[{', '.join(parts)}]"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` characters."""
    return textwrap.wrap(text, width) or [""]
