"""Projects of every build backend, and packages from the index, under `cyprof build` and `--package`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cli_support import Done, cyprof, write
from folders import listing
from projects import BACKENDS, COUNTS, OUTPUT, SCRIPT

pytestmark = pytest.mark.xdist_group("projects")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all of them: environments are shared."""
    return tmp_path_factory.mktemp("cache")


def recorded(folder: Path, cache: Path, *words: str, **more: str) -> tuple[Done, dict[str, object]]:
    """Runs `cyprof run` and returns what it said and the recording as JSON."""
    done = cyprof(folder, "run", *words, "-o", "run.cyprof", CYPROF_CACHE_DIR=str(cache), **more)
    assert done.code == 0, done.err
    exported = cyprof(folder, "export", "run.cyprof", "-o", "run.json")
    assert exported.code == 0, exported.err
    return done, json.loads((folder / "run.json").read_text())


def on_path(*folders: Path) -> str:
    """A PYTHONPATH with `folders` before what the tests themselves need."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH", "")])])


def calls(profile: dict[str, object], module: str) -> dict[str, int]:
    functions = profile["functions"]
    assert isinstance(functions, list)
    compiled = ("def", "cdef", "cpdef")
    return {one["name"]: one["calls"] for one in functions if one["module"] == module and one["kind"] in compiled}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_gets_probes_and_leaves_the_checkout_alone(backend: str, tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", BACKENDS[backend])
    write(tmp_path, {"main.py": SCRIPT})
    before = listing(checkout)
    words = ("main.py", "--package", f"toy={checkout}")
    done, profile = recorded(tmp_path, cache, *words, PYTHONPATH=on_path(checkout), PYTHONDONTWRITEBYTECODE="1")
    assert done.out == OUTPUT
    assert calls(profile, "toy.kernel") == COUNTS
    assert profile["unseen"] == []
    files = {one["file"] for one in profile["functions"] if one["module"] == "toy.kernel"}  # type: ignore[attr-defined]
    assert files == {str(checkout / "toy" / "kernel.pyx")}
    assert listing(checkout) == before
