"""pstats files made elsewhere: the figures are theirs, and hostile ones do no harm."""

from __future__ import annotations

import cProfile
import json
import marshal
import profile as pure_profile
import pstats
import resource
import struct
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import ns

from cyprof.collect.native import REMARK, with_native_remarks
from cyprof.errors import RenderError, StoreError
from cyprof.model import Entry, Profile
from cyprof.render import stats_text, write
from cyprof.render.pstats_file import function_keys
from cyprof.store import is_profile, load, save
from cyprof.store.marshalled import MarshalError, looks_like_stats, read_stats
from cyprof.view import ViewOptions, call_graph

fuzzing = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


def program() -> None:
    fib(10)
    even(21)
    odd(4)
    sorted([3, 1, 2], key=lambda value: -value)
    str.split("a b")
    exec("len([])")
    max(value for value in range(3))


def profiled(folder: Path) -> tuple[Path, dict[Any, Any]]:
    """A file of cProfile's, and what it holds."""
    path = folder / "run.prof"
    with cProfile.Profile() as profiler:
        program()
    profiler.dump_stats(str(path))
    return path, pstats.Stats(str(path)).stats  # type: ignore[attr-defined,no-any-return]


def check(profile: Profile, stats: dict[Any, Any]) -> None:
    """Every figure of the file is in the profile, in its tables and in its picture."""
    keys = list(stats)
    for number, (row, times) in enumerate(zip(stats.values(), profile.function_times, strict=False)):
        callers = row[4]
        assert (times.primitive_calls, times.calls) == row[:2]
        assert (times.self_ns, times.total_ns) == (ns(row[2]), ns(row[3]))
        edges = {edge.caller: edge for edge in profile.edges if edge.callee == number}
        assert len(edges) == len(callers)
        for caller, (count, primitive, _, total) in callers.items():
            edge = edges[keys.index(caller)]
            assert (edge.calls, edge.primitive_calls, edge.total_ns) == (count, primitive, ns(total))
    graph = call_graph(profile, ViewOptions(everything=True))
    for node in graph.nodes:
        times = profile.function_times[int(node.id[1:])]
        assert (node.self_ns, node.total_ns) == (times.self_ns, times.total_ns)
    drawn = {(edge.tail, edge.head): (edge.calls, edge.total_ns) for edge in graph.edges}
    assert drawn == {(f"f{e.caller}", f"f{e.callee}"): (e.calls, e.total_ns) for e in profile.edges if e.caller != e.callee}


@pytest.mark.every_python
def test_figures_of_cprofile(tmp_path: Path) -> None:
    path, stats = profiled(tmp_path)
    profile = load(path)
    check(profile, stats)
    by_name = {function.name: function for function in profile.functions}
    assert (by_name["fib"].kind, by_name["fib"].module, by_name["fib"].file) == ("python", "test_pstats_import", __file__)
    assert (by_name["str.split"].language, by_name["str.split"].module) == ("c", "builtins")
    assert by_name["sorted"].module == "builtins"
    assert profile.run.wall_ns == pytest.approx(ns(sum(row[2] for row in stats.values())), abs=len(stats))
    assert not profile.has_paths and not profile.threads and "not along which path" in profile.notes[0]


def test_written_again_it_is_the_same_file(tmp_path: Path) -> None:
    path, stats = profiled(tmp_path)
    profile = load(path)
    again = pstats.Stats(str(write(profile, tmp_path / "again.prof", ViewOptions(), "export"))).stats  # type: ignore[attr-defined]
    rounded = {key: (*row[:2], *map(ns, row[2:4]), set(row[4])) for key, row in stats.items()}
    assert {key: (*row[:2], *map(ns, row[2:4]), set(row[4])) for key, row in again.items()} == rounded
    save(profile, tmp_path / "kept.cyprof")
    kept = load(tmp_path / "kept.cyprof")
    assert (kept.function_times, kept.edges, kept.notes) == (profile.function_times, profile.edges, profile.notes)


