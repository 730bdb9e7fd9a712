"""The call graph in the DOT language."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from ..model import Profile
from ..view import Edge, Graph, Node, ViewOptions, call_graph
from ..view import palette as colours
from . import markup
from .registry import renderer
from .sources import source_line_of

FONT = "DejaVu Sans"
FONT_SIZE = 11
LABEL_SIZE = 9
FONTS = f"{FONT},Verdana,sans-serif"
"""The family the picture is laid out for, then what may stand in for it where an .svg is looked at."""
_TITLE_SIZES = (11, 12.5, 15)
_HEAD_WIDTH = 96
_FOOT_WIDTH = 128
_THINNEST, _WIDEST = 0.8, 5.0
_LEAVES_A_ROW = 3
_LARGE = 40
_HUGE = 120
"""With more nodes than this (only ever asked for with --all) a good layout would take minutes."""


@dataclass(frozen=True)
class Placement:
    """Where Graphviz put things, as attributes of the graph, of nodes and clusters by id, and of edges by number."""

    graph: dict[str, str]
    nodes: dict[str, dict[str, str]]
    clusters: dict[str, dict[str, str]]
    edges: list[dict[str, str]]
    crossed_titles: frozenset[str] = frozenset()
    """The clusters through whose title an edge runs, there being no place free of edges beside it."""


@dataclass(frozen=True)
class DotStyle:
    """What differs between two drawings of the same graph: fonts, resolution, how edges run, and fixed places."""

    fonts: str = FONTS
    dpi: int | None = None
    splines: str = "spline"
    placement: Placement | None = field(default=None)
    edge_labels: bool = True
    low_titles: frozenset[str] = frozenset()
    """The clusters that have their title at the bottom."""


@renderer(".dot", description="call graph for Graphviz", groups=("graph",))
def dot_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The call graph as DOT text, without positions."""
    return dot_text(call_graph(profile, options, source_line_of(profile))).encode()


def dot_text(graph: Graph, style: DotStyle | None = None) -> str:
    """The graph in the DOT language, without positions unless the style holds them."""
    style = style or DotStyle()
    lines = ["digraph cyprof {", f"  graph {markup.attributes(_graph_attributes(graph, style))};"]
    lines.append(f"  node {markup.attributes({'shape': 'plain', 'fontname': style.fonts, 'fontsize': FONT_SIZE})};")
    edge_defaults = {
        "fontname": style.fonts,
        "fontsize": LABEL_SIZE,
        "fontcolor": colours.EDGE_TEXT,
        "color": colours.EDGE,
    }
    lines.append(f"  edge {markup.attributes(edge_defaults)};")
    lines.append("  subgraph cluster_page {")
    head = {"label": _head(graph), "peripheries": 0, "margin": 4, "tooltip": graph.title}
    lines.append(f"    graph {markup.attributes(head | _cluster_place(style, 'cluster_page'))};")
    clustered: set[str] = set()
    by_id = {node.id: node for node in graph.nodes}
    for cluster in graph.clusters:
        name = f"cluster_{cluster.id}"
        look = {
            "label": cluster.label,
            "style": "rounded,filled",
            "color": colours.CLUSTER_LINE[cluster.language],
            "fillcolor": colours.CLUSTER_FILL[cluster.language],
            "fontcolor": colours.CLUSTER_TEXT[cluster.language],
            "margin": 10,
            "peripheries": 1,
            "tooltip": cluster.label,
        }
        lines.append(f"    subgraph {name} {{")
        lines.append(f"      graph {markup.attributes(look | _cluster_place(style, name))};")
        lines += [f"      {_node(by_id[node], style)};" for node in cluster.nodes]
        lines.append("    }")
        clustered.update(cluster.nodes)
    lines += [f"    {_node(node, style)};" for node in graph.nodes if node.id not in clustered]
    if graph.message:
        lines.append(f"    {_message(graph, style)};")
    lines.append("  }")
    lengths = _edge_lengths(graph)
    backward = _backward_edges(graph)
    for number, edge in enumerate(graph.edges):
        lines.append(f"  {_edge(edge, number, 0 if number in backward else lengths[number], style)};")
    return "\n".join([*lines, "}", ""])


def _graph_attributes(graph: Graph, style: DotStyle) -> dict[str, object]:
    values: dict[str, object] = {
        "rankdir": "TB",
        "bgcolor": colours.PAGE,
        "fontname": style.fonts,
        "fontsize": FONT_SIZE,
        "labelloc": "t",
        "labeljust": "l",
        "nodesep": 0.22,
        "ranksep": 0.5,
        "pad": 0.2,
        "splines": style.splines,
        "dpi": style.dpi,
        "tooltip": graph.title,
    }
    if len(graph.nodes) > _LARGE and style.splines == "spline":
        # One rank order over all modules: narrower where there are many, while a few are clearer one below another.
        values["newrank"] = "true"
    if len(graph.nodes) > _HUGE:
        values |= {"nslimit": 0.5, "nslimit1": 0.5, "mclimit": 0.1, "splines": "line", "rankdir": "LR"}
    if graph.footer:
        values["label"] = _foot(graph)
        # Attributes of the root are handed down to clusters, so the page and its clusters set theirs again.
        values["labelloc"] = "b"
    if style.placement:
        values |= style.placement.graph
    return values


