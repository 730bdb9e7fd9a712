"""Pairs, verdicts, and what becomes of time whose function is not seen any more, on profiles made by hand."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from profiles import ProfileBuilder

from cyprof import render
from cyprof.model import Profile
from cyprof.render.diff_json import json_bytes
from cyprof.render.diff_picture import dot_bytes
from cyprof.render.html.diff import diff_bytes as html_bytes
from cyprof.view import ViewOptions
from cyprof.view.compare import Comparison, Ratio, Row, Side, compare
from cyprof.view.compare.limits import broken

NAMES = ("step", "load", "scale", "norm", "sum_up", "store")


def program(seed: int, *, ms: dict[str, float] | None = None, callee: bool = True, adam: str = "py", shift: int = 0) -> Profile:
    """A run: main calls six Cython functions of some 20 ms and Adam's update; `step` calls `tiny`, which may be without
    a probe, so that its 8 ms are `step`'s."""
    chance = random.Random(seed)
    b = ProfileBuilder()

    def noisy(spent: float) -> float:
        return spent * chance.gauss(1, 0.01)

    main = b.call(-1, b.function("__main__", "main", "train.py", 3), 1, noisy(5))
    for number, name in enumerate(NAMES):
        spent = (ms or {}).get(name, 20 + number)
        if name == "step" and not callee:
            spent += 8
        node = b.call(
            main, b.function("kern", name, "kern.pyx", 10 * number + 1 + shift, "def"), 40, noisy(spent), exact_calls=40
        )
        if name == "step" and callee:
            b.call(node, b.function("kern", "tiny", "kern.pyx", 90 + shift, "cdef"), 4000, noisy(8), exact_calls=4000)
    place: dict[str, tuple[Any, ...]] = {
        "py": ("adam", "Adam.update", "adam.py", 5, "python"),
        "pyx": ("adam_c", "Adam.update", "adam_c.pyx", 9, "def"),
    }
    b.call(main, b.function(*place[adam]), 40, noisy(30 if adam == "py" else 10), exact_calls=40)
    return b.profile()


def compared(runs: int = 5, options: ViewOptions | None = None, **after: Any) -> Comparison:
    first = Side("before", tuple(program(seed) for seed in range(runs)))
    second = Side("after", tuple(program(100 + seed, **after) for seed in range(runs)))
    return compare(first, second, options or ViewOptions())


def row(found: Comparison, name: str) -> Row:
    (one,) = (row for row in found.rows if row.title == name)
    return one


def test_the_same_program_is_the_same() -> None:
    found = compared()
    assert {row.verdict for row in found.rows} == {"same"}
    assert found.pace_change == "same"
    assert len(found.rows) == 9


def test_a_slower_function_is_named_and_comes_first() -> None:
    found = compared(ms={"norm": 23 * 1.1}, shift=7)
    assert found.rows[0].title == "norm"
    assert [one.title for one in found.rows if one.verdict != "same"] == ["norm"]
    ratio = found.rows[0].ratio
    assert ratio is not None and ratio.low < 1.1 < ratio.high and ratio.low > 1
    assert found.rows[0].before is not None and found.rows[0].before.calls == 40


def test_a_vanished_callee_is_absorbed_by_its_caller() -> None:
    found = compared(callee=False)
    assert row(found, "tiny").verdict == "gone"
    step = row(found, "step")
    assert (step.verdict, step.change) == ("absorbed", "slower")
    assert step.why == "tiny had 8.00 ms here and is not seen any more: callee is not probed" or "tiny had 7.9" in step.why
    assert not broken(found, 1, 0.5)


def test_what_a_caller_took_over_is_said_even_where_noise_hides_it() -> None:
    def run(seed: int, ms: float, *, callee: bool) -> Profile:
        chance = random.Random(seed)
        b = ProfileBuilder()
        main = b.call(-1, b.function("__main__", "main", "train.py", 3), 1, 5)
        update = b.call(main, b.function("opt", "update", "opt.py", 9), 40, ms)
        for number in range(6):
            step = b.function("kern", f"step{number}", "kern.pyx", number + 1, "def")
            b.call(main, step, 40, 20 * chance.choice((1, 9, 200)), exact_calls=40)
        if callee:
            b.call(update, b.function("adam", "step", "adam.pyx", 5, "def"), 40, 35)
        return b.profile()

    before = Side("a", tuple(run(seed, ms, callee=True) for seed, ms in enumerate((1, 1, 40, 0.5))))
    after = Side("b", tuple(run(9 + seed, ms, callee=False) for seed, ms in enumerate((36, 36, 36, 1))))
    update = row(compare(before, after, ViewOptions()), "update")
    assert (update.verdict, update.change) == ("absorbed", "same")
    assert update.why == "step had 35.0 ms here and is not seen any more: callee is not probed"


def test_a_caller_that_became_slower_by_more_than_its_callee_had_is_slower() -> None:
    found = compared(callee=False, ms={"step": 40})
    assert row(found, "step").verdict == "slower"


def test_a_callee_that_appears_took_nothing_from_its_caller() -> None:
    first = Side("before", tuple(program(seed, callee=False) for seed in range(5)))
    second = Side("after", tuple(program(50 + seed) for seed in range(5)))
    step = row(compare(first, second, ViewOptions()), "step")
    assert step.verdict == "moved" and "tiny, now seen by itself" in step.why


