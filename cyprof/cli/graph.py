"""`cyprof graph`: the call graph of a run as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import render
from ..model import Profile
from ..view import ViewOptions
from .options import (
    STYLES,
    add_format,
    add_general,
    add_member,
    add_output,
    add_recording,
    add_selection,
    add_style,
    add_target,
)
from .parser import Parser
from .session import Session
from .terminal import Terminal

_DEFAULT = Path("graph.svg")


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    group = STYLES[session.options.style]
    path = session.output_in(group, _DEFAULT.stem, _DEFAULT.suffix)
    assert path is not None

    def draw(profile: Profile, options: ViewOptions) -> None:
        terminal.progress(f"drawing {path}")
        session.write(profile, path, options, group)

    return session.run(draw)


def _parser() -> Parser:
    parser = Parser(
        "graph",
        "Runs a program and draws its call graph: Python functions, Cython functions and C functions in one picture.",
        [
            "cyprof graph train.py -o graph.png",
            "cyprof graph train.py -o graph.svg -- --epochs 2     the program gets --epochs 2",
            'cyprof graph -c "import kernel; kernel.solve(1000)"  writes graph.svg',
            "cyprof graph run.cyprof -o graph.pdf --hide 'numpy*'  from a recorded run",
            "cyprof graph train.py -o graph.png --style pycallgraph2",
        ],
    )
    add_output(parser, f"the file to write; its suffix says what: {' '.join(render.suffixes('graph'))} (default: {_DEFAULT})")
    add_style(parser)
    add_format(parser, render.formats("graph"))
    add_target(parser)
    add_recording(parser)
    add_selection(parser)
    add_member(parser)
    add_general(parser)
    return parser