@pytest.mark.every_python
def test_profile_module_counts_callers_only(tmp_path: Path) -> None:
    profiler = pure_profile.Profile()
    profiler.runcall(program)
    profiler.dump_stats(str(tmp_path / "pure.prof"))
    stats = pstats.Stats(str(tmp_path / "pure.prof")).stats  # type: ignore[attr-defined]
    profile = load(tmp_path / "pure.prof")
    for row, times in zip(stats.values(), profile.function_times, strict=False):
        assert (times.primitive_calls, times.calls) == row[:2]
        assert (times.self_ns, times.total_ns) == (max(0, ns(row[2])), max(0, ns(row[3])))
    assert any("does not tell the time of each caller" in note for note in profile.notes)


@pytest.mark.parametrize("change", ["strip_dirs", "add"])
def test_files_that_pstats_has_worked_on(change: str, tmp_path: Path) -> None:
    path, _ = profiled(tmp_path)
    stats = pstats.Stats(str(path))
    getattr(stats, change)(*([str(path)] if change == "add" else []))
    stats.dump_stats(str(tmp_path / "changed"))
    assert is_profile(tmp_path / "changed")
    check(load(tmp_path / "changed"), pstats.Stats(str(tmp_path / "changed")).stats)  # type: ignore[attr-defined]


def test_what_needs_paths_is_refused(tmp_path: Path) -> None:
    path, _ = profiled(tmp_path)
    for suffix in (".collapsed", ".speedscope.json", ".pb.gz"):
        with pytest.raises(RenderError, match="tells only who calls whom") as error:
            write(load(path), tmp_path / f"out{suffix}", ViewOptions(), "export")
        assert ".callgrind" in error.value.hint and suffix not in error.value.hint
    assert write(load(path), tmp_path / "out.callgrind", ViewOptions(), "export").exists()


def test_json_says_that_there_are_no_paths(tmp_path: Path) -> None:
    path, stats = profiled(tmp_path)
    data = json.loads(write(load(path), tmp_path / "out.json", ViewOptions(), "export").read_bytes())
    assert data["run"]["has_paths"] is False
    for row, function in zip(stats.values(), data["functions"], strict=False):
        assert (function["primitive_calls"], function["calls"]) == row[:2]
        assert (function["self_s"], function["total_s"]) == pytest.approx(row[2:4], abs=1e-9)


def test_table_leaves_out_what_is_not_known(tmp_path: Path) -> None:
    path, _ = profiled(tmp_path)
    text = stats_text(load(path), ViewOptions(everything=True, threads=True, explain=True))
    assert "177/1" in text and "kind" not in text.split("\n\n")[1].splitlines()[0]
    assert "builtin (a C function)" not in text


def test_folding_keeps_the_users_functions(tmp_path: Path) -> None:
    path, _ = profiled(tmp_path)
    graph = call_graph(load(path), ViewOptions())
    assert {"fib", "even", "odd", "program"} <= {node.title for node in graph.nodes}
    whole = load(path).self_sum_ns
    assert all(0 <= node.self_ns <= node.total_ns <= whole * 1.01 for node in graph.nodes)


SOURCE = """\
def straight(a, b):
    return a @ b + [x for x in ()] if False else a @ b


@decorate
def plain(a, b):
    c = a @ b
    def inner():
        for i in c:
            pass
    return c + inner()


def loop(n):
    for i in range(n):
        pass


def short(a):
    return -a
"""


def stats_of(file: str, rows: dict[tuple[int, str], tuple[int, float]]) -> bytes:
    return marshal.dumps({(file, line, name): (n, n, s, s, {}) for (line, name), (n, s) in rows.items()})


