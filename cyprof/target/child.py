"""The process the program runs in: `python FLAGS child.py REQUEST`, started by collect/probes.py and collect/stock.py.

It makes the world a plain `python SCRIPT` would make (argv, path, `__main__`, exceptions, exit), with the finder of
probed modules and a recording around it. So it works on plain values and imports next to nothing: what the
interpreter has not loaded itself is taken out of `sys.modules` again before the program starts.
"""

# ruff: noqa: PTH104, PTH118, PTH120, PTH123
# Nothing here may import pathlib: the program would find it loaded.

import sys

# What the interpreter puts into the `__main__` of a script; this file is one. Which names and in which order differs
# between versions of Python.
_MAIN_NAMES = [name for name in globals() if name.startswith("__")]
_LOADED_BY_PYTHON = set(sys.modules)
_DISPLAY = sys.__excepthook__
# The signals that were blocked when the program ended by an exception.
_mask = []  # type: ignore[var-annotated] # an annotation would give this module one more name

import marshal  # noqa: E402
import os  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, ModuleType
    from typing import Any, NoReturn


def main() -> None:
    """Runs the program of the request named on the command line; ends the way python would end after it."""
    path = sys.argv[1]
    with open(path, "rb") as file:
        request = marshal.load(file)
    if not sys.flags.safe_path:
        del sys.path[0]
    _end_with_parent(request)
    runtime, finder, atexit = _load_own(request["root"], request["engine"])
    code, namespace = _prepare(request)
    overlay = finder.Overlay.from_json(request["overlay"])
    finder.install(
        overlay,
        build_missing=request["build_missing"],
        progress=_tell if request["progress"] else None,
        on_failure=_failure(request["result"]),
    )
    # Registered first, so that it runs last: after the program's own atexit functions.
    _keep_forks_quiet()
    atexit.register(_recorder(request["result"], runtime, finder, overlay))
    runtime.hide(os.path.join(request["root"], "cyprof") + os.sep)
    start = (request["clock"], request["lines"], _own_lines(request["lines"]))
    _end(_run(runtime, start, code, namespace, request["unblock"]))


def _end_with_parent(request: "dict[str, Any]") -> None:
    """Has the system send SIGTERM when cyprof itself is killed: its end of the pipe closes then. Linux only.

    A pipe rather than PR_SET_PDEATHSIG, which needs ctypes.
    """
    import fcntl

    signal = sys.modules["_signal"]
    given = request["lifeline"]
    if hasattr(fcntl, "F_SETSIG"):
        # Out of the way: the first file the program opens shall get the number it always got.
        lifeline = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, min(200, os.sysconf("SC_OPEN_MAX") - 1))
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGTERM)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    os.close(given)
    if os.getppid() != request["parent"]:
        os._exit(1)


def _load_own(root: str, engine: str) -> "tuple[ModuleType, ModuleType, ModuleType]":
    """Imports what this process needs of cyprof, wherever cyprof lies, and hides what that brought along."""
    sys.path.insert(0, root)
    import atexit

    from cyprof.build import overlay

    runtime = __import__(engine, fromlist=["start"])
    sys.path.remove(root)
    for name in [name for name in sys.modules if name not in _LOADED_BY_PYTHON]:
        if getattr(runtime, "KEEPS_MODULES", False):
            break
        # threading stays: the interpreter joins the threads of the one it knows.
        if name.partition(".")[0] in ("cyprof", "encodings", "threading"):
            continue
        module = sys.modules.pop(name)
        parent, _, tail = name.rpartition(".")
        if parent in sys.modules and getattr(sys.modules[parent], tail, None) is module:
            delattr(sys.modules[parent], tail)
    return runtime, overlay, atexit


