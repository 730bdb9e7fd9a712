"""`cyprof COMMAND ...`: picks the command, and turns every end into an exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence

from .. import __version__
from ..build import spare
from ..errors import CyprofError, UsageError
from ..target import die_by
from .terminal import Terminal

COMMANDS = {
    "graph": "draw the call graph of a run",
    "lines": "hits and time of each line of the Cython functions",
    "stats": "table of functions, as pstats prints it",
    "run": "record only, and look later",
    "merge": "the recordings of several ranks, workers or runs as one",
    "export": "write a recorded run for another tool",
    "diff": "what became faster or slower, and what is noise",
    "bench": "variants of one computation, side by side, and why one is slower",
    "compare-engines": "the probes, cProfile and line_profiler on one program, side by side",
    "build": "build a project or an installed package with probes",
    "cache": "what was built: list, size, clear, limit",
    "doctor": "what can be profiled here, what mends the rest, and where tracing was left on",
}

_HELP = """\
usage: cyprof COMMAND [OPTIONS] TARGET [-- ARGUMENT ...]

Shows where the time goes in a Python program with Cython in it. Nothing in the program or its build is changed:
Cython modules are rebuilt with probes in a cache, and the program runs on those.

commands:
{commands}

TARGET is a script, `-m module`, `-c code`, a recorded FILE.cyprof, or a FILE.prof that cProfile wrote. What follows `--` goes
to the program.

examples:
  cyprof graph train.py -o graph.png              a picture of what calls what, and where the time goes
  cyprof graph train.py -o graph.svg -- --epochs 2     the program gets --epochs 2
  cyprof stats -m mypackage.main                  a table in the terminal
  cyprof run train.py -o run.cyprof               record once ...
  cyprof graph run.cyprof -o graph.png            ... and look as often as you like

cyprof COMMAND --help tells a command's options. Also: cyprof --version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: the program's own when it is not 0, else cyprof's (0, 2 to 5).

    A program's death by a signal is repeated on this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    terminal = Terminal(debug="--debug" in words[: words.index("--")] if "--" in words else "--debug" in words)
    try:
        with spare.removed_at_end():
            code = _dispatch(words, terminal)
        terminal.flush()
    except CyprofError as error:
        terminal.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        code = -signal.SIGINT
    except BrokenPipeError:
        terminal.abandon_stdout()
        return 0
    except Exception as error:
        return _crashed(error, terminal)
    if code < 0:
        terminal.flush()
        die_by(-code)
        return 128 - code
    return code


def _dispatch(words: list[str], terminal: Terminal) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        text = _HELP.format(commands="\n".join(f"  {name:<15} {summary}" for name, summary in COMMANDS.items()))
        terminal.table(text) if words else terminal.say(text)
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        terminal.table(f"cyprof {__version__} (Python {'.'.join(map(str, sys.version_info[:3]))})\n")
        return 0
    command = words[0]
    if command not in COMMANDS:
        raise _no_command(command, words)
    module = importlib.import_module(f"{__package__}.{command.replace('-', '_')}")
    code = module.main(words[1:], terminal)
    assert isinstance(code, int)
    return code


def _no_command(word: str, words: list[str]) -> UsageError:
    from difflib import get_close_matches

    if word.startswith("-"):
        command = next((other for other in words if other in COMMANDS), "graph")
        return UsageError(f"{word} stands before any command.", f"The command comes first: cyprof {command} {word} ...")
    similar = get_close_matches(word, COMMANDS, n=1)
    if similar:
        return UsageError(f"cyprof has no command {word}.", f"Did you mean cyprof {similar[0]}?")
    if os.path.exists(word):  # noqa: PTH110 - pathlib would refuse some words
        return UsageError(f"{word} is no command.", f"Say what to do with it: cyprof graph {word}")
    return UsageError(f"cyprof has no command {word}.", f"There are {', '.join(COMMANDS)}; see cyprof --help.")


def _crashed(error: Exception, terminal: Terminal) -> int:
    """An error nobody foresaw: no user can act on a traceback, but whoever mends it needs one."""
    if terminal.debug:
        traceback.print_exception(error)
    terminal.error(
        CyprofError(
            f"This is a fault in cyprof: {type(error).__name__}: {error}",
            "Please report it with what the same command prints with --debug.",
        )
    )
    return CyprofError.exit_code
