"""`cyprof merge`, the ranks of a program started by mpirun, and `cyprof stats --ranks`."""

from __future__ import annotations

import cProfile
import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import profiles
import pytest
from cli_support import cyprof, write

import cyprof as product
from cyprof.collect.merged import merge_files
from cyprof.model import Profile
from cyprof.store import save
from cyprof.target import Rank, own_rank, path_of, pattern_of

PROGRAM = {
    "prog.py": """
import os

def work(n):
    return [half(i) for i in range(n)]

def half(i):
    return i / 2

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
work(100 * (rank + 1))
print("rank", rank)
""",
}


def rank(number: int, size: int = 3) -> dict[str, str]:
    return {"OMPI_COMM_WORLD_RANK": str(number), "OMPI_COMM_WORLD_SIZE": str(size)}


def of_rank(number: int) -> Profile:
    profile = profiles.demo()
    return replace(profile, run=replace(profile.run, place=f"rank {number}", wall_ns=10**9 + number))


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ranks that were told to write the same file."""
    folder = write(tmp_path_factory.mktemp("ranks"), PROGRAM)
    for number in range(3):
        done = cyprof(folder, "run", "prog.py", "-o", "out.cyprof", **rank(number))
        assert (done.code, done.out) == (0, f"rank {number}\n"), done.err
        # One speaks for all.
        assert ("wrote out.rank0.cyprof, and the other 2 ranks a file each" in done.err) == (number == 0)
        assert ("cyprof merge 'out.rank*.cyprof' -o out.cyprof" in done.err) == (number == 0)
    return folder


def test_each_rank_has_a_file_of_its_own(ranks: Path) -> None:
    assert sorted(path.name for path in ranks.glob("*.cyprof")) == [f"out.rank{number}.cyprof" for number in range(3)]
    run = product.load(ranks / "out.rank2.cyprof").run
    assert (run.place, run.host) == ("rank 2", socket.gethostname())


def test_ranks_are_merged_and_held_against_each_other(ranks: Path, tmp_path: Path) -> None:
    merged = str(tmp_path / "all.cyprof")
    done = cyprof(ranks, "merge", "out.rank*.cyprof", "-o", merged)
    assert done.code == 0 and "3 ranks" in done.err, done.err
    profile = product.load(merged)
    assert profile.member_titles == ["rank 0", "rank 1", "rank 2"]
    half = next(function for function in profile.functions if function.name == "half")
    assert profile.function_times[half.id].calls == 600
    table = cyprof(ranks, "stats", "--ranks", merged, "--explain")
    assert table.code == 0 and "3 ranks of prog.py" in table.out
    (row,) = [line for line in table.out.splitlines() if "(half)" in line]
    assert "100-300" in row
    assert "3 ranks are shown as one" in cyprof(ranks, "stats", merged).out
    assert "process rank 1 " in cyprof(ranks, "stats", merged, "--threads").out
    assert cyprof(ranks, "graph", merged, "-o", str(tmp_path / "all.dot")).code == 0


def test_one_rank_of_a_merged_recording(ranks: Path, tmp_path: Path) -> None:
    cyprof(ranks, "merge", "out.rank*.cyprof", "-o", str(tmp_path / "all.cyprof"))
    for name in ("1", "rank 1"):
        (row,) = [line for line in cyprof(tmp_path, "stats", "all.cyprof", "--rank", name).out.splitlines() if "(half)" in line]
        assert row.split()[0] == "200"
    assert cyprof(tmp_path, "export", "all.cyprof", "--rank", "2", "-o", "two.json").code == 0
    run = json.loads((tmp_path / "two.json").read_text())["run"]
    assert run["target"] == "prog.py"
    done = cyprof(tmp_path, "stats", "all.cyprof", "--rank", "7")
    assert done.code == 2 and "There are rank 0, rank 1, rank 2." in done.err


def test_the_table_of_ranks_for_other_programs(ranks: Path, tmp_path: Path) -> None:
    cyprof(ranks, "merge", "out.rank*.cyprof", "-o", str(tmp_path / "all.cyprof"))
    done = cyprof(tmp_path, "stats", "--ranks", "all.cyprof", "-o", "ranks.json")
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "ranks.json").read_text())
    assert (found["schema"], found["noun"]) == ("cyprof-ranks/1", "rank")
    assert [member["name"] for member in found["members"]] == ["rank 0", "rank 1", "rank 2"]
    half = next(function for function in found["functions"] if function["name"] == "half")
    calls = half["calls"]
    assert calls == {
        "min": 100, "median": 200, "mean": 200, "max": 300, "at": "rank 2", "max_by_mean": 1.5, "each": [100, 200, 300],
    }  # fmt: skip
    assert half["ran"] == 3
    assert half["self_s"]["min"] <= half["self_s"]["median"] <= half["self_s"]["max"]


def test_tables_of_ranks_are_files(tmp_path: Path) -> None:
    """Several tables at once in one terminal could not be read."""
    write(tmp_path, PROGRAM)
    done = cyprof(tmp_path, "stats", "prog.py", **rank(1))
    assert (done.code, done.out, done.err) == (0, "rank 1\n", "")
    assert "(half)" in (tmp_path / "prog.rank1.txt").read_text()
    done = cyprof(tmp_path, "graph", "prog.py", "--format", "dot", **rank(0))
    assert (tmp_path / "graph.rank0.dot").is_file()
    assert "wrote graph.rank0.dot, and the other 2 ranks a file each" in done.err


def test_what_concerns_one_rank_alone_has_its_number(tmp_path: Path) -> None:
    done = cyprof(tmp_path, "run", "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", **rank(2))
    assert done.code == -15
    assert "cyprof: rank 2: The program was ended (SIGTERM)" in done.err


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, and what is none, or none any more."""
    folder = write(tmp_path_factory.mktemp("odd"), PROGRAM)
    paths = [save(of_rank(number), folder / f"r{number}.cyprof") for number in range(2)]
    shutil.copy(paths[0], folder / "copy.cyprof")
    save(merge_files(paths), folder / "both.cyprof")
    data = paths[1].read_bytes()
    (folder / "torn.cyprof").write_bytes(data[:-9])
    (folder / "newer.cyprof").write_bytes(data[:8] + (7).to_bytes(4, "big") + data[12:])
    recorder = cProfile.Profile()
    recorder.runcall(len, "")
    recorder.dump_stats(folder / "stats.prof")
    return folder


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["merge"], 2, "no recording was given"),
        (["merge", "nothing*.cyprof", "-o", "x.cyprof"], 2, "No recording matches nothing*.cyprof"),
        (["merge", "nothing.cyprof"], 2, "nothing.cyprof does not exist"),
        (["merge", "r0.cyprof", "./r0.cyprof"], 2, "named twice"),
        (["merge", "r0.cyprof", "copy.cyprof"], 2, "copy.cyprof holds the same recording as r0.cyprof"),
        (["merge", "r0.cyprof", "both.cyprof"], 2, "both.cyprof holds the same recording as r0.cyprof"),
        (["merge", "r0.cyprof", "r1.cyprof", "-o", "r1.cyprof"], 2, "one of what is merged"),
        (["merge", "r0.cyprof", "-o", "x.png"], 2, "a recording ends in .cyprof"),
        (["merge", "r0.cyprof", "--", "x"], 2, "runs no program"),
        (["merge", "prog.py"], 2, "prog.py is no recording"),
        (["merge", "r0.cyprof", "stats.prof"], 2, "stats.prof cannot be merged"),
        (["merge", "r0.cyprof", "torn.cyprof"], 4, "torn.cyprof is truncated"),
        (["merge", "r0.cyprof", "newer.cyprof"], 4, "written by a newer cyprof"),
        (["stats", "--ranks", "r0.cyprof"], 4, "r0.cyprof is one recording"),
        (["stats", "--rank", "0", "prog.py"], 2, "a program is to be run"),
        (["graph", "--ranks", "r0.cyprof"], 2, "It belongs to cyprof stats"),
    ],
)
def test_what_cannot_be_merged(odd_files: Path, words: list[str], code: int, sentence: str) -> None:
    data = (odd_files / "r1.cyprof").read_bytes()
    done = cyprof(odd_files, *words)
    assert done.code == code
    assert sentence in done.err
    assert len(done.err.splitlines()) == 2, "one sentence of what happened, one of what to do"
    assert (odd_files / "r1.cyprof").read_bytes() == data


