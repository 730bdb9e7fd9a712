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
