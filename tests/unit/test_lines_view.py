"""The line table: what stands in it, in which order, and what it says of all that does not."""

from __future__ import annotations

from dataclasses import replace

import line_profiles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from line_profiles import SOURCES, kern, source_of
from profiles import PROJECT, ProfileBuilder

from cyprof.model import Profile
from cyprof.view import LineTable, SourceText, ViewOptions, line_table
from cyprof.view.file_names import file_names
from cyprof.view.line_advice import HOT_SHARE, verdict_of
from cyprof.view.line_blocks import block_end
from cyprof.view.line_rows import Fold, LineRow
from cyprof.view.line_table import FunctionLines


def table_of(profile: Profile | None = None, **options: object) -> LineTable:
    return line_table(profile or kern(), ViewOptions(**options), source_of(SOURCES))  # type: ignore[arg-type]


def entry(table: LineTable, name: str) -> FunctionLines:
    return next(found for found in table.functions if found.function.name == name)


def names(table: LineTable) -> list[str]:
    return [found.function.name for found in table.functions]


def test_functions_are_sorted_by_self_time() -> None:
    assert names(table_of()) == [
        "_inner", "collect", "make.<locals>.inner", "twice[double]", "twice[int]", "mid", "<module>", "main",
        "make",
    ]  # fmt: skip


def test_a_function_has_all_its_lines_reached_or_not() -> None:
    rows = entry(table_of(), "_inner").rows
    assert [row.line for row in rows] == list(range(5, 16))
    assert [row.line for row in rows if row.hits is None] == [6, 8, 11, 12, 14]
    assert rows[9].text == "        return -1"


def test_numbers_of_a_line() -> None:
    hot = entry(table_of(), "_inner").rows[5]
    assert (hot.line, hot.hits, hot.self_ns, hot.score, hot.verdict) == (10, 300_000, 640_000_000, 2, "check")
    assert hot.per_hit_ns == pytest.approx(2133.33, abs=0.01)
    assert (round(hot.share, 3), round(hot.run_share, 3)) == (0.953, 0.732)


def test_a_call_counts_into_the_total_of_its_line_only() -> None:
    row = entry(table_of(), "mid").rows[1]
    assert (row.self_ns, row.total_ns) == (600_000, 671_870_000)
    assert entry(table_of(), "mid").calls_others
    assert not entry(table_of(), "_inner").calls_others


def test_lines_of_other_functions_are_folded_and_unfolded() -> None:
    body = entry(table_of(), "<module>")
    assert body.parts[0].rows[4] == Fold(5, 11)
    assert [row.line for row in entry(table_of(everything=True), "<module>").rows] == list(range(1, 13))
    maker = entry(table_of(everything=True), "make")
    assert [row.line for row in maker.rows] == list(range(34, 41))


def test_specialisations_have_a_table_each_and_one_line_of_advice() -> None:
    table = table_of()
    assert [entry(table, f"twice[{kind}]").rows[1].hits for kind in ("int", "double")] == [40, 60]
    one = next(found for found in table.first if found.line == 31)
    assert (one.function.name, one.others, one.self_ns) == ("twice[double]", 1, 11_000_000)


def test_included_code_belongs_to_its_own_file() -> None:
    b = ProfileBuilder(with_lines=True)
    body = b.function("kern", "<module>", "kern.pyx", 1, "module")
    step = b.function("kern", "step", "part.pxi", 11, "def")
    node = b.call(-1, body, 1, 2)
    b.line(node, "kern.pyx", 1, 1, 1)
    b.line(node, "part.pxi", 11, 1, 1)
    b.line(b.call(node, step, 3, 4), "part.pxi", 12, 3, 4)
    table = table_of(b.profile())
    assert [part.name for part in entry(table, "<module>").parts] == ["kern.pyx", "part.pxi"]
    assert [(part.file, [row.line for row in part.lines]) for part in entry(table, "step").parts] == [
        (f"{PROJECT}/part.pxi", [11, 12])
    ]


