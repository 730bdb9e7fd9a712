#!/bin/sh
# other_pythons.sh PYTHON DIGITS: runs the tests that depend on the Python version under every Python found but PYTHON, which
# has run them all. DIGITS is the requirement of the package that holds the digits; only its data is read.
set -e
tested=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for python in $(sh tests/pythons.sh); do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [ "$version" = "$tested" ] && continue
    [ "$version" = 3.14 ] && continue
    venv=.venv-$version
    echo "== Python $version: the tests marked as depending on it"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --upgrade --force-reinstall --no-deps .
    "$venv/bin/python" -m pip install --quiet '.[test]'
    "$venv/bin/python" -m pip install --quiet --no-deps "$2"
    "$venv/bin/pytest" -n 2 --dist loadfile --no-loadscope-reorder -m every_python
done
