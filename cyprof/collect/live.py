"""Profiles code of a process that is running already: `with cyprof.profile() as p: ...`."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from ..build import overlay as finder
from ..build.cache import kept_in_use
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..errors import BuildError, CollectError
from ..model import Profile
from .convert import Facts, now, to_profile
from .part import read_part

P = ParamSpec("P")
R = TypeVar("R")
_process = contextlib.ExitStack()
"""What is held until this process ends."""
_PACKAGE = Path(__file__).resolve().parent.parent


def install(*, lines: bool = True, only: tuple[str, ...] = ()) -> None:
    """Has Cython modules that are imported from now on built with probes, and line probes unless `lines` is false.

    Only loose sources (`.pyx` files on `sys.path` or in its packages) are built, as `cyprof run` would. `only` limits line
    probes to functions whose qualified name, or `module:name`, matches a pattern. A module that does not compile raises
    BuildError at its import.
    """
    # The runtime has to be there before the first probed module looks for it.
    import_module("cyprof.probe._runtime")
    probes = ProbeOptions(lines=lines, only=only)
    chosen = {"lines": probes.lines, "only": list(probes.only), "without": list(probes.without)}
    _process.enter_context(kept_in_use())
    finder.install(Overlay({}, chosen), build_missing=True, on_failure=_raise)


def _raise(error: BuildError) -> Any:
    raise error


class profile:  # lower case: used as `with cyprof.profile()` and `@cyprof.profile()`, where it reads as a verb
    """Records what this process does in a `with` block, or in a decorated function, on all its threads.

    Modules imported through the finder (`cyprof.install()` before the import, or any run by the `cyprof` command) show their
    Cython functions; other modules are seen from outside. One recording at a time; a second raises CollectError. After the
    block the result is in `profile`; `lines()`, `stats()` and `graph()` show it. A decorated function is recorded anew
    at each call, and the last recording is kept.
    """

    def __init__(self, *, clock: Literal["auto", "exact", "sampled"] = "auto", lines: bool = True) -> None:
        self._clock = clock
        self._lines = lines
        self._profile: Profile | None = None
        self._started = ""
        self._runtime = import_module("cyprof.probe._runtime")
        self._cost: dict[str, float] = {}

    @property
    def profile(self) -> Profile:
        """The recorded Profile. CollectError when nothing has been recorded yet."""
        if self._profile is None:
            raise CollectError("Nothing has been recorded yet.", "Read the result after the `with` block has ended.")
        return self._profile

    def __enter__(self) -> Self:
        # Python's own files of cyprof are not part of what is profiled.
        self._runtime.hide(f"{_PACKAGE}/")
        try:
            self._cost = self._cost or self._runtime.calibrate()
            self._started = now()
            self._runtime.start(self._clock, self._lines, _own_files() if self._lines else None, True)
        except RuntimeError as error:
            raise CollectError(
                f"Recording cannot begin: {error}.", "End the other recording first; one runs at a time in a process."
            ) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        raw = read_part(self._runtime.stop()).raw
        overlay = finder.current() or Overlay({})
        result = {
            "raw": raw,
            "loaded": finder.loaded(),
            "overlay": overlay.to_json(),
            "extensions": finder.unprobed_extensions(),
        }
        facts = Facts(
            target=Path(sys.argv[0]).name or "python",
            argv=tuple(sys.argv),
            exit_code=0,
            started=self._started,
            clock=self._clock,
            with_lines=self._lines,
            cost=self._cost,
        )
        self._profile = to_profile(result, facts)
        if not finder.loaded():
            self._profile.notes.append(
                "No module carries probes here: call cyprof.install() before the Cython modules are imported to see them."
            )

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def recorded(*args: P.args, **keywords: P.kwargs) -> R:
            with self:
                return function(*args, **keywords)

        recorded.cyprof = self  # type: ignore[attr-defined]
        return recorded

    def stats(self) -> None:
        """Prints the function table."""
        from ..render import stats_text
        from ..view import ViewOptions

        sys.stdout.write(stats_text(self.profile, ViewOptions()))

    def lines(self) -> None:
        """Prints the line table."""
        from ..render import line_table_text
        from ..view import ViewOptions

        sys.stdout.write(line_table_text(self.profile, ViewOptions()))

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

    def _write(self, path: str | Path, group: str) -> Path:
        from .. import render
        from ..view import ViewOptions

        return render.write(self.profile, Path(path), ViewOptions(), group)


def _own_files() -> Callable[[str], bool]:
    """Answers whether a Python file is the user's own, neither installed nor of the standard library."""
    from ..build.locate import Folders

    folders = Folders()
    return lambda file: not file.startswith("<") and folders.is_local(str(Path(file).parent))
