"""Limits that a comparison must keep, for continuous integration."""

from __future__ import annotations

from ..units import percent_text
from .table import Comparison, Row
from .words import ratio_text


def broken(found: Comparison, slower_percent: float, least_share: float) -> list[str]:
    """A sentence for each function that is slower, beyond noise, by `slower_percent` or more, and takes at least
    `least_share` percent of the run; and one for the whole program when that is."""
    limit = 1 + slower_percent / 100
    whole = max(1, sum(row.after.self_ns for row in found.rows if row.after))

    def is_broken(row: Row) -> bool:
        if row.change != "slower" or row.verdict == "absorbed" or row.ratio is None or row.after is None:
            return False
        return row.ratio.value >= limit and row.after.self_ns >= least_share / 100 * whole

    said = f"which breaks the limit of {percent_text(slower_percent)}"
    sentences = [f"{row.title} is slower: ratio {ratio_text(row.ratio)}, {said}." for row in found.rows if is_broken(row)]
    if found.pace is not None and found.pace_change == "slower" and found.pace.value >= limit:
        sentences.insert(0, f"The program as a whole is slower: ratio {ratio_text(found.pace)}, {said}.")
    return sentences
