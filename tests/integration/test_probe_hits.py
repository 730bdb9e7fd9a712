"""Line hits as the author of the source reads them: each source says them itself, in its comments "hits N"."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from recording import Recording, expected_hits, record

pytestmark = pytest.mark.every_python


@pytest.mark.parametrize(
    ("script", "sources"),
    [
        ("run_loops.py", ["loops.pyx"]),
        ("run_kinds.py", ["kinds.pyx"]),
        ("run_statements.py", ["statements.pyx"]),
        ("run_recursion.py", ["recursion.pyx"]),
        ("run_python_lines.py", ["run_python_lines.py"]),
        ("run_one_line_loops.py", ["run_one_line_loops.py"]),
        ("run_including.py", ["including.pyx", "part.pxi", "shared.pxd"]),
    ],
)
def test_every_line_is_hit_as_often_as_its_comment_says(
    tmp_path: Path, script: str, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O1")  # with more, the programs of many functions take the compiler long
    recording = record(tmp_path, script, lines=True, arguments=("errors.txt",) if "kinds" in script else ())
    hits = recording.hits()
    wanted = {place: count for source in sources for place, count in expected_hits(source).items()}
    assert {place: hits.get(place, 0) for place in wanted} == wanted
    _lines_add_up(recording)


def _lines_add_up(recording: Recording) -> None:
    """The lines of a function hold its self time, to the nanosecond and rounding."""
    by_function: dict[int, float] = {}
    for line in recording.data["lines"]:
        by_function[line["function"]] = by_function.get(line["function"], 0.0) + line["self_s"]
    for function in recording.data["functions"]:
        if function["id"] in by_function:
            assert by_function[function["id"]] == pytest.approx(function["self_s"], rel=0.02, abs=2e-6), function["name"]


@pytest.mark.parametrize("compiler", [name for name in ("gcc", "clang") if shutil.which(name)])
def test_time_goes_to_the_lines_that_take_it(tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight steps of equal length: the compiler must not gather the work of several lines at one of them."""
    monkeypatch.setenv("CC", compiler)
    recording = record(tmp_path, "run_shares.py", lines=True)
    chain = recording.function("chain")
    own = {line["line"]: line["self_s"] for line in recording.data["lines"] if line["function"] == chain["id"]}
    whole = sum(own.values())
    assert own[9] / whole == pytest.approx(3 / 8, abs=0.12)
    assert own[10] / whole == pytest.approx(4 / 8, abs=0.12)
    assert own[8] / whole < 2 / 8
    managed = recording.function("managed")
    totals = {line["line"]: line["total_s"] for line in recording.data["lines"] if line["function"] == managed["id"]}
    assert totals[15] == pytest.approx(managed["total_s"], rel=0.05)  # leaving a block is its first line's time
    spread = recording.function("spread")
    totals = {line["line"]: line["total_s"] for line in recording.data["lines"] if line["function"] == spread["id"]}
    for line in (26, 29, 33):
        assert totals[line] > 0.01  # a call's time is its own line's, not that of its last argument


def test_recursion_from_two_lines_does_not_double_the_tree_at_every_depth(tmp_path: Path) -> None:
    recording = record(tmp_path, "run_recursion.py", lines=True)
    assert not [one for one in recording.data["functions"] if one["module"].startswith(("cyprof", "namedtuple_"))]
    fib = recording.function("fib")
    assert (fib["calls"], fib["primitive_calls"]) == (57313, 1)
    assert len([node for node in recording.data["tree"] if node["function"] == fib["id"]]) < 100
    totals = {line["line"]: line["total_s"] for line in recording.data["lines"] if line["function"] == fib["id"]}
    assert max(totals.values()) <= fib["total_s"] * 1.001 + 1e-6
    assert totals[6] > 0 and totals[7] > 0
