"""Pictures: the call graph drawn by Graphviz as .svg, .png or .pdf."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from ..model import Profile
from ..view import Graph, ViewOptions, call_graph
from .dot import FONT, DotStyle, Placement, dot_text
from .engine import VARIABLE, Draw, GraphvizError, draw_with_dot, find_graphviz
from .placement import MOST_EDGES, page_size, place
from .registry import DrawingError, renderer
from .sources import source_line_of
from .svg import tidy_svg

PNG_DPI = 144
_MOST_PIXELS = 30_000
"""Cairo's limit is 32,767 either way; beyond it Graphviz would shrink the picture without a word of ours."""
_SIMPLER = ("spline", "polyline", "line")


@renderer(".svg", description="call graph as a picture that scales, with tooltips", groups=("graph",))
def svg_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The call graph as SVG."""
    graph = call_graph(profile, options, source_line_of(profile))
    return tidy_svg(draw(graph, "svg"), graph)


@renderer(".png", description="call graph as a picture", groups=("graph",))
def png_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The call graph as PNG at 144 dots an inch."""
    return draw(call_graph(profile, options, source_line_of(profile)), "png")


@renderer(".pdf", description="call graph as a page", groups=("graph",))
def pdf_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The call graph as PDF."""
    return draw(call_graph(profile, options, source_line_of(profile)), "pdf")


def draw(graph: Graph, form: str) -> bytes:
    """Draws a graph. Raises DrawingError, which holds the .dot, with Graphviz' own words.

    Where Graphviz fails on the layout, edges are tried in simpler shapes: its router of curves is what crashes on some
    large graphs. (Ranks across clusters, which fail on some as well, are given up with the curves.)
    """
    return attempts(form, lambda: dot_text(graph), lambda way, splines: _draw_once(graph, form, way, DotStyle(splines=splines)))


def attempts(form: str, dot: Callable[[], str], once: Callable[[Draw, str], bytes]) -> bytes:
    """The picture that `once` draws with a Graphviz and a shape of edges, the simpler shapes tried where it fails.

    Raises DrawingError, which holds the text of `dot`, with Graphviz' own words.
    """
    try:
        graphviz = find_graphviz()
    except GraphvizError as error:
        raise DrawingError(error.words, error.hint, dot()) from error
    if form != "svg" and not installed_fonts():
        hint = f"Install {FONT} (apt-get install fonts-dejavu-core), or write .svg, which is drawn with the viewer's font."
        raise DrawingError(f"No font is installed, so a .{form} would have no text.", hint, dot())
    first: GraphvizError | None = None
    for splines in _SIMPLER:
        try:
            return once(graphviz, splines)
        except GraphvizError as error:
            first = first or error
    assert first is not None
    other = "embedded" if graphviz is draw_with_dot else "dot"
    hint = first.hint or f"Fewer nodes may help (--min-share 2), or the other Graphviz ({VARIABLE}={other})."
    raise DrawingError(f"Graphviz could not draw the graph: {first.words}", hint, dot()) from first


def _laid_out(graph: Graph, graphviz: Draw, style: DotStyle) -> tuple[DotStyle, Placement, bytes]:
    """The layout of a graph. Where edges cross a module's title at the top, it is tried at the bottom."""

    def attempt(style: DotStyle) -> tuple[DotStyle, Placement, bytes]:
        layout = graphviz(dot_text(graph, replace(style, edge_labels=False)), "json0", False)
        return style, place(graph, layout), layout

    first = attempt(style)
    crossed = first[1].crossed_titles
    if not crossed or len(graph.edges) > MOST_EDGES:
        return first
    second = attempt(replace(style, low_titles=crossed))
    return second if len(second[1].crossed_titles) < len(crossed) else first


def _draw_once(graph: Graph, form: str, graphviz: Draw, style: DotStyle) -> bytes:
    style, placement, layout = _laid_out(graph, graphviz, style)
    dpi = None
    if form == "png":
        dpi = png_dpi(layout)
        if dpi < PNG_DPI:
            note = f"Drawn at {dpi} instead of {PNG_DPI} dots an inch, for its size; an .svg stays sharp."
            graph = replace(graph, footer=(*graph.footer, note))
    placed = replace(style, dpi=dpi, placement=placement)
    return graphviz(dot_text(graph, placed), form, True)


def png_dpi(layout: bytes) -> int:
    """Dots an inch for a picture of that layout (Graphviz' json0): PNG_DPI, less where it would have too many pixels."""
    longest = max(page_size(layout)) / 72
    return max(1, min(PNG_DPI, int(_MOST_PIXELS / max(1.0, longest))))


@cache
def installed_fonts() -> frozenset[str]:
    """The names of the font files fontconfig would find in the usual places."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 (Path.home() raises where there is none)
    data = os.environ.get("XDG_DATA_HOME") or str(home / ".local/share")
    shared = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    folders = [home / ".fonts", *(Path(base) / "fonts" for base in (data, *shared)), Path("/usr/share/X11/fonts")]
    folders += [Path("/System/Library/Fonts"), Path("/Library/Fonts")]
    fonts = re.compile(r".*\.(?:ttf|otf|ttc|pfb|pcf|pcf\.gz)$", re.IGNORECASE)
    return frozenset(file for folder in folders for _, _, files in os.walk(folder) for file in files if fonts.match(file))
