"""What an examination found, as text: for a terminal of some width, or plain with nothing cut."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..view.units import count_text, shorten, three_digits, visible
from .styled import Line, joined, wrapped

if TYPE_CHECKING:  # every module of this package is loaded to draw a graph, too
    from ..doctor.result import CallCost, Check, Diagnosis, Extension, MarkedPlace, Status

_STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "bad": "bold red"}
_NAME_WIDTH = 15
_INDENT = 9 + _NAME_WIDTH
_MOST_PLACES = 20
_MOST_NAMES = 4
_NOT_ALWAYS = 40
_LONGEST_LINE = 60


def doctor_text(found: Diagnosis, width: int = 0, color: bool = False) -> str:
    """The findings as text that ends in a line break. `width` is the terminal's: sentences are wrapped to it, long names lose
    their middle; 0 is for no terminal. Commands stay whole, to be copied."""
    lines: list[Line] = [*_title("Environment")]
    for check in found.checks:
        lines += _check(check, width)
    if found.title:
        lines += [[], *_title(f"Extension modules of {found.title}"), *_extensions(found, width)]
        lines += [[], *_title("Cython's own tracing"), *_tracing(found, width)]
    for note in found.notes:
        lines += [[], *wrapped([("yellow", "note"), ("", f"   {visible(note)}")], width, 7)]
    lines += [[], *_verdict(found, width)]
    return joined(lines, color)


def _title(text: str) -> list[Line]:
    return [[("bold", visible(text))]]


def _check(check: Check, width: int) -> list[Line]:
    head: Line = [("", "  "), (_STYLES[check.status], f"{check.status:<4}"), ("", f"   {check.name:<{_NAME_WIDTH}}")]
    room = max(20, width - _INDENT) if width else 10_000
    words = " ".join(shorten(word, room) for word in visible(check.found).split(" "))  # paths, mostly: better whole on a line
    return [*wrapped([*head, ("", words)], width, _INDENT), *_mend(check.command)]


def _mend(command: str) -> list[Line]:
    return [[("", " " * 9), ("bold", "mend: "), ("cyan", command)]] if command else []


def _extensions(found: Diagnosis, width: int) -> list[Line]:
    cython = [extension for extension in found.extensions if extension.facts.cython]
    others = [extension for extension in found.extensions if not extension.facts.cython and not extension.findings]
    if not found.extensions:
        text = f"  There are none below {found.folder}. Loose .pyx files are built by cyprof itself, when it runs them."
        return wrapped([("", visible(text))], width, 2)
    lines = _table(cython, found.folder, width) if cython else [[("", "  None is made by Cython.")]]
    for extension in found.extensions:
        for finding in extension.findings:
            if finding.about != "tracing":
                head: Line = [("", "  "), (_STYLES[finding.status], f"{finding.status:<4}")]
                lines += wrapped([*head, ("", visible(f"   {extension.name}: {finding.text}"))], width, 9)
    if others and cython:
        names = [extension.name for extension in others]
        shown = names[:_MOST_NAMES] if width else names
        more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
        lines += wrapped([("", visible(f"  Not made by Cython: {', '.join(shown)}{more}"))], width, 4)
    return lines


def _table(extensions: list[Extension], folder: str, width: int) -> list[Line]:
    rows = [_row(extension, folder, short=bool(width)) for extension in extensions]
    titles = ["module", "Cython", "debug", "symbols", "also", "source"]
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(6)]
    if width:
        spare = max(24, width - sum(widths[1:5]) - 2 * len(titles))
        widths[0] = min(widths[0], max(spare // 2, spare - widths[5]))
        widths[5] = spare - widths[0]
        rows = [[shorten(row[0], widths[0]), *row[1:5], shorten(row[5], widths[5])] for row in rows]
    lines: list[Line] = []
    for row in [titles, *rows]:
        cells = [cell.ljust(size) for cell, size in zip(row[:5], widths, strict=False)]
        style = "bold" if row is titles else ""
        line: Line = [("", "  ")]
        for column, cell in enumerate(cells):
            line.append(("bold red" if column == 4 and "traced" in cell else style, f"{cell}  "))
        lines.append([*line, (style, row[5])])
    return lines


def _row(extension: Extension, folder: str, short: bool) -> list[str]:
    """The cells of one module; `short`: without the paths that its name makes clear."""
    facts = extension.facts
    also = [
        word for word, holds in (("traced", extension.traced), ("OpenMP", facts.openmp), ("abi3", facts.limited_api)) if holds
    ]
    also += [f"for {extension.other_python}"] if extension.other_python else []
    where = "beside it" if short and extension.how == "beside" else extension.source
    missing = f"not here ({visible(facts.source)})" if facts.source and not short else "not here"
    if where and Path(where).is_relative_to(folder):
        where = os.path.relpath(where, folder)
    return [
        visible(extension.name),
        facts.version or "?",
        {True: "yes", False: "no", None: "?"}[facts.debug],
        {True: "stripped", False: "kept", None: "?"}[facts.stripped],
        ", ".join(also),
        visible(where) or missing,
    ]


def _tracing(found: Diagnosis, width: int) -> list[Line]:
    lines: list[Line] = []
    shown = found.places[:_MOST_PLACES] if width else found.places
    for place in shown:
        lines += _place(place, found.folder, width)
    if len(shown) < len(found.places):
        lines.append([("", f"  and {len(found.places) - len(shown):,} more places; --json names them all")])
    lines += _built_in(found, width)
    if found.cost is not None:
        lines += _cost(found.cost, width)
    return lines or [[("", "  "), *_marked("ok", "neither asked for in sources and build files, nor built in")]]


def _built_in(found: Diagnosis, width: int) -> list[Line]:
    """The modules that trace, those that one command mends together."""
    by_command: dict[str, list[Line]] = {}
    for extension in found.extensions:
        for finding in extension.findings:
            if finding.about == "tracing":
                path = _relative(extension.facts.path, found.folder)
                rows = wrapped([("", "  "), *_marked("bad", f"{path}: {finding.text}")], width, 9)
                by_command.setdefault(finding.command, []).extend(rows)
    return [line for command, rows in by_command.items() for line in [*rows, *_mend(command)]]


def _marked(status: Status, text: str) -> Line:
    return [(_STYLES[status], f"{status:<4}"), ("", f"   {visible(text)}")]


def _place(place: MarkedPlace, folder: str, width: int) -> list[Line]:
    mark = place.mark
    where = f"{_relative(mark.file, folder)}:{mark.line}: {mark.name} in `{shorten(mark.quoted, _LONGEST_LINE)}`"
    status: Status = "bad" if mark.is_directive and not mark.condition else "note"
    if mark.condition:
        where += f" (only if {shorten(mark.condition, _NOT_ALWAYS)})"
    elif not mark.is_directive:
        where += " (does nothing by itself; it adds lines where linetrace is on)"
    return [*wrapped([("", "  "), *_marked(status, where)], width, 9), *_mend(place.command)]


def _relative(path: Path, folder: str) -> str:
    return os.path.relpath(path, folder) if path.is_relative_to(folder) else str(path)


def _cost(cost: CallCost, width: int) -> list[Line]:
    kinds = ("a def function", "a cdef function", "a nogil function (with CYTHON_TRACE_NOGIL)")
    pairs = zip(kinds, cost.plain, cost.traced, strict=True)
    figures = "; ".join(f"{kind} {three_digits(plain)} to {three_digits(traced)} ns" for kind, plain, traced in pairs)
    return wrapped([("", f"  What it costs a call even when nobody profiles: {figures} ({cost.source}).")], width, 4)


def _verdict(found: Diagnosis, width: int) -> list[Line]:
    bad = [check.name for check in found.checks if check.status == "bad"]
    if bad:
        verdict: Line = [("bold red", f"cyprof cannot do all its work here: {', '.join(bad)}.")]
    else:
        verdict = [("", "cyprof has what it needs.")]
    if found.title:
        traced = sum(extension.traced for extension in found.extensions)
        asked = sum(place.mark.is_directive and not place.mark.condition for place in found.places)
        if found.tracing_left_on:
            parts = _joined_parts(
                ((count_text(traced, "module"), traced, "built with it"), (count_text(asked, "place"), asked, "asking for it"))
            )
            verdict.append(("bold red", f" Tracing was left on: {parts}."))
        else:
            verdict.append(("", " No tracing was left on."))
    return wrapped(verdict, width, 0)


def _joined_parts(parts: Iterable[tuple[str, int, str]]) -> str:
    return ", ".join(f"{count} {what}" for count, number, what in parts if number)
