"""`python -m cyprof`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the current folder first, where the user's own modules lie: none of them shall stand in for one
        # that cyprof needs. An installed `cyprof` has the folder of programs in its place.
        sys.path[0] = sys.exec_prefix + "/bin"

    from cyprof.cli import main

    sys.exit(main())
