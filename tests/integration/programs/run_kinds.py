import sys

import kinds


class Override(kinds.Base):
    def size(self):
        return super().size() + 1


sys.stderr = open(sys.argv[1], "w") if len(sys.argv) > 1 else sys.stderr  # where Cython prints the swallowed error
print(kinds.main()[-1])
Override(9).ask()
