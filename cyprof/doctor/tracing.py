"""Sources and build files that ask Cython for tracing, each with the command that has it not ask."""

from __future__ import annotations

import re
import shlex
import sys

from ..cython.directives import Mark, marks_in
from .result import MarkedPlace
from .subject import Subject


def find_places(subject: Subject) -> list[MarkedPlace]:
    """Every place of the subject's sources and build files that asks for tracing, by file and line."""
    files = dict.fromkeys([*subject.sources, *subject.build_files])
    return [MarkedPlace(mark, mending_command(mark)) for file in sorted(files) for mark in marks_in(file)]


def mending_command(mark: Mark) -> str:
    """The `sed` command that changes exactly this place in its file, "" under a condition: the condition decides there."""
    if mark.condition:
        return ""
    in_place = "-i ''" if sys.platform == "darwin" else "-i"
    end = r"\b" if not mark.value and sys.platform != "darwin" else ""
    script = rf"{mark.line}s/\({_pattern(mark.before)}\){mark.value}{end}/\1{mark.instead}/"
    return f"sed {in_place} {shlex.quote(script)} {shlex.quote(str(mark.file))}"


def _pattern(text: str) -> str:
    """The text as a basic regular expression, in which any character stands for a quotation mark: the shell has its own use for
    those."""
    return re.sub(r"['\"]", ".", re.sub(r"[\\/.*\[\]^$]", r"\\\g<0>", text))
