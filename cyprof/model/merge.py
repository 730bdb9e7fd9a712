"""Two profiles of the same program made into one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .calltree import NO_PARENT
from .function import Function
from .profile import Profile

WIDE_SHARE = 0.02
"""A function's time is settled by a second run when its probes' cost leaves more than this share of the run open."""
FASTER_WITHOUT = 0.7
"""A function that takes less than this part of its least possible time without a probe was changed by the probe itself."""

Key = tuple[str, str, str, int]


def wide_functions(profile: Profile) -> list[Function]:
    """The Cython functions whose probes may have cost more than WIDE_SHARE of the run, module bodies left out."""
    most = WIDE_SHARE * profile.self_sum_ns
    cost = profile.run.cost
    return [
        function
        for function, times in zip(profile.functions, profile.function_times, strict=True)
        if function.language == "cython" and times.calls * cost.of_call(function) > most and function.kind != "module"
    ]


def settle(first: Profile, second: Profile, without: list[Function]) -> Profile:
    """`first` with its times settled by `second`, a run of the same program with no probes in the functions `without`.

    In the second run their time is their callers', and true, since no probe disturbed it. Each probed function forms a
    group with the functions of `without` that it calls, directly or through one another; the group's time in the second run
    is shared out as the best estimates of the first are. The counts, and the times outside such groups, stay as they were.
    """
    gone = {function.id for function in without}
    owners = _owners(first, gone)
    true_ns = _self_by_key(second)
    estimated: Counter[int] = Counter()
    least: Counter[int] = Counter()
    members: dict[int, set[int]] = {}
    for node, owner in enumerate(owners):
        estimated[owner] += first.node_times.best[node]
        least[owner] += first.node_times.least[node]
        if first.tree.function[node] in gone:
            members.setdefault(owner, set()).add(first.tree.function[node])
    settled = [-1] * len(owners)
    for node, owner in enumerate(owners):
        key = _key(first.functions[owner])
        if owner in members and estimated[owner] and key in true_ns:
            settled[node] = round(first.node_times.best[node] * true_ns[key] / estimated[owner])
    notes = [
        _changed_note(first.functions[owner], [first.functions[member] for member in sorted(inside)])
        for owner, inside in members.items()
        if 0 < true_ns.get(_key(first.functions[owner]), 0) < FASTER_WITHOUT * least[owner]
    ]
    return replace(first, settled_ns=settled, notes=[*first.notes, *notes])


def _owners(profile: Profile, gone: set[int]) -> list[int]:
    """For each node the function that has its time when the functions `gone` carry no probes."""
    owners: list[int] = []
    for function, parent in zip(profile.tree.function, profile.tree.parent, strict=True):
        owners.append(owners[parent] if function in gone and parent != NO_PARENT else function)
    return owners


def _self_by_key(profile: Profile) -> Counter[Key]:
    sums: Counter[Key] = Counter()
    for function in set(profile.tree.function):
        sums[_key(profile.functions[function])] += profile.function_times[function].self_ns
    return sums


def _key(function: Function) -> Key:
    return function.module, function.name, function.file, function.line


def _changed_note(caller: Function, inside: list[Function]) -> str:
    names = ", ".join(function.name for function in inside)
    return (
        f"{caller.module}:{caller.name} is much faster without the probes in {names}: with them the C compiler does not "
        "inline or vectorise its loop. The times shown are those without."
    )
