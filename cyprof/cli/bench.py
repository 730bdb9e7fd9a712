"""`cyprof bench`: variants of one computation, side by side."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

from .. import render
from ..bench.run import BenchOptions, run
from ..errors import UsageError
from ..view import ViewOptions
from .config import defaults
from .options import add_general, add_output, percent
from .parser import Parser
from .terminal import Terminal

FAILED = 1
"""The exit code when a variant raised or computes something else."""


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    options, operands, args = parser.read_many(words, defaults())
    terminal.quiet = options.quiet
    if len(operands) != 1 or args:
        raise UsageError("cyprof bench takes one file of variants, without arguments.", "See cyprof bench --help.")
    path: Path | None = options.output
    if path is not None:
        render.check_output(path, "bench")
    chosen = BenchOptions(options.limit, options.precision / 100, options.simulate)
    bench = run(Path(operands[0]), chosen, terminal.progress)
    if path is None:
        terminal.table(render.bench_text(bench, terminal.width, terminal.color))
    else:
        render.write(bench, path, ViewOptions(), "bench")
        terminal.note(f"wrote {path}")
    return FAILED if any(variant.error for variant in bench.variants) else 0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def _parser() -> Parser:
    parser = Parser(
        "bench",
        "Times variants of one computation side by side, in turns, until their ratios are known; checks that they agree; and\n"
        "gathers evidence for why one is slower: memory, page faults, bytes a second, instructions, branches, vector code.\n"
        "FILE marks functions with @variant, and what makes their data with @setup, both from cyprof.bench.",
        ["cyprof bench examples/relu_derivative.py", "cyprof bench variants.py --limit 20 -o bench.json"],
        operand="FILE",
    )
    add_output(parser, f"write a file in place of the table: {' '.join(render.suffixes('bench'))}")
    parser.add_argument("--limit", type=_seconds, default=60.0, metavar="SECONDS", help="end the timing by then (default: 60)")
    meaning = "end it when every ratio is known so well (default: 2)"
    parser.add_argument("--precision", type=percent, default=2.0, metavar="PERCENT", help=meaning)
    never = "do not count instructions and branches with valgrind, which takes long, where the kernel gives no counters"
    parser.add_argument("--no-simulate", action="store_false", dest="simulate", help=never)
    add_general(parser)
    return parser
