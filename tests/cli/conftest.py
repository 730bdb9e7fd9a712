"""What several of these tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all that build projects, whichever process of pytest's they run in: environments are shared."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "projects-cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
