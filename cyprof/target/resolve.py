"""Checks what the user named, before anything is built or run. Nothing of the program is imported or executed here."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..excerpt import window
from .import_name import import_of
from .interpreter import is_archive, program_path
from .target import Target

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_SAVED = ".cyprof"


def resolve(target: Target, command: str = "cyprof graph") -> Target:
    """The target with its kind settled (a path may name a saved profile), once it is sure that it can be started.

    `command` is what the hints show. Raises UsageError for what does not exist, cannot be run or does not compile.
    """
    if target.kind == "script" and _is_saved(target.value):
        target = Target("saved", target.value, target.args)
    check = {"script": _check_script, "module": _check_module, "code": _check_code, "saved": _check_saved}[target.kind]
    check(target, command)
    return target


def _is_saved(path: str) -> bool:
    from ..store import is_profile

    return path.lower().endswith(_SAVED) or is_profile(path)


def _check_saved(target: Target, command: str) -> None:
    path = Path(target.value)
    if not path.exists():
        raise UsageError(f"{path} does not exist.", _similar(path) or "Record it first: cyprof run SCRIPT -o FILE.cyprof")
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", f"Name a file that cyprof run has written: {command} FILE.cyprof")
    if target.args:
        raise UsageError(
            f"{path} is a recorded profile: nothing is run, and nobody takes the arguments behind --.", "Leave them out."
        )


def _check_script(target: Target, command: str) -> None:
    path = Path(target.value)
    if not path.exists():
        raise UsageError(f"{path} does not exist.", _missing_hint(path, command))
    if path.is_dir():
        if not (path / "__main__.py").is_file():
            raise UsageError(f"{path} is a folder without a __main__.py.", _folder_hint(path, command))
        _check_file(path / "__main__.py")
    elif path.is_file():
        _check_suffix(path, command)
        if path.suffix != ".pyc" and not is_archive(target.value):
            _check_file(path)


def _missing_hint(path: Path, command: str) -> str:
    similar = _similar(path)
    if similar:
        return similar
    name = str(path)
    if all(part.isidentifier() for part in name.split(".")) and _find_top(name.partition(".")[0], sys.path) is not None:
        return f"There is a module of that name; run it with {command} -m {name}"
    return "Check the name and the folder you are in."


def _similar(path: Path) -> str:
    """A hint that names a file called nearly like `path` in its folder, "" when there is none."""
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix == path.suffix]
    except OSError:
        return ""
    found = get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"Did you mean {path.parent / found[0]}?" if found else ""


def _folder_hint(path: Path, command: str) -> str:
    if (path / "__init__.py").is_file():
        return "It is a package; python can run it only with a __main__.py. Name the script that uses it."
    scripts = sorted(path.glob("*.py"))
    return f"Name a script in it: {command} {scripts[0]}" if scripts else "Name the script to run."


def _check_suffix(path: Path, command: str) -> None:
    suffix = path.suffix.lower()
    if suffix == ".pyx":
        raise UsageError(f"{path} is a Cython module, and a module is imported, not run.", _import_hint(path, command))
    if suffix in (".pxd", ".pxi"):
        raise UsageError(f"{path} holds Cython declarations, no program.", "Name the script to run.")
    if suffix in (".so", ".pyd"):
        raise UsageError(f"{path} is a compiled module, and a module is imported, not run.", "Name the script that imports it.")
    if suffix == ".ipynb":
        raise UsageError(f"{path} is a notebook, no script.", f"Convert it first: jupyter nbconvert --to script {path.name}")


def _import_hint(path: Path, command: str) -> str:
    how = import_of(path)
    if how is None:
        return "Name the script that uses it."
    folder = f"PYTHONPATH={shlex.quote(how.folder)} " if how.folder else ""
    return f'Write a script that imports and uses it, or in short: {folder}{command} -c "import {how.name}; ..."'


def _check_file(path: Path) -> None:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.", "Check who may read it.") from error
    _compile(source, str(path))


def _check_code(target: Target, command: str) -> None:
    del command
    _compile(target.value, "<string>")


def _compile(source: bytes | str, name: str) -> None:
    """Compiles and throws away: the program's own warnings come when it is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Not by its own name: of a line that Python reads from the file, an error holds the last 1,000 bytes only.
            compile(source, "<program>", "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or 0
        text = window((error.text or "").rstrip(), error.offset or 0)[0].strip()
        place = f"{name}:{line}" if line else name
        shown = f"\n    {text}" if text and text.isprintable() else ""
        raise UsageError(f"{place}: {error.msg}{shown}", "Mend the program first; nothing was run.") from error
    except ValueError as error:
        raise UsageError(f"{name} is no Python source: {error}.", "Name the script to run.") from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise UsageError(f"{name} is too deeply nested to be compiled.", "Mend the program first; nothing was run.") from error


def _check_module(target: Target, command: str) -> None:
    name = target.value
    if name.endswith(".py") or os.sep in name:
        raise UsageError(f"-m takes a module's name, and {name} is a path.", f"For a script: {command} {name}")
    if not all(name.split(".")):
        raise UsageError(f"{name!r} is no module's name.", f"Write it as in an import: {command} -m package.module")
    place = _Search(program_path(target)).find(name)
    if place is None:
        raise UsageError(f"No module named {name} was found.", "Check the name, the folder you are in and PYTHONPATH.")
    if place.pyx is not None:
        raise UsageError(
            f"{name} is a Cython module ({place.pyx}), which python cannot run with -m.",
            f'Write a script that imports and uses it, or in short: {command} -c "import {name}; ..."',
        )
    if place.source is not None:
        _check_file(place.source)


class _Place:
    """Where a module lies: the .py that -m runs (None when it is no such file), or a .pyx."""

    def __init__(self, source: Path | None = None, pyx: Path | None = None) -> None:
        self.source = source
        self.pyx = pyx


class _Search:
    """Finds a module without importing its packages, which would run the program's code."""

    def __init__(self, path: Sequence[str]) -> None:
        self._path = [entry or str(Path.cwd()) for entry in path]

    def find(self, name: str) -> _Place | None:
        """The place of a module; an empty one where only the running program can tell, None when there is none."""
        entries: Sequence[str] | None = self._path
        spec: ModuleSpec | None = None
        parent: ModuleSpec | None = None
        parts = name.split(".")
        for depth, part in enumerate(parts):
            full = ".".join(parts[: depth + 1])
            pyx = self._pyx(entries, part)
            spec = _find_top(part, self._path) if depth == 0 else PathFinder.find_spec(full, entries)
            if pyx is not None and (spec is None or spec.submodule_search_locations is None):
                return _Place(pyx=pyx) if depth == len(parts) - 1 else None
            if spec is None:
                return _Place() if parent is not None and _changes_path(parent) else None
            parent = spec
            entries = list(spec.submodule_search_locations or ())
            if not entries and depth < len(parts) - 1:
                return None
        return self._of_spec(spec, entries)

    def _of_spec(self, spec: ModuleSpec | None, inside: Sequence[str] | None) -> _Place | None:
        if spec is not None and spec.submodule_search_locations is not None:
            main = PathFinder.find_spec(f"{spec.name}.__main__", inside)
            if main is None:
                if _changes_path(spec):
                    return _Place()
                raise UsageError(
                    f"{spec.name} is a package without a __main__ module, which python cannot run with -m.",
                    "Name the module in it that is the program.",
                )
            spec = main
        origin = spec.origin if spec is not None and spec.has_location else None
        return _Place(Path(origin)) if origin is not None and origin.endswith(".py") and Path(origin).is_file() else _Place()

    @staticmethod
    def _pyx(entries: Sequence[str] | None, part: str) -> Path | None:
        for entry in entries or ():
            folder = Path(entry)
            if any((folder / f"{part}{ending}").exists() for ending in (".py", "/__init__.py")):
                return None
            for path in (folder / f"{part}.pyx", folder / part / "__init__.pyx"):
                if path.is_file() and "site-packages" not in path.parts:
                    return path if path.stem == part else None
        return None


def _find_top(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """The spec of a top-level module: on `path`, else by whatever finders are installed (editable projects)."""
    found = PathFinder.find_spec(name, list(path))
    if found is not None:
        return found
    try:
        return find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


def _changes_path(spec: ModuleSpec) -> bool:
    """Whether a package seems to look for its modules elsewhere as well; then only running it can tell."""
    try:
        return "__path__" in Path(spec.origin or "").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
