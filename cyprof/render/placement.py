"""Puts edge labels clear of every line and moves cluster titles out of the way of edges.

Graphviz reserves room beside an edge for its label, but a slanted line runs through a corner of it, and edges into a
cluster cross its title. So the graph is laid out once, labels and titles are moved, and it is drawn with all in place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from ..view import Edge, Graph
from .dot import FONT_SIZE, LABEL_SIZE, Placement, arrow_size, pen_width
from .geometry import Box, BoxIndex, LineIndex, Point, Polyline, bezier, text_width

_LABEL_HEIGHT = LABEL_SIZE * 1.25
_GAPS = (3.0, 7.0, 13.0, 22.0)
_CLEAR = 2.0
_TITLE_STEP = 8.0
_CORNER = 1.25
"""How far the pen's outline reaches beyond the tip of an arrow head, in pen widths."""
MOST_EDGES = 400
"""Beyond it (only ever with --all) there is no free place to search for, and the search would take minutes."""
Attributes = dict[str, str]


def place(graph: Graph, layout: bytes) -> Placement:
    """Reads Graphviz' layout (format json0) and returns where everything goes."""
    data = json.loads(layout)
    nodes, clusters, sizes = _objects(data)
    edges = _edges(data, len(graph.edges))
    for at, edge in zip(edges, graph.edges, strict=True):
        at["pos"] = _tip_drawn_back(at["pos"], edge)
    lines = [_curve(at["pos"], edge) for at, edge in zip(edges, graph.edges, strict=True)]
    index = LineIndex(lines if len(lines) <= MOST_EDGES else [])
    taken = BoxIndex(nodes.values())
    crossed = _move_titles(clusters, sizes, taken, index, graph)
    _move_labels(graph, edges, lines, index, taken)
    root = {key: data[key] for key in ("bb", "lp") if key in data}
    places = {name: {"pos": f"{(b.left + b.right) / 2:.2f},{(b.bottom + b.top) / 2:.2f}"} for name, b in nodes.items()}
    return Placement(root, places, clusters, edges, crossed)


def page_size(layout: bytes) -> tuple[float, float]:
    """Width and height of a layout in points."""
    left, bottom, right, top = _numbers(json.loads(layout)["bb"])
    return right - left, top - bottom


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _objects(data: dict[str, Any]) -> tuple[dict[str, Box], dict[str, Attributes], dict[str, tuple[float, float]]]:
    """Boxes of nodes, places of clusters, and sizes of cluster titles in points."""
    nodes: dict[str, Box] = {}
    clusters: dict[str, Attributes] = {}
    sizes: dict[str, tuple[float, float]] = {}
    for item in data.get("objects", []):
        if "bb" in item:
            clusters[item["name"]] = {key: item[key] for key in ("bb", "lp") if key in item}
            sizes[item["name"]] = (72 * float(item.get("lwidth", 0)), 72 * float(item.get("lheight", 0)))
        elif "pos" in item:
            x, y = _numbers(item["pos"])
            nodes[item["name"]] = Box.around(x, y, 72 * float(item["width"]), 72 * float(item["height"]))
    return nodes, clusters, sizes


def _edges(data: dict[str, Any], count: int) -> list[Attributes]:
    found: list[Attributes] = [{} for _ in range(count)]
    for item in data.get("edges", []):
        found[int(item["id"].removeprefix("e"))] = {key: item[key] for key in ("pos", "lp") if key in item}
    return found


def _tip_drawn_back(pos: str, edge: Edge) -> str:
    """Ends an edge where its head, drawn with a wide pen, just touches the node.

    Graphviz before 3 ends it at the node's border and lets the corner of the pen's outline run into the node; later ones
    leave room for it, which shows in a head longer than ten times its size.
    """
    tip_word, *controls = pos.split()
    if not tip_word.startswith("e,") or ";" in pos or len(controls) < 4:
        return pos
    tip, base = _point(tip_word[2:]), _point(controls[-1])
    length = math.dist(tip, base)
    pen = pen_width(edge)
    if not length or length > 10 * arrow_size(edge) + pen / 2:
        return pos
    back = _CORNER * pen / length
    dx, dy = (base[0] - tip[0]) * back, (base[1] - tip[1]) * back
    controls[-1] = f"{base[0] + dx:.2f},{base[1] + dy:.2f}"
    return " ".join([f"e,{tip[0] + dx:.2f},{tip[1] + dy:.2f}", *controls])


