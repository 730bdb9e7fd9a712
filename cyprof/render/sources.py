"""The text of source lines, from files as they are now, where they are still what ran."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..model import Profile
from ..view import SourceLine


def source_line_of(profile: Profile) -> SourceLine:
    """Gives the text of a line of a file, or None where the file is gone, is no text, or has changed since it ran."""
    files: dict[str, list[str]] = {}

    def source_line(file: str, line: int) -> str | None:
        if file not in files:
            files[file] = _read(file, profile.source_hashes.get(file))
        lines = files[file]
        return lines[line - 1] if 0 < line <= len(lines) else None

    return source_line


def _read(file: str, digest: str | None) -> list[str]:
    path = Path(file)
    if not path.is_file():
        return []
    data = path.read_bytes()
    if digest and hashlib.sha256(data).hexdigest() != digest:
        return []
    return data.decode("utf-8", errors="replace").splitlines()
