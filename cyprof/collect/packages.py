"""Whole projects among what is built for a run, and what of them was not seen in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..build import build_loose
from ..build.modules import Source
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..errors import BuildError
from ..model import Profile, Unseen
from .registry import Progress

if TYPE_CHECKING:
    from ..build.project import BuiltProject

_PROJECT_FILES = ("pyproject.toml", "setup.py")


def build_all(
    sources: Sequence[Source], packages: Sequence[str], probes: ProbeOptions, progress: Progress, search_path: Sequence[str]
) -> tuple[Overlay, list[BuiltProject]]:
    """Builds the projects that `packages` name, and the loose `sources` that belong to none of them.

    Where a loose source cannot be built by itself and lies in a project, the project is built by its own build system.
    Raises BuildError and UsageError.
    """
    projects = [_build(text, probes, progress) for text in packages]
    rest = _without(sources, projects)
    try:
        overlay = build_loose(rest, probes, progress, search_path)
    except BuildError as error:
        more = _by_their_projects(rest, probes, progress, error)
        projects += more
        overlay = build_loose(_without(rest, more), probes, progress, search_path)
    for project in projects:
        overlay.modules.update(project.modules)
    return overlay, projects


def _without(sources: Sequence[Source], projects: Sequence[BuiltProject]) -> list[Source]:
    return [source for source in sources if not any(source.module in project.modules for project in projects)]


def _build(text: str, probes: ProbeOptions, progress: Progress) -> BuiltProject:
    from ..build.cache import Cache
    from ..build.project import build_project, find_project
    from ..build.project.settings import recall

    cache = Cache.open()
    project = find_project(text, cache, progress)
    # --only says what is shown of a package: to build it anew for each pattern would take far too long.
    whole = ProbeOptions(lines=probes.lines, without=probes.without)
    return build_project(project, whole, recall(cache, project.key), cache, progress)


def _by_their_projects(
    sources: Sequence[Source], probes: ProbeOptions, progress: Progress, error: BuildError
) -> list[BuiltProject]:
    """The projects around `sources`, which cannot be built loose for the reason `error`; raises it when there are none."""
    folders = dict.fromkeys(folder for source in sources if (folder := _project_around(source.path.parent)) is not None)
    built = []
    for folder in folders:
        progress(f"{error.message.splitlines()[0]} The build system of {folder} is asked to do it.")
        try:
            project = _build(str(folder), probes, progress)
        except BuildError as second:
            hint = f"{error.hint}\nThe build of its project failed as well: {second.message}\n{second.hint}"
            raise BuildError(error.message, hint, second.log or error.log) from second
        project.notes.append(
            f"The modules of {folder} were built by its own build system, since they cannot be built one by one:"
            f" {error.message.splitlines()[0]}"
        )
        built.append(project)
    if not built:
        raise error
    return built


def _project_around(folder: Path) -> Path | None:
    """The nearest folder from `folder` upwards with a project whose build system knows of Cython, None without one."""
    for place in (folder, *folder.parents):
        files = [place / name for name in _PROJECT_FILES if (place / name).is_file()]
        if files:
            return place if any(b"cython" in file.read_bytes().lower() for file in files) else None
    return None


def add_projects(profile: Profile, projects: Sequence[BuiltProject], result: dict[str, Any]) -> None:
    """Adds to a profile what is to be known of its projects: what was built without probes, what was loaded without."""
    plain = dict(result["extensions"])
    loaded = set(result["loaded"])
    for project in projects:
        profile.notes += project.notes
        profile.unseen += [
            Unseen(module, f"built without probes: {reason}", f"See the log in {project.folder}.")
            for module, reason in project.unprobed.items()
        ]
        for module in project.modules:
            if module in plain:
                reason = f"loaded from {plain[module]}, not from its build with probes"
                profile.unseen.append(Unseen(module, reason, "Something imported it before the program began."))
        if not loaded & set(project.modules) and not plain.keys() & project.modules.keys():
            profile.notes.append(f"The program imported no Cython module of {project.project.title}.")
