"""Whole source files for line tables, as they are now, with word of whether they are still what ran."""

from __future__ import annotations

import io
import tokenize

from ..model import Profile
from ..view.line_rows import SourceProvider, SourceText
from .sources import read_source


def source_text_of(profile: Profile) -> SourceProvider:
    """Gives the text of a file by its path, marked as changed when its bytes are not those that ran."""
    known: dict[str, SourceText] = {}

    def source(file: str) -> SourceText:
        if file not in known:
            known[file] = _read(file, profile.source_hashes.get(file))
        return known[file]

    return source


def _read(file: str, digest: str | None) -> SourceText:
    data, ran = read_source(file, digest)
    return SourceText(tuple(_lines(data)), not ran) if data is not None else SourceText()


def _lines(data: bytes) -> list[str]:
    """The lines as Python and Cython count them: a form feed, for one, does not end a line as it does for splitlines."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:  # an encoding that is unknown, or not that of the file
        encoding = "utf-8"
    text = data.decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
