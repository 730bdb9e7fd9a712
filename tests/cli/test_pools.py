"""Pools of processes: of joblib, of concurrent.futures, with workers that are killed, with a module that cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import cyprof, write
from recorded import calls_by_process, record

KERNEL = """
cdef double step(int i) noexcept nogil:
    return i * 0.5

def work(int n):
    cdef int i
    cdef double s = 0
    for i in range(n):
        s += step(i)
    return s
"""
# joblib has fetched its workers' first tasks before it gives out the last: eight for two workers reach both or one.
JOBLIB = """
import sys
import kern
from joblib import Parallel, delayed

if __name__ == "__main__":
    kern.work(7)
    print(sum(Parallel(n_jobs=2, backend=sys.argv[1])(delayed(kern.work)(100) for _ in range(8))))
"""
FUTURES = """
import concurrent.futures, glob, multiprocessing, os, signal, sys, time
import kern

def last():
    # Killed when what it did has been written down.
    kern.work(1000)
    part, since = os.path.join(os.environ["TMPDIR"], "cyprof-*", f"{os.getpid()}-*.part"), time.time()
    while not any(os.stat(file).st_mtime > since + 0.05 for file in glob.glob(part)):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(sys.argv[1])) as executor:
        list(executor.map(kern.work, [10] * 6))
        try:
            executor.submit(last).result()
        except concurrent.futures.process.BrokenProcessPool:
            print("broken")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache, so that the module is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.every_python
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(tmp_path: Path, cache: Path, backend: str) -> None:
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": JOBLIB}, cache=cache, args=(backend,))
    step = calls_by_process(profile, "step")
    assert step.pop("") == (7 if backend != "threading" else 807)
    assert step.total() == (800 if backend != "threading" else 0)
    workers = {"loky": "LokyProcess-", "multiprocessing": "ForkPoolWorker-", "threading": "none"}[backend]
    assert all(name.startswith(workers) for name in step)
    assert not profile.notes


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_killed_worker_of_an_executor(tmp_path: Path, cache: Path, method: str) -> None:
    """It leaves what it had written; nothing is counted twice."""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": FUTURES}, cache=cache, args=(method,), TMPDIR=str(tmp_path))
    assert calls_by_process(profile, "step").total() == 60 + 1000
    assert calls_by_process(profile, "work").total() == 7
    assert [process.end for process in profile.processes].count("killed") == 1
    assert [note.startswith("Ended without a word (as by SIGKILL)") for note in profile.notes] == [True]


@pytest.mark.every_python
def test_without_children_a_spawned_worker_still_finds_modules(tmp_path: Path, cache: Path) -> None:
    """No recording is begun in it; the module was built nowhere but in the cache."""
    program = JOBLIB.replace("kern.work(7)", "kern.work(5)")
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": program}, "--no-children", cache=cache, args=("loky",))
    assert len(profile.processes) == 1
    assert calls_by_process(profile, "step") == {"": 5}
    assert not profile.notes


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_build_that_fails_in_a_worker_ends_the_run(tmp_path: Path, cache: Path, method: str) -> None:
    """A pool starts another worker for each that ends: without an end of the program this went on for ever."""
    program = """
import multiprocessing, sys

def task(n):
    __import__("bro" + "ken")

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(task, range(6))
"""
    folder = write(tmp_path, {"prog.py": program, "broken.pyx": "cdef int f(:\n    pass\n"})
    done = cyprof(folder, "stats", "prog.py", "--", method, CYPROF_CACHE_DIR=str(cache))
    assert (done.code, done.out) == (3, "")
    assert "cyprof: error: Cython cannot compile broken.pyx, line 1" in done.err
    assert "Traceback" not in done.err
