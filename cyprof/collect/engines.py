"""One target recorded by every engine in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import CollectError
from ..model import Profile
from ..target import Target
from .registry import Progress, Recording, RecordOptions, record


@dataclass(frozen=True, slots=True)
class Engines:
    """What the three say of one program; `exit_code` is that of the run with probes."""

    probes: Profile
    cprofile: Profile
    line_profiler: Profile
    exit_code: int


def record_with_all(target: Target, options: RecordOptions, progress: Progress) -> Engines:
    """Runs the target three times: with probes, then, its input empty and its output thrown away, under cProfile and
    under line_profiler. Raises BuildError and CollectError."""
    first = record(target, options, progress)
    silent = replace(options, silent=True)
    probes = _profile(first, "the probes")
    cprofile, line_profiler = (
        _profile(record(target, silent, progress, by=name), name) for name in ("cprofile", "line_profiler")
    )
    for profile in (cprofile, line_profiler):
        if profile.run.exit_code != first.exit_code:
            profile.notes.append(_other_end(profile.run.exit_code, first.exit_code))
    return Engines(probes, cprofile, line_profiler, first.exit_code)


def _other_end(code: int, first: int) -> str:
    return (
        f"The program ended with exit code {code} there and with {first} under the probes: what it did after that point is "
        "missing. It may need input, which only the first run gets, or not bear to be traced."
    )


def _profile(recording: Recording, engine: str) -> Profile:
    if recording.profile is None:
        lost = recording.lost
        what = lost.message if lost is not None else "No profile was recorded."
        raise CollectError(f"The run under {engine} gave nothing to compare: {what}", lost.hint if lost is not None else "")
    return recording.profile
