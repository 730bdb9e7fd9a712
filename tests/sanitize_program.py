"""What the runtime does, all of it in one program: tests/sanitize.py runs it under the sanitizers."""

import asyncio
import contextlib
import itertools
import os
import sys
import threading

import loops

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1


def count(n):
    return loops.nested(n) + loops.over_range(n)


def steps(n):
    for i in range(n):
        yield count(i)


def fails():
    raise ValueError(loops.while_loop(3))


def recur(n):
    return 0 if n == 0 else recur(n - 1) + count(1)


async def waits(n):
    for _ in range(n):
        await asyncio.sleep(0)
        count(2)


def unmet(number):
    names = {"count": count}
    exec(f"def f{number}(path):\n    return path[0](path[1:]) if path else count(1) + len(str(sorted([path])))\n", names)
    return names[f"f{number}"]


def work():
    for _ in range(rounds):
        list(steps(20))
        recur(50)
        for function in (fails, lambda: len(1), lambda: int("x")):
            with contextlib.suppress(ValueError, TypeError):
                function()
        for path in itertools.product([unmet(number) for number in range(3)], repeat=3):
            path[0](path[1:])


async def both():
    await asyncio.gather(waits(20), waits(20))


long_lived = [threading.Thread(target=work) for _ in range(4)]
for thread in long_lived:
    thread.start()
for _ in range(40 * rounds):
    thread = threading.Thread(target=count, args=(3,))
    thread.start()
    thread.join()
asyncio.run(both())
for thread in long_lived:
    thread.join()
for last in (lambda: os._exit(0), lambda: os.kill(os.getpid(), 15), lambda: None):
    child = os.fork()
    if not child:
        work()
        last()
        sys.exit()
    os.waitpid(child, 0)
sys.setprofile(lambda *_: None)
work()
sys.setprofile(None)
work()
