# cython: language_level=3
# Recursion from two lines, and of two functions by each other.
cdef long fib(long n):
    if n < 2:  # hits 57313
        return n  # hits 28657
    cdef long a = fib(n - 1)  # hits 28656
    cdef long b = fib(n - 2)  # hits 28656
    return a + b  # hits 28656


cdef bint even(int n):
    if n == 0:  # hits 33
        return True  # hits 1
    return odd(n - 1)  # hits 32


cdef bint odd(int n):
    if n == 0:  # hits 32
        return False  # hits 0
    return even(n - 1)  # hits 32


def run():
    return fib(22), even(64)  # hits 1