def test_python_functions_have_lines_but_no_score() -> None:
    rows = entry(table_of(), "main").rows
    assert [row.line for row in rows] == [4, 5, 6, 7, 8, 9]
    assert all(row.score is None and row.verdict is None for row in rows)


@pytest.mark.parametrize(
    ("share", "score", "language", "verdict"),
    [
        (0.5, 40, "cython", "python"),
        (0.5, 2, "cython", "check"),
        (0.5, 0, "cython", "c"),
        (0.5, None, "cython", None),
        (0.5, None, "python", "interpreted"),
        (0.001, 40, "cython", "leave"),
        (0.001, 2, "cython", None),
        (0.001, 0, "cython", None),
        (0.001, None, "python", None),
    ],
)
def test_verdicts(share: float, score: int | None, language: str, verdict: str | None) -> None:
    assert verdict_of(share, score, language) == verdict


def test_lines_worth_an_edit_are_ranked_by_what_it_may_save() -> None:
    table = table_of(replace(kern(), baseline_ns_per_call={}))
    assert [(one.place, one.line, one.verdict) for one in table.first] == [
        ("kern.pyx", 10, "check"), ("kern.pyx", 25, "python"), ("kern.pyx", 24, "python"), ("kern.pyx", 23, "python"),
        ("kern.pyx", 9, "c"), ("kern.pyx", 31, "c"),
    ]  # fmt: skip
    assert "boundscheck(False)" in table.first[0].why and "cdivision(True)" in table.first[0].why
    assert [one.line for one in table_of(top=2).first] == [25, 10]  # line 10 is held back by what its probes cost


def test_a_yellow_line_stands_before_a_white_one_of_more_time() -> None:
    b = ProfileBuilder(with_lines=True)
    node = b.call(-1, b.function("kern", "f", "kern.pyx", 1, "cdef"), 1, 100)
    b.line(node, "kern.pyx", 2, 100_000, 70)
    b.line(node, "kern.pyx", 3, 100_000, 30)
    b.scores = {f"{PROJECT}/kern.pyx": {3: 25}}
    assert [one.line for one in table_of(b.profile()).first] == [3, 2]


def test_an_import_is_no_line_to_edit() -> None:
    b = ProfileBuilder(with_lines=True)
    node = b.call(-1, b.function("__main__", "<module>", "demo.py", 1, "module"), 1, 100)
    b.line(node, "demo.py", 1, 1, 90)
    b.line(node, "demo.py", 12, 1, 10)
    first = table_of(b.profile()).first
    assert [one.line for one in first] == [12, 1]
    assert first[1].why.startswith("an import")


def test_a_line_that_works_on_something_big_is_not_taken_for_slow_python() -> None:
    b = ProfileBuilder(with_lines=True)
    node = b.call(-1, b.function("kern", "f", "kern.pyx", 1, "def"), 1, 100)
    b.line(node, "kern.pyx", 2, 10, 60)  # 6 ms a hit
    b.line(node, "kern.pyx", 3, 1_000_000, 30)  # 30 ns a hit
    script = b.call(-1, b.function("__main__", "main", "demo.py", 4), 1, 10)
    b.line(script, "demo.py", 8, 1, 10)
    b.scores = {f"{PROJECT}/kern.pyx": {2: 25, 3: 25}}
    first = table_of(b.profile()).first
    assert [(one.line, one.heavy) for one in first] == [(3, False), (2, True), (8, True)]
    assert "numpy" in first[1].why and "keep it in C" in first[0].why and "Python line" in first[2].why


def test_what_line_probes_cost_does_not_count_in_the_ranking() -> None:
    b = ProfileBuilder(with_lines=True)
    slow, plain = (b.function("kern", name, "kern.pyx", line, "cdef") for name, line in (("slow", 1), ("plain", 18)))
    b.line(b.call(-1, slow, 1, 60), "kern.pyx", 2, 60_000, 60)
    b.line(b.call(-1, plain, 1, 40), "kern.pyx", 19, 40_000, 40)
    b.scores = {f"{PROJECT}/kern.pyx": {50: 1}}
    assert [one.line for one in table_of(b.profile()).first] == [2, 19]
    first = table_of(replace(b.profile(), baseline_ns_per_call={slow: 10e6})).first
    assert [one.line for one in first] == [19, 2]
    assert "6.0 times as slow" in first[1].why and "slow" not in first[0].why


