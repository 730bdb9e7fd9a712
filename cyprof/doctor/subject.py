"""What the user wants examined: the files of a script's folder, a module's package, or an installed distribution."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from ..build.environment import project_folder
from ..build.modules import find_sources
from ..build.project.find import editable_folder, installed_distribution
from ..cython.directives import BUILD_FILES, SOURCE_SUFFIXES
from ..cython.extension import is_extension
from ..errors import UsageError
from ..target import Target, program_path

_MOST_FILES = 50_000
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "dist-packages", "__pypackages__"}
_OUTPUT = {"build", "dist"}


@dataclass(frozen=True, slots=True)
class Subject:
    """Files to examine. `root` is the folder that names are told relative to, `distribution` its name if it is an installed
    one, `installed` whether it lies as it was installed (a build from PyPI, say) rather than in a checkout."""

    title: str
    root: Path
    extensions: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()
    build_files: tuple[Path, ...] = ()
    distribution: str = ""
    installed: bool = False
    notes: tuple[str, ...] = ()


def subject_of(word: str | None, module: str | None = None) -> Subject | None:
    """The subject that a word of the command line names: an existing file or folder, else a distribution; or the package of
    `module`. None when neither is given. Raises UsageError for what is not there."""
    if module is not None:
        return _of_module(module)
    if word is None:
        return None
    path = Path(word)
    looks_like_path = os.sep in word or word in (".", "..") or path.suffix in (".py", ".pyx")
    if not looks_like_path and not path.is_file():
        found = installed_distribution(word)
        if found is not None:
            return _of_distribution(found, word if path.is_dir() else "")
    if path.is_dir():
        return _of_folder(word, path)
    if path.is_file():
        if path.suffix == ".cyprof":
            raise UsageError(f"{word} is a recorded run.", "Name the script that was run: cyprof doctor SCRIPT")
        return _of_file(word, path)
    raise UsageError(f"There is no file, folder or installed distribution called {word}.", _similar(word))


def _similar(word: str) -> str:
    from difflib import get_close_matches

    names = sorted({str(found.metadata["Name"]) for found in metadata.distributions()})
    close = get_close_matches(word, names, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {close[0]}?"
    return f"Check the name; `{Path(sys.executable).name} -m pip list` tells what is installed."


def _of_distribution(found: metadata.Distribution, folder: str) -> Subject:
    name = str(found.metadata["Name"])
    title = f"{name} {found.version}"
    notes: tuple[str, ...] = (f"The folder {folder} was not meant by this; for that write ./{folder}",) if folder else ()
    checkout = editable_folder(found)
    if checkout is not None:
        inside = _walk(checkout)
        return _subject(f"{title} (installed from {checkout})", checkout, inside, distribution=name, notes=notes)
    files = _Files()
    for entry in found.files or ():
        path = Path(str(found.locate_file(entry)))
        if "__pycache__" not in path.parts:
            files.add(path)
    if found.files is None:
        notes += (f"{name} was installed without a list of its files, so they could not be looked at.",)
    root = Path(str(found.locate_file("")))
    return _subject(title, root, files, distribution=name, installed=True, notes=notes)


def _of_module(name: str) -> Subject:
    from importlib.util import find_spec

    top = name.partition(".")[0]
    if "" not in sys.path:
        sys.path.insert(0, "")  # as python -m does
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise UsageError(f"No module named {top} was found.", "Check the name, the folder you are in and PYTHONPATH.")
    folders = [Path(folder).absolute() for folder in spec.submodule_search_locations or ()]
    if folders:
        return _of_folder(f"-m {name}", folders[0])
    if spec.origin is None or not Path(spec.origin).is_file():
        raise UsageError(f"{top} is part of Python itself.", "Name a script, or a module of your own.")
    return _of_file(f"-m {name}", Path(spec.origin))


def _of_file(title: str, path: Path) -> Subject:
    """A script: the files of its folder and those below; an extension or source: itself and what belongs to it by name."""
    path = path.absolute()
    if not is_extension(path.name) and path.suffix == ".py":
        files = _walk(path.parent)
        files.sources += [source for source in _reached(path) if source not in files.sources]
        return _subject(title, path.parent, files)
    files = _Files()
    if is_extension(path.name):
        files.add(path)
    stem = path.name.partition(".")[0]
    for beside in sorted(path.parent.iterdir()):
        if beside.name.partition(".")[0] == stem and beside != path:
            files.add(beside)
    if path.suffix in SOURCE_SUFFIXES:
        files.add(path)
    return _subject(title, path.parent, files)


def _reached(script: Path) -> list[Path]:
    """The Cython sources that a script's imports lead to, wherever they lie."""
    target = Target("script", str(script))
    return [source.path for source in find_sources(target, program_path(target))]


def _of_folder(title: str, folder: Path) -> Subject:
    folder = folder.absolute()
    return _subject(title, folder, _walk(folder))


@dataclass
class _Files:
    extensions: list[Path] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)
    build_files: list[Path] = field(default_factory=list)
    full: bool = False

    def add(self, path: Path) -> None:
        if is_extension(path.name):
            self.extensions.append(path)
        elif path.name in BUILD_FILES or path.suffix == ".cmake":
            self.build_files.append(path)
        elif path.suffix in SOURCE_SUFFIXES:
            self.sources.append(path)


def _walk(folder: Path) -> _Files:
    """The files of a folder and those below: not of hidden folders, environments, installed packages and build folders."""
    files = _Files()
    count = 0
    for place, folders, names in os.walk(folder):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(place, name)))
        for name in sorted(names):
            files.add(Path(place, name))
        count += len(names)
        if count > _MOST_FILES:
            files.full = True
            break
    return files


def _is_skipped(folder: Path) -> bool:
    name = folder.name
    if name in _OUTPUT:
        return not (folder / "__init__.py").is_file()  # a package may be called so, too
    return name in _SKIPPED or name.startswith(".")


def _subject(
    title: str, root: Path, files: _Files, *, distribution: str = "", installed: bool = False, notes: tuple[str, ...] = ()
) -> Subject:
    build_files = list(files.build_files)
    project = None if installed else project_folder(root)
    if project is not None:
        build_files += [project / name for name in BUILD_FILES if (project / name).is_file()]
    if files.full:
        notes += (f"Only the first {_MOST_FILES:,} files below {root} were looked at; name a smaller folder for the rest.",)
    return Subject(
        title,
        root,
        tuple(files.extensions),
        tuple(files.sources),
        tuple(dict.fromkeys(build_files)),
        distribution,
        installed,
        notes,
    )
