"""Files that are written whole or not at all: a reader sees the old one or the new one."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from cyprof.errors import RenderError


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file the user named; its mode and what a link points to stay. Raises RenderError."""
    try:
        _write(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written: {error.strerror or error}.", "Free the place, or name another file."
        ) from error


def check_place(path: Path) -> None:
    """Raises, before anything is run, the RenderError that `write_bytes` could only raise afterwards."""
    folder = path.parent
    if path.is_dir():
        raise RenderError(f"{path} is a folder.", "Name a file to write.")
    if not folder.is_dir():
        raise RenderError(f"The folder {folder} does not exist.", "Make it first, or name another.")
    if path.exists() and not os.access(path, os.W_OK):
        raise RenderError(f"{path} cannot be written: permission denied.", "Name another file.")
    if not path.exists() and not os.access(folder, os.W_OK):
        raise RenderError(f"The folder {folder} cannot be written: permission denied.", "Name another place.")


def write_own(path: Path, text: str) -> None:
    """Writes a file of cyprof's own into a folder that is there. Raises OSError."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _write(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():
        target.write_bytes(data)  # a pipe or a device has no other way
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        draft.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        draft.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            draft.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
