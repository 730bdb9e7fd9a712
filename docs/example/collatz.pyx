# cython: language_level=3, cdivision=True

cdef long step(long n) noexcept nogil:
    if n % 2 == 0:
        return n // 2
    return 3 * n + 1


cdef length(n):
    steps = 0
    while n != 1:
        n = step(n)
        steps += 1
    return steps


def longest(long limit):
    best = 0
    for n in range(1, limit):
        best = max(best, length(n))
    return best
