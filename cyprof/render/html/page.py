"""The page: its template filled with the list of functions, the summary, and each function's table.

Every table is built here, once, and travels as a string in a JSON block that the page's script puts in place when its function
is chosen: a page of 3,000 functions opens as fast as one of ten. The first tables stand in the page itself, for readers
without scripts. The policy in the page's head allows its own script alone to run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files

from ...model import Profile
from ...view import ViewOptions
from ...view.line_advice import Advice
from ...view.line_rows import LineRow, SourceProvider
from ...view.line_table import FunctionLines, LineTable, line_table
from ...view.units import share_text, time_text, visible
from ..line_sources import source_text_of
from ..line_words import run_facts, title_text, unseen_text, without_text
from ..registry import renderer
from .tables import Shades, function_table, heat_cell, line_id, score_cell

_ROWS_WITHOUT_SCRIPT = 300
_MOST_ROWS_WITHOUT_SCRIPT = 2000
_PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")


@renderer(".html", description="the line table as a page that works offline", groups=("lines",))
def html_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The whole page."""
    return page_text(profile, options).encode("utf-8", errors="replace")


def page_text(profile: Profile, options: ViewOptions, source: SourceProvider | None = None) -> str:
    """The page as text; `source` gives the sources, without it they are read from their files."""
    source = source or source_text_of(profile)
    table = line_table(profile, options, source)
    shades = Shades(source)
    tables = {f"f{entry.function.id}": function_table(entry, shades) for entry in table.functions}
    script = template("page.js")
    return filled(
        template("page.html"),
        TITLE=text(title_text(table)),
        SCRIPT_HASH="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        STYLE=template("page.css"),
        FACTS="".join(f"<li>{text(fact)}</li>" for fact in run_facts(table)),
        FUNCTIONS="\n".join(_list_item(entry) for entry in table.functions),
        SUMMARY=_summary(table),
        VIEW=_first_tables(table, tables),
        NOTES=_notes(table),
        DATA=_json(tables),
        SCRIPT=script,
    )


def template(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(page: str, **values: str) -> str:
    """The page with its places filled."""
    # In one pass: what stands in a value is never taken for a place to fill.
    return _PLACE.sub(lambda found: values[found.group(1)], page)


def _json(value: object) -> str:
    # ASCII, and no `<`: nothing in it can end the script element or begin a comment.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def text(words: str) -> str:
    """Text that is safe in HTML, with what cannot be seen made visible."""
    return escape(visible(words))


def _list_item(entry: FunctionLines) -> str:
    times, name = entry.times, text(entry.function.name)
    width = f"{100 * entry.share:.1f}"
    return (
        f'<li data-self="{times.self_ns}" data-total="{times.total_ns}" data-calls="{times.calls}" '
        f'data-name="{name}" data-place="{text(f"{entry.function.file}:{entry.function.line}")}">'
        f'<a href="#f{entry.function.id}" title="{text(entry.function.label)}"><b>{name}</b> '
        f"<span>{text(share_text(entry.share))}</span> <small>{text(entry.kind)} · {text(entry.place)}</small> "
        f'<span class="bar"><i style="width:{width}%"></i></span></a></li>'
    )


def _summary(table: LineTable) -> str:
    if not table.functions:
        return f'<section class="summary"><h2>No lines to show</h2><p>{text(table.message)}</p></section>'
    if not table.first:
        return f'<section class="summary"><h2>Worth an edit first</h2><p>{text(table.first_message)}</p></section>'
    parts = {(entry.function.id, part.file): number for entry in table.functions for number, part in enumerate(entry.parts)}
    rows = "\n".join(_advice(one, parts[one.function.id, one.file]) for one in table.first)
    return (
        '<section class="summary"><h2>Worth an edit first</h2>\n<table>\n'
        '<thead><tr><th scope="col">% run</th><th scope="col">self</th>'
        '<th scope="col" class="left">time</th><th scope="col">Python</th>'
        '<th scope="col" class="where">line</th><th scope="col" class="what">source, and what an edit may do</th></tr>\n'
        f"</thead>\n<tbody>\n{rows}\n</tbody>\n</table></section>"
    )


def _advice(one: Advice, part: int) -> str:
    row = LineRow(one.line, one.text, self_ns=one.self_ns, share=one.share, run_share=one.share, score=one.score)
    name = one.function.name + (f" and {one.others} more" if one.others else "")
    return (
        f"<tr><td>{text(share_text(one.share))}</td><td>{text(time_text(one.self_ns))}</td>"
        f"{heat_cell(row)}{score_cell(row)}"
        f'<td class="where"><a href="#{line_id(one.function.id, part, one.line)}">{text(f"{one.place}:{one.line}")}</a>'
        f"<br>{text(name)}</td>"
        f'<td class="what"><code>{text(one.text) or "&nbsp;"}</code><br><span class="soft">{text(one.why)}</span></td></tr>'
    )


def _first_tables(table: LineTable, tables: dict[str, str]) -> str:
    """The tables that stand in the page itself: the first, unless it is very long, and more while they are short."""
    found: list[str] = []
    left = _ROWS_WITHOUT_SCRIPT
    for entry in table.functions:
        size = sum(len(part.rows) for part in entry.parts)
        if size > (left if found else _MOST_ROWS_WITHOUT_SCRIPT):
            break
        found.append(tables[f"f{entry.function.id}"])
        left -= size
    return "\n".join(found)


def _notes(table: LineTable) -> str:
    lines = [*table.left_out, *(without_text(group) for group in table.without), *map(unseen_text, table.unseen), *table.notes]
    if not lines:
        return ""
    items = "\n".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<section class="notes"><h2>Left out, and notes</h2>\n<ul>\n{items}\n</ul></section>'
