"""The import finder that puts probed extensions in the place of a program's own modules.

It stands first on `sys.meta_path` and answers only for modules whose source it would find where Python looks: for every
other import it costs a look at the listings of the user's own folders, and nothing at all inside installed packages.
"""

# ruff: noqa: PTH100, PTH109, PTH116, PTH118, PTH119, PTH120, PTH121, PTH122
# Paths are plain strings here: every import of the user's program passes, and must not pay for Path.
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TypeVar

from cyprof.build.demand import build_elsewhere
from cyprof.build.locate import Folders, Found, python_owns
from cyprof.errors import BuildError

R = TypeVar("R")


class Built(NamedTuple):
    """A probed extension: paths of the extension, of the source it was made from and of the hook's report.

    `loose` is false for a module that is known by its name alone: of an installed project, whose source may not be there, or
    of one that has an import finder of its own.
    """

    extension: str
    source: str
    report: str
    loose: bool = True


class Overlay:
    """The probed modules of a program by name. `probes` are the fields of the ProbeOptions they were built with;
    `skipped` tells why a module of pure Python mode was left as plain Python; `notes` are what a reader should know of
    builds that the running program asked for."""

    def __init__(
        self,
        modules: dict[str, Built],
        probes: dict[str, Any] | None = None,
        skipped: dict[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.modules = modules
        self.probes = probes or {}
        self.skipped = skipped or {}
        self.notes = list(notes)

    def __repr__(self) -> str:
        return f"Overlay({self.modules!r}, {self.probes!r}, {self.skipped!r}, {self.notes!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Overlay) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """The overlay as a value of plain dicts, lists and strings."""
        modules = {name: built._asdict() for name, built in self.modules.items()}
        return {"modules": modules, "probes": self.probes, "skipped": self.skipped, "notes": self.notes}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Overlay:
        """The overlay that `to_json` described."""
        modules = {name: Built(**built) for name, built in value["modules"].items()}
        return cls(modules, dict(value["probes"]), dict(value["skipped"]), value["notes"])

    def add(self, more: Overlay) -> None:
        """Takes over what another overlay holds."""
        self.modules.update(more.modules)
        self.skipped.update(more.skipped)
        self.notes += [note for note in more.notes if note not in self.notes]


def install(
    overlay: Overlay,
    *,
    build_missing: bool,
    progress: Callable[[str], None] | None = None,
    on_failure: Callable[[BuildError], NoReturn] | None = None,
    on_built: Callable[[], None] | None = None,
    before_import: dict[str, Callable[[], None]] | None = None,
    spare: Callable[[str], str] | None = None,
) -> None:
    """Puts the finder first on `sys.meta_path`; called again, it moves it there and exchanges the overlay.

    With `build_missing`, a source that is not in the overlay is built when it is imported, in another process, and
    `progress` is told so. `on_failure` ends the program when that fails; by default with the message on stderr and exit
    code 3. `on_built` is called when the overlay has grown. `before_import` gives by module name what is to be done just
    before the module is imported. `spare` is told why the user's cache cannot be written, and names a folder to build
    in instead.
    """
    uninstall()
    finder = _Finder(overlay, build_missing, progress or _silent, on_failure or _end)
    finder.on_built = on_built or finder.on_built
    finder.before_import = before_import or {}
    finder.spare = spare
    sys.meta_path.insert(0, finder)


def uninstall() -> None:
    """Takes the finder away. Modules that were loaded through it stay."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


def move_first() -> None:
    """Moves the finder to the first place on `sys.meta_path` again, if it is on it."""
    sys.meta_path[:] = sorted(sys.meta_path, key=lambda finder: not isinstance(finder, _Finder))


def loaded() -> list[str]:
    """The names of the modules that were loaded from probed extensions, in order."""
    return list(_loaded)


def current() -> Overlay | None:
    """The overlay in force, modules built on demand included; None when no finder is installed."""
    return next((finder.overlay for finder in sys.meta_path if isinstance(finder, _Finder)), None)


def loaded_without() -> list[str]:
    """The names of the modules that were imported as they are, and that the finder in force would have built."""
    chosen = next((finder for finder in sys.meta_path if isinstance(finder, _Finder)), None)
    return [] if chosen is None else [name for name, module in list(sys.modules.items()) if chosen.would_build(name, module)]


def is_built(spec: ModuleSpec | None) -> bool:
    """Whether the spec is one of this finder's, of a module built by cyprof."""
    return isinstance(getattr(spec, "loader", None), _Loader)


def unprobed_extensions() -> list[tuple[str, str]]:
    """Name and file of each compiled module that was loaded as it is, whichever loader brought it."""
    found = []
    for name, module in list(sys.modules.items()):
        spec = vars(module).get("__spec__") if isinstance(module, ModuleType) else None
        origin = getattr(spec, "origin", None)
        if isinstance(origin, str) and origin.endswith(tuple(EXTENSION_SUFFIXES)) and not is_built(spec):
            found.append((name, origin))
    return found


_loaded: dict[str, None] = {}
_UNSAFE_HINT = "See who writes into the cache folder, then remove what is in it: cyprof cache clear"


def _quietly(function: Callable[..., R], *args: object) -> R:
    """What `function` returns. In a program that is recorded, none of what it calls is the program's."""
    runtime = sys.modules.get("cyprof.probe._runtime")
    if runtime is None:
        return function(*args)
    result: R = runtime.quietly(function, *args)
    return result


class _Loader(ExtensionFileLoader):
    """Loads the extension at `extension`; the module shows the path that it would have without cyprof. `on_failure` ends the
    program where the extension is not to be trusted."""

    def __init__(
        self, name: str, shown: str, extension: str, package: bool, on_failure: Callable[[BuildError], NoReturn]
    ) -> None:
        super().__init__(name, shown)
        self._extension = extension
        self._package = package
        self._on_failure = on_failure

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, with the names from `spec`."""
        refusal = _quietly(why_unsafe, self._extension)
        if refusal:
            self._on_failure(BuildError(refusal, _UNSAFE_HINT))
        # Cython fills __file__ and __path__ from the spec it is created with, and that spec must name the real file.
        real = ModuleSpec(spec.name, self, origin=self._extension, is_package=self._package)
        real.submodule_search_locations = spec.submodule_search_locations
        module = super().create_module(real)
        module.__file__ = spec.origin
        # Noted here: a method of ours around the module's body would stand in its tracebacks, and be where its warnings are.
        _loaded[spec.name] = None
        return module

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002
        """Whether the module is a package's own."""
        return self._package

    def get_source(self, fullname: str) -> str | None:  # type: ignore[override]  # noqa: ARG002
        """The text of a .py compiled in pure Python mode, None for any other module: so does a plain build."""
        if not self.path.endswith(".py"):
            return None
        from importlib.util import decode_source

        return decode_source(self.get_data(self.path))


class _Finder:
    def __init__(
        self,
        overlay: Overlay,
        build_missing: bool,
        progress: Callable[[str], None],
        on_failure: Callable[[BuildError], NoReturn],
    ) -> None:
        self.overlay = overlay
        self._build_missing = build_missing
        self._progress = progress
        self._on_failure = on_failure
        self.on_built: Callable[[], None] = lambda: None
        self.before_import: dict[str, Callable[[], None]] = {}
        self.spare: Callable[[str], str] | None = None
        self._folders = Folders()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a probed module, None for every other."""
        if fullname in self.before_import:
            self.before_import.pop(fullname)()
        return _quietly(self._probed, fullname, path, target)

    def _probed(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        built = self.overlay.modules.get(fullname)
        if built is not None and not built.loose:
            return self._by_name(fullname, built, path, target)
        found = self._find(fullname, path)
        if found is None or fullname in self.overlay.skipped:
            return None
        if built is None or not _same(built.source, found.path):
            if not self._build_missing:
                return None
            built = self._build(fullname, found)
            if built is None:
                return None
            if not built.loose:
                return self._by_name(fullname, built, path, target)
        return self._spec(fullname, built, found)

    def would_build(self, fullname: str, module: ModuleType) -> bool:
        """Whether a module that was loaded from an extension file as it is would be built by this finder."""
        spec = getattr(module, "__spec__", None)
        if type(getattr(spec, "loader", None)) is not ExtensionFileLoader:
            return False
        if fullname in self.overlay.modules and not self.overlay.modules[fullname].loose:
            return True
        parent = sys.modules.get(fullname.rpartition(".")[0])
        return self._find(fullname, getattr(parent, "__path__", None)) is not None

    def _find(self, fullname: str, path: Sequence[str] | None) -> Found | None:
        """The source to build that Python would come to first for `fullname`, if it is one."""
        name = fullname.rpartition(".")[2]
        if path is None and python_owns(name):
            return None
        entries = [entry for entry in (sys.path if path is None else path) if isinstance(entry, str)]
        local = [entry for entry in entries if self._folders.is_local(entry or _here())]
        if not any(self._may_hold(entry or _here(), name) for entry in local):
            return None
        for entry in entries:
            found = self._folders.find(entry or _here(), name)
            if found is not None and found.kind != "namespace":
                return found if found.kind == "cython" else None
        return None

    def _may_hold(self, folder: str, name: str) -> bool:
        names = self._folders.names(folder)
        return name in names or name + ".pyx" in names or name + ".py" in names

    def _build(self, fullname: str, found: Found) -> Built | None:
        path = os.path.abspath(found.path)
        root = os.path.dirname(path)
        for _ in range(fullname.count(".") + int(found.package)):
            root = os.path.dirname(root)
        request = {
            "module": fullname,
            "path": path,
            "root": root,
            "package": found.package,
            "probes": self.overlay.probes,
            "search_path": [entry or _here() for entry in sys.path],
        }
        made = build_elsewhere(request, self._progress)
        if made.get("cache") and self.spare is not None:
            made = build_elsewhere(request | {"spare": self.spare(made["error"][0])}, self._progress)
        if "overlay" not in made:
            words = made.get("error", [f"The build of {path} was stopped.", "Try again."])
            self._on_failure(BuildError(*words))
        more = Overlay.from_json(made["overlay"])
        self.overlay.add(more)
        self.on_built()
        return more.modules.get(fullname)

    def _spec(self, fullname: str, built: Built, found: Found) -> ModuleSpec | None:
        shown = self._shown_path(found)
        loader = _Loader(fullname, shown, built.extension, found.package, self._on_failure)
        inside = [os.path.dirname(shown)] if found.package else None
        return spec_from_file_location(fullname, shown, loader=loader, submodule_search_locations=inside)

    def _shown_path(self, found: Found) -> str:
        """What `__file__` says: the author's own extension beside the source, or where it would be."""
        stem, suffix = os.path.splitext(os.path.abspath(found.path))
        names = self._folders.names(os.path.dirname(stem))
        for ending in EXTENSION_SUFFIXES:
            if os.path.basename(stem) + ending in names:
                return stem + ending
        return stem + (suffix if suffix == ".py" else EXTENSION_SUFFIXES[0])

    def _by_name(self, fullname: str, built: Built, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        original = _original(fullname, path, target)
        if original is not None and original.origin is not None:
            shown, inside = original.origin, original.submodule_search_locations
        else:
            # A checkout that was never built in place: the module is where its build would put it.
            folder = next((entry for entry in path or () if isinstance(entry, str)), os.path.dirname(built.extension))
            shown, inside = os.path.join(folder, os.path.basename(built.extension)), None
        loader = _Loader(fullname, shown, built.extension, inside is not None, self._on_failure)
        return spec_from_file_location(fullname, shown, loader=loader, submodule_search_locations=inside)


def _original(fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """What the program would import without the overlay: the other finders are asked in their order."""
    for finder in [*sys.meta_path, PathFinder]:
        if isinstance(finder, _Finder):
            continue
        find = getattr(finder, "find_spec", None)
        spec = find(fullname, path, target) if find is not None else None
        if isinstance(spec, ModuleSpec):
            return spec
    return None


def why_unsafe(extension: str) -> str:
    """Why an extension of the cache must not be loaded: it, or its folder, is another user's or can be written by everyone;
    "" when it may. The cache is looked at when it is opened; this is the moment that counts."""
    for path in (extension, os.path.dirname(extension)):
        try:
            about = os.stat(path)
        except OSError:
            return ""  # loading it tells what is wrong
        if about.st_uid not in (0, os.getuid(), os.geteuid()):
            return f"The probed extension {extension} is not loaded: {path} belongs to another user."
        if about.st_mode & 0o002:
            return f"The probed extension {extension} is not loaded: {path} can be written by everyone."
    return ""


def _same(one: str, other: str) -> bool:
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:
        return False


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _silent(text: str) -> None:
    """Progress nobody asked for."""


def _end(error: BuildError) -> NoReturn:
    """Ends the program as the command line does for a build that failed before it: no `except` of its own may go on."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os.write(2, f"cyprof: {error}\n".encode("utf-8", "backslashreplace"))
    os._exit(error.exit_code)
