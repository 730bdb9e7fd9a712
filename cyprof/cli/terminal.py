"""What a command prints, and where: tables to stdout, everything about the work itself to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from contextlib import suppress
from typing import TextIO

from ..errors import BuildError, CyprofError


class Terminal:
    """stdout and stderr of a command. `quiet` leaves progress and notes out, `debug` shows tracebacks. Of the ranks of an MPI
    program, which share one terminal, each says with its `place` what concerns it alone, and one is the `speaker` for all."""

    def __init__(self, quiet: bool = False, debug: bool = False) -> None:
        self.quiet = quiet
        self.debug = debug
        self.place = ""
        self.speaker = True

    @property
    def shows_progress(self) -> bool:
        """Whether progress is shown: only to somebody who looks at a terminal."""
        return not self.quiet and self.speaker and _is_terminal(sys.stderr)

    def progress(self, text: str) -> None:
        """Says what is being done now."""
        if self.shows_progress:
            self.say(f"cyprof: {text}\n")

    def note(self, text: str) -> None:
        """Says what a user wants to know afterwards: a path, something that was left out. Of several ranks one says it."""
        if self.speaker and not self.quiet:
            self.say(f"cyprof: {text}\n")

    def remark(self, text: str) -> None:
        """Says what happened to this very process."""
        if not self.quiet:
            self.say(f"cyprof: {self._begin()}{text}\n")

    def _begin(self) -> str:
        return f"{self.place}: " if self.place else ""

    def error(self, error: CyprofError) -> None:
        """Says what happened and what to do, with the traceback for those who asked for it."""
        if self.debug:
            self.say("".join(traceback.format_exception(error)))
            if isinstance(error, BuildError) and error.log:
                self.say(f"{error.log.rstrip()}\n")
        hint = f"\n{error.hint}" if error.hint else ""
        self.say(f"cyprof: {self._begin()}error: {error.message}{hint}\n")

    def say(self, text: str) -> None:
        """Text to stderr, at once. A stderr that is closed is no reason to stop."""
        if sys.stderr is None:
            return
        with suppress(OSError):
            sys.stderr.write(text.encode(sys.stderr.encoding or "utf-8", "backslashreplace").decode(sys.stderr.encoding))
            sys.stderr.flush()

    def table(self, text: str) -> None:
        """Text to stdout. Raises BrokenPipeError when its reader has left."""
        if sys.stdout is None:
            return
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()

    @property
    def width(self) -> int:
        """Columns of the terminal that stdout is, 0 when it is none."""
        return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else 0

    @property
    def color(self) -> bool:
        """Whether tables are coloured."""
        return _is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def flush(self) -> None:
        """Writes out what is still held back. Raises BrokenPipeError when a reader has left."""
        if sys.stdout is not None:
            sys.stdout.flush()

    def abandon_stdout(self) -> None:
        """Nobody reads stdout any more (`| head`): nothing shall complain about that at the end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()
