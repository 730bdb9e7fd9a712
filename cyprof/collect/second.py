"""What a second run of the program tells about the first: times without the probes that disturb them."""

from __future__ import annotations

from dataclasses import replace

from ..model import Profile
from ..model.merge import settle, wide_functions
from ..target import Target
from .baseline import Timings
from .registry import Collector, Progress, Recording, RecordOptions


def with_second_run(collect: Collector, target: Target, options: RecordOptions, progress: Progress) -> Recording:
    """Records a target, and once more when the options ask for it.

    A run with function probes leaves its times per call in the cache, where a later run with line probes finds what
    those cost. With `calibrate`, a run with line probes makes such a run itself; one with function probes is settled by a
    second one that has no probes where their cost leaves much open.
    """
    recording = collect(target, options, progress)
    profile = recording.profile
    if profile is None:
        return recording
    timings = Timings()
    again = replace(options, calibrate=False, silent=True)
    if options.lines:
        if options.calibrate:
            _remember(collect(target, replace(again, lines=False), progress), timings)
        return replace(recording, profile=replace(profile, baseline_ns_per_call=timings.recall(profile)))
    if options.calibrate:
        profile = _settled(collect, target, again, progress, profile)
    _remember(recording, timings)
    return replace(recording, profile=profile)


def _remember(recording: Recording, timings: Timings) -> None:
    if recording.profile is not None:
        timings.remember(recording.profile)


def _settled(collect: Collector, target: Target, options: RecordOptions, progress: Progress, first: Profile) -> Profile:
    wide = wide_functions(first)
    if not wide:
        return replace(first, notes=[*first.notes, "Nothing was left to calibrate: the probes' own cost leaves no time open."])
    without = tuple(f"{function.module}:{function.name}" for function in wide)
    second = collect(target, replace(options, without=without), progress).profile
    if second is None:
        note = "The second run, for --calibrate, gave no profile; the times are those of the first, with their ranges."
        return replace(first, notes=[*first.notes, note])
    return settle(first, second, wide)
