"""Calls, callers, kinds and exceptions of functions of every kind, exact on every Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from recording import Recording, record

pytestmark = pytest.mark.every_python


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("kinds"), "run_kinds.py", lines=False, arguments=("errors.txt",))


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("flows"), "run_flows.py", lines=False)


@pytest.mark.parametrize(
    ("name", "kind", "calls"),
    [
        ("leaf", "cdef", 3),
        ("twice[int]", "cdef", 1),
        ("twice[double]", "cdef", 1),
        ("fused[int]", "def", 1),
        ("fused[double]", "def", 1),
        ("both", "cpdef", 3),
        ("swallowed", "cdef", 1),
        ("Base.__init__", "def", 3),
        ("Base.__add__", "def", 1),
        ("Base.fixed", "def", 1),
        ("Base.ask", "def", 3),
        ("Derived.size", "cpdef", 1),
        ("Plain.method", "def", 1),
        ("Plain.method.<locals>.<lambda>", "def", 1),
        ("Plain.Nested.Deeper.deep", "def", 1),
        ("bound", "def", 1),
        ("make_scaler", "def", 1),
        ("make_scaler.<locals>.scale", "def", 4),
        ("one_line", "def", 5),
        ("factorial", "cdef", 6),
        ("Override.size", "python", 1),
    ],
)
def test_calls_and_kind(kinds: Recording, name: str, kind: str, calls: int) -> None:
    function = kinds.function(name)
    assert (function["kind"], function["calls"]) == (kind, calls)


def test_a_property_counts_getter_and_setter_by_their_lines(kinds: Recording) -> None:
    assert [f["calls"] for f in kinds.functions("Base.prop")] == [1, 1]


def test_cpdef_called_from_c_from_python_and_through_super(kinds: Recording) -> None:
    # main: base.size() from C and base.ask(); Derived.size calls Base.size; Override.size through super.
    assert kinds.calls("Base.size") == 4
    assert kinds.edges("Override.size") == {"Base.size": 1, "super": 1} or kinds.edges("Override.size") == {"Base.size": 1}
    assert kinds.edges("Derived.size") == {"Base.size": 1}
    assert kinds.edges("Base.ask") == {"Base.size": 1, "Derived.size": 1, "Override.size": 1}


def test_recursion_is_told_from_primitive_calls(kinds: Recording) -> None:
    factorial = kinds.function("factorial")
    assert (factorial["calls"], factorial["primitive_calls"]) == (6, 1)
    assert kinds.edges("factorial") == {"factorial": 5}
    assert factorial["total_s"] <= kinds.data["run"]["wall_s"] * 1.01


def test_exceptions_are_counted_where_they_leave_a_function(kinds: Recording) -> None:
    assert kinds.function("both")["raised"] == 1
    # noexcept: the error is printed and goes no further.
    assert kinds.function("swallowed")["raised"] == 0
    assert "ValueError" in (kinds.folder / "errors.txt").read_text()


def test_a_decorator_that_switches_profiling_off_is_respected_and_said(kinds: Recording) -> None:
    assert kinds.functions("unprofiled") == []
    assert any("unprofiled" in unseen["module"] for unseen in kinds.data["unseen"])
    # What it calls is called by its caller.
    assert kinds.edges("main")["leaf"] == 3


def test_wrappers_and_dispatchers_are_no_functions(kinds: Recording) -> None:
    names = {f["name"] for f in kinds.data["functions"] if f["file"].endswith("kinds.pyx")}
    assert not {name for name in names if "wrapper" in name or "__pyx" in name or name in ("fused", "twice")}


def test_nogil_is_marked(kinds: Recording) -> None:
    assert kinds.function("leaf")["nogil"] is True
    assert kinds.function("both")["nogil"] is False


def test_exceptions_through_two_levels(flows: Recording) -> None:
    assert flows.edges("survive")["guard"] == 30
    assert flows.edges("guard") == {"check": 30}
    assert flows.function("check")["raised"] == 10
    assert flows.function("guard")["raised"] == 10
    assert flows.function("survive")["raised"] == 0
    assert flows.function("nogil_check")["calls"] == 3
    assert flows.function("nogil_check")["raised"] == 2


def test_generators_count_starts_apart_from_resumes(flows: Recording) -> None:
    squares = flows.function("squares")
    assert (squares["calls"], squares["resumes"], squares["raised"]) == (1, 10, 0)
    failing = flows.function("failing_generator")
    assert (failing["calls"], failing["resumes"], failing["raised"]) == (1, 1, 1)
    python = flows.function("consume.<locals>.<genexpr>")
    assert (python["calls"], python["resumes"]) == (1, 10)


def test_coroutines(flows: Recording) -> None:
    assert flows.function("climb")["calls"] == 1
    assert flows.edges("climb") == {"step": 5}


def test_threads_are_told_apart_by_name(flows: Recording) -> None:
    assert flows.calls_by_thread("tick") == {"worker-0": 100, "worker-1": 200, "worker-2": 300, "MainThread": 50}
    assert flows.function("tick")["primitive_calls"] == 650


def test_c_functions_called_from_cython(flows: Recording) -> None:
    called = flows.edges("call_numpy")
    assert called["ndarray.dot"] == 20
    assert called["add"] == 20
    called = flows.edges("call_methods")
    assert {name: called[name] for name in ("str.upper", "str.split")} == {"str.upper": 1, "str.split": 1}


def test_python_called_from_cython(flows: Recording) -> None:
    assert flows.edges("call_back") == {"called_back": 6}


def test_self_times_fill_the_run(flows: Recording) -> None:
    own = sum(f["self_s"] for f in flows.data["functions"])
    assert own <= flows.data["run"]["wall_s"] * len(flows.data["threads"]) * 1.05


def test_stdout_is_the_programs_alone(kinds: Recording) -> None:
    assert kinds.stdout == "3\n" or kinds.stdout == "4\n"


def test_what_cyprof_does_to_find_a_module_is_no_call_of_the_program(tmp_path: Path) -> None:
    recording = record(tmp_path, "run_imports.py", lines=False)
    calls = Counter({f["name"]: f["calls"] for f in recording.data["functions"] if f["module"] in ("posixpath", "posix")})
    assert (calls["realpath"], calls["getuid"], calls["isdir"]) == (3, 0, 0)
    assert len([f for f in recording.data["functions"] if f["kind"] == "module" and f["file"].endswith(".pyx")]) == 2
