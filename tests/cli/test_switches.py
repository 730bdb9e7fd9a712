"""Stacks that are left and taken up again: coroutines of asyncio, greenlets, gevent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from recorded import record

from cyprof.model import Profile

pytestmark = pytest.mark.every_python

KERNEL = """
import asyncio

cdef double spin(long n) noexcept nogil:
    cdef double s = 1
    cdef long i
    for i in range(n):
        s = s * 1.0000001 + 1e-9
    return s

def work(long n):
    return spin(n)

async def fetch(int k):
    work(1)
    for _ in range(3):
        await asyncio.sleep(0.2)
    await asyncio.gather(helper(k), helper(k))
    return k

async def helper(int k):
    await asyncio.sleep(0)
    work(2)
    return k

def counted(int n):
    cdef int i
    for i in range(n):
        yield i
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache, so that the module is compiled once."""
    return tmp_path_factory.mktemp("cache")


def edges(profile: Profile) -> Counter[tuple[str, str]]:
    """Calls by the names of caller and callee."""
    found: Counter[tuple[str, str]] = Counter()
    for edge in profile.edges:
        found[profile.functions[edge.caller].name, profile.functions[edge.callee].name] += edge.calls
    return found


def test_gathered_coroutines_of_cython(tmp_path: Path, cache: Path) -> None:
    """Starts and resumes apart. 20 of them sleep for 0.6 s each, at the same time: that is nobody's own time."""
    program = """
import asyncio
import kern

async def main():
    return await asyncio.gather(*(kern.fetch(k) for k in range(20)))

print(sum(asyncio.run(main())), sum(kern.counted(50)))
"""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": program}, cache=cache)
    times = {function.name: profile.function_times[function.id] for function in profile.functions}
    assert (times["fetch"].calls, times["fetch"].resumes) == (20, 20 * 4)
    assert (times["helper"].calls, times["helper"].resumes) == (40, 40)
    assert (times["counted"].calls, times["counted"].resumes) == (1, 50)
    assert times["work"].calls == 60
    assert edges(profile)["fetch", "work"] == 20
    assert edges(profile)["helper", "work"] == 40
    assert times["fetch"].self_ns < profile.run.wall_ns / 2  # 12 s if the sleeping counted
    waits = sum(profile.tree.wait_ns)
    assert waits > profile.run.wall_ns / 5  # the loop's, in its poll
    assert not profile.notes


GREENLETS = """
import greenlet, threading
import kern

def first(turns):
    for _ in range(turns):
        inner()
        second_one.switch()

def inner():
    kern.work(10)
    second_one.switch()
    kern.work(11)

def second():
    while True:
        other()
        first_one.switch()

def other():
    kern.work(20)
    first_one.switch()
    kern.work(21)

{tracer}
first_one, second_one = greenlet.greenlet(first), greenlet.greenlet(second)
first_one.switch(50)
kern.work(1)
{more}
"""


def test_greenlets_keep_their_own_stacks(tmp_path: Path, cache: Path) -> None:
    """Also ones of a second thread, ones that an exception ends, and many, one after another."""
    more = """
def raises():
    kern.work(2)
    greenlet.getcurrent().parent.switch()
    kern.work(3)

def many():
    for _ in range(300):
        one = greenlet.greenlet(raises)
        one.switch()
        one.throw()
        kern.work(4)
        greenlet.greenlet(raises).switch()  # never goes on

thread = threading.Thread(target=many)
thread.start()
thread.join()
"""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": GREENLETS.format(tracer="", more=more)}, cache=cache)
    found = edges(profile)
    assert found["first", "inner"] == 50
    assert found["inner", "work"] == 100
    assert found["second", "other"] == 50
    assert found["other", "work"] == 100
    assert found["<module>", "work"] == 1
    assert (found["many", "work"], found["raises", "work"]) == (300, 600)
    assert {caller for caller, callee in found if callee == "work"} == {"inner", "other", "<module>", "many", "raises"}
    assert not profile.notes


def test_greenlets_with_a_tracer_of_the_programs_own(tmp_path: Path, cache: Path) -> None:
    """It is not disturbed, and the profile says what cannot be right."""
    tracer = "seen = []\ngreenlet.settrace(lambda *event: seen.append(event))"
    more = "assert len(seen) > 100\nassert greenlet.gettrace().__name__ == '<lambda>'"
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": GREENLETS.format(tracer=tracer, more=more)}, cache=cache)
    calls = {function.name: profile.function_times[function.id].calls for function in profile.functions}
    assert (calls["work"], calls["inner"], calls["other"]) == (201, 50, 50)
    assert [note for note in profile.notes if note.startswith("The program switches between greenlets")]


def test_gevent(tmp_path: Path, cache: Path) -> None:
    program = """
from gevent import monkey
monkey.patch_all()
import gevent, gevent.pool, time
import kern

def inner(n):
    kern.work(1)
    time.sleep(0.001)
    kern.work(2)
    return n

def outer(n):
    inner(n)
    gevent.sleep(0)
    return inner(n)

def busy():
    for _ in range(50):
        kern.work(3)
        gevent.sleep(0)

gevent.joinall([gevent.spawn(outer, n) for n in range(40)] + [gevent.spawn(busy)])
print(sum(gevent.pool.Pool(10).map(outer, range(50))))
"""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": program}, cache=cache)
    found = edges(profile)
    assert found["outer", "inner"] == 180
    assert found["inner", "work"] == 360
    assert found["busy", "work"] == 50
    assert {caller for caller, callee in found if callee == "work"} == {"inner", "busy"}
    assert {caller for caller, callee in found if callee == "inner"} == {"outer"}
    assert not profile.notes
