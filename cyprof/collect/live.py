"""Profiles code of a process that is running already: `with cyprof.profile() as p: ...`."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from ..build import overlay as finder
from ..build import spare
from ..build.around import build_named
from ..build.cache import kept_in_use
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..errors import BuildError, CacheError, CollectError
from .convert import Facts, now, to_profile
from .part import read_part
from .processes import limit_notes
from .shown import Shown
from .supported import load_runtime

P = ParamSpec("P")
R = TypeVar("R")
_process = contextlib.ExitStack()
"""What is held until this process ends."""
PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of cyprof itself."""


def install(*, lines: bool = True, only: tuple[str, ...] = (), on_built: Callable[[], None] | None = None) -> None:
    """Has Cython modules that are imported from now on built with probes, and line probes unless `lines` is false.

    Only loose sources (`.pyx` files on `sys.path` or in its packages) are built, as `cyprof run` would. `only` limits line
    probes to functions whose qualified name, or `module:name`, matches a pattern. A module that does not compile raises
    BuildError at its import. `on_built` is called when a module was built.
    """
    load_runtime()  # it has to be there before the first probed module looks for it
    probes = ProbeOptions(lines=lines, only=only)
    chosen = {"lines": probes.lines, "only": list(probes.only), "without": list(probes.without)}
    _process.enter_context(kept_in_use())
    known = finder.current()
    overlay = known if known is not None and known.probes == chosen else Overlay({}, chosen)
    finder.install(overlay, build_missing=True, on_failure=_raise, on_built=on_built, spare=_spare)


def build_packages(packages: Sequence[str]) -> None:
    """Builds the projects that `packages` name, as NAME, NAME=PATH or PATH, with probes as `install` was told; what is imported
    of them from then on has them. Takes as long as their compilers do. Raises BuildError and UsageError."""
    overlay = finder.current()
    assert overlay is not None
    probes = ProbeOptions.from_json(overlay.probes)
    for text in packages:
        try:
            project = build_named(text, probes, _silent)
        except CacheError as error:
            _spare(error.message)
            project = build_named(text, probes, _silent)
        overlay.add(project.overlay())


def _silent(text: str) -> None:
    """Progress nobody asked for."""


def _spare(reason: str) -> str:
    """A folder of this process's own to build in, where the user's cache cannot be written; says so."""
    if spare.current() is None:
        spare.use(Path(tempfile.mkdtemp(prefix="cyprof-cache-")), reason)
        atexit.register(_remove_spare, os.getpid())
        warnings.warn(spare.remark(), stacklevel=2)
    return str(spare.current())


def _remove_spare(owner: int) -> None:
    if os.getpid() == owner:  # a fork of the process runs this, too
        spare.remove()


def _raise(error: BuildError) -> Any:
    raise error


class profile(Shown):  # lower case: used as `with cyprof.profile()` and `@cyprof.profile()`, where it reads as a verb
    """Records what this process does in a `with` block, or in a decorated function, on all its threads.

    Modules imported through the finder (`cyprof.install()` before the import, or any run by the `cyprof` command) show their
    Cython functions; other modules are seen from outside. One recording at a time; a second raises CollectError. After the
    block the result is in `profile`; `lines()`, `stats()` and `graph()` show it. A decorated function is recorded anew
    at each call, and the last recording is kept.
    """

    def __init__(self, *, clock: Literal["auto", "exact", "sampled"] = "auto", lines: bool = True) -> None:
        self._clock = clock
        self._lines = lines
        self._started = ""
        self._runtime = load_runtime()
        self._cost: dict[str, float] = {}

    def __enter__(self) -> Self:
        # Python's own files of cyprof are not part of what is profiled.
        self._runtime.hide(f"{PACKAGE}/")
        try:
            self._cost = self._cost or self._runtime.calibrate()
            self._started = now()
            self._runtime.start(self._clock, self._lines, own_files() if self._lines else None, True)
        except RuntimeError as error:
            raise CollectError(
                f"Recording cannot begin: {error}.", "End the other recording first; one runs at a time in a process."
            ) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        part = read_part(self._runtime.stop())
        overlay = finder.current() or Overlay({})
        result = {
            "raw": part.raw | {"notes": list(limit_notes([part]))},
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


def own_files() -> Callable[[str], bool]:
    """Answers whether a Python file is the user's own, neither installed nor of the standard library."""
    from ..build.locate import Folders

    folders = Folders()
    return lambda file: not file.startswith("<") and folders.is_local(str(Path(file).parent))
