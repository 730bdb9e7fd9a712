"""Exports, each opened by the programs it is for."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import line_profiles
import profiles
import pytest
import readers
from profiles import MS, ProfileBuilder
from readers import of_profile, paths_of

from cyprof import render
from cyprof.errors import UsageError
from cyprof.model import Profile
from cyprof.render.pstats_file import function_keys
from cyprof.view import ViewOptions
from cyprof.view.names import unique_names
from cyprof.view.units import visible

NAMES = ["demo", "mnist", "recursion", "single", "nasty", "uncertain", "workers", "hostile"]


def workers() -> Profile:
    """Two threads, an OpenMP worker below a node of its owner's, a generator that another function continues."""
    b = ProfileBuilder()
    b.threads += [profiles.Thread(1, "loader", 5 * MS, 9 * MS), profiles.Thread(2, "OpenMP worker 2", 0, 0)]
    main = b.call(-1, b.function("__main__", "main", "demo.py", 1), 1, 2)
    solve = b.function("kern", "solve", "kern.pyx", 5, "def")
    b.call(main, solve, 4, 8)
    b.call(main, solve, 0, 7, thread=2)
    walk = b.function("tree", "walk", "tree.pyx", 5, "def")
    b.call(b.call(main, b.function("tree", "use", "tree.pyx", 9, "def"), 1, 1), walk, 0, 3, resumes=5)
    b.call(b.call(-1, b.function("loader", "run", "loader.py", 3), 1, 1, thread=1), solve, 2, 4, thread=1, wait_ns=3 * MS)
    return b.profile()


def hostile() -> Profile:
    """Names that are the same, and such as a format could take for its own signs."""
    b = ProfileBuilder()
    odd = [
        "a;b c 12",
        "(1) x",
        "fn=(2)",
        "calls=3 4",
        "x\ny\r\tz",
        " ",
        "ж漢字🜨\ud800",
        "f(g) [h]",
        "}",
        "<listcomp>",
        "y" * 4000,
    ]
    ids = [b.function("m", name, "odd (1);.py", 3) for name in odd]
    ids += [b.function(module, "same", "lambdas.py", 7) for module in ("m", "m", "n")]
    ids += [b.builtin(module, name) for module in ("m", "n") for name in ("do", "C.do", "a 'b' c")]
    ids += [b.function("m:same (/home/user/project/lambdas.py", "7)", "", 0), b.function("m", "same [m]", "lambdas.py", 7)]
    node = b.call(-1, ids[0], 1, 1)
    for number, function in enumerate(ids):
        b.call(node, function, number + 1, number + 1)
        b.call(-1, function, 1, 0)
    return b.profile()


def made(name: str) -> Profile:
    profile = globals()[name]() if name in ("workers", "hostile") else getattr(profiles, name)()
    assert isinstance(profile, Profile)
    return profile


def written(profile: Profile, folder: Path, suffix: str) -> Path:
    return render.write(profile, folder / f"out{suffix}", ViewOptions(), "export")


@pytest.mark.parametrize("name", NAMES)
def test_pstats_reads_calls_edges_and_times(name: str, tmp_path: Path) -> None:
    profile = made(name)
    keys = function_keys(profile)
    assert readers.by_pstats(written(profile, tmp_path, ".prof")) == of_profile(profile, keys)
    stats = readers.pstats.Stats(str(tmp_path / "out.prof"), stream=io.StringIO())
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        primitive, calls, own, total, _ = stats.stats[keys[function.id]]  # type: ignore[attr-defined]
        assert (primitive, calls) == (times.primitive_calls, times.calls)
        assert (readers.ns(own), readers.ns(total)) == (times.self_ns, times.total_ns)
    assert readers.ns(stats.total_tt) == pytest.approx(profile.self_sum_ns, abs=1)  # type: ignore[attr-defined]
    stats.sort_stats("cumulative").print_stats().print_callers().print_callees()


def test_python_m_pstats_prints_it(tmp_path: Path) -> None:
    path = written(profiles.recursion(), tmp_path, ".prof")
    done = subprocess.run(
        [sys.executable, "-m", "pstats", str(path)], input="sort ncalls\nstats\ncallers visit\n", capture_output=True, text=True
    )
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr
    assert re.search(r"^ +4500/500 .*tree.pyx:14\(visit\)$", done.stdout, re.M)


