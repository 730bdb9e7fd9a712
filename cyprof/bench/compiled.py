"""Which loops each variant runs through in compiled Cython code, and what the C compiler made of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..cython.report import ModuleReport
from ..errors import CollectError
from .process import SMALL, child
from .vectorised import Loop, Owner, Place, owned_loops, vectorised

_PATIENCE_S = 300


def loops(
    path: Path, folder: Path, variants: Sequence[int], built: Sequence[tuple[str, str]]
) -> tuple[dict[int, list[Loop]], list[str]]:
    """By variant the loops of the Cython functions that it enters, and sentences on what is not known. `built` are the
    extensions that were timed, with their sources. A second build, with probes, tells who enters what."""
    try:
        told = child(path, folder, {"task": "reach", "variants": list(variants), "scale": SMALL}, patience=_PATIENCE_S)
    except (CollectError, subprocess.TimeoutExpired):
        return {}, ["Which loops of the Cython code are vector code was not looked at: the variants failed under probes."]
    reports = [ModuleReport.read(Path(report)) for report in told["reports"]]
    known = {Owner(one["file"], one["line"], one["name"]) for report in reports for one in report.functions}
    texts = {file: _lines(Path(file)) for report in reports for file in report.files}
    owners = owned_loops(known, texts)
    entered = {one["variant"]: {(file, line) for file, line, _ in one["functions"]} for one in told["reached"]}
    everything = {place for places in entered.values() for place in places}
    asked = {place: owner for place, owner in owners.items() if (owner.file, owner.line) in everything}
    found, notes = _of_modules(asked, reports, built)
    return {
        variant: [found[place] for place, owner in asked.items() if (owner.file, owner.line) in places and place in found]
        for variant, places in entered.items()
    }, notes


def _of_modules(
    asked: dict[Place, Owner], reports: Sequence[ModuleReport], built: Sequence[tuple[str, str]]
) -> tuple[dict[Place, Loop], list[str]]:
    found: dict[Place, Loop] = {}
    notes = []
    for extension, source in built:
        files = {file for report in reports if report.source == source for file in report.files}
        told, why = vectorised(Path(extension), [place for place in asked if place[0] in files])
        # Code of a .pxd is compiled into several modules: where one of them made it vector code, it can be.
        for loop in told:
            place = (loop.file, loop.line)
            if place not in found or loop.vector:
                found[place] = loop
        if why:
            notes.append(f"{Path(source).name}: which loops are vector code is not known: {why}.")
    return found, notes


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
