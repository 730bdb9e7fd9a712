"""Programs under a real mpirun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cyprof as product
from cyprof.collect.merged import merge_files

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun; Debian: openmpi-bin")

KERNEL = """
def work(int n):
    cdef int i
    cdef double s = 0
    for i in range(n):
        s += step(i)
    return s

cdef double step(int i) noexcept nogil:
    return i * 0.5
"""
PROGRAM = """
import os, sys
import kern
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
kern.work(1000 * (rank + 1))
print("sum of rank", rank)
"""
COMPILER = """#!/bin/sh
echo "$@" >> "{log}"
exec gcc "$@"
"""


def mpirun(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Three ranks of cyprof on a cold cache, with a compiler that leaves word of each call."""
    (folder / "kern.pyx").write_text(KERNEL)
    (folder / "prog.py").write_text(PROGRAM)
    compiler = folder / "cc"
    compiler.write_text(COMPILER.format(log=folder / "compiled"))
    compiler.chmod(0o755)
    environ = {**os.environ, "CYPROF_CACHE_DIR": str(folder / "cache"), "CC": str(compiler), "CFLAGS": "-O0"}
    environ["OMPI_MCA_odls_base_sigkill_timeout"] = "4"  # s from SIGTERM to SIGKILL: a busy machine may need them
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m", "cyprof", *words]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=400)


def test_ranks_build_once_and_write_apart(tmp_path: Path) -> None:
    done = mpirun(tmp_path, "run", "prog.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"sum of rank {rank}" for rank in range(3)]
    told = [line for line in done.stderr.splitlines() if line.startswith("cyprof:")]
    assert len(told) == 1 and "wrote prog.rank0.cyprof, and the other 2 ranks a file each" in told[0]
    sources = [line for line in (tmp_path / "compiled").read_text().splitlines() if " -c " in line and "kern" in line]
    assert len(sources) == 1, "the ranks wait for the one that builds"
    paths = sorted(tmp_path.glob("prog.rank*.cyprof"))
    assert len(paths) == 3
    steps = [_calls(product.load(path), "step") for path in paths]
    assert steps == [1000, 2000, 3000]
    merged = merge_files(paths)
    assert _calls(merged, "step") == 6000
    assert merged.member_titles == ["rank 0", "rank 1", "rank 2"]


def test_a_rank_that_fails_is_no_loss_to_the_others(tmp_path: Path) -> None:
    """mpirun ends them all then: what they had done is kept."""
    code = (
        "import os, time, kern; r = int(os.environ['OMPI_COMM_WORLD_RANK']); kern.work(10)\n"
        "open(f'ready{r}', 'w').close()\n"
        "while not all(os.path.exists(f'ready{i}') for i in range(3)): time.sleep(0.01)\n"
        "if r == 1: raise SystemExit(3)\n"
        "time.sleep(300)"
    )
    done = mpirun(tmp_path, "run", "-c", code, "-o", "out.{rank}.cyprof")
    assert done.returncode != 0
    wait_for(tmp_path / "out.0.cyprof", tmp_path / "out.2.cyprof")  # mpirun may be gone before they are written
    assert [_calls(product.load(tmp_path / f"out.{rank}.cyprof"), "step") for rank in range(3)] == [10, 10, 10]


def wait_for(*paths: Path) -> None:
    deadline = time.monotonic() + 60
    while not all(path.exists() for path in paths) and time.monotonic() < deadline:
        time.sleep(0.05)


def _calls(profile: product.Profile, name: str) -> int:
    pairs = zip(profile.functions, profile.function_times, strict=True)
    return sum(times.calls for function, times in pairs if function.name == name)
