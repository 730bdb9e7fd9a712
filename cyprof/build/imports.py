"""The modules a source file imports, read from its text: Python by `ast`, Cython by a light scan of its own.

Nothing is imported or run. Imports in functions, `try` blocks and conditions count: each may happen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple


class Import(NamedTuple):
    """`from <level dots><module> import <names>`; a plain `import module` has no names. `("*",)` stands for a star."""

    module: str
    level: int = 0
    names: tuple[str, ...] = ()


def python_imports(text: bytes) -> list[Import]:
    """Every import of a Python source, `importlib.import_module("literal")` and `__import__("literal")` included.

    A source that is not valid Python has none: the program itself will say so, in its own words, when it gets there.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [Import(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(Import(node.module or "", node.level, tuple(alias.name for alias in node.names)))
        elif isinstance(node, ast.Call):
            found += _dynamic(node)
    return found


def star_names(text: bytes) -> tuple[str, ...]:
    """The names in a literal `__all__` of a Python source: what `from package import *` may import as submodules."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return ()
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            items = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else []
            return tuple(item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str))
    return ()


def _dynamic(call: ast.Call) -> Iterator[Import]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("import_module", "__import__") and call.args:
        first = call.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield _from_literal(first.value)


def _from_literal(name: str) -> Import:
    bare = name.lstrip(".")
    return Import(bare, len(name) - len(bare))


_PREFIX = r"[rRbBuUfFcC]{0,2}"
_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)"
    rf"|{_PREFIX}(?P<quote>'''|\"\"\")(?P<long>(?:[^\\]|\\.)*?)(?P=quote)"
    rf"|{_PREFIX}(?P<mark>['\"])(?P<short>(?:\\.|(?!(?P=mark))[^\\\n])*)(?P=mark)",
    re.DOTALL,
)
_START = r"(?:^|[;:])[ \t]*"
_FROM = re.compile(_START + r"from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+c?import\b[ \t]*(\([^)]*\)|[^\n;]+)", re.MULTILINE)
_IMPORT = re.compile(_START + r"c?import[ \t]+([\w. \t,]+)", re.MULTILINE)
_CALL = re.compile(r"\b(?:import_module|__import__)[ \t]*\([ \t\n]*<(\d+)>")
_INCLUDE = re.compile(_START + r"include[ \t]+<(\d+)>", re.MULTILINE)


def cython_imports(text: str) -> tuple[list[Import], list[str]]:
    """The imports and cimports of a Cython source, and the files it includes as text.

    A cimport counts as an import: the compiled code imports the module whose functions or classes it takes.
    """
    code, literals = _without_strings(text)
    found = [Import(module, len(dots), _names(names)) for dots, module, names in _FROM.findall(code)]
    for names in _IMPORT.findall(code):
        found += [Import(name) for name in _names(names)]
    found += [_from_literal(literals[int(index)]) for index in _CALL.findall(code)]
    return found, [literals[int(index)] for index in _INCLUDE.findall(code)]


def _names(text: str) -> tuple[str, ...]:
    parts = (part.split() for part in text.strip("() \t\n").split(","))
    return tuple(part[0] for part in parts if part)


def _without_strings(text: str) -> tuple[str, list[str]]:
    literals: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match["comment"] is not None:
            return ""
        literals.append(match["long"] if match["quote"] else match["short"])
        return f"<{len(literals) - 1}>"

    return _TOKEN.sub(replace, text).replace("\\\n", " "), literals
