"""Draws with the Graphviz inside pygraphviz's wheel, in a process of its own: a crash in it must not take cyprof along.

Usage: graphviz_child.py ENGINE FORMAT, the graph on stdin, the picture on stdout, Graphviz' own words on stderr.
Imports nothing of cyprof.
"""

from __future__ import annotations

import sys

from pygraphviz import graphviz


def main(engine: str, form: str) -> int:
    """Lays out and renders; returns the exit code."""
    try:
        graph = graphviz.agread(sys.stdin.buffer, None)
    except ValueError:  # Graphviz has said why
        return 1
    context = graphviz.gvContextWithBuiltins()
    if graphviz.gvLayout(context, graph, engine.encode()):
        return 1
    code, data = graphviz.gvRenderData(context, graph, form.encode())
    if code or not data:
        return 1
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
