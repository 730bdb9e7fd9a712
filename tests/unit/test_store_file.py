"""Profiles in files: what is saved is what is loaded, and no file can do more than be refused."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import profiles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyprof.errors import CyprofError, RenderError, StoreError
from cyprof.model import KINDS, CallTree, Function, LineRecords, ProbeCost, Profile, Run, Thread, Unseen
from cyprof.store import is_profile, load, save
from cyprof.store.content import to_content
from cyprof.store.file import MAGIC

TEXT = st.text(st.characters(), max_size=12)
NUMBER = st.integers(0, (1 << 63) - 1)
SMALL = st.integers(0, 1000)
COST = st.floats(0, 1e6)


@st.composite
def any_profile(draw: Callable[..., Any]) -> Profile:
    """A profile of every shape that makes sense."""
    functions = [
        Function(i, draw(TEXT), draw(TEXT), draw(TEXT), draw(SMALL), draw(st.sampled_from(KINDS)), draw(st.booleans()),
                 draw(st.sampled_from(["python", "cython", "c"])))
        for i in range(draw(st.integers(1, 5)))
    ]  # fmt: skip
    threads = [Thread(i, draw(TEXT), draw(NUMBER), draw(NUMBER)) for i in range(draw(st.integers(1, 3)))]
    tree = CallTree()
    for node in range(draw(st.integers(0, 12))):
        tree.add(
            draw(st.integers(-1, node - 1)), draw(st.integers(0, len(functions) - 1)), draw(st.integers(0, len(threads) - 1)),
            calls=draw(NUMBER), exact_calls=draw(NUMBER), resumes=draw(NUMBER), raised=draw(NUMBER), self_ns=draw(NUMBER),
            wait_ns=draw(NUMBER), call_line=draw(SMALL),
        )  # fmt: skip
    lines, files = LineRecords(), draw(st.lists(TEXT, min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 6)) if len(tree) else 0):
        node = draw(st.integers(0, len(tree) - 1))
        lines.add(node, draw(st.integers(0, len(files) - 1)), draw(SMALL), draw(NUMBER), draw(NUMBER))
    run = Run(
        draw(TEXT), tuple(draw(st.lists(TEXT, max_size=3))), draw(st.integers(-64, 255)), draw(NUMBER), draw(NUMBER),
        draw(TEXT), draw(TEXT), draw(st.sampled_from(["auto", "exact", "sampled"])), draw(NUMBER), draw(NUMBER), draw(TEXT),
        ProbeCost(*[draw(COST) for _ in range(6)]), draw(st.booleans()),
    )  # fmt: skip
    return Profile(
        run, functions, tree, lines, files, threads,
        unseen=draw(st.lists(st.builds(Unseen, TEXT, TEXT, TEXT, st.none() | st.floats(0, 1)), max_size=3)),
        scores=draw(st.dictionaries(TEXT, st.dictionaries(SMALL, SMALL, max_size=3), max_size=2)),
        source_hashes=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        notes=draw(st.lists(TEXT, max_size=2)),
    )  # fmt: skip


@given(any_profile())
@settings(deadline=None, max_examples=60)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    path = tmp_path_factory.mktemp("store") / "run.cyprof"
    assert save(profile, path) == path
    assert load(path) == profile
    assert is_profile(path)


@pytest.mark.parametrize("make", [profiles.mnist, profiles.recursion, profiles.empty, profiles.nasty])
def test_round_trip_of_known_profiles(make: Callable[[], Profile], tmp_path: Path) -> None:
    profile = make()
    assert load(save(profile, tmp_path / "run.cyprof")) == profile


def test_lone_surrogates_of_file_names_survive(tmp_path: Path) -> None:
    profile = profiles.single()
    profile.notes.append("odd \udcff name")
    assert load(save(profile, tmp_path / "x.cyprof")).notes == profile.notes


def test_is_compact(tmp_path: Path) -> None:
    assert save(profiles.many(), tmp_path / "x.cyprof").stat().st_size < 60_000


def refused(path: Path, *words: str) -> None:
    with pytest.raises(StoreError) as caught:
        load(path)
    assert caught.value.exit_code == 4
    assert caught.value.hint
    assert "\n" not in caught.value.message
    for word in words:
        assert word in caught.value.message, caught.value.message


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(profiles.mnist(), tmp_path / "run.cyprof")


def test_missing(tmp_path: Path) -> None:
    refused(tmp_path / "not.cyprof", "not.cyprof", "No such file")


def test_folder(tmp_path: Path) -> None:
    refused(tmp_path, "cannot be read")


def test_empty(saved: Path) -> None:
    saved.write_bytes(b"")
    refused(saved, "is empty")


@pytest.mark.parametrize("text", [b"hello", b"\x80\x04\x95 a pickle", b"{}", b"\x93NUMPY\x01\x00", b"\x93cyproF\n" + bytes(90)])
def test_foreign(saved: Path, text: bytes) -> None:
    saved.write_bytes(text)
    refused(saved, "is not a cyprof profile")
    assert not is_profile(saved)


def test_truncated_anywhere(saved: Path) -> None:
    data = saved.read_bytes()
    for length in [*range(1, 80), len(data) // 2, len(data) - 1]:
        saved.write_bytes(data[:length])
        refused(saved, "truncated")


def test_newer(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[8:12] = struct.pack(">I", 7)
    saved.write_bytes(data)
    refused(saved, "newer cyprof", "7")


def test_more_than_a_profile(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"x")
    refused(saved, "damaged")


def test_every_flipped_byte_is_noticed(saved: Path) -> None:
    data = saved.read_bytes()
    chosen = random.Random(1)
    for place in [*range(60), *chosen.sample(range(60, len(data)), 200)]:
        flipped = bytearray(data)
        flipped[place] ^= 1 << chosen.randrange(8)
        saved.write_bytes(flipped)
        refused(saved)


def forge(path: Path, text: bytes, level: int = 6) -> None:
    """A file with the right head and checksum around any text."""
    payload = zlib.compress(text, level)
    path.write_bytes(struct.pack(">8sIQ32s", MAGIC, 1, len(payload), hashlib.sha256(payload).digest()) + payload)


def test_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cyprof.store.file._LARGEST", 1 << 20)
    forge(tmp_path / "x", b" " * (1 << 22))
    refused(tmp_path / "x", "holds more than 1 MB when unpacked")


BOMBS = {
    "lists": b"[" + b"[]," * 3_000_000 + b"[]]",
    "numbers": b"[" + b"0," * 20_000_000 + b"0]",
    "texts": b"[" + b'"ab",' * 16_000_000 + b'"ab"]',
    "nested": b"[" * 3_000_000,
    "spaces": b" " * ((1 << 28) + 1),
    "one text": b'"' + b"a" * (1 << 27) + b'"',
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_no_small_file_fills_the_memory(tmp_path: Path) -> None:
    """Whatever a small file stands for, it is refused within 1.5 GB."""
    for what, text in BOMBS.items():
        forge(tmp_path / f"{what}.cyprof", text, 1)
        assert (tmp_path / f"{what}.cyprof").stat().st_size < 8 << 20
    code = """
