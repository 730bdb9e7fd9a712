"""Times and calls of entities, and the edges between those that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from ..model import NO_PARENT, Profile
from .contexts import Contexts


@dataclass(slots=True)
class Measures:
    """Calls and times (ns) of one entity. `total_ns` counts each stack once; a group's calls are those into it.

    Without call paths a group's total is the sum of what enters it, from its own time to that of the run: what leaves it and
    comes back is in it twice.
    """

    calls: int = 0
    primitive_calls: int = 0
    resumes: int = 0
    self_ns: int = 0
    least_ns: int = 0
    raw_ns: int = 0
    wait_ns: int = 0
    total_ns: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """Calls from one shown entity to another, through hidden ones when `indirect`. `total_ns` counts each stack once."""

    caller: int
    callee: int
    indirect: bool
    calls: int
    resumes: int
    total_ns: int


def measure(profile: Profile, contexts: Contexts) -> list[Measures]:
    """Calls and times of every entity, by its index."""
    tree, times, of_node = profile.tree, profile.node_times, contexts.of_node
    found = [Measures() for _ in contexts.entities]
    depth = [0] * len(found)
    for node, entering in tree.walk():
        entity = of_node[node]
        if not entering:
            depth[entity] -= 1
            continue
        sums, parent = found[entity], tree.parent[node]
        sums.self_ns += times.best[node]
        sums.least_ns += times.least[node]
        sums.raw_ns += times.raw[node]
        sums.wait_ns += min(tree.wait_ns[node], times.best[node])
        group = contexts.entities[entity].function is None
        inside_group = group and parent != NO_PARENT and of_node[parent] == entity
        if not inside_group:
            sums.calls += tree.calls[node]
            sums.resumes += tree.resumes[node]
        if not depth[entity]:
            sums.primitive_calls += profile.node_primitive_calls[node]
            # What a source without call paths states of recursion makes sense for one function, not for several together.
            sums.total_ns += max(0, profile.node_totals[node]) if group else profile.node_totals[node]
        depth[entity] += 1
    for each, sums in zip(contexts.entities, found, strict=True):
        if each.function is None and not profile.has_paths:
            sums.total_ns = min(max(sums.total_ns, sums.self_ns), profile.self_sum_ns)
    return found


def links(profile: Profile, contexts: Contexts, shown: Collection[int]) -> list[Link]:
    """The calls between shown entities, in the order they are first met.

    Where hidden functions lie between two shown ones, one indirect link stands for the path. A function's calls of
    itself are no link: the node says that it is recursive.
    """
    tree, of_node = profile.tree, contexts.of_node
    nearest = [NO_PARENT] * len(tree)
    keys: list[tuple[int, int, bool] | None] = [None] * len(tree)
    for node, parent in enumerate(tree.parent):
        above = nearest[parent] if parent != NO_PARENT else NO_PARENT
        entity = of_node[node]
        if entity not in shown:
            nearest[node] = above
            continue
        nearest[node] = entity
        if above not in (NO_PARENT, entity):
            keys[node] = (above, entity, of_node[parent] != above)
    calls: Counter[tuple[int, int, bool]] = Counter()
    resumes: Counter[tuple[int, int, bool]] = Counter()
    totals: Counter[tuple[int, int, bool]] = Counter()
    open_links: Counter[tuple[int, int, bool]] = Counter()
    for node, entering in tree.walk():
        key = keys[node]
        if key is None:
            continue
        if not entering:
            open_links[key] -= 1
            continue
        calls[key] += tree.calls[node]
        resumes[key] += tree.resumes[node]
        if not open_links[key]:
            totals[key] += profile.node_totals[node]
        open_links[key] += 1
    if not profile.has_paths:
        for key, total in totals.items():
            if contexts.entities[key[0]].function is None or contexts.entities[key[1]].function is None:
                totals[key] = min(total, profile.self_sum_ns)
    return [Link(*key, count, resumes[key], totals[key]) for key, count in calls.items()]
