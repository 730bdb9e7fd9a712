"""The call graph as names, calls and times alone, for pictures that bring a look of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..model import Profile
from .contexts import Entity, fold
from .footer import footer_lines
from .graph import subtitle, thin_out, unseen_nodes
from .labels import tooltip_text
from .measure import links, measure
from .options import ViewOptions
from .select import Facts, select
from .units import shorten, visible

_LONGEST_NAME = 64

Keep = Callable[[str], bool]
"""Says of a dotted name whether it is shown."""


@dataclass(frozen=True, slots=True)
class PlainNode:
    """A function, a folded group or time no probe saw. `name` is dotted and no other node has it, `module` its beginning, ""
    for what is no function. `total_ns` counts each stack once, so recursion never counts twice."""

    name: str
    module: str
    kind: str
    tooltip: str
    calls: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class PlainEdge:
    """Calls between two nodes, by name; of a function by itself too. `indirect` through functions that are not shown."""

    caller: str
    callee: str
    calls: int
    indirect: bool = False


@dataclass(frozen=True, slots=True)
class PlainGraph:
    """Nodes and edges, the lines `about` the run, and the `footer` that says what was left out."""

    nodes: tuple[PlainNode, ...]
    edges: tuple[PlainEdge, ...]
    about: tuple[str, ...]
    footer: tuple[str, ...]


def plain_graph(profile: Profile, options: ViewOptions, keep: Keep | None = None) -> PlainGraph:
    """The call graph of a profile, folded and selected as the options say, less the names that `keep` refuses."""
    contexts = fold(profile, options)
    facts = Facts(profile, options, contexts, measure(profile, contexts))
    selection = select(facts)
    names = _names([contexts.entities[index] for index in selection.shown])
    if keep is not None:
        selection = selection.without("hide", [index for index, name in names.items() if not keep(name)])
    shown = set(selection.shown)
    found = links(profile, contexts, shown)
    kept = thin_out(found, facts)
    nodes = [_node(contexts.entities[index], names[index], facts) for index in selection.shown]
    nodes += [PlainNode(node.title, "", node.kind, node.tooltip, 0, node.total_ns) for node in unseen_nodes(profile)]
    edges = [PlainEdge(names[link.caller], names[link.callee], link.calls, link.indirect) for link in kept]
    of_function = {contexts.entities[index].function: names[index] for index in shown}
    edges += [
        PlainEdge(of_function[function], of_function[function], calls)
        for number, calls in _own_calls(profile).items()
        for function in (profile.functions[number],)
        if function in of_function
    ]
    footer = footer_lines(facts, selection, len(found) - len(kept), indirect=any(link.indirect for link in kept))
    return PlainGraph(tuple(nodes), tuple(edges), subtitle(selection, facts), footer)


def _own_calls(profile: Profile) -> Counter[int]:
    """Calls of functions by themselves, by function."""
    return Counter({edge.caller: edge.calls for edge in profile.edges if edge.caller == edge.callee and edge.calls})


def _names(entities: list[Entity]) -> dict[int, str]:
    """A name for each entity by its index: `module.qualified name`, with the line where two would be called the same."""
    plain = {entity.index: _dotted(entity) for entity in entities}
    often = Counter(plain.values())
    taken: set[str] = set()
    for entity in entities:
        name = plain[entity.index]
        if often[name] > 1 and entity.function is not None:
            name = f"{name}:{entity.function.line}"
        if name in taken:
            name = f"{name} #{entity.index}"
        taken.add(name)
        plain[entity.index] = name
    return plain


def _dotted(entity: Entity) -> str:
    function = entity.function
    if function is None:
        return shorten(visible(entity.title), _LONGEST_NAME)
    return shorten(visible(".".join(part for part in (function.module, function.name) if part)) or "?", _LONGEST_NAME)


def _node(entity: Entity, name: str, facts: Facts) -> PlainNode:
    sums, function = facts.measures[entity.index], entity.function
    if function is None:
        return PlainNode(name, "", "folded", visible(f"{entity.title}: folded"), sums.calls, sums.total_ns)
    module = visible(function.module)
    return PlainNode(name, module, function.kind, tooltip_text(function), sums.calls, sums.total_ns)