def _prepare(request: "dict[str, Any]") -> "tuple[CodeType, dict[str, Any]]":
    """Makes `__main__`, argv and path; returns what to run, and in which namespace."""
    kind, value = request["kind"], request["value"]
    sys.orig_argv = [*sys.orig_argv[:-2], *request["words"], *request["args"]]
    sys.argv = ["-m" if kind == "module" else "-c" if kind == "code" else value, *request["args"]]
    if request["first_path"] is not None:
        sys.path.insert(0, request["first_path"])
    main = type(sys)("__main__")
    shown = vars(main)
    shown.update({name: None for name in _MAIN_NAMES if name not in shown and name not in ("__file__", "__cached__")})
    if "__annotations__" in shown:
        shown["__annotations__"] = {}
    shown["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    if kind == "script":
        code = _script(request["path"], shown)
    elif kind == "code":
        shown["__loader__"] = _external("_frozen_importlib").BuiltinImporter
        code = _code(value)
    else:
        shown["__loader__"] = _external("_frozen_importlib").BuiltinImporter
        import runpy

        # The same call that python makes for -m and for a folder or zip file with a __main__.py.
        call = (runpy._run_module_as_main, value if kind == "module" else "__main__", kind == "module")  # type: ignore[attr-defined]
        return compile("call[0](call[1], call[2])", __file__, "exec"), {"call": call, "__name__": "cyprof.target.child"}
    return code, shown


def _external(name: str) -> "Any":
    return sys.modules[name]


def _script(path: str, shown: "dict[str, Any]") -> "CodeType":
    loaders = _external("_frozen_importlib_external")
    shown["__file__"] = path
    if "__cached__" in _MAIN_NAMES:
        shown["__cached__"] = None
    if path.endswith(".pyc"):
        loader = loaders.SourcelessFileLoader("__main__", path)
        shown["__loader__"] = loader
        code: CodeType = loader.get_code("__main__")
        return code
    shown["__loader__"] = loaders.SourceFileLoader("__main__", path)
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _code(text: str) -> "CodeType":
    code = compile(text, "<string>", "exec", dont_inherit=True)
    if sys.version_info >= (3, 13):
        import linecache

        # So that tracebacks can quote it; the key was the file name in 3.13.0 (gh-122981).
        by_code = hasattr(linecache, "_interactive_cache")
        linecache._register_code(code if by_code else "<string>", text, "<string>")  # type: ignore[attr-defined]
    return code


def _own_lines(lines: bool) -> "Callable[[str], bool] | None":
    """Answers whether lines of a Python file are wanted: of the user's own files they are."""
    if not lines:
        return None
    from cyprof.build.locate import Folders

    folders = Folders()
    return lambda file: not file.startswith("<") and folders.is_local(os.path.dirname(file))


def _run(
    runtime: "ModuleType", start: "tuple[Any, ...]", code: "CodeType", namespace: "dict[str, Any]", unblock: list[int]
) -> BaseException | None:
    """Runs the program under a recording and returns the exception it ended with, this file's frames cut from its traceback.

    `unblock` are the signals that were held back so that a Ctrl-C before this moment is the program's, too.
    """
    signal = sys.modules["_signal"]
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, unblock)
        runtime.start(*start)
        runtime.run(code, namespace)
    except BaseException as error:
        # A second Ctrl-C while the first is dealt with would show the code that does so; it waits for the next piece of
        # the program's own.
        _mask[:] = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code.co_filename in (__file__, runtime.__file__):
            traceback = traceback.tb_next
        return error.with_traceback(traceback)
    return None


def _end(error: BaseException | None) -> None:
    """Ends as python ends after a program: by its return, its SystemExit, or an exception shown by `sys.excepthook`."""
    if error is None:
        return
    if isinstance(error, SystemExit):
        _unmask()
        raise error
    traceback = error.__traceback__
    _show(error)
    _unmask()
    if type(error) is not KeyboardInterrupt:
        sys.exit(1)
    hook = sys.excepthook

    def shown_already(*_: object) -> None:
        sys.excepthook = hook
        sys.last_traceback = traceback
        error.__traceback__ = traceback

    # Python dies by SIGINT in the end, but only when it met the exception itself.
    sys.excepthook = shown_already
    raise error


