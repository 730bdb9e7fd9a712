# Line 1 of the included file: its functions start
# further down than the file that includes it is long.
#
#
#
#
#
#
#
#
def part_step(int v):
    if v % 3 == 0:  # hits 30
        return v  # hits 10
    return 0  # hits 20
