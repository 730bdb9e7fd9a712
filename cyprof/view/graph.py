"""From a profile to the call graph that is drawn: fold, measure, select, link, label, in that order."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from pathlib import PurePath

from ..model import NO_PARENT, Function, Profile
from .contexts import IMPORT, Entity, fold
from .footer import footer_lines
from .labels import (
    SourceLine,
    calls_text,
    edge_label,
    edge_tooltip,
    hot_line_text,
    hottest_lines,
    language_of,
    module_label,
    own_text,
    place_text,
    size_of,
    title_text,
    tooltip_text,
)
from .measure import Link, links, measure
from .nodes import Cluster, Edge, Graph, Node
from .options import ViewOptions
from .palette import BORDER, level
from .select import Facts, Selection, select
from .units import count_text, share_text, shorten, time_text, visible

_EDGES_KEPT = 120
_EDGES_FOLLOWED = 40
"""With more edges than this, the light ones that lead through what is not shown are more noise than help."""
_EDGE_SHARE = 0.2
"""An edge below this part of `--min-share` is a light one."""


def call_graph(profile: Profile, options: ViewOptions, source_line: SourceLine | None = None) -> Graph:
    """The call graph of a profile as a picture is to show it. Reads no file: `source_line` gives the text of hot lines."""
    contexts = fold(profile, options)
    facts = Facts(profile, options, contexts, measure(profile, contexts))
    selection = select(facts)
    found = links(profile, contexts, set(selection.shown))
    kept = thin_out(found, facts)
    nodes = _function_nodes(selection, facts, source_line) + unseen_nodes(profile)
    edges = _edges(kept, _hot_path(kept, facts), facts)
    if options.threads and profile.threads:
        thread_nodes, thread_edges = _threads(selection, facts)
        nodes, edges = nodes + thread_nodes, edges + thread_edges
    footer = footer_lines(facts, selection, len(found) - len(kept), indirect=any(link.indirect for link in kept))
    present = {node.language for node in nodes}
    return Graph(
        title=shorten(visible(PurePath(profile.run.target).name or profile.run.target or "?"), 60),
        subtitle=subtitle(selection, facts),
        nodes=tuple(nodes),
        edges=tuple(edges),
        clusters=_clusters(selection, facts),
        footer=footer,
        languages=tuple(language for language in BORDER if language in present),
        message=_message(selection, facts) if not nodes else "",
    )


def subtitle(selection: Selection, facts: Facts) -> tuple[str, ...]:
    """What was run with, and how many of its functions are shown."""
    run, entities = facts.profile.run, facts.contexts.entities
    shown = sum(entities[index].function is not None for index in selection.shown)
    total = len(set(facts.profile.tree.function))
    words = [
        f"{time_text(run.wall_ns)} {'wall' if facts.profile.has_paths else 'in all'}",
        f"clock {run.clock}" if run.clock else "",
        f"Python {run.python}" if run.python else "",
        f"Cython {run.cython}" if run.cython else "",
        f"exit code {run.exit_code}" if run.exit_code else "",
        f"{shown:,} of {count_text(total, 'function')} shown",
    ]
    return tuple(visible(word) for word in words if word)


def _message(selection: Selection, facts: Facts) -> str:
    if selection.left_out:
        return "Every function that ran is left out by the options; the lines below say by which."
    notes = facts.profile.notes
    return visible(notes[0]) if notes else "No function was recorded: nothing that carries probes ran."


def _node_id(entity: Entity) -> str:
    return f"f{entity.function.id}" if entity.function is not None else f"g{entity.index}"


def _function_nodes(selection: Selection, facts: Facts, source_line: SourceLine | None) -> list[Node]:
    hottest = hottest_lines(facts.profile)
    whole = facts.profile.self_sum_ns
    nodes = []
    for index in selection.shown:
        entity, sums = facts.contexts.entities[index], facts.measures[index]
        function = entity.function
        if function is None:
            nodes.append(_group_node(entity, facts))
            continue
        share = sums.self_ns / whole
        remark = visible(facts.profile.remarks.get(function.id, ""))
        nodes.append(
            Node(
                id=_node_id(entity),
                kind=function.kind,
                language=language_of(function),
                title=title_text(function),
                tooltip=tooltip_text(function, remark),
                place=place_text(function, recursive=sums.primitive_calls != sums.calls),
                total=time_text(sums.total_ns),
                own=own_text(sums, whole),
                calls=calls_text(sums, each=size_of(share) > 0),
                hot_line=remark or hot_line_text(hottest.get(function.id), sums, whole, source_line),
                level=level(share),
                size=size_of(share),
                cluster="" if function.language == "c" else function.module,
                self_ns=sums.self_ns,
                total_ns=sums.total_ns,
            )
        )
    return nodes


def _group_node(entity: Entity, facts: Facts) -> Node:
    sums, whole = facts.measures[entity.index], facts.profile.self_sum_ns
    functions = count_text(len(facts.contexts.folded_functions[entity.index]), "function")
    return Node(
        id=_node_id(entity),
        kind="folded",
        language="folded",
        title=shorten(visible(entity.title), 40),
        place=functions,
        tooltip=visible(f"{entity.title}: {functions} folded"),
        total=time_text(sums.total_ns),
        own=own_text(sums, whole),
        calls=f"entered {sums.calls:,}×" if entity.title != IMPORT else "",
        level=level(sums.self_ns / whole),
        self_ns=sums.self_ns,
        total_ns=sums.total_ns,
    )


def unseen_nodes(profile: Profile) -> list[Node]:
    """A node for each module whose time no probe saw, where that time is known."""
    nodes = []
    for number, unseen in enumerate(profile.unseen):
        if not unseen.share or unseen.share <= 0:
            continue
        spent = round(unseen.share * profile.run.wall_ns)
        nodes.append(
            Node(
                id=f"u{number}",
                kind="unseen",
                language="unseen",
                title=f"unseen: {shorten(visible(unseen.module), 40)}",
                tooltip=visible(f"{unseen.module}: {unseen.reason}. {unseen.hint}".strip()),
                total=time_text(spent),
                own=f"{share_text(unseen.share)} of the run",
                hot_line=textwrap.shorten(visible(unseen.reason), 60, placeholder=" …"),
                total_ns=spent,
            )
        )
    return nodes


def thin_out(found: list[Link], facts: Facts) -> list[Link]:
    """Drops light edges where there are too many to follow, but never a node's heaviest way in: first those through hidden
    functions and folded groups, then any."""
    if facts.options.everything or len(found) <= _EDGES_FOLLOWED:
        return found
    heaviest: dict[int, Link] = {}
    for link in found:
        best = heaviest.get(link.callee)
        if best is None or link.total_ns > best.total_ns:
            heaviest[link.callee] = link
    needed = {id(link) for link in heaviest.values()}
    least = facts.options.min_share / 100 * _EDGE_SHARE * facts.profile.self_sum_ns
    entities = facts.contexts.entities

    def light(link: Link) -> bool:
        folded = entities[link.caller].function is None or entities[link.callee].function is None
        return link.total_ns < least and (link.indirect or folded)

    found = [link for link in found if id(link) in needed or not light(link)]
    if len(found) <= _EDGES_KEPT:
        return found
    heavy = sorted((link for link in found if link.total_ns >= least), key=lambda link: -link.total_ns)
    kept = needed | {id(link) for link in heavy[:_EDGES_KEPT]}
    return [link for link in found if id(link) in kept]


def _hot_path(found: list[Link], facts: Facts) -> set[Link]:
    """From the entry with the most time, the heaviest call of each function in turn."""
    ways: dict[int, list[Link]] = defaultdict(list)
    for link in found:
        ways[link.caller].append(link)
    called = {link.callee for link in found}
    starts = [caller for caller in ways if caller not in called] or list(ways)
    path: set[Link] = set()
    if not starts:
        return path
    here = max(starts, key=lambda index: (facts.measures[index].total_ns, -index))
    visited = {here}
    while True:
        onward = [link for link in ways[here] if link.callee not in visited]
        best = max(onward, key=lambda link: link.total_ns, default=None)
        # The path ends where the function's own work weighs more than anything it calls.
        if best is None or best.total_ns < facts.measures[here].self_ns or best.total_ns * 20 < facts.profile.self_sum_ns:
            return path
        path.add(best)
        here = best.callee
        visited.add(here)


def _edges(found: list[Link], hot: set[Link], facts: Facts) -> list[Edge]:
    whole, entities = facts.profile.self_sum_ns, facts.contexts.entities
    return [
        Edge(
            tail=_node_id(entities[link.caller]),
            head=_node_id(entities[link.callee]),
            label=edge_label(link, whole),
            tooltip=edge_tooltip(link, entities[link.caller].title, entities[link.callee].title, whole),
            share=link.total_ns / whole,
            calls=link.calls,
            total_ns=link.total_ns,
            indirect=link.indirect,
            hot=link in hot,
        )
        for link in found
    ]


def _clusters(selection: Selection, facts: Facts) -> tuple[Cluster, ...]:
    members: dict[str, list[Function]] = defaultdict(list)
    for index in selection.shown:
        function = facts.contexts.entities[index].function
        if function is not None and function.language != "c":
            members[function.module].append(function)
    clusters = []
    for number, (module, functions) in enumerate(members.items()):
        label, language = module_label(module, functions)
        clusters.append(Cluster(f"m{number}", label, language, tuple(f"f{function.id}" for function in functions)))
    return tuple(clusters)


def _threads(selection: Selection, facts: Facts) -> tuple[list[Node], list[Edge]]:
    """A node for each thread, with an edge to the outermost functions it ran."""
    tree, shown, whole = facts.profile.tree, set(selection.shown), facts.profile.self_sum_ns
    nearest = [NO_PARENT] * len(tree)
    sums: dict[tuple[int, int], list[int]] = {}
    spent: dict[int, int] = defaultdict(int)
    for node, parent in enumerate(tree.parent):
        if parent == NO_PARENT:
            spent[tree.thread[node]] += facts.profile.node_totals[node]
        above = nearest[parent] if parent != NO_PARENT else NO_PARENT
        entity = facts.contexts.of_node[node]
        nearest[node] = entity if entity in shown else above
        if above == NO_PARENT and entity in shown:
            into = sums.setdefault((tree.thread[node], entity), [0, 0])
            into[0] += tree.calls[node]
            into[1] += facts.profile.node_totals[node]
    names = {thread.id: facts.profile.thread_title(thread) for thread in facts.profile.threads}
    nodes: list[Node] = []
    for thread, total in spent.items():
        title = shorten(visible(names.get(thread, str(thread))), 40)
        nodes.append(
            Node(
                id=f"t{thread}",
                kind="thread",
                language="thread",
                title=f"thread {title}",
                tooltip=f"thread {title}",
                total=time_text(total),
                total_ns=total,
            )
        )
    edges = []
    for (thread, entity), (calls, total) in sums.items():
        link = Link(-1, entity, False, calls, 0, total)
        target = facts.contexts.entities[entity]
        edges.append(
            Edge(
                tail=f"t{thread}",
                head=_node_id(target),
                label=edge_label(link, whole),
                tooltip=edge_tooltip(link, f"thread {names.get(thread, thread)}", target.title, whole),
                share=total / whole,
                calls=calls,
                total_ns=total,
            )
        )
    return nodes, edges