@pytest.mark.parametrize("name", NAMES)
def test_gprof2dot_reads_pstats(name: str, tmp_path: Path) -> None:
    profile = made(name)
    seen = readers.by_gprof2dot(written(profile, tmp_path, ".prof"), "pstats")
    assert sum(seen.self_ns.values()) == pytest.approx(sum(t.self_ns for t in profile.function_times), abs=len(seen.self_ns))
    assert sum(seen.edge_calls.values()) == sum(edge.primitive_calls for edge in profile.edges)


@pytest.mark.parametrize("name", NAMES)
def test_snakeviz_reads_pstats(name: str, tmp_path: Path) -> None:
    from snakeviz.stats import json_stats, table_rows

    stats = readers.pstats.Stats(str(written(made(name), tmp_path, ".prof")))
    known = len(stats.stats)  # type: ignore[attr-defined]
    assert len(table_rows(stats)) == known
    assert len(json_stats(stats)) == (known if known > 1 else 0)  # it draws calls, and one function makes none


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("single", "hostile")])
def test_tuna_reads_pstats(name: str, tmp_path: Path) -> None:
    """It begins with functions that nobody calls, and takes no file without one."""
    from tuna.main import read

    profile = made(name)
    seen = json.dumps(read(str(written(profile, tmp_path, ".prof"))), ensure_ascii=False)
    largest = max(profile.tree.roots(), key=lambda node: profile.function_times[profile.tree.function[node]].total_ns)
    assert json.dumps(function_keys(profile)[profile.tree.function[largest]][2], ensure_ascii=False)[1:-1] in seen


@pytest.mark.parametrize("name", NAMES)
def test_gprof2dot_reads_callgrind(name: str, tmp_path: Path) -> None:
    profile = made(name)
    names = unique_names(profile.functions)
    seen = readers.by_gprof2dot(written(profile, tmp_path, ".callgrind"), "callgrind")
    wanted = of_profile(profile, names)
    assert seen.self_ns == wanted.self_ns
    assert seen.edge_totals == wanted.edge_totals
    if name == "workers":  # nothing but resumes: no reader takes an edge without a count
        wanted.edge_calls["tree:use", "tree:walk"] = 5
    assert seen.edge_calls == wanted.edge_calls


@pytest.mark.parametrize("name", NAMES)
def test_callgrind_annotate_reads_callgrind(name: str, tmp_path: Path) -> None:
    profile = made(name)
    full = [
        f"{visible(function.file) or '???'}:{unique}"
        for function, unique in zip(profile.functions, unique_names(profile.functions), strict=True)
    ]
    seen = readers.by_callgrind_annotate(written(profile, tmp_path, ".callgrind"))
    wanted = of_profile(profile, full)
    assert sum(seen.self_ns.values()) == sum(wanted.self_ns.values())
    assert {name: own for name, own in seen.self_ns.items() if own} == {
        name: own for name, own in wanted.self_ns.items() if own
    }
    for edge, total in wanted.edge_totals.items():
        if total and wanted.self_ns[edge[0]]:  # it lists what costs something
            assert seen.edge_totals[edge] == total
            assert seen.edge_calls[edge] == (wanted.edge_calls[edge] or 5)


def test_callgrind_holds_lines_and_call_sites(tmp_path: Path) -> None:
    profile = line_profiles.kern()
    text = written(profile, tmp_path, ".callgrind").read_text()
    inner = next(f for f in profile.functions if f.name == "_inner")
    number = re.search(r"fn=(\(\d+\)) kern:_inner$", text, re.M)[1]  # type: ignore[index]
    block = next(part for part in text.split("\n\n") if re.search(rf"^fn={re.escape(number)}", part, re.M))
    lines = {int(row.split()[0]): int(row.split()[1]) for row in block.splitlines() if row[:1].isdigit()}
    known = {time.line: time.self_ns for time in profile.line_times if time.function == inner.id and time.self_ns}
    assert set(known) <= set(lines)
    assert sum(int(row.split()[1]) for row in block.split("cob=")[0].splitlines() if row[:1].isdigit()) == (
        profile.function_times[inner.id].self_ns
    )
    seen = readers.by_gprof2dot(tmp_path / "out.callgrind", "callgrind")
    wanted = of_profile(profile, unique_names(profile.functions))
    assert (seen.self_ns, seen.edge_totals) == (wanted.self_ns, wanted.edge_totals)


