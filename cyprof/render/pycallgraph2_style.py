"""The call graph as pycallgraph2 draws it: its output, configuration, colours, grouper and filter, fed from our profile.

Its tracer is never started: it sees no Cython function on any Python and counts others wrongly. Its classes are handed
what a tracer would have found. What is drawn is its DOT text; Graphviz is run as for every other picture, since its own
way loses Graphviz' exit code and words.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from glob import escape
from typing import Any

from ..model import Profile
from ..view import ViewOptions, plain_graph
from ..view.units import visible
from .dot import FONTS
from .engine import Draw
from .image import attempts, png_dpi
from .markup import between_quotes
from .registry import renderer
from .svg import own_classes

GROUP = "pycallgraph2"
_NEEDS = ("pycallgraph2", "setuptools")
_FONT_SIZE = 9


@renderer(".svg", description="call graph in pycallgraph2's style", groups=(GROUP,), needs=_NEEDS)
def svg_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """pycallgraph2's picture as SVG."""
    return own_classes(_Picture(profile, options).draw("svg").decode()).encode()


@renderer(".png", description="call graph in pycallgraph2's style", groups=(GROUP,), needs=_NEEDS)
def png_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """pycallgraph2's picture as PNG."""
    return _Picture(profile, options).draw("png")


@renderer(".pdf", description="call graph in pycallgraph2's style", groups=(GROUP,), needs=_NEEDS)
def pdf_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """pycallgraph2's picture as PDF."""
    return _Picture(profile, options).draw("pdf")


@renderer(".dot", description="call graph in pycallgraph2's style", groups=(GROUP,), needs=_NEEDS)
def dot_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """pycallgraph2's DOT text."""
    return _Picture(profile, options).text().encode()


def pycallgraph2() -> Any:
    """The package, imported without what its import does to others: it needs a distutils, which setuptools brings where
    Python has none any more, and puts a cache of its own in the place of `inspect.getmodule`."""
    getmodule = inspect.getmodule
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its escape sequences, and of distutils
        importlib.import_module("setuptools")
        try:
            package = importlib.import_module("pycallgraph2")
            importlib.import_module("pycallgraph2.output")
            importlib.import_module("pycallgraph2.tracer")
        finally:
            inspect.getmodule = getmodule
    return package


class _Picture:
    """One graph in the form of pycallgraph2's classes. In their names nothing is left that DOT would take for its own."""

    def __init__(self, profile: Profile, options: ViewOptions) -> None:
        package = pycallgraph2()
        modules = {visible(function.module) for function in profile.functions if function.module}
        # The longest first: a package's own functions are also `package.*`.
        patterns = [f"{escape(between_quotes(module))}.*" for module in sorted(modules, key=len, reverse=True)]
        self._config = package.Config(
            trace_filter=package.GlobbingFilter(exclude=[_dotted(pattern) for pattern in options.hide], include=["*"]),
            trace_grouper=package.Grouper(patterns),
        )
        self._graph = plain_graph(profile, options, self._config.trace_filter)
        self._nodes = {between_quotes(node.name): node for node in self._graph.nodes}
        self._edges = {(between_quotes(e.caller), between_quotes(e.callee)): e for e in self._graph.edges}
        self._output = package.output.GraphvizOutput(font_name=FONTS, font_size=_FONT_SIZE)
        self._output.node_label_func = self._label
        self._output.node = self._node_line
        self._output.edge = self._edge_line
        self._output.set_processor(self._processor(package))

    def _processor(self, package: Any) -> Any:
        """pycallgraph2's own data, filled as its tracer would: calls and seconds by name, calls by caller and callee."""
        processor = package.tracer.TraceProcessor([self._output], self._config)
        processor.func_count = {name: node.calls for name, node in self._nodes.items()}
        processor.func_time = {name: node.total_ns / 1e9 for name, node in self._nodes.items()}
        counts = [*processor.func_count.values(), *(edge.calls for edge in self._edges.values())]
        processor.func_count_max = max(counts, default=0)
        processor.func_time_max = max(processor.func_time.values(), default=0)
        processor.call_dict.clear()
        for (caller, callee), edge in self._edges.items():
            processor.call_dict[caller][callee] += edge.calls
        return processor

    def text(self, **attributes: object) -> str:
        """The DOT text, with more attributes of the graph."""
        own = self._output.graph_attributes["graph"]
        label = own["label"].partition(r"\n")[0]
        lines = [label, " · ".join(self._graph.about), *self._graph.footer]
        own |= {"label": r"\n".join(between_quotes(line) for line in lines if line), **attributes}
        return str(self._output.generate())

    def draw(self, form: str) -> bytes:
        """The picture."""
        return attempts(form, self.text, lambda graphviz, splines: self._draw_once(form, graphviz, splines))

    def _draw_once(self, form: str, graphviz: Draw, splines: str) -> bytes:
        if form != "png":
            return graphviz(self.text(splines=splines), form, False)
        dpi = png_dpi(graphviz(self.text(splines=splines), "json0", False))
        return graphviz(self.text(splines=splines, dpi=dpi), form, False)

    def _label(self, group: Any) -> str:
        """pycallgraph2's own label; time that no probe saw has no calls to name."""
        label = str(self._output.node_label(group))
        return label.replace(r"\ncalls: 0\n", r"\n", 1) if self._nodes[group.name].kind == "unseen" else label

    def _node_line(self, name: str, attributes: dict[str, object]) -> str:
        node = self._nodes[name]
        kind = node.kind if node.kind == "unseen" else f"function {node.kind}"
        more = {"class": kind, "tooltip": between_quotes(node.tooltip)}
        return f'"{name}" [{self._output.attrs_from_dict({**attributes, **more})}];'

    def _edge_line(self, edge: Any, attributes: dict[str, object]) -> str:
        indirect = self._edges[edge.src_func, edge.dst_func].indirect
        more = {"class": "call indirect", "style": "dashed"} if indirect else {"class": "call"}
        line = self._output.attrs_from_dict({**attributes, **more})
        return f'"{edge.src_func}" -> "{edge.dst_func}" [{line}];'


def _dotted(pattern: str) -> str:
    """A pattern as pycallgraph2 writes it, `module.name`."""
    return pattern.replace(":", ".")
