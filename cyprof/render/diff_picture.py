"""A comparison as a picture."""

from __future__ import annotations

from ..errors import UsageError
from ..view import Graph, ViewOptions
from ..view.compare import Comparison
from ..view.compare.graph import change_graph
from .dot import dot_text
from .image import draw
from .registry import renderer
from .svg import tidy_svg

Found = tuple[Comparison, ...]


@renderer(".dot", description="both call graphs in one, for Graphviz", groups=("diff",))
def dot_bytes(found: Found, options: ViewOptions) -> bytes:
    """The picture as DOT text, without positions."""
    del options
    return dot_text(_graph(found)).encode()


@renderer(".svg", description="both call graphs in one, coloured by what changed", groups=("diff",))
def svg_bytes(found: Found, options: ViewOptions) -> bytes:
    """The picture as SVG."""
    del options
    graph = _graph(found)
    return tidy_svg(draw(graph, "svg"), graph)


@renderer(".png", description="both call graphs in one, coloured by what changed", groups=("diff",))
def png_bytes(found: Found, options: ViewOptions) -> bytes:
    """The picture as PNG."""
    del options
    return draw(_graph(found), "png")


def _graph(found: Found) -> Graph:
    if len(found) != 1:
        raise UsageError(
            f"A picture shows two sides, and {len(found) + 1} were given.", "Name two, or write .html, which has room for more."
        )
    return change_graph(found[0])
