import os.path

import loops  # noqa: F401
import recursion  # noqa: F401

for _ in range(3):
    os.path.realpath(os.sep)