def test_a_cython_twin_is_found_by_its_name() -> None:
    adam = row(compared(adam="pyx"), "Adam.update")
    assert (adam.verdict, adam.change, adam.why) == ("moved", "faster", "adam → adam_c, Python → Cython")
    assert adam.before is not None and adam.after is not None and adam.before.calls == adam.after.calls == 40


def test_limits() -> None:
    found = compared(ms={"norm": 23 * 1.3})
    (sentence,) = broken(found, 10, 0.5)
    assert sentence.startswith("norm is slower: ratio 1.3")
    assert not broken(found, 50, 0.5)
    assert not broken(found, 10, 50)


def test_one_run_each_says_that_it_says_little() -> None:
    found = compared(runs=1)
    assert {one.verdict for one in found.rows} == {"same"}
    assert "--runs 5" in found.notes[-1]


def test_different_programs_and_versions_are_said() -> None:
    b = ProfileBuilder(python="3.12.1")
    b.call(-1, b.function("other", "work", "other.pyx", 1, "def"), 1, 50)
    found = compare(Side("a", (program(0),)), Side("b", (b.profile(),)), ViewOptions())
    assert "The sides differ in Python: 3.13.0 and 3.12.1." in found.notes
    assert any("different programs" in note for note in found.notes)
    assert {one.verdict for one in found.rows} == {"gone", "new"}


def test_only_and_hide() -> None:
    found = compared(options=ViewOptions(only=("kern",), hide=("tiny",)))
    assert sorted(one.title for one in found.rows) == sorted(NAMES)


def test_every_renderer_shows_every_function() -> None:
    found = (compared(ms={"norm": 40}, callee=False, adam="pyx"),)
    text = render.diff_text(found, ViewOptions())
    page, dot = html_bytes(found, ViewOptions()).decode(), dot_bytes(found, ViewOptions()).decode()
    data = json.loads(json_bytes(found, ViewOptions()))
    assert data["schema"] == "cyprof-diff/1"
    for one in data["comparisons"][0]["functions"]:
        assert one["name"] in text and one["name"] in page and f":{one['name']}" in dot
    assert "absorbed" in text and "absorbed" in page and "#f4a462" in dot
    assert "http" not in page.replace("http-equiv", "")


def lined(seed: int, ms: float) -> Profile:
    b = ProfileBuilder(with_lines=True)
    chance = random.Random(seed)
    node = b.call(-1, b.function("kern", "loop", "kern.pyx", 1, "def"), 1, 300)
    for line, spent in ((2, 100.0), (3, 100.0), (4, ms), (5, 100.0), (6, 80.0)):
        b.line(node, "kern.pyx", line, 1000, spent * chance.gauss(1, 0.01))
    profile = b.profile()
    spent = sum(profile.lines.self_ns)
    profile.tree.self_ns[0] = spent
    return replace(profile)


def test_lines_are_compared_where_they_were_recorded() -> None:
    from cyprof.view.compare import line_changes
    from cyprof.view.line_rows import SourceText

    sides = [
        Side(name, tuple(lined(seed + 9 * n, ms) for seed in range(5))) for n, (name, ms) in enumerate((("a", 100), ("b", 300)))
    ]
    found = compare(*sides, ViewOptions())
    first, *others = line_changes(found, lambda profile: lambda file: SourceText())
    assert (first.after_line, first.change, first.before_hits, first.after_hits) == (4, "slower", 1000, 1000)
    assert {line.change for line in others} == {"same"}
    assert not line_changes(compared(), lambda profile: lambda file: SourceText())


def test_lines_of_few_runs_get_no_verdict_and_it_is_said_beside_them() -> None:
    found = (compare(Side("a", (lined(1, 100),)), Side("b", (lined(2, 300),)), ViewOptions()),)
    text, page = render.diff_text(found, ViewOptions()), html_bytes(found, ViewOptions()).decode()
    data = json.loads(json_bytes(found, ViewOptions()))
    for shown in (text, page):
        assert "told from noise with four runs a side or more (--runs 4): 5 that both sides have got no verdict" in shown
    assert [line["verdict"] for line in data["comparisons"][0]["lines"]] == ["unknown"] * 5
    assert data["comparisons"][0]["lines"][0]["after"]["line"] == 4, "the line that differs most stands first"
    assert text.count("too few runs") == 5


def test_ratios_that_are_not_known_are_explained() -> None:
    found = compared(runs=1)
    assert "(?)" not in render.diff_text((found,), ViewOptions())
    wide = replace(found, rows=(replace(found.rows[0], ratio=Ratio(1.2, 0.0, 5000.0)), *found.rows[1:]))
    assert "(?): the interval of the ratio goes beyond" in render.diff_text((wide,), ViewOptions())


@pytest.mark.parametrize("word", ["slower", "slower=", "faster=10", "slower=x"])
def test_limits_that_make_no_sense(word: str) -> None:
    from argparse import ArgumentTypeError

    from cyprof.cli.diff import _limit

    with pytest.raises(ArgumentTypeError):
        _limit(word)
