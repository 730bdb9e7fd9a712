"""Reads what a recorded process wrote: the bytes that probe/snapshot.c makes."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import Any

from ..model import KINDS

NODE_COLUMNS = (
    "parent", "function", "thread", "calls", "exact_calls", "resumes", "raised", "self_ns", "wait_ns", "call_line",
)  # fmt: skip
LINE_COLUMNS = ("line_node", "line_file", "line_line", "line_hits", "line_self_ns")
_MAGIC = b"cyprof-part-1\n\n\0"
_FOOT = (
    "nodes", "lines", "functions", "files", "threads", "wall_ns", "cpu_ns", "samples", "pid", "parent_pid", "started_ns",
    "forked", "state", "python_lost_ns", "stack_switched", "lines_lost", "memory_lost", "paths_shared", "unseen_entries",
)  # fmt: skip
_LANGUAGES = ("python", "cython", "c")

WHOLE, BY_EXIT, UNKNOWN = -1, -2, 0
"""What `state` says of a process's end: it was seen to the end, to an os._exit or os.exec, or to the time of writing only;
else it is the number of the signal that ended it."""


class PartError(ValueError):
    """The bytes are no part, or not a whole one."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process's recording. `raw` has the columns of its nodes and lines, its functions, files and threads. Times in ns."""

    raw: dict[str, Any]
    pid: int
    parent_pid: int
    started_ns: int
    forked: bool
    state: int
    name: str
    python_lost_ns: int
    stack_switched: bool
    lines_lost: bool
    memory_lost: bool
    paths_shared: bool
    unseen_entries: int


class _Reader:
    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._place:
            raise PartError("it is cut off")
        self._place += size
        return self._data[self._place - size : self._place]

    def numbers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"={count}q", self.take(8 * count))

    def text(self) -> str:
        (length,) = self.numbers(1)
        return self.take(length).decode("utf-8", "surrogateescape")

    def columns(self, names: tuple[str, ...], rows: int) -> dict[str, list[int]]:
        values = array("q", self.take(8 * rows * len(names)))
        return {name: values[index :: len(names)].tolist() for index, name in enumerate(names)}


def read_part(data: bytes) -> Part:
    """The recording in the bytes of a part. Raises PartError for anything else."""
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 8 * len(_FOOT):
        raise PartError("it is no part")
    foot = dict(zip(_FOOT, _Reader(data, len(data) - 8 * len(_FOOT)).numbers(len(_FOOT)), strict=True))
    reader = _Reader(data, len(_MAGIC))
    raw: dict[str, Any] = reader.columns(NODE_COLUMNS, foot["nodes"])
    raw |= reader.columns(LINE_COLUMNS, foot["lines"])
    raw["functions"] = [_function(reader) for _ in range(foot["functions"])]
    raw["files"] = [reader.text() for _ in range(foot["files"])]
    raw["threads"] = [_thread(reader) for _ in range(foot["threads"])]
    raw |= {name: foot[name] for name in ("wall_ns", "cpu_ns", "samples")}
    return Part(
        raw=raw,
        pid=foot["pid"],
        parent_pid=foot["parent_pid"],
        started_ns=foot["started_ns"],
        forked=bool(foot["forked"]),
        state=foot["state"],
        name=reader.text(),
        python_lost_ns=foot["python_lost_ns"],
        stack_switched=bool(foot["stack_switched"]),
        lines_lost=bool(foot["lines_lost"]),
        memory_lost=bool(foot["memory_lost"]),
        paths_shared=bool(foot["paths_shared"]),
        unseen_entries=foot["unseen_entries"],
    )


def _function(reader: _Reader) -> tuple[Any, ...]:
    module, name, file = (reader.text() for _ in range(3))
    line, kind, nogil, language = reader.numbers(4)
    return _shown(module), _shown(name), file, line, KINDS[kind], bool(nogil), _LANGUAGES[language]


def _shown(text: str) -> str:
    """A name; what is no valid text in it as a question mark."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _thread(reader: _Reader) -> tuple[int, str, int, int, int]:
    name = _shown(reader.text())
    number, cpu_ns, wall_ns, merged = reader.numbers(4)
    return number, name, cpu_ns, wall_ns, merged
