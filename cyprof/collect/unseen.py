"""What no probe reached, and why."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ..build.around import project_around
from ..build.overlay import Overlay
from ..cython.extension import is_cython
from ..cython.report import ModuleReport
from ..model import Profile, Unseen

_NAMED = 3


def unseen_of_reports(reports: Sequence[ModuleReport], overlay: Overlay) -> list[Unseen]:
    """Functions left without probes, and modules that were left as plain Python."""
    unseen = [
        Unseen(f"{report.module}.{one['name']}", str(one["reason"]), str(one.get("hint", "")))
        for report in reports
        for one in report.unseen
    ]
    unseen += [Unseen(module, reason, "It ran as plain Python.") for module, reason in overlay.skipped.items()]
    return unseen


def unprobed_packages(profile: Profile, extensions: Sequence[tuple[str, str]]) -> list[Unseen]:
    """Cython modules that were loaded as they were installed and whose functions were called, by top-level package.

    `extensions` are the names and files of the compiled modules without probes. The share is the time spent in their
    functions, which show as C functions without anything below them.
    """
    spent: dict[str, int] = defaultdict(int)
    for node, number in enumerate(profile.tree.function):
        function = profile.functions[number]
        if function.language == "c":
            spent[function.module] += profile.tree.self_ns[node]
    packages: dict[str, list[str]] = defaultdict(list)
    files: dict[str, Path] = {}
    for name, file in extensions:
        if name in spent and is_cython(Path(file)):
            package = name.partition(".")[0]
            packages[package].append(name)
            files[package] = Path(file)
    whole = max(1, sum(profile.tree.self_ns))
    return [
        Unseen(
            package,
            f"built without probes: {some(sorted(names))}; what its functions call is not seen",
            f"See into it: --package {_project_option(package, files[package])}",
            share=min(1.0, sum(spent[name] for name in names) / whole),
        )
        for package, names in sorted(packages.items())
    ]


def _project_option(package: str, file: Path) -> str:
    """What `--package` takes for the package of an extension: where it is not installed, the project that it lies in."""
    from ..build.project.find import installed_distribution

    folder = None if installed_distribution(package) else project_around(file.parent)
    return package if folder is None else shlex.quote(f"{package}={folder}")


def some(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
