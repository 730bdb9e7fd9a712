# cython: language_level=3, cdivision=True
# Lines of one, three and four steps that each wait for the one before: their shares are their numbers of steps.
def chain(long n):
    cdef unsigned long x = 1
    cdef long i
    for i in range(n):
        x = (x ^ (x >> 7)) * 636413623
        x = (x ^ (x >> 7)) * 636413623; x = (x ^ (x >> 7)) * 636413623; x = (x ^ (x >> 7)) * 636413623
        x = (x ^ (x >> 7)) * 636413623; x = (x ^ (x >> 7)) * 636413623; x = (x ^ (x >> 7)) * 636413623; x = (x ^ (x >> 7)) * 636413623
    return x
