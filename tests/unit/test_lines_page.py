"""The page: whole without scripts, safe with hostile sources, usable in a real browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import browser
import line_profiles
import pytest
from line_profiles import SOURCES, kern, source_of
from profiles import ProfileBuilder

from cyprof import render
from cyprof.render.html.page import page_text
from cyprof.view import ViewOptions
from cyprof.view.palette import contrast

VOID = {"meta", "link", "input", "br", "col"}
in_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")


class Reader(HTMLParser):
    """Reads a page strictly: every element that is opened is closed, in order, and no id stands twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"a handler in {tag}"
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and tag == "a":
                self.links.append(value or "")
            if name in ("src", "href"):
                self.addresses.append(value or "")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def kern_page(**options: object) -> str:
    return page_text(kern(), ViewOptions(**options), source_of(SOURCES))  # type: ignore[arg-type]


def tables_of(reader: Reader) -> dict[str, str]:
    found: dict[str, str] = json.loads(reader.scripts[0])
    return found


def test_the_page_is_well_formed_and_so_is_every_table() -> None:
    reader = Reader(kern_page(everything=True))
    tables = tables_of(reader)
    assert len(tables) == 10
    for table in tables.values():
        Reader(table)
    assert len(set(reader.ids)) == len(reader.ids)


def test_nothing_is_fetched_from_anywhere() -> None:
    page = kern_page()
    assert all(address.startswith(("#", "data:")) for address in Reader(page).addresses)
    assert not re.search(r"https?://|@import|url\(", page)
    assert "default-src 'none'" in page


def test_every_link_leads_to_a_line_or_function() -> None:
    reader = Reader(kern_page())
    tables = tables_of(reader)
    ids = {name for table in tables.values() for name in Reader(table).ids}
    assert reader.links and {link.removeprefix("#") for link in reader.links} <= ids


def test_without_scripts_the_first_tables_stand_in_the_page() -> None:
    reader = Reader(kern_page())
    assert "f3-0-10" in reader.ids
    assert "s += x[i] * exp(-i % 7.0)" in reader.text
    assert "1 function with lines left out" in reader.text and "not executed: never" in reader.text
    assert "line probes slowed it 3.2x (700 µs a call without)" in reader.text


def test_hostile_names_and_sources_are_text() -> None:
    profile, source = line_profiles.hostile()
    page = page_text(profile, ViewOptions(), source)
    reader = Reader(page)
    assert len(reader.scripts) == 2
    assert "a = '</script><script>document.title = \"broken in\"</script>'" in reader.text
    assert "{{DATA}}" in reader.text and "{{VIEW}}" in reader.text
    assert page.count("<script") == page.count("</script>") == 2


def test_warnings_about_the_source_are_shown() -> None:
    lost = page_text(kern(), ViewOptions(), source_of({}))
    assert "the source was not found" in Reader(lost).text
    changed = page_text(kern(), ViewOptions(), source_of(SOURCES, frozenset(SOURCES)))
    assert "the file has changed since the run" in Reader(changed).text


def test_an_empty_page_says_why() -> None:
    b = ProfileBuilder()
    b.call(-1, b.function("kern", "f", "kern.pyx", 5, "cdef"), 1, 5)
    reader = Reader(page_text(b.profile(), ViewOptions(), source_of({})))
    assert "No lines were asked for" in reader.text and tables_of(reader) == {}


def test_it_is_written_for_its_suffix(tmp_path: Path) -> None:
    path = render.write(kern(), tmp_path / "lines.html", ViewOptions(), "lines")
    assert path.read_bytes().startswith(b"<!doctype html>")