def test_recordings_without_ranks_are_called_after_their_files(tmp_path: Path) -> None:
    for name, target in (("monday", "a.py"), ("tuesday", "b.py")):
        profile = profiles.demo()
        save(replace(profile, run=replace(profile.run, target=target)), tmp_path / f"{name}.cyprof")
    done = cyprof(tmp_path, "merge", "tuesday.cyprof", "monday.cyprof")
    assert done.code == 0 and "different programs: a.py (monday), b.py (tuesday)" in done.err
    assert product.load(tmp_path / "merged.cyprof").member_titles == ["monday", "tuesday"]
    assert "2 recordings of a.py, b.py" in cyprof(tmp_path, "stats", "--ranks", "merged.cyprof").out


def test_the_rank_is_found() -> None:
    assert own_rank({}) is None
    assert own_rank({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "3"}) == Rank(3, 4)
    assert own_rank({"PMI_RANK": "1", "PMI_SIZE": "2"}) == Rank(1, 2)
    assert own_rank({"PMIX_RANK": "2"}) == Rank(2, None)
    assert own_rank({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}) == Rank(5, 8)
    # One task, or a shell within an allocation, is not a rank; nor is nonsense.
    assert own_rank({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "1"}) is None
    assert own_rank({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}) is None
    assert own_rank({"PMI_RANK": "one"}) is None


@pytest.mark.parametrize(
    ("given", "alone", "ranked", "pattern"),
    [
        ("out.cyprof", "out.cyprof", "out.rank3.cyprof", "out.rank*.cyprof"),
        ("a/b.c/out.speedscope.json", "a/b.c/out.speedscope.json", "a/b.c/out.rank3.speedscope.json", None),
        ("out.{rank}.cyprof", "out.0.cyprof", "out.3.cyprof", "out.*.cyprof"),
        ("/dev/null", "/dev/null", "/dev/null", None),
    ],
)
def test_names_of_files(given: str, alone: str, ranked: str, pattern: str | None) -> None:
    suffixes = [".json", ".speedscope.json", ".cyprof"]
    assert str(path_of(Path(given), None, suffixes)) == alone
    assert str(path_of(Path(given), Rank(3, 4), suffixes)) == ranked
    assert pattern is None or pattern_of(Path(given), suffixes) == pattern
