"""What the user asked to see."""

from __future__ import annotations

from dataclasses import dataclass

USER_FUNCTIONS_KEPT = 60
"""While a program has fewer functions of its own than this, all of them are shown; else, while its Cython functions are
fewer, all of those."""
MOST_NODES = 80
"""A picture with more nodes than this cannot be read; `everything` lifts the limit."""


@dataclass(frozen=True)
class ViewOptions:
    """How a profile is to be shown.

    `min_share` is a percentage of the run's time. `hide`, `show` and `only` are fnmatch patterns that are held against a
    function's `module:name`, its name and its module: `hide` leaves functions out, `show` keeps them whatever their
    share, `only` leaves out every Python and Cython function it does not match. `everything` switches folding, pruning
    and limits off. `sort`, `top` and `explain` are for tables, `threads` shows threads apart.
    """

    min_share: float = 0.5
    hide: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    everything: bool = False
    sort: str = "self"
    top: int | None = None
    explain: bool = False
    only: tuple[str, ...] = ()
    threads: bool = False
