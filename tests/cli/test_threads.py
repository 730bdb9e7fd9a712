"""Threads, however they are made: each by its name, what it called, how long it waited."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from recorded import calls_by_thread, record, waiting_share

from cyprof.model import teams

pytestmark = pytest.mark.every_python

KERNEL = """
# distutils: libraries = pthread
from cython.parallel cimport prange

cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t *, void *, void *(*)(void *) noexcept nogil, void *)
    int pthread_join(pthread_t, void **)
    int pthread_setname_np(pthread_t, const char *)
    pthread_t pthread_self()

cdef double spin(long n) noexcept nogil:
    cdef double s = 1
    cdef long i
    for i in range(n):
        s = s * 1.0000001 + 1e-9
    return s

def busy(long n):
    cdef double r
    with nogil:
        r = spin(n)
    return r

def comes_back(int rounds, long n):
    cdef double r = 0
    cdef int i
    with nogil:
        for i in range(rounds):
            r += spin(n)
            with gil:
                r += 1
    return r

def in_parallel(int rounds, long n):
    cdef int i
    cdef double s = 0
    for i in prange(rounds, nogil=True, num_threads=2, schedule="static"):
        s += spin(n)
    return s

cdef object told

cdef void *body(void *unused) noexcept nogil:
    cdef int i
    pthread_setname_np(pthread_self(), b"of C")
    for i in range(10):
        spin(10)
        with gil:
            told(i)
    return NULL

def c_threads(int count, f):
    global told
    cdef pthread_t threads[8]
    cdef int i
    told = f
    with nogil:
        for i in range(count):
            pthread_create(&threads[i], NULL, body, NULL)
        for i in range(count):
            pthread_join(threads[i], NULL)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache, so that the module is compiled once."""
    return tmp_path_factory.mktemp("cache")


WAITS = """
import sys, threading, time
import kern

def sleeps():
    time.sleep(0.3)

def waits_for_a_lock():
    with lock:
        pass

def holds(begun):
    with lock:
        begun.set()
        time.sleep(0.3)

def runs():
    kern.busy(100_000_000)

def wants_the_gil():
    n = 0
    while not stop:
        n += 1

sleeps()
lock, begun = threading.Lock(), threading.Event()
holder = threading.Thread(target=holds, args=(begun,))
holder.start()
begun.wait()
waits_for_a_lock()
runs()
stop = []
sys.setswitchinterval(0.2)  # who waits for the GIL sleeps so long
both = [threading.Thread(target=wants_the_gil) for _ in range(2)]
for thread in both:
    thread.start()
kern.comes_back(4, 1_000_000)
stop.append(True)
for thread in both:
    thread.join()
"""


@pytest.mark.parametrize("clock", ["auto", "sampled"])
def test_waiting_is_told_from_running(tmp_path: Path, cache: Path, clock: str) -> None:
    """Not even a busy machine, on which threads queue for a processor, makes a running function a waiting one."""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": WAITS}, "--clock", clock, cache=cache)
    assert waiting_share(profile, "sleeps") > 0.75
    assert waiting_share(profile, "waits_for_a_lock") > 0.75
    assert waiting_share(profile, "runs") < 0.2
    assert waiting_share(profile, "spin") < 0.2
    assert 0.2 < waiting_share(profile, "wants_the_gil") < 0.95  # one of the three at a time has the GIL
    own = [times.wait_ns / times.self_ns for times, function in zip(profile.function_times, profile.functions, strict=True)
           if function.name == "comes_back"]  # fmt: skip
    assert own[0] > 0.2


def test_names_of_threads(tmp_path: Path, cache: Path) -> None:
    """Given at first, later, from outside, by a pool; threads that still run at the end; one that Python does not know."""
    program = """
import _thread, threading, time
from concurrent.futures import ThreadPoolExecutor

def work():
    pass

def renames():
    work()
    threading.current_thread().name = "later"

def is_renamed():
    go.wait()
    work()

def goes_on(begun):
    work()
    begun.set()
    while True:
        time.sleep(0.001)

