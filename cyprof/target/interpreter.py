"""The interpreter the program runs on: this one, started with the same flags."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .target import Target

_TAKE_VALUE = "WX"
_END = "mc"
_LEFT_OUT = "iq?hV"  # a prompt after the program, and what makes python do something else than run it


def interpreter_flags(command: list[str] | None = None) -> list[str]:
    """The flags this interpreter was started with (`-X dev`, `-O`, `-u` and so on), as the user wrote them.

    `command` is the command line of an interpreter, by default this one's.
    """
    words = (sys.orig_argv if command is None else command)[1:]
    flags: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--check-hash-based-pycs":
            flags += [word, *words[position : position + 1]]
            position += 1
            continue
        if not word.startswith("-") or word in ("-", "--") or word.startswith("--"):
            break
        kept, needs_value, ended = _short_flags(word[1:])
        if kept:
            flags.append("-" + kept)
        if needs_value:
            flags += words[position : position + 1]
            position += 1
        if ended:
            break
    return flags


def _short_flags(letters: str) -> tuple[str, bool, bool]:
    """From a cluster such as `Ob`: what to keep, whether its value is the next word, whether the program follows."""
    kept = ""
    for index, letter in enumerate(letters):
        if letter in _TAKE_VALUE:
            return kept + letters[index:], index == len(letters) - 1, False
        if letter in _END:
            return kept, False, True
        if letter not in _LEFT_OUT:
            kept += letter
    return kept, False, False


def program_path(target: Target) -> list[str]:
    """The program's own `sys.path`: this process's, with the first entry the program gets in place of ours."""
    rest = list(sys.path) if sys.flags.safe_path else sys.path[1:]
    first = first_path_entry(target)
    return rest if first is None else [first, *rest]


def first_path_entry(target: Target) -> str | None:
    """What python puts first on `sys.path` for this target; None where it puts nothing (`-P`)."""
    if target.kind == "script":
        path = Path(target.value)
        if path.is_dir() or is_archive(target.value):
            return absolute(target.value)  # even with -P: the program is in there
        return None if sys.flags.safe_path else str(Path(os.path.realpath(path)).parent)
    if sys.flags.safe_path:
        return None
    return "" if target.kind == "code" else str(Path.cwd())


def is_archive(path: str) -> bool:
    """Whether python would run the file as a zip file with `__main__.py`."""
    if not Path(path).is_file():
        return False
    from zipimport import ZipImportError, zipimporter

    try:
        zipimporter(path)
    except ZipImportError:
        return False
    return True


def absolute(path: str) -> str:
    """The path as python makes a script's absolute: put behind the current folder, and left as it was written."""
    return path if path.startswith(os.sep) else f"{Path.cwd()}{os.sep}{path}"
