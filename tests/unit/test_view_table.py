"""The function table."""

from __future__ import annotations

import profiles
import pytest
from profiles import ProfileBuilder

from cyprof.view import FunctionTable, ViewOptions, function_table
from cyprof.view.table import SORTS


def labels(table: FunctionTable) -> list[str]:
    return [row.label for row in table.rows]


def test_rows_are_sorted_by_self_time() -> None:
    table = function_table(profiles.demo(), ViewOptions())
    assert labels(table)[:3] == ["kern.pyx:2(_inner)", "demo.py:8(fib)", "kern.pyx:9(mid)"]
    assert (table.calls, table.primitive_calls, table.functions, table.holders) == (29771, 7881, 15, 1)


@pytest.mark.parametrize("word", sorted(SORTS))
def test_every_word_sorts(word: str) -> None:
    assert len(function_table(profiles.demo(), ViewOptions(sort=word, everything=True)).rows) == 15


def test_sorting_by_total_calls_and_name() -> None:
    def first(sort: str) -> str:
        return labels(function_table(profiles.demo(), ViewOptions(sort=sort)))[0]

    assert first("cumtime") == "demo.py:1(<module>)"
    assert first("ncalls") == "demo.py:8(fib)"
    assert first("name") == "demo.py:1(<module>)"


def test_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot sort by 'size'"):
        function_table(profiles.demo(), ViewOptions(sort="size"))


def test_what_is_left_out_is_said() -> None:
    table = function_table(profiles.demo(), ViewOptions(top=2, hide=("fib",)))
    assert len(table.rows) == 2
    assert [line.partition(" by ")[0] for line in table.reduced] == [
        "List reduced from 15 to 14",
        "List reduced from 14 to 9",
        "List reduced from 9 to 2",
    ]


def test_c_functions_are_written_as_pstats_writes_them() -> None:
    b = ProfileBuilder()
    for function in (b.builtin("numpy", "ndarray.dot"), b.builtin("builtins", "len"), b.builtin("builtins", "list.sort")):
        b.call(-1, function, 1, 1)
    assert sorted(labels(function_table(b.profile(), ViewOptions()))) == [
        "{built-in method builtins.len}",
        "{method 'dot' of 'numpy.ndarray' objects}",
        "{method 'sort' of 'list' objects}",
    ]


def test_files_of_the_same_name_are_told_apart() -> None:
    b = ProfileBuilder()
    for folder in ("a", "b"):
        b.call(-1, b.function(folder, "run", f"{folder}/util.py", 1), 1, 1)
    assert labels(function_table(b.profile(), ViewOptions())) == ["a/util.py:1(run)", "b/util.py:1(run)"]


def test_the_users_functions_above_the_hot_ones_are_listed_in_a_large_program() -> None:
    build = ProfileBuilder()
    main = build.call(-1, build.function("demo", "main", "demo.py", 1))
    build.call(main, build.function("kern", "hot", "kern.pyx", 1, "cdef"), ms=1000)
    for number in range(80):
        build.call(main, build.function("demo", f"small{number}", "demo.py", 10 + number), ms=0.001)
    for sort in ("self", "total"):
        names = [row.function.name for row in function_table(build.profile(), ViewOptions(sort=sort)).rows]
        assert "main" in names and "hot" in names and "small0" not in names


def test_only_keeps_the_c_functions_that_its_functions_call() -> None:
    build = ProfileBuilder()
    main = build.call(-1, build.function("demo", "main", "demo.py", 1))
    build.call(main, build.builtin("builtins", "print"), ms=100)
    hot = build.call(main, build.function("kern", "hot", "kern.pyx", 1, "cdef"), ms=1000)
    build.call(hot, build.builtin("numpy", "ndarray.dot"), ms=100)
    names = [row.function.name for row in function_table(build.profile(), ViewOptions(only=("kern",))).rows]
    assert sorted(names) == ["hot", "ndarray.dot"]