def test_text_stands_out_from_what_it_lies_on() -> None:
    style = re.search("<style>(.*?)</style>", kern_page(), re.DOTALL)
    assert style
    schemes = re.findall(r":root \{(.*?)\}", style[1], re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colour = dict(re.findall(r"--([\w-]+): (#\w{6});", scheme))
        for ground in ("page", "panel", "mark"):
            assert contrast(colour["text"], colour[ground]) >= 7
        for text in ("soft", "link", *(name for name in colour if name.startswith("code-"))):
            assert contrast(colour[text], colour["page"]) >= 4.5, text
        assert contrast(colour["warn"], colour["warn-page"]) >= 4.5
        for step in ("y1", "y2"):
            assert contrast(colour["on-y"], colour[step]) >= 4.5
        # Both colours get stronger step by step in lightness alone, which every eye tells apart.
        heat = [contrast(colour[f"h{step}"], colour["page"]) for step in range(1, 6)]
        assert heat == sorted(heat) and heat[-1] >= 4.5


def test_a_large_page_is_no_larger_than_its_lines_ask_for() -> None:
    profile, source = line_profiles.large(3_000, 3)
    page = page_text(profile, ViewOptions(everything=True), source)
    assert len(page) < 2_500 * 3_000 * 4
    assert len(Reader(page).links) >= 3_000


@in_chromium
def test_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "lines.html"
    path.write_text(kern_page(), encoding="utf-8")
    with browser.page() as page:
        page.open(path.as_uri())
        shown = "document.querySelector('#view h2').textContent"
        assert page.value(shown) == "_inner cdef nogil"
        assert page.value("document.querySelectorAll('#view section').length") == 1

        # From the summary to the line.
        page.value("document.querySelector('.summary a').click()")
        page.wait(f"{shown} === 'collect def'")
        page.wait("document.querySelector('tr.target')?.id === 'f5-0-25'")
        assert page.value("document.querySelector('a[aria-current]').hash") == "#f5"

        # By the keyboard: filter, go down, open.
        page.press("/", "/")
        assert page.value("document.activeElement.id") == "search"
        for letter in "twice":
            page.press(letter, letter)
        assert page.value("document.getElementById('count').textContent") == "2 of 9 functions"
        page.press("ArrowDown")
        page.press("ArrowDown")
        page.press("Enter", "\r")
        page.wait(f"{shown} === 'twice[int] cdef'")
        page.press("/", "/")
        page.press("Escape")
        assert page.value("document.getElementById('count').textContent") == "9 functions"

        names = "[...document.querySelectorAll('#functions b')].map((b) => b.textContent)"
        page.value("sort.value = 'name'; sort.dispatchEvent(new Event('change'))")
        assert page.value(f"{names}[0]") == "_inner"
        page.value("sort.value = 'total'; sort.dispatchEvent(new Event('change'))")
        assert page.value(f"{names}[0]") == "<module>"
        assert page.log == []


@in_chromium
def test_hostile_sources_run_nothing_in_a_browser(tmp_path: Path) -> None:
    profile, source = line_profiles.hostile()
    path = tmp_path / "lines.html"
    path.write_text(page_text(profile, ViewOptions(), source), encoding="utf-8")
    with browser.page() as page:
        page.open(path.as_uri())
        page.wait("document.querySelectorAll('#view td.code').length === 7")
        assert page.value("document.title") == "script>.py: lines"
        assert page.value("document.querySelectorAll('#view td.code')[1].textContent") == line_profiles.HOSTILE[1]
        assert page.value("document.querySelectorAll('img, b.x, #view script').length") == 0
        assert page.log == []


@in_chromium
def test_without_scripts_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "lines.html"
    path.write_text(kern_page(), encoding="utf-8")
    with browser.page() as page:
        page.call("Emulation.setScriptExecutionDisabled", value=True)
        page.open(path.as_uri())
        seen = page.value("document.body.innerText")
        assert "Scripts are off" in seen and "_inner" in seen and "Filter" not in seen


@in_chromium
def test_long_tables_come_to_the_line_that_is_asked_for(tmp_path: Path) -> None:
    profile, source = line_profiles.large(1, 10_000)
    path = tmp_path / "lines.html"
    path.write_text(page_text(profile, ViewOptions(everything=True), source), encoding="utf-8")
    with browser.page() as page:
        page.open(path.as_uri() + "#f1-0-5000")
        inside = "(() => { const r = document.querySelector('tr.target')?.getBoundingClientRect();"
        page.wait(f"{inside} return !!r && r.top > 100 && r.bottom < innerHeight - 100; }})()")
        assert page.value("document.querySelectorAll('#view tbody tr').length") == 10_000
