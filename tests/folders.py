"""Folders compared before and after."""

from __future__ import annotations

import hashlib
from pathlib import Path


def listing(root: Path) -> dict[str, str]:
    """Every file and folder below `root`, with a digest of what it holds."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(root.rglob("*"))
    }
