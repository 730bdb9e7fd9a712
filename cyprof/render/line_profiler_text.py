"""What line_profiler itself recorded, in its own words: its table, and its own file."""

from __future__ import annotations

import io
import pickle

from ..model import LineTimings, Profile
from ..view import ViewOptions
from ..view.classify import matches
from .registry import renderer

GROUP = "line_profiler"


@renderer(".txt", description="line_profiler's own table", groups=(GROUP,))
def text_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """line_profiler's table as plain text."""
    return line_profiler_text(profile, options).encode()


@renderer(".lprof", description="line_profiler's own file", groups=(GROUP,))
def lprof_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """A pickle of line_profiler's LineStats, as `kernprof` writes it."""
    from line_profiler.line_profiler import LineStats

    timings, unit = _chosen(profile, options)
    return pickle.dumps(LineStats(timings, unit), protocol=4)


def line_profiler_text(profile: Profile, options: ViewOptions) -> str:
    """The table that line_profiler prints, functions that took the most time last. Of the options `hide` and `only` apply."""
    from line_profiler import line_profiler

    timings, unit = _chosen(profile, options)
    if not timings:
        return "line_profiler saw no function run.\n"
    text = io.StringIO()
    line_profiler.show_text(timings, unit, stream=text, stripzeros=True, sort=True)
    return text.getvalue()


def _chosen(profile: Profile, options: ViewOptions) -> tuple[LineTimings, float]:
    """line_profiler's timings less the functions that the options leave out, and the seconds of their unit."""
    assert profile.engine is not None
    ran = {key: rows for key, rows in profile.engine.timings.items() if rows}
    shown = {
        key: rows
        for (key, rows), function in zip(ran.items(), profile.functions, strict=True)
        if not matches(function, options.hide) and (not options.only or matches(function, options.only))
    }
    return shown, profile.engine.unit
