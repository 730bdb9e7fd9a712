"""Draws digits, for machines that have no real ones.

Each digit is a few strokes in a square one unit wide, its y axis pointing down. A drawing
turns, stretches and moves them a little and picks the width of the pen.
"""

from __future__ import annotations

import numpy as np

SIDE = 28

Stroke = np.ndarray  # (points, 2): x and y of the points that straight lines connect


def line(*points: tuple[float, float]) -> Stroke:
    """Return a stroke through the points."""
    return np.array(points, dtype=np.float32)


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> Stroke:
    """Return a piece of an ellipse around (x, y). Angles in degrees, 0 right and 90 down."""
    angles = np.radians(np.linspace(start, end, 10))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], axis=1).astype(np.float32)


STROKES: tuple[tuple[Stroke, ...], ...] = (
    (arc(0.5, 0.5, 0.22, 0.34, 0, 360),),
    (line((0.38, 0.28), (0.52, 0.16), (0.52, 0.84)),),
    (arc(0.5, 0.34, 0.2, 0.18, 180, 390), line((0.67, 0.43), (0.3, 0.84), (0.72, 0.84))),
    (arc(0.47, 0.33, 0.2, 0.17, 200, 450), arc(0.47, 0.67, 0.22, 0.17, 270, 520)),
    (line((0.58, 0.84), (0.58, 0.16), (0.28, 0.6), (0.74, 0.6)),),
    (line((0.68, 0.16), (0.36, 0.16), (0.34, 0.46)), arc(0.47, 0.62, 0.22, 0.22, 235, 510)),
    (arc(0.49, 0.65, 0.2, 0.19, 0, 360), line((0.62, 0.16), (0.38, 0.4), (0.29, 0.65))),
    (line((0.28, 0.16), (0.72, 0.16), (0.44, 0.84)),),
    (arc(0.5, 0.33, 0.17, 0.17, 0, 360), arc(0.5, 0.67, 0.2, 0.17, 0, 360)),
    (arc(0.5, 0.35, 0.2, 0.19, 0, 360), line((0.7, 0.35), (0.66, 0.6), (0.54, 0.84))),
)


def draw_digits(per_digit: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return (images, labels), sorted by label: uint8, (10 * per_digit, 784) and labels.

    The same seed gives the same pixels.
    """
    rng = np.random.default_rng(seed)
    images = np.concatenate([draw(STROKES[digit], per_digit, rng) for digit in range(10)])
    labels = np.repeat(np.arange(10, dtype=np.uint8), per_digit)
    return images, labels


def draw(strokes: tuple[Stroke, ...], count: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``count`` drawings of the strokes, a row of 784 bytes each."""
    turn = random_transforms(count, rng)
    shift = rng.uniform(-0.08, 0.08, size=(count, 1, 2)).astype(np.float32)
    pen = rng.uniform(0.035, 0.065, size=(count, 1)).astype(np.float32)
    distance = np.full((count, SIDE * SIDE), np.inf, dtype=np.float32)
    for stroke in strokes:
        points = (stroke - 0.5) @ turn + 0.5 + shift
        for k in range(len(stroke) - 1):
            np.minimum(distance, distance_to(points[:, k], points[:, k + 1]), out=distance)
    # Full ink within the pen, fading to none over one pixel.
    ink = np.clip((pen - distance) * SIDE + 0.5, 0, 1)
    noise = rng.normal(0, 0.03, size=ink.shape)
    inked: np.ndarray = 255 * np.clip(ink + noise * (ink > 0), 0, 1)
    return inked.astype(np.uint8)


def random_transforms(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return matrices (count, 2, 2) that turn, slant and stretch a little."""
    angle = rng.normal(0, 0.12, size=count)
    slant = rng.normal(0, 0.15, size=count)
    stretch = rng.uniform(0.8, 1.15, size=(count, 2, 1))
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([cos, sin], 1), np.stack([-sin + slant, cos], 1)], 1)
    return (turn * stretch).astype(np.float32)


def distance_to(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how far each pixel's centre is from the line start-end: (count, 784)."""
    centres = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE
    dx = np.tile(centres, SIDE) - start[:, :1]
    dy = np.repeat(centres, SIDE) - start[:, 1:]
    way = end - start
    length2 = np.maximum((way**2).sum(axis=1, keepdims=True), 1e-12)
    along = np.clip((dx * way[:, :1] + dy * way[:, 1:]) / length2, 0, 1)
    distance: np.ndarray = np.hypot(dx - along * way[:, :1], dy - along * way[:, 1:])
    return distance
