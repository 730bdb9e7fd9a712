x = [1, 2]  # hits 1
# cython: language_level=3
# Statements whose C code Cython repeats, moves or makes anew. "hits N" as run_statements.py reaches the line.
from cython.parallel import prange

cdef int seven = 7  # hits 1


def note(value=None):
    return value


def after_return(int n):
    for i in range(n):  # hits 4
        try:  # hits 4
            if i == 3:  # hits 4
                return i  # hits 1
            if i == 1:  # hits 3
                continue  # hits 1
            note()  # hits 2
        finally:
            note(i)  # hits 4
            note(2)  # hits 4


def after_break(int n):
    while True:  # hits 2
        try:  # hits 2
            n -= 1  # hits 2
            if n == 0:  # hits 2
                break  # hits 1
        finally:
            note()  # hits 2
    return n  # hits 1


def after_raise():
    try:  # hits 1
        try:  # hits 1
            raise KeyError  # hits 1
        finally:
            y = 1  # hits 1
            y = 2  # hits 1
    except KeyError:  # hits 1
        return y  # hits 1


def returning_finally():
    try:  # hits 1
        note()  # hits 1
    finally:
        return 3  # hits 1


def generator_finally(int n):
    for i in range(n):  # hits 10
        try:  # hits 9
            yield i  # hits 9
        finally:
            note(i)  # hits 9


def nested_finally():
    try:  # hits 1
        try:  # hits 1
            return note(1)  # hits 1
        finally:
            note(2)  # hits 1
    finally:
        note(3)  # hits 1


def clauses(int kind):
    try:  # hits 3
        if kind == 1:  # hits 3
            raise KeyError  # hits 1
        if kind == 2:  # hits 2
            raise ValueError  # hits 1
    except KeyError:  # hits 2
        kind = 4  # hits 1
    except ValueError as error:  # hits 1
        kind = 5  # hits 1
    else:
        kind = 6  # hits 1
    finally:
        kind += 1  # hits 3
    return kind  # hits 3


def over_text(str text):
    total = 0
    for i, ch in enumerate(text):  # hits 5
        total += i  # hits 4
        note(ch)  # hits 4
    return total


def over_bytes(bytes data, bytearray more):
    total = 0
    for b in data:  # hits 4
        total += b  # hits 3
    for b in more:  # hits 4
        total += b  # hits 3
    return total


def over_view(int[:] view):
    cdef int v, total = 0
    for v in view:  # hits 5
        total += v  # hits 4
    for w in view[:2]:  # hits 3
        total += w  # hits 2
    return total


def over_pairs(a, b):
    for i, (p, q) in enumerate(zip(a, b), 1):  # hits 4
        note(p)  # hits 3
    for p in reversed(a):  # hits 4
        note(p)  # hits 3
    for p in (1, 2, 3):  # hits 4
        note(p)  # hits 3
    for i in reversed(range(4)):  # hits 5
        note(i)  # hits 4


def over_set(set items, dict pairs):
    for item in items:  # hits 3
        note(item)  # hits 2
    for key in pairs:  # hits 3
        if key == 1:  # hits 2
            continue  # hits 1
        note(key)  # hits 1
    for value in pairs.values():  # hits 1
        break  # hits 1


def over_array():
    cdef int[3] three = [1, 2, 3]  # hits 1
    cdef int total = 0
    for v in three:  # hits 4
        total += v  # hits 3
    for v in three[:2]:  # hits 3
        total += v  # hits 2
    return total


def one_line_loops(list items, int n):
    total = 0
    for item in items: total += item  # hits 4
    while n > 0: n -= 1  # hits 4
    if total: total += 1; n = 2  # hits 1
    return total


def condition(a, b, c):
    if (a and  # hits 3
            b):  # hits 2
        return 1  # hits 1
    elif (c or  # hits 2
            note()):  # hits 1
        return 2  # hits 1
    return 3  # hits 1


def smallest(int a, int b):
    c = max(  # hits 2
        a,
        b)
    d = min(c,  # hits 2
            3)
    return abs(  # hits 2
        d)


