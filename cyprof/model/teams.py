"""How many threads of a parallel loop were at work: teams of OpenMP workers and the thread that owns them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from .calltree import NO_PARENT
from .profile import Profile


@dataclass(frozen=True, slots=True)
class Team:
    """The threads that ran one function together. `busy` is how many of them, on average over the function's time on its
    owner's clock, did not wait: `threads` at best, less where some had nothing left to do or the function was not parallel.
    """

    threads: int
    busy: float


def teams(profile: Profile) -> Mapping[int, Team]:
    """The teams by function id.

    A worker's node hangs beside its owner's, below the same caller (probe/tree.c), so its thread is not its parent's. What
    a caller without a probe started cannot be told from a thread of its own.
    """
    tree = profile.tree
    ran = tree.totals([own - min(own, wait) for own, wait in zip(profile.node_times.best, tree.wait_ns, strict=True)])
    threads: defaultdict[int, set[int]] = defaultdict(set)
    owners: set[tuple[int, int]] = set()
    for node, parent in enumerate(tree.parent):
        if parent != NO_PARENT and tree.thread[node] != tree.thread[parent]:
            threads[tree.function[node]].update((tree.thread[node], tree.thread[parent]))
            owners.add((parent, tree.function[node]))
    busy: defaultdict[int, int] = defaultdict(int)
    whole: defaultdict[int, int] = defaultdict(int)
    for node, parent in enumerate(tree.parent):
        if (parent, tree.function[node]) in owners:
            busy[tree.function[node]] += ran[node]
            if tree.thread[node] == tree.thread[parent]:
                whole[tree.function[node]] += profile.node_totals[node]
    return {function: Team(len(ids), busy[function] / max(1, whole[function])) for function, ids in threads.items()}
