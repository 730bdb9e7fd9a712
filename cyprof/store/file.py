"""The `.cyprof` file: a fixed head (magic, version, length, checksum), then compressed JSON of parallel arrays; and what can be
loaded in its place.

A file may come from anywhere. Nothing in it is executed, its size in memory is bounded, and `content.py` checks every
value before a Profile is made of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any, NoReturn

from ..errors import StoreError
from ..files import write_bytes
from ..model import Profile
from .content import ContentError, from_content, to_content
from .marshalled import looks_like_stats
from .pstats_file import LARGEST as LARGEST_STATS
from .pstats_file import SUFFIXES as STATS_SUFFIXES
from .pstats_file import stats_profile

SUFFIX = ".cyprof"
VERSION = 1

# The first byte is no text in any encoding, the line break shows a transfer that changed line ends.
MAGIC = b"\x93cyprof\n"
_HEAD = struct.Struct(">8sIQ32s")
_LARGEST = 1 << 28
"""No more bytes than this are unpacked, """
_MOST_VALUES = 1 << 24
"""no more values are read, some 1.6 million nodes,"""
_MOST_LISTS = 1 << 21
"""and no more lists and mappings: an empty one takes twenty times the memory of the two characters that stand for it."""

_RECORD_LESS = "Record a shorter run, or its first process alone (--no-children); of many recordings merge fewer at once."
_RECORD_ANEW = "Record it again: cyprof run SCRIPT -o FILE.cyprof"


def save(profile: Profile, path: str | os.PathLike[str]) -> Path:
    """Writes a profile into a file, whole or not at all, and returns its path. Raises RenderError when it cannot, and
    StoreError for one too large to be read again."""
    place = Path(path)
    write_bytes(place, to_bytes(profile))
    return place


def to_bytes(profile: Profile) -> bytes:
    """What a file of this profile holds. Raises StoreError for one too large to be read again."""
    text = json.dumps(to_content(profile), separators=(",", ":"), allow_nan=False).encode("ascii")
    too_large = _too_large(text)
    if too_large:
        raise StoreError(f"The profile is too large for a file: it has {too_large}.", _RECORD_LESS)
    payload = zlib.compress(text, 6)
    return _HEAD.pack(MAGIC, VERSION, len(payload), hashlib.sha256(payload).digest()) + payload


def load(path: str | os.PathLike[str]) -> Profile:
    """Reads a profile that `save` wrote, or a pstats file, which cProfile writes. Raises StoreError for a file that is missing,
    foreign, damaged or too new."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(LARGEST_STATS + 1)
            if not _is_stats(place, data):
                data += file.read()
    except OSError as error:
        raise StoreError(
            f"{place} cannot be read: {error.strerror or error}.", "Check the name; cyprof run writes such files."
        ) from error
    if _is_stats(place, data):
        return _load_stats(place, data)
    return from_bytes(data, place)


def from_bytes(data: bytes, place: Path) -> Profile:
    """The profile in the bytes of a file; errors name it by `place`. Raises StoreError as `load` does."""
    payload = _payload(place, data)
    try:
        return from_content(_parse(_unpack(place, payload)))
    except (ContentError, ValueError, RecursionError) as error:
        raise StoreError(f"{place} holds no valid profile: {error}.", _RECORD_ANEW) from error


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins as a saved profile or a pstats file does, or is named as one. False when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(len(MAGIC))
            return head == MAGIC or _is_stats(Path(path), head)
    except OSError:
        return False


def _is_stats(path: Path, data: bytes) -> bool:
    named = path.name.lower().endswith(STATS_SUFFIXES) and not data.startswith(MAGIC)
    return named or looks_like_stats(data)


def _load_stats(path: Path, data: bytes) -> Profile:
    if len(data) > LARGEST_STATS:
        raise StoreError(f"{path} is larger than {LARGEST_STATS >> 20} MB.", "Profile a smaller part of the program.")
    try:
        return stats_profile(data, path)
    except ValueError as error:
        raise StoreError(
            f"{path} holds no valid pstats data: {error}.", f"Make it anew: python -m cProfile -o {path} SCRIPT"
        ) from error


def _payload(path: Path, data: bytes) -> bytes:
    """The compressed part, after the head and the checksum have been checked."""
    if not data:
        raise StoreError(f"{path} is empty.", _RECORD_ANEW)
    if not data.startswith(MAGIC[: len(data)]):
        raise StoreError(f"{path} is not a cyprof profile.", "Name a file that cyprof run has written.")
    if len(data) < _HEAD.size:
        raise StoreError(f"{path} is truncated: it ends within its first {_HEAD.size} bytes.", _RECORD_ANEW)
    _, version, length, digest = _HEAD.unpack_from(data)
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer cyprof (file version {version}, this one reads up to {VERSION}).",
            "Update cyprof.",
        )
    if version < 1:
        raise StoreError(f"{path} is damaged: it names file version {version}.", _RECORD_ANEW)
    payload = data[_HEAD.size :]
    if len(payload) < length:
        raise StoreError(f"{path} is truncated: {len(payload):,} of {length:,} bytes are there.", _RECORD_ANEW)
    if len(payload) > length or hashlib.sha256(payload).digest() != digest:
        raise StoreError(f"{path} is damaged: its checksum does not fit its content.", _RECORD_ANEW)
    return payload


def _unpack(path: Path, payload: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(payload, _LARGEST + 1)
    except zlib.error as error:
        raise StoreError(f"{path} is damaged: it cannot be unpacked.", _RECORD_ANEW) from error
    too_large = _too_large(text)
    if too_large:
        raise StoreError(f"{path} holds {too_large}.", _RECORD_LESS)
    if not unpacker.eof or unpacker.unused_data:
        raise StoreError(f"{path} is damaged: its compressed part is not whole.", _RECORD_ANEW)
    return text


def _too_large(text: bytes) -> str:
    """What there is too much of in a profile for any file, in words; "" for one that can be read in bounded memory."""
    if len(text) > _LARGEST:
        return f"more than {_LARGEST >> 20} MB when unpacked"
    if text.count(b",") > _MOST_VALUES:
        return f"more than {_MOST_VALUES:,} values"
    return f"more than {_MOST_LISTS:,} lists" if text.count(b"[") + text.count(b"{") > _MOST_LISTS else ""


def _parse(text: bytes) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ContentError(f"{word} is no number")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ContentError(f"it is no JSON ({error.msg})") from error
