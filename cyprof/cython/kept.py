"""Lines of the source that Cython loses before it writes any code: tests whose outcome it knows, beginnings of assignments, a
`pass` beside other statements, expressions without effect (`...`).
"""

from __future__ import annotations

from typing import Any

from .nodes import nodes_below, wrap_method


def install() -> None:
    """Patches the transforms of Cython in this process."""
    from Cython.Compiler import Nodes, Optimize, ParseTreeTransforms

    # The parser is compiled, and looks the class up in its module each time.
    Nodes.PassStatNode = _dropped_nodes(Nodes.PassStatNode)
    wrap_method(ParseTreeTransforms.PostParse, "_visit_assignment_node", _assignment)
    for cls in (Optimize.ConstantFolding, Optimize.OptimizeBuiltinCalls):
        wrap_method(cls, "visit_ExprStatNode", _expression)
    wrap_method(Optimize.ConstantFolding, "visit_IfStatNode", _if)
    for name in ("visit_AssertStatNode", "visit_ForInStatNode", "visit_WhileStatNode"):
        # Cython leaves out assertions from 3.3 on.
        if hasattr(Optimize.ConstantFolding, name):
            wrap_method(Optimize.ConstantFolding, name, _folded)
    wrap_method(Optimize.ConstantFolding, "visit_ComprehensionNode", _comprehension)


def _dropped_nodes(original: type) -> type:
    """The class that stands for Cython's class of `pass` nodes: its parser drops each statement of a list that is an instance
    of it. What was written as `pass` is made an instance of the original class alone, and stays. At the left margin, in a
    module's own code, which has no line probes, it is dropped as ever."""

    def new(cls: Any, pos: Any = None, **values: Any) -> Any:
        # A copy is made without a position.
        return original(pos, **values) if pos and _stands_at(pos, "pass") else object.__new__(cls)

    return type(original.__name__, (original,), {"__new__": new})


def _stands_at(pos: Any, word: str) -> bool:
    """Whether `word` stands indented at a position of a file. Cython has `pass` nodes for `DEF` and an empty `IF` too."""
    from Cython.Compiler.Scanning import FileSourceDescriptor

    source, line, column = pos
    if not column or not isinstance(source, FileSourceDescriptor):
        return False
    return bool(source.get_lines()[line - 1].startswith(word, column))


def _assignment(original: Any, transform: Any, node: Any, parts: list[Any]) -> Any:
    """Cython puts an assignment where its right side begins, which may be lines below its target."""
    from Cython.Compiler import Nodes

    written = original(transform, node, parts)
    target = parts[0]
    begin = min((below.pos for below in nodes_below(target)), key=lambda pos: pos[1:], default=target.pos)
    begin = min(begin, target.pos, key=lambda pos: pos[1:])
    for below in (written, *nodes_below(written)):
        if isinstance(below, Nodes.AssignmentNode):
            below.pos = begin
    return written


def _expression(original: Any, transform: Any, node: Any) -> Any:
    """An expression that does nothing is left out."""
    return original(transform, node) or _after([node.pos], None)


def _folded(original: Any, transform: Any, node: Any) -> Any:
    """A statement that is left out (`while 0`, `assert 1`, `for x in ()`) is reached all the same."""
    written = original(transform, node)
    return written if written is node or getattr(node, "cyprof_comprehension", False) else _after([node.pos], written)


def _comprehension(original: Any, transform: Any, node: Any) -> Any:
    """The loop of a comprehension is no statement, and Cython looks whether it was left out."""
    node.loop.cyprof_comprehension = True
    return original(transform, node)


def _if(original: Any, transform: Any, node: Any) -> Any:
    """So are tests that are left out: `if 0`, or `if number is int` of a fused type."""
    clauses = list(node.if_clauses)
    written = original(transform, node)
    kept = node.if_clauses if written is node else []
    left_out: list[Any] = []
    for clause in clauses:
        if clause in kept:
            clause.cyprof_tested = [*left_out, *getattr(clause, "cyprof_tested", ())]
            left_out = []
        else:
            # The first one stands on the line of the statement.
            if clause is not clauses[0] or written is not node:
                left_out.append(clause.pos)
            if clause.condition.constant_result:
                break
    if left_out and written is node:
        node.else_clause = _after(left_out, node.else_clause)
        return node
    return _after(left_out, written) if left_out else written


def _after(tests: list[Any], statement: Any) -> Any:
    """`statement`, with what was tested before it."""
    from Cython.Compiler import Nodes

    stats = [Nodes.PassStatNode(pos) for pos in tests]
    return Nodes.StatListNode(tests[0], stats=[*stats, statement] if statement else stats)
