"""Patches of Cython's code generator that the probes need.

Only classes that Cython ships as plain Python are touched (Nodes, ModuleNode); the code writer is compiled in its
wheels and cannot be. Each patch calls the original and writes around it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from .names import keep_enclosing, qualified_name, source_path
from .report import ModuleReport

_SWITCHED_OFF = {
    "reason": "switched off by @cython.profile(False); its time is its caller's",
    "hint": "remove the decorator to see the function by itself",
}
KINDS = {"def": "CYP_KIND_DEF", "cpdef": "CYP_KIND_CPDEF", "cdef": "CYP_KIND_CDEF"}


class NodePatches:
    """The patches of one process. `report` is that of the module being compiled; `probed` decides for a function's
    qualified name and module whether it gets probes, `lined` whether it gets line probes too. `marked` says whether the
    probes' own marks are written into the C. Functions of the kinds in `passed_over` get nothing."""

    def __init__(
        self,
        probed: Callable[[str, str], bool],
        lined: Callable[[str, str], bool],
        marked: bool = True,
        passed_over: tuple[str, ...] = (),
    ) -> None:
        self.report: ModuleReport | None = None
        self._probed = probed
        self._lined = lined
        self._marked = marked
        self._passed_over = passed_over

    def install(self) -> None:
        """Patches Cython's node classes in this process."""
        from Cython.Compiler import ModuleNode, Nodes

        for cls in (Nodes.FuncDefNode, Nodes.GeneratorBodyDefNode):
            wrap_method(cls, "generate_function_definitions", self._function)
        wrap_method(Nodes.GeneratorDefNode, "__init__", self._generator)
        wrap_method(Nodes.PyClassDefNode, "create_scope", keep_enclosing)
        wrap_method(ModuleNode.ModuleNode, "generate_filename_table", self._file_table)
        if not self._marked:
            return
        for cls in (Nodes.CFuncDefNode, Nodes.DefNode, Nodes.GeneratorBodyDefNode):
            wrap_method(cls, "generate_function_header", self._header)
        wrap_method(Nodes.ParallelStatNode, "begin_parallel_block", self._parallel)
        wrap_method(Nodes.OverrideCheckNode, "generate_execution_code", self._override_check)

    # ---- functions

    def _function(self, original: Any, node: Any, env: Any, code: Any) -> None:
        directives = code.globalstate.directives
        if self.report is None:
            # A module without probes may take in functions of a .pxd that is compiled with them elsewhere.
            with _directives(code.globalstate, profile=False, linetrace=False):
                original(node, env, code)
            return
        wanted, lined = self._wanted(node, env, directives)
        node.cyprof_probed = wanted
        with _directives(code.globalstate, profile=wanted, linetrace=wanted and lined):
            original(node, env, code)

    def _wanted(self, node: Any, env: Any, directives: Any) -> tuple[bool, bool]:
        """Whether a function gets probes, and line probes. Notes in the report what it finds."""
        assert self.report is not None
        if _is_machinery(node):
            return False, False
        name = qualified_name(node, env)
        description = describe(node, name)
        if not directives["profile"]:
            if not getattr(node, "is_generator", False):
                self.report.unseen.append({**_place(description), **_SWITCHED_OFF})
            return False, False
        if description["kind"] in self._passed_over or not self._probed(self.report.module, name):
            return False, False
        if not getattr(node, "is_generator", False):
            self.report.functions.append(description)
        return True, directives["linetrace"] and self._lined(self.report.module, name)

    def _header(self, original: Any, node: Any, code: Any, *args: Any, **options: Any) -> None:
        original(node, code, *args, **options)
        for_prototype = options.get("proto_only") or options.get("proto") or (len(args) > 1 and args[1] is True)
        if for_prototype or self.report is None or not getattr(node, "cyprof_probed", False):
            return
        description = describe(node, qualified_name(node, _scope_of(node)))
        flags = ["CYP_NOGIL"] if description["nogil"] else []
        if _propagates(node):
            flags.append("CYP_PROPAGATES")
        code.putln(
            f"CYP_FUNCTION({c_string(description['name'])}, {KINDS[description['kind']]}, {' | '.join(flags) or '0'}, "
            f"{code.lookup_filename(node.pos[0])}, {node.pos[1]})"
        )

    def _generator(self, original: Any, node: Any, *args: Any, **options: Any) -> None:
        original(node, *args, **options)
        node.gbody.cyprof_generator_of = node

    def _parallel(self, original: Any, node: Any, code: Any) -> None:
        if self.report is not None and code.is_tracing():
            code.putln("CYP_PARALLEL_WORKER")
        original(node, code)

    def _override_check(self, original: Any, node: Any, code: Any) -> None:
        if self.report is None or not code.is_tracing():
            original(node, code)
            return
        body = node.body
        node.body = Before(body, lambda code: code.putln("CYP_DISPATCHED;"))
        original(node, code)
        node.body = body

    # ---- the module

    def _file_table(self, original: Any, node: Any, code: Any) -> None:
        original(node, code)
        if self.report is None:
            return
        files = [source_path(descriptor) for descriptor in code.globalstate.filename_list]
        self.report.files = [file for file in files if not file.startswith("<")]
        if not self._marked:
            return
        code.putln(f"static const char cyp_module[] = {c_string(self.report.module)};")
        code.putln("static const char *const cyp_files[] = {")
        for file in files or [""]:
            code.putln(f"{c_string(file)},")
        code.putln("};")


