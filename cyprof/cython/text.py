"""Edits of the C that Cython has written: what no macro and no node patch can reach.

Pure functions of text. Line probes get small numbers, so that a function's counters are an array; calls of C functions in
the module's own code go through our wrappers.
"""

from __future__ import annotations

import itertools
import re

Place = tuple[int, int]
"""A line of a source file: (index of the file in the module, line)."""

_DECLARATIONS = re.compile(r"^[ \t]*__Pyx_TraceDeclarations(?:Func|Gen)[ \t]*$", re.MULTILINE)
# What statements.py writes, and the marks of Cython, which names the file of a line only in the error path that stands with it:
# __PYX_ERR(file, line, label).
_MARK = re.compile(
    r"__cyp_Line\((?P<line>\d+),(?P<file>\d+),(?P<counts>[01])\);"
    r"|__Pyx_TraceLine\(\d+,\d+,[01],__PYX_ERR\((?P<in_file>\d+), (?P<at_line>\d+), \w+\)\)"
    r"|__cyp_Call\((?P<call_line>\d+),(?P<call_file>\d+)\);"
    r"|/\*cyprof: open (?P<open_line>\d+) (?P<open_file>\d+) (?P<kind>\w+)\*/|(?P<close>/\*cyprof: close\*/)"
    r"|(?P<resume>^[ \t]*__Pyx_TraceResumeGen\(.*$)",
    re.MULTILINE,
)
_REPEATED = re.compile(r"CYP_AT_LINE\((\d+)\);(\s*(?:CYP_LINE|CYP_AT_LINE)\(\1\);)")
_SECTION = re.compile(r"^/\* #### Code section: (\w+) ### \*/$", re.MULTILINE)
# The sections that hold code written for the module's own functions and its body.
_OWN_SECTIONS = {"module_code", "init_module"}
_CALLS = re.compile(
    r"\b__Pyx_((?:PyObject_(FastCall|FastCallDict|Call|FastCallMethod))"
    r"|(?:Object_(VectorcallKwds|VectorcallMethodKwds))"
    r"|(CallUnboundCMethod[012]))\("
)


def instrument(text: str, calls_header: str, lines: bool) -> str:
    """The C text of a module with its calls of C functions wrapped and, when it has line probes (`lines`), those numbered.

    `calls_header` is the text of the wrappers' definitions.
    """
    return wrap_calls(number_lines(text) if lines else text, calls_header)


def number_lines(text: str) -> str:
    """Gives each probed C function a table of its lines, and each of its line probes its place in the table."""
    starts = [match.start() for match in _DECLARATIONS.finditer(text)] + [len(text)]
    parts = [text[: starts[0]]]
    for start, end in itertools.pairwise(starts):
        parts.append(_number_function(text[start:end]))
    return "".join(parts)


class _Lines:
    """The lines of one C function, numbered as they come."""

    def __init__(self, text: str) -> None:
        self.numbers: dict[Place, int] = {}
        self._begun = {(int(mark["file"]), int(mark["line"])) for mark in _MARK.finditer(text) if mark["file"]}
        # The open statements, innermost last: where each begins, and its later lines that were reached.
        self._open: list[tuple[Place, set[Place] | None]] = []

    def probe(self, mark: re.Match[str]) -> str:
        """The probe in place of a mark."""
        if mark["close"]:
            self._open.pop()
            return ""
        if mark["open_file"]:
            later: set[Place] | None = set() if mark["kind"] == "expression" else None
            self._open.append(((int(mark["open_file"]), int(mark["open_line"])), later))
            return ""
        if mark["resume"]:
            return mark["resume"] + ("\n" + self._at(self._open[-1][0], False) if self._open else "")
        if mark["file"]:
            return self._at((int(mark["file"]), int(mark["line"])), mark["counts"] == "1")
        place = int(mark["in_file"] or mark["call_file"]), int(mark["at_line"] or mark["call_line"])
        return self._at(place, self._is_reached(place))

    def _is_reached(self, place: Place) -> bool:
        """Whether a mark of Cython's, or of a call, is the first of a later line of the innermost statement."""
        later = self._open[-1][1] if self._open else None
        if later is None or place in later or place in self._begun:
            return False
        later.add(place)
        return True

    def _at(self, place: Place, counts: bool) -> str:
        number = self.numbers.setdefault(place, len(self.numbers) + 1)
        return f"{'CYP_LINE' if counts else 'CYP_AT_LINE'}({number});"


def _number_function(text: str) -> str:
    """`text` runs from a function's declarations to the next one's."""
    lines = _Lines(text)
    text = _REPEATED.sub(r"\2", _MARK.sub(lines.probe, text))
    if not lines.numbers:
        return text
    table = ", ".join(f"{{{file}, {line}}}" for file, line in lines.numbers)
    declarations = f"  static const cyp_place cyp_places[] = {{{table}}};\n  CYP_DECLARE({len(lines.numbers)}, cyp_places)"
    return _DECLARATIONS.sub(lambda _: declarations, text, count=1)


def wrap_calls(text: str, calls_header: str) -> str:
    """Sends the calls in the module's own code through the wrappers, and defines those that are needed."""
    sections = list(_SECTION.finditer(text))
    ends = [section.start() for section in sections[1:]] + [len(text)]
    parts = [text[: sections[0].start()]] if sections else [text]
    used: set[str] = set()

    def wrapped(match: re.Match[str]) -> str:
        used.add(match[2] or match[3] or match[4])
        return f"cyp_{match[1]}("

    first_own = 0
    for section, end in zip(sections, ends, strict=True):
        body = text[section.start() : end]
        if section[1] in _OWN_SECTIONS:
            first_own = first_own or len(parts)
            body = _CALLS.sub(wrapped, body)
        parts.append(body)
    if used:
        defines = "".join(f"#define CYP_CALLS_{name}\n" for name in sorted(used))
        parts.insert(first_own, f"#define CYP_CALLS\n{defines}{calls_header}\n")
    return "".join(parts)
