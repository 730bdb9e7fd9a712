"""Labels and titles stand clear of lines and boxes."""

from __future__ import annotations

import importlib.util

import profiles
import pytest

from cyprof.render.dot import LABEL_SIZE, DotStyle, dot_text
from cyprof.render.engine import draw_embedded
from cyprof.render.geometry import Box, BoxIndex, LineIndex, Polyline, bezier, text_width
from cyprof.render.placement import _curve, _numbers, _objects, place
from cyprof.view import ViewOptions, call_graph


def test_line_through_a_box_is_found_with_its_pen() -> None:
    box = Box(0, 0, 10, 10)
    assert LineIndex([Polyline([(-5, 5), (15, 5)])]).through(box) == {0}
    assert LineIndex([Polyline([(-5, 12), (15, 12)])]).through(box) == set()
    assert LineIndex([Polyline([(-5, 12), (0, 12), (15, 12)], pen=5)]).through(box) == {0}


def test_boxes_that_only_touch_do_not_overlap() -> None:
    index = BoxIndex([Box(0, 0, 10, 10), Box(100, 100, 110, 110)])
    assert index.overlapping(Box(10, 0, 20, 10)) == set()
    assert index.overlapping(Box(9, 9, 101, 101)) == {Box(0, 0, 10, 10), Box(100, 100, 110, 110)}


def test_bezier_ends_where_it_should() -> None:
    points = bezier([(0, 0), (0, 10), (10, 10), (10, 0)])
    assert points[0] == (0, 0)
    assert points[-1] == pytest.approx((10, 0))


@pytest.mark.skipif(importlib.util.find_spec("pygraphviz") is None, reason="pygraphviz is not installed")
@pytest.mark.parametrize("name", ["demo", "mnist", "recursion", "uncertain"])
def test_labels_touch_neither_their_own_line_nor_a_node(name: str) -> None:
    import json

    graph = call_graph(getattr(profiles, name)(), ViewOptions())
    layout = draw_embedded(dot_text(graph, DotStyle(edge_labels=False)), "json0", False)
    nodes, _, _ = _objects(json.loads(layout))
    placed = place(graph, layout)
    touching = 0
    for edge, at in zip(graph.edges, placed.edges, strict=True):
        x, y = _numbers(at["lp"])
        box = Box.around(x, y, text_width(edge.label, LABEL_SIZE), LABEL_SIZE)
        assert not any(box.overlaps(node) for node in nodes.values()), edge.label
        touching += bool(LineIndex([_curve(at["pos"], edge)]).through(box))
    assert touching == 0
