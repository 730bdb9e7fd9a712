"""The cache: found by content, whole or not at all, private, tidy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cyprof.build.cache import Cache, Digests, Entry, cache_folder, file_digest
from cyprof.errors import BuildError


def add(cache: Cache, key: str, files: list[Path], absent: list[Path] = [], numpy: str = "") -> Entry:  # noqa: B006
    with cache.scratch(key) as (folder, final):
        (folder / "m.so").write_bytes(b"extension")
        (folder / "m.json").write_text("{}")
        manifest: dict[str, Any] = {
            "extension": "m.so",
            "report": "m.json",
            "numpy": numpy,
            "files": {str(path): file_digest(str(path)) for path in files},
            "absent": [str(path) for path in absent],
        }
        return cache.publish(folder, final, manifest)


def find(cache: Cache, key: str, numpy: str = "") -> Entry | None:
    return cache.lookup(key, lambda: numpy, Digests())


def test_found_again_until_a_file_changes(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    source = tmp_path / "a.pyx"
    source.write_text("one")
    entry = add(cache, "key", [source])
    assert find(cache, "key") == entry
    assert find(cache, "other") is None
    source.write_text("two")
    assert find(cache, "key") is None
    source.write_text("one")
    assert find(cache, "key") == entry
    source.unlink()
    assert find(cache, "key") is None


def test_two_versions_of_a_source_are_both_kept(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    source = tmp_path / "a.pyx"
    source.write_text("one")
    first = add(cache, "key", [source])
    source.write_text("two")
    second = add(cache, "key", [source])
    assert find(cache, "key") == second
    source.write_text("one")
    assert find(cache, "key") == first


def test_a_file_that_appears_counts_as_a_change(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    pxd = tmp_path / "a.pxd"
    add(cache, "key", [], [pxd])
    assert find(cache, "key") is not None
    pxd.write_text("")
    assert find(cache, "key") is None


def test_another_numpy_counts_as_a_change(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    add(cache, "key", [], numpy="/one/numpy")
    assert find(cache, "key", "/one/numpy") is not None
    assert find(cache, "key", "/two/numpy") is None


def test_a_build_that_stops_halfway_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt), cache.scratch("key") as (folder, _):
        (folder / "m.so").write_bytes(b"half")
        raise KeyboardInterrupt
    assert find(cache, "key") is None
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"extension": "m.so"}'])
def test_a_damaged_build_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    cache = Cache.open(tmp_path / "cache")
    entry = add(cache, "key", [])
    (entry.folder / "manifest.json").write_text(damage)
    assert find(cache, "key") is None


def test_a_build_whose_extension_is_gone_is_as_good_as_none(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    entry = add(cache, "key", [])
    entry.extension.unlink()
    assert find(cache, "key") is None


def test_the_folder_is_private(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "deep" / "cache")
    assert cache.root.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_everyone_can_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(BuildError, match="can be written by everyone") as error:
        Cache.open(folder)
    assert "CYPROF_CACHE_DIR" in error.value.hint


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with pytest.raises(BuildError, match="belongs to another user"):
        Cache.open(folder)


def test_a_folder_that_cannot_be_made_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot be written: Not a directory"):
        Cache.open(tmp_path / "file" / "cache")


def test_where_the_cache_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("CYPROF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "cyprof"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "cyprof"


def test_the_lock_is_held_by_one(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    events: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        with cache.lock("key", lambda: (events.append("waits"), waiting.set())[0]):
            events.append("second")

    with cache.lock("key", lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        events.append("first")
    thread.join(10)
    assert events == ["waits", "first", "second"]


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    code = (
        "import os, pathlib, sys\nfrom cyprof.build.cache import Cache\n"
        "with Cache.open(pathlib.Path(sys.argv[1])).lock('key', lambda: None):\n    os.kill(os.getpid(), 9)\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code, str(cache.root)], env={**os.environ, "PYTHONPATH": root}, check=False)
    assert done.returncode == -9
    waited: list[bool] = []
    with cache.lock("key", lambda: waited.append(True)):
        assert waited == []


def test_tidy_removes_what_the_dead_left_and_keeps_the_living(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    scratch = tmp_path / "cache" / "scratch"
    with cache.scratch("key") as (folder, _):
        host = folder.name.split("-")[0]
        dead, fresh, foreign = (scratch / name for name in (f"{host}-{child.pid}-1", f"{host}-{child.pid}-2", "zz-1-1"))
        for path in (dead, fresh, foreign):
            path.mkdir()
        hour_ago, week_ago = time.time() - 3600, time.time() - 7 * 86400
        for path, when in ((dead, hour_ago), (folder, hour_ago), (foreign, week_ago)):
            os.utime(path, (when, when))
        cache.tidy()
        assert sorted(scratch.iterdir()) == sorted([folder, fresh])


def test_tidy_removes_builds_unused_for_long(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    old, new = add(cache, "old", []), add(cache, "new", [])
    long_ago = time.time() - 100 * 86400
    os.utime(old.folder / "manifest.json", (long_ago, long_ago))
    cache.tidy()
    assert find(cache, "old") is None
    assert find(cache, "new") == new


def test_a_lookup_keeps_a_build_from_being_tidied(tmp_path: Path) -> None:
    cache = Cache.open(tmp_path / "cache")
    old = add(cache, "old", [])
    long_ago = time.time() - 100 * 86400
    os.utime(old.folder / "manifest.json", (long_ago, long_ago))
    assert find(cache, "old") == old
    cache.tidy()
    assert find(cache, "old") == old