def _curve(pos: str, edge: Edge) -> Polyline:
    """The line of an edge, its arrow head included. `pos` may hold several curves."""
    points: list[Point] = []
    for part in pos.split(";"):
        controls: list[Point] = []
        end: Point | None = None
        for word in part.split():
            if word.startswith("e,"):
                end = _point(word[2:])
            elif not word.startswith("s,"):
                controls.append(_point(word))
        points += bezier(controls)
        if end is not None:
            points.append(end)
    pen = pen_width(edge)
    return Polyline(points, pen, head=7 * arrow_size(edge) + pen)


def _point(text: str) -> Point:
    x, y = _numbers(text)
    return x, y


def _move_titles(
    clusters: dict[str, Attributes],
    sizes: dict[str, tuple[float, float]],
    taken: BoxIndex,
    index: LineIndex,
    graph: Graph,
) -> frozenset[str]:
    """Moves each module's title along its cluster to the first place no edge crosses, and takes the place. Returns the
    clusters that have none."""
    crossed = set()
    for cluster in graph.clusters:
        name = f"cluster_{cluster.id}"
        if "lp" not in clusters.get(name, {}):
            continue
        box = Box(*_numbers(clusters[name]["bb"]))
        width, height = sizes[name]
        _, y = _numbers(clusters[name]["lp"])
        tall = min(height, FONT_SIZE * 1.3)
        candidates = list(_title_places(box, width))
        free = (x for x in candidates if not _hit(Box.around(x, y, width, tall), index, taken))
        x = next(free, None)
        if x is None:
            crossed.add(name)
            x = candidates[0]
        clusters[name]["lp"] = f"{x:.2f},{y:.2f}"
        taken.add(Box.around(x, y, width, tall))
    return frozenset(crossed)


def _title_places(box: Box, width: float) -> Iterator[float]:
    first, last = box.left + 6 + width / 2, box.right - 6 - width / 2
    yield first
    x = first + _TITLE_STEP
    while x < last:
        yield x
        x += _TITLE_STEP
    if last > first:
        yield last


def _hit(box: Box, index: LineIndex, taken: BoxIndex) -> bool:
    room = box.grown(_CLEAR)
    return bool(index.through(room) or taken.overlapping(room))


def _move_labels(graph: Graph, edges: list[Attributes], lines: list[Polyline], index: LineIndex, taken: BoxIndex) -> None:
    """Moves each edge's label to the nearest place that is free, heaviest edges first."""
    order = sorted(range(len(edges)), key=lambda number: -graph.edges[number].total_ns)
    for number in order:
        edge = graph.edges[number]
        size = (text_width(edge.label, LABEL_SIZE), _LABEL_HEIGHT)
        best: tuple[float, Box] | None = None
        for distance, box in _label_places(lines[number], size):
            cost = distance + _label_cost(box, number, index, taken)
            if best is None or cost < best[0]:
                best = cost, box
            if cost < 2:
                break
        if best is not None:
            box = best[1]
            taken.add(box)
            edges[number]["lp"] = f"{(box.left + box.right) / 2:.2f},{(box.bottom + box.top) / 2:.2f}"


def _label_places(line: Polyline, size: tuple[float, float]) -> Iterator[tuple[float, Box]]:
    """Places for a label, each with what it costs to stray that far: along the line, on either side of it."""
    width, height = size
    points = line.points
    middle = len(points) / 2
    for gap in _GAPS:
        for step in sorted(range(1, len(points) - 1), key=lambda at: abs(at - middle)):
            px, py = points[step]
            before, after = points[step - 1], points[step + 1]
            slope = _reach(before, after, height)
            away = gap + line.half_pen + slope + width / 2
            stray = gap * 0.4 + abs(step - middle) / len(points) * 6
            yield stray + 0.6, Box.around(px + away, py, width, height)
            yield stray + 0.8, Box.around(px - away, py, width, height)
            over = gap + line.half_pen + _reach(before[::-1], after[::-1], width) + height / 2
            yield stray + 1.0, Box.around(px, py + over, width, height)
            yield stray + 1.0, Box.around(px, py - over, width, height)


def _reach(before: Point, after: Point, height: float) -> float:
    """How far a slanted line leans to the side within half a label's height; for swapped coordinates and a width, how
    far it climbs within half of that."""
    dx, dy = after[0] - before[0], after[1] - before[1]
    return 0.0 if dy == 0 else min(40.0, abs(dx / dy) * height / 2)


def _label_cost(box: Box, number: int, index: LineIndex, taken: BoxIndex) -> float:
    room = box.grown(_CLEAR)
    crossed = index.through(room)
    own = 35.0 if number in crossed else 0.0
    return own + 25.0 * len(crossed) + 90.0 * len(taken.overlapping(room))
