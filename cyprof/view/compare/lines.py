"""The comparison line by line, for sides that were recorded with lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import median
from typing import Literal

from ...model import Function, Profile
from ..line_rows import SourceProvider
from .noise import Change, Series, judge
from .sides import FLOOR_NS, Key, Runs
from .table import Comparison, Ratio

Texts = Callable[[Profile], SourceProvider]
"""Gives, for a profile, the sources as they were when it ran."""


LineVerdict = Literal["faster", "slower", "same", "new", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class LineChange:
    """One line of a function on both sides: 0 stands for a line number, and None for hits and ns, where a side lacks it. With
    too few runs to shuffle what both sides have is `unknown`."""

    function: Function
    before_line: int
    after_line: int
    text: str
    before_hits: int | None
    after_hits: int | None
    before_ns: int | None
    after_ns: int | None
    ratio: Ratio | None
    change: LineVerdict


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one function on one side: by line number the hits and self times of every run, and the text."""

    hits: dict[int, list[int]]
    own: dict[int, list[int]]
    texts: dict[int, str]
    first: int


def line_changes(found: Comparison, texts: Texts) -> list[LineChange]:
    """The lines of all functions that both sides have, ranked: changes first. Empty when lines were not recorded.
    Nearly all of a line's time is sampled, so that runs too few to shuffle give no verdict.

    Lines are paired by their text where both sources can be read, else by their distance from the function's first line.
    """
    tables = [_by_function(runs, texts) for runs in (found.before, found.after)]
    entries = []
    for row in found.rows:
        if row.function is None or row.before_key is None or row.after_key is None:
            continue
        before, after = tables[0].get(row.before_key), tables[1].get(row.after_key)
        if before and after:
            entries += [(row.function, old, new, before, after) for old, new in _paired(before, after)]
    both = [entry for entry in entries if entry[1] and entry[2]]
    judgement = judge([_series(old, new, before, after, found) for _, old, new, before, after in both])
    changes = {id(entry): change for entry, change in zip(both, judgement.changes, strict=True)}
    lines = []
    for entry in entries:
        function, old, new, before, after = entry
        change = changes.get(id(entry))
        direction: LineVerdict = "new" if not old else "gone"
        ratio = None
        if change is not None:
            half = min(change.half_width, 20.0)
            ratio = Ratio(*map(math.exp, (change.log_ratio, change.log_ratio - half, change.log_ratio + half)))
            direction = _direction(change, shuffled=judgement.shuffled)
        text = after.texts.get(new) or before.texts.get(old) or ""
        lines.append(
            LineChange(function, old, new, text, _middle(before.hits, old), _middle(after.hits, new),
                       _middle(before.own, old), _middle(after.own, new), ratio, direction)
        )  # fmt: skip
    return sorted(lines, key=_rank)


def _direction(change: Change, *, shuffled: bool) -> LineVerdict:
    if not shuffled:
        return "unknown"
    if not change.changed:
        return "same"
    return "slower" if change.log_ratio > 0 else "faster"


def _rank(line: LineChange) -> tuple[int, int, int]:
    before, after = line.before_ns or 0, line.after_ns or 0
    same = line.change == "same"
    return 2 if same else line.change == "unknown", 0 if same else -abs(after - before), -max(before, after)


def _middle(values: dict[int, list[int]], line: int) -> int | None:
    return round(median(values[line])) if line in values else None


def _series(old: int, new: int, before: _Lines, after: _Lines, found: Comparison) -> Series:
    def logs(own: list[int], paces: tuple[float, ...]) -> tuple[float, ...]:
        factors = paces or (1.0,) * len(own)
        return tuple(math.log(max(ns / pace, FLOOR_NS)) for ns, pace in zip(own, factors, strict=True))

    sampled = (*before.own[old], *after.own[new])
    # Lines are timed by the watcher alone, a look each ms.
    error = math.sqrt(2 * 1e6 / max(1e6, sum(sampled) / len(sampled)))
    return Series(logs(before.own[old], found.paces[0]), logs(after.own[new], found.paces[1]), error, paces=False)


def _by_function(runs: Runs, texts: Texts) -> dict[Key, _Lines]:
    tables: dict[Key, _Lines] = {}
    count = len(runs.side.profiles)
    for run, (profile, keys, contexts) in enumerate(zip(runs.side.profiles, runs.keys, runs.contexts, strict=True)):
        if not profile.run.with_lines:
            return {}
        key_of = {entity.function.id: keys[entity.index] for entity in contexts.entities if entity.function is not None}
        source = texts(profile)
        for line in profile.line_times:
            key = key_of.get(line.function)
            if key is None or line.file != profile.functions[line.function].file:
                continue
            table = tables.setdefault(key, _Lines({}, {}, {}, profile.functions[line.function].line))
            table.hits.setdefault(line.line, [0] * count)[run] += line.hits
            table.own.setdefault(line.line, [0] * count)[run] += line.self_ns
            text = source(line.file)
            if text.lines and not text.changed and line.line <= len(text.lines):
                table.texts.setdefault(line.line, text.lines[line.line - 1])
    return tables


def _paired(before: _Lines, after: _Lines) -> list[tuple[int, int]]:
    old, new = sorted(before.hits), sorted(after.hits)
    if not before.texts or not after.texts:
        shift = after.first - before.first
        both = Counter(line + shift for line in old)
        return [(line, line + shift if line + shift in after.hits else 0) for line in old] + [
            (0, line) for line in new if line not in both
        ]
    first, second = ([side.texts.get(n, "").strip() for n in lines] for side, lines in ((before, old), (after, new)))
    matcher = SequenceMatcher(None, first, second)
    found: list[tuple[int, int]] = []
    for what, i1, i2, j1, j2 in matcher.get_opcodes():
        if what == "equal" or (what == "replace" and i2 - i1 == j2 - j1):
            found += zip(old[i1:i2], new[j1:j2], strict=True)
        else:
            found += [(line, 0) for line in old[i1:i2]] + [(0, line) for line in new[j1:j2]]
    return found
