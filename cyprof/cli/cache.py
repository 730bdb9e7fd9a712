"""`cyprof cache`: what was built, how much room it takes, and what may go."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence

from ..build.cache import Cache
from ..build.housekeeping import DAY, Cleared, Housekeeper
from ..errors import UsageError
from ..render.cache_text import builds_json, builds_text
from ..view.units import count_text, size_text
from .options import add_general, days, size
from .parser import Parser
from .terminal import Terminal


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(list(words))
    terminal.quiet = options.quiet
    _ACTIONS[options.action](Housekeeper(Cache.open().root), options, terminal)
    return 0


def _list(keeper: Housekeeper, options: Namespace, terminal: Terminal) -> None:
    _no_value(options)
    builds = keeper.builds()
    if options.json:
        terminal.table(builds_json(keeper.root, builds, keeper.size(), keeper.limit))
        return
    terminal.table(builds_text(builds, terminal.width, terminal.color))
    total = sum(build.size for build in builds)
    terminal.note(f"{count_text(len(builds), 'build')}, {size_text(total)}, in {keeper.root}")


def _size(keeper: Housekeeper, options: Namespace, terminal: Terminal) -> None:
    _no_value(options)
    terminal.table(f"{size_text(keeper.size())}  {keeper.root}\n")


def _clear(keeper: Housekeeper, options: Namespace, terminal: Terminal) -> None:
    _no_value(options)
    terminal.note(_removed(keeper.clear((options.older_than or 0.0) * DAY)))


def _limit(keeper: Housekeeper, options: Namespace, terminal: Terminal) -> None:
    if options.value is None:
        terminal.table(
            f"{size_text(keeper.limit)}: above it, builds unused for a day are removed, the longest unused first;"
            " builds unused for 60 days always are.\n"
        )
        return
    keeper.set_limit(options.value)
    terminal.note(f"the limit is {size_text(keeper.limit)} now; {_removed(keeper.shrink())}")


def _removed(cleared: Cleared) -> str:
    stayed = (
        f"; {count_text(cleared.in_use, 'build')} stayed, which a program that is running may use" if cleared.in_use else ""
    )
    return f"removed {count_text(cleared.builds, 'build')}, {size_text(cleared.size)}{stayed}"


def _no_value(options: Namespace) -> None:
    if options.value is not None:
        raise UsageError(f"cyprof cache {options.action} takes no value.", "A size goes with limit: cyprof cache limit 2GB")


_ACTIONS: dict[str, Callable[[Housekeeper, Namespace, Terminal], None]] = {
    "list": _list,
    "size": _size,
    "clear": _clear,
    "limit": _limit,
}


def _parser() -> Parser:
    parser = Parser(
        "cache",
        "The folder in which probed builds are kept (CYPROF_CACHE_DIR, else ~/.cache/cyprof).\n\n"
        "  list    what was built, for which sources, when it was built and last used, and its size\n"
        "  size    how much room all of it takes\n"
        "  clear   remove builds; what a running program uses stays\n"
        "  limit   show the size above which the longest unused builds go; limit SIZE sets it",
        [
            "cyprof cache list",
            "cyprof cache clear --older-than 30           builds not used for 30 days",
            "cyprof cache limit 500MB",
        ],
        operand="list | size | clear | limit [SIZE]",
    )
    parser.add_argument("action", choices=list(_ACTIONS), metavar="ACTION", help="one of list, size, clear, limit")
    parser.add_argument("value", nargs="?", type=size, metavar="SIZE", help="for limit: 500MB, 2GB")
    parser.add_argument("--older-than", type=days, metavar="DAYS", help="for clear: only builds not used for so many days")
    parser.add_argument("--json", action="store_true", help="for list: as JSON")
    add_general(parser)
    return parser
