"""Which sources a program reaches: trees of small files, nothing built."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from cyprof.build.modules import Source, find_sources

SUFFIX = EXTENSION_SUFFIXES[0]


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def scan(root: Path, files: dict[str, str], **start: object) -> list[Source]:
    tree(root, files)
    about: dict[str, object] = {"script": None, "module": None, "code": None}
    about.update(start or {"script": root / "main.py"})
    return find_sources(SimpleNamespace(**about), [str(root), *sys.path[1:]])


def names(sources: list[Source]) -> list[str]:
    return [source.module for source in sources]


def test_through_local_python_files(tmp_path: Path) -> None:
    found = scan(tmp_path, {"main.py": "import helper", "helper.py": "def f():\n  import fast", "fast.pyx": ""})
    assert found == [Source("fast", tmp_path / "fast.pyx", tmp_path)]
    assert found[0].required


def test_a_source_nobody_imports_is_not_taken(tmp_path: Path) -> None:
    assert scan(tmp_path, {"main.py": "import os", "fast.pyx": ""}) == []


def test_package_with_relative_imports(tmp_path: Path) -> None:
    files = {
        "main.py": "import pkg.sub.low",
        "pkg/__init__.py": "from . import top",
        "pkg/top.pyx": "",
        "pkg/sub/__init__.pyx": "from .. import side",
        "pkg/sub/low.pyx": "from ..other cimport thing",
        "pkg/side.pyx": "",
        "pkg/other.pyx": "",
        "pkg/other.pxd": "",
    }
    found = {source.module: source for source in scan(tmp_path, files)}
    assert set(found) == {"pkg.top", "pkg.sub", "pkg.sub.low", "pkg.side", "pkg.other"}
    assert found["pkg.sub"].package and found["pkg.sub"].path.name == "__init__.pyx"
    assert {source.root for source in found.values()} == {tmp_path}


def test_name_imported_from_a_package_may_be_a_submodule(tmp_path: Path) -> None:
    files = {"main.py": "from pkg import fast, VALUE", "pkg/__init__.py": "VALUE = 1", "pkg/fast.pyx": ""}
    assert names(scan(tmp_path, files)) == ["pkg.fast"]


def test_star_import_takes_the_submodules_of_all(tmp_path: Path) -> None:
    files = {
        "main.py": "from pkg import *",
        "pkg/__init__.py": "__all__ = ['fast']",
        "pkg/fast.pyx": "",
        "pkg/x.pyx": "",
    }
    assert names(scan(tmp_path, files)) == ["pkg.fast"]


def test_namespace_package(tmp_path: Path) -> None:
    found = scan(tmp_path, {"main.py": "from ns.inner import fast", "ns/inner/fast.pyx": ""})
    assert found == [Source("ns.inner.fast", tmp_path / "ns/inner/fast.pyx", tmp_path)]


def test_namespace_package_in_two_places(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    tree(one, {"main.py": "import ns.a, ns.b", "ns/a.pyx": ""})
    tree(two, {"ns/b.pyx": ""})
    start = SimpleNamespace(script=one / "main.py", module=None, code=None)
    assert names(find_sources(start, [str(one), str(two)])) == ["ns.a", "ns.b"]


def test_literal_dynamic_imports(tmp_path: Path) -> None:
    text = "import importlib\nimportlib.import_module('a')\n__import__('b')\n"
    assert names(scan(tmp_path, {"main.py": text, "a.pyx": "", "b.pyx": ""})) == ["a", "b"]


def test_cython_source_that_imports_another(tmp_path: Path) -> None:
    files = {
        "main.py": "import a",
        "a.pyx": "include 'part.pxi'\nimport b",
        "part.pxi": "import c",
        "b.pyx": "",
        "c.pyx": "",
    }
    assert sorted(names(scan(tmp_path, files))) == ["a", "b", "c"]


def test_pyx_stands_before_py_and_extension(tmp_path: Path) -> None:
    files = {"main.py": "import a", "a.pyx": "", "a.py": "", f"a{SUFFIX}": ""}
    assert [source.path.name for source in scan(tmp_path, files)] == ["a.pyx"]


def test_folder_package_stands_before_module(tmp_path: Path) -> None:
    files = {"main.py": "import a", "a.pyx": "", "a/__init__.py": ""}
    assert scan(tmp_path, files) == []


def test_extension_without_source_is_left(tmp_path: Path) -> None:
    assert scan(tmp_path, {"main.py": "import a", f"a{SUFFIX}": "cython_runtime"}) == []


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        ({"a.py": "", "a.pxd": ""}, True),
        ({"a.py": "import cython\nif cython.compiled: pass"}, True),
        ({"a.py": "import cython\n@cython.cfunc\ndef f(): pass"}, True),
        ({"a.py": "import cython as cy\n@cy.cclass\nclass A:\n    x: cy.int"}, True),
        ({"a.py": "import cython as cy\ndef f(x: cy.double): pass"}, True),
        ({"a.py": "from cython import (ccall, int as i)\n"}, True),
        ({"a.py": "from cython.cimports.libc.math import sqrt\n"}, True),
        ({"a.py": "import cython\nprint(cython.inline('1'), cython.__version__)  # no cython.int"}, False),
        ({"a.py": "import numpy as cy\ndef f(x: cy.int): pass"}, False),
        ({"a.py": "", f"a{SUFFIX}": "..cython_runtime.."}, True),
        ({"a.py": "", f"a{SUFFIX}": "made by something else"}, False),
        ({"a/__init__.py": "", "a/__init__.pxd": ""}, False),
    ],
)
def test_pure_python_mode(tmp_path: Path, files: dict[str, str], taken: bool) -> None:
    found = scan(tmp_path, {"main.py": "import a", **files})
    assert names(found) == (["a"] if taken else [])
    assert not any(source.required for source in found)


def test_installed_packages_are_not_entered(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    tree(site, {"lib/__init__.py": "from . import core", "lib/core.pyx": "", "loose.pyx": ""})
    tree(tmp_path, {"main.py": "import lib.core, loose"})
    start = SimpleNamespace(script=tmp_path / "main.py", module=None, code=None)
    assert find_sources(start, [str(tmp_path), str(site)]) == []


def test_first_on_the_search_path_wins(tmp_path: Path) -> None:
    files = {"main.py": "import json, sys, numpy", "json.pyx": "", "sys.pyx": "", "late/numpy.pyx": ""}
    tree(tmp_path, files)
    start = SimpleNamespace(script=tmp_path / "main.py", module=None, code=None)
    found = find_sources(start, [str(tmp_path), *sys.path[1:], str(tmp_path / "late")])
    assert names(found) == ["json"]  # sys is the interpreter's own; numpy is found installed before


def test_start_by_module_name_and_by_code(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "import a", "pkg/__main__.py": "from . import b", "pkg/run.py": "import c"}
    files |= {"a.pyx": "", "pkg/b.pyx": "", "c.pyx": ""}
    assert sorted(names(scan(tmp_path, files, module="pkg"))) == ["a", "pkg.b"]
    assert sorted(names(scan(tmp_path, files, module="pkg.run"))) == ["a", "c"]
    assert names(scan(tmp_path, files, code="import c")) == ["c"]


def test_start_in_a_folder(tmp_path: Path) -> None:
    assert names(scan(tmp_path, {"__main__.py": "import a", "a.pyx": ""}, script=tmp_path)) == ["a"]


def test_a_module_run_by_name_is_not_built(tmp_path: Path) -> None:
    files = {"tool.py": "import cython\nif cython.compiled: pass\nimport fast", "fast.pyx": ""}
    assert names(scan(tmp_path, files, module="tool")) == ["fast"]


def test_circular_imports_end(tmp_path: Path) -> None:
    assert names(scan(tmp_path, {"main.py": "import a", "a.py": "import b, a", "b.pyx": "import a"})) == ["b"]


def test_broken_python_is_left_to_the_program(tmp_path: Path) -> None:
    assert names(scan(tmp_path, {"main.py": "import bad, good", "bad.py": "def (:", "good.pyx": ""})) == ["good"]


def test_import_that_leads_out_of_the_package(tmp_path: Path) -> None:
    assert scan(tmp_path, {"main.py": "from .. import x\nfrom . import y", "y.pyx": "", "x.pyx": ""}) == []


def test_project_installed_in_editable_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path / "src", {"edited_pkg/__init__.py": "", "edited_pkg/fast.pyx": ""})
    tree(tmp_path / "run", {"main.py": "import edited_pkg.fast"})
    place = str(tmp_path / "src" / "edited_pkg" / "__init__.py")

    class Finder:
        def find_spec(self, name: str, *_: object) -> object:
            return spec_from_file_location(name, place) if name == "edited_pkg" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    start = SimpleNamespace(script=tmp_path / "run" / "main.py", module=None, code=None)
    found = find_sources(start, [str(tmp_path / "run"), *sys.path[1:]])
    assert found == [Source("edited_pkg.fast", tmp_path / "src/edited_pkg/fast.pyx", tmp_path / "src")]
