"""Programs of several processes: each recorded, none twice, and what is left of those that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from cli_support import cyprof, write

import cyprof as product
from cyprof.model import Profile

pytestmark = pytest.mark.every_python

KERNEL = {
    "kern.pyx": """
from libc.stdlib cimport malloc
from posix.unistd cimport fork, _exit

def work(int n):
    cdef int i
    cdef double s = 0
    for i in range(n):
        s += step(i)
    return s

cdef double step(int i) noexcept nogil:
    return i * 0.5

cdef void in_child(int n) noexcept nogil:
    cdef int i
    for i in range(n):
        step(i)

def fork_without_gil(int n):
    cdef int pid
    with nogil:
        step(0)
        pid = fork()
        if pid == 0:
            in_child(n)
    return pid
"""
}


def record(folder: Path, program: str, *words: str, code: int = 0, args: tuple[str, ...] = ()) -> Profile:
    write(folder, {**KERNEL, "prog.py": program})
    cache = str(folder.parent / "cache")
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", *words, "--", *args, CYPROF_CACHE_DIR=cache)
    assert done.code == code, done.err
    return product.load(folder / "r.cyprof")


def calls(profile: Profile, name: str) -> Counter[str]:
    """Calls of a function by the name of the process; those of several processes of a name summed up."""
    processes = {process.id: process.name for process in profile.processes}
    names = {thread.id: processes[thread.process] for thread in profile.threads}
    found: Counter[str] = Counter()
    for node, function in enumerate(profile.tree.function):
        if profile.functions[function].name == name:
            found[names[profile.tree.thread[node]]] += profile.tree.calls[node]
    return +found


POOL = """
import multiprocessing, sys
import kern

def task(n):
    return kern.work(n)

if __name__ == "__main__":
    kern.work(7)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(task, [100] * 8)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_each_worker_of_a_pool_is_recorded_though_it_is_killed(tmp_path: Path, method: str) -> None:
    """Leaving the `with` sends SIGTERM to the workers. The module was never built beside its source."""
    profile = record(tmp_path / "w", POOL, args=(method,))
    work = calls(profile, "work")
    assert work.pop("") == 1
    assert sum(work.values()) == 8
    assert all("PoolWorker-" in name for name in work)
    assert not profile.notes
    assert calls(profile, "step").total() == 7 + 800
    assert {process.end for process in profile.processes if process.name in work} <= {"SIGTERM", "os._exit or os.exec", ""}


def test_without_children(tmp_path: Path) -> None:
    profile = record(tmp_path / "w", POOL, "--no-children", args=("fork",))
    assert len(profile.processes) == 1
    assert calls(profile, "step") == {"": 7}


def test_executors_and_processes(tmp_path: Path) -> None:
    program = """
import concurrent.futures, multiprocessing
import kern

if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as executor:
        list(executor.map(kern.work, [10] * 6))
    process = multiprocessing.get_context("spawn").Process(target=kern.work, args=(5,), name="helper")
    process.start()
    process.join()
"""
    profile = record(tmp_path / "w", program)
    work = calls(profile, "work")
    assert work.pop("helper") == 1
    assert sum(work.values()) == 6
    assert all(name.startswith("ForkProcess-") for name in work)
    assert not [process for process in profile.processes if process.end not in ("", "os._exit or os.exec")]


@pytest.mark.parametrize(
    "last", ["sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), 15)", "os.abort()", "os.execv('/bin/true', ['true'])"]
)
def test_a_fork_counts_from_zero(tmp_path: Path, last: str) -> None:
    program = f"""
import os, sys
import kern

def between():
    pid = os.fork()
    if not pid:
        kern.work(30)
        {last}
    os.waitpid(pid, 0)

kern.work(20)
between()
kern.work(3)
"""
    profile = record(tmp_path / "w", program)
    assert calls(profile, "step") == {"": 23, "fork": 30}
    assert calls(profile, "between") == {"": 1}  # the child is in it, and has not called it


def test_a_fork_in_a_threaded_program(tmp_path: Path) -> None:
    program = """
import os, threading, warnings
import kern
warnings.simplefilter("ignore")
stop = threading.Event()

def busy():
    while not stop.is_set():
        kern.work(1000)

threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(20):
    pid = os.fork()
    if not pid:
        kern.work(7)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
"""
    profile = record(tmp_path / "w", program)
    assert calls(profile, "step")["fork"] == 20 * 7
    assert len(profile.processes) == 21


def test_a_fork_in_code_without_the_gil(tmp_path: Path) -> None:
    program = """
import os
import kern
pid = kern.fork_without_gil(40)
if not pid:
    os._exit(0)
os.waitpid(pid, 0)
"""
    profile = record(tmp_path / "w", program)
    assert calls(profile, "step") == {"": 1, "fork": 40}
    assert calls(profile, "fork_without_gil") == {"": 1}


