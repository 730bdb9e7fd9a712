"""The commands that the pages of docs/ show, read from their sources.

A block of a page that begins with three backticks and `console` holds commands, each on a line with `$ ` before it, and what
they print. What a page wants of the next block stands in a comment before it:

    % exit: 4                   the code its last command ends with, in place of 0
    % elsewhere: make demo      not run by the tests of the pages, and what does run it
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass
class Command:
    """One command of a page: where it stands, what it should end with, and the lines that it prints there."""

    page: str
    line: int
    text: str
    code: int = 0
    elsewhere: str = ""
    shown: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        """The files that it says it writes."""
        return re.findall(r"(?:-o|--output|>) (\S+)", self.text)


def pages() -> list[Path]:
    """Every page, and no file that Sphinx has built."""
    return sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def commands(page: Path) -> list[Command]:
    """The commands of a page, from top to bottom. ValueError for a comment that is not understood."""
    name = page.relative_to(DOCS).as_posix()
    found: list[Command] = []
    block: list[Command] = []
    fence = ""
    wants: dict[str, str] = {}
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```") and not fence:
            fence, block = line, []
        elif line.startswith("```"):
            if block:
                block[-1].code = int(wants.get("exit", 0))
            found += block
            fence, wants = "", {}
        elif fence == "```console" and line.startswith("$ "):
            block.append(Command(name, number, line[2:], elsewhere=wants.get("elsewhere", "")))
        elif fence == "```console":
            block[-1].shown.append(line)
        elif line.startswith("% ") and not fence:
            key, _, value = line[2:].partition(": ")
            if key not in ("exit", "elsewhere"):
                raise ValueError(f"{name}:{number}: {line}")
            wants[key] = value
    return found


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
