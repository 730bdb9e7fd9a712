"""Boxes and lines on the page, in points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle, left below right and bottom below top."""

    left: float
    bottom: float
    right: float
    top: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Box:
        """A box by its centre and size."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def grown(self, by: float) -> Box:
        """The box with a margin."""
        return Box(self.left - by, self.bottom - by, self.right + by, self.top + by)

    def overlaps(self, other: Box) -> bool:
        """Whether the two share any of their area."""
        return self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top

    def inside(self, other: Box) -> bool:
        """Whether the box lies wholly within the other."""
        return self.left >= other.left and self.right <= other.right and self.bottom >= other.bottom and self.top <= other.top


class Polyline:
    """A line through points, drawn with a pen of some width; its last piece is `head` wide."""

    def __init__(self, points: list[Point], pen: float = 0.0, head: float = 0.0) -> None:
        self.points = points
        self.half_pen = pen / 2
        self.half_head = max(pen, head) / 2

    def pieces(self) -> Iterator[tuple[Point, Point, float]]:
        """Start, end and half the width of each straight piece."""
        last = len(self.points) - 2
        for number, (start, end) in enumerate(pairwise(self.points)):
            yield start, end, self.half_head if number == last else self.half_pen


_CELL = 48.0


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    """The cells of a grid over the page that a box touches."""
    for column in range(int(box.left // _CELL), int(box.right // _CELL) + 1):
        for row in range(int(box.bottom // _CELL), int(box.top // _CELL) + 1):
            yield column, row


class LineIndex:
    """Answers which of many lines run through a box."""

    def __init__(self, lines: list[Polyline]) -> None:
        self._grid: dict[tuple[int, int], list[tuple[int, Point, Point, float]]] = {}
        for number, line in enumerate(lines):
            for start, end, half in line.pieces():
                left, right = sorted((start[0], end[0]))
                bottom, top = sorted((start[1], end[1]))
                piece = (number, start, end, half)
                for cell in _cells(Box(left, bottom, right, top).grown(half)):
                    self._grid.setdefault(cell, []).append(piece)

    def through(self, box: Box) -> set[int]:
        """The numbers of the lines of which any part lies in the box."""
        found: set[int] = set()
        for cell in _cells(box):
            for number, start, end, half in self._grid.get(cell, ()):
                if number not in found and segment_in_box(start, end, box.grown(half)):
                    found.add(number)
        return found


class BoxIndex:
    """Answers which of many boxes overlap another."""

    def __init__(self, boxes: Iterable[Box] = ()) -> None:
        self._grid: dict[tuple[int, int], list[Box]] = {}
        for box in boxes:
            self.add(box)

    def add(self, box: Box) -> None:
        """Adds a box."""
        for cell in _cells(box):
            self._grid.setdefault(cell, []).append(box)

    def overlapping(self, box: Box) -> set[Box]:
        """The boxes that share area with one."""
        return {other for cell in _cells(box) for other in self._grid.get(cell, ()) if other.overlaps(box)}


def segment_in_box(start: Point, end: Point, box: Box) -> bool:
    """Whether a straight segment meets a box (Liang-Barsky clipping)."""
    low, high = 0.0, 1.0
    dx, dy = end[0] - start[0], end[1] - start[1]
    for step, room in (
        (-dx, start[0] - box.left),
        (dx, box.right - start[0]),
        (-dy, start[1] - box.bottom),
        (dy, box.top - start[1]),
    ):
        if step == 0:
            if room < 0:
                return False
            continue
        at = room / step
        if step < 0:
            low = max(low, at)
        else:
            high = min(high, at)
        if low > high:
            return False
    return True


def bezier(points: list[Point], pieces: int = 8) -> list[Point]:
    """A piecewise cubic curve (1 + 3n control points) as a polyline."""
    found = [points[0]]
    for start in range(0, len(points) - 3, 3):
        p0, p1, p2, p3 = points[start : start + 4]
        for piece in range(1, pieces + 1):
            t = piece / pieces
            u = 1 - t
            weights = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
            found.append(
                (
                    sum(w * p[0] for w, p in zip(weights, (p0, p1, p2, p3), strict=True)),
                    sum(w * p[1] for w, p in zip(weights, (p0, p1, p2, p3), strict=True)),
                )
            )
    return found


_NARROW = frozenset(" ,.:;|!'il")


def text_width(text: str, size: float) -> float:
    """Roughly how wide a text in DejaVu Sans is, in points; a little too wide rather than too narrow."""
    return size * sum(_advance(letter) for letter in text)


def _advance(letter: str) -> float:
    if letter in _NARROW:
        return 0.34
    return 0.95 if letter in "%mMwW" else 0.84 if letter in "×<>" else 0.66
