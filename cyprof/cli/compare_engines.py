"""`cyprof compare-engines`: the probes, cProfile and line_profiler on one program, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
from ..collect.engines import record_with_all
from ..errors import UsageError
from ..view import engine_table
from .options import add_general, add_patterns, add_recording, add_target, record_options, view_options
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    if session.target.kind == "saved":
        raise UsageError(
            f"{session.target.value} is a recording, and the engines can only watch a program that runs.",
            "Name the program: cyprof compare-engines SCRIPT",
        )
    options = record_options(session.options, lines=False, progress=terminal.shows_progress)
    found = record_with_all(session.target, options, terminal.progress)
    table = engine_table(found.probes, found.cprofile, found.line_profiler, view_options(session.options))
    terminal.table(render.engines_text(table, terminal.width))
    return found.exit_code


def _parser() -> Parser:
    parser = Parser(
        "compare-engines",
        "Runs a program three times, with probes, under cProfile and under line_profiler, and prints what each says of its\n"
        "functions, and why they differ. Only the first run gets its input and shows its output, and the recording options\n"
        "are for that run.",
        [
            "cyprof compare-engines train.py",
            "cyprof compare-engines train.py --only 'trainer.*' -- --epochs 1",
        ],
    )
    add_target(parser, recorded="")
    add_recording(parser)
    group = add_patterns(parser, "only functions that match")
    group.add_argument("--all", action="store_true", dest="everything", help="functions that are not the program's own, too")
    add_general(parser)
    return parser
