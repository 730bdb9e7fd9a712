"""Python functions, as their author counts their lines."""

import asyncio
import contextlib


def managed(context):
    with context as given:  # hits 1
        value = given  # hits 1
    with context, context:  # hits 1
        value = 2  # hits 1
    with contextlib.nullcontext(  # hits 1
        value
    ):
        value = 3  # hits 1
    with context:  # hits 1
        return value  # hits 1


def raising(context):
    for i in range(3):  # hits 4
        try:  # hits 3
            with context:  # hits 3
                if i:  # hits 3
                    raise KeyError  # hits 2
        except KeyError:  # hits 2
            continue  # hits 2


def loops(items):
    total = 0  # hits 1
    for item in items:  # hits 11
        if item == 3:  # hits 10
            continue  # hits 1
        total += item  # hits 9
    while total > 40:  # hits 3
        total -= 1  # hits 2
    return total  # hits 1


def expressions(items):
    a = [item + 1 for item in items]  # hits 1
    b = sum(item for item in items)  # hits 1
    c = {item + 1: item for item in items}  # hits 1
    return a, b, c, sorted(items, key=lambda x: -x)  # hits 11


async def awaiting(context):
    async with Manager():  # hits 1
        await asyncio.sleep(0)  # hits 1
    return 1  # hits 1


class Manager:
    async def __aenter__(self):
        return self  # hits 1

    async def __aexit__(self, *details):
        return None  # hits 1


managed(contextlib.nullcontext())
raising(contextlib.nullcontext())
loops(range(10))
expressions(range(10))
asyncio.run(awaiting(None))
