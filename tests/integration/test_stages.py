"""The worked example's stages: the same losses from the same seed, and the same counts wherever a function is written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BATCH = 500
U, V = 4000 // BATCH, 1000 // BATCH
STAGES = {
    "python": ("python", "python", "python"),
    "cython": ("def", "python", "python"),
    "cdef": ("cdef", "python", "python"),
    "adam": ("cdef", "def", "python"),
    "fused": ("python", "def", "def"),
}
"""What train_epoch, Adam.update_one and ReLU.forward are written in."""


def cyprof(folder: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "cyprof", *words], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording of every stage, and what each printed."""
    folder = tmp_path_factory.mktemp("stages")
    shutil.copytree(EXAMPLES, folder / "examples")
    for words in (*(("--stage", stage) for stage in STAGES), ("--relu", "naive")):
        own = (*words, "--epochs", "1", "--batch", str(BATCH), "--units", "30")
        out = cyprof(folder, "run", "examples/train_mnist.py", "-o", f"{words[1]}.cyprof", "--", *own)
        (folder / f"{words[1]}.txt").write_text(out)
    return folder


def test_all_stages_learn_the_same(folder: Path) -> None:
    lines = [line for path in folder.glob("*.txt") for line in path.read_text().splitlines() if line.startswith("epoch 1:")]
    assert len(lines) == len(STAGES) + 1 and len(set(lines)) == 1, lines


def test_counts_are_the_same_in_every_stage(folder: Path) -> None:
    for stage, kinds in (*STAGES.items(), ("naive", ("python", "def", "def"))):
        cyprof(folder, "export", f"{stage}.cyprof", "-o", "run.json")
        functions = json.loads((folder / "run.json").read_text())["functions"]
        found = {one["name"]: one["kind"] for one in functions if str(folder) in one["file"]}
        assert tuple(found[name] for name in ("train_epoch", "Adam.update_one", "ReLU.forward")) == kinds, stage
        calls = Counter({one["name"]: one["calls"] for one in functions})
        assert (calls["train_epoch"], calls["Adam.update_one"], calls["ReLU.forward"]) == (1, 6 * U, 2 * (U + V))
        assert (calls["Variable.backward"], calls["ndarray.fill"]) == (U, 18 * U)


def test_a_comparison_of_two_stages_matches_the_twins(folder: Path) -> None:
    cyprof(folder, "diff", "cdef.cyprof", "adam.cyprof", "-o", "diff.json")
    (found,) = json.loads((folder / "diff.json").read_text())["comparisons"]
    adam = next(one for one in found["functions"] if one["name"] == "Adam.update_one")
    assert adam["verdict"] == "moved" and adam["why"].endswith("Python → Cython")
    assert adam["before"]["calls"] == adam["after"]["calls"] == 6 * U
