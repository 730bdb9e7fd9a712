"""The overlay as a value, and the finder where nothing is built."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cyprof.build import Built, Overlay, overlay


@pytest.fixture(autouse=True)
def _clean_up() -> Iterator[None]:
    yield
    overlay.uninstall()


def test_through_json_and_back() -> None:
    value = Overlay(
        {"a.b": Built("/x.so", "/x.pyx", "/x.json", False)},
        {"lines": True, "only": [], "without": []},
        {"c": "why"},
        ["a note"],
    )
    assert Overlay.from_json(json.loads(json.dumps(value.to_json()))) == value


def test_stands_first_and_once() -> None:
    overlay.install(Overlay({}), build_missing=False)
    overlay.install(Overlay({}), build_missing=False)
    assert type(sys.meta_path[0]).__module__ == "cyprof.build.overlay"
    assert sum(type(finder).__module__ == "cyprof.build.overlay" for finder in sys.meta_path) == 1


def test_stands_first_again_when_others_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    overlay.install(Overlay({}), build_missing=False)
    finder, others = sys.meta_path[0], sys.meta_path[1:]
    later = object()
    sys.meta_path.insert(0, later)
    overlay.move_first()
    assert sys.meta_path == [finder, later, *others]


def test_an_extension_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    extension = folder / "fast.so"
    extension.touch(mode=0o755)
    assert overlay.why_unsafe(str(extension)) == ""
    for path in (extension, folder):
        path.chmod(0o757)
        assert overlay.why_unsafe(str(extension)).endswith(f"{path} can be written by everyone.")
        path.chmod(0o755)
    if os.getuid() == 0:
        os.chown(extension, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert overlay.why_unsafe(str(extension)).endswith(f"{extension} belongs to another user.")


def test_plain_imports_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain_module_of_test.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    overlay.install(Overlay({}), build_missing=True)
    finder = sys.meta_path[0]
    for name in ("json", "numpy", "plain_module_of_test", "no_such_module"):
        assert finder.find_spec(name, None) is None
    assert importlib.import_module("plain_module_of_test").x == 1
    assert overlay.loaded() == []


def test_a_source_is_not_built_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fast_module_of_test.pyx").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    overlay.install(Overlay({}), build_missing=False)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("fast_module_of_test")
