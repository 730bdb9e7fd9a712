# cython: language_level=3
# What Cython's own tracing gets wrong, for the stock profilers.
cimport cython


cdef class Countdown:
    cdef int left

    def __init__(self, left):
        self.left = left

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


cdef class Base:
    cpdef int size(self):
        return 1

    def ask(self):
        return self.size()


cdef class Derived(Base):
    cpdef int size(self):
        return Base.size(self) + 1


cpdef int double(int x):
    cdef int y = x
    return 2 * y


def plain(x):
    y = x
    return y


@cython.profile(False)
def excluded(x):
    y = x
    return y


def caller():
    Derived().ask()
    return excluded(1)


def steps(n):
    for i in range(n):
        yield i


def closed_early():
    steps(3).close()
    running = steps(3)
    next(running)
    try:
        running.throw(KeyError("thrown"))
    except KeyError as error:
        return error.args[0]
