"""What the compilers said, cut down to what a reader needs: the place, the words, a few lines of source."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from cyprof.excerpt import window


class Complaint(NamedTuple):
    """The first error of a compiler: where it is, in whose words, and the source around it (may be empty)."""

    file: str
    line: int
    text: str
    excerpt: str
    column: int = 0


_CYTHON = re.compile(
    r"^Error compiling Cython file:\n-{20,}\n(?P<excerpt>.*?)\n-{20,}\n"
    r"\s*(?P<place>.+?):(?P<line>\d+):(?P<column>\d+): (?P<text>[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
_CYTHON_BARE = re.compile(
    r"^(?!warning)(?P<place>[^\n:]+\.(?:pyx|pxd|pxi|py)):(?P<line>\d+):(?P<column>\d+): (?P<text>[^\n]*)", re.MULTILINE
)
_C = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<text>[^\n]*)", re.MULTILINE)
_LINK = re.compile(
    r"^(?:\S*/)?(?:ld|ld\.\w+|collect2|mold|clang(?:\+\+)?|gcc|g\+\+)[^:\n]*: (?:error: )?(?P<text>[^\n]*)",
    re.MULTILINE,
)


def cython_complaint(log: str, files: list[str], source: str) -> Complaint | None:
    """Cython's first error in `log`. `files` are the sources that were read: Cython names them by short paths."""
    match = _CYTHON.search(log)
    if match is not None:
        excerpt = _narrowed(match["excerpt"].strip("\n"))
        return Complaint(_whole(match["place"], files, source), int(match["line"]), match["text"], excerpt)
    match = _CYTHON_BARE.search(log)
    if match is None:
        return None
    file, line, column = _whole(match["place"], files, source), int(match["line"]), int(match["column"])
    return Complaint(file, line, match["text"], source_line(file, line, column), column)


def c_complaint(log: str, c_file: str, files: list[str], source: str) -> Complaint | None:
    """The C compiler's first error in `log`, in a line of the author's source where it can be traced to one."""
    matches = list(_C.finditer(log))
    if not matches:
        return None
    own = next((match for match in matches if match["file"] != c_file), matches[0])
    line = int(own["line"])
    if own["file"] == c_file:
        return Complaint(source, 0, own["text"], "")
    file, column = _whole(own["file"], files, source), int(own["column"] or 0)
    return Complaint(file, line, own["text"], source_line(file, line, column), column)


def link_words(log: str) -> str:
    """The linker's first words in `log`, "" when it said none."""
    match = _LINK.search(log)
    return match["text"].strip() if match else ""


def source_line(file: str, line: int, column: int = 0) -> str:
    """Line `line` of `file`, of a long one the part around `column`; "" when it cannot be read."""
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return window(lines[line - 1], column)[0] if 0 < line <= len(lines) else ""


def _narrowed(excerpt: str) -> str:
    """Cython's excerpt with a window of each line; a `^` stays below what it points at."""
    *lines, last = excerpt.split("\n")
    if last.strip() != "^" or not lines:
        return "\n".join(window(line, 0)[0] for line in [*lines, last])
    *above, line = lines
    shown_line, column = window(line, last.index("^"))
    return "\n".join([*(window(text, 0)[0] for text in above), shown_line, " " * column + "^"])


def shown(path: str, folder: str) -> str:
    """`path` as a reader in `folder` would write it: relative when it lies below, else whole."""
    return os.path.relpath(path, folder) if path.startswith(folder.rstrip(os.sep) + os.sep) else path


def indented(excerpt: str) -> str:
    """The excerpt as lines that follow a sentence, "" for none."""
    return "".join(f"\n    {line}" for line in excerpt.splitlines())


def _whole(place: str, files: list[str], source: str) -> str:
    if Path(place).is_absolute():
        return place
    ending = os.sep + place.removeprefix("./")
    candidates = [file for file in [source, *files] if file.endswith(ending)]
    name = os.sep + Path(place).name
    return next(iter(candidates), next((file for file in [source, *files] if file.endswith(name)), source))
