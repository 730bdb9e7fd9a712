"""line_profiler's own file: `python -m line_profiler out.lprof` prints it, cdef functions included.

The file is a pickle of its `LineStats`: for each (file, first line, name) a list of (line, hits, time). The printer
shows the block of source that begins at the first line, and drops what lies outside without a word. Where a block does not
hold all lines of a function (a module body, a generator expression), the rest goes into further entries of the same name.
"""

from __future__ import annotations

import inspect
import linecache
import pickle
import tokenize
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..model import Function, LineTimes, Profile
from ..view import ViewOptions
from ..view.classify import matches
from .registry import renderer

UNIT = 1e-9
Key = tuple[str, int, str]
Timing = tuple[int, int, int]
Block = Callable[[str, int], int | None]
"""Gives the last line that the printer shows of the block that begins on a line, None where it cannot show any."""


@renderer(".lprof", description="for line_profiler: python -m line_profiler FILE", groups=("lines", "export"))
def lprof_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """All functions with lines, by self time, module bodies last. Of the options `hide` and `only` apply."""
    from line_profiler._line_profiler import LineStats

    return pickle.dumps(LineStats(timings(profile, options, printed_block()), UNIT), protocol=4)


def timings(profile: Profile, options: ViewOptions, block: Block) -> dict[Key, list[Timing]]:
    """Hits and total time in ns of each line, by what line_profiler tells functions apart by. Functions that share a file,
    line and name, as lambdas on one line do, are one to it."""
    records: dict[tuple[int, str], list[LineTimes]] = defaultdict(list)
    for time in profile.line_times:
        records[time.function, time.file].append(time)
    times = profile.function_times
    found: dict[Key, dict[int, tuple[int, int]]] = {}

    def rank(key: tuple[int, str]) -> tuple[bool, int, int, str]:
        # A module body may take many entries, which must not stand between the functions.
        return profile.functions[key[0]].kind == "module", -times[key[0]].self_ns, *key

    for number, file in sorted(records, key=rank):
        lines = records[number, file]
        function = profile.functions[number]
        if matches(function, options.hide) or (options.only and not matches(function, options.only)):
            continue
        first = function.line if file == function.file and function.line else lines[0].line
        rows = _rows(lines, first, times[number].calls)
        for key, part in _blocks(function, file, min(first, rows[0][0]), rows, block):
            sums = found.setdefault(key, {})
            for line, hits, ns in part:
                before = sums.get(line, (0, 0))
                sums[line] = (before[0] + hits, before[1] + ns)
    return {key: [(line, *sums[line]) for line in sorted(sums)] for key, sums in found.items()}


def _rows(lines: list[LineTimes], first: int, calls: int) -> list[Timing]:
    """The lines in line_profiler's form. It divides by hits: what was spent before the first line counts as reached by each
    call, and time on a line without hits goes there too."""
    rows = [(time.line, time.hits, time.total_ns) for time in lines if time.hits and time.line != first]
    entry_hits = sum(time.hits for time in lines if time.line == first)
    entry_ns = sum(time.total_ns for time in lines if time.line == first or not time.hits)
    if entry_hits or entry_ns:
        rows.append((first, entry_hits or max(1, calls), entry_ns))
    return sorted(rows) or [(first, max(1, calls), 0)]


def _blocks(function: Function, file: str, first: int, rows: list[Timing], block: Block) -> list[tuple[Key, list[Timing]]]:
    """The entries that together show every row."""
    entries: list[tuple[Key, list[Timing]]] = []
    while rows:
        last = block(file, first)
        if last is None:
            # Its printer would stop there with a traceback; a file it cannot find is printed by line number.
            return [*entries, ((f"{file} (no source that Python can read)", first, function.name), rows)]
        shown = [row for row in rows if first <= row[0] <= last]
        if shown:
            entries.append(((file, first, function.name), shown))
            rows = [row for row in rows if row[0] > last]
        first = rows[0][0] if rows else 0
    return entries


def printed_block() -> Block:
    """What the installed line_profiler prints of the sources on this machine."""
    from line_profiler import line_profiler

    known: dict[tuple[str, int], int | None] = {}
    get_block: Any = getattr(line_profiler, "get_code_block", _plain_block)

    def block(file: str, first: int) -> int | None:
        if not Path(file).is_file():
            return 2**31  # printed by number, all of it
        if (file, first) not in known:
            try:
                size = len(get_block(file, first))
            except (SyntaxError, tokenize.TokenError, ValueError, IndexError):
                size = 0
            known[file, first] = first + size - 1 if size else None
        return known[file, first]

    return block


def _plain_block(file: str, first: int) -> list[str]:
    return inspect.getblock(linecache.getlines(file)[first - 1 :])
