"""What line probes cost a function is said only where both runs know its time well enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from profiles import PROJECT, ProfileBuilder

from cyprof.collect.baseline import Timings
from cyprof.model import Profile


def profile_of(milliseconds: float, clock: str = "auto") -> Profile:
    """One Cython function, called ten times."""
    b = ProfileBuilder()
    b.call(-1, b.function("kern", "f", "kern.pyx", 1, "cdef"), 10, milliseconds)
    made = b.profile()
    return replace(made, run=replace(made.run, clock=clock), source_hashes={f"{PROJECT}/kern.pyx": "ab" * 32})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "without, with_lines, clock, known",
    [
        (60, 240, "auto", True),
        (0.1, 240, "auto", False),  # a look or none: any ratio would come out
        (60, 4, "auto", False),
        (60, 240, "sampled", True),
        (4, 8, "exact", True),  # each call was timed
        (0.01, 8, "exact", False),
    ],
)
def test_both_times_must_be_known(tmp_path: Path, without: float, with_lines: float, clock: str, known: bool) -> None:
    timings = Timings(tmp_path)
    timings.remember(profile_of(without, clock))
    found = timings.recall(profile_of(with_lines, clock))
    assert found == ({0: pytest.approx(without * 1e5, rel=0.01)} if known else {})
