"""The call tree and all that is derived from it, on trees small enough to check by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyprof.model import NO_PARENT, CallTree, Edge, Function, LineRecords, ProbeCost, Profile, Run


def profile(tree: CallTree, names: str, cost: ProbeCost | None = None, lines: LineRecords | None = None) -> Profile:
    functions = [Function(i, "m", name, "/m.pyx", 1, "cdef", language="cython") for i, name in enumerate(names)]
    run = Run("m.py", wall_ns=1000, cost=cost or ProbeCost())
    return Profile(run, functions, tree, lines=lines or LineRecords(), files=["/m.pyx"])


def test_a_parent_stands_before_its_children() -> None:
    tree = CallTree()
    with pytest.raises(ValueError, match="parent 0"):
        tree.add(0, 0)


def test_totals_and_edges_of_a_plain_tree() -> None:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=10)
    left = tree.add(main, 1, calls=2, self_ns=20)
    tree.add(left, 2, calls=3, self_ns=30)
    tree.add(main, 2, calls=4, self_ns=40)
    made = profile(tree, "abc")
    assert [t.total_ns for t in made.function_times] == [100, 50, 70]
    assert [t.self_ns for t in made.function_times] == [10, 20, 70]
    assert made.edges == [Edge(0, 1, 2, 50, 2, 20), Edge(1, 2, 3, 30, 3, 30), Edge(0, 2, 4, 40, 4, 40)]


def test_recursion_counts_each_stack_once() -> None:
    """a > b > a > b: the inner calls are no primitive calls, and their time is in the outer ones already."""
    tree = CallTree()
    node = NO_PARENT
    for function in (0, 1, 0, 1):
        node = tree.add(node, function, calls=1, self_ns=25)
    made = profile(tree, "ab")
    a, b = made.function_times
    assert (a.calls, a.primitive_calls, a.self_ns, a.total_ns) == (2, 1, 50, 100)
    assert (b.calls, b.primitive_calls, b.self_ns, b.total_ns) == (2, 1, 50, 75)
    assert made.edges == [Edge(0, 1, 2, 75, 1, 50), Edge(1, 0, 1, 50, 1, 25)]


def test_a_call_of_its_own_is_an_edge_to_itself() -> None:
    tree = CallTree()
    outer = tree.add(NO_PARENT, 0, calls=1, self_ns=1)
    middle = tree.add(outer, 0, calls=1, self_ns=1)
    tree.add(middle, 0, calls=1, self_ns=1)
    assert profile(tree, "a").edges == [Edge(0, 0, 2, 2, 1, 2)]


def test_the_total_time_of_a_line_holds_the_calls_made_from_it() -> None:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=30)
    tree.add(main, 1, calls=5, self_ns=50, call_line=7)
    lines = LineRecords()
    lines.add(main, 0, 7, 5, 20)
    lines.add(main, 0, 8, 1, 10)
    seven, eight = profile(tree, "ab", lines=lines).line_times
    assert (seven.line, seven.hits, seven.self_ns, seven.total_ns) == (7, 5, 20, 70)
    assert (eight.line, eight.self_ns, eight.total_ns) == (8, 10, 10)


def test_the_cost_of_the_probes_is_taken_off_callee_and_caller() -> None:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=10_000)
    tree.add(main, 1, calls=1000, self_ns=8_000)
    made = profile(tree, "ab", ProbeCost(call_ns=6.0))
    caller, callee = made.function_times
    # 1.25 times 6 ns a call at the most, half of it each.
    assert callee.self_min_ns == 8_000 - 3_750
    assert callee.self_min_ns <= callee.self_ns <= callee.raw_self_ns == 8_000
    assert caller.self_min_ns == 10_000 - 3_750 - 4


def test_what_a_callee_is_too_short_to_give_its_caller_gives() -> None:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=10_000)
    tree.add(main, 1, calls=1000, self_ns=1_000)
    caller, callee = profile(tree, "ab", ProbeCost(call_ns=6.0)).function_times
    assert callee.self_min_ns == 0
    assert caller.self_min_ns == 11_000 - 7_500 - 4


def test_what_a_caller_is_too_short_to_give_its_callee_gives() -> None:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=1_000)
    tree.add(main, 1, calls=1000, self_ns=10_000)
    caller, callee = profile(tree, "ab", ProbeCost(call_ns=6.0)).function_times
    assert caller.self_min_ns == 0
    assert callee.self_min_ns == 11_000 - 7_500 - 4


def test_a_long_call_hides_most_of_its_probe() -> None:
    def best(self_ns: int) -> float:
        tree = CallTree()
        tree.add(NO_PARENT, 0, calls=1_000_000, self_ns=self_ns * 1_000_000)
        return profile(tree, "a", ProbeCost(call_ns=4.0)).function_times[0].self_ns / 1_000_000

    assert best(100) == pytest.approx(100, abs=0.2)
    assert best(4) < 3.2


@st.composite
def trees(draw: st.DrawFn) -> CallTree:
    tree = CallTree()
    for node in range(draw(st.integers(1, 40))):
        tree.add(
            draw(st.integers(NO_PARENT, node - 1)),
            draw(st.integers(0, 4)),
            draw(st.integers(0, 2)),
            calls=draw(st.integers(0, 1000)),
            resumes=draw(st.integers(0, 10)),
            self_ns=draw(st.integers(0, 10**9)),
            wait_ns=draw(st.integers(0, 10**9)),
        )
    return tree


@given(trees(), st.floats(0, 100))
def test_what_holds_for_every_tree(tree: CallTree, cost: float) -> None:
    made = profile(tree, "abcde", ProbeCost(call_ns=cost))
    times = made.function_times
    whole = sum(made.node_times.best)
    assert sum(t.self_ns for t in times) == whole
    assert sum(t.calls for t in times) == sum(tree.calls)
    assert sum(edge.calls for edge in made.edges) == sum(
        calls for calls, parent in zip(tree.calls, tree.parent, strict=True) if parent != NO_PARENT
    )
    for t in times:
        assert 0 <= t.self_min_ns <= t.self_ns <= t.raw_self_ns
        assert t.self_ns <= t.total_ns <= whole
        assert t.primitive_calls <= t.calls
        assert t.wait_ns <= t.self_ns