def _show(error: BaseException) -> None:
    """What PyErr_Print does, in the same order and words."""
    kind, traceback = type(error), error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, traceback
    hook = getattr(sys, "excepthook", None)
    try:
        sys.audit("sys.excepthook", hook, kind, error, traceback)
    except RuntimeError:
        return
    if hook is None:
        _say("sys.excepthook is missing\n")
        _DISPLAY(kind, error, traceback)
        return
    second = _call_hook(hook, kind, error, traceback)
    if isinstance(second, SystemExit):
        raise second
    if second is not None:
        if sys.stdout is not None:
            sys.stdout.flush()
        _say("Error in sys.excepthook:\n")
        _DISPLAY(type(second), second, second.__traceback__)
        _say("\nOriginal exception was:\n")
        _DISPLAY(kind, error, traceback)


def _call_hook(hook: "Callable[..., object]", *exception: object) -> BaseException | None:
    signal = sys.modules["_signal"]
    try:
        _unmask()
        hook(*exception)
    except BaseException as second:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        traceback = second.__traceback__
        return second.with_traceback(traceback.tb_next if traceback is not None else None)
    return None


def _unmask() -> None:
    """Lets signals through again as they were while the program ran."""
    signal = sys.modules["_signal"]
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask)


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)


def _tell(text: str) -> None:
    os.write(2, f"cyprof: {text}\n".encode("utf-8", "backslashreplace"))


def _failure(path: str) -> "Callable[[Any], NoReturn]":
    """Ends the program when a module it imports cannot be built; the parent shows why."""

    def fail(error: "Any") -> "NoReturn":
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        _write(path, {"error": [error.message, error.hint]})
        os._exit(error.exit_code)

    return fail


def _recorder(path: str, runtime: "ModuleType", finder: "ModuleType", overlay: "Any") -> "Callable[[], None]":
    signal = sys.modules["_signal"]
    unforked = [True]
    # A fork of the program ends in its own way, and the profile is the parent's. Said so by a method of C's, which no
    # profile shows.
    os.register_at_fork(after_in_child=unforked.clear)

    def record() -> None:
        if not unforked:
            return
        raw = runtime.stop()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # the program is over, and this takes a moment
        value = {"raw": raw, "loaded": finder.loaded(), "overlay": overlay.to_json(), "extensions": _extensions()}
        _write(path, value)
        while signal.sigtimedwait([signal.SIGINT], 0) is not None:
            pass  # it has nothing left to interrupt
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # python may be about to end itself by it

    return record


def _keep_forks_quiet() -> None:
    """Python warns of a fork in a process with threads (3.12 and later), and counts the thread of the recording.

    The warning is filtered out while that thread is the only one besides the program's first.
    """
    if sys.version_info < (3, 12):
        return
    filters = sys.modules["_warnings"].filters
    text = f"This process (pid={os.getpid()}) is multi-threaded, use of {{}}() may lead to deadlocks in the child."
    ours = [("ignore", text.format(name), DeprecationWarning, None, 0) for name in ("fork", "forkpty")]

    def before_fork() -> None:
        filters[:] = [entry for entry in filters if entry not in ours]
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


def _extensions() -> list[tuple[str, str]]:
    """Name and file of each compiled module that was loaded as it is, without probes."""
    loader = _external("_frozen_importlib_external").ExtensionFileLoader
    found = []
    for name, module in list(sys.modules.items()):
        if not isinstance(module, type(sys)):
            continue
        spec = vars(module).get("__spec__")
        origin = getattr(spec, "origin", None)
        if type(getattr(spec, "loader", None)) is loader and isinstance(origin, str):
            found.append((name, origin))
    return found


def _write(path: str, value: "dict[str, Any]") -> None:
    """Writes whole or not at all: the parent may find the file at any moment."""
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as file:
        marshal.dump(value, file)
    os.rename(part, path)


if __name__ == "__main__":
    main()
