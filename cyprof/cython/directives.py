"""Where sources and build files ask Cython for tracing: `profile` and `linetrace` directives, and the C macros with them.

Read from the text alone; nothing is run. What stands in comments that mean nothing, in doc strings, or under a condition is
told apart from what always holds.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

SOURCE_SUFFIXES = (".pyx", ".pxd", ".pxi", ".py")
BUILD_FILES = ("setup.py", "setup.cfg", "pyproject.toml", "meson.build", "CMakeLists.txt")

_NAMES = "profile|linetrace"
_MACROS = "CYTHON_TRACE(?:_NOGIL)?"
_DIRECTIVE = re.compile(rf"""(?:(?<![\w.])|(?<=-X))['"]?(?P<name>{_NAMES})['"]?\s*\]?\s*[:=]\s*['"]?(?P<on>[Tt]rue|1)\b""")
_VARIABLE = re.compile(
    r"""(?<![\w.])['"](?P<name>profile|linetrace)['"]\s*\]?\s*[:=]\s*(?P<on>(?!(?:True|False|None)\b)[A-Za-z_][\w.]*)"""
)
_MACRO = re.compile(rf"""(?P<name>(?:\b|(?<=-D)){_MACROS}\b)['"]?(?:\s*[=,]\s*['"]?(?P<on>1)\b)""")
_BARE_MACRO = re.compile(rf"""-D\s?(?P<name>{_MACROS})(?P<on>)(?=['"\s,\])]|$)""")
_MACRO_VARIABLE = re.compile(rf"""['"](?P<name>{_MACROS})['"]\s*,\s*(?P<on>(?!None\b)[A-Za-z_][\w.]*)""")
_COMMENT = re.compile(r"^#\s*(?:cython|distutils)\s*:", re.IGNORECASE)
_DECORATOR = re.compile(rf"^\s*(?:@|with\s+)\s*(?:\w+\.)*(?P<name>{_NAMES})\s*\(\s*(?P<on>True|1)\s*\)")
_STRINGS = re.compile(
    r"(?P<text>[rRbBuUfF]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))|#[^\n]*", re.DOTALL
)
_ABOUT_CYTHON = re.compile(r"cython|directive", re.IGNORECASE)
_BRANCH = re.compile(r"^\s*(?P<word>if|elseif|elif|else|endif)\b(?P<rest>.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mark:
    """One place that asks for tracing. `name`: the directive or macro; `quoted`: the line it stands in. `before` and `value`:
    the text that asks, up to its value and the value; `instead`: the value that does not ask. `condition`: under which it
    holds, "" for always."""

    file: Path
    line: int
    name: str
    quoted: str
    before: str
    value: str
    instead: str
    condition: str = ""

    @property
    def is_directive(self) -> bool:
        """Whether it is a directive, which makes Cython write tracing; a macro alone only adds to what is written."""
        return not self.name.startswith("CYTHON_")


def marks_in(path: Path) -> list[Mark]:
    """The places of one source or build file, in the order of its lines. A file that cannot be read has none. A .py is a build
    script too when it names what builds Cython modules and lies where a project is built from."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    if not re.search(rf"{_NAMES}|CYTHON_TRACE", text):
        return []
    if path.suffix in (".toml", ".cfg", ".txt", ".build", ".cmake"):
        return list(_in_build_text(path, text))
    found = [] if path.name == "setup.py" else list(_in_source(path, text))
    if _is_build_script(path, text):
        found += _in_build_script(path, text)
    return found


def _is_build_script(path: Path, text: str) -> bool:
    if path.name == "setup.py":
        return True
    beside = path.suffix == ".py" and any(path.with_name(name).is_file() for name in BUILD_FILES)
    return beside and re.search(r"cythonize|Cython\.(?:Build|Distutils|Compiler)|CYTHON_TRACE", text) is not None


def _in_source(path: Path, text: str) -> Iterator[Mark]:
    """File-level comments count up to the first line of code; decorators anywhere but in strings."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        stripped = line.strip().lstrip("\ufeff")
        if stripped and not stripped.startswith("#"):
            break
        if _COMMENT.match(stripped):
            yield from _matches(path, number, line, (_DIRECTIVE, _MACRO))
    for number, line in enumerate(_without_strings(text).splitlines(), 1):
        found = _DECORATOR.match(line)
        if found is not None:
            yield _mark(path, number, lines[number - 1], found)


def _without_strings(text: str) -> str:
    """The text with strings and comments blanked, every line where it was."""
    return _STRINGS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _in_build_script(path: Path, text: str) -> Iterator[Mark]:
    conditions = _Conditions(text)
    for number, line in enumerate(_without_comments(text).splitlines(), 1):
        if number in conditions.documentation:
            continue
        for mark in _matches(path, number, line, (_DIRECTIVE, _MACRO, _BARE_MACRO)):
            yield replace(mark, condition=conditions.of(number))
        for mark in _matches(path, number, line, (_VARIABLE, _MACRO_VARIABLE)):
            yield replace(mark, condition=conditions.of(number) or mark.value)


def _without_comments(text: str) -> str:
    """A Python source without its comments; as it is where it is no valid Python."""
    lines = text.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text
    return "\n".join(lines)


class _Conditions:
    """Which lines of a Python source run under a condition only, and which are documentation."""

    def __init__(self, text: str) -> None:
        self._ranges: list[tuple[range, str]] = []
        self.documentation: set[int] = set()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # every line counts then
        for node in ast.walk(tree):
            if isinstance(node, ast.If):
                self._add(node.body, ast.unparse(node.test))
                self._add(node.orelse, f"not ({ast.unparse(node.test)})")
            elif isinstance(node, ast.IfExp):
                self._add([node], ast.unparse(node.test))
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                self.documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    def _add(self, nodes: list[ast.stmt] | list[ast.IfExp], condition: str) -> None:
        if nodes:
            self._ranges.append((range(nodes[0].lineno, (nodes[-1].end_lineno or nodes[-1].lineno) + 1), condition))

    def of(self, line: int) -> str:
        """The innermost condition of a line, "" for none."""
        holding = [entry for entry in self._ranges if line in entry[0] and entry[1] != "__name__ == '__main__'"]
        return min(holding, key=lambda entry: len(entry[0]))[1] if holding else ""


def _in_build_text(path: Path, text: str) -> Iterator[Mark]:
    """TOML, ini, Meson and CMake: comments start with `#`; `if` blocks of the last two are conditions. `profile` is a common
    word, and counts only where the line, or the table it stands in, is about Cython."""
    branches: list[str] = []
    table = ""
    programs = path.suffix in (".build", ".txt", ".cmake")
    for number, whole in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", r"\1", whole)
        if re.match(r"\s*\[[^\]=]+\]{1,2}\s*$", line):
            table = line
        if programs:
            _enter(branches, line)
        for mark in _matches(path, number, line, (_DIRECTIVE, _MACRO, _BARE_MACRO)):
            about_cython = programs or _ABOUT_CYTHON.search(table + line)
            if mark.name != "profile" or about_cython:
                yield replace(mark, condition=branches[-1] if branches else "")


def _enter(branches: list[str], line: str) -> None:
    found = _BRANCH.match(line)
    if found is None:
        return
    word, condition = found["word"].lower(), found["rest"].strip()
    if condition.startswith("(") and condition.endswith(")"):
        condition = condition[1:-1].strip()
    if word == "if":
        branches.append(condition)
    elif word == "endif":
        del branches[-1:]
    elif branches:
        branches[-1] = condition if word != "else" else f"not ({branches[-1]})"


def _matches(path: Path, number: int, line: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[Mark]:
    found = [match for pattern in patterns for match in pattern.finditer(line)]
    for match in sorted(found, key=re.Match.start):
        yield _mark(path, number, line, match)


def _mark(path: Path, number: int, line: str, match: re.Match[str]) -> Mark:
    """A directive's text begins at its name; a macro that is given as a flag includes the flag."""
    value = match["on"]
    before = line[match.start("name") : match.start("on")] if value else match[0]
    instead = {"True": "False", "true": "false", "1": "0", "": "=0"}.get(value, "False")
    return Mark(path, number, match["name"], line.strip(), before, value, instead)
