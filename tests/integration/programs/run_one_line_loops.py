"""Loops of Python functions that stand on one line each, as their author counts them."""

import asyncio


def loops_on_one_line(items):
    total = 0  # hits 1
    for item in items: total += item  # hits 11
    for item in items: total += sum([x for x in (item, 1) if x])  # hits 11
    for item in items: (total := total + (1 if item % 2 else 2))  # hits 11
    for item in (): total += 1  # hits 1
    for item in items: break  # hits 1
    for item in items: continue  # hits 11
    for item in items: pass  # hits 11
    for item in items[:2]:  # hits 3
        for other in items[:3]: total += other  # hits 8
    else: total += 1  # hits 1
    a = [x for x in items if x % 2]; b = {x: y for x in a for y in a}  # hits 1
    return total, b  # hits 1


def rounds_on_one_line(n):
    for i in range(n - 1): return i  # hits 1
    while n > 9: return n  # hits 1
    try:  # hits 1
        while True: n = 6 // n - 6  # hits 2
    except ZeroDivisionError:  # hits 1
        n = 4  # hits 1
    while n: n = [m for m in (n - 1,) if True][0]  # hits 5
    return n  # hits 1


def whiles_on_one_line(n, nothing=None):
    while n > 1 and n < 5: n += 1  # hits 4
    while n > 9 or n: n -= 1  # hits 6
    while n: return n  # hits 1
    while nothing is None: nothing = 3  # hits 2
    while nothing is not None: nothing = nothing.bit_length() or None; break  # hits 1
    while not n: n = n + 1  # hits 2
    while (n := n + 1) < 5: continue  # hits 4
    while n: n = 0 if sum([x for x in range(3) if x]) == 3 else n  # hits 2
    while n + n < n + 2: n += 1  # hits 3
    while n > 9: n = 1  # hits 1
    while n < 300: n = (n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n)[0] + 100  # hits 4
    return n  # hits 1


async def awaiting_on_one_line(n):
    total = 0  # hits 1
    async for value in counted(n): total += value  # hits 4
    return total  # hits 1


async def counted(n):
    for i in range(n): yield i  # hits 4


def big(items):
    for item in items: a = b = c = d = e = f = g = h = i = j = (item, item, item, item, item + 1, item + 2, item + 3, item + 4, item + 5, item + 6, item + 7, item + 8, item + 9, item + 10, item + 11, item + 12, item + 13, item + 14, item + 15, item + 16, item + 17, item + 18, item + 19, item + 20, item + 21, item + 22, item + 23, item + 24, item + 25, item + 26, item + 27, item + 28, item + 29, item + 30, item + 31, item + 32, item + 33, item + 34, item + 35, item + 36, item + 37, item + 38, item + 39, item + 40)  # hits 11
    return a, b, c, d, e, f, g, h, i, j  # hits 1


loops_on_one_line(range(10))
rounds_on_one_line(1)
whiles_on_one_line(2)
asyncio.run(awaiting_on_one_line(3))
big(range(10))
