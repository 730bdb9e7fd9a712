"""Takes out of a recording what cyprof's own files did in the program's process."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from .part import LINE_COLUMNS, NODE_COLUMNS


def without_own_calls(raw: dict[str, Any]) -> dict[str, Any]:
    """The recording without C functions that nothing called, and what hangs below them; functions left without a node go.

    Python functions of cyprof's files are hidden when they run, but not the C functions they call: those stand without a
    caller, which no C function of a program does. Most of it is `sys.excepthook`, which shows a traceback once the program
    has ended: a program's own hook is a Python function, and stays.
    """
    gone: set[int] = set()
    functions = raw["functions"]
    for node, (parent, function) in enumerate(zip(raw["parent"], raw["function"], strict=True)):
        if parent in gone or (parent < 0 and functions[function][6] == "c"):
            gone.add(node)
    return _without(raw, gone)


def only_below(raw: dict[str, Any], roots: Sequence[str], threads: Sequence[str]) -> dict[str, Any]:
    """The recording without what threads of certain names do elsewhere than in certain functions, and below them.

    `roots` are patterns of `module:name`, `threads` of names. Threads of which nothing is left go, too.
    """
    shut = {row[0] for row in raw["threads"] if any(fnmatchcase(row[1], pattern) for pattern in threads)}
    tops = {
        number
        for number, row in enumerate(raw["functions"])
        if any(fnmatchcase(f"{row[0]}:{row[1]}", pattern) for pattern in roots)
    }
    gone: set[int] = set()
    for node, (parent, function, thread) in enumerate(zip(raw["parent"], raw["function"], raw["thread"], strict=True)):
        if thread in shut and function not in tops and (parent < 0 or parent in gone):
            gone.add(node)
    left = _without(raw, gone)
    used = set(left["thread"])
    return left | {"threads": [row for row in raw["threads"] if row[0] in used or row[0] not in shut]}


def _without(raw: dict[str, Any], gone: set[int]) -> dict[str, Any]:
    """The recording without nodes; what was called by one of them stands without a caller."""
    if not gone:
        return raw
    kept = [node for node in range(len(raw["parent"])) if node not in gone]
    functions = raw["functions"]
    used = sorted({raw["function"][node] for node in kept})
    new_node = {-1: -1} | {node: index for index, node in enumerate(kept)}
    new_function = {function: index for index, function in enumerate(used)}
    columns = {name: [raw[name][node] for node in kept] for name in NODE_COLUMNS}
    columns["parent"] = [new_node.get(parent, -1) for parent in columns["parent"]]
    columns["function"] = [new_function[function] for function in columns["function"]]
    lines = [row for row in zip(*(raw[name] for name in LINE_COLUMNS), strict=True) if row[0] in new_node]
    columns |= {name: [row[index] for row in lines] for index, name in enumerate(LINE_COLUMNS)}
    columns["line_node"] = [new_node[node] for node in columns["line_node"]]
    return raw | columns | {"functions": [functions[function] for function in used]}
