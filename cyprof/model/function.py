"""A function as a profile knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["python", "def", "cpdef", "cdef", "builtin", "module"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CYTHON_KINDS: frozenset[str] = frozenset({"def", "cpdef", "cdef"})


@dataclass(frozen=True, slots=True)
class Function:
    """One function of the program.

    `name` is the qualified name as its author wrote it (`Adam.update`, `make.<locals>.inner`, `horner[double]`),
    `file` an absolute path, or "" for a function written in C, `line` the line its definition starts on (0 without a
    file). `language` is "cython", "python" or "c"; it tells a Cython module body from a Python one, which `kind` does not.
    """

    id: int
    module: str
    name: str
    file: str
    line: int
    kind: Kind
    nogil: bool = False
    language: Literal["python", "cython", "c"] = "python"

    @property
    def label(self) -> str:
        """`module:qualified name (file:line)`, the tooltip of the picture."""
        place = f" ({self.file}:{self.line})" if self.file else ""
        return f"{self.module}:{self.name}{place}"
