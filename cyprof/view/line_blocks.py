"""Where a function ends in its source, so that lines it did not reach are shown too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_DEFINES = re.compile(r"\s*(?:@|(?:async|def|cdef|cpdef|class|property)\b)")
_TOKEN = re.compile(
    r"""(?P<triple>\"\"\"|''')|(?P<string>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(?P<comment>\#.*)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<colon>:)"""
)


def block_end(lines: Sequence[str], first: int) -> int:
    """The last line of the function whose definition or first decorator stands on line `first` (both from 1).

    Told from indentation, brackets and strings alone: it has to hold for source that no parser of Python's takes.
    Returns `first` where no definition begins there, as for a lambda.
    """
    if not 0 < first <= len(lines) or not _DEFINES.match(lines[first - 1]):
        return first
    scanner = _Scanner()
    base = _indentation(lines[first - 1])
    in_body, last = False, first
    for number in range(first, len(lines) + 1):
        line = lines[number - 1]
        starts, stripped = scanner.at_start, line.strip()
        if starts and in_body and stripped and _indentation(line) <= base and not stripped.startswith("#"):
            return last
        in_header = not in_body and not (starts and stripped.startswith("@"))
        after_colon = scanner.read(line, wants_colon=in_header)
        if stripped and (_indentation(line) > base or not stripped.startswith("#") or not in_body):
            last = number
        if after_colon is None:
            continue
        in_body = True
        if after_colon and scanner.at_start:
            return number  # the body stands on the line of the definition
    return last


def innermost(extents: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int] | None]:
    """For each line from 0 to `size` the smallest of the extents (first and last line) that hold it."""
    owner: list[tuple[int, int] | None] = [None] * (size + 1)
    for extent in sorted(set(extents), key=lambda extent: (extent[0] - extent[1], extent[0])):
        first, last = extent
        owner[first : last + 1] = [extent] * (min(last, size) - first + 1)
    return owner


class _Scanner:
    """Follows brackets and strings from line to line. `at_start`: the next line begins a statement."""

    def __init__(self) -> None:
        self.at_start = True
        self._depth = 0
        self._quote = ""

    def read(self, line: str, *, wants_colon: bool) -> str | None:
        """Takes a line in. Returns what stands behind its first colon outside brackets, None without one."""
        position, behind = 0, None
        while True:
            if self._quote:
                end = line.find(self._quote, position)
                if end < 0:
                    break
                position, self._quote = end + 3, ""
            found = _TOKEN.search(line, position)
            if found is None:
                break
            position = found.end()
            match found.lastgroup:
                case "triple":
                    self._quote = found.group()
                case "open":
                    self._depth += 1
                case "close":
                    self._depth = max(0, self._depth - 1)
                case "colon" if wants_colon and behind is None and not self._depth:
                    behind = line[position:].partition("#")[0].strip()
        self.at_start = not self._depth and not self._quote and not line.rstrip().endswith("\\")
        return behind


def _indentation(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())