go, begun = threading.Event(), threading.Event()
threads = [threading.Thread(target=work, name="first"), threading.Thread(target=renames), threading.Thread(target=is_renamed)]
for thread in threads:
    thread.start()
threads[2].name = "from outside"
go.set()
for thread in threads:
    thread.join()
with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
    for _ in range(7):
        pool.submit(work)
threading.Thread(target=goes_on, args=(begun,), name="demon", daemon=True).start()
begun.wait()
lock = _thread.allocate_lock()
lock.acquire()
def unknown():
    work()
    lock.release()
_thread.start_new_thread(unknown, ())
lock.acquire()
threading.main_thread().name = "boss"
work()
"""
    found = calls_by_thread(record(tmp_path, {"prog.py": program}, cache=cache), "work")
    unknown = [name for name in found if name.startswith("thread ")]
    assert len(unknown) == 1
    assert found.pop(unknown[0]) == 1
    assert found == {"first": 1, "later": 1, "from outside": 1, "pool_0": 7, "demon": 1, "boss": 1}


def test_threads_made_in_c_that_call_back(tmp_path: Path, cache: Path) -> None:
    program = "import kern\ndef seen(i):\n    pass\nkern.c_threads(5, seen)\n"
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": program}, cache=cache)
    assert [thread.name for thread in profile.threads] == ["MainThread"] + ["of C"] * 5
    for name, calls in (("body", 5), ("spin", 50), ("seen", 50)):
        assert calls_by_thread(profile, name) == {"of C": calls}
    assert profile.notes == []


def test_threads_that_nobody_announces(tmp_path: Path, cache: Path) -> None:
    """Begun by Cython code; where the program lets nobody profile its threads; with a profiler of their own; made by a C
    library that knows nothing of probes, which 3.11 does not show, and which is said."""
    starts = "import _thread\ndef start(f):\n    _thread.start_new_thread(f, ())\n"
    program = """
import _thread, ctypes, sys, threading
import starts

def work():
    pass

def one():
    work()
    done.release()

def profiled():
    sys.setprofile(lambda frame, event, arg: events.append(frame.f_code.co_name))
    work()
    sys.setprofile(None)
    done.release()

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def called_back(unused):
    work()

events = []
done = threading.Semaphore(0)
starts.start(one)
done.acquire()
threading.setprofile(None)
threading.Thread(target=one).start()
done.acquire()
_thread.start_new_thread(profiled, ())
done.acquire()
assert events.count("work") == 2, events
c, thread = ctypes.CDLL(None), ctypes.c_ulong()
c.pthread_create(ctypes.byref(thread), None, called_back, None)
c.pthread_join(thread, None)
"""
    profile = record(tmp_path, {"starts.pyx": starts, "prog.py": program}, cache=cache)
    if sys.version_info >= (3, 12):
        assert calls_by_thread(profile, "work").total() == 4
        assert profile.notes == []
    else:
        assert calls_by_thread(profile, "work").total() in (3, 4)  # the last one where the main thread came to it in between
        assert calls_by_thread(profile, "work").total() + ("took Python's lock once" in " ".join(profile.notes)) == 4


def test_workers_of_a_parallel_loop(tmp_path: Path, cache: Path) -> None:
    """They stand under their owner. Three rounds for two threads: one has nothing to do for half of the time, and a third of
    their time together is lost if each gets a processor."""
    program = "import kern\nkern.in_parallel(3, 20_000_000)\n"
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": program}, cache=cache)
    assert calls_by_thread(profile, "spin").total() == 3
    assert [thread.name for thread in profile.threads] == ["MainThread", "OpenMP worker 2"]
    names = [function.name for function in profile.functions]
    tree = profile.tree
    callers = {tree.function[tree.parent[node]] for node in range(len(tree)) if tree.function[node] == names.index("spin")}
    assert callers == {names.index("in_parallel")}
    assert profile.notes == []
    found = teams(profile)
    assert list(found) == [names.index("in_parallel")]
    assert found[names.index("in_parallel")].threads == 2
    assert 0.9 < found[names.index("in_parallel")].busy <= 2.01
