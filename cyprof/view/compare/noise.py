"""Which of many times differ between two groups of runs, when every run is a little different from the others.

Three ideas, each a sentence:

* **One pace.** A run in which everything is slower alike tells of the machine. Each run has a pace, the median over the large
  functions of how much longer than usual they took. It is divided out of a function's times where that makes its runs more
  alike: what slows memory down need not slow arithmetic. When the paces themselves differ between the groups by more than
  chance, that is a finding of its own, and stays in the figures.
* **Shuffle.** A difference is measured in units of the spread within its group. Were the groups alike, any other way to share
  the runs out between them would be as good: every such way is tried, and the largest of all functions' differences noted.
  What less than RATE of these reach is called a change. Taking the largest over all functions holds the rate for the whole
  table, however long it is, and whatever the noise looks like (Westfall and Young, 1993; the steadied unit is that of
  Tusher and others, 2001). A small function, of which a table has many, must differ more clearly than a large one.
* **Few runs.** With fewer than four runs a side there are too few ways. Then a change must stand out from those of all other
  functions, by a wide margin.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import Any

RATE = 0.03
"""How often a comparison of a program with itself may name any change at all."""
LEAST_SPREAD = 0.005
"""Two builds of the same code differ by this much through the places their code lands on."""
LEAST_FEW = 0.01
_UNKNOWN_SPREAD = 0.10
_STEADY = 0.25
_SMALL = 2.0
_SURE = 3.0
_SURE_FEW = 4.0
"""A change is more than so many times the error that the profiles state themselves, however alike the runs are."""
_FEWEST_FOR_PACE = 5
_MOST_SHUFFLES = 1000


@dataclass(frozen=True, slots=True)
class Series:
    """Natural logarithms of one function's time in each run, before and after.

    `known` is the relative error that the profiles state themselves, `stolen` by how much the logarithm changes when all the
    time that other programs took from a run falls into this function; `paces` whether the function is large, and so takes
    part in finding the pace of the runs.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    known: float = 0.0
    paces: bool = True
    stolen: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """A difference of logarithms with the half of its interval. Intervals hold for all functions at once. `paced`: the pace of
    the runs was divided out of it."""

    log_ratio: float
    half_width: float
    changed: bool
    paced: bool = True


@dataclass(frozen=True, slots=True)
class Judgement:
    """A change for each series, that of the pace (None where there are too few functions to find it), the logarithm of each
    run's pace as it was divided out, and whether there were runs enough to shuffle."""

    changes: tuple[Change, ...]
    pace: Change | None
    paces_before: tuple[float, ...]
    paces_after: tuple[float, ...]
    shuffled: bool


def judge(series: Sequence[Series]) -> Judgement:
    """Compares two groups of runs in all series at once. Every series has the same number of runs."""
    if not series:
        return Judgement((), None, (), (), False)
    count = len(series[0].before)
    rows = [[*one.before, *one.after] for one in series]
    known = [one.known for one in series]
    paces = _paces([row for row, one in zip(rows, series, strict=True) if one.paces], len(rows[0]))
    flat = [[x - pace for x, pace in zip(row, paces, strict=True)] for row in rows]
    has_pace = any(paces)
    large = [one.paces for one in series]
    if has_pace:
        rows, flat, known, large = [*rows, paces], [*flat, paces], [*known, 0.0], [*large, True]
    labelings = _labelings(count, len(rows[0]))
    if labelings:
        found = _by_shuffling(rows, flat, known, large, labelings)
    else:
        found = _by_standing_out(flat, known, count, has_pace, series)
    pace = found.pop() if has_pace else None
    if pace is not None and pace.changed:
        # The whole program changed: that belongs into every function's figure; only the runs' own paces are divided out.
        found = [_with_pace(change, pace) if change.paced else change for change in found]
        middle = _location(paces[:count]), _location(paces[count:])
        paces = [x - middle[number >= count] for number, x in enumerate(paces)]
    return Judgement(tuple(found), pace, tuple(paces[:count]), tuple(paces[count:]), bool(labelings))


def _with_pace(change: Change, pace: Change) -> Change:
    ratio, half = change.log_ratio + pace.log_ratio, change.half_width + pace.half_width
    return Change(ratio, half, abs(ratio) > half)


def _paces(rows: list[list[float]], runs: int) -> list[float]:
    """The logarithm of each run's pace; zeros where there are too few functions to tell it from their own changes."""
    if len(rows) < _FEWEST_FOR_PACE:
        return [0.0] * runs
    usual = [median(row) for row in rows]
    return [median(row[run] - middle for row, middle in zip(rows, usual, strict=True)) for run in range(runs)]


