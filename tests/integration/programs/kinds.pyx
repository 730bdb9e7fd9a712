# cython: language_level=3, profile=False
# Functions of every kind. A comment "hits N" tells how often its line is reached by run_kinds.py.
cimport cython

ctypedef fused number:
    int
    double


cdef inline double leaf(double x) noexcept nogil:
    return x * 0.5  # hits 3


cdef number twice(number x):
    return x + x  # hits 2


def fused(number x, list unused):
    return x + 1  # hits 2


cpdef int both(int x) except -1:
    if x > 5:  # hits 3
        raise ValueError(x)  # hits 1
    return x  # hits 2


cdef int swallowed(int x) noexcept:
    if x:  # hits 1
        raise ValueError(x)  # hits 1
    return 0  # hits 0


cdef class Base:
    cdef int value

    def __init__(self, value):
        self.value = value  # hits 3

    cpdef int size(self):
        return self.value  # hits 4

    @property
    def prop(self):
        return self.value  # hits 1

    @prop.setter
    def prop(self, value):
        self.value = value  # hits 1

    def __add__(self, other):
        return 3  # hits 1

    @staticmethod
    def fixed():
        return 4  # hits 1

    def ask(self):
        return self.size()  # hits 3


cdef class Derived(Base):
    cpdef int size(self):
        return Base.size(self) + 1  # hits 1


class Plain:
    def method(self):
        add = lambda z: z + 1  # hits 2
        return add(2)  # hits 1

    class Nested:
        class Deeper:
            def deep(self):
                return 3  # hits 1


@cython.profile(False)
def unprofiled(x):
    return leaf(x)  # hits 0


@cython.binding(True)
def bound(a, *args, key=None, **others):
    return len(args)  # hits 1


def make_scaler(double factor):
    def scale(double x):
        y = x * factor  # hits 4
        return y  # hits 4
    return scale  # hits 1


def one_line(x): return x  # hits 6


cdef long factorial(long n):
    if n < 2:  # hits 6
        return 1  # hits 1
    return n * factorial(n - 1)  # hits 5




def main():
    scale = make_scaler(2.0)
    results = [scale(i) for i in range(4)]
    both(1)
    both(2)
    try:
        both(7)
    except ValueError:
        pass
    base = Base(3)
    base.prop = 4
    base + base
    base.ask()
    derived = Derived(1)
    derived.ask()
    for i in range(5):
        one_line(i)
    leaf(1.0)
    leaf(2.0)
    swallowed(1)
    assigned_below(Plain())
    decided(1)
    decided(1.5)
    return (results, base.prop, Base.fixed(), Plain().method(), Plain.Nested.Deeper().deep(), fused(1, []), fused(1.5, []), twice(1), twice(<double>2.0),
            unprofiled(3.0), bound(1, 2, 3), factorial(6), base.size())


def decided(number x):
    if number is int:  # hits 2
        return x  # hits 1
    elif number is double:  # hits 1
        x += 1  # hits 1
    if 0:  # hits 1
        x = 1  # hits 0
    elif x > 9:  # hits 1
        x = 2  # hits 0
    elif not 1:  # hits 1
        x = 3  # hits 0
    elif x > 8:  # hits 1
        x = 4  # hits 0
    elif True:  # hits 1
        x = 5  # hits 1
    assert 1  # hits 1
    return x  # hits 1


def assigned_below(value):
    text = (  # hits 1
        "one"
        "two")
    first, second = (  # hits 1
        value, text)
    third = fourth = value.real = (  # hits 1
        first,
        second)
    return third, fourth  # hits 1
