"""Folded stacks, one a line: `main;solve;dot 1234`, for flamegraph.pl, inferno, speedscope and others."""

from __future__ import annotations

from ..model import NO_PARENT, Profile
from ..view import ViewOptions
from ..view.names import unique_names
from .registry import FOR_OTHER_VIEWERS, renderer


@renderer(
    ".collapsed",
    description="folded stacks with self time in ns: flamegraph.pl, inferno",
    groups=FOR_OTHER_VIEWERS,
    limits="Folded stacks hold self time along each call path, and no calls, lines or threads.",
    needs_paths=True,
)
def collapsed_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """Self time in whole nanoseconds of every call path, threads put together; a path that only leads to others has no line
    of its own when it took no time. A `;` in a name becomes `；`. Options do not change it."""
    del options
    tree, own = profile.tree, profile.node_times.best
    names = unique_names(profile.functions, {";": "；"})
    leads_on = set(tree.parent)
    sums: dict[str, int] = {}
    stacks = {NO_PARENT: ""}
    for node, entering in tree.walk():
        if not entering:
            del stacks[node]
            continue
        above = stacks[tree.parent[node]]
        name = names[tree.function[node]]
        stack = stacks[node] = f"{above};{name}" if above else name
        if own[node] or node not in leads_on:
            sums[stack] = sums.get(stack, 0) + own[node]
    return "".join(f"{stack} {ns}\n" for stack, ns in sums.items()).encode()
