"""`cyprof doctor`: what can and cannot be profiled here, and the command that mends it."""

from __future__ import annotations

from collections.abc import Sequence

from ..doctor import examine, subject_of
from ..render.doctor_json import doctor_json
from ..render.doctor_text import doctor_text
from .options import add_general
from .parser import Parser
from .terminal import Terminal

TRACING_LEFT_ON = 1


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code: with --check, 1 when tracing was left on; else 0."""
    options = _parser().parse_args(list(words))
    terminal.quiet = options.quiet
    subject = subject_of(options.what, options.module)
    found = examine(subject, measure=not options.no_measure, progress=terminal.progress)
    terminal.table(doctor_json(found) if options.json else doctor_text(found, terminal.width, terminal.color))
    return TRACING_LEFT_ON if options.check and found.tracing_left_on else 0


def _parser() -> Parser:
    parser = Parser(
        "doctor",
        "Looks at what cyprof needs (compiler, headers, Cython, Graphviz, fonts, cache) and, for a program or an installed\n"
        "package, at each of its extension modules: made by which Cython, debug information, where its source is, and\n"
        "whether Cython's own tracing was left on, which makes every call slower even when nobody profiles.\n"
        "Names the one command that mends each thing. Changes and runs nothing of yours.",
        [
            "cyprof doctor                                the environment",
            "cyprof doctor train.py                       and the extension modules in the script's folder",
            "cyprof doctor numpy                          and those of an installed distribution",
            "cyprof doctor . --check --quiet              for continuous integration",
        ],
        operand="[SCRIPT | FOLDER | NAME]",
    )
    what = "a script, a folder, an extension module, or the name of an installed distribution; without it, the environment"
    parser.add_argument("what", nargs="?", metavar="WHAT", help=what)
    parser.add_argument("-m", dest="module", metavar="MODULE", help="the package of a module, found as python -m finds it")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 when tracing was left on: a built module traces, or a source or build file always asks for it",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    costs = "tell what tracing costs a call as it was measured elsewhere, instead of building and timing a small module here"
    parser.add_argument("--no-measure", action="store_true", help=costs)
    add_general(parser)
    return parser
