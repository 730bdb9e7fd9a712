"""Which file names can be written, and by what. A renderer is one function that registers itself."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import RenderError, UsageError
from ..files import check_place, write_bytes
from ..view import ViewOptions

Render = Callable[[Any, ViewOptions], bytes]
"""Takes a Profile; in the group `diff` a tuple of Comparison, in `bench` a Bench."""
_OF_OTHERS = {"diff", "bench"}
"""The groups that take no profile."""

FOR_OTHER_VIEWERS = ("export", "stats", "graph")
"""The groups of formats that hold a whole run for another program to show."""


@dataclass(frozen=True, slots=True)
class Renderer:
    """A registered renderer: the suffix it writes, the commands (groups) it serves, what it gives, and by which name
    `--format` knows it. `limits` is a sentence on what the format cannot hold. `needs_paths` says that it is made of call
    paths, which not every profile has, `needs` names packages without which it cannot work."""

    suffix: str
    groups: tuple[str, ...]
    description: str
    render: Render
    name: str
    limits: str = ""
    needs_paths: bool = False
    needs: tuple[str, ...] = ()


class DrawingError(RenderError):
    """A picture could not be drawn. `dot` is its source, kept beside the output by `write`."""

    def __init__(self, message: str, hint: str, dot: str) -> None:
        super().__init__(message, hint)
        self.dot = dot


_renderers: dict[tuple[str, str], Renderer] = {}


def renderer(
    suffix: str,
    *,
    description: str,
    groups: tuple[str, ...] = ("export",),
    name: str = "",
    limits: str = "",
    needs_paths: bool = False,
    needs: tuple[str, ...] = (),
) -> Callable[[Render], Render]:
    """Registers a function `(profile, options) -> bytes` for a suffix such as `.json` in one or more groups: `graph`,
    `export`, `lines`, `stats`, `diff`, `bench`. Its name is the suffix without its dot unless one is given. `needs` names
    packages without which it cannot work. Raises ValueError when the suffix is taken in one of the groups."""

    def register(render: Render) -> Render:
        for group in groups:
            if (group, suffix) in _renderers:
                raise ValueError(f"two renderers write {suffix} in group {group}")
            label = name or suffix[1:]
            _renderers[group, suffix] = Renderer(suffix, groups, description, render, label, limits, needs_paths, needs)
        return render

    return register


@cache
def _load_all() -> None:
    """Imports every module of this package, so that each can register what it writes."""
    package = __package__ or "cyprof.render"
    for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{package}."):
        if not module.name.rpartition(".")[2].endswith("_child"):
            importlib.import_module(module.name)


def renderers(group: str | None = None) -> list[Renderer]:
    """All renderers, or those of one group, in the order they registered."""
    _load_all()
    if group is not None:
        return [found for (of_group, _), found in _renderers.items() if of_group == group]
    return list(dict.fromkeys(_renderers.values()))


def suffixes(group: str) -> list[str]:
    """The suffixes that a group writes."""
    return [found.suffix for found in renderers(group)]


def formats(group: str) -> list[str]:
    """The names of the formats that a group writes, as `--format` takes them."""
    return [found.name for found in renderers(group)]


def find_format(name: str, group: str | None = None) -> Renderer:
    """The renderer of that name, or of that suffix. Raises UsageError when there is none."""
    for found in renderers(group):
        if name.lower() in (found.name, found.suffix, found.suffix[1:]):
            return found
    known = " ".join(dict.fromkeys(found.name for found in renderers(group)))
    raise UsageError(f"{name} is no format that can be written here.", f"Use one of {known}.")


def find(path: Path, group: str | None = None, form: str | None = None) -> Renderer:
    """The renderer for a path, or the one named by `form`; of suffixes that fit the longest wins. Raises UsageError when
    none does."""
    if form is not None:
        return find_format(form, group)
    # Without a group a profile is meant, and not what other groups take.
    candidates = [found for found in renderers(group) if group is not None or not _OF_OTHERS.issuperset(found.groups)]
    fitting = [found for found in candidates if path.name.lower().endswith(found.suffix)]
    if not fitting:
        known = " ".join(dict.fromkeys(found.suffix for found in candidates))
        what = f"the suffix {path.suffix}" if path.suffix else "a name without a suffix"
        raise UsageError(f"{path} cannot be written: {what} is not known here.", f"Use one of {known}.")
    return max(fitting, key=lambda found: len(found.suffix))


def check_output(path: Path, group: str | None = None, form: str | None = None) -> None:
    """Raises, before anything is run, what `write` could only say afterwards: UsageError for a suffix or format that the
    group does not write, RenderError for a place that cannot be written, and for a package that is missing."""
    check_needs(find(path, group, form))
    check_place(path)


def check_needs(found: Renderer) -> None:
    """Raises RenderError when a package that the renderer works with is not installed."""
    for package in found.needs:
        if importlib.util.find_spec(package) is None:
            raise RenderError(
                f"{package} is not installed for this Python, and the {found.description} is made with it.",
                f"Install it: {sys.executable} -m pip install {package}.",
            )


def write(subject: Any, path: Path, options: ViewOptions, group: str | None = None, form: str | None = None) -> Path:
    """Renders a profile, or what else the group takes, into a file, whole or not at all, and returns its path. `form` names
    the format where the file's suffix shall not say it.

    Raises UsageError for an unknown suffix and RenderError when drawing or writing fails; after a failed drawing the
    .dot lies beside the output and the hint says where.
    """
    found = find(path, group, form)
    if found.needs_paths and not subject.has_paths:
        able = " ".join(dict.fromkeys(other.suffix for other in renderers(group) if not other.needs_paths))
        raise RenderError(
            f"{path} cannot be written: it would hold call paths, and {subject.run.target} tells only who calls whom.",
            f"Use one of {able}, or record the program with cyprof run.",
        )
    try:
        data = found.render(subject, options)
    except DrawingError as error:
        kept = path.with_suffix(".dot")
        if kept.exists():  # never over a file that may be the user's own
            kept = path.with_name(f"{path.name}.dot")
        write_bytes(kept, error.dot.encode())
        raise RenderError(error.message, f"{error.hint} The graph itself is kept in {kept}.") from error
    write_bytes(path, data)
    return path