def test_native_code_is_named_where_python_cannot_have_taken_the_time(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(SOURCE)
    rows = {
        (1, "straight"): (10, 2.0),  # has a comprehension, so it may be Python's own time
        (5, "plain"): (10, 2.0),
        (14, "loop"): (1, 5.0),
        (19, "short"): (1_000_000, 1.0),  # a µs a call is nothing to wonder at
        (99, "gone"): (1, 3.0),
    }
    (tmp_path / "run.prof").write_bytes(stats_of(str(source), rows))
    profile = with_native_remarks(load(tmp_path / "run.prof"))
    assert {profile.functions[number].name: text for number, text in profile.remarks.items()} == {"plain": REMARK}
    assert REMARK in stats_text(profile, ViewOptions())
    (node,) = (node for node in call_graph(profile, ViewOptions()).nodes if node.title == "plain")
    assert node.hot_line == REMARK and node.tooltip.endswith(REMARK)
    save(profile, tmp_path / "kept.cyprof")
    assert load(tmp_path / "kept.cyprof").remarks == profile.remarks
    source.write_text("def broken(:\n")
    assert with_native_remarks(load(tmp_path / "run.prof")).remarks == {}


def plain(stats: dict[Any, Entry]) -> dict[Any, Any]:
    """What the reader gives, in the form marshal.loads has."""
    return {
        key: (
            entry.sums.primitive_calls, entry.sums.calls, entry.sums.self_s, entry.sums.total_s,
            {
                caller: (c.calls, c.primitive_calls, c.self_s, c.total_s) if c.total_s is not None else c.calls
                for caller, c in entry.callers.items()
            },
        )
        for key, entry in stats.items()
    }  # fmt: skip


KEYS = st.tuples(st.text(max_size=300), st.integers(0, 2**40), st.sampled_from(["f", "g"]) | st.text())
TIMES = st.floats(0, 1e6) | st.sampled_from([0.0, 0.5])
CALLERS = st.dictionaries(KEYS, st.tuples(st.integers(0, 2**62), st.integers(0, 9), TIMES, TIMES) | st.integers(0, 2**40))
STATS = st.dictionaries(KEYS, st.tuples(st.integers(0, 2**62), st.integers(0, 9), TIMES, TIMES, CALLERS), max_size=5)


@pytest.mark.every_python
@settings(fuzzing, max_examples=80)
@given(STATS, st.sampled_from([2, 3, 4]))
def test_reader_agrees_with_marshal(stats: dict[Any, Any], version: int) -> None:
    data = marshal.dumps(stats, version)
    assert plain(read_stats(data)) == stats
    assert looks_like_stats(data)


@fuzzing
@given(st.binary() | st.binary().map(lambda data: b"{\xa9\x03" + data))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marshal, "loads", None)
        with suppress(MarshalError):
            read_stats(data)


@fuzzing
@given(STATS, st.data())
def test_damaged_files_are_read_or_refused(tmp_path: Path, stats: dict[Any, Any], data: st.DataObject) -> None:
    whole = bytearray(marshal.dumps(stats))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        action: Callable[[], Any] = data.draw(
            st.sampled_from([
                lambda place=place: whole.__setitem__(place, data.draw(st.integers(0, 255))),
                lambda place=place: whole.__delitem__(place),
                lambda place=place: whole.insert(place, data.draw(st.integers(0, 255))),
            ])
        )  # fmt: skip
        if len(whole) > 1:
            action()
    (tmp_path / "any.prof").write_bytes(whole)
    try:
        profile = load(tmp_path / "any.prof")
    except StoreError as error:
        assert "any.prof" in error.message and error.hint
        return
    stats_text(profile, ViewOptions())
    call_graph(profile, ViewOptions())
    assert len(function_keys(profile)) == len(profile.functions)


def name(text: str) -> bytes:
    return b"z" + bytes([len(text)]) + text.encode()


