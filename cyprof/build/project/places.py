"""Where a reader finds the sources that a scratch build reads: in the user's own folder, or kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path


class Places:
    """`work` is the copy that is built, `shown` the folder it was copied from, `kept` takes the files that lie nowhere
    else: written during the build, or brought by a requirement of it."""

    def __init__(self, work: str, shown: str, kept: str) -> None:
        self._work = Path(os.path.realpath(work))
        self._shown = Path(shown)
        self._kept = Path(kept)
        self._known: dict[str, str] = {}

    def shown(self, path: str) -> str:
        """The lasting path of a file that is being compiled."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._find(path)
        return known

    def _find(self, path: str) -> str:
        file = Path(os.path.realpath(path))
        try:
            text = file.read_bytes()
        except OSError:
            return path  # Cython names files of its own that are none
        parts = file.parts[1:]
        # Some backends build in a copy of their own (aio-libs' does): the end of the path tells what it is a copy of.
        ends = [file.relative_to(self._work)] if file.is_relative_to(self._work) else []
        ends += [Path(*parts[start:]) for start in range(len(parts))] if not ends else []
        for end in ends:
            original = self._shown / end
            if original.is_file() and original.read_bytes() == text:
                return str(original)
        return str(self._keep(file, text, ends[0] if len(ends) == 1 else Path(*parts[-3:])))

    def _keep(self, file: Path, text: bytes, end: Path) -> Path:
        target = self._kept / hashlib.sha256(text).hexdigest()[:8] / end
        if not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f"{target.name}.{os.getpid()}")
            shutil.copyfile(file, draft)
            draft.replace(target)
        return target
