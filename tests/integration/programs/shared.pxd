cdef inline int square(int x) noexcept nogil:
    cdef int y = x * x  # hits 30
    return y  # hits 30
