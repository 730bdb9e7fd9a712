"""Line probes, fired as their author reads the lines.

Cython marks a line wherever it writes code for it: twice or more for one statement, in one copy of a `finally` clause and not
in another, for no line of a `switch` that it made of `elif`. Here the statements themselves say when they begin, once each:
those marks count. A statement that Cython made up stands on the line of the one it was made for, and is none of its own.
Cython's own marks only move the time to their line; text.py lets the first of them count for a later line of a statement that
spans several, which the author reads as reached when its part is.

What is written for text.py, which numbers it per function:
    __cyp_Line(LINE,FILE,1);        the line is reached, and time belongs to it
    __cyp_Line(LINE,FILE,0);        time belongs to it
    __cyp_Call(LINE,FILE);          so it does, and counts as a mark of Cython's would
    /*cyprof: open LINE FILE expression|block*/ and /*cyprof: close*/    around a statement; "block" when the lines below the
                                    first are other statements, so that no mark counts for them
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from .nodes import Before, StandIn, has_file, nodes_below, replaced, wrap_method
from .text import Place

# Statements that run nothing of their author's, or stand only for what is inside them.
_NOT_STATEMENTS = {
    *("StatNode", "CDefExternNode", "CStructOrUnionDefNode", "CppClassNode", "CEnumDefNode", "CTypeDefNode", "CFuncDefNode"),
    *("PropertyNode", "CPropertyNode", "GlobalNode", "NonlocalNode", "CImportStatNode", "FromCImportStatNode"),
    *("OverrideCheckNode", "GILExitNode", "EnsureGILNode", "CriticalSectionExitNode", "CythonLockExitNode"),
    *("CnameDecoratorNode", "StarExceptSetExceptionNode", "StarExceptTestSetupNode", "StarExceptPrepAndReraiseNode"),
    "SwitchCaseNode",
}
_LOOPS = {"_ForInStatNode", "ForInStatNode", "AsyncForStatNode", "ForFromStatNode", "ParallelRangeNode", "WhileStatNode"}
_BLOCKS = ("TryExceptStatNode", "TryFinallyStatNode")
# Cython 3.1 to 3.3.
_COMPREHENSION_METHOD = "generate_operation_code"


@dataclass
class _Open:
    """A statement whose code is being written. `silent`: what is inside counts for nothing."""

    node: Any
    place: Place
    silent: bool = False


@dataclass
class _List:
    """Statements of one indentation. `last`: where the one before began. `loop_lines`: what is there on the line of a loop is
    part of the loop, since no author can write anything before one on its line."""

    loop_lines: set[int]
    last: Place | None = None

    def makes_part(self, place: Place) -> bool:
        """Whether what begins there is no statement of its own. One that stands above the one before it was made by Cython
        (`__test__` at the end of a module)."""
        goes_back = self.last is not None and self.last[0] == place[0] and self.last[1] >= place[1]
        return goes_back or place[1] in self.loop_lines


def traces(code: Any) -> bool:
    """Whether line probes are wanted where `code` is being written."""
    return bool(code.funcstate and code.funcstate.can_trace and code.globalstate.directives["linetrace"])


def place_of(code: Any, pos: Any) -> Place:
    """Where a node stands."""
    return code.lookup_filename(pos[0]), pos[1]


def position(node: Any) -> Any:
    """The position of a statement, or of the element of a comprehension, whose own is that of the bracket."""
    element = getattr(node, "key_expr", None) or getattr(node, "expr", None)
    return element.pos if element is not None and "Append" in type(node).__name__ else node.pos


def mark_line(code: Any, pos: Any, counts: bool) -> None:
    """Writes a line probe. Cython then takes the line for marked, and does not mark it again at once."""
    code.mark_pos(pos, trace=False)
    file, line = place_of(code, pos)
    code.putln(f"__cyp_Line({line},{file},{int(counts)});")


class Statements:
    """The statements that are open where code is being written, and the patches that keep them."""

    def __init__(self) -> None:
        self._open: list[_Open | _List] = []

    def install(self) -> None:
        """Patches the statement nodes of Cython in this process."""
        from Cython.Compiler import ExprNodes, MatchCaseNodes, Nodes

        for cls in _statement_classes():
            patch = self._switch if cls is Nodes.SwitchStatNode else self._statement
            wrap_method(cls, "generate_execution_code", patch)
        wrap_method(Nodes.StatListNode, "generate_execution_code", self._list)
        for cls in _clause_classes():
            wrap_method(cls, "generate_execution_code", self._statement)
        wrap_method(Nodes.ExceptClauseNode, "generate_handling_code", self._statement)
        wrap_method(ExprNodes.ComprehensionNode, _COMPREHENSION_METHOD, self._comprehension)
        wrap_method(ExprNodes.GeneratorExpressionNode, "generate_evaluation_code", self._generator_made)
        wrap_method(ExprNodes.WithExitCallNode, "generate_evaluation_code", _exit_of_with)
        for cls in (ExprNodes.SimpleCallNode, ExprNodes.GeneralCallNode, ExprNodes.PyMethodCallNode):
            wrap_method(cls, "generate_evaluation_code", _call)
        wrap_method(Nodes.GeneratorBodyDefNode, "generate_function_definitions", self._generator)
        wrap_method(Nodes.OverrideCheckNode, "generate_execution_code", self._override_check)
        wrap_method(Nodes.CFuncDefNode, "generate_execution_code", self._c_function)
        if _compiles_match():
            wrap_method(MatchCaseNodes.MatchNode, "refactor_cases", _remember_cases)

    @contextmanager
    def opened(self, node: Any, code: Any, kind: str = "expression") -> Iterator[bool]:
        """Keeps a statement open while its code is written. Gives whether it counts, which it does not when it is part of
        a statement on its line."""
        if not traces(code) or not has_file(node):
            yield False
            return
        pos = position(node)
        place = place_of(code, pos)
        whole = self._whole(node, place)
        if whole:
            with self._pushed(whole):
                yield False
            return
        if self._open and isinstance(self._open[-1], _List):
            self._open[-1].last = place
        with self._pushed(_Open(node, place)):
            # Else Cython writes the mark of the line before it gets here.
            code.mark_pos(pos, trace=False)
            code.putln(f"/*cyprof: open {place[1]} {place[0]} {kind}*/")
            yield True
            code.putln("/*cyprof: close*/")

    def _whole(self, node: Any, place: Place) -> _Open | None:
        """What a statement is a part of, when it is none of its own."""
        around = [entry for entry in self._open if isinstance(entry, _Open)]
        innermost = around[-1] if around else _Open(None, (0, 0))
        above = self._open[-1] if self._open else None
        if innermost.silent or innermost.node is node or any(entry.place == place for entry in around):
            return _Open(node, innermost.place, innermost.silent)
        if is_loop(node):
            return None
        if isinstance(above, _List) and above.makes_part(place):
            return _Open(node, above.last or innermost.place)
        return _Open(node, innermost.place) if place[1] in _loop_lines(node, place[1]) else None

    @contextmanager
    def _pushed(self, entry: _Open | _List) -> Iterator[None]:
        self._open.append(entry)
        try:
            yield
        finally:
            self._open.pop()

    # ---- patches

    def _statement(self, original: Any, node: Any, code: Any, *args: Any, **options: Any) -> None:
        with self.opened(node, code, "block" if type(node).__name__ in _BLOCKS else "expression") as counts:
            if counts:
                _mark_all(code, [*getattr(node, "cyprof_tested", ()), position(node)])
            original(node, code, *args, **options)

    def _list(self, original: Any, node: Any, code: Any) -> None:
        case = getattr(node, "cyprof_case", None)
        if case is None:
            self._listed(original, node, code)
            return
        with self.opened(case, code) as counts:
            if counts:
                mark_line(code, case.pos, True)
            self._listed(original, node, code)

    def _listed(self, original: Any, node: Any, code: Any) -> None:
        loops = {line for stat in node.stats for line in _loop_lines(stat, stat.pos[1])}
        above = self._open[-1] if self._open else None
        if isinstance(above, _List):
            above.loop_lines |= loops
            original(node, code)
            return
        with self._pushed(_List(loops)):
            original(node, code)

    def _switch(self, original: Any, node: Any, code: Any) -> None:
        """An if/elif chain that became a `switch`: a case was reached through the tests of the cases above it."""
        with self.opened(node, code) as counts:
            if not counts:
                original(node, code)
                return
            mark_line(code, node.pos, True)
            with _replaced_cases(self, node):
                original(node, code)

    def _comprehension(self, original: Any, node: Any, code: Any) -> None:
        """The rounds of a comprehension that stands on one line are no hits of that line: the author wrote an expression."""
        if not traces(code) or not _is_on_one_line(node.loop):
            original(node, code)
            return
        place = place_of(code, node.loop.pos)
        with self.opened(node.loop, code) as counts:
            if counts:
                mark_line(code, node.loop.pos, True)
            with self._pushed(_Open(node, place, silent=True)):
                original(node, code)

    def _generator_made(self, original: Any, node: Any, code: Any) -> None:
        """The lines of a generator expression that spans several are reached when it runs, not when it is made."""
        body = getattr(node.def_node, "gbody", None)
        several = traces(code) and body is not None and not _is_on_one_line(body.body)
        code.putln(f"/*cyprof: open {node.pos[1]} {code.lookup_filename(node.pos[0])} block*/" if several else "")
        original(node, code)
        code.putln("/*cyprof: close*/" if several else "")

    def _override_check(self, original: Any, node: Any, code: Any) -> None:
        """What hands the call on to an override stands on the first line, which is not reached by that."""
        with self._pushed(_Open(node, (0, 0), silent=True)):
            original(node, code)

    def _c_function(self, original: Any, node: Any, code: Any) -> None:
        """A `cdef` function is there before its module's body runs, which does not reach its first line."""
        if node.overridable or not traces(code) or not has_file(node):
            original(node, code)
            return
        file, line = place_of(code, node.pos)
        code.mark_pos(node.pos, trace=False)
        code.putln(f"/*cyprof: open {line} {file} block*/")
        with self._pushed(_Open(node, (file, line), silent=True)):
            original(node, code)
        code.putln("/*cyprof: close*/")

    def _generator(self, original: Any, node: Any, env: Any, code: Any) -> None:
        """As with comprehensions, of generator expressions."""
        definition = getattr(node, "cyprof_generator_of", None)
        if not getattr(definition, "is_generator_expression", False) or not _is_on_one_line(node.body):
            original(node, env, code)
            return
        with self._pushed(_Open(node, (0, 0), silent=True)):
            original(node, env, code)


