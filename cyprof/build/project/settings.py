"""How a user wants a project built, and where that is remembered: a run that names the project finds the same build."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cyprof.build.cache import Cache
from cyprof.files import write_own


@dataclass(frozen=True)
class Settings:
    """`environ`: variables for the build; `config`: the backend's config settings, a list for one given more than once;
    `modules`: patterns of the extensions that get probes (all when empty); `level`: 0, 1, 2, 3 or s in place of the
    project's own -O; `jobs`: compilers at once, 0 for the backend's own habit."""

    environ: dict[str, str] = field(default_factory=dict)
    config: dict[str, str | list[str]] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    level: str = ""
    jobs: int = 0

    def to_json(self) -> dict[str, Any]:
        """The settings that change what is built, as plain values."""
        value = asdict(self)
        del value["jobs"]
        return value


def remember(cache: Cache, project: str, settings: Settings) -> None:
    """Keeps the settings for later builds of `project`, a path or a distribution's name."""
    path = _file(cache, project)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_own(path, json.dumps(asdict(settings)))


def recall(cache: Cache, project: str) -> Settings:
    """The settings `project` was last built with by `cyprof build`, plain ones when it never was."""
    try:
        value = json.loads(_file(cache, project).read_text(encoding="utf-8"))
        return Settings(**{**value, "modules": tuple(value["modules"])})
    except (OSError, ValueError, KeyError, TypeError):
        return Settings()  # never built, or by a cyprof that kept other settings


def _file(cache: Cache, project: str) -> Path:
    return cache.root / "settings" / f"{hashlib.sha256(project.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"
