"""The function table in the terminal, in the layout of pstats."""

from __future__ import annotations

from ..model import Profile, Thread, Unseen
from ..view import FunctionTable, Row, ViewOptions, function_table
from ..view.units import count_text, share_text, time_text, visible
from .registry import renderer
from .styled import Line, joined, wrapped

_HOT = 0.10
_LONGEST_LABEL = 100
_LABEL_COLUMN = "filename:lineno(function)"
_NUMBERS_WIDTH = 46

COLUMNS = {
    "ncalls": "how often the function was called; `9/1` means 9 calls, 1 of them not from within itself (primitive)",
    "tottime": "self time in seconds: spent in the function itself, without the functions it calls",
    "percall": "tottime divided by ncalls; behind cumtime: cumtime divided by primitive calls",
    "cumtime": "total time in seconds: the function with all it calls, each moment counted once under recursion",
    _LABEL_COLUMN: "where the function is defined; a C function stands in braces",
    "kind": "python, def, cpdef, cdef (nogil: it runs without the GIL), builtin (a C function), module (a module's body)",
    "waiting": "the part of tottime, in seconds, in which its thread did not want the processor: it slept, or waited for a "
    "lock, a file, a child or the GIL. Being ready to run while other programs have the processor is no waiting",
    "workers": "threads that ran its parallel loops (prange), and how many of them were at work, on average, while it ran",
    "resumes": "how often a generator or coroutine was continued; its calls count how often it was made",
    "self range": "least and greatest self time in seconds, where the probes' own cost leaves it open; "
    "tottime is the best estimate between them (--calibrate narrows it)",
    "remark": "`may hold unseen native code`: more self time than the function's own Python code can take",
}


_EXTRA = ("kind", "waiting", "workers", "resumes", "self range", "remark")