def _exit_of_with(original: Any, node: Any, code: Any) -> None:
    """Leaving a `with` block takes the time of the `with` line."""
    if traces(code) and has_file(node):
        mark_line(code, node.pos, False)
    original(node, code)


def _call(original: Any, node: Any, code: Any) -> None:
    """A call takes the time of its own line, also when its arguments stand on lines below, where Cython marks them last."""
    parts = list(node.subexpr_nodes()) if traces(code) else []
    if all(one.pos[1] <= node.pos[1] for part in parts for one in (part, *nodes_below(part))):
        original(node, code)
        return
    last = parts[-1]
    if last.is_sequence_constructor and last.args:
        # Of a tuple of arguments that is never made, each is evaluated by itself.
        last = last.args[-1]
    evaluate = last.generate_evaluation_code

    def evaluate_and_mark(code: Any) -> None:
        evaluate(code)
        code.mark_pos(node.pos, trace=False)
        file, line = place_of(code, node.pos)
        code.putln(f"__cyp_Call({line},{file});")

    with replaced(last, generate_evaluation_code=evaluate_and_mark):
        original(node, code)


def _remember_cases(original: Any, node: Any) -> None:
    """Cases that Cython turns into `if` and `else`: the `else` has no position of its own."""
    original(node)
    for case in node.cases:
        for clause in getattr(getattr(case, "body", None), "if_clauses", ()):
            clause.body.cyprof_case = clause


