"""`cyprof export`: a recorded run for other tools."""

from __future__ import annotations

from collections.abc import Sequence

from .. import render
from ..errors import UsageError
from ..model import Profile
from ..view import ViewOptions
from .options import add_format, add_general, add_member, add_output
from .parser import Parser
from .session import Session
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    session = Session.open(_parser(), words, terminal)
    known = " ".join(render.suffixes("export"))
    if session.target.kind != "saved":
        raise UsageError(
            f"{session.target.value} is no recorded run.",
            f"Record it first: cyprof run {session.target.value} -o run.cyprof",
        )
    path = session.output_in("export", session.stem)
    if path is None:
        raise UsageError("cyprof export: no file to write was given.", f"Name one with -o; its suffix says what: {known}")
    found = render.find(path, "export", session.options.format)

    def write(profile: Profile, options: ViewOptions) -> None:
        if found.suffix == ".lprof":
            session.need_lines(profile)
        session.write(profile, path, options, "export")

    return session.run(write)


def _parser() -> Parser:
    kinds = "\n".join(f"  {one.suffix:<16} {one.name:<11} {one.description}" for one in render.renderers("export"))
    parser = Parser(
        "export",
        "Writes a recorded run, or a FILE.prof of cProfile's, for another tool. The suffix of the file, or --format NAME,\n"
        f"says what is written:\n\n{kinds}",
        [
            "cyprof run train.py -o run.cyprof",
            "cyprof export run.cyprof -o run.prof                 then: python -m pstats run.prof, or snakeviz run.prof",
            "cyprof export run.cyprof --format callgrind          writes run.callgrind",
        ],
        operand="FILE.cyprof",
    )
    add_output(parser, "the file to write")
    add_format(parser, render.formats("export"))
    add_member(parser)
    add_general(parser)
    return parser
