"""What can be done with a profile that was recorded from Python: shown, drawn, written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import CollectError
from ..model import Profile


class Shown:
    """The result of a `with` block: in `profile` once the block has ended."""

    _profile: Profile | None = None

    @property
    def profile(self) -> Profile:
        """The recorded Profile. CollectError when nothing has been recorded yet."""
        if self._profile is None:
            raise CollectError("Nothing has been recorded yet.", "Read the result after the `with` block has ended.")
        return self._profile

    def stats(self) -> None:
        """Prints the function table."""
        from ..render import stats_text

        self._print(stats_text)

    def lines(self) -> None:
        """Prints the line table."""
        from ..render import line_table_text

        self._print(line_table_text)

    def graph(self, path: str | Path) -> Path:
        """Draws the call graph into a file, of the kind its suffix says, and returns its path."""
        return self._write(path, "graph")

    def export(self, path: str | Path) -> Path:
        """Writes the profile in the format that the suffix names (.json and others) and returns the path."""
        return self._write(path, "export")

    def save(self, path: str | Path) -> Path:
        """Writes a .cyprof file, which the command line reads, and returns its path."""
        from ..store import save

        save(self.profile, Path(path))
        return Path(path)

    def _print(self, text: Callable[..., str]) -> None:
        from ..view import ViewOptions

        sys.stdout.write(text(self.profile, ViewOptions()))

    def _write(self, path: str | Path, group: str) -> Path:
        from .. import render
        from ..view import ViewOptions

        return render.write(self.profile, Path(path), ViewOptions(), group)
