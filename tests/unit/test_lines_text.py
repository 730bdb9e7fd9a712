"""The line table as text."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

import line_profiles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_profiles import SOURCES, kern, source_of
from profiles import PROJECT, ProfileBuilder
from rich.cells import cell_len

from cyprof import render
from cyprof.render import line_table_text
from cyprof.render.line_highlight import pieces
from cyprof.render.line_sources import source_text_of
from cyprof.render.styled import joined, plain, wrapped
from cyprof.view import ViewOptions

GOLDEN = Path(__file__).parent.parent / "golden"
ANSI = re.compile("\x1b\\[[0-9;]*m")


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"differs from {path}; UPDATE_GOLDEN=1 writes it anew"


def text_of(width: int = 0, color: bool = False, **options: object) -> str:
    return line_table_text(kern(), ViewOptions(**options), width, color, source_of(SOURCES))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines-kern.txt", text_of(explain=True)),
        ("lines-kern-80.txt", text_of(80)),
        ("lines-kern-120-all.txt", text_of(120, everything=True)),
    ],
)
def test_table_is_as_before(name: str, text: str) -> None:
    check_golden(name, text)


def test_hostile_names_and_sources_stay_on_their_lines() -> None:
    profile, source = line_profiles.hostile()
    text = line_table_text(profile, ViewOptions(), source=source)
    check_golden("lines-hostile.txt", text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 132, 200])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_wider_than_the_terminal_and_no_source_is_lost(width: int, color: bool) -> None:
    text = ANSI.sub("", text_of(width, color, everything=True))
    assert max(map(cell_len, text.splitlines())) <= max(width, 66)  # narrower than this only the source gives way
    squeezed = "".join(text.split())
    for line in SOURCES[f"{PROJECT}/kern.pyx"][4:15]:
        for word in line.split():
            assert word in squeezed


def test_piped_text_has_whole_lines_and_no_colours() -> None:
    long = "    s = " + " + ".join(f"value_{number}" for number in range(200))
    b = ProfileBuilder(with_lines=True)
    b.line(b.call(-1, b.function("kern", "f", "kern.pyx", 1, "cdef"), 1, 5), "kern.pyx", 2, 9, 5)
    text = line_table_text(b.profile(), ViewOptions(), source=source_of({f"{PROJECT}/kern.pyx": ["cdef f():", long]}))
    assert any(line.endswith(long) for line in text.splitlines())
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_colours_change_no_letter() -> None:
    assert ANSI.sub("", text_of(120, color=True)) == text_of(120)


def test_a_narrow_terminal_says_which_columns_it_lacks() -> None:
    assert "too narrow for: per hit, % func, verdict, total." in text_of(80)
    assert "too narrow" not in text_of(0)


def test_columns_line_up_over_all_functions() -> None:
    heads = {line for line in text_of().splitlines() if line.startswith("line ")}
    assert len(heads) == 1


def test_reasons_stand_in_the_text(tmp_path: Path) -> None:
    source = tmp_path / "kern.pyx"
    source.write_text("cdef f():\n    pass\n")
    b = ProfileBuilder(with_lines=True)
    b.line(b.call(-1, b.function("kern", "f", str(source), 1, "cdef"), 1, 5), str(source), 2, 9, 5)
    b.line(b.call(-1, b.function("kern", "g", "/nowhere/g.pyx", 1, "cdef"), 1, 5), "/nowhere/g.pyx", 2, 9, 5)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    text = line_table_text(replace(b.profile(), source_hashes={str(source): digest}), ViewOptions())
    assert "! the source was not found: lines are shown by number only" in text
    assert "changed" not in text
    source.write_text("cdef f():\n    return\n")
    text = line_table_text(replace(b.profile(), source_hashes={str(source): digest}), ViewOptions())
    assert "! the file has changed since the run: lines may not match" in text


def test_a_profile_without_lines_says_so() -> None:
    b = ProfileBuilder()
    b.call(-1, b.function("kern", "f", "kern.pyx", 1, "cdef"), 1, 5)
    assert "No lines were asked for" in line_table_text(b.profile(), ViewOptions())


def test_txt_is_the_plain_table() -> None:
    found = render.find(Path("a.txt"), "lines")
    assert found.render(kern(), ViewOptions()).decode() == line_table_text(kern(), ViewOptions())
    assert {".txt", ".json", ".lprof", ".html"} <= set(render.suffixes("lines"))


def test_slowdown_is_in_the_json() -> None:
    text = render.find(Path("a.json"), "lines").render(kern(), ViewOptions()).decode()
    assert text.count('"line_slowdown"') == 2 and '"line_slowdown": 3.197' in text


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\x0cb\r\nc\rd\n", ("a\x0cb", "c", "d", "")),
        ("a\u2028b\x85c".encode(), ("a\u2028b\x85c",)),
        (b"# coding: latin-1\n\xe9", ("# coding: latin-1", "é")),
        (b"\xef\xbb\xbfx", ("x",)),
        (b"# coding: no-such\n\xff", ("# coding: no-such", "�")),
        (b"", ("",)),
    ],
)
def test_lines_are_counted_as_the_compiler_counts_them(tmp_path: Path, data: bytes, lines: tuple[str, ...]) -> None:
    path = tmp_path / "x.pyx"
    path.write_bytes(data)
    assert source_text_of(kern())(str(path)).lines == lines


@pytest.mark.parametrize("path", ["", "<string>", "/", "\0"])
def test_what_is_no_file_has_no_text(path: str) -> None:
    assert source_text_of(kern())(path).lines is None


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n")), max_size=6))
def test_pieces_joined_are_the_lines_again(lines: list[str]) -> None:
    for file in ("x.py", "x.pyx"):
        assert ["".join(text for _, text in line) for line in pieces(lines, file)] == lines


@given(st.text(alphabet="ab 日é", max_size=60), st.integers(2, 30), st.integers(0, 12))
def test_wrapping_keeps_every_letter(text: str, width: int, indent: int) -> None:
    cut = len(text) // 2
    rows = wrapped([("bold", text[:cut]), ("", text[cut:])], width, indent)
    indent = min(indent, width // 2)
    assert "".join(plain(row)[indent if number else 0 :] for number, row in enumerate(rows)) == text
    if width - indent > 1:
        assert all(cell_len(plain(row)) <= width for row in rows)


def test_joined_lines_end_without_spaces() -> None:
    assert joined([[("bold", "a "), ("", "  ")], []], color=True) == "\x1b[1ma\x1b[0m\n\n"
