import os.path

import loops
import recursion

for _ in range(3):
    os.path.realpath(os.sep)
print(loops.__name__, recursion.__name__)
