"""Which project a name means: a folder, or the source distribution of the version that is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlparse

from cyprof.build.around import project_around
from cyprof.build.cache import Cache
from cyprof.build.project.environment import network_failed, pip_complaint, run_pip
from cyprof.errors import BuildError, UsageError

_READY = ".complete"


@dataclass(frozen=True)
class Project:
    """A project to build. `source` is its folder; `version` that of the source distribution it came from, "" for a
    checkout; `installed_version` that of the distribution it stands for, "" where there is none.
    """

    name: str
    source: Path
    version: str = ""
    installed_version: str = ""

    @property
    def key(self) -> str:
        """What its settings are kept under."""
        return self.name if self.version else str(self.source)

    @property
    def title(self) -> str:
        """How a reader would name it."""
        return f"{self.name} {self.version}".rstrip()


def find_project(text: str, cache: Cache, progress: Callable[[str], None]) -> Project:
    """The project that NAME, NAME=PATH or PATH means. A source distribution is downloaded, once.

    Raises UsageError for what names no project, BuildError when there is no source distribution to be had.
    """
    name, equals, path = text.partition("=")
    if equals:
        if not name or not path:
            raise UsageError(f"{text!r} names no project.", "Write NAME, or NAME=PATH with the folder of its sources.")
        return _checkout(name, Path(path).expanduser())
    place = Path(text).expanduser()
    if os.sep in text or text in (".", "..", "~") or _holds_project(place):
        return _checkout("", place)
    dist = installed_distribution(text)
    if dist is None:
        if place.is_dir():
            return _checkout("", project_around(Path(os.path.realpath(place))) or place)
        raise UsageError(
            f"{text} is neither an installed distribution nor a folder.",
            f"Install it first ({sys.executable} -m pip install {text}), or name the folder of its sources.",
        )
    name = dist.metadata["Name"] or text
    editable = editable_folder(dist)
    if editable is not None:
        return Project(_canonical(name), editable, installed_version=dist.version)
    source = _source_distribution(cache, name, dist.version, progress)
    return Project(_canonical(name), source, dist.version, dist.version)


def _checkout(name: str, folder: Path) -> Project:
    folder = Path(os.path.realpath(folder))
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.", "Name the folder that holds the project's pyproject.toml or setup.py.")
    if not _holds_project(folder):
        raise UsageError(
            f"{folder} holds no project: neither pyproject.toml nor setup.py is there.", "Name the folder that holds one."
        )
    dist = installed_distribution(name or _declared_name(folder))
    return Project(_canonical(name or _declared_name(folder)), folder, installed_version=dist.version if dist else "")


def _holds_project(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file() or (folder / "setup.py").is_file()


def _declared_name(folder: Path) -> str:
    import tomllib

    try:
        table = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        name = table.get("project", {}).get("name") or table.get("tool", {}).get("poetry", {}).get("name")
    except (OSError, ValueError, AttributeError):
        name = None  # what is wrong with it, the build itself will say
    return name if isinstance(name, str) and name else folder.name


def installed_distribution(name: str) -> metadata.Distribution | None:
    """The installed distribution called `name`, or the one that brings the package of that name."""
    try:
        return metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        names = metadata.packages_distributions().get(name, [])
        return metadata.distribution(names[0]) if names else None


def editable_folder(dist: metadata.Distribution) -> Path | None:
    """The checkout that an editable install points to (direct_url.json, PEP 610), None for any other."""
    try:
        about = json.loads(dist.read_text("direct_url.json") or "{}")
        editable, url = bool(about["dir_info"]["editable"]), urlparse(str(about["url"]))
    except (ValueError, KeyError, TypeError):
        return None  # an installation from elsewhere, or by a tool that writes something else here
    folder = Path(os.path.realpath(unquote(url.path)))
    return folder if editable and url.scheme == "file" and folder.is_dir() else None


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _source_distribution(cache: Cache, name: str, version: str, progress: Callable[[str], None]) -> Path:
    """The folder that the source distribution was unpacked to, downloaded when it is not there."""
    place = cache.root / "sdists" / f"{_canonical(name)}-{version}"
    with cache.lock(f"sdist-{place.name}", lambda: progress(f"waiting for another run that downloads {name}")):
        if not (place / _READY).is_file():
            progress(f"downloading the sources of {name} {version}")
            shutil.rmtree(place, ignore_errors=True)
            (place / "archive").mkdir(parents=True)
            archive = _download(cache, name, version, place / "archive")
            _unpack(archive, place / "source")
            (place / _READY).touch()
    os.utime(place / _READY)
    folders = [entry for entry in (place / "source").iterdir() if entry.is_dir()]
    return folders[0] if len(folders) == 1 else place / "source"


def _download(cache: Cache, name: str, version: str, folder: Path) -> Path:
    words = ["download", "--no-deps", "--no-binary", name, "--dest", str(folder), f"{name}=={version}"]
    done = run_pip(cache, folder, words)
    found = [file for file in folder.iterdir() if file.name.endswith((".tar.gz", ".zip", ".tar.bz2", ".tar.xz"))]
    if done.returncode == 0 and found:
        return found[0]
    log = cache.keep_log(f"download-{_canonical(name)}", version, done.stdout)
    raise no_sources(name, version, done.stdout, log)


def no_sources(name: str, version: str, output: str, log: Path) -> BuildError:
    """The error for a failed download, from pip's own words."""
    own = f"Name a folder with them: --package {name}=PATH."
    if network_failed(output):
        return BuildError(
            f"The sources of {name} {version} could not be downloaded: the package index cannot be reached.",
            f"Check the network and pip's settings (pip config list), or name a folder with the sources:"
            f" --package {name}=PATH.\nThe whole log: {log}",
            output,
        )
    if "No matching distribution" in output or "Could not find a version" in output:
        return BuildError(
            f"There is no source distribution of {name} {version} on the package index.",
            f"{own}\nThe whole log: {log}",
            output,
        )
    return BuildError(
        f"The sources of {name} {version} could not be downloaded: {pip_complaint(output)}",
        f"{own}\nThe whole log: {log}",
        output,
    )


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        return
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
