"""A part of a source line that is too long to be repeated in a message."""

_WIDTH = 160
"""How much of a line is repeated, at most: a table written as one line would fill the screen."""


def window(text: str, column: int) -> tuple[str, int]:
    """The part of a line around a column, with `...` where something is cut off, and the column within that part."""
    if len(text) <= _WIDTH:
        return text, column
    start = max(0, min(column - _WIDTH // 2, len(text) - _WIDTH))
    before, after = "..." if start else "", "..." if start + _WIDTH < len(text) else ""
    return before + text[start : start + _WIDTH] + after, column - start + len(before)
