"""Colours: one light hue for self time, one border colour for each language. Picked to be told apart by the colour-blind
and to keep text at a contrast of 4.5 or more; nothing is said by colour alone."""

from __future__ import annotations

from typing import Literal

Language = Literal["python", "cython", "nogil", "c", "folded", "unseen", "thread"]

RAMP = ("#ffffff", "#fff3e2", "#ffe1bd", "#ffc993", "#fbab69", "#f28f4b")
"""Fill by self time; `RAMP_FROM[i]` is the least share of `RAMP[i]`."""
RAMP_FROM = (0.0, 0.01, 0.05, 0.10, 0.25, 0.50)

TEXT = "#1a1a1a"
SOFT_TEXT = "#4d4d4d"
SOFT_TEXT_ON_FILL = "#3a2a1c"
"""Secondary text where the fill is strong."""
PAGE = "#ffffff"
EDGE = "#8a8a8a"
HOT_EDGE = "#8a3800"
EDGE_TEXT = "#404040"
HATCH = ("#ffffff", "#d4d4d4")

BORDER: dict[Language, str] = {
    "python": "#2f6aa8",
    "cython": "#a87400",
    "nogil": "#7a2e00",
    "c": "#6b6b6b",
    "folded": "#9a9a9a",
    "unseen": "#6b6b6b",
    "thread": "#9a9a9a",
}
CLUSTER_FILL: dict[Language, str] = {"python": "#f4f8fc", "cython": "#fdf8ea"}
CLUSTER_LINE: dict[Language, str] = {"python": "#c3d5e8", "cython": "#e5d3a3"}
CLUSTER_TEXT: dict[Language, str] = {"python": "#24568a", "cython": "#755000"}
FOLDED_FILL = "#f2f2f2"

CHANGE_FILL = {
    "slower": "#f4a462",
    "faster": "#93c4ec",
    "same": "#ffffff",
    "new": "#fff0a8",
    "gone": "#dedede",
    "moved": "#dccdf0",
    "absorbed": "#dccdf0",
}
"""Fill by verdict, in the picture of a comparison: orange and blue are told apart by everybody."""


def level(share: float) -> int:
    """The step of the ramp for a share (0 to 1) of self time."""
    return max(step for step, least in enumerate(RAMP_FROM) if share >= least)


def contrast(first: str, second: str) -> float:
    """The contrast of two `#rrggbb` colours, 1 to 21, as WCAG 2 defines it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
