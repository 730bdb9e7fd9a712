"""The comparison of engines as a table in the terminal, with the differences explained below it."""

from __future__ import annotations

from ..view.engines import EngineRow, EngineTable, Numbers
from ..view.units import time_text
from .styled import wrapped
from .text import fitted

_HEADS = ("calls", "cProfile", "self", "cProfile", "total", "cProfile", "line_prof.")
_LONGEST_LABEL = 60


def engines_text(table: EngineTable, width: int = 0) -> str:
    """The table as text that ends in a line break. A `-` stands for what a profiler did not see."""
    names = ("the probes", "cProfile", "line_profiler")
    took = ", ".join(f"{time_text(wall)} under {name}" for wall, name in zip(table.walls_ns, names, strict=True))
    lines = [f"   The run took {took}.", *(f"   {note}" for note in table.notes), ""]
    if not table.rows:
        return "\n".join([*lines, "   No function of the program's own was recorded.", ""])
    cells = [_cells(row) for row in table.rows]
    widths = [max(len(head), *(len(row[place]) for row in cells)) for place, head in enumerate(_HEADS)]
    label = min(_LONGEST_LABEL, max(len("function"), *(len(row.label) for row in table.rows)))
    kind = max(len("kind"), *(len(row.kind) for row in table.rows))
    lines.append(f"{'function':{label}}  {'kind':{kind}}  {_joined(list(_HEADS), widths)}  why")
    for row, texts in zip(table.rows, cells, strict=True):
        why = " ".join(f"[{number + 1}]" for number in row.reasons)
        lines.append(f"{fitted(row.label, label)}  {row.kind:{kind}}  {_joined(texts, widths)}  {why}".rstrip())
    lines.append("")
    for number, reason in enumerate(table.reasons, 1):
        lines += ["".join(text for _, text in row) for row in wrapped([("", f"[{number}] {reason}")], width, 4)]
    lines += [
        "",
        "calls, self and total are the probes'; line_profiler gives a function's lines with all they call, and no calls.",
    ]
    return "\n".join([*lines, ""])


def _cells(row: EngineRow) -> list[str]:
    ours, theirs = row.probes, row.cprofile
    return [_count(ours.calls), _count(theirs.calls), *_times(ours, theirs), _time(row.line_profiler.total_ns)]


def _times(ours: Numbers, theirs: Numbers) -> list[str]:
    return [_time(value) for value in (ours.self_ns, theirs.self_ns, ours.total_ns, theirs.total_ns)]


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _time(value: int | None) -> str:
    return "-" if value is None else time_text(value)


def _joined(texts: list[str], widths: list[int]) -> str:
    return "  ".join(text.rjust(size) for text, size in zip(texts, widths, strict=True))
