"""Where in the source a profile's times and calls lie, for formats that hold costs by line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..model import NO_PARENT, Profile


@dataclass(frozen=True, slots=True)
class LineCost:
    """Self time in ns on one line, or of a whole function on the line it begins on."""

    file: str
    line: int
    self_ns: int


@dataclass(slots=True)
class CallSite:
    """Calls from one line of a function to another function. `line` is the caller's first where the site is not known."""

    caller: int
    callee: int
    line: int
    calls: int = 0
    resumes: int = 0
    total_ns: int = 0


def line_costs(profile: Profile) -> list[list[LineCost]]:
    """By function id its self time by line, where lines are known; it adds up to the function's self time."""
    costs: list[dict[tuple[str, int], int]] = [{} for _ in profile.functions]
    for time in profile.line_times:
        costs[time.function][time.file, time.line] = time.self_ns
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        lines = costs[function.id]
        rest = times.self_ns - sum(lines.values())
        # What rounding took from lines, or gave them, and the time of a function whose lines are not known.
        place = max(lines, key=lambda key: lines[key]) if rest < 0 else (function.file, function.line)
        lines[place] = lines.get(place, 0) + rest
    return [[LineCost(file, line, own) for (file, line), own in sorted(lines.items())] for lines in costs]


def call_sites(profile: Profile) -> list[CallSite]:
    """The edges of a profile split by the line they start on. Calls and total times of an edge's sites add up to its own."""
    tree = profile.tree
    own_lines = {
        (time.function, time.line) for time in profile.line_times if time.file == profile.functions[time.function].file
    }
    found: dict[tuple[int, int, int], CallSite] = {}
    open_edges: dict[tuple[int, int], int] = defaultdict(int)
    for node, entering in tree.walk():
        parent = tree.parent[node]
        if parent == NO_PARENT:
            continue
        caller, callee = tree.function[parent], tree.function[node]
        if not entering:
            open_edges[caller, callee] -= 1
            continue
        line = tree.call_line[node]
        if (caller, line) not in own_lines:
            line = profile.functions[caller].line
        site = found.setdefault((caller, callee, line), CallSite(caller, callee, line))
        site.calls += tree.calls[node]
        site.resumes += tree.resumes[node]
        if not open_edges[caller, callee]:
            site.total_ns += profile.node_totals[node]
        open_edges[caller, callee] += 1
    return list(found.values())
