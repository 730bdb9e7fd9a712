"""What is done to a file from a stranger, and what must hold whatever is in it.

Fuzzers give the bytes: `make fuzz` lets atheris find them, the tests let hypothesis."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import profiles

from cyprof import render
from cyprof.errors import CyprofError, StoreError
from cyprof.model import Profile
from cyprof.store import load
from cyprof.store.content import to_content
from cyprof.store.file import MAGIC
from cyprof.view import ViewOptions

SHOWN = (
    ("graph", ".dot"), ("graph", ".json"), ("stats", ".html"), ("lines", ".html"), ("lines", ".txt"), ("export", ".prof"),
    ("export", ".callgrind"), ("export", ".collapsed"), ("export", ".speedscope.json"),
)  # fmt: skip
# What a terminal would take for more than text: control characters but line ends, and what turns the direction of text.
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
MARK = "</title><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
OWN_SCRIPTS = 2
"""A page has its data in one and what shows them in another."""
CONTENT = json.loads(json.dumps(to_content(profiles.mnist())))


class Page(HTMLParser):
    """Counts what could run in a page, and collects what it would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts = 0
        self.odd: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.odd += [tag] * (tag in ("img", "iframe", "object", "embed", "base"))
        self.odd += [name for name, value in attrs if name.startswith("on") or (value or "").lstrip().startswith("javascript:")]


def forge(text: bytes) -> bytes:
    """A .cyprof file with the right head and checksum around any text."""
    payload = zlib.compress(text, 1)
    return struct.pack(">8sIQ32s", MAGIC, 1, len(payload), hashlib.sha256(payload).digest()) + payload


def file_of_bytes(folder: Path, name: str, data: bytes) -> None:
    """A file is read, and all that can be made of it is made; or it is refused in a sentence."""
    path = folder / name
    path.write_bytes(data)
    with contextlib.suppress(StoreError):
        show(load(path))


def profile_of_values(folder: Path, changes: list[tuple[list[int], Any]]) -> None:
    """A valid profile in which values were exchanged; each place is a way of numbers from the outermost mapping inwards."""
    content = json.loads(json.dumps(CONTENT))
    for way, value in changes:
        part: Any = content
        for number in way[:-1]:
            keys = sorted(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
            if not keys or not isinstance(part[keys[number % len(keys)]], dict | list):
                break
            part = part[keys[number % len(keys)]]
        keys = sorted(part) if isinstance(part, dict) else range(len(part))
        if keys:
            part[keys[way[-1] % len(keys)]] = value
    file_of_bytes(folder, "x.cyprof", forge(json.dumps(content).encode()))


def show(profile: Profile) -> None:
    """Every view of a profile, and what must hold of each."""
    for text in (render.stats_text(profile, ViewOptions()), render.line_table_text(profile, ViewOptions())):
        assert not COMMANDS.search(text), f"a command to the terminal: {text!r}"
    for group, suffix in SHOWN:
        try:
            data = render.find(Path(f"x{suffix}"), group).render(profile, ViewOptions(everything=True))
        except CyprofError:
            continue  # a format that needs what this profile has not
        if suffix == ".html":
            page = Page(data.decode())
            assert page.scripts == OWN_SCRIPTS and not page.odd, f"{page.scripts} scripts, {page.odd}"
        if suffix == ".dot":
            check_dot(data.decode())


def check_dot(text: str) -> None:
    """Outside its quoted texts a .dot file has no characters but those of its own syntax."""
    rest = re.sub(r'"(?:\\.|[^"\\])*"', "", text, flags=re.S)
    while "<" in rest:  # labels of HTML: balanced, and their texts escaped
        rest, before = re.sub(r"<[^<>]*>", "", rest), rest
        assert rest != before, f"an unbalanced label in {text!r}"
    assert '"' not in rest
