# cython: language_level=3, linetrace=True
# Loops, as their author counts them: the rounds and the last test. "hits N" as run_loops.py reaches the line.
from cython.parallel import prange


def over_range(int n):
    cdef int i, total = 0
    for i in range(n):  # hits 11
        total += i  # hits 10
    return total


def over_object(items):
    total = 0
    for item in items:  # hits 8
        if item == 3:  # hits 7
            continue  # hits 1
        total += item  # hits 6
    return total


def over_dict(dict pairs):
    total = 0
    for key, value in pairs.items():  # hits 4
        total += value  # hits 3
    return total


def over_list(list items):
    total = 0
    for item in items:  # hits 6
        total += item  # hits 5
    return total


def left_by_break(items):
    for item in items:  # hits 3
        if item == 2:  # hits 3
            break  # hits 1
    else:
        return None  # hits 0
    return item  # hits 1


def left_by_break_range(int n):
    cdef int i
    for i in range(n):  # hits 4
        if i == 3:  # hits 4
            break  # hits 1
    return i


def for_else(items):
    for item in items:  # hits 4
        pass  # hits 3
    else:
        item = 7  # hits 1
    return item


def while_loop(int n):
    while n > 0:  # hits 6
        n -= 1  # hits 5
    else:
        n = 4  # hits 1
    return n


def while_true(int n):
    while True:  # hits 3
        n -= 1  # hits 3
        if n == 0:  # hits 3
            break  # hits 1
    return n


def nested(int n):
    cdef int i, j, total = 0
    for i in range(n):  # hits 4
        for j in range(n):  # hits 12
            total += 1  # hits 9
    return total


def returned_from(items):
    for item in items:  # hits 2
        if item == 1:  # hits 2
            return item  # hits 1


def from_to(int n):
    cdef int i, total = 0
    for i from 0 <= i < n:  # hits 6
        total += i  # hits 5
    return total


def down(int n):
    cdef int i, total = 0
    for i in range(n, 0, -2):  # hits 4
        total += i  # hits 3
    return total


def comprehension(items):
    return [item * 2 for item in items if item]  # hits 1


def spread(items):
    return [
        item * 2  # hits 3
        for item in items  # hits 4
    ]


def without_gil(int n):
    cdef int i, total = 0
    with nogil:  # hits 1
        for i in range(n):  # hits 5
            total += 1  # hits 4
    return total  # hits 1


def managed(context):
    with context as value:  # hits 1
        value += 1  # hits 1
    return value  # hits 1


def parallel(int n):
    cdef int i
    cdef long total = 0
    for i in prange(n, nogil=True, num_threads=2):  # hits 101
        total += i  # hits 100
    return total  # hits 1


def generator(int n):
    cdef int i
    for i in range(n):  # hits 11
        yield i * i  # hits 10


def several(a, b):
    x = 1; y = 2  # hits 1
    return (a +
            b + x + y)


def element_beside_its_loop(items):
    return [
        item for item in items  # hits 4
        if item > 1  # hits 3
    ]


def never_entered(int n):
    while 0:  # hits 1
        n = 1  # hits 0
    for i in ():  # hits 1
        n = 1  # hits 0
    else:
        n = 2  # hits 1
    return n, [i for i in ()]  # hits 1


cdef int c_function(int n) except -1: return 1 // n  # hits 3


def through_what_raises():
    for x in c_function(0):  # hits 1
        c_function(x)  # hits 0


def fetching_raises(items):
    for x in (c_function(item) for item in items):  # hits 2
        x += 1  # hits 1


def a_bound_raises(n):
    cdef int i
    for i in range(len(n)):  # hits 1
        c_function(1)  # hits 0
