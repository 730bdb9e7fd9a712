"""Which Cython sources a program reaches: a scan of its imports, through the user's own Python files.

Installed packages and the standard library are not entered: their extensions are built by projects, not loose.
What a scan cannot see (a name put together at run time) is built by the import finder when it is imported.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Protocol

from cyprof.build.imports import Import, cython_imports, python_imports, star_names
from cyprof.build.locate import Folders, Found, python_owns


class Start(Protocol):
    """Where a program begins: one of a script's path (or a folder with `__main__.py`), a module's name, or code."""

    @property
    def script(self) -> str | Path | None: ...
    @property
    def module(self) -> str | None: ...
    @property
    def code(self) -> str | None: ...


@dataclass(frozen=True)
class Source:
    """A loose Cython source: `module` is the name it is imported by, `root` the folder that name starts from.

    `package` is true for an `__init__`. `by_name`: the program finds the module through an import finder of its project's
    own, not in a folder. `required` is false where plain Python could run the module without a build (pure Python mode):
    such a module that does not compile is left as it is, and named.
    """

    module: str
    path: Path
    root: Path
    package: bool = False
    by_name: bool = False

    @property
    def required(self) -> bool:
        return self.path.suffix == ".pyx"


def _source_at(module: str, found: Found, by_name: bool) -> Source:
    path = Path(found.path)
    root = path.parent
    for _ in range(module.count(".") + int(found.package)):
        root = root.parent
    return Source(module, path, root, found.package, by_name)


def find_sources(target: Start, search_path: Sequence[str]) -> list[Source]:
    """The Cython sources that `target` can import, in the order they are met.

    `search_path` is the program's own `sys.path`, its first entry (the script's folder) included.
    """
    scan = _Scan([str(Path(entry).absolute()) for entry in search_path])
    if target.script is not None:
        script = Path(target.script)
        scan.read_start(script / "__main__.py" if script.is_dir() else script, "")
    elif target.module is not None:
        scan.start_module(target.module)
    elif target.code is not None:
        scan.follow(python_imports(target.code.encode()), "")
    scan.run()
    return list(scan.sources.values())


@dataclass(frozen=True)
class _Place:
    """A module that was found: where, and the folders its submodules lie in."""

    found: Found | None
    inside: tuple[str, ...]


class _Scan:
    def __init__(self, search_path: list[str]) -> None:
        self.sources: dict[str, Source] = {}
        self._search_path = search_path
        self._folders = Folders()
        self._places: dict[str, _Place] = {}
        self._by_name: set[str] = set()
        self._waiting: deque[tuple[str, str, bool]] = deque()

    def run(self) -> None:
        while self._waiting:
            module, path, package = self._waiting.popleft()
            self._read(path, module if package else module.rpartition(".")[0])

    def start_module(self, name: str) -> None:
        """`python -m name`: its packages are imported; the module itself is run, so it is read and never built."""
        parent, _, tail = name.rpartition(".")
        if parent:
            self._reach(parent)
        place = self._search(tail, self._entries(parent, tail))
        if place.found is None:
            return
        if place.found.package:
            self._reach(name)
            self.read_start(Path(place.inside[0]) / "__main__.py", name)
        elif place.found.path.endswith(".py"):
            self.read_start(Path(place.found.path), parent)

    def read_start(self, path: Path, package: str) -> None:
        self._read(str(path), package)

    def _read(self, path: str, package: str) -> None:
        try:
            text = Path(path).read_bytes()
        except OSError:
            return  # the program will meet the same trouble and say so itself
        if path.endswith(".pyx"):
            self._read_cython(Path(path), text, package, set())
        else:
            self.follow(python_imports(text), package)

    def _read_cython(self, path: Path, text: bytes, package: str, seen: set[Path]) -> None:
        imports, includes = cython_imports(text.decode("utf-8", "replace"))
        self.follow(imports, package)
        for name in includes:
            part = path.parent / name
            if part not in seen and part.is_file():
                seen.add(part)
                self._read_cython(part, part.read_bytes(), package, seen)

    def follow(self, imports: Iterable[Import], package: str) -> None:
        for item in imports:
            base = _absolute(item, package)
            if base is None:
                continue
            if base:
                self._reach(base)
            names = item.names
            if names == ("*",):
                names = self._star(base)
            for name in names:
                self._reach(f"{base}.{name}" if base else name)

    def _star(self, module: str) -> tuple[str, ...]:
        found = self._locate(module).found
        return star_names(Path(found.path).read_bytes()) if found is not None and found.kind == "python" else ()

    def _reach(self, name: str) -> None:
        """Importing a.b.c imports a and a.b as well."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            if self._locate(".".join(parts[:count])).found is None:
                return

    def _locate(self, name: str) -> _Place:
        place = self._places.get(name)
        if place is None:
            parent, _, tail = name.rpartition(".")
            place = self._places[name] = self._search(tail, self._entries(parent, tail))
            self._note(name, place)
        return place

    def _entries(self, parent: str, tail: str) -> Sequence[str]:
        if parent:
            return self._locate(parent).inside
        return () if python_owns(tail) else self._search_path

    def _search(self, tail: str, entries: Sequence[str]) -> _Place:
        if entries is not self._search_path:
            return self._in_folders(tail, entries) or _Place(None, ())
        position = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
        place = self._of_finders(tail, sys.meta_path[:position]) or self._in_folders(tail, entries)
        return place or self._of_finders(tail, sys.meta_path[position + 1 :]) or _Place(None, ())

    def _in_folders(self, tail: str, entries: Sequence[str]) -> _Place | None:
        portions: list[str] = []
        for folder in entries:
            found = self._folders.find(folder, tail)
            if found is None:
                continue
            if found.kind == "namespace":
                portions.append(found.path)
            elif self._folders.is_local(folder):
                return _Place(found, (str(Path(found.path).parent),) if found.package else ())
            else:
                return _Place(None, ())
        local = tuple(folder for folder in portions if self._folders.is_local(folder))
        if local:
            return _Place(Found("namespace", local[0], True), local)
        return _Place(None, ()) if portions else None

    def _of_finders(self, name: str, finders: Iterable[Any]) -> _Place | None:
        """A project installed in editable mode may have an import finder of its own, that knows where it lies.

        The folders that the finder tells of a package need not hold its sources, nor exist: scikit-build-core's names one for
        what was built first, meson-python's names none. The package's own file does lie among its sources.
        """
        spec = next(filter(None, (_spec_of(finder, name) for finder in finders)), None)
        if spec is None:
            return None
        inside = list(spec.submodule_search_locations or ())
        folder = str(Path(spec.origin).parent) if spec.origin and inside else inside[0] if inside else ""
        if not folder or not self._folders.is_local(folder):
            return _Place(None, ())
        if inside != [folder]:
            self._by_name.add(name)
        return _Place(self._folders.find(*os.path.split(folder)), (folder,))

    def _note(self, name: str, place: _Place) -> None:
        found = place.found
        if found is None or found.kind not in ("cython", "python"):
            return
        if found.kind == "cython":
            self.sources[name] = _source_at(name, found, name.partition(".")[0] in self._by_name)
        self._waiting.append((name, found.path, found.package))


def _spec_of(finder: Any, name: str) -> ModuleSpec | None:
    """What an import finder of some project's own answers for a top-level module."""
    if finder in (BuiltinImporter, FrozenImporter) or not hasattr(finder, "find_spec"):
        return None
    try:
        spec = finder.find_spec(name, None, None)
    except (ImportError, ValueError, AttributeError):
        return None  # what is wrong with it, the program will meet and say itself
    return spec if isinstance(spec, ModuleSpec) else None


def _absolute(item: Import, package: str) -> str | None:
    """The full name of the module an import names, None when it leads out of the top-level package."""
    if not item.level:
        return item.module
    parts = package.split(".") if package else []
    if item.level - 1 > len(parts) or not parts:
        return None
    parts = parts[: len(parts) - (item.level - 1)]
    return ".".join([*parts, item.module] if item.module else parts)
