"""The contents of the cache, as text and as JSON."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..view.units import count_text, shorten, size_text, visible
from .styled import Line, joined

if TYPE_CHECKING:
    from ..build.housekeeping import Build

_TITLES = ("built", "used", "size", "module", "source")


def builds_text(builds: list[Build], width: int = 0, color: bool = False) -> str:
    """One line for each build, the last used first. With a terminal's `width`, long paths lose their middle; 0 cuts nothing."""
    if not builds:
        return "There are no builds.\n"
    rows = [_TITLES, *(_row(build) for build in builds)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    room = max(20, width - sum(widths) - 8) if width else 10_000
    lines: list[Line] = []
    for row in rows:
        built, used, size, module = (cell.ljust(length) for cell, length in zip(row, widths, strict=False))
        text = f"{built}  {used}  {size.strip():>{widths[2]}}  {module}  {shorten(row[4], room)}"
        lines.append([("bold" if row is _TITLES else "", text)])
    return joined(lines, color)


def _row(build: Build) -> tuple[str, ...]:
    source = build.sources[0] if build.sources else ""
    more = len(build.sources) - 1
    others = f" and {count_text(more, 'file')}" if more > 0 else ""
    lost = "" if not source or Path(source).exists() else " (gone)"
    shown = visible(f"{source}{lost}{others}") if source else "?"
    return _time_text(build.built), _time_text(build.used), size_text(build.size), visible(build.module) or "?", shown


def _time_text(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def builds_json(root: Path, builds: list[Build], size: int, limit: int) -> str:
    """The same as JSON (schema `cyprof-cache/1`); times in seconds since the epoch, sizes in bytes."""
    entries = [
        {
            "folder": str(build.folder), "module": build.module, "sources": list(build.sources),
            "built": build.built, "used": build.used, "size": build.size,
        }
        for build in builds
    ]  # fmt: skip
    value = {"schema": "cyprof-cache/1", "folder": str(root), "size": size, "limit": limit, "builds": entries}
    return json.dumps(value, indent=1) + "\n"