def several_lines(a):
    b = note(  # hits 1
        note(a)  # hits 1
    )
    c = [  # hits 1
        note(1),  # hits 1
        note(2),  # hits 1
    ]
    d = {"a": note(3),  # hits 1
         "b": note(4)}  # hits 1
    return (note(b) if c  # hits 1
            else note(d))  # hits 0


def switched(int n):
    if n == 1:  # hits 6
        return 10  # hits 1
    elif n == 2 or n == 3:  # hits 5
        return 20  # hits 2
    elif n == 4:  # hits 3
        n = 5  # hits 1
    elif n == 5: n = 6  # hits 2
    else:
        n = 7  # hits 1
    return n  # hits 3


def switched_open(int n):
    if n == 1:  # hits 3
        n = 10  # hits 1
    elif n == 2:  # hits 2
        n = 20  # hits 1
    return n  # hits 3


def chained(n):
    if n == "a":  # hits 3
        return 1  # hits 1
    elif n == "b":  # hits 2
        return 2  # hits 1
    elif n == "c":  # hits 1
        return 3  # hits 1


cdef class Shape:
    cpdef int size(self): return 1  # hits 3

    cpdef int sides(self):
        return 2  # hits 2

    def ask(self): return self.size() + self.sides()  # hits 3


def left_prange(int n):
    cdef int i, found = -1
    for i in prange(n, nogil=True, num_threads=1, schedule="static"):  # hits 4
        if i == 3:  # hits 4
            break  # hits 1
    return i


def with_else(int n):
    cdef int i, total = 0
    for i in prange(n, nogil=True, num_threads=2):  # hits 11
        total += i  # hits 10
    else:
        total += 1  # hits 1
    return total


def spread_generator(items):
    return list(  # hits 1
        item * 2  # hits 3
        for item in items  # hits 4
    )


def one_line_generators(items):
    a = sum(item * 2 for item in items)  # hits 1
    b = list(item for item in items if item)  # hits 1
    c = sorted(item for item in items)  # hits 1
    d = any(item > 2 for item in items)  # hits 1
    return a, b, c, d  # hits 1


def comprehensions(items):
    a = {item: 1 for item in items}  # hits 1
    b = {item for item in items}  # hits 1
    return {k: v for k, v in a.items()}, [  # hits 1
        j for j in items  # hits 1
    ], b


def filtered(items):
    return [
        item  # hits 2
        for item in items  # hits 4
        if item > 1  # hits 3
    ]


def managers(context):
    with context, context as c:  # hits 1
        note(c)  # hits 1
    with (context,  # hits 1
            context as d):  # hits 1
        note(d)  # hits 1
    with context:  # hits 1
        return note(1)  # hits 1


def raising_manager(context):
    try:  # hits 1
        with context:  # hits 1
            raise KeyError  # hits 1
    except KeyError: note()  # hits 1


def without_gil(int n):
    cdef int i, total = 0
    with nogil:  # hits 2
        if n < 0:  # hits 2
            with gil:  # hits 1
                note()  # hits 1
        for i in range(n):  # hits 5
            total += 1  # hits 3
    return total  # hits 2


def assertions(a):
    assert a, "no"  # hits 1
    assert note(  # hits 1
        a)
    del a  # hits 1
    global seven
    pass  # hits 1
    import os, sys  # hits 1
    from os import (path,  # hits 1
                    sep)
    first, second = 1, 2  # hits 1
    first = second = note(3)  # hits 1
    first += 1  # hits 1
    return first  # hits 1


def closures(int n):
    def inner(y): return y + n  # hits 3
    square = lambda z: z * z  # hits 3

    @decorated  # hits 1
    def marked():
        return 1  # hits 1
    class Local:  # hits 1
        attribute = 3  # hits 1

        def method(self):  # hits 1
            return self.attribute  # hits 1
    return inner(1) + inner(2) + square(2) + square(3) + marked() + Local().method()  # hits 1


def decorated(function):
    return function  # hits 1


