"""`cyprof bench` on small files of variants."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import Done, run, write

HEAD = """
import numpy as np
from cyprof.bench import setup, variant

@setup
def data(scale=1.0):
    return np.arange(-1000.0, 99000.0)

"""
VARIANTS = (
    HEAD
    + """
import kernel

@variant(title="x >= 0")
def first(x):
    return x >= 0

@variant
def ceil_clip(x):
    return np.ceil(np.clip(x, 0, 1))

@variant
def compiled(x):
    return kernel.sign(x)

@variant
def scalar(x):
    return kernel.guessing(x)

@variant
def raising(x):
    raise ValueError("no such thing")
"""
)
KERNEL = """
# distutils: extra_compile_args = -O3
# Pointers in place of memoryviews: those make ten times as much C.
import numpy as np

def sign(x):
    y = np.empty(x.shape)
    loop(<double *><size_t>x.ctypes.data, <double *><size_t>y.ctypes.data, x.size)
    return y

def guessing(x):
    y = np.empty(x.shape)
    chain(<double *><size_t>x.ctypes.data, <double *><size_t>y.ctypes.data, x.size)
    return y

cdef void chain(const double *x, double *y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double last = 0
    for i in range(n):
        last = last * 0.0 + (1.0 if x[i] >= 0 else 0.0)
        y[i] = last

cdef void loop(const double *x, double *y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = 1.0 if x[i] >= 0 else 0.0
"""


def bench(folder: Path, *words: str) -> Done:
    # Compilers and a copy of much memory: on a busy machine that takes its time.
    options = ("--no-simulate", "--limit", "2", "--precision", "50")
    return run([sys.executable, "-m", "cyprof", "bench", *words, *options], folder, timeout=400)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, dict[str, Any]]:
    folder = write(tmp_path_factory.mktemp("bench"), {"variants.py": VARIANTS, "kernel.pyx": KERNEL})
    done = bench(folder, "variants.py", "-o", "bench.json")
    assert "fault in cyprof" not in done.err, done.err
    return done, json.loads((folder / "bench.json").read_text())


def test_variants_are_timed_and_what_fails_is_said(told: tuple[Done, dict[str, Any]]) -> None:
    done, data = told
    assert done.code == 1, "a variant raised"
    first, clipped, compiled, _, raising = data["variants"]
    assert data["schema"] == "cyprof-bench/1" and data["roof"] > 0
    assert len(first["times"]) == len(clipped["times"]) == data["rounds"] >= 2
    assert first["ratio"] == 1 and compiled["disagrees"] == ""
    assert raising["error"].startswith("ValueError: no such thing (variants.py:") and not raising["times"]


def test_a_disagreement_names_the_place(told: tuple[Done, dict[str, Any]]) -> None:
    clipped = told[1]["variants"][1]
    assert clipped["disagrees"] == "1 of 100,000 values differ: where the input is 0.0 it gives 0.0, the first True"


def test_evidence_is_gathered(told: tuple[Done, dict[str, Any]]) -> None:
    first, clipped, _, _, _ = (variant["evidence"] for variant in told[1]["variants"])
    assert first["elements"] == 100_000 and first["result_bytes"] == 100_000
    assert clipped["minimum_bytes"] == 1_600_000
    assert 1_600_000 <= clipped["peak_bytes"] < 1_700_000, "the result and one temporary"
    assert first["counters"] or any("hardware counters" in reason for reason in first["missing"])


def test_vector_code_is_told_of_the_loops_that_a_variant_runs_through(told: tuple[Done, dict[str, Any]]) -> None:
    first, _, compiled, scalar, _ = (variant["evidence"] for variant in told[1]["variants"])
    lines = KERNEL.splitlines()
    vector_loop, scalar_loop = (
        f"kernel.pyx:{number}" for number in (len(lines) - 1, lines.index("    cdef double last = 0") + 2)
    )
    assert (compiled["vectorised"], compiled["scalar"]) == ([vector_loop], [])
    assert (scalar["vectorised"], scalar["scalar"]) == ([], [scalar_loop])
    assert scalar["reasons"][scalar_loop].startswith("gcc says")
    assert not first["vectorised"] and not first["scalar"]


def test_the_table(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"two.py": HEAD + "@variant\ndef one(x): return x + 1\n@variant\ndef two(x): return np.add(np.add(x, 0.5), 0.5)\n"},
    )
    done = bench(tmp_path, "two.py")
    assert done.code == 0, done.err
    assert "two.py: Python 3." in done.out and "copy roof" in done.out and "Evidence:" in done.out
    assert "temporary array" in done.out.split("\ntwo\n")[1]


@pytest.mark.parametrize(
    ("name", "text", "code", "message"),
    [
        ("gone.py", None, 2, "gone.py does not exist"),
        ("none.py", "x = 1\n", 2, "has no variants"),
        ("bad.py", "def (:\n", 2, "is no Python source"),
        ("exits.py", "raise SystemExit(3)\n", 4, "ended with exit code 3"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str | None, code: int, message: str) -> None:
    if text is not None:
        write(tmp_path, {name: text})
    done = bench(tmp_path, name)
    assert done.code == code and message in done.err, done.err
