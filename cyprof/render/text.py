"""The function table in the terminal, in the layout of pstats."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from ..model import Profile, Thread
from ..view import FunctionTable, Row, ViewOptions, function_table
from ..view.units import count_text, share_text, time_text, visible

_HOT = 0.10
_LONGEST_LABEL = 100

COLUMNS = {
    "ncalls": "how often the function was called; `9/1` means 9 calls, 1 of them not from within itself (primitive)",
    "tottime": "self time in seconds: spent in the function itself, without the functions it calls",
    "percall": "tottime divided by ncalls; behind cumtime: cumtime divided by primitive calls",
    "cumtime": "total time in seconds: the function with all it calls, each moment counted once under recursion",
    "filename:lineno(function)": "where the function is defined; a C function stands in braces",
    "kind": "python, def, cpdef, cdef (nogil where it runs without the GIL), builtin (a C function), module (a module's body)",
    "resumes": "how often a generator or coroutine was continued; its calls count its creations",
    "self range": "least and greatest self time in seconds, where the probes' own cost leaves it open; "
    "tottime is the best estimate between them (--calibrate narrows it)",
}


def stats_text(profile: Profile, options: ViewOptions, width: int = 0, color: bool = False) -> str:
    """The table as text that ends in a line break; with ANSI colours when `color`.

    `width` is the terminal's, 0 for none: function names are cut to fit it only when it is given. Raises ValueError for
    an unknown `sort`.
    """
    table = function_table(profile, options)
    whole = profile.self_sum_ns
    lines: list[Text] = _head(table)
    lines += _body(table, whole, width)
    lines.append(Text())
    lines += [Text(line) for line in _notes(table, whole)]
    if options.explain:
        lines += [Text(), *_explained(table)]
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=10_000, no_color=False)
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False)
    return out.getvalue()


def _head(table: FunctionTable) -> list[Text]:
    primitive = f" ({table.primitive_calls} primitive calls)" if table.primitive_calls != table.calls else ""
    lines = [
        Text(f"         {table.calls} function calls{primitive} in {table.wall_ns / 1e9:.3f} seconds"),
        Text(),
        Text(f"   Ordered by: {table.order}"),
    ]
    lines += [Text(f"   {visible(line)}") for line in table.reduced]
    return [*lines, Text()]


def seconds_text(ns: float) -> str:
    """Seconds in at most eight characters, as pstats prints them, with more digits where three would show zeros only."""
    seconds = ns / 1e9
    if ns == 0 or seconds >= 0.1:
        return f"{seconds:.3f}"
    return f"{seconds:.6f}" if seconds >= 0.00001 else f"{seconds:.2e}"


def _cells(row: Row) -> list[str]:
    times = row.times
    ncalls = str(times.calls)
    if times.primitive_calls != times.calls:
        ncalls += f"/{times.primitive_calls}"
    per_call = seconds_text(times.self_ns / times.calls) if times.calls else ""
    per_primitive = seconds_text(times.total_ns / times.primitive_calls) if times.primitive_calls else ""
    return [ncalls, seconds_text(times.self_ns), per_call, seconds_text(times.total_ns), per_primitive]


def _extra_columns(table: FunctionTable) -> dict[str, list[str]]:
    """The columns pstats does not have, those without content left out."""
    extra = {"kind": [row.kind for row in table.rows]}
    if any(row.times.resumes for row in table.rows):
        extra["resumes"] = [str(row.times.resumes or "") for row in table.rows]
    if any(row.wide for row in table.rows):
        extra["self range"] = [
            f"{seconds_text(row.times.self_min_ns)}-{seconds_text(row.times.raw_self_ns)}" if row.wide else ""
            for row in table.rows
        ]
    return extra


def _body(table: FunctionTable, whole: int, width: int) -> list[Text]:
    if not table.rows:
        return [Text("   No function was recorded." if not table.functions else "   No function is left to list.")]
    extra = _extra_columns(table)
    more_width = sum(2 + max(len(name), *map(len, cells)) for name, cells in extra.items())
    longest = max(len("filename:lineno(function)"), *(len(row.label) for row in table.rows))
    label_width = min(longest, _LONGEST_LABEL)
    if width:
        label_width = max(25, min(label_width, width - 46 - more_width))
    title = Text("   ncalls  tottime  percall  cumtime  percall " + "filename:lineno(function)".ljust(label_width), "bold")
    widths = {name: max(len(name), *map(len, cells)) for name, cells in extra.items()}
    for name in extra:
        title.append(f"  {name.ljust(widths[name])}")
    lines = [title]
    for number, row in enumerate(table.rows):
        style = "bold yellow" if row.times.self_ns >= _HOT * whole else ""
        cells = _cells(row)
        line = Text(f"{cells[0]:>9} ")
        line.append(f"{cells[1]:>8} ", style)
        line.append("".join(f"{cell:>8} " for cell in cells[2:]))
        line.append(_fitted(row.label, label_width), style)
        for name, texts in extra.items():
            line.append(f"  {texts[number].ljust(widths[name])}", "cyan" if name == "kind" else "")
        lines.append(line)
    return lines


def _fitted(label: str, width: int) -> str:
    """The label padded to a width; one too long loses its middle, visibly, and never its end."""
    if len(label) <= width:
        return label.ljust(width)
    tail = (width - 1) * 2 // 3
    return label[: width - 1 - tail] + "…" + label[len(label) - tail :]


def _notes(table: FunctionTable, whole: int) -> list[str]:
    lines = []
    if table.functions:
        lines.append(
            f"{table.holders} of {count_text(table.functions, 'function')} "
            f"{'holds' if table.holders == 1 else 'hold'} 80 % of the time."
        )
    if any(row.wide for row in table.rows):
        lines.append("Self ranges are in seconds and span what the probes' own cost may be; --calibrate narrows them.")
    for thread in table.threads:
        lines.append(_thread(thread))
    if table.unseen:
        lines += ["", "Not seen by any probe:"]
        for unseen in table.unseen:
            share = f" ({share_text(unseen.share)} of the run)" if unseen.share is not None else ""
            hint = f" {visible(unseen.hint)}" if unseen.hint else ""
            lines.append(f"  {visible(unseen.module)}{share}: {visible(unseen.reason)}.{hint}".replace("..", "."))
    if table.notes:
        lines += ["", *table.notes]
    del whole
    return lines


def _thread(thread: Thread) -> str:
    return f"thread {visible(thread.name)}: {time_text(thread.cpu_ns)} of processor time in {time_text(thread.wall_ns)}"


def _explained(table: FunctionTable) -> list[Text]:
    present = _extra_columns(table) if table.rows else {}
    names = [name for name in COLUMNS if name in present or name not in ("resumes", "self range")]
    longest = max(map(len, names))
    return [Text(f"{name.ljust(longest)}  {COLUMNS[name]}") for name in names]
