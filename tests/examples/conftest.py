"""Builds the worked example with plain Cython, in a copy, once for the whole session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMPILED = ("*.c", "*.so", "*.pyd", "build", "__pycache__")


@pytest.fixture(scope="session")
def bare_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of examples/ with nothing compiled in it."""
    copy = tmp_path_factory.mktemp("bare") / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns(*COMPILED))
    return copy


@pytest.fixture(scope="session")
def built_examples(bare_examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of examples/ with its .pyx files compiled in place."""
    copy = tmp_path_factory.mktemp("built") / "examples"
    shutil.copytree(bare_examples, copy)
    sources = sorted(str(path) for path in (copy / "mnist_trainer").glob("*.pyx"))
    assert [Path(path).name for path in sources] == ["adam.pyx", "relu.pyx"]
    subprocess.run([sys.executable, "-m", "Cython.Build.Cythonize", "-i", *sources], check=True)
    return copy


@pytest.fixture(scope="session")
def trainer(built_examples: Path) -> Iterator[Path]:
    """Make ``mnist_trainer`` and ``train_mnist`` importable; the value is their folder."""
    sys.path.insert(0, str(built_examples))
    yield built_examples
    sys.path.remove(str(built_examples))
    for name in list(sys.modules):
        if name.split(".")[0] in ("mnist_trainer", "train_mnist"):
            del sys.modules[name]


@pytest.fixture(scope="session")
def run_script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``train_mnist.py`` of a folder in a process of its own."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(folder / "train_mnist.py"), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    return run
