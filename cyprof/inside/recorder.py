"""Sets up the recording of the process it runs in, and leaves behind what was recorded when that process ends."""

# ruff: noqa: PTH104, PTH118, PTH120, PTH123
# No pathlib: the program would find it loaded.
from __future__ import annotations

import atexit
import marshal
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from cyprof.build import overlay as finder
from cyprof.inside import children
from cyprof.probe import _runtime as runtime  # type: ignore[attr-defined]

__all__ = ["hide_imports", "prepare", "runtime", "tell_main", "write_info"]

_PID = os.getpid()
_MAIN = "main"


def hide_imports(known: set[str]) -> None:
    """Takes the modules that are not in `known`, which cyprof brought along, out of `sys.modules`."""
    for name in [name for name in sys.modules if name not in known]:
        # threading stays: the interpreter joins the threads of the one it knows.
        if name.partition(".")[0] in ("cyprof", "encodings", "threading"):
            continue
        module = sys.modules.pop(name)
        parent, _, tail = name.rpartition(".")
        if parent in sys.modules and getattr(sys.modules[parent], tail, None) is module:
            delattr(sys.modules[parent], tail)


def prepare(settings: dict[str, Any], name: str = "", engine: Any = runtime) -> Callable[[], None]:
    """Installs the finder and what writes the recording at the end. Returns what begins the recording.

    `settings` is what the command wrote for the processes of this run (collect/probes.py); `name` is what this one is
    called; `engine` is what records: the probes' runtime, or a module that stands in its place (collect/stock.py).
    """
    folder = settings["folder"]
    overlay = finder.Overlay.from_json(settings["overlay"])
    finder.install(
        overlay,
        build_missing=settings["build_missing"],
        progress=_tell if settings["progress"] else None,
        on_failure=_failure(folder, settings["parent"]),
        on_built=lambda: write_info(folder, overlay, settings["children"]),
        before_import={**children.watched(settings["root"], folder), "greenlet": runtime.expect_greenlets},
        spare=lambda reason: _spare(folder, reason),
    )
    engine.hide(os.path.join(settings["root"], "cyprof") + os.sep)
    how = (settings["clock"], settings["lines"], _own_lines(settings["lines"]))
    # Registered first, so that it runs last: after the program's own atexit functions.
    if engine is not runtime:
        atexit.register(_at_end(folder, lambda: _write_result(folder, overlay, engine)))
        return lambda: engine.start(*how)
    _keep_forks_quiet()
    atexit.register(_at_end(folder, lambda: _write_recording(settings, overlay)))
    return lambda: runtime.start(*how, folder=folder, children=settings["children"], name=name)


def _own_lines(lines: bool) -> Callable[[str], bool] | None:
    """Answers whether lines of a Python file are wanted: of the user's own files they are."""
    if not lines:
        return None
    from cyprof.build.locate import Folders

    folders = Folders()
    return lambda file: not file.startswith("<") and folders.is_local(os.path.dirname(file))


def _tell(text: str) -> None:
    os.write(2, f"cyprof: {text}\n".encode("utf-8", "backslashreplace"))


def tell_main(folder: str) -> None:
    """Leaves word which process is the program's first."""
    _write(os.path.join(folder, _MAIN), os.getpid())


def _failure(folder: str, command: int) -> Callable[[Any], NoReturn]:
    """Ends the program when a module it imports cannot be built; the command, whose process is given, shows why.

    In a child the program's first process is ended too: a pool would start another worker in the place of this one, and so on.
    """

    def fail(error: Any) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        _write(os.path.join(folder, "error"), [error.message, error.hint])
        _end_main(folder, command)
        os._exit(error.exit_code)

    return fail


