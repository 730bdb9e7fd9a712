"""The text of source lines, from files as they are now, where they are still what ran."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..model import Profile
from ..view import SourceLine

_LARGEST = 1 << 24
_SUFFIXES = (".py", ".pyw", ".pyx", ".pxd", ".pxi")


def read_source(file: str, digest: str | None) -> tuple[bytes | None, bool]:
    """The bytes of a source file, and whether they are those that ran, of which `digest` is the sha256.

    The name comes from a profile, and that from anywhere. So nothing is read that is no ordinary file of a source's size (a
    device has no end, a pipe makes its reader wait), and what did not run is read only where its name is a source's: no profile
    can have a private file of its reader's quoted. What is not read is None.
    """
    try:
        path = Path(file)
        size = path.stat().st_size if path.is_file() else _LARGEST + 1
        if size > _LARGEST:
            return None, False
        data = path.read_bytes() if size else b""  # files of /proc seem empty, and some of them never end
    except (OSError, ValueError):  # not readable, or no path at all, as `<string>`
        return None, False
    ran = digest is not None and hashlib.sha256(data).hexdigest() == digest
    if not ran and not file.lower().endswith(_SUFFIXES):
        return None, False
    return data, ran or digest is None


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
    data, ran = read_source(file, digest)
    return data.decode("utf-8", errors="replace").splitlines() if data is not None and ran else []