@renderer(".txt", description="the table as plain text", groups=("stats",))
def stats_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The function table as plain text."""
    return stats_text(profile, options).encode()


def stats_text(profile: Profile, options: ViewOptions, width: int = 0, color: bool = False) -> str:
    """The table as text that ends in a line break; with ANSI colours when `color`.

    `width` is the terminal's, 0 for none: long function names lose their middle to fit it. Raises ValueError for an
    unknown `sort`.
    """
    table = function_table(profile, options)
    lines = [*_head(table), *_body(table, profile.self_sum_ns, width), []]
    lines += [row for note in _notes(table) for row in wrapped([("", note)], width, 4)]
    if options.explain:
        lines += [[], *(row for line in _explained(table) for row in wrapped(line, width, 27))]
    return joined(lines, color)


def _head(table: FunctionTable) -> list[Line]:
    primitive = f" ({table.primitive_calls} primitive calls)" if table.primitive_calls != table.calls else ""
    lines: list[Line] = [
        [("", f"         {table.calls} function calls{primitive} in {table.wall_ns / 1e9:.3f} seconds")],
        [],
        [("", f"   Ordered by: {table.order}")],
    ]
    return [*lines, *([("", f"   {visible(line)}")] for line in table.reduced), []]


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
    kinds = [row.kind for row in table.rows]
    extra = {"kind": kinds} if any(kinds) or not kinds else {}
    if any(row.waits for row in table.rows):
        extra["waiting"] = [_waiting(row) for row in table.rows]
    if any(row.team for row in table.rows):
        extra["workers"] = [f"{row.team.busy:.1f} of {row.team.threads}" if row.team else "" for row in table.rows]
    if any(row.times.resumes for row in table.rows):
        extra["resumes"] = [str(row.times.resumes or "") for row in table.rows]
    if any(row.wide for row in table.rows):
        extra["self range"] = [
            f"{seconds_text(row.times.self_min_ns)}-{seconds_text(row.times.raw_self_ns)}" if row.wide else ""
            for row in table.rows
        ]
    if any(row.remark for row in table.rows):
        extra["remark"] = [row.remark for row in table.rows]
    return extra


def _waiting(row: Row) -> str:
    """The waiting time, where it is a hundredth of the self time or more."""
    return seconds_text(row.times.wait_ns) if row.times.wait_ns * 100 >= max(1, row.times.self_ns) else ""


def _body(table: FunctionTable, whole: int, width: int) -> list[Line]:
    if not table.rows:
        return [[("", f"   No function {'is left to list' if table.functions else 'was recorded'}.")]]
    extra = _extra_columns(table)
    widths = {name: max(len(name), *map(len, cells)) for name, cells in extra.items()}
    longest = max(len(_LABEL_COLUMN), *(len(row.label) for row in table.rows))
    label_width = min(longest, _LONGEST_LABEL)
    if width:
        room = width - _NUMBERS_WIDTH - sum(2 + size for size in widths.values())
        label_width = max(len(_LABEL_COLUMN), min(label_width, room))
    title = "   ncalls  tottime  percall  cumtime  percall " + _LABEL_COLUMN.ljust(label_width)
    lines: list[Line] = [[("bold", title + "".join(f"  {name.ljust(widths[name])}" for name in extra))]]
    for number, row in enumerate(table.rows):
        style = "bold yellow" if row.times.self_ns >= _HOT * whole else ""
        ncalls, own, *others = _cells(row)
        line: Line = [("", f"{ncalls:>9} "), (style, f"{own:>8}"), ("", "".join(f" {cell:>8}" for cell in others))]
        line += [("", " "), (style, fitted(row.label, label_width))]
        for name, texts in extra.items():
            line.append(("cyan" if name == "kind" else "", f"  {texts[number].ljust(widths[name])}"))
        lines.append(line)
    return lines


def fitted(label: str, width: int) -> str:
    """The label padded to a width; one too long loses its middle, visibly, and never its end."""
    if len(label) <= width:
        return label.ljust(width)
    tail = (width - 1) * 2 // 3
    return label[: width - 1 - tail] + "…" + label[len(label) - tail :]


def _notes(table: FunctionTable) -> list[str]:
    lines = []
    if table.functions:
        verb = "holds" if table.holders == 1 else "hold"
        lines.append(f"{table.holders} of {count_text(table.functions, 'function')} {verb} 80 % of the time.")
    if any(row.wide for row in table.rows):
        lines.append("Self ranges are in seconds and span what the probes' own cost may be; --calibrate narrows them.")
    lines += _processes(table)
    lines += [_thread(title, thread) for title, thread in table.threads]
    if table.unseen:
        lines += ["", "Not seen by any probe:", *map(_unseen, table.unseen)]
    if table.notes:
        lines += ["", *table.notes]
    return lines


def _processes(table: FunctionTable) -> list[str]:
    if table.merged and not table.threads:
        return [f"{table.merged} are shown as one; --ranks holds them against each other, --threads lists their processes."]
    if len(table.processes) < 2:
        return []
    if not table.threads:
        return [f"{len(table.processes)} processes are shown as one; --threads lists them."]
    return [
        f"process {visible(title)} {process.pid}: {time_text(process.cpu_ns)} of processor time in "
        f"{time_text(process.wall_ns)}{f', ended by {process.end}' if process.end else ''}"
        for title, process in table.processes
    ]


def _thread(title: str, thread: Thread) -> str:
    several = f" ({thread.merged:,} threads that have ended)" if thread.merged else ""
    times = f"{time_text(thread.cpu_ns)} of processor time in {time_text(thread.wall_ns)}"
    return f"thread {visible(title)}{several}: {times}"


def _unseen(unseen: Unseen) -> str:
    share = f" ({share_text(unseen.share)} of the run)" if unseen.share is not None else ""
    reason = visible(unseen.reason).rstrip(".")
    return f"  {visible(unseen.module)}{share}: {reason}. {visible(unseen.hint)}".rstrip()


def _explained(table: FunctionTable) -> list[Line]:
    present = _extra_columns(table)
    names = [name for name in COLUMNS if name in present or name not in _EXTRA]
    longest = max(map(len, names))
    return [[("bold", name.ljust(longest)), ("", f"  {COLUMNS[name]}")] for name in names]
