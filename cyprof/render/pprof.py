"""pprof's profile.proto, gzip-compressed: for `go tool pprof` and the services that read it.

The messages and their field numbers are those of github.com/google/pprof, proto/profile.proto. They are few and flat, so the
wire format (protobuf.dev/programming-guides/encoding) is written here, which saves its readers a large dependency.
"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Iterable

from ..model import NO_PARENT, Profile
from ..view import ViewOptions
from ..view.names import unique_names
from ..view.units import visible
from .registry import FOR_OTHER_VIEWERS, renderer

SAMPLE_TYPES = (("calls", "count"), ("self", "nanoseconds"), ("wait", "nanoseconds"))


@renderer(
    ".pb.gz",
    name="pprof",
    description="for pprof: calls, self and wait time of each call path",
    groups=FOR_OTHER_VIEWERS,
    limits="pprof's file holds calls and times along each call path, and no lines.",
    needs_paths=True,
)
def pprof_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """One sample for each node of the calling-context tree, labelled with its thread. Options do not change it."""
    del options
    return gzip.compress(_message(profile), compresslevel=6, mtime=0)


def varint(value: int) -> bytes:
    """A number as protobuf writes it: seven bits a byte, the lowest first, negative ones as 64 bits."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def number(field: int, value: int) -> bytes:
    """A field that holds a number (wire type 0)."""
    return varint(field << 3) + varint(value)


def block(field: int, data: bytes) -> bytes:
    """A field that holds bytes: text, a message, or packed numbers (wire type 2)."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    """A field that holds several numbers."""
    return block(field, b"".join(map(varint, values)))


class _Texts:
    """The string table: a text is written once and named by its index; the first is empty."""

    def __init__(self) -> None:
        self._indices = {"": 0}

    def of(self, text: str) -> int:
        return self._indices.setdefault(text, len(self._indices))

    def table(self) -> bytes:
        return b"".join(block(6, text.encode()) for text in self._indices)


def _message(profile: Profile) -> bytes:
    """The Profile message."""
    texts = _Texts()
    parts = [block(1, number(1, texts.of(kind)) + number(2, texts.of(unit))) for kind, unit in SAMPLE_TYPES]
    parts += _samples(profile, texts)
    parts += _functions(profile, texts)
    run = profile.run
    parts.append(number(9, _nanoseconds(run.started)) + number(10, run.wall_ns))
    parts.append(packed(13, [texts.of(visible(f"{run.target}, Python {run.python}, Cython {run.cython}, clock {run.clock}"))]))
    parts.append(number(14, texts.of("self")))
    return b"".join([*parts, texts.table()])


def _samples(profile: Profile, texts: _Texts) -> Iterable[bytes]:
    tree, own = profile.tree, profile.node_times.best
    key = number(1, texts.of("thread"))
    labels = {thread.id: block(3, key + number(2, texts.of(visible(thread.name)))) for thread in profile.threads}
    stacks = {NO_PARENT: b""}
    for node, entering in tree.walk():
        if not entering:
            del stacks[node]
            continue
        # Locations have their function's number, the innermost stands first.
        stack = stacks[node] = varint(tree.function[node] + 1) + stacks[tree.parent[node]]
        values = (tree.calls[node], own[node], min(tree.wait_ns[node], own[node]))
        yield block(2, block(1, stack) + packed(2, values) + labels.get(tree.thread[node], b""))


def _functions(profile: Profile, texts: _Texts) -> Iterable[bytes]:
    """A Location and a Function for each function."""
    for name, function in zip(unique_names(profile.functions), profile.functions, strict=True):
        index = function.id + 1
        yield block(4, number(1, index) + block(4, number(1, index) + number(2, function.line)))
        named = (
            number(2, texts.of(name))
            + number(3, texts.of(visible(function.name)))
            + number(4, texts.of(visible(function.file)))
        )
        yield block(5, number(1, index) + named + number(5, function.line))


def _nanoseconds(started: str) -> int:
    """An ISO date as ns since 1970, 0 where it is none."""
    try:
        return round(datetime.datetime.fromisoformat(started).timestamp()) * 1_000_000_000
    except ValueError:
        return 0
