"""A recording of a running process that lies on disk while it goes on, so that another process can read it when this one is
killed: the workers of a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..build import overlay as finder
from ..build.overlay import Overlay
from ..errors import CollectError
from ..files import write_own
from ..inside.recorder import write_info
from ..model import Profile
from ..target import host
from .convert import Facts, now, to_profile
from .live import PACKAGE, build_packages, install, own_files
from .own import only_below
from .processes import Leavings
from .supported import calibrated, load_runtime
from .unseen import some

_FACTS = "facts"


@dataclass(frozen=True, slots=True)
class Session:
    """What all processes are told that are recorded together. `name` is that of a folder which each machine makes for them.

    Of threads whose names match a pattern of `threads`, only what goes on in and below functions that match one of `roots`
    (as `module:name`) is shown."""

    name: str
    target: str
    argv: tuple[str, ...] = ()
    clock: str = "auto"
    lines: bool = False
    only: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """Where the folder is on this machine, once a process records."""
        return Path(tempfile.gettempdir()) / f"cyprof-{self.name}"

    @property
    def folder(self) -> Path:
        """The folder on this machine, made if it is not there. Raises CollectError when another user has one of its name."""
        folder = self.place
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
        if about.st_uid != os.geteuid() or about.st_mode & 0o077 or not folder.is_dir() or folder.is_symlink():
            raise CollectError(f"{folder} is not this user's own.", "Set TMPDIR to a folder that is.")
        return folder

    def begun_here(self) -> bool:
        """Whether a process of this machine records in the session, for this user."""
        return self.place.is_dir() and self.place.stat().st_uid == os.geteuid()


class KeptRecording:
    """The recording of this process in a session. `place` is what the process is called: `worker 1`."""

    def __init__(self, session: Session, place: str) -> None:
        self._session = session
        self._place = place
        self._runtime = load_runtime()
        self._folder = session.place / str(os.getpid())

    def prepare(self) -> None:
        """Has modules that are imported from now on built with probes. Raises CollectError where a recording is going on."""
        if self._runtime.recording():
            raise CollectError(
                "This process is recorded already.",
                "cyprof run and the like record the workers of a LocalCluster by themselves: leave out one of both.",
            )
        install(lines=self._session.lines, only=self._session.only, on_built=self._note)

    def build_packages(self) -> None:
        """Builds the session's packages, after `prepare`; on any thread. Raises BuildError and UsageError."""
        build_packages(self._session.packages)

    def begin(self) -> None:
        """Begins to record."""
        session, runtime = self._session, self._runtime
        shutil.rmtree(session.folder / self._folder.name, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        runtime.hide(f"{PACKAGE}/")
        facts = Facts(
            target=session.target,
            argv=session.argv,
            exit_code=0,
            started=now(),
            clock=session.clock,
            with_lines=session.lines,
            cost=calibrated(),
            place=self._place,
            host=host(),
        )
        write_own(self._folder / _FACTS, json.dumps({"facts": asdict(facts), "early": finder.loaded_without()}))
        self._note()
        lines = own_files() if session.lines else None
        runtime.start(session.clock, session.lines, lines, False, folder=str(self._folder), children=True)

    def end(self) -> None:
        """Ends the recording; what was recorded lies in the folder."""
        if self._runtime.recording():
            self._runtime.stop()
            self._note()

    def _note(self) -> None:
        write_info(str(self._folder), finder.current() or Overlay({}), with_children=False)


def own_recording(session: Session) -> Profile | None:
    """What this process has recorded in the session, once; None when that is nothing. The session's folder goes with the last
    recording in it."""
    found = _read(session, session.place / str(os.getpid()))
    with contextlib.suppress(OSError):  # there are others in it, or one of them has removed it
        session.place.rmdir()
    return found


def left_behind(session: Session) -> list[Profile]:
    """What other processes of this machine have recorded in the session and not fetched, since they are gone. Its folder
    goes."""
    folder = session.folder
    found = [_read(session, one) for one in sorted(folder.iterdir()) if one.name.isdecimal()]
    shutil.rmtree(folder, ignore_errors=True)
    return [profile for profile in found if profile is not None]


def _read(session: Session, folder: Path) -> Profile | None:
    """The recording in the folder of a process, which goes with that: it is read once."""
    taken = folder.with_name(f"{folder.name}.{secrets.token_hex(4)}")
    try:
        folder.rename(taken)
        known: dict[str, Any] = json.loads((taken / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # read already, or ended before it had begun
    process = int(folder.name)
    left = Leavings(taken, None, lambda part: part.pid == process)
    result = left.result(Overlay({})) if left.parts else None
    shutil.rmtree(taken, ignore_errors=True)
    if result is None:
        return None
    result["raw"] = only_below(result["raw"], session.roots, session.threads)
    facts = Facts(**known["facts"])
    profile = to_profile(result, replace(facts, argv=tuple(facts.argv)))
    if known["early"]:
        profile.notes.append(
            f"Imported before the recording began, and so without probes: {some(known['early'])}; "
            "restart=True begins with new workers."
        )
    return profile
