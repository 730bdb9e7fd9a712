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