def test_interpreters_started_by_subprocess(tmp_path: Path) -> None:
    program = """
import os, subprocess, sys
environment = {name: value for name, value in os.environ.items() if not name.startswith("CYPROF_P")}
assert environment == dict(os.environ)
subprocess.run([sys.executable, "other.py", "1"], check=True)
subprocess.run([sys.executable, "other.py", "2"], check=True, env=environment)
"""
    other = """
import os, sys
def step(): pass
def told(): pass
if "CYPROF_PROCESSES" in os.environ:
    told()
for n in range(10 * int(sys.argv[1])):
    step()
"""
    write(tmp_path / "w", {"other.py": other})
    profile = record(tmp_path / "w", program)
    if (Path(sysconfig.get_path("platlib")) / "cyprof.pth").exists():
        assert calls(profile, "step") == {"other.py": 30}
        assert not calls(profile, "told")
        assert not profile.notes
    else:
        assert any("Not recorded: 2 Python processes" in note and "wheel" in note for note in profile.notes)


def test_the_process_of_each_thread_is_told(tmp_path: Path) -> None:
    """Both workers take part: neither is ended before it has begun."""
    program = """
import multiprocessing
import kern

if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    both = context.Barrier(2)
    with context.Pool(2, initializer=both.wait) as pool:
        print(sum(pool.map(kern.work, [100] * 8)))
"""
    record(tmp_path / "w", program)
    table = cyprof(tmp_path / "w", "stats", "r.cyprof", "--threads").out
    assert "process main" in table
    assert "process ForkPoolWorker-1" in table
    assert "thread ForkPoolWorker-1" in table
    assert "3 processes are shown as one" in cyprof(tmp_path / "w", "stats", "r.cyprof").out
    dot = tmp_path / "w" / "g.dot"
    assert cyprof(tmp_path / "w", "graph", "r.cyprof", "--threads", "-o", "g.dot").code == 0
    assert "ForkPoolWorker-1" in dot.read_text()


def test_a_child_that_outlives_the_program_is_named(tmp_path: Path) -> None:
    program = """
import os, time
if not os.fork():
    os.close(1), os.close(2)
    time.sleep(3)
    os._exit(0)
time.sleep(0.5)
"""
    profile = record(tmp_path / "w", program)
    assert [process.end for process in profile.processes] == ["", "running"]
    assert any(note.startswith("Still running when the program ended") for note in profile.notes)


DIES = """
import os, signal, sys, time
import kern
kern.work(50)
time.sleep(0.5)
kern.work(5)
{last}
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGHUP, signal.SIGKILL])
def test_what_was_recorded_until_a_signal_is_kept(tmp_path: Path, number: signal.Signals) -> None:
    program = DIES.format(last=f"os.kill(os.getpid(), {int(number)})")
    profile = record(tmp_path / "w", program, code=-number)
    lost = number == signal.SIGKILL  # nobody is asked: the last interval is gone
    assert calls(profile, "step") == {"": 50 if lost else 55}
    assert bool(profile.notes) == lost
    assert profile.run.exit_code == -number


def test_a_crash_is_the_one_of_a_plain_run(tmp_path: Path) -> None:
    program = DIES.format(last="import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)")
    write(tmp_path / "w", {**KERNEL, "prog.py": program})
    done = cyprof(tmp_path / "w", "run", "prog.py", CYPROF_CACHE_DIR=str(tmp_path / "cache"))
    assert done.code == -signal.SIGSEGV
    assert done.err.startswith("Fatal Python error: Segmentation fault\n")
    assert "cyprof/" not in done.err.partition("\n\n")[2].replace("cyprof: ", "")
    assert calls(product.load(tmp_path / "w" / "prog.cyprof"), "step") == {"": 55}


def test_a_full_disk_does_not_disturb_the_program(tmp_path: Path) -> None:
    """A limit on the size of files stands for the full disk: the writes fail in the same place."""
    program = """
import resource, time
import kern
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
kern.work(5)
time.sleep(0.3)
print("as ever")
"""
    write(tmp_path / "w", {**KERNEL, "prog.py": program})
    done = cyprof(tmp_path / "w", "run", "prog.py", CYPROF_CACHE_DIR=str(tmp_path / "cache"))
    assert done.out == "as ever\n"
    assert done.code == 4
    assert done.err.startswith("cyprof: error: The recording could not be written")


def test_exits_that_are_not_the_programs(tmp_path: Path) -> None:
    program = """
import atexit, sys, threading
import kern
def late():
    kern.work(4)
    raise ValueError("late")
atexit.register(late)
thread = threading.Thread(target=sys.exit, args=(3,))
thread.start()
thread.join()
kern.work(6)
"""
    assert calls(record(tmp_path / "w", program), "step") == {"": 10}


def test_very_many_threads_are_told_together(tmp_path: Path) -> None:
    program = """
import threading
import kern
for n in range(600):
    thread = threading.Thread(target=kern.work, args=(3,))
    thread.start()
    thread.join()
"""
    profile = record(tmp_path / "w", program)
    assert calls(profile, "step").total() == 1800
    shared = [thread for thread in profile.threads if thread.merged]
    assert [thread.name for thread in shared] == ["Thread-* (work)"]
    assert shared[0].merged == 400
    assert len(profile.threads) == 202


def test_python_processes_of_another_version_run_unrecorded(tmp_path: Path) -> None:
    """What a recorded program hands on means nothing to an interpreter without cyprof."""
    environment = {**os.environ, "CYPROF_PROCESSES": str(tmp_path / "gone")}
    done = subprocess.run([sys.executable, "-c", "print('runs')"], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("runs\n", "")
