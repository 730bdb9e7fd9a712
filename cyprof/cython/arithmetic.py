"""Keeps arithmetic in its line: clang moves it across line probes, so that the time of one line would stand at another.

Around an assignment the C holds `CYP_HOLD(variable);` for the numbers it reads and the one it sets; see probe/cython.h for
what each compiler makes of it.
"""

from __future__ import annotations

from typing import Any

from .nodes import nodes_below, wrap_method
from .statements import traces


def install() -> None:
    """Patches the assignments of Cython in this process. Statements are patched after it, so that their line comes first."""
    from Cython.Compiler import Nodes

    for cls in (Nodes.AssignmentNode, Nodes.InPlaceAssignmentNode):
        wrap_method(cls, "generate_execution_code", _assignment)


def _assignment(original: Any, node: Any, code: Any) -> None:
    if not traces(code) or not hasattr(node, "lhs"):
        original(node, code)
        return
    read = _numbers([node.rhs, *nodes_below(node.rhs)])
    written = [] if node.rhs.is_literal else _numbers([node.lhs])
    _hold(code, read)
    original(node, code)
    _hold(code, written)


def _hold(code: Any, variables: list[str]) -> None:
    for variable in variables:
        code.putln(f"CYP_HOLD({variable});")


def _numbers(nodes: list[Any]) -> list[str]:
    """The C names of the local variables among `nodes` that hold a number, once each."""
    entries = [node.entry for node in nodes if getattr(node, "is_name", False) and node.entry is not None]
    return list(dict.fromkeys(entry.cname for entry in entries if _is_local_number(entry)))


def _is_local_number(entry: Any) -> bool:
    numeric = entry.type.is_int or entry.type.is_float
    return bool(numeric and entry.is_local and entry.used and not entry.in_closure and not entry.from_closure)
