"""line_profiler's file, read by line_profiler itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from line_profiles import KERN, SCRIPT, kern
from profiles import PROJECT, ProfileBuilder

from cyprof.model import Function, Profile
from cyprof.render import write
from cyprof.render.line_profiler_file import lprof_bytes, printed_block, timings
from cyprof.view import ViewOptions

pytest.importorskip("line_profiler")


def moved(profile: Profile, folder: Path) -> Profile:
    """The profile with its files in a folder of this machine."""

    def path(file: str) -> str:
        return file.replace(PROJECT, str(folder))

    profile.functions[:] = [
        Function(f.id, f.module, f.name, path(f.file), f.line, f.kind, f.nogil, f.language) for f in profile.functions
    ]
    profile.files[:] = [path(file) for file in profile.files]
    return profile


def printed(path: Path, *options: str) -> str:
    command = [sys.executable, "-m", "line_profiler", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_line_profiler_prints_every_line_with_its_hits(tmp_path: Path) -> None:
    (tmp_path / "kern.pyx").write_text(KERN)
    (tmp_path / "demo.py").write_text(SCRIPT)
    profile = moved(kern(), tmp_path)
    write(profile, tmp_path / "out.lprof", ViewOptions(), "lines")
    text = printed(tmp_path / "out.lprof")
    assert text.index("Function: _inner at line 5") < text.index("Function: collect at line 22")
    for title in ("make.<locals>.inner at line 35", "twice[int] at line 30", "twice[double] at line 30", "main at line 4"):
        assert f"Function: {title}" in text
    assert "    10    300000     640000.0      2.1     95.3          s += x[i] * exp(-i % 7.0)" in text
    assert "    14                                                   return -1" in text
    shown = [line.split() for line in text.splitlines() if line[:6].strip().isdigit()]
    hits = [words for words in shown if len(words) > 4 and words[1].isdigit() and words[2].replace(".", "").isdigit()]
    reached = sum(len(lines) for lines in timings(profile, ViewOptions(), printed_block()).values())
    assert len(hits) == reached, "a line was dropped by the printer"


def test_every_line_lies_in_the_block_that_is_printed(tmp_path: Path) -> None:
    source = tmp_path / "odd.pyx"
    source.write_text("x = 1\ndef f(n):\n    return sum(i for i in range(n))\n\ny = 2\n\nz = [i for i in\n     range(3)]\n")
    b = ProfileBuilder(with_lines=True)
    body = b.call(-1, b.function("odd", "<module>", str(source), 1, "module"), 1, 6)
    for line in (1, 2, 5, 7, 8):
        b.line(body, str(source), line, 1, 1)
    expression = b.call(body, b.function("odd", "f.<locals>.<genexpr>", str(source), 3, "def"), 1, 2)
    b.line(expression, str(source), 3, 9, 2)
    block = printed_block()
    found = timings(b.profile(), ViewOptions(), block)
    for (file, first, _), lines in found.items():
        last = block(file, first)
        assert last is not None and all(first <= line <= last for line, _, _ in lines)
    assert sorted(line for key, lines in found.items() if key[2] == "<module>" for line, _, _ in lines) == [1, 2, 5, 7, 8]


def test_time_is_kept_where_there_are_no_hits() -> None:
    b = ProfileBuilder(with_lines=True)
    node = b.call(-1, b.function("kern", "f", "/nowhere/kern.pyx", 5, "cdef"), 4, 6)
    b.line(node, "/nowhere/kern.pyx", 5, 0, 1)
    b.line(node, "/nowhere/kern.pyx", 6, 0, 2)
    b.line(node, "/nowhere/kern.pyx", 7, 8, 3)
    found = timings(b.profile(), ViewOptions(), printed_block())
    assert found == {("/nowhere/kern.pyx", 5, "f"): [(5, 4, 3_000_000), (7, 8, 3_000_000)]}


def test_a_source_that_python_cannot_cut_up_is_printed_by_number(tmp_path: Path) -> None:
    source = tmp_path / "torn.pyx"
    source.write_text("def f(x):\n    a = 'torn\n    b = '''never closed\n")
    b = ProfileBuilder(with_lines=True)
    b.line(b.call(-1, b.function("torn", "f", str(source), 1, "def"), 1, 2), str(source), 2, 77, 2)
    (tmp_path / "out.lprof").write_bytes(lprof_bytes(b.profile(), ViewOptions()))
    assert " 77 " in printed(tmp_path / "out.lprof")


def test_lambdas_of_one_line_are_one_to_line_profiler() -> None:
    b = ProfileBuilder(with_lines=True)
    for hits in (3, 4):
        node = b.call(-1, b.function("kern", "<lambda>", "/nowhere/kern.pyx", 5, "def"), hits, hits)
        b.line(node, "/nowhere/kern.pyx", 5, hits, hits)
    assert timings(b.profile(), ViewOptions(), printed_block()) == {("/nowhere/kern.pyx", 5, "<lambda>"): [(5, 7, 7_000_000)]}


def test_hide_and_only_apply() -> None:
    def keys(**options: tuple[str, ...]) -> set[str]:
        return {name for _, _, name in timings(kern(), ViewOptions(**options), lambda _file, _first: 999)}

    assert keys(only=("kern:mid",)) == {"mid"}
    assert "mid" not in keys(hide=("mid",)) and "_inner" in keys(hide=("mid",))


def test_a_profile_without_lines_gives_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "out.lprof").write_bytes(lprof_bytes(ProfileBuilder().profile(), ViewOptions()))
    assert printed(tmp_path / "out.lprof").startswith("Timer unit")
