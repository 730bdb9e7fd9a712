#!/bin/sh
# Prints the path of every usable Python from 3.14 down to 3.11, one a line, one of each version: those on the PATH, then pyenv's.
for version in 3.13 3.12 3.11 3.14; do
    for python in "$(command -v python$version 2>/dev/null)" "$(command -v python3 2>/dev/null)" \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/$version.*/bin/python; do
        [ -x "$python" ] || continue
        # A pyenv shim answers for a version that is not selected by failing.
        found=$("$python" -c 'import sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        [ "$found" = "$version" ] || continue
        echo "$("$python" -c 'import sys; print(sys.executable)')"
        break
    done
done
