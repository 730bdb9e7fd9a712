"""The function table of `cyprof stats`: rows in pstats' terms, with what pstats has no column for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model import Function, FunctionTimes, Process, Profile, Team, Thread, Unseen, member_noun, teams
from .classify import matches, origin_of, probed_packages
from .file_names import file_names
from .labels import is_wide, waits_much
from .options import USER_FUNCTIONS_KEPT, ViewOptions
from .units import count_text, percent_text, visible

SORTS = {
    "self": "self", "tottime": "self", "time": "self",
    "total": "total", "cumtime": "total", "cumulative": "total",
    "calls": "calls", "ncalls": "calls",
    "waiting": "waiting", "name": "name", "file": "file", "filename": "file", "line": "file",
}  # fmt: skip
"""The words `--sort` takes, pstats' own among them, and what each means."""

ORDER_NAMES = {
    "self": "internal time",
    "total": "cumulative time",
    "calls": "call count",
    "waiting": "waiting time",
    "name": "function name",
    "file": "file name, line number",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One function. Times in ns. `label` is `filename:lineno(function)`; `wide` says that `least_ns` to `raw_ns` is a
    range a reader should know of, `waits` that it waited for much of its time. `team` are the
    threads of its parallel loops. `kind` is "" where it is not known, `remark` mostly."""

    function: Function
    label: str
    kind: str
    times: FunctionTimes
    wide: bool
    waits: bool
    team: Team | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """The table with the lines around it. `calls` and `primitive_calls` are of the whole run, `functions` how many ran,
    `holders` how many of them hold 80 % of the time, `reduced` says what was left out and how to see it, `merged` what was
    merged (`4 ranks`), "" for nothing."""

    rows: tuple[Row, ...]
    calls: int
    primitive_calls: int
    wall_ns: int
    functions: int
    holders: int
    order: str
    reduced: tuple[str, ...]
    unseen: tuple[Unseen, ...]
    threads: tuple[tuple[str, Thread], ...]
    processes: tuple[tuple[str, Process], ...]
    merged: str
    notes: tuple[str, ...]


def function_table(profile: Profile, options: ViewOptions) -> FunctionTable:
    """The functions of a profile, sorted and reduced as the options say. Raises ValueError for an unknown `sort`."""
    order = SORTS.get(options.sort)
    if order is None:
        raise ValueError(f"cannot sort by {options.sort!r}: one of {', '.join(SORTS)}")
    times = profile.function_times
    of_function = teams(profile)
    ran = sorted(set(profile.tree.function))
    kept, reduced = _reduce([profile.functions[i] for i in ran], profile, options)
    names = file_names(function.file for function in kept)
    rows = [
        Row(
            function=function,
            label=row_label(function, names),
            kind=kind_text(function) if profile.has_kinds else "",
            times=times[function.id],
            wide=is_wide(times[function.id].self_min_ns, times[function.id].raw_self_ns, profile.self_sum_ns),
            waits=waits_much(times[function.id].wait_ns, times[function.id].self_ns, profile.self_sum_ns),
            team=of_function.get(function.id),
            remark=visible(profile.remarks.get(function.id, "")),
        )
        for function in kept
    ]
    rows.sort(key=_KEYS[order])
    if options.top is not None and len(rows) > options.top:
        reduced.append(f"List reduced from {len(rows)} to {options.top} by --top")
        rows = rows[: options.top]
    return FunctionTable(
        rows=tuple(rows),
        calls=sum(times[i].calls for i in ran),
        primitive_calls=sum(times[i].primitive_calls for i in ran),
        wall_ns=profile.run.wall_ns,
        functions=len(ran),
        holders=_holders([times[i].self_ns for i in ran]),
        order=ORDER_NAMES[order],
        reduced=tuple(reduced),
        unseen=tuple(profile.unseen),
        threads=tuple((profile.thread_title(thread), thread) for thread in profile.threads) if options.threads else (),
        processes=tuple((profile.process_title(process), process) for process in profile.processes),
        merged=count_text(len(profile.members), member_noun(profile.members)) if profile.members else "",
        notes=tuple(visible(note) for note in profile.notes),
    )


_KEYS: dict[str, Callable[[Row], tuple[object, ...]]] = {
    "self": lambda row: (-row.times.self_ns, row.label, row.function.id),
    "total": lambda row: (-row.times.total_ns, row.label, row.function.id),
    "calls": lambda row: (-row.times.calls, row.label, row.function.id),
    "waiting": lambda row: (-row.times.wait_ns, row.label, row.function.id),
    "name": lambda row: (row.function.name, row.label, row.function.id),
    "file": lambda row: (row.function.file, row.function.line, row.function.name, row.function.id),
}


def _reduce(functions: list[Function], profile: Profile, options: ViewOptions) -> tuple[list[Function], list[str]]:
    """The functions to list, and a sentence for each reason one was left out."""
    reduced: list[str] = []

    def without(kept: list[Function], why: str) -> list[Function]:
        nonlocal functions
        if len(kept) < len(functions):
            reduced.append(f"List reduced from {len(functions)} to {len(kept)} {why}")
        return kept

    functions = without([f for f in functions if not matches(f, options.hide)], "by --hide")
    if options.only:
        wanted = {f.id for f in functions if matches(f, options.only)}
        # C functions are part of what calls them.
        wanted |= {edge.callee for edge in profile.edges if edge.caller in wanted and _is_c(profile, edge.callee)}
        functions = without([f for f in functions if f.id in wanted], "by --only")
    if options.everything:
        return functions, reduced
    probed = probed_packages(profile)
    own = {f.id for f in functions if origin_of(f, probed) == "own"}
    kept_own = own if len(own) < USER_FUNCTIONS_KEPT else set()
    least = options.min_share / 100 * profile.self_sum_ns
    by_total = SORTS.get(options.sort) == "total"

    def listed(function: Function) -> bool:
        asked_for = bool(options.show) and matches(function, options.show)
        times = profile.function_times[function.id]
        # Of the user's own functions those above the hot ones are wanted too, of others what they cost themselves.
        weight = times.total_ns if function.id in own or by_total else times.self_ns
        return asked_for or function.id in kept_own or weight >= least

    functions = without(
        [f for f in functions if listed(f)],
        f"by leaving out functions {'of others ' if kept_own or not own else ''}under {percent_text(options.min_share)} of the "
        "time (--all lists them)",
    )
    return functions, reduced


def _is_c(profile: Profile, function: int) -> bool:
    return profile.functions[function].language == "c"


def _holders(self_times: list[int], part: float = 0.8) -> int:
    """How few functions hold that part of the time."""
    wanted, sum_ns, count = part * sum(self_times), 0, 0
    for own in sorted(self_times, reverse=True):
        if sum_ns >= wanted:
            break
        sum_ns += own
        count += 1
    return count


def kind_text(function: Function) -> str:
    """The kind as the table shows it: `cdef nogil`, `builtin`, `module (Cython)`."""
    if function.kind == "module" and function.language == "cython":
        return "module (Cython)"
    return f"{function.kind} nogil" if function.nogil else function.kind


def row_label(function: Function, short_names: dict[str, str]) -> str:
    """`filename:lineno(function)`; a C function as pstats writes it, `{method 'dot' of 'numpy.ndarray' objects}`."""
    if function.language == "c":
        return f"{{{c_name(function)}}}"
    place = short_names.get(function.file, function.file) or function.module or "~"
    return f"{visible(place)}:{function.line}({visible(function.name) or '?'})"


def c_name(function: Function) -> str:
    """A C function's name as cProfile gives it, without its brackets: `method 'dot' of 'numpy.ndarray' objects`."""
    name = visible(function.name) or "?"
    module = "" if function.module == "builtins" else visible(function.module)
    owner, _, method = name.rpartition(".")
    if owner:
        return f"method '{method}' of '{'.'.join(word for word in (module, owner) if word)}' objects"
    return f"built-in method {module or 'builtins'}.{name}"
