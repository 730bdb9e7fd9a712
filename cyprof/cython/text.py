"""Edits of the C that Cython has written: what no macro and no node patch can reach.

Pure functions of text. Line probes get small numbers, so that a function's counters are an array; calls of C functions in
the module's own code go through our wrappers.
"""

from __future__ import annotations

import itertools
import re

_DECLARATIONS = re.compile(r"^[ \t]*__Pyx_TraceDeclarations(?:Func|Gen)[ \t]*$", re.MULTILINE)
# Cython names the file of a line only in the error path that stands with it: __PYX_ERR(file, line, label).
_LINE = re.compile(
    r"(__Pyx_TraceLine|__cyp_AtLine)\((\d+),\d+,[01],__PYX_ERR\((\d+), \d+, \w+\)\)"
    r"|/\*cyprof: one line (\d+)\*/|/\*cyprof: (end) of one line\*/"
)
_START = re.compile(r"^[ \t]*__Pyx_TraceStart(?:Func|Gen)\(.*$", re.MULTILINE)
_FUNCTION = re.compile(r"CYP_FUNCTION\(.*, (\d+), (\d+)\)\s*$", re.MULTILINE)
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
        parts.append(_number_function(text[start:end], parts[-1]))
    return "".join(parts)


def _number_function(text: str, before: str) -> str:
    """`text` runs from a function's declarations to the next one's; its CYP_FUNCTION stands at the end of `before`."""
    places: dict[tuple[int, int], int] = {}
    silent: list[int] = []  # the lines whose rounds are no hits here, innermost last

    def numbered(match: re.Match[str]) -> str:
        if match[4]:
            silent.append(int(match[4]))
        elif match[5]:
            silent.pop()
        if not match[1]:
            return ""
        place = (int(match[3]), int(match[2]))
        number = places.setdefault(place, len(places) + 1)
        counts = match[1] == "__Pyx_TraceLine" and int(match[2]) not in silent
        return f"{'CYP_LINE' if counts else 'CYP_AT_LINE'}({number});"

    text = _LINE.sub(numbered, text)
    if not places:
        # A function that stands on the line of its `def` has no line probe; to be called is to reach that line.
        headers = _FUNCTION.findall(before[-4000:])
        if not headers or "__Pyx_TraceStart" not in text:
            return text
        places[int(headers[-1][0]), int(headers[-1][1])] = 1
        text = _START.sub(lambda start: start[0] + "\n  CYP_LINE(1);", text, count=1)
    table = ", ".join(f"{{{file}, {line}}}" for file, line in places)
    declarations = f"  static const cyp_place cyp_places[] = {{{table}}};\n  CYP_DECLARE({len(places)}, cyp_places)"
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
