"""Whole source files for line tables, as they are now, with word of whether they are still what ran."""

from __future__ import annotations

import hashlib
import io
import tokenize
from pathlib import Path

from ..model import Profile
from ..view.line_rows import SourceProvider, SourceText


def source_text_of(profile: Profile) -> SourceProvider:
    """Gives the text of a file by its path, marked as changed when its bytes are not those that ran."""
    known: dict[str, SourceText] = {}

    def source(file: str) -> SourceText:
        if file not in known:
            known[file] = _read(file, profile.source_hashes.get(file))
        return known[file]

    return source


def _read(file: str, digest: str | None) -> SourceText:
    try:
        data = Path(file).read_bytes()
    except (OSError, ValueError):  # gone, a folder, not readable, or no path at all, as `<string>`
        return SourceText()
    changed = digest is not None and hashlib.sha256(data).hexdigest() != digest
    return SourceText(tuple(_lines(data)), changed)


def _lines(data: bytes) -> list[str]:
    """The lines as Python and Cython count them: a form feed, for one, does not end a line as it does for splitlines."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:  # an encoding that is unknown, or not that of the file
        encoding = "utf-8"
    text = data.decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
