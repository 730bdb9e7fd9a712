"""Formats of other tools on the command line: what is written for them, and pstats files that they wrote."""

from __future__ import annotations

import pstats
from pathlib import Path

import pytest
import readers
from cli_support import cyprof, python, write

PROGRAM = "def work(n):\n    return sum(range(n))\ndef main():\n    for n in range(30):\n        work(n)\nmain()\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("formats"), {"prog.py": PROGRAM})
    assert cyprof(folder, "run", "prog.py", "-o", "run.cyprof").code == 0
    assert python(folder, "-m", "cProfile", "-o", "made.prof", "prog.py").code == 0
    return folder


def test_each_format_by_suffix_and_by_name(folder: Path) -> None:
    for name, suffix in (
        ("pstats", ".prof"),
        ("callgrind", ".callgrind"),
        ("speedscope", ".speedscope.json"),
        ("collapsed", ".collapsed"),
        ("pprof", ".pb.gz"),
    ):
        done = cyprof(folder, "export", "run.cyprof", "-o", f"a{suffix}")
        assert done.code == 0, done.err
        assert done.err.startswith(f"cyprof: wrote a{suffix}\n")
        again = cyprof(folder, "export", "run.cyprof", "--format", name, "--quiet")
        assert (again.code, again.err) == (0, "")
        assert (folder / f"a{suffix}").read_bytes() == (folder / f"run{suffix}").read_bytes()
    assert cyprof(folder, "export", "run.cyprof", "-o", "b.out", "--format", "pprof").code == 0
    assert (folder / "b.out").read_bytes() == (folder / "a.pb.gz").read_bytes()


def test_pstats_says_what_it_cannot_hold(folder: Path) -> None:
    done = cyprof(folder, "export", "run.cyprof", "-o", "p.prof")
    assert "tells who calls whom, not along which path" in done.err
    seen = readers.by_pstats(folder / "p.prof")
    work, main = ((str(folder / "prog.py"), line, name) for line, name in ((1, "work"), (3, "main")))
    assert seen.calls[work] == seen.edge_calls[main, work] == 30


def test_a_run_goes_straight_into_a_format(folder: Path) -> None:
    for words in (["graph", "-o", "g.callgrind"], ["stats", "-o", "s.prof"], ["lines", "--format", "callgrind"]):
        done = cyprof(folder, words[0], "prog.py", *words[1:])
        assert done.code == 0, done.err
    assert readers.by_gprof2dot(folder / "g.callgrind", "callgrind").calls["__main__:work"] == 30
    assert pstats.Stats(str(folder / "s.prof")).stats  # type: ignore[attr-defined]
    assert "\n2 " in (folder / "prog.callgrind").read_text()


def test_what_is_not_known_is_named_with_what_there_is(folder: Path) -> None:
    for words in (["-o", "x.gif"], ["-o", "x.prof", "--format", "gif"]):
        done = cyprof(folder, "export", "run.cyprof", *words)
        assert done.code == 2 and "Use one of" in done.err and "callgrind" in done.err and "speedscope" in done.err
    done = cyprof(folder, "run", "prog.py", "--format", "pstats")
    assert done.code == 2 and "cyprof graph, stats, lines and export" in done.err


def test_a_pstats_file_is_shown(folder: Path) -> None:
    table = cyprof(folder, "stats", "made.prof", "--all")
    assert table.code == 0
    stats = pstats.Stats(str(folder / "made.prof"))
    (row,) = (line.split() for line in table.out.splitlines() if "prog.py:1(work)" in line)
    assert row[0] == "30"
    assert table.out.split()[0] == str(stats.total_calls)  # type: ignore[attr-defined]
    assert "not along which path" in table.out
    drawn = cyprof(folder, "graph", "made.prof", "-o", "made.dot")
    assert drawn.code == 0
    assert "30×" in (folder / "made.dot").read_text(encoding="utf-8")


def test_what_a_pstats_file_cannot_give(folder: Path) -> None:
    lines = cyprof(folder, "lines", "made.prof")
    assert lines.code == 4 and "a pstats file has none" in lines.err
    flames = cyprof(folder, "export", "made.prof", "-o", "made.collapsed")
    assert flames.code == 5 and "tells only who calls whom" in flames.err
    before = (folder / "made.prof").read_bytes()
    over = cyprof(folder, "export", "made.prof", "--format", "pstats")
    assert over.code == 2 and "written over" in over.err
    assert (folder / "made.prof").read_bytes() == before
    (folder / "text.prof").write_text("print(1)\n")
    other = cyprof(folder, "stats", "text.prof")
    assert other.code == 4 and "holds no valid pstats data" in other.err and "cProfile" in other.err
