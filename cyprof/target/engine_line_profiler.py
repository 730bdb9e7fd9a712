"""line_profiler in the process of the program, in the place of the probes' runtime: same calls, another recording.

line_profiler watches the functions it was handed, which are Python objects. It gets those of every module that cyprof built,
of the user's own Python modules when they are imported, and of the script.
"""

from __future__ import annotations

import ast
import builtins
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from line_profiler import LineProfiler

from cyprof.build import overlay

# line_profiler imports more of itself while it works, and would find what it had in part only.
KEEPS_MODULES = True
_MARK = "__cyprof_line_profiled__"

_profiler = LineProfiler()
_times = [0, 0, 0, 0]


def hide(prefix: str) -> None:
    """The probes leave out files of cyprof's; line_profiler is handed none of them."""


def start(clock: str, lines: bool, own: Callable[[str], bool] | None) -> None:
    """Watches imports from now on, for functions to hand over. `own` tells the user's own Python files."""
    del clock, lines
    sys.meta_path.insert(0, _Watch(own))
    _times[:2] = time.perf_counter_ns(), time.process_time_ns()


def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Runs the program under line_profiler."""
    file = namespace.get("__file__")
    if isinstance(file, str) and not file.endswith(".pyc") and namespace.get("__name__") == "__main__":
        code = _registering(code)
    setattr(builtins, _MARK, _handed_over)
    _profiler.enable_by_count()
    try:
        exec(code, namespace)
    finally:
        _profiler.disable_by_count()


def stop() -> dict[str, Any]:
    """What line_profiler recorded: `timings` as in its LineStats, times in units of `unit` seconds."""
    _times[2:] = time.perf_counter_ns(), time.process_time_ns()
    stats = _profiler.get_stats()
    return {
        "timings": {tuple(key): [tuple(row) for row in rows] for key, rows in stats.timings.items()},
        "unit": float(stats.unit),
        "wall_ns": _times[2] - _times[0],
        "cpu_ns": _times[3] - _times[1],
    }


def _handed_over(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _profiler.add_callable(function)
    return function


class _Decorate(ast.NodeTransformer):
    """Hands over each function of a module and of its classes, as it is when its own decorators get it.

    Functions inside functions are left out: line_profiler makes each one that is created anew longer than the last.
    """

    def visit_FunctionDef(self, node: Any) -> Any:
        """The function with one more decorator, the innermost."""
        mark = ast.copy_location(ast.Name(_MARK, ast.Load()), node)
        node.decorator_list.append(mark)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _registering(code: CodeType) -> CodeType:
    """The script's code, made anew so that its functions are handed over when they are defined."""
    with open(code.co_filename, "rb") as file:  # noqa: PTH123 - the program shall not find pathlib loaded by us
        tree = ast.parse(file.read(), code.co_filename)
    return compile(_Decorate().visit(tree), code.co_filename, "exec", dont_inherit=True)


class _Watch:
    """An import finder that asks the others and has each module's functions handed over once the module has run."""

    def __init__(self, own: Callable[[str], bool] | None) -> None:
        self._own = own

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """What the other finders say."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if self._wanted(spec):
                    self._watch(spec.loader)
                return spec  # type: ignore[no-any-return]
        return None

    def _wanted(self, spec: ModuleSpec) -> bool:
        if overlay.is_built(spec):
            return True
        return (
            type(spec.loader) is SourceFileLoader
            and isinstance(spec.origin, str)
            and bool(self._own and self._own(spec.origin))
        )

    @staticmethod
    def _watch(loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of functions that wrap another
                _profiler.add_module(module)

        loader.exec_module = exec_module
