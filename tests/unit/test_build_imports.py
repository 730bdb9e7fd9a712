"""What a source imports, read from its text."""

from __future__ import annotations

import pytest

from cyprof.build.imports import Import, cython_imports, python_imports, star_names


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("import a.b.c", [Import("a.b.c")]),
        ("import a, b as c", [Import("a"), Import("b")]),
        ("from . import x", [Import("", 1, ("x",))]),
        ("from ..pkg import name as other", [Import("pkg", 2, ("name",))]),
        ("def f():\n    import late", [Import("late")]),
        ("try:\n    import fast\nexcept ImportError:\n    import slow", [Import("fast"), Import("slow")]),
        ("import importlib\nimportlib.import_module('a.b')", [Import("importlib"), Import("a.b")]),
        ("__import__('x')", [Import("x")]),
        ("from importlib import import_module\nimport_module('.y', __package__)", [Import("y", 1)]),
        ("name = 'z'\n__import__(name)", []),
        ("this is not python", []),
    ],
)
def test_python_imports(text: str, wanted: list[Import]) -> None:
    found = python_imports(text.encode())
    assert [item for item in wanted if item not in found] == []
    if not wanted:
        assert found == []


def test_python_source_in_another_encoding() -> None:
    text = "# -*- coding: latin-1 -*-\nname = 'é'\nimport fast\n".encode("latin-1")
    assert python_imports(text) == [Import("fast")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cimport numpy as cnp", [Import("numpy")]),
        ("import numpy as np, other", [Import("numpy"), Import("other")]),
        ("from libc.math cimport sin, cos", [Import("libc.math", 0, ("sin", "cos"))]),
        ("from .core cimport (\n    a,\n    b as c,\n)", [Import("core", 1, ("a", "b"))]),
        ("from . cimport core", [Import("", 1, ("core",))]),
        ("from a \\\n    import b", [Import("a", 0, ("b",))]),
        ("if x: import y", [Import("y")]),
        ("cdef extern from 'foo.h':\n    int f(int import_me)", []),
        ("# import commented", []),
        ("'''\nimport in_a_string\n'''", []),
        ("s = \"it's\" # '\nimport after", [Import("after")]),
        ("s = 'a\\'b'; import after", [Import("after")]),
        ("importlib.import_module('plugin')", [Import("plugin")]),
    ],
)
def test_cython_imports(text: str, wanted: list[Import]) -> None:
    assert cython_imports(text)[0] == wanted


def test_included_files() -> None:
    assert cython_imports("include \"part.pxi\"\n    include 'sub/other.pxi'\n")[1] == ["part.pxi", "sub/other.pxi"]


def test_star_names_are_those_of_a_literal_all() -> None:
    assert star_names(b"__all__ = ['a', 'b']") == ("a", "b")
    assert star_names(b"__all__ = make()") == ()