def _end_main(folder: str, command: int) -> None:
    """Ends the program's first process, if that is another one and still there: the child of the command."""
    try:
        with open(os.path.join(folder, _MAIN), "rb") as file:
            main = marshal.load(file)
        with open(f"/proc/{main}/stat", "rb") as stat:
            parent = int(stat.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, EOFError):
        return  # it is over, and nothing is left to end
    if main != os.getpid() and parent == command:
        os.kill(main, sys.modules["_signal"].SIGKILL)


def _spare(folder: str, reason: str) -> str:
    """The folder of the run in which modules are built when the user's cache cannot be written; leaves word of that."""
    _write(os.path.join(folder, "spare"), reason)
    return os.path.join(folder, "cache")


def _at_end(folder: str, write: Callable[[], None]) -> Callable[[], None]:
    """What writes when the program is over: no Ctrl-C comes between, and where memory is out what was written before stays."""
    signal = sys.modules["_signal"]

    def record() -> None:
        # This takes a moment.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            write()
        except MemoryError:
            _refuse(folder)
        while signal.sigtimedwait([signal.SIGINT], 0) is not None:
            pass  # it has nothing left to interrupt
        signal.pthread_sigmask(signal.SIG_SETMASK, before - {signal.SIGINT})  # python may be about to end itself by it

    return record


def _write_recording(settings: dict[str, Any], overlay: finder.Overlay) -> None:
    if not runtime.recording():
        return  # a fork that is not to be recorded
    if not runtime.stop():
        _refuse(settings["folder"])
    write_info(settings["folder"], overlay, settings["children"])


def _write_result(folder: str, overlay: finder.Overlay, engine: Any) -> None:
    """Another engine records one process only: a fork of it ends in its own way."""
    if os.getpid() == _PID:
        value = {"raw": engine.stop(), "overlay": overlay.to_json()}
        value |= {"loaded": finder.loaded(), "extensions": finder.unprobed_extensions()}
        _write(os.path.join(folder, "result"), value)


def _refuse(folder: str) -> None:
    """Leaves word that the recording, or its end, could not be written: an empty file takes no room."""
    try:
        os.close(os.open(os.path.join(folder, "unwritten"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError:
        return  # no room even for that


def write_info(folder: str, overlay: finder.Overlay, with_children: bool) -> None:
    """Leaves in the folder which modules this process has loaded, with probes and without, and what it has started."""
    value = {
        "loaded": finder.loaded(),
        "overlay": overlay.to_json(),
        "extensions": finder.unprobed_extensions(),
        "started": children.started() if with_children else [],
        "greenlets": "greenlet" in sys.modules,
    }
    _write(os.path.join(folder, f"{os.getpid()}.info"), value)


def _write(path: str, value: Any) -> None:
    """Writes whole or not at all: the command may find the file at any moment.

    A folder that is gone or full is no reason to disturb the program; the command says that something is missing.
    """
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "wb") as file:
            marshal.dump(value, file)
        os.rename(draft, path)
    except OSError:
        return


def _keep_forks_quiet() -> None:
    """Python warns of a fork in a process with threads (3.12 and later), and counts the thread of the recording.

    The warning is filtered out while that thread is the only one besides the program's first.
    """
    if sys.version_info < (3, 12):
        return
    text = "This process (pid={}) is multi-threaded, use of {}() may lead to deadlocks in the child."
    ours: list[Any] = []

    def before_fork() -> None:
        # A program that catches warnings has another list of filters meanwhile.
        filters = sys.modules.get("warnings", sys.modules["_warnings"]).filters
        filters[:] = [entry for entry in filters if entry not in ours]
        ours[:] = [("ignore", text.format(os.getpid(), name), DeprecationWarning, None, 0) for name in ("fork", "forkpty")]
        if _thread_count() == 2:
            filters[:0] = ours

    os.register_at_fork(before=before_fork)


def _thread_count() -> int:
    """The threads of this process as Python counts them; 0 where it cannot be told."""
    try:
        stat = os.open("/proc/self/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    text = os.read(stat, 4096)
    os.close(stat)
    return int(text.rpartition(b")")[2].split()[17])
