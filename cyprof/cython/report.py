"""What is written down about a module while it is compiled: one JSON file a module, beside its extension in the cache."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

REPORT_SUFFIX = ".json"


@dataclass
class ModuleReport:
    """What the hook learnt of one module.

    `functions` lists every probed function ({name, kind, file, line, nogil}), `unseen` those left without probes ({name,
    file, line, reason, hint}), `overridden` file-level directives that were set aside ({directive, value}), `files` the
    source files that code came from, `scores` Cython's annotation score per file and line.
    """

    module: str
    source: str
    cython: str
    c_file: str = ""
    functions: list[dict[str, Any]] = field(default_factory=list)
    unseen: list[dict[str, Any]] = field(default_factory=list)
    overridden: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    scores: dict[str, dict[int, int]] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Writes the report into `folder` under the module's name and returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (self.module + REPORT_SUFFIX)
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> ModuleReport:
        """Reads what `write` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        data["scores"] = {file: {int(line): score for line, score in of.items()} for file, of in data["scores"].items()}
        return cls(**data)
