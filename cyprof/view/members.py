"""How evenly the work is shared: each function over the members of a merged profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

from ..model import Function, FunctionTimes, Process, Profile, function_key, member_noun, part_of
from .options import ViewOptions
from .table import SORTS, function_table
from .units import visible


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One member: a rank, a worker, a recording. Times in ns; `self_ns` is what its functions took, on all its threads, and
    `wait_ns` the part of that in which they waited. `processes` counts those it had."""

    title: str
    target: str
    host: str
    exit_code: int
    wall_ns: int
    cpu_ns: int
    self_ns: int
    wait_ns: int
    calls: int
    processes: int


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over the members: the least, the median, the mean and the greatest, 0 where the function did not run.
    `values` are those of the members, in their order."""

    values: tuple[int, ...]

    @property
    def least(self) -> int:
        """The least."""
        return min(self.values)

    @property
    def median(self) -> float:
        """The middle one, or the mean of the two in the middle."""
        return median(self.values)

    @property
    def mean(self) -> float:
        """The mean."""
        return mean(self.values)

    @property
    def greatest(self) -> int:
        """The greatest."""
        return max(self.values)

    @property
    def at(self) -> int:
        """The member that has the greatest, the first of several."""
        return self.values.index(self.greatest)

    @property
    def over_mean(self) -> float:
        """How much the greatest lies above the mean: what the others wait for it where they wait for each other."""
        return self.greatest - self.mean

    @property
    def ratio(self) -> float:
        """The greatest in units of the mean: 1 where the work is shared evenly, the number of members where one does all."""
        return self.greatest / self.mean if self.mean else 1.0


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """One function. Times in ns. `ran` is the number of members that it ran in."""

    function: Function
    label: str
    kind: str
    ran: int
    calls: Spread
    self_ns: Spread
    total_ns: Spread


@dataclass(frozen=True, slots=True)
class SpreadTable:
    """The members and the functions over them. `by_total` says that the order is that of total times. `noun` is what a
    member is called: rank, worker, recording."""

    noun: str
    members: tuple[MemberRow, ...]
    rows: tuple[SpreadRow, ...]
    order: str
    by_total: bool
    reduced: tuple[str, ...]
    notes: tuple[str, ...]


_ORDERS: dict[str, tuple[str, Callable[[SpreadRow], tuple[object, ...]]]] = {
    "self": ("self time of the slowest above the mean", lambda row: (-row.self_ns.over_mean, row.label)),
    "total": ("total time of the slowest above the mean", lambda row: (-row.total_ns.over_mean, row.label)),
    "calls": ("calls of the busiest above the mean", lambda row: (-row.calls.over_mean, row.label)),
    "name": ("function name", lambda row: (row.function.name, row.label)),
    "file": ("file name, line number", lambda row: (row.function.file, row.function.line, row.label)),
}


def spread_table(profile: Profile, options: ViewOptions) -> SpreadTable:
    """The functions of a merged profile over its members; those are shown that the table of functions would show. Raises
    ValueError for a profile that was not merged, and for an unknown `sort`."""
    if not profile.members:
        raise ValueError("the profile was not merged")
    table = function_table(profile, replace(options, top=None))
    parts = [part_of(profile, number) for number in range(len(profile.members))]
    times = [_times(part) for part in parts]
    order, key = _ORDERS[SORTS[options.sort]]
    rows = sorted((_row(row.function, row.label, row.kind, times) for row in table.rows), key=key)
    reduced = list(table.reduced)
    if options.top is not None and len(rows) > options.top:
        reduced.append(f"List reduced from {len(rows)} to {options.top} by --top")
    return SpreadTable(
        noun=member_noun(profile.members),
        members=tuple(map(_member, profile.member_titles, parts)),
        rows=tuple(rows[: options.top]),
        order=order,
        by_total=SORTS[options.sort] == "total",
        reduced=tuple(reduced),
        notes=table.notes,
    )


def _times(part: Profile) -> dict[tuple[object, ...], FunctionTimes]:
    times = part.function_times
    return {function_key(part.functions[number]): times[number] for number in set(part.tree.function)}


def _row(function: Function, label: str, kind: str, times: Sequence[dict[tuple[object, ...], FunctionTimes]]) -> SpreadRow:
    found = [of_member.get(function_key(function)) for of_member in times]
    return SpreadRow(
        function=function,
        label=label,
        kind=kind,
        ran=sum(one is not None for one in found),
        calls=Spread(tuple(one.calls if one else 0 for one in found)),
        self_ns=Spread(tuple(one.self_ns if one else 0 for one in found)),
        total_ns=Spread(tuple(one.total_ns if one else 0 for one in found)),
    )


def _member(title: str, part: Profile) -> MemberRow:
    run = part.run
    times = part.function_times
    processes: list[Process] = part.processes
    return MemberRow(
        title=visible(title),
        target=visible(run.target),
        host=visible(run.host),
        exit_code=run.exit_code,
        wall_ns=run.wall_ns,
        cpu_ns=run.cpu_ns,
        self_ns=sum(one.self_ns for one in times),
        wait_ns=sum(one.wait_ns for one in times),
        calls=sum(one.calls for one in times),
        processes=len(processes),
    )
