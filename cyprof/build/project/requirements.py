"""What a project says it needs to be built (PEP 518), and what becomes of it here: Cython recent enough for probes, and
the versions of the user's own environment of all that brings C headers or .pxd files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from cyprof.errors import BuildError

_LEGACY = ("setuptools >= 40.8.0",), "setuptools.build_meta:__legacy__"
_OLDEST = ">=3.1"
_VERSIONS = [f"3.{minor}.{patch}" for minor in range(1, 10) for patch in range(20)]
_THREE = [f"3.0.{patch}" for patch in range(20)] + _VERSIONS


@dataclass(frozen=True)
class BuildSystem:
    """The [build-system] table of a project, with the defaults of PEP 517."""

    requires: tuple[str, ...]
    backend: str
    backend_path: tuple[str, ...] = ()


@dataclass
class Requirements:
    """What is to be installed to build a project. `legacy`: its sources are written for Cython before 3; `notes` say what
    was changed, for the user."""

    words: list[str] = field(default_factory=list)
    legacy: bool = False
    notes: list[str] = field(default_factory=list)


def read_build_system(folder: Path) -> BuildSystem:
    """The build system of the project in `folder`. BuildError when its pyproject.toml makes no sense."""
    path = folder / "pyproject.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("build-system") if path.is_file() else None
    except (OSError, ValueError) as error:
        raise BuildError(f"{path} is no valid TOML: {error}.", "Mend it.") from error
    if table is None:
        return BuildSystem(*_LEGACY)
    requires, backend, path_entries = table.get("requires"), table.get("build-backend"), table.get("backend-path", [])
    if not _is_strings(requires) or not isinstance(backend, str | None) or not _is_strings(path_entries):
        raise BuildError(f"The [build-system] of {path} makes no sense.", "Mend it: requires is a list of strings.")
    return BuildSystem(tuple(requires), backend or _LEGACY[1], tuple(path_entries))


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def settle(requires: Iterable[str], project: str) -> Requirements:
    """The requirements to install for `requires`, the project's own. BuildError for one that cannot be read."""
    from packaging.requirements import InvalidRequirement, Requirement

    settled = Requirements()
    has_cython = False
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise BuildError(f"{project} asks for {text!r} to be built: {error}.", "Mend it in pyproject.toml.") from error
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        if requirement.name.lower() == "cython":
            has_cython = True
            _settle_cython(requirement, settled, project)
        else:
            settled.words.append(_like_installed(requirement, settled, project))
    if not has_cython:
        settled.words.append(f"Cython{_OLDEST}")
    settled.words = sorted(set(settled.words))
    return settled


def _settle_cython(requirement: Any, settled: Requirements, project: str) -> None:
    from packaging.specifiers import SpecifierSet

    specifier = requirement.specifier
    if requirement.url is not None or any(specifier.contains(version) for version in _VERSIONS):
        text = str(requirement) if requirement.url is not None else f"Cython{specifier & SpecifierSet(_OLDEST)}"
        settled.words.append(text)
        return
    settled.words.append(f"Cython{_OLDEST}")
    settled.legacy = not any(specifier.contains(version) for version in _THREE)
    how = ", read as Cython before 3 reads it (legacy_implicit_noexcept)" if settled.legacy else ""
    settled.notes.append(f"{project} asks for Cython{specifier}; it is built with Cython{_OLDEST}, which probes need{how}.")


def _like_installed(requirement: Any, settled: Requirements, project: str) -> str:
    """The requirement at the version that is installed for the user, when the build takes headers or .pxd files from it:
    an extension must meet at run time the layouts that it was compiled for."""
    name = "numpy" if requirement.name == "oldest-supported-numpy" else requirement.name
    try:
        dist = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return str(requirement)
    if not any(file.suffix in (".pxd", ".h", ".hpp") for file in dist.files or ()):
        return str(requirement)
    if name == requirement.name and not requirement.specifier.contains(dist.version, prereleases=True):
        if name != "numpy" or not _is_older_pin(requirement.specifier, dist.version):
            return str(requirement)
        settled.notes.append(f"{project} asks for {requirement}; it is built with the numpy you run, {dist.version}.")
    return f"{name}=={dist.version}"


def _is_older_pin(specifier: Any, installed: str) -> bool:
    """Whether the requirement wants a numpy 1 and a numpy 2 is installed, on which what numpy 1 builds does not run."""
    return installed.startswith("2.") and not any(specifier.contains(f"2.{minor}.0") for minor in range(10))
