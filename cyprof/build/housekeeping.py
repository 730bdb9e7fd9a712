"""Keeps the cache in bounds: what is in it, how large it is, and what may go. Nothing that a running cyprof uses is removed.

A run says that it is there by a locked file in `running`, whose time is its start; the lock goes when the process does, however
it ends. Every use of a build touches its manifest. So what was used since the oldest living run began stays. Both sides pass
one gate: a build is marked as used, or moved away, but never both at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyprof.errors import BuildError
from cyprof.files import write_own

MANIFEST = "manifest.json"
DAY = 24 * 3600.0
KEEP_UNUSED = 60 * DAY
KEEP_SURELY = 1 * DAY
LARGEST = 2_000_000_000
_GATE = "gate"
_LIMIT = "limit"
_SUPPLIES = ("environments", "projects", "sdists")
"""Folders of what builds of whole projects are made with: kept to be quick the next time, used only while one is made."""
_BUILDERS = ("project-", "environment-", "sdist-")
"""How the locks begin that are held meanwhile."""


@dataclass(frozen=True, slots=True)
class Build:
    """One build in the cache. Times are in seconds since the epoch, `size` in bytes. `module` (or the project's name) and
    `sources` (the module's own source first) are empty where its manifest does not tell."""

    folder: Path
    module: str
    sources: tuple[str, ...]
    built: float
    used: float
    size: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was removed: so many builds, so many bytes; and how many builds stayed because something that runs uses them."""

    builds: int
    size: int
    in_use: int


@contextlib.contextmanager
def gate(root: Path, *, alone: bool) -> Iterator[None]:
    """Holds the cache's gate: to use builds, together with others; to remove some, alone. OSError where it cannot be held."""
    with (root / "locks" / _GATE).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def in_use(root: Path) -> Iterator[None]:
    """Keeps what is used from now on from being removed, until the end. The cache is made if need be; one that cannot be
    written is left as it is, for nothing can be removed from it either."""
    place = root / "running" / f"{os.getpid()}-{secrets.token_hex(4)}"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            for folder in (root, root / "locks", root / "running"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with gate(root, alone=False):
                file = stack.enter_context(place.open("w"))
                fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                place.unlink()


class Housekeeper:
    """The contents of one cache folder, which must be there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._builds = root / "builds"

    @property
    def limit(self) -> int:
        """The size in bytes above which builds unused for a day are removed, the longest unused first."""
        try:
            return int((self.root / _LIMIT).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return LARGEST

    def set_limit(self, size: int) -> None:
        """Sets the limit for this and later runs. BuildError when the folder cannot be written."""
        try:
            write_own(self.root / _LIMIT, f"{size}\n")
        except OSError as error:
            raise _cannot_change(self.root, error) from error

    def builds(self) -> list[Build]:
        """Every build, the last used first."""
        found = [_build(folder) for key in children(self._builds) for folder in children(key)]
        return sorted(found, key=lambda build: build.used, reverse=True)

    def size(self) -> int:
        """Bytes of all that lies in the cache, logs and unfinished builds among it."""
        return size_of(self.root)

    def clear(self, unused_for: float = 0.0) -> Cleared:
        """Removes the builds that nothing running uses and that were not used for so many seconds, with their logs and what
        they were made with. BuildError when the folder cannot be written."""
        now = time.time()
        old = [build for build in [*self.builds(), *self._supplies()] if now - build.used >= unused_for]
        try:
            cleared = self.remove(old)
            for log in children(self.root / "logs"):
                if now - _time_of(log) >= unused_for:
                    log.unlink(missing_ok=True)
        except OSError as error:
            raise _cannot_change(self.root, error) from error
        return cleared

    def shrink(self) -> Cleared:
        """Removes builds unused for long, and the longest unused while the builds are larger than the limit."""
        now = time.time()
        limit, total = self.limit, 0
        surplus = []
        for build in sorted([*self.builds(), *self._supplies()], key=lambda build: build.used, reverse=True):
            total += build.size
            age = now - build.used
            if age > KEEP_UNUSED or (total > limit and age > KEEP_SURELY):
                surplus.append(build)
        return self.remove(surplus)

    def remove(self, builds: list[Build]) -> Cleared:
        """Removes those of the builds and supplies that nothing running uses. OSError when the folder cannot be written."""
        if not builds:
            return Cleared(0, 0, 0)
        trash = self.root / "scratch" / f"removed-{secrets.token_hex(8)}"
        kept = removed = 0
        with gate(self.root, alone=True):
            since = self._oldest_run()
            building = since < float("inf") or self._is_building()
            trash.mkdir(mode=0o700, parents=True)
            for number, build in enumerate(builds):
                if not build.folder.exists():
                    continue  # somebody else was faster
                is_build = build.folder.is_relative_to(self._builds)
                if _time_of(build.folder / MANIFEST) >= since if is_build else building:
                    kept += is_build
                    continue
                build.folder.rename(trash / str(number))
                removed += is_build
                with contextlib.suppress(OSError):  # another lies beside it
                    build.folder.parent.rmdir()
        size = size_of(trash)
        shutil.rmtree(trash, ignore_errors=True)
        return Cleared(removed, size, kept)

    def _supplies(self) -> list[Build]:
        folders = [folder for name in _SUPPLIES for folder in children(self.root / name)]
        folders += [self.root / "pip"] if (self.root / "pip").is_dir() else []
        found = []
        for folder in folders:
            used = max(_time_of(path) for path in (folder, *children(folder)))
            found.append(Build(folder, "", (), _time_of(folder), used, size_of(folder)))
        return found

    def _is_building(self) -> bool:
        """Whether a project is being built now."""
        for lock in children(self.root / "locks"):
            if lock.name.startswith(_BUILDERS):
                with lock.open("r+") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        return True
        return False

    def _oldest_run(self) -> float:
        """When the oldest living run began; infinity when none runs. Files of dead runs are removed. Called behind the gate."""
        oldest = float("inf")
        for place in children(self.root / "running"):
            with contextlib.suppress(FileNotFoundError), place.open("r+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    oldest = min(oldest, _time_of(place))
                else:
                    place.unlink()
        return oldest


def _build(folder: Path) -> Build:
    manifest = _read(folder / MANIFEST)
    source = str(manifest.get("source", ""))
    files = manifest.get("files")
    names = [source, *(files if isinstance(files, dict) else ())]
    stamp = folder.name.partition("-")[0]
    built = int(stamp) / 1e9 if stamp.isascii() and stamp.isdigit() else _time_of(folder)
    used = _time_of(folder / MANIFEST) or _time_of(folder)
    sources = tuple(dict.fromkeys(name for name in names if name))
    return Build(folder, str(manifest.get("module") or manifest.get("project") or ""), sources, built, used, size_of(folder))


def _read(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}  # damaged by a crash of the machine: it can still be removed
    return manifest if isinstance(manifest, dict) else {}


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; what vanishes meanwhile counts nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _time_of(path: Path) -> float:
    """When a file was last changed; 0.0 where it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def children(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where it cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _cannot_change(root: Path, error: OSError) -> BuildError:
    return BuildError(
        f"The cache folder {root} cannot be changed: {error.strerror or error}.",
        "Mend its owner and mode, or remove it by hand.",
    )
