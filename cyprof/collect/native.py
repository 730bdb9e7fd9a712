"""Which functions of a foreign profile spend time in compiled code that the profiler did not see.

cProfile books to a Python function what it calls without an event: operators, types, numpy's ufuncs, Cython functions.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..model import Function, Profile

REMARK = "may hold unseen native code"
LEAST_SHARE = 0.01
"""Functions below this share of the profile's time are left alone."""
LEAST_NS = 100_000
"""So many ns of self time a call are beyond what interruptions of the process explain on the average."""
NS_PER_STEP = 2_000
"""A step of Python code (a node of its syntax tree) takes some tens of ns, a few hundred with cProfile's own cost."""

_LARGEST_SOURCE = 1 << 22
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension)
_OWN_FRAMES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def with_native_remarks(profile: Profile) -> Profile:
    """The profile with a remark on each Python function whose self time plainly is not its own.

    Plainly means: the function's source is there and has no loop and no comprehension, so a call executes each of its steps
    once at the most; and a call took more self time than 100 µs and 2 µs a step on the average, ten times what such steps
    take under cProfile. The rest was spent in compiled code that fired no event, or in waiting for the GIL. A function with a
    loop is never marked: its self time may be its own. Nor is one whose source does not lie where the profile says, or has
    no function of that name on that line.
    """
    least = max(LEAST_NS, LEAST_SHARE * profile.self_sum_ns)
    suspects: dict[str, list[Function]] = defaultdict(list)
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        if function.language == "python" and function.file.endswith(".py") and times.calls and times.self_ns >= least:
            suspects[function.file].append(function)
    remarks = {}
    for file, functions in suspects.items():
        steps = {(line, name): count for line, name, count in _straight_functions(Path(file))}
        for function in functions:
            times = profile.function_times[function.id]
            count = steps.get((function.line, function.name.rpartition(".")[2]))
            if count is not None and times.self_ns / times.calls > max(LEAST_NS, NS_PER_STEP * count):
                remarks[function.id] = REMARK
    return replace(profile, remarks=remarks)


def _straight_functions(path: Path) -> Iterator[tuple[int, str, int]]:
    """First line (a decorator's, where there is one), name and number of steps of each function without loops."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_SOURCE:
            return
        module = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return  # no source to judge by: the function is left unmarked, as documented
    for node in ast.walk(module):
        if isinstance(node, _Definition):
            steps = list(_steps(node))
            if not any(isinstance(step, _LOOPS) for step in steps):
                yield min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node.name, len(steps)


def _steps(function: _Definition) -> Iterator[ast.AST]:
    """The nodes of a function's own code, without those of functions in it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _OWN_FRAMES):
            stack.extend(ast.iter_child_nodes(node))