@pytest.mark.parametrize("name", [*NAMES, "empty"])
def test_folded_stacks(name: str, tmp_path: Path) -> None:
    profile = made(name)
    names = unique_names(profile.functions, {";": "；"})
    seen = readers.by_lines(written(profile, tmp_path, ".collapsed"))
    wanted = paths_of(profile, names, [profile.node_times.best])
    assert {path: own for path, own in seen.items() if any(own)} == {path: own for path, own in wanted.items() if any(own)}
    prefixes = {path[:depth] for path in seen for depth in range(1, len(path) + 1)}
    assert prefixes == set(wanted), "a call path is missing"


@pytest.fixture
def schema(request: pytest.FixtureRequest) -> object:
    return readers.speedscope_schema(request.config.cache.mkdir("speedscope"))  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [*NAMES, "empty"])
def test_speedscope(name: str, tmp_path: Path, schema: object) -> None:
    profile = made(name)
    path = written(profile, tmp_path, ".speedscope.json")
    jsonschema.validate(json.loads(path.read_bytes()), schema)
    threads = readers.by_speedscope(path)
    names = unique_names(profile.functions)
    own = profile.node_times.best
    sums: dict[tuple[str, ...], int] = {}
    for seen in threads:
        for stack, (spent,) in seen.paths.items():
            sums[stack] = sums.get(stack, 0) + spent
    assert sums == {stack: spent for stack, (spent,) in paths_of(profile, names, [own]).items()}
    for thread in profile.threads:
        spent = sum(time for time, number in zip(own, profile.tree.thread, strict=True) if number == thread.id)
        assert sum(sum(seen.self_ns.values()) for seen in threads if seen.name == thread.name) == spent


@pytest.mark.parametrize("name", [*NAMES, "empty"])
def test_pprof(name: str, tmp_path: Path) -> None:
    profile = made(name)
    message = readers.by_protobuf(written(profile, tmp_path, ".pb.gz"))
    texts = message.string_table
    assert texts[0] == ""
    kinds = [(texts[kind.type], texts[kind.unit]) for kind in message.sample_type]
    assert kinds == [("calls", "count"), ("self", "nanoseconds"), ("wait", "nanoseconds")]
    assert texts[message.default_sample_type] == "self"
    assert message.duration_nanos == profile.run.wall_ns
    assert all(len(sample.value) == len(kinds) for sample in message.sample)
    own = profile.node_times.best
    wait = [min(pair) for pair in zip(profile.tree.wait_ns, own, strict=True)]
    wanted = paths_of(profile, unique_names(profile.functions), [profile.tree.calls, own, wait])
    assert readers.pprof_paths(message) == wanted
    threads = [texts[sample.label[0].str] for sample in message.sample]
    assert sorted(threads) == sorted(
        next(thread.name for thread in profile.threads if thread.id == number) for number in profile.tree.thread
    )


def test_names_survive() -> None:
    profile = hostile()
    for names in (unique_names(profile.functions), function_keys(profile)):
        assert len(set(names)) == len(profile.functions)
    for function, key, unique in zip(profile.functions, function_keys(profile), unique_names(profile.functions), strict=True):
        assert visible(function.name).strip() in unique
        if function.language != "c":
            assert key[2].startswith(visible(function.name))
        assert "\n" not in unique + key[2]


@pytest.mark.parametrize("word", ["speedscope", "speedscope.json", ".speedscope.json"])
def test_format_by_name(word: str, tmp_path: Path) -> None:
    path = render.write(profiles.demo(), tmp_path / "any.thing", ViewOptions(), "export", word)
    assert b"speedscope.app" in path.read_bytes()


def test_unknown_format_and_suffix_name_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gif is no format") as error:
        render.find_format("gif", "export")
    assert {"pstats", "callgrind", "speedscope", "collapsed", "pprof", "json", "lprof"} <= set(
        error.value.hint.rstrip(".").split()
    )
    with pytest.raises(UsageError, match=r"suffix \.gif") as error:
        render.check_output(tmp_path / "a.gif", "export")
    for suffix in (".prof", ".lprof", ".callgrind", ".speedscope.json", ".collapsed", ".pb.gz", ".json"):
        assert suffix in error.value.hint
