"""Probed scratch builds of a program's Cython modules, kept in a cache, and the overlay through which it uses them.

Nothing is written beside the user's sources, and a plain build is never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cyprof.build.overlay import Built, Overlay

if TYPE_CHECKING:
    from cyprof.build.modules import Source
    from cyprof.cython.hook import ProbeOptions

__all__ = ["Built", "Overlay", "build_loose"]


def build_loose(
    sources: Sequence[Source],
    options: ProbeOptions,
    progress: Callable[[str], None],
    search_path: Sequence[str] | None = None,
) -> Overlay:
    """Builds loose sources with probes, or takes them from the cache, and returns where they are.

    `progress` is given lines such as "building adam.pyx (1 of 2)", one at a time. `search_path` is the program's
    `sys.path`, where cimports are looked for beside the sources' own folders; by default that of this process.
    Raises BuildError with the first failing module's own compiler words, the other failing ones named.
    """
    import sys

    from cyprof.build.loose import build

    return build(sources, options, progress, sys.path if search_path is None else search_path)
