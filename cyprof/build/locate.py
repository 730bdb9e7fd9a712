"""Which file a module name stands for in one folder, as the author of a Cython project means it.

Python prefers a built extension to a `.py` of the same name, and an extension is built from its `.pyx`. So a `.pyx`
stands before everything else of its name: it is what the author runs once the project is built. Both the scan before a
run and the import finder during it ask here, so that they cannot disagree.
"""

# ruff: noqa: PTH112, PTH116, PTH118, PTH120, PTH123, PTH206, PTH208
# Paths are plain strings here: every import of the user's program passes, and must not pay for Path.

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES, all_suffixes

_IMPORTS_CYTHON = re.compile(rb"^[ \t]*(?:import\s+cython\b|from\s+cython(?:\.\w+)*\s+import\b)", re.MULTILINE)
_ASKS_COMPILED = re.compile(rb"^[^#\n]*\bcompiled\b", re.MULTILINE)
# What a module declares with the `cython` module (or its name after `as`, usually cy or C) only to have it compiled.
_DECLARES = re.compile(
    rb"^[^#\n]*(?:\bfrom\s+cython\s+import\b[^#\n]*[\s(,]|\bcython\.|^[ \t]*@\w+\.|:\s*\w+\.)"
    rb"(?:cfunc|ccall|cclass|cimports|locals|returns|declare|exceptval|nogil|parallel|struct|union|typedef|fused_type"
    rb"|u?(?:char|short|int|long|longlong)|float|double|longdouble|complex|bint|size_t|Py_ssize_t|p_\w+)\b",
    re.MULTILINE,
)
_STDLIB = os.path.dirname(os.path.realpath(os.__file__))
_LOADABLE = tuple(all_suffixes())
_CYTHON_MARK = b"cython_runtime"  # the name of a module every extension from Cython makes for itself


class Found:
    """What a module name stands for. `kind` is one of:

    "cython" (a source to build: `path` is the .pyx, or the .py of pure Python mode), "python" (a .py that stays so),
    "opaque" (an extension or byte code with no source to build), "namespace" (the folder `path`, without `__init__`).

    A plain class: it is made while a program is recorded, and the methods that NamedTuple and dataclass generate come from
    no file of cyprof's by which they could be kept out of the profile.
    """

    __slots__ = ("kind", "package", "path")

    def __init__(self, kind: str, path: str, package: bool) -> None:
        self.kind = kind
        self.path = path
        self.package = package


class Folders:
    """Listings of folders, each read once and again only when the folder has changed."""

    def __init__(self) -> None:
        self._listings: dict[str, tuple[int, frozenset[str]]] = {}
        self._local: dict[str, bool] = {}

    def names(self, folder: str) -> frozenset[str]:
        """The names in `folder`; empty when it is no readable folder."""
        try:
            changed = os.stat(folder).st_mtime_ns
        except OSError:
            return frozenset()
        known = self._listings.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        try:
            listing = frozenset(os.listdir(folder))
        except OSError:
            listing = frozenset()
        self._listings[folder] = (changed, listing)
        return listing

    def is_local(self, folder: str) -> bool:
        """Whether `folder` holds the user's own sources: neither the standard library nor installed packages."""
        known = self._local.get(folder)
        if known is None:
            known = self._local[folder] = _is_local(folder)
        return known

    def find(self, folder: str, name: str) -> Found | None:
        """What module `name` (one part, no dots) is in `folder`, or None."""
        names = self.names(folder)
        inside = os.path.join(folder, name)
        has_folder = name in names and os.path.isdir(inside)
        if has_folder:
            found = self._pick(inside, self.names(inside), "__init__")
            if found is not None:
                return Found(found.kind, found.path, True)
        found = self._pick(folder, names, name)
        if found is None and has_folder:
            return Found("namespace", inside, True)
        return found

    def _pick(self, folder: str, names: frozenset[str], stem: str) -> Found | None:
        path = os.path.join(folder, stem)
        if not self.is_local(folder):  # a .pyx among installed packages is data: its extension counts, or nothing does
            there = any(stem + suffix in names for suffix in _LOADABLE)
            return Found("opaque", path, False) if there else None
        if stem + ".pyx" in names:
            return Found("cython", path + ".pyx", False)
        extension = next((path + suffix for suffix in EXTENSION_SUFFIXES if stem + suffix in names), None)
        has_source = stem + ".py" in names
        if extension is not None:
            if has_source and _carries(extension, _CYTHON_MARK):
                return Found("cython", path + ".py", False)
            return Found("opaque", extension, False)
        if has_source:
            pure = is_pure_mode(path + ".py", stem != "__init__" and stem + ".pxd" in names)
            return Found("cython" if pure else "python", path + ".py", False)
        return Found("opaque", path + ".pyc", False) if stem + ".pyc" in names else None


def is_pure_mode(path: str, has_pxd: bool) -> bool:
    """Whether the .py at `path` is written to be compiled by Cython: has a .pxd of its own, or imports `cython` and declares
    functions, classes or types with it, or asks `cython.compiled`.

    `has_pxd` does not count for an `__init__.py`: there the .pxd is what other modules cimport (numpy's is one).
    """
    if has_pxd:
        return True
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    return bool(_IMPORTS_CYTHON.search(text) and (_ASKS_COMPILED.search(text) or _DECLARES.search(text)))


def _carries(path: str, mark: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return mark in file.read()
    except OSError:
        return False


def _is_local(folder: str) -> bool:
    real = os.path.realpath(folder)
    parts = real.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts:
        return False
    return os.path.isdir(real) and real != _STDLIB and not real.startswith(_STDLIB + os.sep)


def python_owns(name: str) -> bool:
    """Whether top-level module `name` is built into the interpreter, which no file of the user's can replace."""
    return name in sys.builtin_module_names
