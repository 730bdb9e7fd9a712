"""The runs of one side of a comparison, each as calls and times by function, under names that hold across versions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median

from ...model import NO_PARENT, Function, ProbeCost, Profile
from ..contexts import Contexts, fold
from ..measure import Measures, measure
from ..options import ViewOptions

Key = tuple[str, str, int]
"""Module, qualified name, and which of several of the same name, in the order of their lines. A folded group has no module
and its title. The line is no part of it: it moves whenever something above is edited."""
FLOOR_NS = 10_000
"""Shorter times are not told apart: the clock reads that take them cost as much."""
_TICK_NS = 1_000_000
"""How far apart the watcher's looks are."""
_LEAST_PART = 20


@dataclass(frozen=True, slots=True)
class Side:
    """One side as it was given: what a reader calls it, and its runs."""

    name: str
    profiles: tuple[Profile, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a function besides its times: the function (None for a folded group), whether it is the user's own."""

    function: Function | None
    own: bool


@dataclass
class Runs:
    """The runs of a side: for each the measures by key; what each key stands for, as the last run has it."""

    side: Side
    measures: list[dict[Key, Measures]]
    sampled_ns: list[Counter[Key]]
    seen: dict[Key, Seen]
    contexts: list[Contexts]
    keys: list[list[Key]]
    """For each run the key of each entity."""

    def values(self, key: Key, field: str) -> list[int]:
        """One field of a function in every run; 0 where it did not run."""
        return [int(getattr(run[key], field)) if key in run else 0 for run in self.measures]

    @property
    def delayed_ns(self) -> float:
        """How long other programs kept a run from the processor, in the mean."""
        return sum(profile.delayed_ns for profile in self.side.profiles) / len(self.side.profiles)

    def median(self, key: Key, field: str) -> int:
        """The median of a field over the runs."""
        return round(median(self.values(key, field)))

    def error(self, key: Key) -> float:
        """The relative error that sampling leaves in the self time of one run."""
        errors = []
        for run, sampled in zip(self.measures, self.sampled_ns, strict=True):
            own = run[key].self_ns if key in run else 0
            errors.append(math.sqrt(_TICK_NS * sampled[key]) / max(own, _TICK_NS))
        return math.sqrt(sum(error * error for error in errors) / len(errors))


def common_cost(profiles: Iterable[Profile]) -> dict[str, ProbeCost]:
    """By Python version the median of what probes cost: they are the same in all runs, only their calibration is not."""
    by_python: dict[str, list[ProbeCost]] = defaultdict(list)
    for profile in profiles:
        by_python[profile.run.python].append(profile.run.cost)
    return {
        python: ProbeCost(**{field.name: median(getattr(cost, field.name) for cost in costs) for field in fields(ProbeCost)})
        for python, costs in by_python.items()
    }


def with_cost(side: Side, costs: dict[str, ProbeCost]) -> Side:
    """The side with the probes' cost taken off as `costs` says."""
    profiles = (replace(profile, run=replace(profile.run, cost=costs[profile.run.python])) for profile in side.profiles)
    return replace(side, profiles=tuple(profiles))


def read(side: Side, options: ViewOptions) -> Runs:
    """Folds and measures every run of a side."""
    runs = Runs(side, [], [], {}, [], [])
    for profile in side.profiles:
        contexts = fold(profile, options)
        keys = _keys(contexts)
        runs.contexts.append(contexts)
        runs.keys.append(keys)
        found = measure(profile, contexts)
        for sums in found:
            # The least a time can be, for the ratio's range: never nothing, since what ran took some time.
            sums.least_ns = max(sums.least_ns, sums.self_ns // _LEAST_PART)
        runs.measures.append(dict(zip(keys, found, strict=True)))
        runs.sampled_ns.append(_sampled(profile, contexts, keys))
        runs.seen.update({key: Seen(e.function, e.own) for key, e in zip(keys, contexts.entities, strict=True)})
    return runs


def _keys(contexts: Contexts) -> list[Key]:
    same: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for entity in contexts.entities:
        function = entity.function
        same[(function.module, function.name) if function else ("", entity.title)].append(
            (function.line if function else 0, entity.index)
        )
    keys: list[Key] = [("", "", 0)] * len(contexts.entities)
    for (module, name), places in same.items():
        for number, (_, index) in enumerate(sorted(places)):
            keys[index] = (module, name, number)
    return keys


def _sampled(profile: Profile, contexts: Contexts, keys: Sequence[Key]) -> Counter[Key]:
    """The part of each self time that the watcher took, in ns; the rest was read from the clock call by call."""
    sums: Counter[Key] = Counter()
    if not profile.run.samples:
        return sums
    tree, best = profile.tree, profile.node_times.best
    for node, entity in enumerate(contexts.of_node):
        calls = tree.calls[node]
        exact = tree.exact_calls[node] / calls if calls else 0.0
        sums[keys[entity]] += round(best[node] * max(0.0, 1 - exact))
    return sums


def nearest_kept(profile: Profile, keys: Sequence[Key], contexts: Contexts, gone: set[Key]) -> dict[Key, dict[Key, int]]:
    """Where the self time of functions in `gone` would go if nothing saw them: by caller, the gone functions and their ns."""
    found: dict[Key, dict[Key, int]] = {}
    above: list[Key | None] = []
    best = profile.node_times.best
    for node, parent in enumerate(profile.tree.parent):
        key = keys[contexts.of_node[node]]
        caller = above[parent] if parent != NO_PARENT else None
        above.append(caller if key in gone else key)
        if key in gone and caller is not None:
            callees = found.setdefault(caller, {})
            callees[key] = callees.get(key, 0) + best[node]
    return found
