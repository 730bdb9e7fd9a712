"""Settling what the probes' own cost leaves open by a second run without them."""

from __future__ import annotations

from cyprof.model import NO_PARENT, CallTree, Function, ProbeCost, Profile, Run
from cyprof.model.merge import settle, wide_functions

FUNCTIONS = [
    Function(i, "m", name, "/m.pyx", i + 1, "cdef", language="cython") for i, name in enumerate(["main", "tiny", "big"])
]


def first_run() -> Profile:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=4_000_000)
    tiny = tree.add(main, 1, calls=1_000_000, self_ns=6_000_000)
    tree.add(tiny, 2, calls=1, self_ns=10_000_000)
    return Profile(Run("m.py", cost=ProbeCost(call_ns=5.0)), list(FUNCTIONS), tree)


def second_run(main_ns: int) -> Profile:
    tree = CallTree()
    main = tree.add(NO_PARENT, 0, calls=1, self_ns=main_ns)
    tree.add(main, 2, calls=1, self_ns=10_000_000)
    return Profile(Run("m.py", cost=ProbeCost(call_ns=5.0)), list(FUNCTIONS), tree)


def test_the_functions_whose_time_is_open_are_found() -> None:
    assert [function.name for function in wide_functions(first_run())] == ["tiny"]


def test_a_group_has_the_time_of_the_second_run_and_the_split_of_the_first() -> None:
    first = first_run()
    estimate = [times.self_ns for times in first.function_times]
    settled = settle(first, second_run(2_000_000), [FUNCTIONS[1]])
    main, tiny, big = settled.function_times
    assert abs(main.self_ns + tiny.self_ns - 2_000_000) <= 2
    assert abs(main.self_ns / tiny.self_ns - estimate[0] / estimate[1]) < 0.01
    assert main.self_min_ns == main.self_ns == main.raw_self_ns
    assert big.self_ns == estimate[2]
    assert [times.calls for times in settled.function_times] == [1, 1_000_000, 1]


def test_a_probe_that_kept_a_loop_from_being_vectorised_is_named() -> None:
    assert any("tiny" in note for note in settle(first_run(), second_run(500_000), [FUNCTIONS[1]]).notes)
    assert settle(first_run(), second_run(6_000_000), [FUNCTIONS[1]]).notes == []


def test_a_function_that_did_not_run_again_keeps_its_estimate() -> None:
    empty = Profile(Run("m.py"), list(FUNCTIONS), CallTree())
    first = first_run()
    settled = settle(first, empty, [FUNCTIONS[1]])
    assert [t.self_ns for t in settled.function_times] == [t.self_ns for t in first.function_times]
