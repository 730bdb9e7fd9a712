"""Whose function is it? Told from its path and module alone, so that a profile reads the same on another machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from ..model import Function, Profile

Origin = Literal["own", "import", "stdlib", "package", "builtin", "generated"]
"""`generated` is Python code from no file, such as the methods that namedtuple and dataclass make: it belongs to whoever
calls it."""

_SITE_PACKAGES = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_STDLIB = re.compile(r"/lib(?:64)?/(?:python|pypy)\d+(?:\.\d+t?/|\d+\.zip/)")
_IMPORT_MODULES = ("importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "_imp", "cyprof")
"""Modules that do nothing but load others. Of cyprof only the finder runs inside a program."""
_IMPORT_BUILTINS = {("builtins", "__import__")}


def origin_of(function: Function, own_packages: frozenset[str] = frozenset()) -> Origin:
    """Tells the user's own functions from import machinery, standard library, installed packages and C functions.

    A Cython function counts as the user's own wherever its module lies: it carries probes because the user asked for them.
    So does all of a package in `own_packages`, where some of it is probed. Inline code of an installed package's .pxd that
    was compiled into a module of the user's (numpy's, mostly) is the package's.
    """
    top = top_package(function.module)
    if top in _IMPORT_MODULES or (function.module, function.name) in _IMPORT_BUILTINS:
        return "import"
    if function.language == "cython":
        return "package" if _is_from_elsewhere(function) else "own"
    if function.language == "c":
        return "builtin"
    if function.file.startswith("<frozen"):
        return "import" if "importlib" in function.file or "zipimport" in function.file else "stdlib"
    if not function.file or function.file.startswith("<"):
        return "own" if top == "__main__" else "generated"
    if _SITE_PACKAGES.search(function.file):
        return "own" if package_of(function) in own_packages else "package"
    return "stdlib" if _STDLIB.search(function.file) else "own"


def _is_from_elsewhere(function: Function) -> bool:
    found = _SITE_PACKAGES.search(function.file)
    return found is not None and package_of(function) != top_package(function.module)


def package_of(function: Function) -> str:
    """The installed package a function belongs to."""
    found = _SITE_PACKAGES.search(function.file)
    if not found:
        return top_package(function.module)
    return re.sub(r"\.(?:py|pyx|so|cpython.*)$", "", found.group(1))


def top_package(module: str) -> str:
    """The first part of a dotted module name."""
    return module.partition(".")[0]


def probed_packages(profile: Profile) -> frozenset[str]:
    """Installed packages of which at least one Cython function carries probes."""
    return frozenset(
        package_of(function)
        for function in profile.functions
        if function.language == "cython" and _SITE_PACKAGES.search(function.file) and not _is_from_elsewhere(function)
    )


def matches(function: Function, patterns: Iterable[str]) -> bool:
    """Whether a pattern fits the function's `module:name`, its name or its module."""
    names = (f"{function.module}:{function.name}", function.name, function.module)
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)
