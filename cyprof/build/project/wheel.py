"""What a build brought forth: the extensions in a wheel, which of them carry probes, and why the others do not."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path, PurePosixPath
from typing import Any

from cyprof.build.job import PROBE_MARK
from cyprof.cython.extension import CYTHON_MARK
from cyprof.cython.report import REPORT_SUFFIX

_LIBRARY = re.compile(r"\.(?:so|dylib)(?:\.[\d.]+)?$")
_NOT_WANTED = "left out by --module"


@dataclass
class Contents:
    """The extensions of a wheel. `modules` maps each probed one to its file and its report, relative to the folder they
    lie in; `unprobed` each one that Cython made without probes to the reason; `plain` are those not made by Cython."""

    version: str = ""
    modules: dict[str, list[str]] = field(default_factory=dict)
    unprobed: dict[str, str] = field(default_factory=dict)
    plain: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"version": self.version, "modules": self.modules, "unprobed": self.unprobed, "plain": self.plain}


def take_extensions(wheel: Path, reports: Path, folder: Path, patterns: Sequence[str]) -> Contents:
    """Unpacks the compiled files of `wheel` into `folder`/lib, with the hook's reports beside them in `folder`/report.

    `patterns` are those of the modules that were to get probes, empty for all.
    """
    contents = Contents(version=_version(wheel))
    (folder / "report").mkdir()
    with zipfile.ZipFile(wheel) as packed:
        for item in packed.infolist():
            place = _inside(item.filename)
            if item.is_dir() or place is None or not _LIBRARY.search(place.name):
                continue
            target = folder / "lib" / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(packed.read(item))
            target.chmod(0o755)
            module = _module_of(place)
            if module:
                _sort(module, target, folder, reports, patterns, contents)
    return contents


def _sort(module: str, file: Path, folder: Path, reports: Path, patterns: Sequence[str], contents: Contents) -> None:
    data = file.read_bytes()
    if PROBE_MARK in data:
        report = _report_of(module, reports)
        if report is not None:
            kept = folder / "report" / f"{module}{REPORT_SUFFIX}"
            shutil.copyfile(report, kept)
            contents.modules[module] = [str(file.relative_to(folder)), str(kept.relative_to(folder))]
            return
    if CYTHON_MARK not in data:
        contents.plain.append(module)
    elif patterns and not any(fnmatchcase(module, pattern) for pattern in patterns):
        contents.unprobed[module] = _NOT_WANTED
    else:
        contents.unprobed[module] = "its build compiled C that Cython had not written during the build, so there are no probes"


def _report_of(module: str, reports: Path) -> Path | None:
    """The hook's report: Cython may know the module by the end of its name only."""
    parts = module.split(".")
    for start in range(len(parts)):
        path = reports / (".".join(parts[start:]) + REPORT_SUFFIX)
        if path.is_file():
            return path
    return None


def _inside(name: str) -> PurePosixPath | None:
    """Where a wheel's file is installed to, below the folder of packages; None for what goes elsewhere."""
    path = PurePosixPath(name)
    if path.parts and path.parts[0].endswith(".data"):
        return PurePosixPath(*path.parts[2:]) if path.parts[1] in ("purelib", "platlib") else None
    return path if ".." not in path.parts and not path.is_absolute() else None


def _module_of(place: PurePosixPath) -> str:
    """The name of the module in an extension file, "" for a library that is none."""
    suffix = next((one for one in EXTENSION_SUFFIXES if place.name.endswith(one)), None)
    if suffix is None:
        return ""
    name = place.name.removesuffix(suffix)
    parts = [*place.parent.parts, name] if name != "__init__" else list(place.parent.parts)
    return ".".join(parts) if all(part.isidentifier() for part in parts) else ""


def _version(wheel: Path) -> str:
    parts = wheel.name.split("-")
    return parts[1] if len(parts) > 1 else ""