class StandIn:
    """Stands for a node in code generation, and is that node in all that a subclass does not change."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def __getattr__(self, name: str) -> Any:
        # Copying asks an object for its dunder methods before it has a node.
        if name.startswith("__") or name == "_node":
            raise AttributeError(name)
        return getattr(self._node, name)


class Before(StandIn):
    """Writes something, then what the node writes."""

    def __init__(self, node: Any, write: Callable[[Any], None]) -> None:
        super().__init__(node)
        self._write = write

    def generate_execution_code(self, code: Any) -> None:
        """Writes the code."""
        self._write(code)
        self._node.generate_execution_code(code)


@contextmanager
def replaced(node: Any, **parts: Any) -> Iterator[None]:
    """Puts other parts in place of a node's while its code is written."""
    old = {name: getattr(node, name) for name in parts}
    for name, part in parts.items():
        setattr(node, name, part)
    yield
    for name, part in old.items():
        setattr(node, name, part)


def describe(node: Any, name: str) -> dict[str, Any]:
    """A function as the report lists it: {name, kind, file, line, nogil}."""
    return {
        "name": name,
        "kind": _kind(node),
        "file": source_path(node.pos[0]),
        "line": node.pos[1],
        "nogil": bool(getattr(getattr(node, "local_scope", None), "nogil", False)),
    }


def c_string(text: str) -> str:
    """`text` as a C string literal, whatever it holds."""
    return json.dumps(text, ensure_ascii=True) if text.isascii() and text.isprintable() else _octal_string(text)


def _octal_string(text: str) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def _kind(node: Any) -> str:
    if not hasattr(node, "overridable"):
        return "def"
    return "cpdef" if node.overridable else "cdef"


def _place(description: dict[str, Any]) -> dict[str, Any]:
    return {key: description[key] for key in ("name", "file", "line")}


def _scope_of(node: Any) -> Any:
    return node.local_scope.parent_scope


def _is_machinery(node: Any) -> bool:
    """Functions no author wrote: the Python wrapper of a cpdef function, the dispatcher of a fused one, helpers that
    Cython made up. What they do is their caller's time, and their callees are called by it."""
    if getattr(node, "is_wrapper", False) or getattr(node, "specialized_cpdefs", None):
        return True
    name = str(getattr(node, "name", "") or "")
    if name in ("__reduce_cython__", "__setstate_cython__", "__defaults__") or name.startswith("__pyx_unpickle_"):
        return True
    return not has_file(node)


def has_file(node: Any) -> bool:
    """Whether a node comes from a file: utility code written in Cython (memoryviews, say) and what it makes up do not."""
    return bool(getattr(node.pos[0], "filename", None))


def nodes_below(node: Any) -> Iterator[Any]:
    """All nodes that `node` is made of."""
    for attribute in node.child_attrs or ():
        children = getattr(node, attribute)
        for child in children if isinstance(children, list) else [children]:
            if child is not None:
                yield child
                yield from nodes_below(child)


def _propagates(node: Any) -> bool:
    """Whether an exception in the function reaches its caller."""
    if getattr(node, "is_generator_body", False):
        return True
    return bool(node.error_value() is not None or node.caller_will_check_exceptions())


@contextmanager
def _directives(globalstate: Any, **changes: bool) -> Iterator[None]:
    old = globalstate.directives
    globalstate.directives = {**old, **changes}
    yield
    globalstate.directives = old


def wrap_method(cls: Any, name: str, patch: Any) -> None:
    """Puts `patch(original, node, ...)` in place of a method of one of Cython's classes."""
    original = getattr(cls, name)

    @functools.wraps(original)
    def patched(node: Any, *args: Any, **options: Any) -> Any:
        return patch(original, node, *args, **options)

    setattr(cls, name, patched)


def name_matches(patterns: tuple[str, ...], module: str, name: str) -> bool:
    """Whether one of `patterns` (shell style) matches the name, or `module:name`."""
    return any(fnmatchcase(name, pattern) or fnmatchcase(f"{module}:{name}", pattern) for pattern in patterns)
