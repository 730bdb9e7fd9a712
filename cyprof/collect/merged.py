"""Saved recordings, as many as there are ranks or workers or runs, as one profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from ..model import MergeError, Profile, merge
from ..store import load

_ONCE = "Each recording counts once: name it once."


def merge_files(paths: Sequence[Path]) -> Profile:
    """The recordings in the files merged into one profile. What a recording does not call itself, as the rank of an MPI
    program does, is called after its file. Raises UsageError for one that is named twice or is none of cyprof's own, and
    StoreError for one that cannot be read."""
    known: dict[Path, Path] = {}
    for path in paths:
        first = known.setdefault(path.resolve(), path)
        if first is not path:
            raise UsageError(f"{path} is named twice.", _ONCE)
    profiles = [load(path) for path in paths]
    for path, profile in zip(paths, profiles, strict=True):
        if not profile.has_paths:
            raise UsageError(
                f"{path} cannot be merged: a pstats file holds no call paths.",
                "Record the program with cyprof run; pstats files are added up by pstats itself: pstats.Stats.add",
            )
    try:
        return merge(profiles, [path.stem for path in paths])
    except MergeError as error:
        first, second = paths[error.first], paths[error.second]
        same = f"{second} holds the same recording as {first}." if first != second else f"{first} holds a recording twice."
        raise UsageError(same, _ONCE) from error
