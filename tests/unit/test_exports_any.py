"""Any profile: what each format's reader gives back is the profile's calls, edges and self times."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import readers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import of_profile, paths_of

from cyprof import render
from cyprof.model import NO_PARENT, CallTree, Function, LineRecords, Profile, Run, Thread
from cyprof.render.pstats_file import function_keys
from cyprof.store import load
from cyprof.view import ViewOptions
from cyprof.view.names import unique_names

TEXTS = st.text(st.characters() | st.sampled_from("ab.;|}<>\"'()[]= \n\\&é"), max_size=6) | st.just("long" * 1000)
NAMES = TEXTS | st.sampled_from(["f", "g", "C.f", "<module>", "<lambda>"])
FILES = st.sampled_from(["", "/p/a.py", "/p/b.pyx", "<string>"]) | TEXTS
COUNTS = st.integers(0, 3) | st.integers(0, 10**9)
TIMES = st.integers(0, 5) | st.integers(0, 10**12)
KINDS = st.sampled_from([("python", "python"), ("def", "cython"), ("builtin", "c"), ("module", "python")])


@st.composite
def any_profile(draw: st.DrawFn) -> Profile:
    """A few functions and up to 20 nodes, of two threads, with lines for some."""
    functions = []
    for number in range(draw(st.integers(1, 5))):
        kind, language = draw(KINDS)
        file = "" if language == "c" else draw(FILES)
        functions.append(Function(number, draw(NAMES), draw(NAMES), file, draw(st.integers(0, 9)), kind, language=language))  # type: ignore[arg-type]
    tree, lines = CallTree(), LineRecords()
    for node in range(draw(st.integers(0, 20))):
        function = draw(st.integers(0, len(functions) - 1))
        more = {name: draw(COUNTS) for name in ("calls", "resumes")} | {name: draw(TIMES) for name in ("self_ns", "wait_ns")}
        line = draw(st.integers(0, 3))
        tree.add(draw(st.integers(NO_PARENT, node - 1)), function, draw(st.integers(0, 1)), call_line=line, **more)
        if draw(st.booleans()):
            lines.add(node, 0, draw(st.integers(1, 3)), draw(COUNTS), draw(TIMES))
    threads = [Thread(0, draw(TEXTS)), Thread(1, "b")]
    run = Run(draw(TEXTS), argv=(draw(TEXTS),), wall_ns=sum(tree.self_ns))
    return Profile(run, functions, tree, lines, ["/p/a.py"], threads)


anything = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def written(profile: Profile, folder: Path, suffix: str) -> Path:
    return render.write(profile, folder / f"out{suffix}", ViewOptions(), "export")


@anything
@given(any_profile())
def test_pstats(tmp_path: Path, profile: Profile) -> None:
    keys = function_keys(profile)
    path = written(profile, tmp_path, ".prof")
    if len(profile.tree) == 0:
        return  # pstats takes no file without a function
    assert readers.by_pstats(path) == of_profile(profile, keys)
    again = load(path)
    # Our own reader, the tree it makes and the way back change nothing.
    first = readers.pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    assert readers.pstats.Stats(str(written(again, tmp_path, ".again.prof"))).stats.keys() >= {  # type: ignore[attr-defined]
        key for key in first if key[0] != "~" and key[0]
    }
    for times, key in zip(again.function_times, first, strict=False):
        primitive, calls, own, total, _ = first[key]
        assert (times.primitive_calls, times.calls) == (primitive, calls)
        assert (times.self_ns, times.total_ns) == (readers.ns(own), readers.ns(total))


@anything
@given(any_profile())
def test_callgrind(tmp_path: Path, profile: Profile) -> None:
    seen = readers.by_callgrind_lines(written(profile, tmp_path, ".callgrind"))
    wanted = of_profile(profile, unique_names(profile.functions))
    assert seen.self_ns == wanted.self_ns
    for edge, calls in wanted.edge_calls.items():
        if calls:
            assert seen.edge_calls[edge] == calls
        assert seen.edge_totals.get(edge, 0) == wanted.edge_totals[edge]
    assert seen.edge_calls.keys() <= wanted.edge_calls.keys()


@anything
@given(any_profile())
def test_folded_stacks(tmp_path: Path, profile: Profile) -> None:
    seen = readers.by_lines(written(profile, tmp_path, ".collapsed"))
    wanted = paths_of(profile, unique_names(profile.functions, {";": "；"}), [profile.node_times.best])
    assert {path: own for path, own in seen.items() if any(own)} == {path: own for path, own in wanted.items() if any(own)}
    assert {path[:depth] for path in seen for depth in range(1, len(path) + 1)} == set(wanted)


@anything
@given(any_profile())
def test_speedscope(request: pytest.FixtureRequest, tmp_path: Path, profile: Profile) -> None:
    path = written(profile, tmp_path, ".speedscope.json")
    jsonschema.validate(json.loads(path.read_bytes()), readers.speedscope_schema(request.config.cache.mkdir("speedscope")))  # type: ignore[union-attr]
    sums: dict[tuple[str, ...], int] = {}
    for seen in readers.by_speedscope(path):
        for stack, (spent,) in seen.paths.items():
            sums[stack] = sums.get(stack, 0) + spent
    own = profile.node_times.best
    assert sums == {stack: spent for stack, (spent,) in paths_of(profile, unique_names(profile.functions), [own]).items()}


@anything
@given(any_profile())
def test_pprof(tmp_path: Path, profile: Profile) -> None:
    message = readers.by_protobuf(written(profile, tmp_path, ".pb.gz"))
    own = profile.node_times.best
    wait = [min(pair) for pair in zip(profile.tree.wait_ns, own, strict=True)]
    wanted = paths_of(profile, unique_names(profile.functions), [profile.tree.calls, own, wait])
    assert readers.pprof_paths(message) == wanted


@anything
@given(any_profile())
def test_json(tmp_path: Path, profile: Profile) -> None:
    data = json.loads(written(profile, tmp_path, ".json").read_bytes())
    assert {(edge["caller"], edge["callee"]): edge["calls"] for edge in data["calls"]} == {
        (edge.caller, edge.callee): edge.calls for edge in profile.edges
    }
    assert [round(row["self_s"] * 1e9) for row in data["functions"]] == [times.self_ns for times in profile.function_times]
