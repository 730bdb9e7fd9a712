"""Short names of files that still tell them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath


def file_names(files: Iterable[str]) -> dict[str, str]:
    """For each file its name, with as many folders before it as tell it from the others."""
    same: dict[str, list[str]] = defaultdict(list)
    for file in sorted({file for file in files if file}):
        same[PurePosixPath(file).name].append(file)
    names: dict[str, str] = {}
    for name, group in same.items():
        parts = [PurePosixPath(file).parts for file in group]
        depth = 2 if name in ("__init__.py", "__main__.py") else 1  # these say nothing without their package
        while len({path[-depth:] for path in parts}) < len(group) and depth < max(map(len, parts)):
            depth += 1
        names.update(zip(group, (str(PurePosixPath(*path[-depth:])) for path in parts), strict=True))
    return names
