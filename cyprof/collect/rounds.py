"""Several programs run in turns, so that a slow phase of the machine meets them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import CollectError
from ..model import Profile
from ..target import Target
from .registry import Progress, Recording, RecordOptions, record

QUIET = 0.95
"""A run that had the processor for less than this part of the time it wanted it was disturbed by other programs."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The runs of one side that are used. `disturbed` of them were so in spite of repetitions; `exit_code` is the first of
    the program's that was not 0."""

    profiles: tuple[Profile, ...]
    exit_code: int = 0
    disturbed: int = 0


def in_rounds(sides: Sequence[Sequence[Target]], runs: int, options: RecordOptions, progress: Progress) -> list[Taken]:
    """Records every program `runs` times and reads every recording. Raises what `record` does.

    Each round runs every program once, in turn forwards and backwards. When other programs disturbed too many runs, up to
    as many rounds follow again, and the least disturbed runs of each side are kept.
    """
    taken: list[list[Recording]] = [[] for _ in sides]
    live = [index for index, targets in enumerate(sides) if targets[0].kind != "saved"]
    for index, targets in enumerate(sides):
        if index not in live:
            taken[index] = [record(target, options, progress) for target in targets]
    rounds = 0
    while live and (rounds < runs or (rounds < 2 * runs and runs > 1 and not _all_quiet([taken[i] for i in live], runs))):
        for index in live if rounds % 2 == 0 else reversed(live):
            progress(f"round {rounds + 1}, {sides[index][0].title}")
            taken[index].append(_run(sides[index][0], options, progress))
        rounds += 1
    return [_chosen(recordings, runs if index in live else len(recordings)) for index, recordings in enumerate(taken)]


def _run(target: Target, options: RecordOptions, progress: Progress) -> Recording:
    recording = record(target, options, progress)
    if recording.profile is None:
        raise recording.lost or CollectError(f"{target.title} gave no profile.", "Run it alone with cyprof run to see why.")
    return recording


def quietness(profile: Profile) -> float:
    """The part, 0 to 1, of the time the main thread wanted the processor that it had it; 1 where that is not known."""
    delayed = profile.delayed_ns
    return profile.threads[0].cpu_ns / (profile.threads[0].cpu_ns + delayed) if delayed else 1.0


def _all_quiet(sides: list[list[Recording]], runs: int) -> bool:
    return all(sum(_quiet(recording) >= QUIET for recording in recordings) >= runs for recordings in sides)


def _quiet(recording: Recording) -> float:
    assert recording.profile is not None
    return quietness(recording.profile)


def _chosen(recordings: list[Recording], count: int) -> Taken:
    best = sorted(sorted(range(len(recordings)), key=lambda index: -_quiet(recordings[index]))[:count])
    kept = [recordings[index] for index in best]
    return Taken(
        tuple(recording.profile for recording in kept if recording.profile is not None),
        next((recording.exit_code for recording in recordings if recording.exit_code), 0),
        sum(_quiet(recording) < QUIET for recording in kept),
    )
