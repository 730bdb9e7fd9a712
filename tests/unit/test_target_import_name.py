"""How a Cython module that was named by its file is imported."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cyprof.target.import_name import import_of

FILES = (
    "work/app/train.py", "work/app/fast.pyx", "work/app/pkg/__init__.py", "work/app/pkg/mod.pyx", "work/app/pkg/__init__.pyx",
    "work/app/pkg/deep/__init__.pxd", "work/app/pkg/deep/mod.pyx", "work/src/space/part/mod.pyx", "work/src/odd-name/mod.pyx",
)  # fmt: skip


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.mark.parametrize(
    "path, name, folder",
    [
        ("app/fast.pyx", "fast", "app"),
        ("app/pkg/mod.pyx", "pkg.mod", "app"),
        ("app/pkg/__init__.pyx", "pkg", "app"),
        ("app/pkg/deep/mod.pyx", "pkg.deep.mod", "app"),
        ("src/space/part/mod.pyx", "mod", "src/space/part"),
        ("src/odd-name/mod.pyx", "mod", "src/odd-name"),
    ],
)
def test_the_name_starts_around_the_packages(work: Path, path: str, name: str, folder: str) -> None:
    assert import_of(Path(path)) == (name, folder)


def test_what_is_on_the_search_path_needs_no_folder(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(work / "src"), *sys.path])
    assert import_of(Path("src/space/part/mod.pyx")) == ("space.part.mod", "")
    assert import_of(Path("src/odd-name/mod.pyx")) is None
    monkeypatch.chdir(work / "app")
    assert import_of(Path("pkg/mod.pyx")) == ("pkg.mod", "")


def test_a_folder_of_scripts_is_no_namespace_package(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(work), *sys.path])
    assert import_of(Path("app/pkg/mod.pyx")) == ("pkg.mod", "app")
