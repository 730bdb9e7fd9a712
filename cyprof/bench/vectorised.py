"""Which loops of a compiled .pyx the C compiler turned into vector code, in the author's own lines."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

_LOOP = re.compile(r"\s*(?:for|while)\b")
_SAID = re.compile(r"^(?P<file>[^:\n]+\.(?:pyx|pxd|pxi|py)):(?P<line>\d+):\d+: (?P<what>optimized|missed): (?P<text>.*)$", re.M)


def vectorised(extension: Path, source: Path) -> tuple[list[str], list[str], str]:
    """Lines of vectorised loops, of loops that were tried and stayed scalar, and why nothing is known ("" else).

    gcc compiles the module's C once more as the log of its build says, and reports with -fopt-info-vec.
    """
    folder = next((place for place in extension.parents if (place / "log.txt").is_file()), None)
    command = _command(folder) if folder is not None else None
    if folder is None or command is None:
        return [], [], "the command that compiled it is not known any more"
    if "gcc" not in Path(command[0]).name:
        return [], [], f"{command[0]} has no -fopt-info-vec"
    command = [*command, "-fopt-info-vec-optimized", "-fopt-info-vec-missed"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=folder)
    if done.returncode:
        return [], [], "the C compiler failed when it was asked"
    lines = {source.name: source.read_text(encoding="utf-8", errors="replace").splitlines()}
    good: dict[str, None] = {}
    bad: dict[str, None] = {}
    for said in _SAID.finditer(done.stderr):
        if not _is_loop(said["file"], int(said["line"]), lines):
            continue  # code of Cython's own, for a line that is no loop
        place = f"{Path(said['file']).name}:{said['line']}"
        if said["what"] == "optimized" and "loop vectorized" in said["text"]:
            good[place] = None
        elif said["what"] == "missed" and "couldn't vectorize loop" in said["text"]:
            bad[place] = None
    return list(good), [place for place in bad if place not in good], ""


def _is_loop(file: str, line: int, lines: dict[str, list[str]]) -> bool:
    """Whether a line of the module's source is in or at a loop: gcc names the loop's line or one of its body."""
    text = lines.get(Path(file).name, [])
    return 0 < line <= len(text) and any(_LOOP.match(above) for above in text[max(0, line - 2) : line])


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