def _cluster_place(style: DotStyle, name: str) -> dict[str, object]:
    place: dict[str, object] = {"labelloc": "b" if name in style.low_titles else "t"}
    if style.placement:
        place |= style.placement.clusters.get(name, {})
    return place


def _head(graph: Graph) -> str:
    rows = [markup.cell(markup.font(graph.title, size=17, bold=True))]
    line = ""
    for word in graph.subtitle:
        longer = f"{line} · {word}" if line else word
        if line and len(longer) > _HEAD_WIDTH:
            rows.append(markup.cell(markup.font(line, colours.SOFT_TEXT)))
            longer = word
        line = longer
    if line:
        rows.append(markup.cell(markup.font(line, colours.SOFT_TEXT)))
    if graph.nodes:
        rows.append(markup.cell(_legend(graph)))
    return markup.table(rows, border=0, cellborder=0, cellspacing=0, cellpadding=2)


_LANGUAGE_NAMES: dict[colours.Language, str] = {
    "python": "Python",
    "cython": "Cython",
    "nogil": "Cython nogil",
    "c": "C",
    "folded": "folded",
    "unseen": "unseen",
}


def _legend(graph: Graph) -> str:
    """The meaning of fill, border and edge in one row."""
    small = LABEL_SIZE

    def note(text: str) -> str:
        return markup.cell(markup.font(text, colours.SOFT_TEXT, small))

    cells = _change_legend(graph) if any(node.change for node in graph.nodes) else _share_legend(note("self time "))
    cells.append(note("  language "))
    for language in graph.languages:
        if language not in _LANGUAGE_NAMES:
            continue
        fill = {"folded": colours.FOLDED_FILL, "unseen": colours.HATCH[1]}.get(language, colours.PAGE)
        name = markup.font(_LANGUAGE_NAMES[language], colours.TEXT, small)
        look = {"border": 2 if language == "nogil" else 1, "color": colours.BORDER[language], "bgcolor": fill}
        cells.append(markup.cell(name, "CENTER", **look))
        cells.append(note(""))
    if graph.edges:
        cells.append(note("  arrow: calls, share of run; wide = long"))
        cells.append(markup.cell(markup.font("dark = hottest path", colours.HOT_EDGE, small)))
    return markup.table(["".join(cells)], border=0, cellborder=0, cellspacing=0, cellpadding=2)


def _share_legend(head: str) -> list[str]:
    cells = [head]
    for step, (color, least) in enumerate(zip(colours.RAMP, colours.RAMP_FROM, strict=True)):
        text = "<1" if not step else f"{least * 100:.0f}" + ("+ %" if step == len(colours.RAMP) - 1 else "")
        swatch = markup.font(text, colours.TEXT, LABEL_SIZE)
        cells.append(markup.cell(swatch, "CENTER", border=1, color="#bbbbbb", bgcolor=color, width=24))
    return cells


def _change_legend(graph: Graph) -> list[str]:
    """What the fills of a comparison mean."""
    present = {node.change for node in graph.nodes}
    cells = [markup.cell(markup.font("self time ", colours.SOFT_TEXT, LABEL_SIZE))]
    for change, color in colours.CHANGE_FILL.items():
        if change in present:
            name = markup.font("same within noise" if change == "same" else change, colours.TEXT, LABEL_SIZE)
            cells.append(markup.cell(name, "CENTER", border=1, color="#bbbbbb", bgcolor=color))
    return cells


def _foot(graph: Graph) -> str:
    lines = [line for sentence in graph.footer for line in markup.wrapped(sentence, _FOOT_WIDTH)]
    rows = [markup.cell(markup.font(line, colours.SOFT_TEXT, LABEL_SIZE)) for line in lines]
    return markup.table(rows, border=0, cellborder=0, cellspacing=0, cellpadding=1)


def _message(graph: Graph, style: DotStyle) -> str:
    rows = [markup.cell(markup.font(line)) for line in markup.wrapped(graph.message, 70)]
    place = style.placement.nodes.get("message", {}) if style.placement else {}
    label = markup.table(rows, border=0, cellborder=0, cellspacing=0, cellpadding=2)
    return f"message {markup.attributes({'label': label, 'class': 'message', 'tooltip': graph.message} | place)}"


