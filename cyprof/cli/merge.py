"""`cyprof merge`: the recordings of several ranks, workers or runs as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..collect.merged import merge_files
from ..errors import UsageError
from ..files import check_place
from ..model import Profile, member_noun
from ..store import save
from ..target import recordings
from ..view.units import count_text
from .config import defaults
from .options import add_general, add_output
from .parser import Parser
from .run import check_suffix
from .terminal import Terminal

_DEFAULT = Path("merged.cyprof")


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    options, operands, args = parser.read_many(words, defaults())
    terminal.quiet = options.quiet
    if args:
        raise UsageError("cyprof merge runs no program, so that nothing can follow --.", "Leave it out.")
    if not operands:
        raise UsageError("cyprof merge: no recording was given.", "Name them: cyprof merge 'rank*.cyprof' -o all.cyprof")
    paths = [path for operand in operands for path in recordings(operand, parser.prog)]
    output: Path = options.output or _DEFAULT
    check_suffix(output)
    check_place(output)
    if any(output.exists() and path.samefile(output) for path in paths):
        raise UsageError(f"{output} is one of what is merged: it would be written over.", "Name another file with -o.")
    profile = merge_files(paths)
    save(profile, output)
    _tell(profile, output, terminal)
    return 0


def _tell(profile: Profile, output: Path, terminal: Terminal) -> None:
    for note in profile.notes:
        terminal.note(note)
    word = member_noun(profile.members)
    terminal.note(
        f"wrote {output}, of {count_text(len(profile.members), word)}; held against each other: cyprof stats --ranks {output}"
    )


def _parser() -> Parser:
    parser = Parser(
        "merge",
        "Makes one recording of several: those of the ranks of an MPI program, or of several runs. Counts and times are added\n"
        "up, and each stays there for itself, so that cyprof stats --ranks can hold them against each other.",
        [
            "mpirun -n 4 cyprof run train.py                      writes train.rank0.cyprof to train.rank3.cyprof",
            "cyprof merge train.rank*.cyprof -o train.cyprof",
            "cyprof stats --ranks train.cyprof                    the least, the median and the most of each function",
            "cyprof graph train.cyprof -o graph.png               all of them in one picture",
        ],
        operand="FILE.cyprof ...",
    )
    add_output(parser, f"the merged recording (default: {_DEFAULT})")
    add_general(parser)
    return parser
