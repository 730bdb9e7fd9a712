"""How a module is imported that the user named by its file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple


class ImportOf(NamedTuple):
    """An import that finds a module: its name, and the folder that must be put on PYTHONPATH first, "" for none."""

    name: str
    folder: str


def import_of(path: Path) -> ImportOf | None:
    """How to import the module at `path` from the current folder; None where its name, or a folder's, is no identifier.

    The name starts in the folder around its packages, those with an `__init__` file. A namespace package has none: a folder
    counts as one where PYTHONPATH or an editable install puts a folder around it on the search path, and no scripts lie in it.
    """
    path = path.absolute()
    root = path.parent
    while _is_package(root) and root.parent != root:
        root = root.parent
    searched = {Path(entry).absolute() for entry in sys.path if entry and Path(entry).is_dir()} | {Path.cwd()}
    start = root if root in searched else _around(root, searched - {Path.cwd()})
    parts = path.relative_to(start or root).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if not parts or not all(part.isidentifier() for part in parts):
        return None
    return ImportOf(".".join(parts), os.path.relpath(root) if start is None else "")


def _around(folder: Path, searched: set[Path]) -> Path | None:
    """The folder of the search path that holds `folder` as a namespace package, None where it is none."""
    while folder.parent != folder and not any(folder.glob("*.py")):
        folder = folder.parent
        if folder in searched:
            return folder
    return None


def _is_package(folder: Path) -> bool:
    return any((folder / f"__init__{suffix}").is_file() for suffix in (".py", ".pyx", ".pxd"))
