# cython: language_level=3
# Exceptions, generators, coroutines, threads, calls of C functions.
import numpy as np


cdef int check(int v) except -1:
    if v % 3 == 0:
        raise ValueError(v)
    return v


cdef int guard(int v) except -1:
    return check(v)


cdef double nogil_check(double v) except -1.0 nogil:
    if v < 0:
        raise ValueError("negative")
    return v


def survive(int n):
    cdef int bad = 0
    for i in range(n):
        try:
            guard(i)
        except ValueError:
            bad += 1
    return bad


def survive_nogil():
    cdef int bad = 0
    cdef double value
    for value in (1.0, -1.0, -2.0):
        try:
            with nogil:
                nogil_check(value)
        except ValueError:
            bad += 1
    return bad


def squares(int n):
    cdef int i
    for i in range(n):
        yield i * i


def failing_generator():
    yield 1
    raise KeyError("gone")


def never_started():
    squares(3).close()
    failing_generator().close()
    try:
        squares(3).send(1)
    except TypeError:
        pass


def take_failing():
    taken = []
    try:
        for value in failing_generator():
            taken.append(value)
    except KeyError:
        return taken


async def step(x):
    return x + 1


async def climb(int n):
    total = 0
    for i in range(n):
        total += await step(i)
    return total


cdef long tick(long x) noexcept nogil:
    return x + 1


def burn(long n):
    cdef long i, x = 0
    for i in range(n):
        x = tick(x)
    return x


def burn_nogil(long n):
    cdef long i, x = 0
    with nogil:
        for i in range(n):
            x = tick(x)
    return x


def call_numpy(a, int n):
    for i in range(n):
        a.dot(a)
        np.add(a, a)
    return len(a)


def call_methods(dict d, list l, text):
    l.sort()
    d.setdefault("a", 1)
    return text.upper().split(",")


def call_back(function, int n):
    for i in range(n):
        function(i)
