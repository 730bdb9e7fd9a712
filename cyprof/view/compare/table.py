"""The comparison: a row for each function with its times before and after, and a verdict that holds for the whole table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...model import Function
from ..classify import matches
from ..options import ViewOptions
from .match import Pair, pairs
from .noise import Change, Judgement, Series, judge
from .sides import FLOOR_NS, Key, Runs, Side, common_cost, read, with_cost
from .traces import Moved, absorbed_text, only_here, split_text, time_of, together

_WEIGHT = 0.005
"""The least part of a run that a vanished callee must have had to be looked for in its caller."""
Verdict = Literal["faster", "slower", "same", "new", "gone", "moved", "absorbed"]


@dataclass(frozen=True, slots=True)
class Times:
    """One side of a row: medians over the runs, times in ns, each run at the common pace."""

    calls: int
    self_ns: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class Ratio:
    """After divided by before, and the ends of its interval. The intervals of a table hold all at once."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One function. `change` is faster, slower or same for what both sides have, "" for what one lacks; `verdict` says so too,
    unless there is something better to say. `why` explains a verdict, "" where there is nothing to explain."""

    function: Function | None
    title: str
    before: Times | None
    after: Times | None
    ratio: Ratio | None
    change: Literal["faster", "slower", "same", ""]
    verdict: Verdict
    why: str = ""
    before_key: Key | None = None
    after_key: Key | None = None

    @property
    def difference_ns(self) -> int:
        """By how much the self time grew."""
        return (self.after.self_ns if self.after else 0) - (self.before.self_ns if self.before else 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides compared. `rows` are ranked: changes first, by what they cost or save. `pace` is the ratio of the whole
    program, None where it cannot be told, `paces` how each run stood to the common pace. `left_out` counts rows under the
    least share; `notes` are sentences for the user."""

    before: Runs
    after: Runs
    rows: tuple[Row, ...]
    pace: Ratio | None
    pace_change: Literal["faster", "slower", "same"]
    paces: tuple[tuple[float, ...], tuple[float, ...]]
    left_out: int
    shuffled: bool
    notes: tuple[str, ...] = field(default=())


def compare(before: Side, after: Side, options: ViewOptions) -> Comparison:
    """Compares two sides, each with at least one run."""
    costs = common_cost([*before.profiles, *after.profiles])
    first, second = (read(with_cost(side, costs), options) for side in (before, after))
    every = pairs(first, second)
    shown = [pair for pair in every if _is_shown(pair, first, second, options)]
    both = [pair for pair in shown if pair.before and pair.after]
    traces = _traces(both, every, first, second)
    judgement = judge([*(_series(pair, first, second) for pair in both), *(trace.series for trace in traces.values())])
    changes = dict(zip(both, judgement.changes[: len(both)], strict=True))
    explained = dict(zip(traces, judgement.changes[len(both) :], strict=True))
    rows = []
    for pair in shown:
        row = _row(pair, changes.get(pair), first, second, judgement)
        trace = traces.get(pair)
        if trace and (
            (row.change == trace.change and not _still(row.change, explained[pair])) or _is_seen_to_move(row, trace, first)
        ):
            row = replace(row, verdict=trace.verdict, why=trace.why)
        rows.append(row)
    return Comparison(
        before=first,
        after=second,
        rows=tuple(sorted(rows, key=_rank)),
        pace=_ratio(judgement.pace) if judgement.pace else None,
        pace_change=_direction(judgement.pace) if judgement.pace else "same",
        paces=(_factors(judgement.paces_before), _factors(judgement.paces_after)),
        left_out=len(every) - len(shown),
        shuffled=judgement.shuffled,
        notes=_notes(first, second, judgement),
    )


@dataclass(frozen=True, slots=True)
class _Trace:
    """A caller together with callees that only one side has. When its self time has the `change` and this sum has not, the
    time has only changed its place."""

    series: Series
    change: Literal["faster", "slower"]
    verdict: Verdict
    why: str
    ns: float
    """What the callees had, in the median of the runs."""


def _traces(both: Sequence[Pair], every: Sequence[Pair], first: Runs, second: Runs) -> dict[Pair, _Trace]:
    lost = only_here(first, [pair.before for pair in every if pair.before and not pair.after])
    gained = only_here(second, [pair.after for pair in every if pair.after and not pair.before])
    found: dict[Pair, _Trace] = {}
    for pair in both:
        assert pair.before is not None and pair.after is not None
        if pair.before in lost:
            series = _series(pair, first, second, lost={pair.before: lost[pair.before]})
            found[pair] = _Trace(series, "slower", "absorbed", absorbed_text(lost[pair.before]), time_of(lost[pair.before]))
        elif pair.after in gained:
            series = _series(pair, first, second, gained={pair.after: gained[pair.after]})
            found[pair] = _Trace(series, "faster", "moved", split_text(gained[pair.after]), time_of(gained[pair.after]))
    return found


def _still(change: str, whole: Change) -> bool:
    """Whether a caller has changed in the same way even with its callees."""
    return whole.changed and (whole.log_ratio > 0) == (change == "slower")


def _is_seen_to_move(row: Row, trace: _Trace, first: Runs) -> bool:
    """Whether a caller more than doubled, by about what a vanished callee of some weight had: then it is said even where
    noise hides the change, since nothing is said to be slower by it."""
    if trace.verdict != "absorbed" or row.change != "same" or row.before is None or row.verdict == "moved":
        return False
    heavy = trace.ns >= max(row.before.self_ns, _WEIGHT * _whole(first))
    return heavy and trace.ns / 2 <= row.difference_ns <= trace.ns * 2


