"""The commands that README.md, examples/README.md and the pages of docs/ show, read from their sources.

A block that begins with three backticks and `console` holds commands, each on a line with `$ ` before it, and what they print.
A comment before a block, `% exit: 4`, gives the code that its last command ends with, in place of 0. Commands also stand in
running text, between backticks: those are mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROGRAMS = (
    "cyprof", "mpirun", "python", "python3", "pip", "make", "docker", "cythonize", "npm", "git", "sh", "snakeviz", "tuna",
    "gprof2dot", "kcachegrind", "callgrind_annotate", "flamegraph.pl", "pprof", "inferno-flamegraph",
)  # fmt: skip
"""What a command begins with."""


@dataclass
class Command:
    """One command of a page: where it stands, what it should end with, and the lines that it prints there."""

    page: str
    line: int
    text: str
    code: int = 0
    shown: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        """The files that it says it writes."""
        return re.findall(r"(?:-o|--output|>) (\S+)", self.text)


@dataclass
class Block:
    """A fenced block of a page: the line it begins in, the word behind its backticks, its lines, the comments before it."""

    line: int
    language: str
    lines: list[str]
    wants: dict[str, str]


def pages() -> list[Path]:
    """Both READMEs and every page of docs/, and no file that Sphinx has built."""
    built = DOCS / "_build"
    return [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(set(DOCS.rglob("*.md")) - set(built.rglob("*")))]


def name_of(page: Path) -> str:
    """What a page is called."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, from top to bottom. ValueError for a comment that is not understood."""
    wants: dict[str, str] = {}
    block: Block | None = None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```") and block is None:
            block = Block(number, line[3:].strip(), [], wants)
        elif line.startswith("```") and block is not None:
            yield block
            block, wants = None, {}
        elif block is not None:
            block.lines.append(line)
        elif line.startswith("% "):
            key, _, value = line[2:].partition(": ")
            if key != "exit":
                raise ValueError(f"{name_of(page)}:{number}: {line}")
            wants[key] = value


def commands(page: Path) -> list[Command]:
    """The commands that a page shows in blocks, from top to bottom."""
    found: list[Command] = []
    for block in blocks(page):
        if block.language != "console":
            continue
        of_block: list[Command] = []
        for number, line in enumerate(block.lines, block.line + 1):
            if line.startswith("$ "):
                of_block.append(Command(name_of(page), number, line[2:]))
            else:
                of_block[-1].shown.append(line)
        of_block[-1].code = int(block.wants.get("exit", 0))
        found += of_block
    return found


def mentions(page: Path) -> list[str]:
    """The whole commands in a page's running text: a program, and what it is to work on. `cyprof graph` is the name of one,
    and one with a word in capitals tells a form."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    return [span for span in spans if is_whole(span)]


def is_whole(text: str) -> bool:
    """Whether a text is a command that can be typed as it stands."""
    program, *words = text.split()
    if program not in PROGRAMS or not words or any(re.search(r"\b[A-Z]{3,}\b(?!=)|\.\.\.", word) for word in words):
        return False
    operands = [word for word in words if not word.startswith("-")]
    if program in ("pip", "npm", "docker"):
        return len(operands) > 1  # `pip install` does something with something
    return bool(operands) if program == "make" else any("." in word for word in operands)


def pattern(line: str) -> re.Pattern[str]:
    """What a line of output should look like: numbers with their units may differ, `...` stands for anything."""
    parts = re.split(rf"(\s*\.\.\.\s*|{_NUMBER}|\s+)", line.strip())
    return re.compile("".join(_part(part) for part in parts) + r"\s*")


_NUMBER = r"\d[\d.,]*(?:e-\d+)?(?: ?(?:ns|µs|ms|s|kB|MB|GB|%)(?!\w))?"


def _part(text: str) -> str:
    if text.strip() == "...":
        return ".*"
    if re.fullmatch(_NUMBER, text):
        return _NUMBER
    return r"\s+" if text.isspace() else re.escape(text)
