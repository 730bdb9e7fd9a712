"""`cyprof lines`: hits and time of each line."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
from ..errors import CollectError, UsageError
from ..model import Profile
from ..view import ViewOptions
from .options import add_general, add_output, add_recording, add_selection, add_target
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    path = session.output
    if path is None:
        raise UsageError("cyprof lines prints no table yet.", f"Name a file: {' '.join(render.suffixes('lines'))}")
    render.check_output(path, "lines")

    def show(profile: Profile, options: ViewOptions) -> None:
        if not profile.run.with_lines:
            raise CollectError(
                f"{session.target.title} was recorded without lines.",
                "Record it again: cyprof run SCRIPT --lines -o FILE.cyprof",
            )
        render.write(profile, path, options, "lines")
        session.wrote(path)

    return session.run(show, lines=True)


def _parser() -> Parser:
    parser = Parser(
        "lines",
        "Runs a program and counts and times each line of its Cython functions, and of its own Python files.",
        [
            "cyprof lines train.py -o lines.json",
            "cyprof lines train.py --only 'trainer.adam:*' -o lines.json -- --epochs 2",
        ],
    )
    add_output(parser, f"the file to write: {' '.join(render.suffixes('lines'))}")
    add_target(parser)
    add_recording(parser)
    add_selection(parser)
    add_general(parser)
    return parser
