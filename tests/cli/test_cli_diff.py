"""`cyprof diff` as a user would type it: recordings made by hand, so that what is found does not hang on the machine."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from cli_support import Done, cyprof, write
from profiles import ProfileBuilder

from cyprof.store import save


def record(path: Path, seed: int, slower: float = 1.0) -> None:
    chance = random.Random(seed)
    b = ProfileBuilder()
    main = b.call(-1, b.function("__main__", "main", "train.py", 3), 1, 5)
    for number in range(8):
        ms = 20 * chance.gauss(1, 0.005) * (slower if number == 3 else 1)
        b.call(main, b.function("kern", f"step{number}", "kern.pyx", 10 * number + 1, "def"), 40, ms, exact_calls=40)
    save(b.profile(), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    for seed in range(5):
        record(folder / f"before-{seed}.cyprof", seed)
        record(folder / f"after-{seed}.cyprof", seed + 50, slower=1.2)
    (folder / "notes.cyprof").write_text("no profile")
    return folder


def diff(folder: Path, *words: str) -> Done:
    return cyprof(folder, "diff", *words)


def test_patterns_of_recordings_are_sides(folder: Path) -> None:
    done = diff(folder, "before-*.cyprof", "after-*.cyprof")
    assert done.code == 0, done.err
    named = [line for line in done.out.splitlines() if "slower" in line]
    assert len(named) == 2 and "step3" in named[0] and "1 slower" in named[1]
    assert "same within noise" in done.out


def test_limits_set_the_exit_code(folder: Path) -> None:
    sides = ("before-*.cyprof", "after-*.cyprof", "-o", "diff.json")
    assert diff(folder, *sides, "--fail-on", "slower=50%").code == 0
    done = diff(folder, *sides, "--fail-on", "slower=10%")
    assert done.code == 1
    assert "step3 is slower: ratio 1.2" in done.err and "the limit of 10 %" in done.err
    first = json.loads((folder / "diff.json").read_text())["comparisons"][0]["functions"][0]
    assert (first["name"], first["verdict"], first["before"]["calls"]) == ("step3", "slower", 40)


def test_files_of_every_kind(folder: Path) -> None:
    for name, start in (("d.html", b"<!doctype html>"), ("d.svg", b"<?xml"), ("d.png", b"\x89PNG"), ("d.dot", b"digraph")):
        done = diff(folder, "before-*.cyprof", "after-*.cyprof", "-o", name)
        assert done.code == 0 and f"wrote {name}" in done.err, done.err
        assert (folder / name).read_bytes().startswith(start)
    done = diff(folder, "before-1.cyprof", "before-2.cyprof", "after-1.cyprof", "-o", "d.svg")
    assert done.code == 2 and "3 were given" in done.err
    assert diff(folder, "before-1.cyprof", "before-2.cyprof", "after-1.cyprof").out.count("functions compared") == 2


def test_programs_are_run_in_silence_with_their_arguments(tmp_path: Path) -> None:
    program = "import sys\ndef once(): pass\ndef main():\n    for _ in range(int(sys.argv[1])): once()\nmain()\nprint('loud')\n"
    write(tmp_path, {"a program.py": program})
    done = diff(tmp_path, "'a program.py' 3", "'a program.py' 5", "--runs", "2", "-o", "d.json", "--", "more")
    assert done.code == 0 and "loud" not in done.out + done.err, done.err
    (found,) = json.loads((tmp_path / "d.json").read_text())["comparisons"]
    once = next(one for one in found["functions"] if one["name"] == "once")
    assert (once["before"]["calls"], once["after"]["calls"]) == (3, 5)
    assert len(found["before"]["runs"]) == 2


def test_a_program_that_fails_gives_its_code(tmp_path: Path) -> None:
    write(tmp_path, {"good.py": "def f(): pass\nf()\n", "bad.py": "def f(): pass\nf()\nraise SystemExit(3)\n"})
    done = diff(tmp_path, "good.py", "bad.py")
    assert done.code == 3 and "bad.py ended with exit code 3" in done.err
    assert "functions compared" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["before-1.cyprof"], "compares two sides or more"),
        (["before-1.cyprof", "gone-*.cyprof"], "No recording matches"),
        (["before-1.cyprof", "notes.cyprof"], "is not a cyprof profile"),
        (["before-1.cyprof", "gone.py"], "gone.py does not exist"),
        (["before-1.cyprof", "-m"], "-m"),
        (["before-1.cyprof", "before-2.cyprof", "--fail-on", "slower"], "no limit such as slower=10%"),
        (["before-1.cyprof", "before-2.cyprof", "-o", "d.prof"], "cannot be written"),
    ],
)
def test_bad_input(folder: Path, words: list[str], message: str) -> None:
    done = diff(folder, *words)
    assert done.code in (2, 4) and message in done.err and "fault in cyprof" not in done.err
