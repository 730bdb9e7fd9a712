"""Why sources could not be built by themselves, remembered: the next run asks their project at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from cyprof.build.cache import Cache, file_digest
from cyprof.build.modules import Source
from cyprof.files import write_own


def remember(cache: Cache, project: Path, sources: Sequence[Source], reason: str) -> None:
    """Keeps the reason for which the sources, as they are now, need the build system of `project`."""
    path = _file(cache, project)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_own(path, json.dumps({"reason": reason, "sources": _digests(sources)}))


def recall(cache: Cache, project: Path, sources: Sequence[Source]) -> str | None:
    """The reason, if it was one for all these sources and none has changed since; else None."""
    try:
        value = json.loads(_file(cache, project).read_text(encoding="utf-8"))
        known, reason = value["sources"], value["reason"]
        return str(reason) if _digests(sources).items() <= known.items() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # never met, or kept by another cyprof


def forget(cache: Cache, project: Path) -> None:
    """Has the sources of `project` tried by themselves again."""
    _file(cache, project).unlink(missing_ok=True)


def _digests(sources: Sequence[Source]) -> dict[str, str]:
    return {str(source.path): file_digest(str(source.path)) for source in sources}


def _file(cache: Cache, project: Path) -> Path:
    return cache.root / "reasons" / f"{hashlib.sha256(str(project).encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"
