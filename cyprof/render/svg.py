"""Last touches to Graphviz' SVG: the classes and titles that design and readers rely on."""

from __future__ import annotations

import html
import re

from ..view import Graph

_CLASS = re.compile(r'(<g id="[^"]*" class=")(?:node|edge) ')
_TITLE = re.compile(r'(<g id="([^"]+)" class="[^"]*">\s*<title>)[^<]*(</title>)')


def tidy_svg(data: bytes, graph: Graph) -> bytes:
    """Gives nodes and edges the classes of the .dot alone, and titles that a browser shows as tooltip: Graphviz sets the
    node's bare id there."""
    tooltips = {node.id: node.tooltip for node in graph.nodes}
    tooltips |= {f"e{number}": edge.tooltip for number, edge in enumerate(graph.edges)}

    def title(found: re.Match[str]) -> str:
        tooltip = tooltips.get(found[2])
        return found[0] if tooltip is None else f"{found[1]}{html.escape(tooltip, quote=False)}{found[3]}"

    return _TITLE.sub(title, own_classes(data.decode())).encode()


def own_classes(svg: str) -> str:
    """SVG in which nodes and edges have the classes of the .dot alone, without Graphviz' own `node` and `edge`."""
    return _CLASS.sub(r"\1", svg)
