"""A cache of one command's own, where the user's cannot be written: the program runs all the same, and nothing stays of it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from cyprof.errors import CacheError

R = TypeVar("R")

_folder: Path | None = None
_reason = ""


def current() -> Path | None:
    """The folder that stands in the place of the user's cache; None while that serves."""
    return _folder


def use(folder: Path | None, reason: str = "") -> None:
    """Has builds go into `folder` from now on; None is the user's cache again. `reason` is the sentence that tells
    why that cannot take them."""
    global _folder, _reason
    _folder, _reason = folder, reason


def build(make: Callable[[], R]) -> R:
    """What `make`, which builds, returns. It is called a second time, with a temporary folder in the place of the user's cache,
    when that cannot be written. Raises CacheError when there is no room for a temporary one either."""
    try:
        return make()
    except CacheError as error:
        if _folder is not None:
            raise
        try:
            use(Path(tempfile.mkdtemp(prefix="cyprof-cache-")), error.message)
        except OSError:
            raise error from None
        return make()


@contextlib.contextmanager
def removed_at_end() -> Iterator[None]:
    """Removes the folder, if one is made, at the end of the block."""
    try:
        yield
    finally:
        remove()


def remove() -> None:
    """Removes the folder, if one was made; builds go to the user's cache again."""
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
        use(None)


def remark() -> str:
    """A sentence for the user where builds of this command are lost; "" while the user's cache serves."""
    return sentence(_reason) if _folder is not None else ""


def sentence(reason: str) -> str:
    """What to tell a user whose cache cannot be written for that reason."""
    return f"{reason} What had to be built was built for this run alone; set CYPROF_CACHE_DIR to a folder that keeps it."
