"""The process the program runs in: `python FLAGS child.py REQUEST`, started by collect/probes.py and collect/stock.py.

It makes the world a plain `python SCRIPT` would make (argv, path, `__main__`, exceptions, exit), with the finder of
probed modules and a recording around it. So it works on plain values and imports next to nothing: what the
interpreter has not loaded itself is taken out of `sys.modules` again before the program starts.
"""

# ruff: noqa: PTH123
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
    from typing import Any


def main() -> None:
    """Runs the program of the request named on the command line; ends the way python would end after it."""
    path = sys.argv[1]
    with open(path, "rb") as file:
        request = marshal.load(file)
    if not sys.flags.safe_path:
        del sys.path[0]
    _end_with_parent(request)
    recorder, engine = _load_own(request["root"], request["engine"])
    code, namespace = _prepare(request)
    recorder.tell_main(request["folder"])
    start = recorder.prepare(request, engine=engine)
    _end(_run(engine, start, code, namespace, request["unblock"]))


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


def _load_own(root: str, engine: str) -> "tuple[ModuleType, ModuleType]":
    """Imports what this process needs of cyprof, wherever cyprof lies, and hides what that brought along.

    Returns the recorder, and what records: the probes' runtime, or the module named by `engine`.
    """
    sys.path.insert(0, root)
    from cyprof.inside import hide_variable, recorder

    records = __import__(engine, fromlist=["start"]) if engine else recorder.runtime
    sys.path.remove(root)
    if not getattr(records, "KEEPS_MODULES", False):
        recorder.hide_imports(_LOADED_BY_PYTHON)
    hide_variable()
    return recorder, records


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


def _run(
    runtime: "ModuleType", start: "Callable[[], None]", code: "CodeType", namespace: "dict[str, Any]", unblock: list[int]
) -> BaseException | None:
    """Runs the program under a recording and returns the exception it ended with, this file's frames cut from its traceback.

    `unblock` are the signals that were held back so that a Ctrl-C before this moment is the program's, too.
    """
    signal = sys.modules["_signal"]
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, unblock)
        start()
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


if __name__ == "__main__":
    main()
