"""Directives that show what `cyprof COMMAND --help` says, taken from its argparse parser, so that no page repeats it.

```{cyprof-usage} graph      its usage and what it does
```{cyprof-options} graph    its options, group by group
```{cyprof-settings}         the keys of [tool.cyprof]
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from cyprof.cli.options import setting_checks


def parser_of(command: str) -> argparse.ArgumentParser:
    """The argparse parser of one command."""
    module = importlib.import_module(f"cyprof.cli.{command.replace('-', '_')}")
    parser: argparse.ArgumentParser = module._parser()
    return parser


class Usage(Directive):
    """The usage line and the description of a command."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        parser = parser_of(self.arguments[0])
        usage = parser.format_usage().removeprefix("usage: ").strip()
        return [_literal(usage), *_paragraphs(parser.description or "")]


class Options(Directive):
    """A definition list for each group of a command's options."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        parser = parser_of(self.arguments[0])
        formatter = parser._get_formatter()
        return [node for group in parser._action_groups for node in _group(group, formatter)]


class Settings(Directive):
    """The keys of [tool.cyprof] in a pyproject.toml."""

    def run(self) -> list[nodes.Node]:
        items: list[nodes.Node] = []
        for number, key in enumerate(setting_checks()):
            items += [nodes.Text(", ")] if number else []
            items.append(nodes.literal(key, key))
        return [nodes.paragraph("", "", *items)]


def _group(group: argparse._ArgumentGroup, formatter: argparse.HelpFormatter) -> Iterator[nodes.Node]:
    actions = [action for action in group._group_actions if action.help is not argparse.SUPPRESS]
    if not actions:
        return
    title = group.title or ""
    if title != "options":  # which the page's own heading says
        yield nodes.rubric(title, title[:1].upper() + title[1:])
    yield from _paragraphs(group.description or "")
    items = nodes.definition_list(classes=["options"])
    for action in actions:
        items += nodes.definition_list_item(
            "",
            nodes.term("", "", nodes.literal("", formatter._format_action_invocation(action))),
            nodes.definition("", nodes.paragraph("", formatter._expand_help(action))),
        )
    yield items


def _paragraphs(text: str) -> Iterator[nodes.Node]:
    """Paragraphs as such; what is laid out with leading spaces as it stands."""
    for part in filter(None, text.split("\n\n")):
        if part.startswith("  "):
            yield _literal(part)
        else:
            yield nodes.paragraph("", " ".join(part.split()))


def _literal(text: str) -> nodes.literal_block:
    block = nodes.literal_block(text, text)
    block["language"] = "text"
    return block


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the directives."""
    app.add_directive("cyprof-usage", Usage)
    app.add_directive("cyprof-options", Options)
    app.add_directive("cyprof-settings", Settings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
