"""Line probes of loops, fired as their author reads them.

Cython marks `for x in y` once before the loop, once in each round and once after each round, `while` once before the loop
alone, and `with nogil` again on leaving. Here a `for` or `while` line counts its tests: one a round, and the last one when it
is not left by `break`; a `with` line counts once. Where control comes back to a line without a new test, the line gets the
time and no hit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nodes import Before, StandIn, wrap_method


def install() -> None:
    """Patches the loop and `with` nodes of Cython in this process."""
    from Cython.Compiler import ExprNodes, Nodes, UtilNodes

    wrap_method(Nodes._ForInStatNode, "generate_execution_code", _for_in)
    wrap_method(Nodes.ForFromStatNode, "generate_execution_code", _for_from)
    wrap_method(Nodes.WhileStatNode, "generate_execution_code", _while)
    wrap_method(Nodes.TryFinallyStatNode, "generate_execution_code", _try_finally)
    wrap_method(Nodes.PyClassDefNode, "generate_execution_code", _py_class)
    wrap_method(Nodes.ParallelRangeNode, "generate_loop", _prange)
    for cls in (UtilNodes.LetNode, UtilNodes.TempsBlockNode):
        wrap_method(cls, "generate_execution_code", _before_loop)
    wrap_method(ExprNodes.ComprehensionNode, _COMPREHENSION_METHOD, _comprehension)


# Cython 3.1 to 3.3.
_COMPREHENSION_METHOD = "generate_operation_code"


def _traces(code: Any) -> bool:
    return bool(code.funcstate and code.funcstate.can_trace and code.globalstate.directives["linetrace"])


def _at_line(code: Any, pos: Any) -> None:
    """From here on time belongs to `pos`; no hit. Cython then thinks the line marked, and does not mark it itself."""
    code.mark_pos(pos, trace=False)
    code.putln(f"__cyp_AtLine({pos[1]},0,0,{code.error_goto(pos)})")


def _count_line(code: Any, pos: Any) -> None:
    code.mark_pos(pos, trace=False)
    code.putln("")
    code.write_trace_line(pos)


class _Else(StandIn):
    """Stands for the `else` clause of a loop, which runs when the last test fails: counts that test first."""

    def __init__(self, clause: Any, pos: Any) -> None:
        super().__init__(clause)
        self.pos = clause.pos if clause is not None else pos
        self._loop_pos = pos

    def generate_execution_code(self, code: Any) -> None:
        """Writes the code."""
        _count_line(code, self._loop_pos)
        if self._node is not None:
            self._node.generate_execution_code(code)


class _Body(StandIn):
    """Stands for the body of `for x in y`: after each round, `continue` included, time belongs to the `for` line again."""

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
        # A last statement that writes no code (`pass`) is still to be marked.
        code.putln("")
        _at_line(code, self._loop_pos)


class _Condition(StandIn):
    """Stands for the condition of `while`: counts each test."""

    def __init__(self, condition: Any, pos: Any) -> None:
        super().__init__(condition)
        self._loop_pos = pos

    def generate_evaluation_code(self, code: Any) -> None:
        """Writes the code."""
        _count_line(code, self._loop_pos)
        self._node.generate_evaluation_code(code)


def _with_parts(node: Any, parts: dict[str, Any], generate: Callable[[], None]) -> None:
    old = {name: getattr(node, name) for name in parts}
    for name, part in parts.items():
        setattr(node, name, part)
    generate()
    for name, part in old.items():
        setattr(node, name, part)


def _for_in(original: Any, node: Any, code: Any) -> None:
    if not _traces(code):
        original(node, code)
        return
    _at_line(code, node.pos)
    parts = {"body": _Body(node.body, node.pos), "else_clause": _Else(node.else_clause, node.pos)}
    _with_parts(node, parts, lambda: original(node, code))


def _for_from(original: Any, node: Any, code: Any) -> None:
    if not _traces(code):
        original(node, code)
        return
    _at_line(code, node.pos)
    _with_parts(node, {"else_clause": _Else(node.else_clause, node.pos)}, lambda: original(node, code))


def _while(original: Any, node: Any, code: Any) -> None:
    if not _traces(code):
        original(node, code)
        return
    _at_line(code, node.pos)
    if node.condition is None:
        body = Before(node.body, lambda code: _count_line(code, node.pos))
        _with_parts(node, {"body": body}, lambda: original(node, code))
        return
    _with_parts(node, {"condition": _Condition(node.condition, node.pos)}, lambda: original(node, code))


class _Finally(Before):
    """Stands for a finally clause that no author wrote; without a position Cython does not mark its line."""

    pos = None


def _try_finally(original: Any, node: Any, code: Any) -> None:
    """`with` statements become try/finally whose finally clause stands on the `with` line."""
    clause = node.finally_clause
    if not _traces(code) or clause is None or clause.pos[:2] != node.pos[:2]:
        original(node, code)
        return
    finally_clause = _Finally(clause, lambda code: _at_line(code, clause.pos))
    _with_parts(node, {"finally_clause": finally_clause}, lambda: original(node, code))


def _prange(original: Any, node: Any, code: Any, *args: Any) -> None:
    """Each round counts where it runs; the mark before the loop stands for the last test."""
    if not _traces(code):
        original(node, code, *args)
        return
    body = Before(node.body, lambda code: _count_line(code, node.pos))
    _with_parts(node, {"body": body}, lambda: original(node, code, *args))


def _before_loop(original: Any, node: Any, code: Any) -> None:
    """What a loop needs computed first (`n` of `range(n)`) stands before it on its line, which is not yet reached by that."""
    inner = node
    while type(inner).__name__ in ("LetNode", "TempsBlockNode", "StatListNode"):
        inner = inner.stats[-1] if hasattr(inner, "stats") else inner.body
    loops = ("ForInStatNode", "ForFromStatNode", "WhileStatNode")
    if _traces(code) and type(inner).__name__ in loops and inner.pos[1] == node.pos[1]:
        _at_line(code, inner.pos)
    original(node, code)


def _py_class(original: Any, node: Any, code: Any) -> None:
    """A `class` line counts once, not again when the body has run and the class is made of it."""
    if not _traces(code):
        original(node, code)
        return
    _with_parts(node, {"body": _After(node.body, lambda code: _at_line(code, node.pos))}, lambda: original(node, code))


class _After(Before):
    """Writes what the node writes, then something."""

    def generate_execution_code(self, code: Any) -> None:
        """Writes the code."""
        self._node.generate_execution_code(code)
        self._write(code)


def _comprehension(original: Any, node: Any, code: Any) -> None:
    """The rounds of a comprehension that stands on one line are no hits of that line: the author wrote an expression."""
    if not _traces(code) or node.loop.pos[1] != node.pos[1]:
        original(node, code)
        return
    code.putln(f"/*cyprof: one line {node.pos[1]}*/")
    original(node, code)
    code.putln("/*cyprof: end of one line*/")
