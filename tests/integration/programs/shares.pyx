# cython: language_level=3, cdivision=True
# Lines of one, three and four steps that each wait for the one before: their shares are their numbers of steps. Divisions are
# long enough (about ten ns a step) that a processor which runs instructions ahead does not blur the lines.
def chain(long n):
    cdef double x = 1
    cdef long i
    for i in range(n):
        x = 1 / (1 + 1 / (x + 1))
        x = 1 / (1 + 1 / (x + 1)); x = 1 / (1 + 1 / (x + 1)); x = 1 / (1 + 1 / (x + 1))
        x = 1 / (1 + 1 / (x + 1)); x = 1 / (1 + 1 / (x + 1)); x = 1 / (1 + 1 / (x + 1)); x = 1 / (1 + 1 / (x + 1))
    return x


def managed(manager):
    with manager:
        x = 1
    return x


cdef extern from "unistd.h" nogil:
    int usleep(unsigned int)


def spread(sleep):
    for i in range(20):
        sleep(
            0.001 *
            1)
        if usleep(
                1000 +
                i):
            break
        sleep(*[
            0.001],
            **{})
