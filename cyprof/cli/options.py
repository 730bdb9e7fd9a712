"""The options that commands share, and what they mean to the rest of cyprof."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, Namespace
from argparse import _ActionsContainer as ArgumentContainer
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..collect import RecordOptions
from ..view import ViewOptions
from ..view.table import SORTS
from .parser import Parser

CLOCKS = ("auto", "exact", "sampled")
STYLES = {"cyprof": "graph", "pycallgraph2": "pycallgraph2"}
"""The looks of a call graph, and the group of renderers that draws each."""


def percent(text: str) -> float:
    """A percentage from 0 to 100, with or without its sign. Raises ArgumentTypeError."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"{text!r} is no percentage from 0 to 100")
    return value


def positive(text: str) -> int:
    """A whole number above 0. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def size(text: str) -> int:
    """A size in bytes: a number, with kB, MB or GB behind it or as bytes. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*(?:([kmg])i?b?|b)?", text.strip(), re.ASCII | re.IGNORECASE)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no size, such as 500MB or 2GB")
    return int(float(found[1]) * {"k": 10**3, "m": 10**6, "g": 10**9}.get((found[2] or "").lower(), 1))


def days(text: str) -> float:
    """A number of days. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)d?", text, re.ASCII)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no number of days, such as 30")
    return float(found[1])


def add_target(parser: Parser, recorded: str = "a recorded FILE.cyprof, a FILE.prof of cProfile's, ") -> None:
    """-m and -c, the other forms of TARGET. `recorded` names the files that the command takes in place of a program."""
    group = parser.add_argument_group(f"TARGET is a script, {recorded}or")
    group.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    group.add_argument("-c", dest="code", metavar="CODE", help="run code, as python -c does")


def add_output(parser: Parser, meaning: str) -> None:
    """-o."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=meaning)


def add_style(parser: Parser) -> None:
    """--style."""
    meaning = "the look of the picture: cyprof (default), or pycallgraph2, drawn with that package's own classes"
    parser.add_argument("--style", choices=list(STYLES), default="cyprof", help=meaning)


def add_engine(parser: Parser, stock: str) -> None:
    """--engine. `stock` is the profiler that the command can run in place of cyprof's own probes."""
    meaning = f"who records: probes (default), or {stock} itself, on modules built with Cython's own tracing"
    parser.add_argument("--engine", default="probes", metavar="NAME", help=meaning)
    parser.set_defaults(stock=stock)


def add_format(parser: Parser, names: Sequence[str]) -> None:
    """--format, where the suffix of -o shall not say it."""
    meaning = f"what is written, whatever the file's suffix: {' '.join(names)}"
    parser.add_argument("--format", metavar="NAME", help=meaning)


def add_recording(parser: Parser) -> None:
    """How a run is recorded."""
    group = parser.add_argument_group("recording")
    meaning = "exact reads the clock at each call, sampled leaves it to a thread, auto (default) does both in turn"
    group.add_argument("--clock", choices=CLOCKS, default="auto", help=meaning)
    again = "run the program a second time, its output thrown away, without the probes whose own cost leaves times open"
    group.add_argument("--calibrate", action="store_true", help=again)
    functions = "record functions only, as graph and stats do: line probes make loops slower"
    group.add_argument("--no-lines", action="store_true", help=functions)
    alone = "record the program's own process only, none that it starts"
    group.add_argument("--no-children", action="store_false", dest="children", help=alone)
    package = "see into an installed package too, or into the project at PATH: it is built with probes, once"
    group.add_argument("--package", action="append", metavar="NAME[=PATH]", help=package)


def add_member(parser: ArgumentContainer) -> None:
    """--rank."""
    meaning = "of a merged recording only one rank, worker or run, by its number or name"
    parser.add_argument("--rank", metavar="NAME", help=meaning)


