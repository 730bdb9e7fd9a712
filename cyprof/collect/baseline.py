"""Times per call from runs with function probes only, kept so that a run with line probes can say what those cost.

One small JSON file in the cache for each source, named after its content: another version of the source has another file.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from ..build.cache import cache_folder
from ..errors import CacheError
from ..files import write_own
from ..model import Function, Profile

_FEWEST_NS = 50_000_000
_FEWEST_EXACT_NS = 100_000
"""What a function must have taken in all for its time per call to be held against another run's: with a watcher that looks
a thousand times a second some 50 looks, with a clock read at each call a thousand times what a reading takes."""


class Timings:
    """The timings in a folder: by default the user's, or the one that stands in its place where that cannot be written."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _users_folder()

    def remember(self, profile: Profile) -> None:
        """Keeps the self time per call of the Cython functions of a run without line probes."""
        for file, functions in _by_file(profile).items():
            path = self._path(profile.source_hashes[file])
            known = _read(path)
            for function in functions:
                if _is_known(profile, function):
                    times = profile.function_times[function.id]
                    known[_key(function)] = times.self_ns / times.calls
            if known:
                _write(path, known)

    def recall(self, profile: Profile) -> dict[int, float]:
        """The time per call in ns, by function id, that an earlier run of the same sources had; of those functions whose
        time this run knows well enough to be held against it."""
        found: dict[int, float] = {}
        for file, functions in _by_file(profile).items():
            known = _read(self._path(profile.source_hashes[file]))
            both = [function for function in functions if _key(function) in known and _is_known(profile, function)]
            found.update({function.id: known[_key(function)] for function in both})
        return found

    def _path(self, source_hash: str) -> Path:
        return self._folder / f"{source_hash}.json"


def _users_folder() -> Path:
    try:
        return cache_folder() / "timings"
    except CacheError:
        return Path(os.devnull) / "timings"  # no home: nothing is kept, and nothing found


def _by_file(profile: Profile) -> dict[str, list[Function]]:
    files: dict[str, list[Function]] = {}
    for function in profile.functions:
        if function.language == "cython" and function.kind != "module" and function.file in profile.source_hashes:
            files.setdefault(function.file, []).append(function)
    return files


def _is_known(profile: Profile, function: Function) -> bool:
    times = profile.function_times[function.id]
    fewest = _FEWEST_EXACT_NS if profile.run.clock == "exact" else _FEWEST_NS
    return times.calls > 0 and times.self_ns >= fewest


def _key(function: Function) -> str:
    return f"{function.module}:{function.name}:{function.line}"


def _read(path: Path) -> dict[str, float]:
    """What an earlier run wrote; nothing when there is none, or when the file is not one of ours any more."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {key: float(value) for key, value in data.items()} if isinstance(data, dict) else {}


def _write(path: Path, timings: dict[str, float]) -> None:
    with suppress(OSError):  # a cache that cannot be written: later runs will not know what line probes cost, no more than that
        path.parent.mkdir(parents=True, exist_ok=True)
        write_own(path, json.dumps(timings))
