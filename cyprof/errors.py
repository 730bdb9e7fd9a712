"""The errors cyprof reports to its user: one root, one subclass for each stage of a run.

Every error holds one sentence of what happened and one of what to do; the command line prints both and exits with
the class's code. Nothing else in cyprof is meant to reach a user as a traceback.
"""

from __future__ import annotations


class CyprofError(Exception):
    """An error the user can act on.

    `message` says what happened, `hint` what to do about it, `exit_code` is what the command exits with.
    """

    exit_code = 4

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(CyprofError):
    """The command line, or what it names, makes no sense."""

    exit_code = 2


class BuildError(CyprofError):
    """A probed copy of a module could not be built. `log` is the compilers' own output."""

    exit_code = 3

    def __init__(self, message: str, hint: str = "", log: str = "") -> None:
        super().__init__(message, hint)
        self.log = log


class CacheError(BuildError):
    """The folder that builds are kept in cannot be written: what is to be built can be built elsewhere."""


class CollectError(CyprofError):
    """The target could not be profiled."""

    exit_code = 4


class StoreError(CyprofError):
    """A profile file could not be read."""

    exit_code = 4


class RenderError(CyprofError):
    """A picture or a file could not be drawn or written."""

    exit_code = 5
