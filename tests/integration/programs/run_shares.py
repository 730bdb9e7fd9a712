import time

import shares

shares.chain(10_000_000)


class Sleeper:
    def __enter__(self):
        time.sleep(0.02)

    def __exit__(self, *details):
        time.sleep(0.04)


shares.managed(Sleeper())

shares.spread(time.sleep)
