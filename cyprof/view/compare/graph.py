"""The comparison as a picture: the call graph of both sides in one, coloured by what changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import median

from ..labels import language_of, module_label, place_text, title_text, tooltip_text
from ..measure import Link, links
from ..nodes import Cluster, Edge, Graph, Node
from ..options import USER_FUNCTIONS_KEPT
from ..palette import BORDER
from ..units import count_text, percent_text, shorten, time_text, visible
from .sides import Key, Runs
from .table import Comparison, Row
from .words import calls_text, change_text, kind_of, pace_text, ratio_text, self_text, side_text, summary_text, verdict_text

MOST_EDGES = 90
_LEAST_SHARE = 0.005
_Pair = tuple[str, str]


def change_graph(found: Comparison) -> Graph:
    """The picture of a comparison. Edges are those of each side's run of middle length."""
    summary = summary_text(found)
    found, hidden = _drawn(found)
    nodes = [_node(f"n{number}", row) for number, row in enumerate(found.rows)]
    edges = _edges(found)
    joined = {end for edge in edges for end in (edge.tail, edge.head)}
    # A function that nothing calls and that calls nothing shown is kept: it may be the only one.
    present = {node.language for node in nodes}
    lone = sum(node.id not in joined for node in nodes)
    footer = [pace_text(found), summary, *found.notes]
    if hidden:
        under = f"under {percent_text(100 * _LEAST_SHARE)} of the run left out of the picture"
        footer.append(f"{count_text(hidden, 'function')} {under}; the table has all.")
    if lone and edges:
        footer.append("A box without an arrow is reached through functions that are left out.")
    return Graph(
        title=f"{shorten(visible(found.before.side.name), 40)} → {shorten(visible(found.after.side.name), 40)}",
        subtitle=(side_text(0, found.before), side_text(1, found.after)),
        nodes=tuple(nodes),
        edges=tuple(edges),
        clusters=_clusters(found),
        footer=tuple(visible(line) for line in footer),
        languages=tuple(language for language in BORDER if language in present),
        message="" if nodes else "No function is left to compare.",
    )


def _drawn(found: Comparison) -> tuple[Comparison, int]:
    """The comparison with the rows that a picture has room for, and how many it has not: of many only those that changed by,
    or take, a share that can be seen."""
    if len(found.rows) <= USER_FUNCTIONS_KEPT:
        return found, 0
    sides = [[side for side in (row.before, row.after) if side] for row in found.rows]
    whole = max(1, *(sum(side.self_ns for row in found.rows if (side := getattr(row, name))) for name in ("before", "after")))
    rows = [
        row
        for row, present in zip(found.rows, sides, strict=True)
        if max(side.total_ns if row.function and row.function.kind != "module" else side.self_ns for side in present)
        >= _LEAST_SHARE * whole
    ]
    return replace(found, rows=tuple(rows)), len(found.rows) - len(rows)


def _node(name: str, row: Row) -> Node:
    function = row.function
    sizes = [side.self_ns for side in (row.before, row.after) if side]
    totals = (time_text(side.total_ns) if side else "" for side in (row.before, row.after))
    changed = row.verdict != "same"
    ratio = f" {ratio_text(row.ratio)}" if row.ratio and changed else ""
    return Node(
        id=name,
        kind=function.kind if function else "folded",
        language=language_of(function) if function else "folded",
        title=title_text(function) if function else shorten(visible(row.title), 40),
        tooltip=tooltip_text(function) if function else visible(row.title),
        place=place_text(function, recursive=False) if function else "",
        total=change_text(*totals),
        own=f"self {self_text(row)}",
        calls=_calls(row) if function else kind_of(row),
        hot_line=f"{verdict_text(row)}{ratio}" if changed else "",
        change=row.verdict,
        size=1 if changed else 0,
        cluster=function.module if function and function.language != "c" else "",
        self_ns=max(sizes),
        total_ns=max((side.total_ns for side in (row.before, row.after) if side), default=0),
    )


def _calls(row: Row) -> str:
    """Calls on both sides, or on the one that has the function: its box says new or gone."""
    one = row.after or row.before
    calls = calls_text(row) if one is None or (row.before and row.after) else f"{one.calls:,}"
    return f"{calls} {'call' if calls == '1' else 'calls'}"


def _clusters(found: Comparison) -> tuple[Cluster, ...]:
    members: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(found.rows):
        if row.function is not None and row.function.language != "c":
            members[row.function.module].append(number)
    clusters = []
    for number, (module, rows) in enumerate(members.items()):
        functions = [function for row in rows if (function := found.rows[row].function) is not None]
        label, language = module_label(module, functions)
        clusters.append(Cluster(f"m{number}", label, language, tuple(f"n{row}" for row in rows)))
    return tuple(clusters)


def _edges(found: Comparison) -> list[Edge]:
    names = [
        {key: f"n{number}" for number, row in enumerate(found.rows) if (key := getattr(row, field)) is not None}
        for field in ("before_key", "after_key")
    ]
    sides = [_links(runs, known) for runs, known in zip((found.before, found.after), names, strict=True)]
    whole = max((link.total_ns for side in sides for link in side.values()), default=1) or 1
    edges = []
    for pair in dict.fromkeys([*sides[1], *sides[0]]):
        before, after = sides[0].get(pair), sides[1].get(pair)
        calls = change_text(*(f"{link.calls:,}×" if link else "" for link in (before, after)))
        times = change_text(*(time_text(link.total_ns) if link else "" for link in (before, after)))
        largest = max(link.total_ns for link in (before, after) if link)
        edges.append(
            Edge(
                tail=pair[0],
                head=pair[1],
                label=calls,
                tooltip=f"{calls}, {times}",
                share=largest / whole,
                calls=(after or before).calls,  # type: ignore[union-attr]
                total_ns=largest,
                indirect=all(link.indirect for link in (before, after) if link),
            )
        )
    return _heaviest(edges)


def _heaviest(edges: list[Edge]) -> list[Edge]:
    """The edges, but of very many only each node's heaviest way in and the heaviest of the others."""
    if len(edges) <= MOST_EDGES:
        return edges
    into: dict[str, Edge] = {}
    for edge in edges:
        if edge.head not in into or edge.total_ns > into[edge.head].total_ns:
            into[edge.head] = edge
    needed = {id(edge) for edge in into.values()}
    others = sorted((edge for edge in edges if id(edge) not in needed), key=lambda edge: -edge.total_ns)
    kept = needed | {id(edge) for edge in others[: max(0, MOST_EDGES - len(needed))]}
    return [edge for edge in edges if id(edge) in kept]


def _links(runs: Runs, names: dict[Key, str]) -> dict[_Pair, Link]:
    walls = [profile.run.wall_ns for profile in runs.side.profiles]
    middle = median(walls)
    run = min(range(len(walls)), key=lambda index: abs(walls[index] - middle))
    keys, contexts = runs.keys[run], runs.contexts[run]
    shown = {entity.index for entity in contexts.entities if keys[entity.index] in names}
    found: dict[_Pair, Link] = {}
    for link in links(runs.side.profiles[run], contexts, shown):
        pair = names[keys[link.caller]], names[keys[link.callee]]
        known = found.get(pair)
        # A direct call and one through hidden functions are one arrow here.
        found[pair] = link if known is None else Link(
            link.caller, link.callee, known.indirect and link.indirect, known.calls + link.calls,
            known.resumes + link.resumes, known.total_ns + link.total_ns,
        )  # fmt: skip
    return found