def test_without_a_hot_line_it_says_so() -> None:
    b = ProfileBuilder(with_lines=True)
    function = b.function("kern", "f", "kern.pyx", 1, "cdef")
    node = b.call(-1, function, 1, 1000)
    for line in range(1, 1001):
        b.line(node, "kern.pyx", line, 1, 1)
    b.scores = {f"{PROJECT}/kern.pyx": {1: 3}}
    table = table_of(b.profile())
    assert not table.first
    assert f"{100 * HOT_SHARE:g} %" in table.first_message
    b.scores = {}
    assert "annotation scores" in table_of(b.profile()).first_message


def test_what_line_probes_cost_is_said() -> None:
    table = table_of()
    slow, same, unknown = (entry(table, name) for name in ("_inner", "mid", "collect"))
    assert slow.slowed and slow.slowdown == pytest.approx(3.2, abs=0.01)
    assert not same.slowed and same.slowdown == pytest.approx(1.0)
    assert unknown.slowdown is None and not unknown.slowed


def test_functions_below_the_least_share_are_counted() -> None:
    table = table_of()
    assert table.functions_run == 10 and len(table.functions) == 9
    assert len(table.left_out) == 1 and table.left_out[0].startswith("1 function with lines left out whose total time")
    assert "make" in names(table), "a Cython function is listed whatever its share"
    assert not table_of(everything=True).left_out and len(table_of(everything=True).functions) == 10


def test_hide_and_only_are_said() -> None:
    hidden = table_of(hide=("_inner",))
    assert "_inner" not in names(hidden) and "by --hide; self time together 77 %." in hidden.left_out[0]
    assert all(one.function.name != "_inner" for one in hidden.first)
    only = table_of(only=("kern:collect",))
    assert names(only) == ["collect"] and "by --only" in only.left_out[0]
    assert [(group.reason, [f.name for f in group.functions]) for group in only.without] == [("excluded by --only", ["never"])]


def test_functions_without_lines_have_a_reason() -> None:
    b = ProfileBuilder(with_lines=True)
    root = b.call(-1, b.function("__main__", "main", "demo.py", 4), 1, 1)
    b.call(root, b.function("kern", "bare", "kern.pyx", 5, "cdef"), 1, 1)
    b.call(root, b.function("__main__", "<module>", "<string>", 1, "module"), 1, 1)
    b.function("kern", "idle", "kern.pyx", 18, "def")
    b.call(root, b.builtin("numpy", "dot"), 1, 1)
    b.call(root, b.function("json", "loads", "/usr/lib/python3.12/json/__init__.py", 299), 1, 1)
    table = table_of(b.profile())
    reasons = {function.name: group.reason for group in table.without for function in group.functions}
    assert reasons == {
        "main": "run without line data",
        "bare": "run, but built without line probes",
        "<module>": "run from a text, not from a file",
        "idle": "not executed",
    }
    assert "reasons stand below" in table.message


def test_an_empty_table_says_why() -> None:
    def message(profile: Profile, **options: object) -> str:
        table = table_of(profile, **options)
        assert not table.functions
        return table.message

    functions_only = ProfileBuilder()
    functions_only.call(-1, functions_only.function("kern", "f", "kern.pyx", 5, "cdef"), 1, 5)
    assert message(functions_only.profile()).startswith("No lines were asked for")
    assert message(ProfileBuilder(with_lines=True).profile()).startswith("No function was recorded")
    assert message(kern(), hide=("*",)).startswith("Every function with lines is left out by the options")