def _is_shown(pair: Pair, first: Runs, second: Runs, options: ViewOptions) -> bool:
    sides = [(runs, key) for runs, key in ((first, pair.before), (second, pair.after)) if key is not None]
    functions = [seen for runs, key in sides if (seen := runs.seen[key].function) is not None]
    if any(matches(function, options.hide) for function in functions):
        return False
    if options.only and not any(matches(function, options.only) for function in functions):
        return False
    if options.everything or any(matches(function, options.show) for function in functions):
        return True
    if any(runs.seen[key].own for runs, key in sides):
        return True
    return any(runs.median(key, "self_ns") >= options.min_share / 100 * _whole(runs) for runs, key in sides)


def _whole(runs: Runs) -> float:
    return sum(profile.self_sum_ns for profile in runs.side.profiles) / len(runs.side.profiles)


def _series(pair: Pair, first: Runs, second: Runs, lost: Moved | None = None, gained: Moved | None = None) -> Series:
    assert pair.before is not None and pair.after is not None
    before, after = first.values(pair.before, "self_ns"), second.values(pair.after, "self_ns")
    if lost:
        before = together(before, lost[pair.before])
    if gained:
        after = together(after, gained[pair.after])
    large = min(sum(before) / len(before) / _whole(first), sum(after) / len(after) / _whole(second)) >= 0.005
    return Series(
        before=tuple(map(_log, before)),
        after=tuple(map(_log, after)),
        known=math.hypot(first.error(pair.before), second.error(pair.after)),
        stolen=math.log1p((first.delayed_ns + second.delayed_ns) / max(FLOOR_NS, min(*before, *after))),
        paces=large and not pair.moved and not lost and not gained,
    )


def _log(ns: float) -> float:
    return math.log(max(ns, FLOOR_NS))


def _row(pair: Pair, change: Change | None, first: Runs, second: Runs, judgement: Judgement) -> Row:
    seen = second.seen[pair.after] if pair.after else first.seen[pair.before]  # type: ignore[index]
    key = pair.after or pair.before
    assert key is not None
    paced = change is None or change.paced
    before = _times(pair.before, first, judgement.paces_before if paced else ()) if pair.before else None
    after = _times(pair.after, second, judgement.paces_after if paced else ()) if pair.after else None
    blank = Row(seen.function, key[1], before, after, None, "", "gone" if pair.before else "new",
                before_key=pair.before, after_key=pair.after)  # fmt: skip
    if change is None:
        return blank
    ratio, certain = _with_probes(pair, change, first, second)
    direction = _direction(change) if certain else "same"
    why = pair.moved
    if change.changed and not certain:
        why = "noise and the probes' own cost together may be all of the change"
    return replace(blank, ratio=ratio, change=direction, verdict="moved" if pair.moved else direction, why=why)


def _with_probes(pair: Pair, change: Change, first: Runs, second: Runs) -> tuple[Ratio, bool]:
    """The ratio, its interval widened by what the probes may have cost: from times as measured to times with all of it
    taken off. And whether the change holds whatever it was."""
    assert pair.before is not None and pair.after is not None
    best, *ends = (
        _log(second.median(pair.after, field)) - _log(first.median(pair.before, field))
        for field in ("self_ns", "raw_ns", "least_ns")
    )
    low = min(0.0, *(end - best for end in ends)) + change.log_ratio
    high = max(0.0, *(end - best for end in ends)) + change.log_ratio
    low, high = low - _narrow(change), high + _narrow(change)
    return Ratio(*map(math.exp, (change.log_ratio, low, high))), low > 0 or high < 0


def _narrow(change: Change) -> float:
    return min(change.half_width, 20.0)


def _ratio(change: Change) -> Ratio:
    half = _narrow(change)
    return Ratio(*map(math.exp, (change.log_ratio, change.log_ratio - half, change.log_ratio + half)))


def _direction(change: Change) -> Literal["faster", "slower", "same"]:
    if not change.changed:
        return "same"
    return "slower" if change.log_ratio > 0 else "faster"


def _times(key: Key, runs: Runs, paces: Sequence[float]) -> Times:
    from statistics import median

    factors = [math.exp(-pace) for pace in paces] or [1.0] * len(runs.measures)

    def at_pace(name: str) -> int:
        return round(median(value * factor for value, factor in zip(runs.values(key, name), factors, strict=True)))

    return Times(runs.median(key, "calls"), at_pace("self_ns"), at_pace("total_ns"))


def _factors(paces: Sequence[float]) -> tuple[float, ...]:
    return tuple(math.exp(pace) for pace in paces)


def _rank(row: Row) -> tuple[bool, int, int, str]:
    largest = max(side.self_ns for side in (row.before, row.after) if side)
    return row.verdict == "same", -abs(row.difference_ns) if row.verdict != "same" else 0, -largest, row.title


def _notes(first: Runs, second: Runs, judgement: Judgement) -> tuple[str, ...]:
    notes = []
    for field_name, word in (("python", "Python"), ("cython", "Cython"), ("clock", "clock")):
        values = [sorted({getattr(profile.run, field_name) for profile in runs.side.profiles}) for runs in (first, second)]
        if values[0] != values[1]:
            notes.append(f"The sides differ in {word}: {', '.join(values[0]) or 'none'} and {', '.join(values[1]) or 'none'}.")
    own = [{key for key, seen in runs.seen.items() if seen.own and key[0] != "__main__"} for runs in (first, second)]
    if all(own) and not own[0] & own[1]:
        notes.append("The two have no function of their own in common: they seem to be different programs.")
    if not judgement.shuffled:
        notes.append(
            "So few runs say little of what is noise: only a change far beyond those of all other functions is called one. "
            "Five runs a side (--runs 5) tell small changes."
        )
    return tuple(notes)