KEY = b")\x03" + name("f") + b"i\1\0\0\0" + name("g")
ONES = b"i\1\0\0\0" * 4
SELF = b"\xa9\x05" + ONES  # a shared tuple that will hold a dict


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends in the middle"),
        (b"{" + KEY, "ends in the middle"),
        (b"{" + KEY + b")\x05" + ONES + b"{0" + b"0more", "4 bytes follow"),
        (b"(" + struct.pack("<I", 1 << 31), "type '\\('"),
        (b"(" * 100_000, "type '\\('"),
        (b"{" * 100_000, "type '{'"),
        (b"{)\x03u" + struct.pack("<I", 0xFFFFFFF0) + b"x", "ends in the middle"),
        (b"{)\x03r" + struct.pack("<I", 0), "a reference"),
        (b"\xfb)\x03r" + struct.pack("<I", 0), "a reference"),
        (b"{\xa9\x03r\0\0\0\0", "a reference"),
        (b"{" + KEY + SELF + b"{" + KEY + b"r\0\0\0\0" + b"0" * 2, "a reference"),
        (b"{" + KEY + b")\x05" + b"i\xff\xff\xff\xff" * 4 + b"{00", "a count"),
        (b"{" + KEY + b")\x05" + b"l" + struct.pack("<i", 1 << 30) + b"\0" * 40, "too large"),
        (b"{" + KEY + b")\x05" + ONES[:10] + b"g" + struct.pack("<d", float("nan")) + ONES[:5] + b"{00", "a time"),
        (b"{" + KEY + b")\x05" + ONES + b"{" + KEY + b"i\x02\0\0\0" + b"00", "2 times by its callers and 1 times at all"),
        (marshal.dumps({("f", 1, "g"): (1, 1, 0.0, 0.0, [])}), "type '\\['"),
        (marshal.dumps({("f", 1, b"g"): (1, 1, 0.0, 0.0, {})}), "type 's'"),
        (marshal.dumps({"f": 1}), "type"),
        (marshal.dumps(compile("1", "f", "eval")), "type 'c'"),
        (b"import os\n", "type 'i'"),
    ],
)
def test_hostile_files_are_refused_with_a_reason(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "bad.prof").write_bytes(data)
    with pytest.raises(StoreError, match=words) as error:
        load(tmp_path / "bad.prof")
    assert "python -m cProfile" in error.value.hint


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.prof").open("wb") as file:
        file.write(b"{" + KEY)
        file.truncate(1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StoreError, match="larger than"):
        load(tmp_path / "huge.prof")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_names_that_take_long_to_take_apart(tmp_path: Path) -> None:
    keys = [("~", 0, "<method '" + "' of '" * 200_000), ("/site-packages" * 50_000 + "/\nx", 1, "f")]
    (tmp_path / "slow.prof").write_bytes(marshal.dumps({key: (1, 1, 0.1, 0.1, {}) for key in keys}))
    profile = load(tmp_path / "slow.prof")
    assert len(profile.functions) == 2
    assert "function calls" in stats_text(profile, ViewOptions())


def test_modules_are_told_from_paths(tmp_path: Path) -> None:
    files = {
        "/home/me/app/tool.py": "tool",
        "/home/me/a/util.py": "a.util",
        "/home/me/b/util.py": "b.util",
        "/home/me/pkg/__init__.py": "pkg",
        "/usr/lib/python3.13/json/decoder.py": "json.decoder",
        "/v/lib/python3.13/site-packages/numpy/lib/__init__.py": "numpy.lib",
        "C:\\v\\lib\\site-packages\\numpy\\x.py": "numpy.x",
        "<frozen importlib._bootstrap>": "importlib._bootstrap",
        "<string>": "<string>",
        "kern.pyx": "kern",
    }
    (tmp_path / "m.prof").write_bytes(marshal.dumps({(file, 1, "f"): (1, 1, 0.1, 0.1, {}) for file in files}))
    profile = load(tmp_path / "m.prof")
    assert {function.file: function.module for function in profile.functions} == files
    assert [function.file for function in profile.functions if function.language == "cython"] == ["kern.pyx"]


@pytest.mark.parametrize(
    ("raw", "module", "short"),
    [
        ("<built-in method builtins.len>", "builtins", "len"),
        ("<built-in method numpy._core._multiarray_umath.dot>", "numpy._core._multiarray_umath", "dot"),
        ("<method 'dot' of 'numpy.ndarray' objects>", "numpy", "ndarray.dot"),
        ("<method 'append' of 'list' objects>", "builtins", "list.append"),
        ("<built-in method __new__ of type object at 0x7f00>", "builtins", "__new__ of type object at 0x7f00"),
        ("odd", "builtins", "odd"),
    ],
)
def test_names_of_c_functions(raw: str, module: str, short: str, tmp_path: Path) -> None:
    (tmp_path / "c.prof").write_bytes(marshal.dumps({("~", 0, raw): (1, 1, 0.1, 0.1, {})}))
    (function,) = load(tmp_path / "c.prof").functions
    assert (function.module, function.name, function.language, function.kind) == (module, short, "c", "builtin")


def test_a_program_is_no_pstats_file(tmp_path: Path) -> None:
    for number, text in enumerate(["{('a', 1, 'b'): 2}", "{0}", "{}", "(1)", textwrap.dedent(SOURCE)]):
        (tmp_path / f"{number}.py").write_text(text)
        assert not is_profile(tmp_path / f"{number}.py")
