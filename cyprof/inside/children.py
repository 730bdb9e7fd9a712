"""What a recorded process does so that the Python processes it starts are recorded, too.

An environment variable names the folder of the run. It is read by the `cyprof.pth` that cyprof's wheel installs (see
spawned.py). It stands in the process's real environment and not in `os.environ`, where the program would see it, so it has to
be added where a program hands over an environment of its own. Processes that multiprocessing starts are also told in
what it sends them: that works where cyprof is not installed as a wheel.
"""

# ruff: noqa: PTH119
import os
import sys

from cyprof.build import overlay
from cyprof.inside import VARIABLE
from cyprof.probe import _runtime as runtime  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ENVIRONMENT = 5
"""Where the environment stands among the arguments of `_posixsubprocess.fork_exec` (3.11 to 3.13)."""

_ENVIRONMENT_OF_OS = 2
"""And among those of os.posix_spawn."""

_LOKY = ("joblib.externals.loky", "loky")
"""Where loky lies: joblib brings its own."""

_HELPERS = (
    "from multiprocessing.resource_tracker ",
    "from multiprocessing.forkserver ",
    *(f"from {package}.backend.resource_tracker " for package in _LOKY),
)
"""Words of processes that these packages keep for themselves, and that run nothing of the program's."""

_started: list[str] = []


def started() -> list[str]:
    """The Python interpreters that were started, each time by its path; those of multiprocessing are left out."""
    return list(_started)


def watched(root: str, folder: str) -> "dict[str, Callable[[], None]]":
    """By module name what is to be done just before the program imports it."""

    def telling(spawn: str) -> "Callable[[], None]":
        return lambda: _tell_spawned(spawn, root, folder)

    _adapt_starts(folder)
    watch = {
        # In a process that has just begun, other .pth files put their own finders before ours (an editable install by
        # meson-python does). When Python looks for this module, all of them have been read.
        "sitecustomize": overlay.move_first,
        "subprocess": lambda: _tell_subprocesses(folder),
        "multiprocessing.popen_spawn_posix": telling("multiprocessing.spawn"),
        "multiprocessing.popen_forkserver": telling("multiprocessing.spawn"),
        **{f"{package}.backend.popen_loky_posix": telling(f"{package}.backend.spawn") for package in _LOKY},
    }
    for name in [name for name in watch if name in sys.modules]:
        watch.pop(name)()
    return watch


def _adapt_starts(folder: str) -> None:
    """Has programs that are started with an environment of their own, by functions of os, get the variable in it."""

    def adapt(arguments: "tuple[Any, ...]") -> "tuple[Any, ...]":
        _note(arguments[1:2])
        if len(arguments) != _ENVIRONMENT_OF_OS + 1 or not hasattr(arguments[_ENVIRONMENT_OF_OS], "keys"):
            return arguments
        return (*arguments[:_ENVIRONMENT_OF_OS], {**arguments[_ENVIRONMENT_OF_OS], VARIABLE: folder})

    for name in ("posix_spawn", "posix_spawnp"):
        told = runtime.adapted(getattr(os, name), adapt)
        for module in (os, sys.modules["posix"]):
            setattr(module, name, told)


def _tell_subprocesses(folder: str) -> None:
    """The same for what subprocess uses."""
    import _posixsubprocess

    entry = os.fsencode(f"{VARIABLE}={folder}")

    def adapt(arguments: "tuple[Any, ...]") -> "tuple[Any, ...]":
        _note(arguments[:1])
        environment = arguments[_ENVIRONMENT]
        if environment is None:
            return arguments
        return (*arguments[:_ENVIRONMENT], [*environment, entry], *arguments[_ENVIRONMENT + 1 :])

    plain = _posixsubprocess.fork_exec
    told = runtime.adapted(plain, adapt)
    _posixsubprocess.fork_exec = told
    subprocess = sys.modules.get("subprocess")
    if getattr(subprocess, "_fork_exec", None) is plain:
        subprocess._fork_exec = told  # type: ignore[union-attr]


def _note(command: "tuple[Any, ...]") -> None:
    """Remembers that an interpreter is started; `command` holds its words, if it is known."""
    words = [os.fsdecode(word) for word in command[0]] if command and isinstance(command[0], (list, tuple)) else []
    if words and os.path.basename(words[0]).startswith("python") and not (is_helper(words) or _is_told(words)):
        _started.append(words[0])


def is_helper(words: list[str]) -> bool:
    """Whether an interpreter with these words runs nothing of the program's."""
    return any(word.startswith(_HELPERS) for word in words)


def _is_told(words: list[str]) -> bool:
    """Whether it hears of the recording by what it is sent."""
    return any(word.startswith("from multiprocessing.spawn ") for word in words)


def _tell_spawned(name_of_module: str, root: str, folder: str) -> None:
    """Has what multiprocessing (spawn, forkserver) and loky send to a process they have started begin the recording there."""
    spawn: Any = __import__(name_of_module, fromlist=["spawn"])
    plain = spawn.get_preparation_data
    if getattr(plain, "__module__", "") == __name__:
        return

    def get_preparation_data(name: str, *more: "Any", **others: "Any") -> "dict[str, Any]":
        return {"cyprof": _Beginning(root, folder, name), **plain(name, *more, **others)}

    spawn.get_preparation_data = get_preparation_data


_CODE = """\
import sys
sys.path.insert(0, {root!r})
try:
    from cyprof.inside import spawned
finally:
    sys.path.remove({root!r})
spawned.begin_in({folder!r}, {name!r})
"""


class _Beginning:
    """Begins the recording where it is unpickled."""

    def __init__(self, root: str, folder: str, name: str) -> None:
        self._code = _CODE.format(root=root, folder=folder, name=name)

    def __reduce__(self) -> "tuple[Any, ...]":
        return exec, (self._code, {})
