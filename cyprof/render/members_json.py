"""Each function over the members of a merged profile, for other programs: schema `cyprof-ranks/1`. Keys are only ever added."""

from __future__ import annotations

import json
from typing import Any

from ..model import Profile
from ..view import MemberRow, Spread, SpreadRow, ViewOptions, spread_table
from .export_json import seconds
from .registry import renderer

SCHEMA = "cyprof-ranks/1"
Record = dict[str, Any]


@renderer(".json", description="the table for other programs (schema cyprof-ranks/1)", groups=("ranks",))
def members_json(profile: Profile, options: ViewOptions) -> bytes:
    """The members, and the functions over them. Times in seconds."""
    table = spread_table(profile, options)
    value = {
        "schema": SCHEMA,
        "noun": table.noun,
        "members": [_member(member) for member in table.members],
        "functions": [_row(row, table.members) for row in table.rows],
        "notes": list(table.notes),
    }
    return (json.dumps(value, indent=1) + "\n").encode()


def _member(member: MemberRow) -> Record:
    return {
        "name": member.title,
        "target": member.target,
        "host": member.host,
        "exit_code": member.exit_code,
        "wall_s": seconds(member.wall_ns),
        "cpu_s": seconds(member.cpu_ns),
        "self_s": seconds(member.self_ns),
        "wait_s": seconds(member.wait_ns),
        "calls": member.calls,
        "processes": member.processes,
    }


def _row(row: SpreadRow, members: tuple[MemberRow, ...]) -> Record:
    function = row.function
    return {
        "module": function.module,
        "name": function.name,
        "file": function.file,
        "line": function.line,
        "kind": function.kind,
        "ran": row.ran,
        "calls": _spread(row.calls, members, 1),
        "self_s": _spread(row.self_ns, members, 1e9),
        "total_s": _spread(row.total_ns, members, 1e9),
    }


def _spread(spread: Spread, members: tuple[MemberRow, ...], unit: float) -> Record:
    def value(number: float) -> float:
        return number if unit == 1 else round(number / unit, 9)

    return {
        "min": value(spread.least),
        "median": value(spread.median),
        "mean": value(spread.mean),
        "max": value(spread.greatest),
        "at": members[spread.at].title,
        "max_by_mean": round(spread.ratio, 5),
        "each": [value(number) for number in spread.values],
    }
