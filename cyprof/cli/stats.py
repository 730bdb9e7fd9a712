"""`cyprof stats`: the table of functions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
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
    add_table,
    add_target,
)
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    by_rank: bool = session.options.ranks
    group, text = ("ranks", render.members_text) if by_rank else ("stats", render.stats_text)
    path = session.output_in(group, session.stem)

    def show(profile: Profile, options: ViewOptions) -> None:
        if by_rank:
            session.need_members(profile)
        if path is None:
            terminal.table(text(profile, options, terminal.width, terminal.color))
            return
        session.write(profile, path, options, group)

    return session.run(show)


def _parser() -> Parser:
    parser = Parser(
        "stats",
        "Runs a program and prints a table of its functions in the layout of pstats, once the program has ended.",
        [
            "cyprof stats train.py",
            "cyprof stats train.py --sort cumtime --top 20 -- --epochs 2",
            "cyprof stats run.cyprof --only 'trainer.*'           from a recorded run",
            "cyprof stats --ranks all.cyprof                      what cyprof merge has made: the ranks side by side",
            "cyprof stats --engine cprofile train.py              what cProfile itself says",
        ],
    )
    add_output(parser, f"write a file in place of the table: {' '.join(render.suffixes('stats'))}")
    add_format(parser, render.formats("stats"))
    add_target(parser)
    add_engine(parser, "cprofile")
    add_recording(parser)
    add_selection(parser)
    add_member(parser)
    add_table(parser)
    meaning = "hold the ranks, workers or runs of a merged recording against each other, function by function"
    parser.add_argument("--ranks", action="store_true", help=meaning)
    add_general(parser)
    return parser
