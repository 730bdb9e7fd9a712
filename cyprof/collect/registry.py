"""The way from a target to a profile, whoever collects it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..errors import CollectError
from ..model import Profile
from ..target import Target

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """How a run is to be recorded.

    `clock`: "exact" reads it at each call, "sampled" leaves time to the watcher, "auto" goes from the one to the other.
    `lines`: line probes as well, in functions that match `only` (all when empty). `without`: functions left without
    probes. `progress`: whether the program's process, too, tells on stderr what it builds. `calibrate`: run the program a
    second time to settle what the probes' own cost leaves open. `silent`: its input is empty and its output goes nowhere.
    `children`: record the processes that the program starts, too.
    `packages`: projects that are to be seen too, each as NAME, NAME=PATH or PATH.
    """

    clock: Literal["auto", "exact", "sampled"] = "auto"
    lines: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    progress: bool = False
    calibrate: bool = False
    silent: bool = False
    children: bool = True
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """What came of a run. `exit_code` is the program's, negative for the signal it died by, 0 for a saved profile.

    `profile` is None when the program ended without giving one back; `lost` says why then. `remark` is a sentence for the
    user where the profile goes less far than the run.
    """

    profile: Profile | None
    exit_code: int = 0
    lost: CollectError | None = None
    remark: str = ""


ENGINES = {"probes": "probes", "cprofile": "stock", "line_profiler": "stock"}
"""The collectors there are, and the module of this package in which each registers itself."""

Collector = Callable[[Target, RecordOptions, Progress], Recording]
_collectors: dict[str, Collector] = {}


def collector(name: str) -> Callable[[Collector], Collector]:
    """Registers a collector under a name of ENGINES. Raises ValueError when it is taken."""

    def register(collect: Collector) -> Collector:
        if name in _collectors:
            raise ValueError(f"two collectors are called {name}")
        _collectors[name] = collect
        return collect

    return register


def record(target: Target, options: RecordOptions, progress: Progress, by: str = "probes") -> Recording:
    """Runs a target that `resolve` has checked, or reads the profile it names. Prints nothing.

    `progress` is told what is being done, one line at a time. Raises BuildError, CollectError, StoreError.
    """
    if target.kind == "saved":
        from ..store import load
        from .native import with_native_remarks

        profile = load(target.value)
        return Recording(profile if profile.has_paths else with_native_remarks(profile))
    if by not in _collectors:
        importlib.import_module(f"{__package__}.{ENGINES[by]}")
    if by != "probes":
        return _collectors[by](target, options, progress)
    from .second import with_second_run

    return with_second_run(_collectors[by], target, options, progress)
