"""`cyprof stats`: the table of functions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
from ..model import Profile
from ..view import ViewOptions
from .options import add_engine, add_format, add_general, add_output, add_recording, add_selection, add_table, add_target
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    path = session.output_in("stats", session.stem)

    def show(profile: Profile, options: ViewOptions) -> None:
        if path is None:
            terminal.table(render.stats_text(profile, options, terminal.width, terminal.color))
            return
        session.write(profile, path, options, "stats")

    return session.run(show)


def _parser() -> Parser:
    parser = Parser(
        "stats",
        "Runs a program and prints a table of its functions in the layout of pstats, once the program has ended.",
        [
            "cyprof stats train.py",
            "cyprof stats train.py --sort cumtime --top 20 -- --epochs 2",
            "cyprof stats run.cyprof --only 'trainer.*'           from a recorded run",
            "cyprof stats --engine cprofile train.py              what cProfile itself says",
        ],
    )
    add_output(parser, f"write a file in place of the table: {' '.join(render.suffixes('stats'))}")
    add_format(parser, render.formats("stats"))
    add_target(parser)
    add_engine(parser, "cprofile")
    add_recording(parser)
    add_selection(parser)
    add_table(parser)
    add_general(parser)
    return parser
