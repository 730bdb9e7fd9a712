"""Projects among what is built for a program: those that are named, and those around sources that cannot be built loose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cyprof.build import loose, reasons
from cyprof.build.cache import Cache, cannot_write
from cyprof.build.modules import Source
from cyprof.build.overlay import Overlay
from cyprof.cython.hook import ProbeOptions
from cyprof.errors import BuildError, CacheError

if TYPE_CHECKING:
    from cyprof.build.project import BuiltProject

_PROJECT_FILES = ("pyproject.toml", "setup.py")
Progress = Callable[[str], None]


def build_named(text: str, probes: ProbeOptions, progress: Progress) -> BuiltProject:
    """Builds the project that NAME, NAME=PATH or PATH means, the way it was last built by `cyprof build`. Raises BuildError
    and UsageError."""
    from cyprof.build.project import build_project, find_project
    from cyprof.build.project.settings import recall

    cache = Cache.open()
    try:
        project = find_project(text, cache, progress)
    except OSError as error:
        raise cannot_write(cache.root, error) from error
    return build_project(project, probes, recall(cache, project.key), cache, progress)


def build_sources(
    sources: Sequence[Source], probes: ProbeOptions, progress: Progress, search_path: Sequence[str]
) -> tuple[Overlay, list[BuiltProject]]:
    """Builds loose sources. Where one cannot be built by itself and lies in a project, that project is built by its own build
    system; the overlay holds what was built loose. Raises BuildError."""
    projects = [] if probes.stock else _projects_known(sources, probes, progress)
    rest = without(sources, projects)
    try:
        return loose.build(rest, probes, progress, search_path), projects
    except BuildError as error:
        if probes.stock or isinstance(error, CacheError):
            raise  # Cython's own tracing is put into loose modules only, and without a cache no project can be built either
        projects = [*projects, *_projects_of(rest, probes, progress, error)]
    return loose.build(without(sources, projects), probes, progress, search_path), projects


def without(sources: Sequence[Source], projects: Sequence[BuiltProject]) -> list[Source]:
    """The sources that none of the projects has built."""
    return [source for source in sources if not any(source.module in project.modules for project in projects)]


def _projects_known(sources: Sequence[Source], probes: ProbeOptions, progress: Progress) -> list[BuiltProject]:
    """The projects around sources that an earlier run could not build loose."""
    built: list[BuiltProject] = []
    found = _by_project(sources)
    if not found:
        return built  # a program without any needs no cache
    cache = Cache.open()
    for folder, inside in found.items():
        reason = reasons.recall(cache, folder, inside)
        if reason is not None:
            try:
                built.append(_build_for(folder, reason, probes, progress))
            except BuildError:
                reasons.forget(cache, folder)  # what fails now is told when all has been tried anew
    return built


def _projects_of(sources: Sequence[Source], probes: ProbeOptions, progress: Progress, error: BuildError) -> list[BuiltProject]:
    """The projects around `sources`, which cannot be built loose for the reason `error`; raises it when there are none."""
    reason = error.message.splitlines()[0]
    built = []
    for folder, inside in _by_project(sources).items():
        progress(f"{reason} The build system of {folder} is asked to do it.")
        try:
            built.append(_build_for(folder, reason, probes, progress))
        except BuildError as second:
            hint = f"{error.hint}\nThe build of its project failed as well: {second.message}\n{second.hint}"
            raise BuildError(error.message, hint, second.log or error.log) from second
        reasons.remember(Cache.open(), folder, inside, reason)
    if not built:
        raise error
    return built


def _build_for(folder: Path, reason: str, probes: ProbeOptions, progress: Progress) -> BuiltProject:
    project = build_named(str(folder), probes, progress)
    project.notes.append(
        f"The modules of {folder} were built by its own build system, since they cannot be built one by one: {reason}"
    )
    return project


def _by_project(sources: Sequence[Source]) -> dict[Path, list[Source]]:
    """The sources that lie in projects, by the folder of their project."""
    around = {folder: project_around(folder) for folder in dict.fromkeys(source.path.parent for source in sources)}
    found: dict[Path, list[Source]] = {}
    for source in sources:
        project = around[source.path.parent]
        if project is not None:
            found.setdefault(project, []).append(source)
    return found


def project_around(folder: Path) -> Path | None:
    """The nearest folder from `folder` upwards with a project whose build system knows of Cython, None without one."""
    for place in (folder, *folder.parents):
        files = [place / name for name in _PROJECT_FILES if (place / name).is_file()]
        if files:
            return place if any(b"cython" in file.read_bytes().lower() for file in files) else None
    return None
