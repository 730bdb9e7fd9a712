"""The default collector: a scratch build with probes, run in a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..build import build_loose, spare
from ..build.cache import kept_in_use
from ..build.modules import find_sources
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..errors import BuildError, CollectError
from ..inside import VARIABLE
from ..target import Target, held_back, host, leave_group, own_rank, program_path, run_process
from ..target.interpreter import absolute, first_path_entry, interpreter_flags, is_archive
from .convert import Facts, now, to_profile
from .packages import add_projects, build_all
from .part import UNKNOWN, WHOLE
from .processes import Leavings, signal_name
from .registry import Progress, Recording, RecordOptions, collector
from .supported import calibrated, require_gil

_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
_ROOT = Path(__file__).resolve().parent.parent.parent
_CHILD = _ROOT / "cyprof" / "target" / "child.py"


@collector("probes")
def collect(target: Target, options: RecordOptions, progress: Progress) -> Recording:
    """Builds what the target reaches, runs it, and returns its profile. Raises BuildError and CollectError."""
    require_gil()
    with kept_in_use():
        return _collect(target, options, progress)


def _collect(target: Target, options: RecordOptions, progress: Progress) -> Recording:
    probes = ProbeOptions(lines=options.lines, only=options.only if options.lines else (), without=options.without)
    search_path = program_path(target)
    sources = find_sources(_Start(target), search_path)
    overlay, projects = build_all(sources, options.packages, probes, progress, search_path)
    progress(f"running {target.title}")
    before = calibrated()
    started = now()
    with _run_folder() as folder:
        launcher = os.getpid()
        exit_code = _run(target, options, overlay, folder)
        rank = own_rank()
        if rank is not None and exit_code == -signal.SIGTERM:
            leave_group()
        left = Leavings(folder, time.time_ns(), lambda part: part.parent_pid == launcher)
        if not left.parts:
            return Recording(None, exit_code, lost(exit_code, left.no_room))
        result = left.result(overlay)
        facts = Facts(
            target=target.title,
            argv=(*target.words, *target.args),
            exit_code=exit_code,
            started=started,
            clock=options.clock,
            with_lines=options.lines,
            cost={name: max(cost, before[name]) for name, cost in calibrated().items()},
            place=rank.title if rank else "",
            host=host() if rank else "",
        )
        profile = to_profile(result, facts)  # what was built for this run alone is still there
        add_projects(profile, projects, result)
        remarks = [_remark(exit_code, left.parts[0].state), left.spare_remark or spare.remark()]
    return Recording(profile, exit_code, remark=" ".join(filter(None, remarks)))


def build(target: Target, probes: ProbeOptions, progress: Progress) -> Overlay:
    """Builds the loose modules that the target reaches. Raises BuildError."""
    search_path = program_path(target)
    sources = find_sources(_Start(target), search_path)
    return spare.build(lambda: build_loose(sources, probes, progress, search_path))


@contextlib.contextmanager
def run(target: Target, options: RecordOptions, overlay: Overlay, engine: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Runs the target in a process of its own and gives its exit code and what that process left behind: an empty dict
    when it went without a word. What was built for this run alone is gone after the block. `engine` names the module of cyprof
    that records there in the place of the probes' runtime. Raises BuildError when a module that was imported could not be
    built."""
    with _run_folder() as folder:
        exit_code = _run(target, replace(options, children=False), overlay, folder, engine)
        yield exit_code, _result(folder)