def empty(): pass  # hits 2


pass


cdef extern from "math.h" nogil:
    double floor(double)
    pass
    double ceil(double)


cdef class Passing:
    """Where `pass` stands beside declarations, it is none of the program's statements."""
    pass
    cdef int size
    pass

    def __cinit__(self):
        pass  # hits 1
        self.size = 2  # hits 1
        pass  # hits 1

    def get(self):
        """Returns the size."""
        pass  # hits 1
        return self.size; pass  # hits 1


cdef double rounded(double x) noexcept nogil:
    pass  # hits 2
    return floor(x)  # hits 2


def generator_passing():
    pass  # hits 1
    yield 1  # hits 1
    pass  # hits 1


def passing(int n):
    class Local:  # hits 1
        pass  # hits 1
        size = 1  # hits 1
        pass  # hits 1
    cdef int i, total = 0  # hits 1
    pass  # hits 1
    for i in range(n):  # hits 5
        pass  # hits 4
        total += i; pass  # hits 4
        if total > 3:  # hits 4
            pass  # hits 1
            pass  # hits 1
        else:
            pass  # hits 3
            total += 0  # hits 3
            continue; pass  # hits 3
        pass  # hits 1
    else:
        pass  # hits 1
        total += 1  # hits 1
    try:  # hits 1
        pass  # hits 1
        total += <int>rounded(2.5)  # hits 1
    except ValueError:
        pass
        total = 0
    finally:
        pass  # hits 1
        total += 1  # hits 1
    with nogil:  # hits 1
        pass  # hits 1
        total += <int>rounded(1.5)  # hits 1
    return total  # hits 1
    pass


class Sketch:
    def size(self): ...  # hits 2

    def wide(self):
        ...  # hits 1

    def told(self):
        """A docstring is no statement."""
        ...  # hits 1


def without_effect(int n, x):
    n  # hits 1
    x  # hits 1
    ...  # hits 1
    3  # hits 1
    "text"  # hits 1
    None  # hits 1
    print() if 0 else None  # hits 1
    n if n else 2  # hits 1
    (1, 2)  # hits 1
    n + 1  # hits 1
    x.y if x else 4  # hits 1
    for i in range(3):  # hits 4
        ...  # hits 3
    if n:  # hits 1
        x  # hits 1
    return n  # hits 1


def matched(value):
    match value:  # hits 7
        case 1:  # hits 7
            return "one"  # hits 1
        case 2 | 3:  # hits 6
            return "two"  # hits 1
        case [a]:  # hits 5
            return a  # hits 1
        case [a, b] if a:  # hits 4
            return b  # hits 1
        case {"k": v}:  # hits 3
            return v  # hits 1
        case str():  # hits 2
            return "text"  # hits 1
        case _:  # hits 1
            return None  # hits 1


def matched_ints(int value):
    match value:  # hits 3
        case 1:  # hits 3
            value = 10  # hits 1
        case 2:  # hits 2
            value = 20  # hits 1
        case 3:  # hits 1
            value = 30  # hits 1
    return value  # hits 3


async def awaited(n):
    total = 0  # hits 1
    async for value in counting(n):  # hits 4
        total += value  # hits 3
    async with Manager():  # hits 1
        total += await later(3)  # hits 1
    return [  # hits 1
        value  # hits 2
        async for value in counting(2)  # hits 3
    ]


async def counting(n):
    for i in range(n):  # hits 7
        yield i  # hits 5


async def later(n):
    return n  # hits 1


class Manager:
    async def __aenter__(self): return self  # hits 2
    async def __aexit__(self, *details): return None  # hits 2


def delegating(n):
    yield from range(n)  # hits 1
    value = yield n  # hits 1
    return value  # hits 1


def raising_items(dict d):
    for key, value in d.items():  # hits 1
        pass


def raising_keys(d):
    for key in d.keys():  # hits 1
        pass
    for key in sorted(d):
        pass


def raising_enumerate(d):
    for i, key in enumerate(d):  # hits 1
        pass
