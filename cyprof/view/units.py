"""Numbers as text: units, two or three significant digits, thousands separators."""

from __future__ import annotations

import re

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))
# Also what ends a line or turns the direction of the text around it.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_VISIBLE_CONTROL = {"\n": "↵", "\r": "↵", "\t": "⇥"}


def time_text(ns: float) -> str:
    """A duration in ns with three significant digits: `1.04 s`, `780 ms`, `12.3 µs`, `0 s`, `12 min 3 s`."""
    if ns <= 0:
        return "0 s"
    if ns >= 600e9:
        minutes, seconds = divmod(round(ns / 1e9), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {seconds} s"
    for size, unit in _UNITS:
        # 999.6 ms rounds to 1,000 ms, so the next unit starts a little below its size.
        if ns >= size * 0.9995 or size == 1:
            return f"{three_digits(ns / size)} {unit}"
    raise AssertionError("the last unit takes everything")


def three_digits(value: float) -> str:
    """A number with three significant digits and no exponent."""
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"


def share_text(share: float) -> str:
    """A share (0 to 1) in percent with at most two significant digits: `95 %`, `2.9 %`, `<0.1 %`, `0 %`."""
    return f"{share_number(share)} %"


def share_number(share: float) -> str:
    """The number of `share_text` without its sign."""
    percent = share * 100
    if percent <= 0:
        return "0"
    if percent < 0.1:
        return "<0.1"
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}"


def percent_text(percent: float) -> str:
    """A percentage as its user typed it: `0.5 %`, `5 %`."""
    return f"{percent:g} %"


def count_text(count: int, noun: str) -> str:
    """A count with its noun: `1 call`, `6,600 calls`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size_text(size: int) -> str:
    """A size in bytes with three significant digits: `512 B`, `1.46 MB`; a kB is 1,000 bytes."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= factor * 0.9995:
            return f"{three_digits(size / factor)} {unit}"
    return f"{size} B"


def range_text(low: float, high: float) -> str:
    """Two shares as a range in percent: `12-31 %`."""
    first, last = share_number(low), share_number(high)
    return f"{first} %" if first == last else f"{first}-{last} %"


def visible(text: str) -> str:
    """The text with line breaks and tabs shown as signs and with what XML cannot hold replaced."""
    return _CONTROL.sub(lambda found: _VISIBLE_CONTROL.get(found.group(), "�"), text)


def shorten(text: str, most: int) -> str:
    """The text cut in its middle to `most` characters, with `…` where something is missing."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return text[: most - 1 - tail] + "…" + text[len(text) - tail :]
