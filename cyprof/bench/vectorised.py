"""Which loops of a compiled .pyx the C compiler turned into vector code, in the author's own lines, and why not the others."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

Place = tuple[str, int]
"""A file's path and a line in it."""
_LOOP = re.compile(r"\s*(?:for|while)\b")
_SAID = re.compile(
    r"^(?P<file>[^:\n]+\.(?:pyx|pxd|pxi|py)):(?P<line>\d+):\d+: (?P<what>optimized|missed): +(?P<text>.*)$", re.M
)
_REASON = re.compile(r"(?:not vectorized: )?(?P<text>[^:.\n]+)")
_OTHER_FLAGS = ("-O3", "-O3 -march=native", "-O3 -march=native -ffast-math (which changes how results are rounded)")
_PLAIN = {
    "control flow in loop": "a branch or a call",
    "no vectype for stmt": "which means that no vectors of the processor it compiles for fit the types here",
    "number of iterations cannot be computed": "how many rounds it has is not known beforehand",
    "unsupported use in stmt": "a round needs the result of the one before",
    "relevant stmt not supported": "the processor it compiles for has no vector instruction for it",
    "statement can throw an exception": "it may raise",
}


@dataclass(frozen=True, slots=True)
class Loop:
    """An innermost loop. `vector` where it became vector code, else `reason` says what the compiler said, and `remedy` which
    flags would make it vector code ("" where none that were tried do)."""

    file: str
    line: int
    vector: bool
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """A Cython function by the place of its first line, and its name."""

    file: str
    line: int
    name: str


def owned_loops(owners: Iterable[Owner], texts: Mapping[str, Sequence[str]]) -> dict[Place, Owner]:
    """Every innermost loop of the sources `texts` that is in one of the functions, with the function that it is in."""
    by_file: dict[str, list[Owner]] = {}
    for owner in owners:
        by_file.setdefault(owner.file, []).append(owner)
    found = {}
    for file, functions in by_file.items():
        lines = texts.get(file, ())
        for number in _innermost(lines):
            indent = _indent(lines[number - 1])
            holders = [one for one in functions if one.line < number and _indent(lines[one.line - 1]) < indent]
            if holders:
                found[file, number] = max(holders, key=lambda one: one.line)
    return found


def _innermost(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines that begin a loop with no other loop in it."""
    loops = [number for number, text in enumerate(lines, 1) if _LOOP.match(text)]
    found = []
    for number, following in zip(loops, [*loops[1:], 0], strict=True):
        between = [text for text in lines[number:following] if text.strip()]
        deeper = following and all(_indent(text) > _indent(lines[number - 1]) for text in between)
        if not deeper:
            found.append(number)
    return found


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def vectorised(extension: Path, loops: Iterable[Place]) -> tuple[list[Loop], str]:
    """What gcc made of the loops, and why nothing is known ("" else).

    gcc compiles the module's C once more as the log of its build says, and reports with -fopt-info-vec. For loops that it
    leaves scalar it is asked again with other flags.
    """
    wanted = list(loops)
    if not wanted:
        return [], ""
    folder = next((place for place in extension.parents if (place / "log.txt").is_file()), None)
    command = _command(folder) if folder is not None else None
    if folder is None or command is None:
        return [], "the command that compiled it is not known any more"
    if "clang" in Path(command[0]).name:
        return [], f"{command[0]} has no -fopt-info-vec"
    said = _ask(command, folder)
    if said is None:
        return [], "the C compiler failed when it was asked"
    found = told_loops(said, wanted)
    for remedy in _OTHER_FLAGS:
        flags = [word for word in remedy.split() if word.startswith("-")]
        scalar = [(loop.file, loop.line) for loop in found if not loop.vector and not loop.remedy]
        said = _ask([*command, *flags], folder) if scalar else None
        better = {(loop.file, loop.line) for loop in told_loops(said, scalar) if loop.vector} if said is not None else set()
        found = [replace(loop, remedy=remedy) if (loop.file, loop.line) in better else loop for loop in found]
    return found, ""


def told_loops(said: str, wanted: Sequence[Place]) -> list[Loop]:
    """The loops as gcc's report tells of them. It names the line of a loop, or the first of its body; of several copies of a
    loop it is enough that one became vector code."""
    places = {(Path(file).name, number + more): (file, number) for file, number in wanted for more in (1, 0)}
    vector: set[Place] = set()
    reasons: dict[Place, str] = {}
    current: Place | None = None
    for one in _SAID.finditer(said):
        text = one["text"]
        place = places.get((Path(one["file"]).name, int(one["line"])))
        if one["what"] == "optimized" and "loop vectorized" in text and place:
            vector.add(place)
        elif "couldn't vectorize loop" in text:
            current = place
        elif current and one["what"] == "missed" and (reason := _REASON.match(text)):
            reasons.setdefault(current, reason["text"].strip())
            current = None
    return [Loop(*place, place in vector, "" if place in vector else _reason_text(reasons.get(place))) for place in wanted]


def _reason_text(reason: str | None) -> str:
    if reason is None:
        return "gcc says nothing of it"
    plain = next((text for words, text in _PLAIN.items() if reason.startswith(words)), "")
    return f'gcc says "{reason}"' + (f", {plain}" if plain else "")


def _ask(command: Sequence[str], folder: Path) -> str | None:
    """What gcc reports of all loops, None when it fails."""
    asked = [*command, "-w", "-fopt-info-vec-optimized", "-fopt-info-vec-missed"]
    done = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    return None if done.returncode else done.stderr


def _command(folder: Path) -> list[str] | None:
    """The compiler's command for the module's own C, its output thrown away."""
    for line in (folder / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if "-c" not in words or not any(word.endswith((".c", ".cpp")) for word in words):
            continue
        source = words[words.index("-c") + 1]
        if not (folder / Path(source).name).is_file():
            continue
        kept = [word for word in words if not word.startswith("-M")]
        kept[kept.index("-c") + 1] = str(folder / Path(source).name)
        if "-o" in kept:
            kept[kept.index("-o") + 1] = "/dev/null"
        scratch = str(Path(source).parent)
        return [word.replace(scratch, str(folder)) if word.startswith("-I") else word for word in kept]
    return None
