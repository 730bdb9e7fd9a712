"""How often each function is called: README.md's table, checked by counting.

Python functions and numpy's methods are counted with ``sys.setprofile``. It does not reach
into compiled Cython, so those functions are wrapped.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("trainer")

README = Path(__file__).resolve().parents[2] / "examples" / "README.md"
TRAIN, TEST, BATCH, EPOCHS = 250, 130, 50, 3
U = 5 * EPOCHS
V = 3 * EPOCHS
F = U + V

EXPECTED = {
    "ndarray.dot": 3 * F + 6 * U,
    "ndarray.fill": 18 * U,
    "Adam.update_one": 6 * U,
    "Adam.lr": 6 * U,
    "GradientMethod.update": U,
    "Variable.backward": U,
    "Variable.backward.<locals>.add_cand": 6 * U,
    "Variable.set_creator": 7 * U,
    "Variable.zerograd": 18 * U,
    "Function.__call__": 7 * F,
    "ReLU.forward": 2 * F,
    "ReLU.backward": 2 * U,
    "LinearFunction.forward": 3 * F,
    "LinearFunction.backward": 3 * U,
    "SoftmaxCrossEntropy.forward": F,
    "SoftmaxCrossEntropy.backward": U,
    "Accuracy.forward": F,
    "Link.zerograds": 5 * U,
    "Chain.zerograds": 2 * U,
    "Classifier.__call__": F,
    "MnistMLP.__call__": F,
    "Linear.__call__": 3 * F,
    "train": 1,
    "train_epoch": EPOCHS,
    "test": EPOCHS,
}


def count_calls(folder: Path, work: Callable[[], None]) -> Counter[str]:
    """Run ``work``; count the Python functions of the folder, and the array methods they call."""
    counts: Counter[str] = Counter()

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if not frame.f_code.co_filename.startswith(str(folder)):
            return
        if event == "call":
            counts[frame.f_code.co_qualname] += 1
        elif event == "c_call" and isinstance(getattr(argument, "__self__", None), np.ndarray):
            counts[f"ndarray.{argument.__name__}"] += 1

    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts


def counted(name: str, function: Callable[..., Any], counts: Counter[str]) -> Callable[..., Any]:
    """Return the function, made to count its calls."""

    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        counts[name] += 1
        return function(*arguments)

    return wrapper


def test_counts_follow_the_formulas(trainer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import train_mnist
    from mnist_trainer.adam import Adam
    from mnist_trainer.data import Digits
    from mnist_trainer.model import Classifier, MnistMLP
    from mnist_trainer.relu import ReLU

    rng = np.random.default_rng(0)
    digits = Digits(
        "random",
        rng.random((TRAIN, 784), np.float32),
        rng.integers(10, size=TRAIN, dtype=np.int32),
        rng.random((TEST, 784), np.float32),
        rng.integers(10, size=TEST, dtype=np.int32),
    )
    inner: Counter[str] = Counter()
    for owner, method in ((ReLU, "forward"), (ReLU, "backward"), (Adam, "update_one")):
        name = f"{owner.__name__}.{method}"
        monkeypatch.setattr(owner, method, counted(name, getattr(owner, method), inner))
    monkeypatch.setattr(Adam, "lr", property(counted("Adam.lr", Adam.lr.fget, inner)))

    model = Classifier(MnistMLP(8, rng))
    counts = count_calls(
        trainer,
        lambda: train_mnist.train(model, Adam(), digits, EPOCHS, BATCH, rng),
    )
    counts += inner
    assert {name: counts[name] for name in EXPECTED} == EXPECTED


def test_the_table_of_the_readme_holds_these_formulas() -> None:
    rows = re.findall(r"^\| `([\w.]+)`.* \| ([\dFU+ /]+) \| ([\d,/ ]+) \|$", README.read_text(), re.MULTILINE)
    assert len(rows) == 13
    for name, formulas, defaults in rows:
        for formula, default in zip(formulas.split(" / "), defaults.split(" / "), strict=True):
            assert value(formula, U=80, F=100) == int(default.replace(",", "")), name
        assert value(formulas.split(" / ")[0], U=U, F=F) == next(EXPECTED[key] for key in EXPECTED if key.endswith(name))


def value(formula: str, **numbers: int) -> int:
    """Of `3F + 6U` for some F and U."""
    return sum(int(factor or 1) * numbers[name] for factor, name in re.findall(r"(\d*)([FU])", formula))


def test_compiled_parts_are_cython() -> None:
    from mnist_trainer.adam import Adam
    from mnist_trainer.relu import ReLU

    for function in (Adam.update_one, Adam.lr.fget, ReLU.forward, ReLU.backward):
        assert type(function).__name__ == "cython_function_or_method"


def test_six_parameters_and_their_names() -> None:
    from mnist_trainer.model import Classifier, MnistMLP

    model = Classifier(MnistMLP(8, np.random.default_rng(0)))
    assert [path for path, _ in model.namedparams()] == [
        f"/predictor/{layer}/{name}" for layer in ("l1", "l2", "l3") for name in ("weight", "bias")
    ]
    assert len(list(model.params())) == 6
    assert all(np.isnan(param.grad).all() for param in model.params())
    model.zerograds()
    assert all((param.grad == 0).all() for param in model.params())
