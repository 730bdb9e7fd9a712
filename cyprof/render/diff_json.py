"""A comparison for other programs: schema `cyprof-diff/1`. Times in seconds; keys are only ever added."""

from __future__ import annotations

import json
from typing import Any

from ..view import ViewOptions
from ..view.compare import Comparison, LineChange, Ratio, Row, Times, line_changes
from ..view.compare.sides import Runs
from ..view.compare.words import kind_of
from .export_json import seconds
from .line_sources import source_text_of
from .registry import renderer

SCHEMA = "cyprof-diff/1"
Record = dict[str, Any]


@renderer(".json", description="everything, for other programs (schema cyprof-diff/1)", groups=("diff",))
def json_bytes(found: tuple[Comparison, ...], options: ViewOptions) -> bytes:
    """The comparisons of the first side with each other one."""
    del options
    return (json.dumps({"schema": SCHEMA, "comparisons": [_comparison(one) for one in found]}, indent=1) + "\n").encode()


def _comparison(found: Comparison) -> Record:
    return {
        "before": _side(found.before, found.paces[0]),
        "after": _side(found.after, found.paces[1]),
        "pace": {"ratio": _ratio(found.pace), "change": found.pace_change},
        "shuffled": found.shuffled,
        "left_out": found.left_out,
        "functions": [_row(row) for row in found.rows],
        "lines": [_line(line) for line in line_changes(found, source_text_of)],
        "notes": list(found.notes),
    }


def _side(runs: Runs, paces: tuple[float, ...]) -> Record:
    every = [profile.run for profile in runs.side.profiles]
    return {
        "name": runs.side.name,
        "runs": [{"wall_s": seconds(run.wall_ns), "python": run.python, "started": run.started} for run in every],
        "paces": [round(pace, 5) for pace in paces],
    }


def _row(row: Row) -> Record:
    function = row.function
    return {
        "module": function.module if function else "",
        "name": row.title,
        "file": function.file if function else "",
        "line": function.line if function else 0,
        "kind": kind_of(row),
        "before": _times(row.before),
        "after": _times(row.after),
        "ratio": _ratio(row.ratio),
        "change": row.change,
        "verdict": row.verdict,
        "why": row.why,
    }


def _times(times: Times | None) -> Record | None:
    if times is None:
        return None
    return {"calls": times.calls, "self_s": seconds(times.self_ns), "total_s": seconds(times.total_ns)}


def _ratio(ratio: Ratio | None) -> Record | None:
    if ratio is None:
        return None
    return {"value": round(ratio.value, 5), "low": round(ratio.low, 5), "high": round(ratio.high, 5)}


def _line(line: LineChange) -> Record:
    return {
        "file": line.function.file,
        "function": line.function.name,
        "before": _line_side(line.before_line, line.before_hits, line.before_ns),
        "after": _line_side(line.after_line, line.after_hits, line.after_ns),
        "ratio": _ratio(line.ratio),
        "verdict": line.change,
        "text": line.text,
    }


def _line_side(number: int, hits: int | None, ns: int | None) -> Record | None:
    return {"line": number, "hits": hits, "self_s": seconds(ns or 0)} if number and hits is not None else None