@contextlib.contextmanager
def _run_folder() -> Iterator[Path]:
    """A folder of this run alone, where its processes leave what they recorded."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="cyprof-", ignore_cleanup_errors=True)
    except OSError as error:
        raise CollectError(
            f"No temporary folder could be made for the recording: {error.strerror or error}.",
            "Free some space, or set TMPDIR to a folder that you can write.",
        ) from error
    with folder as path:
        yield Path(path)


class _Start:
    """The target as the scan for sources wants it: the program in a zip file is handed over as code."""

    def __init__(self, target: Target) -> None:
        self.script, self.module, self.code = target.script, target.module, target.code
        if target.kind == "script" and is_archive(target.value):
            from zipimport import zipimporter

            self.script = None
            self.code = zipimporter(target.value).get_source("__main__") or ""


def _run(target: Target, options: RecordOptions, overlay: Overlay, folder: Path, engine: str = "") -> int:
    """Starts the program's process with a request in `folder` and returns its exit code when it has ended.

    Raises BuildError when a module that it imported could not be built.
    """
    with _lifeline() as lifeline:
        packed = target.kind == "script" and (Path(target.value).is_dir() or is_archive(target.value))
        request = {
            "kind": "folder" if packed else target.kind,
            "value": target.value,
            "path": absolute(target.value) if target.kind == "script" else "",
            "first_path": first_path_entry(target),
            "words": target.words,
            "args": list(target.args),
            "root": str(_ROOT),
            "engine": engine,
            "overlay": overlay.to_json(),
            "build_missing": True,
            "clock": options.clock,
            "lines": options.lines,
            "progress": options.progress,
            "folder": str(folder),
            "children": options.children,
            "python": sys.implementation.cache_tag,
            "lifeline": lifeline,
            "parent": os.getpid(),
            "unblock": held_back(),
        }
        path = folder / "settings"
        path.write_bytes(marshal.dumps(request))
        command = [sys.executable, *interpreter_flags(), str(_CHILD), str(path)]
        environ = {**os.environ, VARIABLE: str(folder)}
        exit_code = run_process(command, environ, silent=options.silent)
    failed = folder / "error"
    if failed.is_file():
        raise BuildError(*marshal.loads(failed.read_bytes()))
    return exit_code


@contextlib.contextmanager
def _lifeline() -> Iterator[int]:
    """The end of a pipe that closes when this process is gone, however it went."""
    # Where this process was started without stdout, say, a pipe would take its number, and the program find it there.
    read_end, write_end = (_above_standard_streams(end) for end in os.pipe())
    try:
        os.set_inheritable(read_end, True)
        yield read_end
    finally:
        os.close(read_end)
        os.close(write_end)


def _above_standard_streams(descriptor: int) -> int:
    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _result(folder: Path) -> dict[str, Any]:
    """What the program's process left behind; empty when that is nothing."""
    try:
        data = (folder / "result").read_bytes()
    except FileNotFoundError:
        return {}
    result = marshal.loads(data)
    assert isinstance(result, dict)
    return result


def lost(exit_code: int, no_room: bool = False) -> CollectError:
    """Why a program that ended with that code gave no profile back; `no_room`: it could not be written."""
    if no_room:
        return CollectError(
            "The recording could not be written: the disk is full, or files may not grow that large.",
            "Free some space, or set TMPDIR to a folder that has some.",
        )
    if exit_code < 0:
        name = signal_name(-exit_code)
        if -exit_code in _CRASHES:
            return CollectError(
                f"The program crashed ({name}), and its profile was lost with it.",
                "See whether it crashes without cyprof too, and where: python -X faulthandler and the same arguments.",
            )
        return CollectError(
            f"The program was ended by {name} before anything was written down.",
            "What it did is written down from its first tenth of a second on; let it run longer, or end it with Ctrl-C.",
        )
    return CollectError(
        f"The program left with exit code {exit_code} without giving its profile back.",
        "A profile is written when a program returns, raises, or calls sys.exit or os._exit.",
    )


def _remark(exit_code: int, state: int) -> str:
    """What the user should know of a program that was ended from outside; "" for any other."""
    if exit_code >= 0 or state == WHOLE:
        return ""
    what = "crashed" if -exit_code in _CRASHES else "was ended"
    until = "up to then" if state != UNKNOWN else "up to a moment before"
    return f"The program {what} ({signal_name(-exit_code)}); the profile shows what it did {until}."