def add_patterns(parser: Parser, only: str) -> ArgumentContainer:
    """--only and --hide, and the group they stand in."""
    meaning = "PATTERN is a module, a function's name, or module:name, in which * and ? fit anything."
    group = parser.add_argument_group("what is shown", meaning)
    group.add_argument("--only", action="append", metavar="PATTERN", help=only)
    group.add_argument("--hide", action="append", metavar="PATTERN", help="leave out functions that match")
    return group


def add_selection(parser: Parser, *, threads: bool = True) -> None:
    """Which functions are shown; `threads` where a command can tell threads apart."""
    group = add_patterns(parser, "only Python and Cython functions that match")
    kept = "keep functions that match, however small their share"
    group.add_argument("--show", action="append", metavar="PATTERN", help=kept)
    least = "leave out functions of others that take less of the time (default: 0.5)"
    group.add_argument("--min-share", type=percent, default=0.5, metavar="PERCENT", help=least)
    group.add_argument("--all", action="store_true", dest="everything", help="leave nothing out")
    if threads:
        group.add_argument("--threads", action="store_true", help="show processes and threads apart")


def add_table(parser: Parser) -> None:
    """How a table is laid out."""
    group = parser.add_argument_group("the table")
    columns = f"one of {', '.join(SORTS)} (default: self)"
    group.add_argument("--sort", choices=list(SORTS), default="self", metavar="COLUMN", help=columns)
    add_top(group, "only the first N rows")


def add_top(parser: ArgumentContainer, meaning: str) -> None:
    """--top, and --explain beside it."""
    parser.add_argument("--top", type=positive, metavar="N", help=meaning)
    parser.add_argument("--explain", action="store_true", help="say what each column means")


def add_general(parser: Parser) -> None:
    """Options that every command has."""
    group = parser.add_argument_group("general")
    group.add_argument("--quiet", action="store_true", help="no progress and no notes")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error, and compilers' whole output")


def record_options(options: Namespace, *, lines: bool, progress: bool, silent: bool = False) -> RecordOptions:
    """How the options want a run recorded."""
    return RecordOptions(
        clock=getattr(options, "clock", "auto"),
        lines=lines and not options.no_lines,
        only=tuple(getattr(options, "only", None) or ()),
        progress=progress,
        calibrate=getattr(options, "calibrate", False),
        children=getattr(options, "children", True),
        packages=tuple(getattr(options, "package", None) or ()),
        silent=silent,
    )


def view_options(options: Namespace) -> ViewOptions:
    """How the options want a profile shown; what a command does not offer stays as by default."""
    given: dict[str, Any] = {name: getattr(options, name) for name in _VIEW if getattr(options, name, None) is not None}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return ViewOptions(**given)


_VIEW = ("min_share", "hide", "show", "everything", "sort", "top", "explain", "only", "threads")


def setting_checks() -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """The keys of [tool.cyprof]: for each the option's name in a namespace, and a check that raises ArgumentTypeError."""
    return {
        "package": ("package", _patterns),
        "only": ("only", _patterns),
        "hide": ("hide", _patterns),
        "show": ("show", _patterns),
        "clock": ("clock", _one_of(CLOCKS)),
        "style": ("style", _one_of(tuple(STYLES))),
        "sort": ("sort", _one_of(tuple(SORTS))),
        "min-share": ("min_share", _number(percent)),
        "top": ("top", _number(positive)),
        "all": ("everything", _truth),
        "threads": ("threads", _truth),
        "calibrate": ("calibrate", _truth),
        "children": ("children", _truth),
        "explain": ("explain", _truth),
        "quiet": ("quiet", _truth),
    }


def _patterns(value: Any) -> list[str]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise ArgumentTypeError("it takes a pattern or a list of patterns")
    return patterns


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ArgumentTypeError("it is true or false")
    return value


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise ArgumentTypeError(f"it is one of {', '.join(words)}")
        return str(value)

    return check


def _number(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ArgumentTypeError("it is a number")
        return parse(str(value))

    return check
