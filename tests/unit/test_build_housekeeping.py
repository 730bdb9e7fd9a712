"""The cache in bounds: listed, measured, limited; what runs keeps what it uses."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cyprof.build.cache import Cache, Digests, Entry
from cyprof.build.housekeeping import DAY, Housekeeper, in_use
from cyprof.errors import BuildError


class Unchanged(Digests):
    """The sources of `add` as they were."""

    def of(self, path: str) -> str:
        return "1" if path.endswith(".pyx") else "2"


def add(cache: Cache, key: str, size: int = 1000, unused_days: float = 0.0) -> Entry:
    """A build that was last used so many days ago."""
    with cache.scratch(key) as (folder, final):
        (folder / "lib").mkdir()
        (folder / "lib" / "m.so").write_bytes(b"x" * size)
        (folder / "m.json").write_text("{}")
        manifest = {
            "module": f"pkg.{key}", "source": f"/src/{key}.pyx", "files": {f"/src/{key}.pyx": "1", f"/src/{key}.pxd": "2"},
            "extension": "lib/m.so", "report": "m.json", "absent": [], "numpy": "",
        }  # fmt: skip
        entry = cache.publish(folder, final, manifest)
    if unused_days:
        then = time.time() - unused_days * DAY
        os.utime(entry.folder / "manifest.json", (then, then))
    return entry


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache.open(tmp_path / "cache")


def keys(keeper: Housekeeper) -> list[str]:
    return [build.module.removeprefix("pkg.") for build in keeper.builds()]


def test_lists_what_was_built_from_what_the_last_used_first(cache: Cache) -> None:
    started = time.time()
    add(cache, "old", unused_days=3)
    add(cache, "new", size=5000)
    keeper = Housekeeper(cache.root)
    new, old = keeper.builds()
    assert (new.module, new.sources) == ("pkg.new", ("/src/new.pyx", "/src/new.pxd"))
    assert started - 1 <= new.built <= time.time()
    assert 5000 < new.size < 6000
    assert 2.9 * DAY < time.time() - old.used < 3.1 * DAY
    assert new.size + old.size <= keeper.size() < new.size + old.size + 500


def test_damaged_builds_are_listed_and_cleared(cache: Cache) -> None:
    entry = add(cache, "a")
    (entry.folder / "manifest.json").write_bytes(b"[1")
    keeper = Housekeeper(cache.root)
    assert [(build.module, build.sources) for build in keeper.builds()] == [("", ())]
    assert keeper.clear().builds == 1
    assert keeper.builds() == []


def test_clear_takes_all_or_those_unused_for_some_days(cache: Cache) -> None:
    add(cache, "old", unused_days=10)
    add(cache, "older", unused_days=40)
    add(cache, "new")
    keeper = Housekeeper(cache.root)
    assert keeper.clear(20 * DAY).builds == 1
    assert keys(keeper) == ["new", "old"]
    cleared = keeper.clear()
    assert (cleared.builds, cleared.in_use) == (2, 0)
    assert cleared.size > 2000
    assert keys(keeper) == []
    assert add(cache, "new").extension.is_file()


def test_the_limit_is_kept_and_takes_the_longest_unused(cache: Cache) -> None:
    for number in range(4):
        add(cache, f"b{number}", size=1_000_000, unused_days=2 + number)
    keeper = Housekeeper(cache.root)
    keeper.set_limit(2_500_000)
    assert Housekeeper(cache.root).limit == 2_500_000
    assert keeper.shrink().builds == 2
    assert keys(keeper) == ["b0", "b1"]


def test_what_was_used_today_stays_above_the_limit(cache: Cache) -> None:
    add(cache, "a", size=1_000_000)
    keeper = Housekeeper(cache.root)
    keeper.set_limit(10)
    cache.tidy()
    assert keys(keeper) == ["a"]


def test_a_run_keeps_what_it_uses_until_it_ends(cache: Cache) -> None:
    add(cache, "used", unused_days=5)
    add(cache, "other", unused_days=5)
    keeper = Housekeeper(cache.root)
    with in_use(cache.root):
        assert cache.lookup("used", str, Unchanged()) is not None
        made = add(cache, "made")
        cleared = keeper.clear()
        assert (cleared.builds, cleared.in_use) == (1, 2)
        assert sorted(keys(keeper)) == ["made", "used"]
        assert made.extension.is_file()
    assert keeper.clear().builds == 2


def test_a_killed_run_keeps_nothing(cache: Cache) -> None:
    code = (
        "import sys; from pathlib import Path; from cyprof.build.housekeeping import in_use\n"
        "with in_use(Path(sys.argv[1])): print(1, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(cache.root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        add(cache, "a")
        keeper = Housekeeper(cache.root)
        assert keeper.clear().in_use == 1
        run.kill()
        run.wait()
    assert keeper.clear().builds == 1
    assert list((cache.root / "running").iterdir()) == []


def test_a_build_found_while_another_clears_is_there_or_is_not_found(cache: Cache) -> None:
    keeper = Housekeeper(cache.root)
    stop = threading.Event()

    def clear() -> None:
        while not stop.is_set():
            keeper.clear()

    thread = threading.Thread(target=clear)
    thread.start()
    found = 0
    try:
        for number in range(60):
            if number % 2:
                add(cache, "k")  # may be gone before it is looked for
            with in_use(cache.root):
                if not number % 2:
                    add(cache, "k")
                entry = cache.lookup("k", str, Unchanged())
                assert entry is not None or number % 2
                if entry is not None:
                    found += 1
                    time.sleep(0.001)
                    assert entry.extension.is_file()
    finally:
        stop.set()
        thread.join()
    assert found >= 30


def test_a_folder_that_cannot_be_written_is_said(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    add(cache, "a")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BuildError, match="cannot be changed: Permission denied"):
        Housekeeper(cache.root).clear()


def test_in_use_leaves_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with in_use(tmp_path / "file" / "cache"):
        pass
    assert (tmp_path / "file").is_file()


def test_what_projects_are_built_with_goes_when_none_is_built(cache: Cache) -> None:
    for name in ("environments/e", "projects/p", "sdists/s", "pip"):
        (cache.root / name).mkdir(parents=True)
        (cache.root / name / "file").write_bytes(b"x" * 10_000)
    keeper = Housekeeper(cache.root)
    with cache.lock("project-p", lambda: None):
        keeper.clear()
        assert keeper.size() >= 40_000
    with in_use(cache.root):
        keeper.clear()
        assert keeper.size() >= 40_000
    assert keeper.clear(1 * DAY).size == 0
    cleared = keeper.clear()
    assert (cleared.builds, cleared.size) == (0, 40_000)
    assert keeper.size() < 1000
