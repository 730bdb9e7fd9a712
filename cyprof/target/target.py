"""The target as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["script", "module", "code", "saved"]


@dataclass(frozen=True, slots=True)
class Target:
    """What the user named.

    `value` is a path as it was typed (kind "script": a .py file, a folder or zip file with `__main__.py`; kind "saved": a
    .cyprof file), a module's name, or code. `args` are the program's own arguments.
    """

    kind: Kind
    value: str
    args: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """How a reader would name it: the path, `-m name`, or `-c`."""
        if self.kind == "module":
            return f"-m {self.value}"
        return "-c" if self.kind == "code" else self.value

    @property
    def words(self) -> list[str]:
        """The words that name it on a command line, its arguments not among them."""
        flags = {"module": ["-m"], "code": ["-c"]}
        return [*flags.get(self.kind, []), self.value]

    # The three that follow are what the scan for Cython sources asks (build.modules.Start).

    @property
    def script(self) -> Path | None:
        """The path of a script."""
        return Path(self.value) if self.kind == "script" else None

    @property
    def module(self) -> str | None:
        """The name of a module."""
        return self.value if self.kind == "module" else None

    @property
    def code(self) -> str | None:
        """The text given by -c."""
        return self.value if self.kind == "code" else None