def _mark_all(code: Any, positions: list[Any]) -> None:
    for pos in positions:
        mark_line(code, pos, True)


class _Case(StandIn):
    """Stands for the body of a case: counts the tests that came before it."""

    def __init__(self, body: Any, statements: Statements, tested: list[Any]) -> None:
        super().__init__(body)
        self._statements = statements
        self._tested = tested

    def generate_execution_code(self, code: Any) -> None:
        """Writes the code."""
        _mark_all(code, [case.pos for case in self._tested[:-1]])
        with self._statements.opened(self._tested[-1], code) as counts:
            if counts:
                mark_line(code, self._tested[-1].pos, True)
            self._node.generate_execution_code(code)


@contextmanager
def _replaced_cases(statements: Statements, node: Any) -> Iterator[None]:
    from Cython.Compiler import Nodes

    lines = {node.pos[1]}
    tested: list[Any] = []
    bodies = []
    for case in node.cases:
        if case.pos[1] not in lines:
            lines.add(case.pos[1])
            tested.append(case)
        bodies.append(_Case(case.body, statements, list(tested)) if tested else case.body)
    clause = node.else_clause
    if tested:
        nothing = Nodes.StatListNode(node.pos, stats=[])
        clause = Before(clause or nothing, lambda code: _mark_all(code, [case.pos for case in tested]))
    with ExitStack() as stack:
        for case, body in zip(node.cases, bodies, strict=True):
            stack.enter_context(replaced(case, body=body))
        stack.enter_context(replaced(node, else_clause=clause))
        yield


