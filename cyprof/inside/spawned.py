"""Begins the recording of a Python process that a recorded program has started.

`begin` is called by the one line of `cyprof.pth`, which every interpreter reads that has cyprof's wheel installed, and which
does nothing without the variable. Nothing here may disturb the process: where it cannot be recorded it runs unrecorded,
and the command says so.
"""

# ruff: noqa: PTH100, PTH118, PTH119, PTH120, PTH123
import marshal
import os
import sys

from cyprof.inside import hide_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_begun = False


def begin() -> None:
    """Begins the recording of an interpreter that is about to run its program."""
    folder = hide_variable()
    if not folder or _is_sub_interpreter():
        return
    from cyprof.inside import children

    if not children.is_helper(sys.orig_argv):
        begin_in(folder, _title())


def _is_sub_interpreter() -> bool:
    """Whether the runtime is in this process already. An interpreter within it reads cyprof.pth as well, and must not load
    the runtime, which is one for the process."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            return b"/cyprof/probe/_runtime." in maps.read()
    except OSError:
        return False  # not on Linux


def begin_in(folder: str, name: str) -> None:
    """Begins the recording of this process, or only gives it its name when it is recorded already.

    Where children are not recorded, it only gets the finder: the program's modules may be built nowhere else.
    """
    global _begun
    hide_variable()
    runtime = sys.modules.get("cyprof.probe._runtime")
    if runtime is not None and runtime.recording():
        runtime.name_process(name)
        return
    settings = _settings(folder)
    if settings is None or _begun:
        return
    _begun = True
    known = set(sys.modules)
    from cyprof.inside import recorder

    recorder.hide_imports(known)
    start = recorder.prepare(settings, name)
    if settings["children"]:
        start()


def _settings(folder: str) -> "dict[str, Any] | None":
    """What the command wrote for the processes of its run; None when it is over, or is not for an interpreter like this."""
    try:
        with open(os.path.join(folder, "settings"), "rb") as file:
            settings = marshal.load(file)
    except (OSError, ValueError, EOFError):
        return None
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    same = settings["python"] == sys.implementation.cache_tag and settings["root"] == root
    return settings if isinstance(settings, dict) and same else None


def _title() -> str:
    words, argv = sys.orig_argv, sys.argv
    if "-m" in words[1:-1] and argv[:1] == ["-m"]:
        return f"-m {words[words.index('-m') + 1]}"
    return os.path.basename(argv[0]) if argv else "python"
