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

    def loop(cls: Any, parts: Callable[[Any], dict[str, Any]], first: bool = False) -> None:
        def patch(original: Any, node: Any, code: Any) -> None:
            with statements.opened(node, code) as counts:
                if not counts:
                    original(node, code)
                    return
                mark_line(code, node.pos, first and not getattr(node, "cyprof_reached", False))
                with replaced(node, **parts(node)):
                    original(node, code)

        wrap_method(cls, "generate_execution_code", patch)

    for cls in (Nodes._ForInStatNode, Nodes.ForFromStatNode):
        loop(cls, lambda node: {"body": _Body(node.body, node.pos)}, first=True)

    def bound(original: Any, node: Any, code: Any) -> None:
        """A bound of a `range` that Python computes, which Cython does before the loop."""
        below = node.body
        while isinstance(below, UtilNodes.LetNode):
            below = below.body
        if not isinstance(below, (Nodes._ForInStatNode, Nodes.ForFromStatNode)):
            original(node, code)
            return
        with statements.opened(below, code) as counts:
            if counts and not getattr(below, "cyprof_reached", False):
                mark_line(code, below.pos, True)
                below.cyprof_reached = True
            original(node, code)

    wrap_method(UtilNodes.LetNode, "setup_temp_expr", bound)
    loop(Nodes.ParallelRangeNode, lambda node: {"body": _counted(node), "else_clause": _last_test(node)})
    loop(Nodes.WhileStatNode, _while)


def _counted(node: Any) -> Any:
    """The body of a loop, each round of which is a test of the loop's line."""
    return Before(node.body, lambda code: mark_line(code, node.pos, True))


def _last_test(node: Any) -> Any:
    """The `else` clause of a loop, which runs when the last test fails."""
    from Cython.Compiler import Nodes

    clause = node.else_clause or Nodes.StatListNode(node.pos, stats=[])
    return Before(clause, lambda code: mark_line(code, node.pos, True))


def _while(node: Any) -> dict[str, Any]:
    from Cython.Compiler import UtilNodes

    # A loop that Cython made of a `for` has no condition, or a flag, and is left from its body.
    if node.condition is None or isinstance(node.condition, UtilNodes.ResultRefNode):
        return {"body": _counted(node)}
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
