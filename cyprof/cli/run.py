"""`cyprof run`: records, and shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from ..files import check_place
from ..model import Profile
from ..store import SUFFIX, save
from ..view import ViewOptions
from .options import add_general, add_output, add_recording, add_target
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    if session.target.kind == "saved":
        raise UsageError(f"{session.target.value} is a recording already.", f"Look at it: cyprof graph {session.target.value}")
    path = session.output or session.own_path(session.default_output(SUFFIX))
    check_suffix(path)
    check_place(path)

    def keep(profile: Profile, options: ViewOptions) -> None:
        del options
        save(profile, path)
        session.wrote(path)

    return session.run(keep, lines=session.options.lines)


def check_suffix(path: Path) -> None:
    """Raises UsageError for the name of a recording that does not end as one."""
    if not path.name.lower().endswith(SUFFIX):
        raise UsageError(
            f"{path} cannot be written: a recording ends in {SUFFIX}.",
            f"Name it so, and make other files of it afterwards: cyprof export FILE{SUFFIX} -o {path}",
        )


def _parser() -> Parser:
    parser = Parser(
        "run",
        "Runs a program and records it into a file, which graph, stats, lines and export take as their TARGET.",
        [
            "cyprof run train.py -o run.cyprof -- --epochs 2",
            "cyprof run -m mypackage                             writes mypackage.cyprof",
            "cyprof graph run.cyprof -o graph.png",
        ],
    )
    add_output(parser, f"the recording, FILE{SUFFIX} (default: named after the program)")
    parser.add_argument("--lines", action="store_true", help="record lines as well, for cyprof lines")
    add_target(parser, recorded="")
    add_recording(parser)
    add_general(parser)
    return parser
