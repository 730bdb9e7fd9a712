"""Reads the little of Python's marshal format that a pstats file is made of, and nothing else.

`marshal.loads` is not for files of others: hostile bytes can crash the interpreter or fill its memory (the marshal module's
documentation warns of it). This reader knows the one shape that pstats has. It never recurses, makes no object that is larger
than the bytes it came from, and refuses references to anything that holds others, so a small file cannot stand for a huge one.
Source of the format: Python/marshal.c of CPython, versions 2 to 5.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final

from ..model import Calls, Entry, Key

Number = int | float

_SHARED = 0x80
"""This bit on a type says that the object may be named again by a reference."""
_PENDING: Final = object()
_START = (b"{\x28\x03\0\0\0", b"{\xa8\x03\0\0\0", b"{\x29\x03", b"{\xa9\x03")
_MOST = 1 << 63


class MarshalError(ValueError):
    """The bytes are no pstats file; says what is wrong and where."""


def looks_like_stats(data: bytes) -> bool:
    """Whether bytes begin as a pstats file does: a dict whose first key is a tuple of three. No text begins so."""
    plain = bytes([data[0] & ~_SHARED]) + data[1:6] if data else b""
    return plain.startswith(_START) or plain == b"{0"


def read_stats(data: bytes) -> dict[Key, Entry]:
    """The content of a pstats file. Raises MarshalError for anything else."""
    reader = _Reader(data)
    try:
        stats = reader.stats()
    except (struct.error, IndexError) as error:
        raise MarshalError("it ends in the middle of a value") from error
    if reader.position != len(data):
        raise MarshalError(f"{len(data) - reader.position:,} bytes follow its end")
    return stats


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0
        self._shared: list[Any] = []

    def stats(self) -> dict[Key, Entry]:
        """The outermost dict."""
        self._begin(b"{")
        found: dict[Key, Entry] = {}
        while not self._at_end_of_dict():
            key = self._key()
            found[key] = self._entry()
        return found

    def _at_end_of_dict(self) -> bool:
        if self._data[self.position] != ord("0"):
            return False
        self.position += 1
        return True

    def _begin(self, kinds: bytes) -> tuple[int, int]:
        """The type of the next object, which must be one of `kinds`, and the number of its place among the shared ones (-1
        for none)."""
        code = self._data[self.position]
        kind, place = code & ~_SHARED, -1
        if kind not in kinds:
            raise self._wrong(f"a value of type {chr(kind)!r}")
        self.position += 1
        if code & _SHARED:
            place = len(self._shared)
            self._shared.append(_PENDING)
        return kind, place

    def _wrong(self, what: str) -> MarshalError:
        return MarshalError(f"{what} stands at byte {self.position:,}, where a pstats file has none")

    def _bytes(self, size: int) -> bytes:
        data = self._data[self.position : self.position + size]
        if size < 0 or len(data) < size:
            raise MarshalError("it ends in the middle of a value")
        self.position += size
        return data

    def _unpack(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self.position)
        self.position += struct.calcsize(form)
        return value

    def _keep(self, place: int, value: Any) -> None:
        if place >= 0:
            self._shared[place] = value

    def _known(self, of: type | tuple[type, ...]) -> Any:
        """What a reference names, which must be complete and of a type."""
        index = self._unpack("<I")
        value = self._shared[index] if index < len(self._shared) else _PENDING
        if not isinstance(value, of):
            raise self._wrong("a reference to something else")
        return value

    def _tuple_size(self, kind: int) -> int:
        return int(self._unpack("<B" if kind == ord(")") else "<I"))

    def _key(self) -> Key:
        """File, line and name of a function."""
        kind, place = self._begin(b"()r")
        if kind == ord("r"):
            key = self._known(tuple)
            if len(key) != 3 or not isinstance(key[0], str):
                raise self._wrong("a reference to something else")
            return key  # type: ignore[no-any-return]
        if self._tuple_size(kind) != 3:
            raise self._wrong("a key that is not (file, line, name)")
        key = (self._text(), self._count(), self._text())
        self._keep(place, key)
        return key

    def _entry(self) -> Entry:
        kind, _ = self._begin(b"()")
        if self._tuple_size(kind) != 5:
            raise self._wrong("an entry that is not (calls, calls, time, time, callers)")
        primitive, calls = self._count(), self._count()
        entry = Entry(Calls(calls, primitive, self._time(), self._time()))
        self._begin(b"{")
        while not self._at_end_of_dict():
            key = self._key()
            entry.callers[key] = self._caller()
        return entry

    def _caller(self) -> Calls:
        """cProfile's (calls, primitive calls, self time, total time), or the number of calls that `profile` writes."""
        if self._data[self.position] & ~_SHARED not in b"()":
            count = self._count()
            return Calls(count, count, None, None)
        kind, place = self._begin(b"()")
        if self._tuple_size(kind) != 4:
            raise self._wrong("a caller that is not (calls, calls, time, time)")
        calls = Calls(self._count(), self._count(), self._time(), self._time())
        self._keep(place, _PENDING)
        return calls

    def _text(self) -> str:
        kind, place = self._begin(b"zZaAutr")
        if kind == ord("r"):
            return str(self._known(str))
        size = int(self._unpack("<B" if kind in b"zZ" else "<I"))
        data = self._bytes(size)
        try:
            text = data.decode("utf-8", "surrogatepass") if kind in b"ut" else data.decode("ascii")
        except UnicodeDecodeError as error:
            raise self._wrong("text that cannot be decoded") from error
        self._keep(place, text)
        return text

    def _number(self) -> Number:
        kind, place = self._begin(b"ilgr")
        if kind == ord("r"):
            return self._known((int, float))  # type: ignore[no-any-return]
        value: Number
        if kind == ord("i"):
            value = self._unpack("<i")
        elif kind == ord("g"):
            value = self._unpack("<d")
        else:
            value = self._long()
        self._keep(place, value)
        return value

    def _long(self) -> int:
        """A large number: how many digits of 15 bits, negative for a negative number, and the digits."""
        size = self._unpack("<i")
        if abs(size) > 5:
            raise self._wrong("a number that is too large")
        value = sum((self._unpack("<H") & 0x7FFF) << (15 * place) for place in range(abs(size)))
        return int(-value if size < 0 else value)

    def _count(self) -> int:
        value = self._number()
        if not isinstance(value, int) or not 0 <= value < _MOST:
            raise self._wrong("something else than a count")
        return value

    def _time(self) -> float:
        value = float(self._number())
        if not math.isfinite(value) or abs(value) * 1e9 >= _MOST:
            raise self._wrong("something else than a time")
        return value