def _node(node: Node, style: DotStyle) -> str:
    values: dict[str, object] = {"id": node.id, "class": node.css_class, "tooltip": node.tooltip}
    if node.language == "unseen":
        stripes = ":".join(colours.HATCH * 20)
        values |= {"shape": "box", "style": "striped", "fillcolor": stripes, "color": colours.BORDER["unseen"]}
        values |= {"penwidth": 0.4, "margin": "0.12,0.1"}
    values["label"] = _node_label(node)
    if style.placement:
        values |= style.placement.nodes.get(node.id, {})
    return f"{node.id} {markup.attributes(values)}"


def _node_label(node: Node) -> str:
    soft = colours.SOFT_TEXT_ON_FILL if node.level >= 3 else colours.SOFT_TEXT
    size = _TITLE_SIZES[node.size]
    name = markup.font(node.title, colours.TEXT, size, bold=True)
    place = f" {markup.font(node.place, soft)}" if node.place else ""
    total = markup.font(node.total, colours.TEXT, size, bold=node.size > 0)
    if not node.size:
        # A bold space: without it the line would sit a little lower than that of the bold name beside it.
        total = f"<B> </B>{total}"
    gap = markup.cell("", width=8)
    rows = [markup.cell(name + place) + gap + markup.cell(total, "RIGHT")]
    if node.own or node.calls:
        own = markup.font(node.own, colours.TEXT if node.level >= 2 else soft, bold=node.level >= 3)
        rows.append(markup.cell(own) + gap + markup.cell(markup.font(node.calls, soft), "RIGHT"))
    if node.hot_line:
        rows.append(markup.cell(markup.font(node.hot_line, soft), colspan=3))
    look: dict[str, object] = {"cellborder": 0, "cellspacing": 0, "cellpadding": 3}
    if node.language == "unseen":
        return markup.table(rows, border=0, bgcolor=colours.PAGE, **look)
    fill = colours.FOLDED_FILL if node.kind in ("folded", "thread") and not node.level else colours.RAMP[node.level]
    if node.change:
        fill = colours.CHANGE_FILL[node.change]
    border = 3 if node.language == "nogil" and node.level >= 3 else 2 if node.language == "nogil" else 1
    style = {"style": "ROUNDED"} if node.kind in ("folded", "thread", "module") else {}
    color = colours.BORDER[node.language]
    return markup.table(rows, border=border, color=color, bgcolor=fill, **style, **look)


def pen_width(edge: Edge) -> float:
    """The width of an edge in points, by its time."""
    return round(_THINNEST + (_WIDEST - _THINNEST) * max(0.0, min(1.0, edge.share)), 2)


def arrow_size(edge: Edge) -> float:
    """The size of an edge's arrow head; 1 is 10 points long."""
    return round(0.45 + 0.233 * math.sqrt(pen_width(edge)), 2)


def _edge_lengths(graph: Graph) -> list[int]:
    """How many ranks each edge spans at least. A function's callees that call nothing themselves stand in short rows
    below one another: in one row they would make the picture as wide as they are many."""
    callers = {edge.tail for edge in graph.edges}
    leaves: Counter[str] = Counter()
    lengths = [1] * len(graph.edges)
    if len(graph.nodes) > _HUGE:
        return lengths
    for number in sorted(range(len(lengths)), key=lambda number: -graph.edges[number].total_ns):
        edge = graph.edges[number]
        if edge.head not in callers:
            lengths[number] += leaves[edge.tail] // _LEAVES_A_ROW
            leaves[edge.tail] += 1
    return lengths


def _backward_edges(graph: Graph) -> set[int]:
    """Edges that only lead back where another came from. They must not pull their ends into one rank."""
    seen: set[tuple[str, str]] = set()
    found = set()
    for number, edge in enumerate(graph.edges):
        if (edge.head, edge.tail) in seen:
            found.add(number)
        seen.add((edge.tail, edge.head))
    return found


def _edge(edge: Edge, number: int, length: int, style: DotStyle) -> str:
    values: dict[str, object] = {
        "id": f"e{number}",
        "class": edge.css_class,
        "label": edge.label if style.edge_labels else None,
        "tooltip": edge.tooltip,
        "labeltooltip": edge.tooltip,
        "penwidth": pen_width(edge),
        "arrowsize": arrow_size(edge),
        "weight": 1 + round(9 * edge.share) + (10 if edge.hot else 0),
    }
    if not length:
        values["constraint"] = "false"
    elif length > 1:
        values["minlen"] = length
    if edge.hot:
        values["color"] = colours.HOT_EDGE
    if edge.indirect:
        values["style"] = "dashed"
    if style.placement:
        values |= style.placement.edges[number]
    return f"{edge.tail} -> {edge.head} {markup.attributes(values)}"
