import asyncio
import threading

import flows
import numpy


def called_back(x):
    return x


def consume(n):
    return sum(value for value in flows.squares(n))


flows.survive(30)
flows.survive_nogil()
consume(10)
flows.take_failing()
flows.never_started()
asyncio.run(flows.climb(5))
threads = [threading.Thread(target=flows.burn_nogil, args=(100 * (k + 1),), name=f"worker-{k}") for k in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
flows.burn(50)
flows.call_numpy(numpy.ones(3), 20)
flows.call_methods({}, [3, 1], "a,b")
flows.call_back(called_back, 6)
