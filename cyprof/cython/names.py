"""From Cython's nodes and scopes to names as their author wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The names Cython gives to functions that have none.
_NAMELESS = {"lambda": "<lambda>", "genexpr": "<genexpr>"}
_FUSED_PREFIX = re.compile(r"^__pyx_fuse_[0-9_]+")


def qualified_name(node: Any, scope: Any) -> str:
    """The name of the function `node`, defined in `scope`: `f`, `Class.f`, `f.<locals>.g`, `f[double]`, `<lambda>`."""
    name = _own_name(node)
    if getattr(scope, "is_property_scope", False):
        # With a decorator the author named the property; `property x: def __get__` names the accessor.
        name = scope.name if not _written_as(node, name) else f"{scope.name}.{name}"
        scope = scope.parent_scope
    return ".".join([*_path(scope), name]) + _specialisation(node)


def _own_name(node: Any) -> str:
    if (generator := getattr(node, "cyprof_generator_of", None)) is not None:
        node = generator
    original = getattr(node, "cyprof_name", None) or getattr(node, "name", None)
    if original is None:
        declarator = node.declarator
        while not hasattr(declarator, "name"):
            declarator = declarator.base
        original = declarator.name
    # The specialisations of a fused def function carry their types already.
    plain = str(original).split("[")[0]
    return _NAMELESS.get(plain, plain)


def _written_as(node: Any, name: str) -> bool:
    """Whether the source line of `node` holds `name`."""
    lines = list(node.pos[0].get_lines())
    line = node.pos[1]
    return line <= len(lines) and f"def {name}" in " ".join(lines[line - 1].split())


def _path(scope: Any) -> list[str]:
    """The names of the classes and functions around a function defined in `scope`, outermost first."""
    parts: list[str] = []
    while scope is not None and not scope.is_module_scope:
        if any(getattr(scope, f"is_{kind}_class_scope", False) for kind in ("py", "c", "cpp")):
            parts.insert(0, str(getattr(scope, "class_name", scope.name)))
        elif getattr(scope, "is_closure_scope", False) or scope.is_local_scope:
            parts[:0] = [_function_of(scope), "<locals>"]
        scope = _around(scope)
    return parts


def keep_enclosing(original: Any, node: Any, env: Any) -> Any:
    """Patch of `PyClassDefNode.create_scope`. Cython sets the scope of a class in a class into what is around both."""
    scope = original(node, env)
    scope.cyprof_enclosing = env
    return scope


def _around(scope: Any) -> Any:
    """The scope around `scope`. Generator expressions and comprehensions have scopes of their own that name nothing."""
    enclosing = getattr(scope, "cyprof_enclosing", None) or getattr(scope, "parent_scope", None)
    return scope.outer_scope if enclosing is None else enclosing


def _function_of(scope: Any) -> str:
    name = _FUSED_PREFIX.sub("", str(scope.name))
    for nameless, shown in _NAMELESS.items():
        if name.rstrip("0123456789") == nameless:
            return shown
    return name


def _specialisation(node: Any) -> str:
    """`[double]` for the specialisation of a fused function, else nothing."""
    scope = getattr(node, "local_scope", None)
    types = getattr(scope, "fused_to_specific", None)
    if not types:
        return ""
    return "[" + ", ".join(str(specific.typeof_name()) for specific in types.values()) + "]"


def source_path(descriptor: Any) -> str:
    """The absolute path of a source, or its description in angle brackets when it is no file."""
    filename = getattr(descriptor, "filename", None)
    return shown_path(str(Path(filename).absolute())) if filename else f"<{descriptor.get_description()}>"


def shown_path(path: str) -> str:
    """The path under which a reader finds the source that is compiled as `path`."""
    return _shown(path)


def show_at(place: Callable[[str], str]) -> None:
    """Sets what `shown_path` does in this process: sources that are compiled in a scratch copy are shown elsewhere."""
    global _shown
    _shown = place


_shown: Callable[[str], str] = str
