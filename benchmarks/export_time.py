"""How long each export of a large profile takes, and reading a pstats file of that size.

    python benchmarks/export_time.py [NODES]

Profiles of NODES (50,000) tree nodes in 2,000 functions: `program` is some 15 calls deep, `deep` some 200.
Nothing derived from a profile is kept from one format to the next. Seconds are of the processor.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from cyprof import render
from cyprof.model import NO_PARENT, CallTree, Function, LineRecords, Profile, Run, Thread
from cyprof.store import load
from cyprof.view import ViewOptions

FUNCTIONS = 2_000
FORMATS = (".prof", ".callgrind", ".speedscope.json", ".collapsed", ".pb.gz", ".json", ".lprof")


def made(nodes: int, deepest: int) -> Profile:
    """A random program, the same each time."""
    choose = random.Random(1)
    files = [f"/home/user/package/module{number}.pyx" for number in range(FUNCTIONS // 40)]
    functions = [
        Function(
            n, f"package.module{n // 40}", f"Class{n % 7}.method_{n}", files[n // 40], 10 * (n % 40) + 1, "def", False, "cython"
        )
        for n in range(FUNCTIONS)
    ]
    tree, lines, depth = CallTree(), LineRecords(), []
    for node in range(nodes):
        parent = node - 1
        if node and (depth[parent] >= deepest or choose.random() * deepest < 1):
            parent = choose.randrange(node)
        function = choose.randrange(FUNCTIONS)
        line = functions[tree.function[parent]].line + 2 if parent != NO_PARENT else 0
        tree.add(parent, function, calls=choose.randrange(1, 1000), self_ns=choose.randrange(1_000_000), call_line=line)
        depth.append(depth[parent] + 1 if parent != NO_PARENT else 0)
        for offset in (1, 2):
            lines.add(node, function // 40, functions[function].line + offset, 7, 1000)
    run = Run("large.py", wall_ns=sum(tree.self_ns), with_lines=True)
    return Profile(run, functions, tree, lines, files, [Thread(0, "MainThread")])


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        for name, deepest in (("program", 15), ("deep", 200)):
            profile = made(nodes, deepest)
            for suffix in FORMATS:
                fresh = replace(profile)
                start = time.process_time()
                path = render.write(fresh, Path(folder, f"out{suffix}"), ViewOptions(), "export")
                spent = time.process_time() - start
                print(f"{name:<8} {nodes:,} nodes  {suffix:<16} {spent:6.2f} s  {path.stat().st_size / 1e6:8.2f} MB")
            start = time.process_time()
            edges = len(load(Path(folder, "out.prof")).edges)
            print(f"{name:<8} reading .prof, {edges:,} edges: {time.process_time() - start:.2f} s")


if __name__ == "__main__":
    main()
