"""`cyprof lines`: hits and time of each line."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
from ..errors import UsageError
from ..model import Profile
from ..view import ViewOptions
from .options import (
    add_engine,
    add_format,
    add_general,
    add_member,
    add_output,
    add_recording,
    add_selection,
    add_target,
    add_top,
)
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    stock = session.engine == "line_profiler"
    if session.options.no_lines:
        raise UsageError("cyprof lines shows lines, and --no-lines records none.", "For functions alone: cyprof stats TARGET.")
    group = "line_profiler" if stock else "lines"
    path = session.output_in(group, session.stem)

    def show(profile: Profile, options: ViewOptions) -> None:
        if not stock:
            session.need_lines(profile)
        if path is not None:
            session.write(profile, path, options, group)
        elif stock:
            terminal.table(render.line_profiler_text(profile, options))
        else:
            terminal.table(render.line_table_text(profile, options, terminal.width, terminal.color))

    return session.run(show, lines=True)


def _parser() -> Parser:
    parser = Parser(
        "lines",
        "Runs a program and counts and times each line of its Cython functions, and of its own Python files.",
        [
            "cyprof lines train.py",
            "cyprof lines train.py -o lines.html                  one page, to open in a browser",
            "cyprof lines --engine line_profiler train.py         what line_profiler itself says",
            "cyprof lines train.py --only 'trainer.adam:*' -- --epochs 2",
        ],
    )
    add_output(parser, f"write a file in place of the table: {' '.join(render.suffixes('lines'))}")
    add_format(parser, render.formats("lines"))
    add_target(parser, recorded="a FILE.cyprof recorded by cyprof run --lines, ")
    add_engine(parser, "line_profiler")
    add_recording(parser)
    add_selection(parser, threads=False)
    add_member(parser)
    add_top(parser, "how many lines to name as worth an edit first (default: 10)")
    add_general(parser)
    return parser
