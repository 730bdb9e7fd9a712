"""`cyprof diff`: what changed between two or more sides, and what is noise."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from .. import render
from ..collect.rounds import Taken, in_rounds
from ..errors import UsageError
from ..target import Target, side_targets
from ..view.compare import Comparison, Side, compare
from ..view.compare.limits import broken
from .config import defaults
from .options import add_general, add_output, add_recording, add_selection, percent, positive, record_options, view_options
from .parser import Parser
from .terminal import Terminal

BROKEN = 1
"""The exit code when a limit of --fail-on is broken."""


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    options, operands, args = parser.read_many(words, defaults())
    terminal.quiet = options.quiet
    if len(operands) < 2:
        raise UsageError("cyprof diff compares two sides or more.", "Name them: cyprof diff before.cyprof after.cyprof")
    sides = [side_targets(operand, args, parser.prog) for operand in operands]
    path: Path | None = options.output
    if path is not None:
        render.check_output(path, "diff")
    recording = record_options(options, lines=options.lines, progress=terminal.shows_progress, silent=True)
    taken = in_rounds(sides, options.runs, recording, terminal.progress)
    view = view_options(options)
    first, *others = (_side(operand, side) for operand, side in zip(operands, taken, strict=True))
    found = tuple(compare(first, other, view) for other in others)
    if path is None:
        terminal.table(render.diff_text(found, view, terminal.width, terminal.color))
    else:
        render.write(found, path, view, "diff")
        terminal.note(f"wrote {path}")
    _say_what_happened(operands, sides, taken, terminal)
    return _exit_code(found, taken, options.fail_on, view.min_share, terminal)


def _side(operand: str, taken: Taken) -> Side:
    return Side(operand, taken.profiles)


def _say_what_happened(operands: list[str], sides: list[list[Target]], taken: list[Taken], terminal: Terminal) -> None:
    for operand, targets, side in zip(operands, sides, taken, strict=True):
        if side.exit_code:
            terminal.note(f"{operand} ended with exit code {side.exit_code}")
        if side.disturbed and targets[0].kind != "saved" and len(side.profiles) > 1:
            terminal.note(
                f"{operand}: other programs took the processor in {side.disturbed} of {len(side.profiles)} runs, "
                "so small changes may not be found; a quieter machine or more --runs helps"
            )


def _exit_code(
    found: Sequence[Comparison], taken: Sequence[Taken], limit: float | None, least: float, terminal: Terminal
) -> int:
    code = next((side.exit_code for side in taken if side.exit_code), 0)
    sentences = [sentence for one in found for sentence in broken(one, limit, least)] if limit is not None else []
    for sentence in sentences:
        terminal.say(f"cyprof: {sentence}\n")
    return code or (BROKEN if sentences else 0)


def _limit(text: str) -> float:
    word, _, value = text.partition("=")
    if word != "slower" or not value:
        raise ArgumentTypeError(f"{text!r} is no limit such as slower=10%")
    return percent(value)


def _parser() -> Parser:
    parser = Parser(
        "diff",
        "Compares two or more sides, each a recording or a program: calls, self and total time of each function before and\n"
        "after, and a verdict that says what is noise. The first side is held against each other one. A program with\n"
        "arguments of its own stands in quotes; what follows -- goes to all. Programs run silently, in turns.",
        [
            "cyprof diff before.cyprof after.cyprof",
            "cyprof diff 'before-*.cyprof' 'after-*.cyprof'      several recordings a side",
            'cyprof diff "train.py --stage cdef" "train.py --stage adam" --runs 5 -- --epochs 1',
            "cyprof diff old.py new.py --runs 5 -o diff.html",
            "cyprof diff old.py new.py --runs 5 --fail-on slower=10%   for continuous integration",
        ],
        operand="A B [C ...]",
    )
    add_output(parser, f"write a file in place of the table: {' '.join(render.suffixes('diff'))}")
    parser.add_argument("--runs", type=positive, default=1, metavar="N", help="run each program N times, in turns (default: 1)")
    meaning = "exit with 1 when a function is slower by so much, beyond noise"
    parser.add_argument("--fail-on", type=_limit, metavar="slower=PERCENT", help=meaning)
    parser.add_argument("--lines", action="store_true", help="compare lines as well")
    add_recording(parser)
    add_selection(parser, threads=False)
    parser.add_argument("--top", type=positive, metavar="N", help="only the first N rows")
    add_general(parser)
    return parser