def _labelings(count: int, runs: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The ways to share the runs out, the true one first; none where they are too few to hold RATE."""
    ways = math.comb(runs, count)
    if not count or count == runs or (2 if 2 * count == runs else 1) / ways > RATE:
        return []
    if ways <= _MOST_SHUFFLES:
        chosen = list(combinations(range(runs), count))
    else:
        chance = random.Random(0)
        first = tuple(range(count))
        chosen = [first, *(tuple(sorted(chance.sample(range(runs), count))) for _ in range(_MOST_SHUFFLES - 1))]
    return [(way, tuple(sorted(set(range(runs)) - set(way)))) for way in chosen]


def _by_shuffling(
    rows: list[list[float]],
    flat: list[list[float]],
    known: list[float],
    large: list[bool],
    labelings: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> list[Change]:
    """Marks changes one after another, the clearest first: each against what shuffling gives for those not yet marked. `flat`
    are the rows with the pace divided out."""
    import numpy as np  # takes a while to import, and no other command needs it

    plain, paced = _measured(rows, known, labelings), _measured(flat, known, labelings)
    is_paced = paced[1] < plain[1]
    differences, own = (np.where(is_paced, *both) for both in zip(paced, plain, strict=True))
    units = _units(own, np.asarray(large))
    scores = np.abs(differences / units)
    allowed = int(RATE * len(labelings))
    left = list(range(len(rows)))
    limit = 0.0
    while left:
        limit = float(np.sort(scores[left].max(axis=0))[-allowed])
        clearest = max(left, key=lambda index: float(scores[index, 0]))
        if not scores[clearest, 0] or scores[clearest, 0] < limit - 1e-9:
            break
        left.remove(clearest)
    changes = []
    for index, error in enumerate(known):
        ratio, unit = float(differences[index, 0]), float(units[index, 0])
        least = _SURE * error / math.sqrt(_kept_count(len(labelings[0][0])))
        changed = index not in left and abs(ratio) > least
        changes.append(Change(ratio, _half(max(limit * unit, least), ratio, changed), changed, bool(is_paced[index, 0])))
    return changes


def _measured(
    rows: list[list[float]], known: list[float], labelings: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> tuple[Any, Any]:
    """The difference of each row in each way to share out the runs, and the spread within the groups; at least the known
    error. Arrays of rows times ways."""
    import numpy as np

    values = np.asarray(rows)
    kept = [np.sort(values[:, [way[side] for way in labelings]], axis=2) for side in (0, 1)]
    kept = [side[:, :, : _kept_count(side.shape[2])] for side in kept]
    spread = np.hypot(*(side.std(axis=2) for side in kept))
    return kept[1].mean(axis=2) - kept[0].mean(axis=2), np.maximum(np.asarray(known)[:, None], spread)


def _units(own: Any, large: Any) -> Any:
    """What a difference is measured in: a function's own spread, steadied by the usual one of functions of its size."""
    import numpy as np

    if not large.any():
        large = np.ones_like(large)
    usual, of_all = (np.maximum(LEAST_SPREAD, np.median(spreads, axis=0)) for spreads in (own[large], own))
    return np.where(large[:, None], own + _STEADY * usual, (own + _STEADY * of_all) * _SMALL)


def _half(width: float, ratio: float, changed: bool) -> float:
    """The half width of an interval that holds 0 just when the difference was not called a change."""
    return min(width, abs(ratio) * 0.999) if changed else max(width, abs(ratio))


def _kept_count(count: int) -> int:
    """All but the slowest fifth: what disturbs a run only ever adds time."""
    return count - math.ceil(count / 5) if count >= 4 else count


def _location(values: Sequence[float]) -> float:
    return fmean(sorted(values)[: _kept_count(len(values))])


def _by_standing_out(
    rows: list[list[float]], known: list[float], count: int, has_pace: bool, series: Sequence[Series]
) -> list[Change]:
    """With few runs nothing shows how much of a difference is other programs' doing, so all they took is allowed for. The
    margin beyond that is Student's t with 5 degrees of freedom, for the heavy ends that times have, shared out
    over the family (Bonferroni), times the usual change of the large functions. The pace is never called changed."""
    differences = [_location(row[count:]) - _location(row[:count]) for row in rows]
    sizes = [abs(difference) for difference, one in zip(differences, series, strict=False) if one.paces]
    usual = max(LEAST_FEW, 1.4826 * median(sizes)) if len(sizes) >= _FEWEST_FOR_PACE else _UNKNOWN_SPREAD
    margin = _student(RATE / 2 / len(rows)) * usual
    stolen = [*(one.stolen for one in series), 0.0]
    halves = [math.hypot(margin, _SURE_FEW * error) + more for error, more in zip(known, stolen, strict=False)]
    found = [Change(difference, half, abs(difference) > half) for difference, half in zip(differences, halves, strict=True)]
    if has_pace:
        found[-1] = Change(differences[-1], math.inf, False)
    return found


def _student(tail: float) -> float:
    """What Student's t with 5 degrees of freedom exceeds with the probability `tail` (below 0.5)."""

    def above(t: float) -> float:
        x = t / math.sqrt(5)
        part = 1 / (1 + x * x)
        return 0.5 - (x * part * (1 + 2 / 3 * part) + math.atan(x)) / math.pi

    low, high = 0.0, 1.0
    while above(high) > tail:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > tail else (low, middle)
    return high
