"""What is handed to the process that builds one module, and what it hands back: files of JSON in its folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

JOB_FILE = "job.json"
RESULT_FILE = "result.json"
LOG_FILE = "log.txt"
PROBE_MARK = b"cyprof-probes-1"


@dataclass(frozen=True)
class Job:
    """One module to build into `folder`. All paths are absolute.

    `cwd` is where the user stands, `final` the folder that `folder` becomes, `search_path` where cimports are looked
    for, `probes` the fields of ProbeOptions.
    """

    module: str
    source: str
    root: str
    package: bool
    folder: str
    final: str
    cwd: str
    search_path: list[str]
    probes: dict[str, Any]

    def write(self) -> None:
        """Writes the job into its folder."""
        (Path(self.folder) / JOB_FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Job:
        """Reads what `write` wrote."""
        return cls(**json.loads((folder / JOB_FILE).read_text(encoding="utf-8")))

    @property
    def cython_name(self) -> str:
        """The module's name as Cython writes it: a package's own module is its `__init__`."""
        return self.module + ".__init__" if self.package else self.module


@dataclass(frozen=True)
class Result:
    """What came of a job: the manifest of the build, or the message and hint of the error that ended it."""

    manifest: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    hint: str = ""

    def write(self, folder: Path) -> None:
        """Writes the result into the job's folder."""
        (folder / RESULT_FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Result | None:
        """Reads what `write` wrote, None when the process died before."""
        try:
            return cls(**json.loads((folder / RESULT_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
