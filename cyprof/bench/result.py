"""What a comparison of variants found, as values. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

SURE = 0.05
"""An interval misses the true ratio in at most this part of all cases."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one call does to the machine. None stands for what could not be gathered, `missing` says why.

    Bytes are of the whole call; `peak_bytes` what it allocated at its highest, the result included; `minimum_bytes` what any
    way must at least move: the arguments in and the result out. `instructions` and `mispredicts` are of hardware, or simulated
    (`simulated`), for each element. `vectorised` are `file:line` of the loops in the Cython functions that the variant enters
    that the C compiler turned into vector code, `scalar` of those it did not, by `file:line` with the
    `reasons` why not and, in `remedies`, the compiler's flags that would make it vector code.
    """

    elements: int = 0
    result_bytes: int = 0
    peak_bytes: int | None = None
    minimum_bytes: int = 0
    faults: float | None = None
    system_s: float | None = None
    user_s: float | None = None
    counters: dict[str, float] = field(default_factory=dict)
    instructions: float | None = None
    mispredicts: float | None = None
    simulated: bool = False
    vectorised: tuple[str, ...] = ()
    scalar: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    remedies: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant: its times in s, one of each round; its ratio to the first variant with the ends of its interval; what its
    result has in common with the first one's ("" where they agree); `error` when it raised."""

    title: str
    times: tuple[float, ...]
    ratio: float
    low: float
    high: float
    disagrees: str = ""
    error: str = ""
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def seconds(self) -> float:
        """The median time."""
        return median(self.times) if self.times else math.nan


@dataclass(frozen=True, slots=True)
class Bench:
    """All variants of a file. `roof` is what copying memory reached here in GB/s, read and written bytes together, `known`
    whether every ratio is known to `precision`; `notes` are sentences about the whole. `disturbed` is the part of the
    time in which other programs had the processor: the times are without it."""

    file: str
    variants: tuple[Variant, ...]
    roof: float
    precision: float
    known: bool
    rounds: int
    machine: str
    notes: tuple[str, ...] = ()
    disturbed: float = 0.0


def ratio_interval(times: Sequence[float], base: Sequence[float]) -> tuple[float, float, float]:
    """The median of the ratios round by round, and its interval: two of the sorted ratios, chosen so that the median lies
    between them as often as SURE says, whatever the noise looks like (the sign test turned round)."""
    ratios = sorted(time / other for time, other in zip(times, base, strict=True))
    count = len(ratios)
    rank, tail = 0, 0.5**count
    while tail + math.comb(count, rank + 1) * 0.5**count <= SURE / 2:
        rank += 1
        tail += math.comb(count, rank) * 0.5**count
    if 0.5**count > SURE / 2:
        return median(ratios), 0.0, math.inf
    return median(ratios), ratios[rank], ratios[count - 1 - rank]


def is_known(low: float, high: float, precision: float) -> bool:
    """Whether an interval's ends lie within `precision` of their middle."""
    return low > 0 and high <= low * (1 + 2 * precision)
