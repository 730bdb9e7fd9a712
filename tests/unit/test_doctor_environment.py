"""Each thing that can be missing is named, with the command that mends it."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from cyprof.doctor import environment as checks
from cyprof.doctor.environment import examine_environment
from cyprof.doctor.result import Check


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("CC", "CFLAGS", "CYPROF_GRAPHVIZ"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.every_python
def test_all_is_well_where_the_tests_run() -> None:
    found = {check.name: check for check in examine_environment()}
    assert list(found) == [
        "Python", "C compiler", "Python headers", "Cython", "setuptools", "OpenMP", "numpy headers", "Graphviz", "Fonts",
        "Cache", "Runtime", "Flags",
    ]  # fmt: skip
    assert [check for check in found.values() if check.status == "bad"] == []
    assert ".".join(map(str, sys.version_info[:3])) in found["Python"].found
    assert "0 builds" in found["Cache"].found


def is_bad(check: Check, *words: str) -> bool:
    return check.status == "bad" and bool(check.command) and all(word in check.found for word in words)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-cc")
    assert is_bad(checks.compiler(), "no-such-cc was not found")
    assert checks.openmp().status == "note"


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'error: no licence' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    assert is_bad(checks.compiler(), "cannot compile an empty program", "no licence")


def test_no_python_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
    assert is_bad(checks.headers(), "no Python.h", str(tmp_path))
    (tmp_path / "Python.h").write_text("#error spoiled\n")
    assert is_bad(checks.headers(), "cannot be compiled", "spoiled")


@pytest.mark.parametrize(("version", "status"), [("0.29.37", "bad"), ("3.0.12", "bad"), ("3.2.4", "ok"), ("3.9.0", "note")])
def test_versions_of_cython(version: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Shadow.py").write_text(f"__version__ = '{version}'\n")
    monkeypatch.setattr("cyprof.build.environment.package_folder", lambda *_: tmp_path)
    check = checks.cython()
    assert check.status == status
    assert version in check.found
    assert bool(check.command) == (status != "ok")


def test_no_cython_and_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cyprof.build.environment.package_folder", lambda *_: None)
    assert is_bad(checks.cython(), "not installed")
    assert checks.numpy().status == "note"
    assert checks.numpy().command.endswith("pip install numpy")


def test_no_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "dot")
    assert is_bad(checks.graphviz(), "no program `dot`")
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "embedded")
    assert checks.graphviz().status == "ok"
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "neato")
    assert checks.graphviz().command == "unset CYPROF_GRAPHVIZ"


@pytest.mark.parametrize(("names", "status"), [((), "bad"), (("Arial.ttf",), "note"), (("DejaVuSans.ttf",), "ok")])
def test_fonts(names: tuple[str, ...], status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cyprof.render.image.installed_fonts", lambda: frozenset(names))
    assert checks.fonts().status == status


def test_a_cache_that_others_can_write_or_nobody_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("CYPROF_CACHE_DIR", str(folder))
    assert is_bad(checks.cache(), "can be written by everyone")
    (tmp_path / "file").touch()
    monkeypatch.setenv("CYPROF_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert is_bad(checks.cache(), "cannot be written")
    assert checks.cache().command.startswith("export CYPROF_CACHE_DIR=")


def test_a_runtime_that_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cyprof.probe._runtime", None)
    assert is_bad(checks.runtime(), "cannot be loaded")


def test_flags_that_switch_tracing_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O2 -DCYTHON_TRACE=1")
    assert checks.flags().status == "note"
    assert checks.flags().command == "unset CFLAGS"
