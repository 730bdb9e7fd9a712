"""Time that seems to have gone and has only changed its place: into a caller whose callee no probe sees any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from ..units import time_text
from .sides import Key, Runs, nearest_kept

Moved = Mapping[Key, Mapping[Key, tuple[int, ...]]]
"""By caller, the functions below it that only this side has, each with its self time there in every run, in ns."""


def only_here(runs: Runs, keys: Iterable[Key]) -> Moved:
    """Where the time of the functions `keys` would go if nothing saw them."""
    gone = set(keys)
    count = len(runs.measures)
    found: dict[Key, dict[Key, list[int]]] = {}
    if gone:
        for run, (profile, names, contexts) in enumerate(zip(runs.side.profiles, runs.keys, runs.contexts, strict=True)):
            for caller, callees in nearest_kept(profile, names, contexts, gone).items():
                for callee, spent in callees.items():
                    found.setdefault(caller, {}).setdefault(callee, [0] * count)[run] = spent
    return {caller: {callee: tuple(ns) for callee, ns in callees.items()} for caller, callees in found.items()}


def together(own: list[int], callees: Mapping[Key, tuple[int, ...]]) -> list[int]:
    """A caller's self time in every run with that of the callees added."""
    return [sum(values) for values in zip(own, *callees.values(), strict=True)]


def absorbed_text(callees: Mapping[Key, tuple[int, ...]]) -> str:
    """Why a caller only seems to have become slower."""
    return f"{_names(callees)} had {time_text(time_of(callees))} here and is not seen any more: callee is not probed"


def split_text(callees: Mapping[Key, tuple[int, ...]]) -> str:
    """Why a caller only seems to have become faster."""
    return f"{_names(callees)}, now seen by itself, has {time_text(time_of(callees))} of its time"


def time_of(callees: Mapping[Key, tuple[int, ...]]) -> float:
    """The self time of callees together, in ns, the median of the runs."""
    return median(map(sum, zip(*callees.values(), strict=True)))


def _names(callees: Mapping[Key, tuple[int, ...]]) -> str:
    names = [key[1] for key in sorted(callees, key=lambda key: -sum(callees[key]))]
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