def _statement_classes() -> list[Any]:
    """Cython's classes of statements that write code of their own, but for loops."""
    from Cython.Compiler import MatchCaseNodes, Nodes

    classes = [
        cls
        for module in (Nodes, MatchCaseNodes)
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and issubclass(cls, Nodes.StatNode)
    ]
    return [cls for cls in classes if "generate_execution_code" in vars(cls) and cls.__name__ not in _NOT_STATEMENTS | _LOOPS]


def _compiles_match() -> bool:
    """Whether this Cython can compile `match`, as from 3.3 on; before, it only parses it."""
    from Cython.Compiler import MatchCaseNodes

    return hasattr(MatchCaseNodes.MatchCaseNode, "generate_execution_code")


def _clause_classes() -> list[Any]:
    """What begins on a line of its own and is no statement: `elif`, `case`, and the element of a comprehension."""
    from Cython.Compiler import ExprNodes, MatchCaseNodes, Nodes

    elements = [ExprNodes.ComprehensionAppendNode, ExprNodes.DictComprehensionAppendNode]
    return [Nodes.IfClauseNode, *([MatchCaseNodes.MatchCaseNode] if _compiles_match() else []), *elements]


def is_loop(node: Any) -> bool:
    """Whether a node is a loop; loops.py says when its line counts."""
    return type(node).__name__ in _LOOPS


def _loop_lines(node: Any, line: int) -> set[int]:
    """The line, when the statement is a loop there or was made for one (`with nogil` for `prange`, say)."""
    if is_loop(node):
        return {node.pos[1]}
    if not hasattr(node, "stats") and node.pos[1] != line:
        return set()
    # Before 3.3 a loop over what is indexed was made the value of an expression.
    value = getattr(node, "expr", None)
    children = [*getattr(node, "stats", ()), getattr(node, "body", None), getattr(value, "body", None)]
    return {found for child in children if child is not None for found in _loop_lines(child, line)}


def _is_on_one_line(node: Any) -> bool:
    """Whether all nodes below `node` stand on its line."""
    return all(position(below)[1] == node.pos[1] for below in nodes_below(node))
