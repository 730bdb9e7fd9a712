"""The folder of scratch builds: found by content, written whole or not at all, shared by runs that happen at once.

A build is found in two steps. Its key is a digest of all that is known beforehand (the source's path, Python, Cython,
the compiler, the probes asked for). Under the key lie builds, each with a manifest of the files that were read to make
it; the build whose files are all unchanged is the one wanted. So switching between two branches builds nothing twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyprof.build import spare
from cyprof.build.housekeeping import KEEP_SURELY, KEEP_UNUSED, MANIFEST, Housekeeper, children, gate, in_use
from cyprof.errors import BuildError, CacheError
from cyprof.files import write_own

FORMAT = "1"
_SHORT_WHILE = 600.0


@dataclass(frozen=True)
class Entry:
    """One finished build in its folder. Paths in `manifest` are relative to it."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def extension(self) -> Path:
        return self.folder / str(self.manifest["extension"])

    @property
    def report(self) -> Path:
        return self.folder / str(self.manifest["report"])


class Digests:
    """Digests of files, each file read once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """sha256 of the file's content, "" when it cannot be read."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = file_digest(path)
        return known


def file_digest(path: str) -> str:
    """sha256 of the file's content, "" when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def cache_folder() -> Path:
    """Where the cache lies: CYPROF_CACHE_DIR, else `cyprof` in the user's cache folder. CacheError without a home."""
    instead = spare.current()
    if instead is not None:
        return instead
    own = os.environ.get("CYPROF_CACHE_DIR")
    if own:
        return Path(own).expanduser().absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():
        return shared / "cyprof"
    try:
        return Path.home() / ".cache" / "cyprof"
    except RuntimeError:
        raise CacheError("There is no home folder to keep builds in.", "Set CYPROF_CACHE_DIR to a folder.") from None


def kept_in_use() -> contextlib.AbstractContextManager[None]:
    """Keeps the builds that are used from now on from being removed, until the end."""
    try:
        root = cache_folder()
    except BuildError:
        return contextlib.nullcontext()  # who has no cache uses nothing of it; whoever builds is told so
    return in_use(root)


class Cache:
    """The builds below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._builds = root / "builds"
        self._locks = root / "locks"
        self._scratch = root / "scratch"
        self._logs = root / "logs"

    @classmethod
    def open(cls, root: Path | None = None) -> Cache:
        """The user's cache, made if need be. BuildError when it cannot be written, or others could write into it."""
        cache = cls(root or cache_folder())
        try:
            cache.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(cache.root)
            for folder in (cache._builds, cache._locks, cache._scratch, cache._logs):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise cannot_write(cache.root, error) from error
        return cache

    def lookup(self, key: str, numpy: Callable[[], str], digests: Digests) -> Entry | None:
        """The finished build under `key` whose files are all as they were, or None."""
        place = self._builds / key
        try:
            builds = sorted(place.iterdir(), reverse=True)
        except OSError:
            return None
        for build in builds:
            entry = _read(build)
            if entry is not None and _is_current(entry.manifest, numpy, digests) and self._use(entry):
                return entry
        return None

    def _use(self, entry: Entry) -> bool:
        """Marks a build as used now. False when it was removed a moment ago."""
        try:
            with gate(self.root, alone=False):
                os.utime(entry.folder / MANIFEST)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # a cache on a read-only disk still serves; nothing is removed from it either
        return True

    @contextlib.contextmanager
    def lock(self, key: str, on_wait: Callable[[], None]) -> Iterator[None]:
        """Holds the key alone. A process that dies lets go. `on_wait` is called when another holds it."""
        with (self._locks / key).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                on_wait()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def scratch(self, key: str) -> Iterator[tuple[Path, Path]]:
        """A new folder to build in, and the folder it becomes when published. Gone at the end if it was not."""
        stamp = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        folder = self._scratch / f"{_host()}-{os.getpid()}-{stamp}"
        folder.mkdir(mode=0o700)
        try:
            yield folder, self._builds / key / stamp
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, folder: Path, final: Path, manifest: dict[str, Any]) -> Entry:
        """Makes a build folder findable in one step: it is there whole, or not at all."""
        (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        with gate(self.root, alone=False):
            final.parent.mkdir(mode=0o700, exist_ok=True)
            folder.rename(final)
        return Entry(final, manifest)

    def keep_log(self, module: str, key: str, text: str) -> Path:
        """Writes the whole log of a failed build and returns its path."""
        path = self._logs / f"{module}-{key[:12]}.log"
        write_own(path, text)
        return path

    def tidy(self) -> None:
        """Removes what dead runs left behind, builds unused for long, and the oldest when the cache is very large."""
        now = time.time()
        for folder in children(self._scratch):
            if _is_abandoned(folder, now):
                shutil.rmtree(folder, ignore_errors=True)
        for log in children(self._logs):
            if _age(log, now) > KEEP_UNUSED:
                log.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # no reason to end a run whose builds are made: the next one tidies again
            Housekeeper(self.root).shrink()


def _check_private(root: Path) -> None:
    about = root.stat()
    hint = "Set CYPROF_CACHE_DIR to a folder that only you can write, or mend this one's owner and mode."
    if about.st_uid != os.getuid():
        raise BuildError(f"The cache folder {root} belongs to another user, whose code could be run from it.", hint)
    if about.st_mode & 0o002:
        raise BuildError(f"The cache folder {root} can be written by everyone, whose code could be run from it.", hint)


def cannot_write(root: Path, error: OSError) -> CacheError:
    """The error for a cache folder that refuses a write, in the system's words."""
    reason = error.strerror or str(error)
    return CacheError(f"The cache folder {root} cannot be written: {reason}.", "Set CYPROF_CACHE_DIR to another.")


def _read(folder: Path) -> Entry | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        entry = Entry(folder, manifest)
        whole = entry.extension.is_file() and entry.report.is_file()
    except (OSError, ValueError, KeyError, TypeError):
        return None  # damaged by a crash of the machine: as good as absent, and built anew
    return entry if whole else None


def _is_current(manifest: dict[str, Any], numpy: Callable[[], str], digests: Digests) -> bool:
    if any(not digest or digests.of(path) != digest for path, digest in manifest["files"].items()):
        return False
    if any(Path(path).exists() for path in manifest["absent"]):
        return False
    return not manifest["numpy"] or manifest["numpy"] == numpy()


def _host() -> str:
    return hashlib.sha256(os.uname().nodename.encode()).hexdigest()[:8]


def _is_abandoned(folder: Path, now: float) -> bool:
    host, _, rest = folder.name.partition("-")
    pid = rest.partition("-")[0]
    age = _age(folder, now)
    if age > KEEP_SURELY:
        return True
    # A process in another container may share the folder and the host's name, and look dead from here: hence some age.
    return age > _SHORT_WHILE and host == _host() and pid.isdigit() and not _is_alive(int(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0
