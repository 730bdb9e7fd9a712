"""Ratios of variants and what is concluded from the evidence."""

from __future__ import annotations

import math
import random
import time

import pytest

from cyprof.bench import measures
from cyprof.bench import words as say
from cyprof.bench.result import Bench, Evidence, Variant, is_known, ratio_interval
from cyprof.bench.vectorised import Owner, owned_loops, told_loops


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
        ({"instructions": 6.0}, "its own instructions the rest: 6.0 an element, 3.0 times those of first"),
        (
            {"scalar": ("k.pyx:5",), "remedies": {"k.pyx:5": "-O3"}},
            "its loop at k.pyx:5 is not vector code, as it would be with -O3",
        ),
        ({}, "memory and the kernel take <0.1 % of its time, its own instructions the rest."),
    ],
)
def test_each_cause_is_named(evidence: dict[str, object], words: str) -> None:
    slow = variant("slow", 10, **evidence)
    bench = Bench("f.py", (variant("first", 1, instructions=2.0), slow), 1000.0, 0.02, True, 7, "")
    assert words in say.conclusion(slow, bench).replace("Memory and", "memory and")
    assert "copy roof 1000.0" in say.evidence_text(slow, bench)
    assert say.end_text(bench) == "7 rounds; every ratio is known to 2 %."


def test_what_is_explained_by_memory_is_not_laid_on_instructions() -> None:
    first = variant("first", 1, instructions=1.0)
    # 25 of its 36 kB at 10 GB/s are 2.5 of its 4 us; the kernel takes a quarter.
    slow = variant(
        "slow", 4, instructions=9.0, minimum_bytes=17000, result_bytes=8000, peak_bytes=12000, system_s=0.33, faults=99.0
    )
    bench = Bench("f.py", (first, slow), 10.0, 0.02, True, 7, "")
    assert 0.87 < say.explained(slow, bench) < 0.88
    assert "instructions" not in say.conclusion(slow, bench)
    assert "memory at the roof and the kernel take 87 % of its time" in say.evidence_text(slow, bench)


def test_what_runs_at_the_roof_needs_fewer_bytes() -> None:
    first = variant("first", 1)
    assert "fewer bytes" in say.conclusion(first, Bench("f.py", (first,), 10.0, 0.02, True, 7, ""))


def test_the_first_variant_is_told_its_scalar_loops() -> None:
    first = variant("first", 1, scalar=("k.pyx:5",), remedies={"k.pyx:5": "-O3"})
    said = say.conclusion(first, Bench("f.py", (first,), 100.0, 0.02, True, 7, ""))
    assert said == "Its loop at k.pyx:5 is not vector code, as it would be with -O3."
    plain = say.conclusion(variant("first", 1), Bench("f.py", (first,), 100.0, 0.02, True, 7, ""))
    assert plain.startswith("Nothing stands out: one pass over memory at 9 % of the copy roof") or "9.0 %" in plain


def test_bytes_do_not_hold_up_who_is_slower_than_another_with_as_many() -> None:
    first, slow = variant("first", 1, instructions=1.0), variant("slow", 1.15, instructions=5.0)
    said = say.conclusion(slow, Bench("f.py", (first, slow), 9.0, 0.02, True, 7, ""))
    assert "fewer bytes" not in said
    assert said.endswith("take 87 % of its time, its own instructions the rest: 5.0 an element, 5.0 times those of first.")


def test_what_is_beyond_the_roof_is_in_caches_or_was_not_read() -> None:
    first = variant("first", 1)
    assert "fit into the processor's caches, at 3.0 times" in say.conclusion(
        first, Bench("f.py", (first,), 3.0, 0.02, True, 7, "")
    )
    assert "cannot have read" in say.conclusion(first, Bench("f.py", (first,), 0.1, 0.02, True, 7, ""))


def test_python_objects_are_no_temporary_arrays() -> None:
    assert say.temporaries(variant("boxed", 1, result_bytes=8, peak_bytes=200)) == ""
    assert say.temporaries(variant("two", 1, result_bytes=8000, peak_bytes=24000)) == "2 temporary arrays of its size at a time"


def test_other_programs_are_named() -> None:
    bench = Bench("f.py", (variant("first", 1),), 10.0, 0.02, True, 7, "", disturbed=0.3)
    assert say.end_text(bench).endswith(" Other programs had the processor 30 % of the time; the times are without that.")


def test_a_call_is_timed_without_what_other_programs_took(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter((1.0, 1.01))
    monkeypatch.setattr(measures, "_kept_off_s", lambda: next(looks))
    took, kept_off = measures.seconds(lambda: time.sleep(0.02), 1)
    assert kept_off == pytest.approx(0.01) and took >= 0.0099


SOURCE = """\
def outer(a):
    for i in range(3):
        for j in range(4):
            a[j] = i

    def inner(b):
        \"""Text
at its left edge.\"""
        while b:
            b -= 1
    for k in a:
        inner(k)

for n in range(3):
    outer([n])
"""


def test_loops_are_told_by_the_function_that_they_are_in() -> None:
    owners = [Owner("/k.pyx", 1, "outer"), Owner("/k.pyx", 6, "outer.<locals>.inner")]
    found = owned_loops(owners, {"/k.pyx": SOURCE.splitlines()})
    assert {place[1]: owner.name for place, owner in found.items()} == {3: "outer", 9: "outer.<locals>.inner", 11: "outer"}


SAID = """\
k.pyx:24:33: missed: couldn't vectorize loop
k.pyx:25:102: missed: not vectorized: no vectype for stmt: _104 = MEM[(const double *)_103];
k.pyx:10:17: missed: statement clobbers memory: __pyx_t_1 = call (_241);
k.pyx:31:33: optimized: loop vectorized using 16 byte vectors
k.pyx:30:33: optimized:  loop versioned for vectorization because of possible aliasing
k.pyx:40:5: missed: couldn't vectorize loop
k.pyx:40:5: missed: not vectorized: control flow in loop.
"""


def test_what_gcc_says_of_loops() -> None:
    found = {loop.line: loop for loop in told_loops(SAID, [("/a/k.pyx", line) for line in (24, 30, 40, 50)])}
    assert found[30].vector and not found[24].vector
    assert found[24].reason.startswith('gcc says "no vectype for stmt"')
    assert found[40].reason == 'gcc says "control flow in loop", a branch or a call'
    assert found[50].reason == "gcc says nothing of it"
