"""Counts of a simulated processor, and loops told of the variants that run through them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cyprof.bench.simulated import simulated

VARIANTS = """
from cyprof.bench import setup, variant

once = []

@setup
def data(scale=1.0):
    return 20_000,

@variant
def work(n):
    return sum(range(n))

@variant
def twice(n):
    if not once:
        once.append(sorted(range(50_000), key=lambda i: -i))  # what only a first call does
    return sum(range(n)) + sum(range(n))

@variant
def fails(n):
    raise ValueError
"""


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="the next test says what happens then")
def test_only_what_later_calls_add_is_counted(tmp_path: Path) -> None:
    (tmp_path / "v.py").write_text(VARIANTS)
    found, why = simulated(tmp_path / "v.py", tmp_path, [0, 1, 2])
    assert sorted(found) == [0, 1]
    assert why == "1 of the variants failed under valgrind, which counts branches and instructions"
    assert found[0].instructions > 20_000
    assert 1.8 < found[1].instructions / found[0].instructions < 2.2


def test_without_valgrind_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found, why = simulated(tmp_path / "v.py", tmp_path, [0])
    assert not found and "is not installed (apt-get install valgrind)" in why
