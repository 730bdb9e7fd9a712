"""Ratios of variants and what is concluded from the evidence."""

from __future__ import annotations

import math
import random

import pytest

from cyprof.bench import words as say
from cyprof.bench.result import Bench, Evidence, Variant, is_known, ratio_interval


def test_the_interval_holds_the_true_ratio() -> None:
    chance = random.Random(0)
    inside = 0
    for _ in range(400):
        base = [chance.lognormvariate(0, 0.1) for _ in range(15)]
        times = [2 * other * chance.lognormvariate(0, 0.05) for other in base]
        ratio, low, high = ratio_interval(times, base)
        assert low <= ratio <= high
        inside += low <= 2 <= high
    assert 0.93 <= inside / 400 <= 0.99


def test_few_rounds_have_no_interval() -> None:
    ratio, low, high = ratio_interval([2.0] * 5, [1.0] * 5)
    assert (ratio, low, high) == (2.0, 0.0, math.inf)
    assert not is_known(low, high, 0.02)
    assert is_known(*ratio_interval([2.0] * 6, [1.0] * 6)[1:], 0.02)


def variant(title: str, ratio: float, **evidence: object) -> Variant:
    facts = {"elements": 1000, "result_bytes": 1000, "peak_bytes": 1000, "minimum_bytes": 9000, "system_s": 0.0, "user_s": 1.0}
    return Variant(title, (1e-6 * ratio,) * 7, ratio, ratio, ratio, evidence=Evidence(**(facts | evidence)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"mispredicts": 0.5}, "guesses 0.50 branches an element wrong"),
        ({"system_s": 1.0, "faults": 100.0}, "50 % of its time the kernel makes pages"),
        ({"result_bytes": 8000, "peak_bytes": 16000}, "1 temporary array of its size"),
        ({"minimum_bytes": 16000}, "1.8 times the bytes of first"),
        ({}, "Nothing gathered here stands out"),
    ],
)
def test_each_cause_is_named(evidence: dict[str, object], words: str) -> None:
    slow = variant("slow", 10, **evidence)
    bench = Bench("f.py", (variant("first", 1), slow), 1000.0, 0.02, True, 7, "")
    assert words in say.conclusion(slow, bench)
    assert "copy roof 1000.0" in say.evidence_text(slow, bench)
    assert say.end_text(bench) == "7 rounds; every ratio is known to 2 %."


def test_what_runs_at_the_roof_needs_fewer_bytes() -> None:
    first = variant("first", 1)
    assert "fewer bytes" in say.conclusion(first, Bench("f.py", (first,), 10.0, 0.02, True, 7, ""))
