"""Compilers' output, cut down to the first error and its place."""

from __future__ import annotations

from pathlib import Path

from cyprof.build.words import c_complaint, cython_complaint, link_words, shown

CYTHON = """warning: pkg/adam.pyx:1:0: something harmless

Error compiling Cython file:
------------------------------------------------------------
...
def f(x):
    return y z
            ^
------------------------------------------------------------

pkg/adam.pyx:3:12: Syntax error in statement list

Error compiling Cython file:
------------------------------------------------------------
...
------------------------------------------------------------

pkg/adam.pyx:9:1: another
"""


def test_cython_error_has_its_excerpt_and_whole_path() -> None:
    found = cython_complaint(CYTHON, ["/src/other/adam.pyx", "/src/pkg/adam.pyx"], "/src/pkg/adam.pyx")
    assert found is not None
    assert (found.file, found.line, found.text) == ("/src/pkg/adam.pyx", 3, "Syntax error in statement list")
    assert found.excerpt == "...\ndef f(x):\n    return y z\n            ^"


def test_cython_error_in_a_file_that_was_included() -> None:
    text = CYTHON.replace("adam.pyx", "part.pxi")
    found = cython_complaint(text, ["/src/pkg/adam.pyx", "/src/pkg/part.pxi"], "/src/pkg/adam.pyx")
    assert found is not None and found.file == "/src/pkg/part.pxi"


def test_no_cython_error() -> None:
    assert cython_complaint("warning: adam.pyx:1:0: harmless\n", [], "/adam.pyx") is None


def test_c_error_in_the_authors_own_line(tmp_path: Path) -> None:
    source = tmp_path / "adam.pyx"
    source.write_text("one\n    two()\n")
    log = f"/c/adam.c: In function 'f':\n{source}:1:3: warning: unused\n{source}:2:5: error: 'two' undeclared\n"
    found = c_complaint(log, "/c/adam.c", [], str(source))
    assert found is not None
    assert (found.file, found.line, found.text, found.excerpt) == (str(source), 2, "'two' undeclared", "    two()")


def test_c_error_that_has_no_line_of_the_author() -> None:
    found = c_complaint("/c/adam.c:900:10: fatal error: x.h: No such file or directory\n", "/c/adam.c", [], "/s/adam.pyx")
    assert found is not None
    assert (found.file, found.line, found.text) == ("/s/adam.pyx", 0, "x.h: No such file or directory")


def test_a_long_line_is_shown_around_the_place() -> None:
    """The sign stays below what it points at, wherever in the line that is."""
    for at in (0, 50, 2000, 3999):
        line = "x" * at + "!" + "x" * (4000 - at)
        log = CYTHON.replace("    return y z", line).replace(" " * 12 + "^", " " * at + "^")
        found = cython_complaint(log, [], "/src/pkg/adam.pyx")
        assert found is not None
        *_, shown_line, sign = found.excerpt.split("\n")
        assert len(shown_line) < 200 and shown_line[sign.index("^")] == "!" and "..." in shown_line


def test_a_long_line_of_c_is_shown_around_the_place(tmp_path: Path) -> None:
    source = tmp_path / "adam.pyx"
    source.write_text("a" * 3000 + "two" + "b" * 3000 + "\n")
    found = c_complaint(f"{source}:1:3001: error: 'two' undeclared\n", "/c/adam.c", [], str(source))
    assert found is not None and "two" in found.excerpt and len(found.excerpt) < 200


def test_linker_error() -> None:
    log = "gcc -shared x.o\n/usr/bin/ld: cannot find -lfoo: No such file or directory\ncollect2: error: ld returned 1\n"
    assert link_words(log) == "cannot find -lfoo: No such file or directory"


def test_paths_are_shown_from_where_the_reader_stands() -> None:
    assert shown("/a/b/c.pyx", "/a") == "b/c.pyx"
    assert shown("/a/b/c.pyx", "/a/bb") == "/a/b/c.pyx"
    assert shown("/a/b/c.pyx", "/") == "a/b/c.pyx"
