# cython: language_level=3
include "part.pxi"
from shared cimport square


def drive(int n):
    cdef int i, total = 0
    for i in range(n):  # hits 31
        total += part_step(i)  # hits 30
        total += square(i)  # hits 30
    return total  # hits 1
