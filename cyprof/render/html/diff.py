"""A comparison as one page that works offline and without scripts."""

from __future__ import annotations

from collections.abc import Iterable

from ...view import ViewOptions
from ...view.compare import Comparison, LineChange, Row, line_changes
from ...view.compare import words as say
from ..line_sources import source_text_of
from ..registry import renderer
from .page import filled, template, text


@renderer(".html", description="the tables as a page that works offline", groups=("diff",))
def diff_bytes(found: tuple[Comparison, ...], options: ViewOptions) -> bytes:
    """The whole page."""
    del options
    names = [found[0].before.side.name, *(one.after.side.name for one in found)]
    page = filled(
        template("diff.html"),
        TITLE=text(" → ".join(names)),
        STYLE=template("page.css"),
        SECTIONS="\n".join(_section(one, number) for number, one in enumerate(found, 1)),
        MEANINGS="".join(f"<dt>{word}</dt><dd>{text(meaning)}</dd>" for word, meaning in say.MEANINGS.items()),
    )
    return page.encode("utf-8", errors="replace")


def _section(found: Comparison, number: int) -> str:
    labels = say.labels(found)
    rows = "\n".join(_row(row, label) for row, label in zip(found.rows, labels, strict=True))
    changed = line_changes(found, source_text_of)
    notes = (say.summary_text(found), *found.notes, say.unknown_ratio_text(found))
    return (
        f"<section><h1>{text(found.before.side.name)} → {text(found.after.side.name)}</h1>"
        f"<p>{text(say.side_text(0, found.before))}<br>{text(say.side_text(number, found.after))}</p>"
        f"<p>{text(say.pace_text(found))}</p>"
        f"{_table(say.COLUMNS, rows)}"
        f"{_lines(changed)}"
        f"<ul>{''.join(f'<li>{text(note)}</li>' for note in notes if note)}</ul></section>"
    )


def _table(names: Iterable[str], rows: str) -> str:
    heads = "".join(f'<th scope="col"{_class(name)}>{name}</th>' for name in names)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def _class(name: str) -> str:
    return ' class="left"' if name in say.WORD_COLUMNS else ""


def _row(row: Row, label: str) -> str:
    why = f'<span class="why">{text(row.why)}</span>' if row.why else ""
    numbers = (say.calls_text(row), say.self_text(row), say.total_text(row), say.ratio_text(row.ratio))
    return (
        f'<tr class="{row.verdict}">{"".join(f"<td>{text(number)}</td>" for number in numbers)}'
        f'<td class="left verdict">{text(say.verdict_text(row))}{why}</td>'
        f'<td class="left"><code>{text(label)}</code></td><td class="left">{text(say.kind_of(row))}</td></tr>'
    )


def _lines(changed: list[LineChange]) -> str:
    if not changed:
        return ""
    rows = "\n".join(_line(line) for line in changed)
    return f"<h2>Lines</h2><p>{text(say.lines_text(changed))}</p>{_table(say.LINE_COLUMNS, rows)}"


def _line(line: LineChange) -> str:
    return (
        f'<tr class="{line.change}"><td>{say.hits_text(line)}</td><td>{say.line_self_text(line)}</td>'
        f"<td>{text(say.ratio_text(line.ratio))}</td>"
        f'<td class="left verdict">{text(say.VERDICTS[line.change])}</td><td class="left">{text(line.function.name)}</td>'
        f'<td>{say.line_number_text(line)}</td><td class="left"><code>{text(line.text)}</code></td></tr>'
    )