import resource, sys
from cyprof.errors import StoreError
from cyprof.store import load
resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
for path in sys.argv[1:]:
    try:
        load(path)
    except StoreError as error:
        print(error.message.rpartition("/")[2])
"""
    command = [sys.executable, "-c", code, *(str(tmp_path / f"{what}.cyprof") for what in BOMBS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.count(".cyprof holds") == len(BOMBS), done.stdout + done.stderr


def test_what_could_not_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cyprof.store.file._MOST_VALUES", 10)
    with pytest.raises(StoreError, match="more than 10 values"):
        save(profiles.mnist(), tmp_path / "x.cyprof")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [b"", b"[]", b"nonsense", b"\xff\xfe", b"[" * 100_000, b"{}", b"9" * 10_000, b'{"run": NaN}'])
def test_no_profile_inside(tmp_path: Path, text: bytes) -> None:
    forge(tmp_path / "x", text)
    refused(tmp_path / "x", "holds no valid profile")


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "parent after its child": lambda c: c["tree"]["parent"].__setitem__(0, 5),
    "parent below none": lambda c: c["tree"]["parent"].__setitem__(1, -2),
    "own parent": lambda c: c["tree"]["parent"].__setitem__(3, 3),
    "function out of range": lambda c: c["tree"]["function"].__setitem__(0, 10_000),
    "negative function": lambda c: c["tree"]["function"].__setitem__(0, -1),
    "unknown thread": lambda c: c["tree"]["thread"].__setitem__(0, 77),
    "negative time": lambda c: c["tree"]["self_ns"].__setitem__(0, -1),
    "huge number": lambda c: c["tree"]["calls"].__setitem__(0, 1 << 70),
    "float": lambda c: c["tree"]["calls"].__setitem__(0, 1.5),
    "bool": lambda c: c["tree"]["calls"].__setitem__(0, True),
    "text for number": lambda c: c["tree"]["calls"].__setitem__(0, "1"),
    "stated of other nodes": lambda c: c.__setitem__("stated", {"primitive_calls": [1], "total_ns": [1]}),
    "stated in halves": lambda c: c.__setitem__("stated", {"total_ns": []}),
    "remark of no function": lambda c: c.__setitem__("remarks", [[10_000, "x"]]),
    "remark is no text": lambda c: c.__setitem__("remarks", [[0, 1]]),
    "short list": lambda c: c["tree"]["calls"].pop(),
    "no list": lambda c: c["tree"].__setitem__("calls", {}),
    "no tree": lambda c: c.pop("tree"),
    "missing column": lambda c: c["tree"].pop("raised"),
    "bad kind": lambda c: c["functions"]["kind"].__setitem__(0, "macro"),
    "kind is a list": lambda c: c["functions"]["kind"].__setitem__(0, ["def"]),
    "bad language": lambda c: c["functions"]["language"].__setitem__(0, "rust"),
    "name is no text": lambda c: c["functions"]["name"].__setitem__(0, None),
    "function list too short": lambda c: [column.pop() for column in c["functions"].values()],
    "line node": lambda c: [column.append(10_000) for column in c["lines"].values()],
    "line file": lambda c: [c["lines"][name].append(value) for name, value in LINE.items()],
    "two threads alike": lambda c: [column.append(column[0]) for column in c["threads"].values()],
    "share is text": lambda c: c["unseen"]["share"].__setitem__(0, "much"),
    "clock": lambda c: c["run"].__setitem__("clock", "sundial"),
    "argv": lambda c: c["run"].__setitem__("argv", [1]),
    "cost": lambda c: c["run"]["cost"].__setitem__("call_ns", -1.0),
    "cost missing": lambda c: c["run"]["cost"].pop("line_ns"),
    "files": lambda c: c.__setitem__("files", "abc"),
    "scores": lambda c: c.__setitem__("scores", {"x": [[1]]}),
    "notes": lambda c: c.__setitem__("notes", [{}]),
    "hash": lambda c: c.__setitem__("source_hashes", {"x": 1}),
}
LINE = {"node": 0, "file": 99, "line": 1, "hits": 1, "self_ns": 1}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_values(tmp_path: Path, what: str) -> None:
    content = json.loads(json.dumps(to_content(profiles.mnist())))
    HOSTILE[what](content)
    forge(tmp_path / "x", json.dumps(content).encode())
    refused(tmp_path / "x", "holds no valid profile")


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_what_loads_can_be_shown(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any one value exchanged for any other: the file is refused, or every derived table can be made."""
    content = json.loads(json.dumps(to_content(profiles.recursion())))
    part: Any = content
    while True:
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else list(range(len(part)))))
        if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.integers(0, 3)) == 0:
            break
        part = part[key]
    part[key] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.just([])
    )
    path = tmp_path_factory.mktemp("store") / "x"
    forge(path, json.dumps(content).encode())
    try:
        profile = load(path)
    except StoreError:
        return
    assert len(profile.function_times) == len(profile.functions)
    assert profile.edges is not None
    assert profile.line_times is not None
    assert math.isfinite(profile.self_sum_ns)


def test_unwritable_place(tmp_path: Path) -> None:
    with pytest.raises(RenderError) as caught:
        save(profiles.single(), tmp_path / "none" / "x.cyprof")
    assert caught.value.exit_code == 5
    assert isinstance(caught.value, CyprofError)


def test_failed_write_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RenderError, match="No space left"):
        save(profiles.single(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_written_through_a_link(saved: Path) -> None:
    link = saved.with_name("link.cyprof")
    link.symlink_to(saved)
    save(profiles.single(), link)
    assert link.is_symlink()
    assert load(saved) == profiles.single()
