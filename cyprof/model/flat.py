"""Profiles of profilers that know no call paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .profile import Edge, FunctionTimes, Profile

LineTimings = dict[tuple[str, int, str], list[tuple[int, int, int]]]
"""line_profiler's own form: (line, hits, time) by (file, first line, name)."""


@dataclass
class FlatProfile(Profile):
    """A profile whose functions' times were stated, not derived: its tree has one root a function.

    `said` gives what the profiler said of each function by id, `callers` what it said of calls between two. `timings` are
    line_profiler's, in units of `unit` seconds. `engine` is the profiler's name, `blind_spots` sentences on what it cannot see.
    """

    engine: str = ""
    said: list[FunctionTimes] = field(default_factory=list)
    callers: list[Edge] = field(default_factory=list)
    timings: LineTimings = field(default_factory=dict)
    unit: float = 1e-9
    blind_spots: list[str] = field(default_factory=list)

    @property
    def has_paths(self) -> bool:
        """It holds who calls whom, and no call paths."""
        return False

    @property
    def has_kinds(self) -> bool:
        """The builds tell the kinds."""
        return True

    @cached_property
    def function_times(self) -> list[FunctionTimes]:
        """Calls and times per function, as stated."""
        return self.said

    @cached_property
    def edges(self) -> list[Edge]:
        """Calls between functions, as stated."""
        return self.callers
