"""The process that a bench file runs in, seen from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..errors import CollectError

SMALL = 0.02
"""The scale of the data where one call is looked at closely."""
_CHILD = Path(__file__).with_name("child.py")
_ROOT = Path(__file__).resolve().parent.parent.parent


def child(
    path: Path, folder: Path, request: dict[str, Any], *, before: tuple[str, ...] = (), patience: float | None = None
) -> dict[str, Any]:
    """What the process says to a request (see child.py); `before` is a program that runs it, `patience` how many s it may
    take. Without `patience` the file's own output is let through. Raises CollectError when it fails, TimeoutExpired."""
    asked, result = folder / "request.json", folder / "result.json"
    result.unlink(missing_ok=True)
    asked.write_text(json.dumps({"file": str(path.absolute()), "root": str(_ROOT), "result": str(result), **request}))
    command = [*before, sys.executable, str(_CHILD), str(asked)]
    done = subprocess.run(command, check=False, timeout=patience, capture_output=patience is not None)
    if not result.is_file():
        raise CollectError(
            f"{path} ended with exit code {done.returncode} before its variants were timed.",
            f"See whether it runs alone: python {path}",
        )
    told = json.loads(result.read_text())
    assert isinstance(told, dict)
    return told
