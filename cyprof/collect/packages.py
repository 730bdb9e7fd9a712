"""Whole projects among what is built for a run, and what of them was not seen in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..build import spare
from ..build.around import build_named, build_sources, without
from ..build.modules import Source
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..model import Profile, Unseen
from .registry import Progress

if TYPE_CHECKING:
    from ..build.project import BuiltProject


def build_all(
    sources: Sequence[Source], packages: Sequence[str], probes: ProbeOptions, progress: Progress, search_path: Sequence[str]
) -> tuple[Overlay, list[BuiltProject]]:
    """Builds the projects that `packages` name, and the loose `sources` that belong to none of them.

    Where a loose source cannot be built by itself and lies in a project, the project is built by its own build system.
    Where the user's cache cannot be written, all goes into one that is gone after the command.
    Raises BuildError and UsageError.
    """
    return spare.build(lambda: _build_all(sources, packages, probes, progress, search_path))


def _build_all(
    sources: Sequence[Source], packages: Sequence[str], probes: ProbeOptions, progress: Progress, search_path: Sequence[str]
) -> tuple[Overlay, list[BuiltProject]]:
    named = [build_named(text, probes, progress) for text in packages]
    overlay, more = build_sources(without(sources, named), probes, progress, search_path)
    projects = [*named, *more]
    for project in projects:
        overlay.modules.update(project.modules)
    return overlay, projects


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
