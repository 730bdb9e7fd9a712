"""Line probes of loops: a `for` or `while` line counts its tests, one a round, and the last when no `break` leaves the loop.

A `for` line is reached at the beginning and after each round, so that it counts too where what it goes through raises. Where
control comes back to the line of a loop without a new test, the line gets the time and no hit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nodes import Before, StandIn, replaced, wrap_method
from .statements import Statements, mark_line


def install(statements: Statements) -> None:
    """Patches the loop nodes of Cython in this process."""
    from Cython.Compiler import Nodes, UtilNodes

    def loop(cls: Any, parts: Callable[[Any], dict[str, Any]]) -> None:
        def patch(original: Any, node: Any, code: Any) -> None:
            with statements.opened(node, code) as counts:
                if not counts:
                    original(node, code)
                    return
                mark_line(code, node.pos, _is_reached_first(node) and not getattr(node, "cyprof_reached", False))
                with replaced(node, **parts(node)):
                    original(node, code)

        wrap_method(cls, "generate_execution_code", patch)

    def mark_before(node: Any, code: Any) -> None:
        if not getattr(node, "cyprof_reached", False):
            mark_line(code, node.pos, True)
            node.cyprof_reached = True

    def bound(original: Any, node: Any, code: Any) -> None:
        found = _loop_of_bound(node)
        if found is None:
            original(node, code)
            return
        with statements.opened(found, code) as counts:
            if counts:
                mark_before(found, code)
            original(node, code)

    def temporaries(original: Any, node: Any, code: Any) -> None:
        found = _loop_over_dict(node)
        if found is not None:
            with statements.opened(found, code) as counts:
                if counts:
                    mark_before(found, code)
        original(node, code)

    for cls in (Nodes._ForInStatNode, Nodes.ForFromStatNode):
        loop(cls, _for)
    loop(Nodes.ParallelRangeNode, lambda node: {"body": _counted(node), "else_clause": _last_test(node)})
    loop(Nodes.WhileStatNode, _while)
    wrap_method(UtilNodes.LetNode, "setup_temp_expr", bound)
    wrap_method(UtilNodes.TempsBlockNode, "generate_execution_code", temporaries)


def _is_reached_first(node: Any) -> bool:
    """Whether the line of a loop is reached before its first round, whatever that tests."""
    from Cython.Compiler import Nodes

    return isinstance(node, (Nodes._ForInStatNode, Nodes.ForFromStatNode)) or _has_no_condition(node)


def _counted(node: Any) -> Any:
    """The body of a loop, each round of which is a test of the loop's line."""
    return Before(node.body, lambda code: mark_line(code, node.pos, True))


def _last_test(node: Any) -> Any:
    """The `else` clause of a loop, which runs when the last test fails."""
    from Cython.Compiler import Nodes

    clause = node.else_clause or Nodes.StatListNode(node.pos, stats=[])
    return Before(clause, lambda code: mark_line(code, node.pos, True))


def _for(node: Any) -> dict[str, Any]:
    return {"body": _Body(node.body, node.pos)}


def _loop_of_bound(node: Any) -> Any:
    """The loop of a `range` with a bound that Python computes, which Cython does before the loop; else None."""
    from Cython.Compiler import Nodes, UtilNodes

    below = node.body
    while isinstance(below, UtilNodes.LetNode):
        below = below.body
    return below if isinstance(below, (Nodes._ForInStatNode, Nodes.ForFromStatNode)) else None


def _loop_over_dict(node: Any) -> Any:
    """The loop over a dict or set, which Cython gets hold of before the loop; else None."""
    from Cython.Compiler import Nodes

    last = (getattr(node.body, "stats", None) or [None])[-1]
    return last if isinstance(last, Nodes.WhileStatNode) and _has_no_condition(last) else None


def _has_no_condition(node: Any) -> bool:
    """Whether the loop was made of a `for`, and is left from its body, or is a `while True`."""
    return getattr(node, "condition", node) is None


def _while(node: Any) -> dict[str, Any]:
    from Cython.Compiler import UtilNodes

    if _has_no_condition(node):
        return _for(node)
    if isinstance(node.condition, UtilNodes.ResultRefNode):
        return {"body": _counted(node)}  # made of a `for`: a flag, and left from its body
    return {"condition": _Condition(node.condition, node.pos)}


class _Body(StandIn):
    """Stands for the body of a `for`: after each round, `continue` included, its line is reached again."""

    def __init__(self, body: Any, pos: Any) -> None:
        super().__init__(body)
        self._loop_pos = pos

    def generate_execution_code(self, code: Any) -> None:
        """Writes the code."""
        outer = code.continue_label
        code.continue_label = code.new_label("round_end")
        self._node.generate_execution_code(code)
        code.put_label(code.continue_label)
        code.continue_label = outer
        mark_line(code, self._loop_pos, True)


class _Condition(StandIn):
    """Stands for the condition of `while`: counts each test."""

    def __init__(self, condition: Any, pos: Any) -> None:
        super().__init__(condition)
        self._loop_pos = pos

    def generate_evaluation_code(self, code: Any) -> None:
        """Writes the code."""
        mark_line(code, self._loop_pos, True)
        self._node.generate_evaluation_code(code)