def test_a_missing_and_a_changed_source_are_told() -> None:
    lost = line_table(kern(), ViewOptions(), lambda _file: SourceText())
    part = entry(lost, "_inner").parts[0]
    assert not part.found and [row.line for row in part.lines] == [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    assert all(not row.text for row in part.lines)
    changed = line_table(kern(), ViewOptions(), source_of(SOURCES, frozenset({f"{PROJECT}/kern.pyx"})))
    assert entry(changed, "_inner").parts[0].changed and not entry(changed, "main").parts[0].changed


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.integers(0, 9), st.integers(0, 900)), min_size=1, max_size=40, unique_by=lambda t: t[0]
    )
)
def test_no_line_and_no_time_is_lost(lines: list[tuple[int, int, int]]) -> None:
    b = ProfileBuilder(with_lines=True)
    node = b.call(-1, b.function("kern", "f", "kern.pyx", 5, "cdef"), 1, sum(ms for _, _, ms in lines))
    for line, hits, ms in lines:
        b.line(node, "kern.pyx", line, hits, ms)
    rows = table_of(b.profile(), everything=True).functions[0].rows
    reached = {row.line: (row.hits, row.self_ns) for row in rows if row.hits is not None}
    assert reached == {line: (hits, ms * 1_000_000) for line, hits, ms in lines}
    assert [row.line for row in rows] == list(range(rows[0].line, rows[-1].line + 1))
    assert sum(row.share for row in rows) <= 1.0001
    assert all(0 <= row.run_share <= 1 for row in rows)


BLOCKS = '''\
@decorated(
    x={1: 2},
)
@again
def long(a, b=")",  # :
         c: int = 1,
):
    """Text:
out of place
"""
    if a:
        return [
1, 2,
        ]
# a comment

    return b

def one_line(x): return (x,
    1)
y = lambda z: z
cdef class Thing:
    cdef inline int f(self) except? -1:
        pass
    property old:
        def __get__(self):
            return \\
1

    async def last(self): # nothing
\tyield 1
'''.split("\n")  # noqa: SIM905


@pytest.mark.parametrize(
    ("first", "last"),
    [(1, 17), (4, 17), (5, 17), (19, 20), (21, 21), (22, 31), (23, 24), (25, 28), (26, 28), (30, 31), (99, 99), (0, 0)],
)
def test_ends_of_functions(first: int, last: int) -> None:
    assert block_end(BLOCKS, first) == last


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="def cx:()[]{}\"'\\#@\t  \n", max_size=20), max_size=12), st.integers(-1, 14))
def test_any_text_has_an_end(lines: list[str], first: int) -> None:
    assert block_end(lines, first) in range(first, max(first, len(lines)) + 1)


def test_short_file_names_tell_files_apart() -> None:
    found = file_names(["/a/x/kern.pyx", "/a/y/kern.pyx", "/a/z.py", "", "<string>"])
    assert found == {"/a/x/kern.pyx": "x/kern.pyx", "/a/y/kern.pyx": "y/kern.pyx", "/a/z.py": "z.py", "<string>": "<string>"}


def test_large_tables_grow_no_faster_than_their_lines() -> None:
    def rows(count: int, each: int) -> int:
        profile, source = line_profiles.large(count, each)
        table = line_table(profile, ViewOptions(everything=True), source)
        return sum(len(found.rows) for found in table.functions)

    assert rows(1, 10_000) == 10_001
    assert rows(3_000, 3) == 3_000 * 3 + 2_999 * 4 + 1  # the body's rows run from the first definition to the last


def test_unreached_lines_carry_the_score_that_tells_of_code() -> None:
    rows = {row.line: row for row in entry(table_of(everything=True), "make").rows if isinstance(row, LineRow)}
    assert (rows[36].hits, rows[36].score) == (None, 11)
    assert rows[40].score is None


def test_scores_unknown_are_not_scores_of_zero() -> None:
    profile = replace(kern(), scores={})
    assert all(row.score is None for row in entry(table_of(profile), "_inner").rows)
