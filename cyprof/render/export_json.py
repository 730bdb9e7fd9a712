"""Schema `cyprof/1`: the whole profile for other programs. Times in seconds. Keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..model import NO_PARENT, Profile
from ..view import ViewOptions
from .registry import renderer

SCHEMA = "cyprof/1"
Record = dict[str, Any]


@renderer(".json", description="everything, for other programs (schema cyprof/1)", groups=("export", "lines", "stats"))
def json_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The profile as JSON, one record a line. Options do not change it: nothing is folded or left out."""
    del options
    head = f'{{"schema": {_text(SCHEMA)},\n"run": {_text(_run(profile))}'
    arrays = {
        "functions": _functions(profile),
        "calls": _calls(profile),
        "tree": _tree(profile),
        "lines": _lines(profile),
        "threads": _threads(profile),
        "processes": _processes(profile),
        "unseen": _unseen(profile),
        "notes": profile.notes,
        "sources": _sources(profile),
    }
    if profile.members:
        arrays["members"] = _members(profile)
    parts = [head]
    for key, records in arrays.items():
        body = ",\n".join(_text(record) for record in records)
        parts.append(f'"{key}": [\n{body}]' if body else f'"{key}": []')
    return (",\n".join(parts) + "}\n").encode()


def _text(value: object) -> str:
    # ASCII only: a lone surrogate in a name or path could not be encoded otherwise.
    return json.dumps(value)


def seconds(ns: int) -> float:
    """Nanoseconds as seconds."""
    return round(ns / 1e9, 9)


def _run(profile: Profile) -> Record:
    run = profile.run
    overhead = sum(profile.node_times.raw) - sum(profile.node_times.best)
    cost = run.cost
    record = {
        "target": run.target,
        "argv": list(run.argv),
        "exit_code": run.exit_code,
        "wall_s": seconds(run.wall_ns),
        "cpu_s": seconds(run.cpu_ns),
        "python": run.python,
        "cython": run.cython,
        "clock": run.clock,
        "probe_ns": cost.call_ns,
        "events": run.events,
        "overhead_s": seconds(max(0, overhead)),
        "samples": run.samples,
        "started": run.started,
        "with_lines": run.with_lines,
        "cost_ns": {
            "call": cost.call_ns,
            "python": cost.python_ns,
            "builtin": cost.builtin_ns,
            "clock": cost.clock_ns,
            "line": cost.line_ns,
        },
    }
    # Then the tree has two levels, and the totals of its roots are what is missing to a function's own.
    return record if profile.has_paths else {**record, "has_paths": False}


def _functions(profile: Profile) -> Iterable[Record]:
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        record = {
            "id": function.id,
            "module": function.module,
            "name": function.name,
            "file": function.file,
            "line": function.line,
            "kind": function.kind,
            "nogil": function.nogil,
            "calls": times.calls,
            "primitive_calls": times.primitive_calls,
            "resumes": times.resumes,
            "raised": times.raised,
            "self_s": seconds(times.self_ns),
            "total_s": seconds(times.total_ns),
            "wait_s": seconds(times.wait_ns),
            "self_min_s": seconds(times.self_min_ns),
            "raw_self_s": seconds(times.raw_self_ns),
            "language": function.language,
        }
        if function.id in profile.line_slowdown:
            record["baseline_per_call_s"] = profile.baseline_ns_per_call[function.id] / 1e9
            record["line_slowdown"] = round(profile.line_slowdown[function.id], 3)
        if function.id in profile.remarks:
            record["remark"] = profile.remarks[function.id]
        yield record


def _calls(profile: Profile) -> Iterable[Record]:
    for edge in profile.edges:
        yield {
            "caller": edge.caller,
            "callee": edge.callee,
            "calls": edge.calls,
            "total_s": seconds(edge.total_ns),
        }


def _tree(profile: Profile) -> Iterable[Record]:
    tree, own, totals = profile.tree, profile.node_times.best, profile.node_totals
    for node, parent in enumerate(tree.parent):
        yield {
            "id": node,
            "parent": None if parent == NO_PARENT else parent,
            "function": tree.function[node],
            "thread": tree.thread[node],
            "calls": tree.calls[node],
            "resumes": tree.resumes[node],
            "self_s": seconds(own[node]),
            "total_s": seconds(totals[node]),
            "wait_s": seconds(min(tree.wait_ns[node], own[node])),
            "call_line": tree.call_line[node],
        }


def _lines(profile: Profile) -> Iterable[Record]:
    for line in profile.line_times:
        yield {
            "file": line.file,
            "line": line.line,
            "function": line.function,
            "hits": line.hits,
            "self_s": seconds(line.self_ns),
            "total_s": seconds(line.total_ns),
            "score": profile.scores.get(line.file, {}).get(line.line),
        }


def _threads(profile: Profile) -> Iterable[Record]:
    for thread in profile.threads:
        yield {
            "id": thread.id,
            "name": thread.name,
            "cpu_s": seconds(thread.cpu_ns),
            "wall_s": seconds(thread.wall_ns),
            "process": thread.process,
            "merged": thread.merged,
        }


def _processes(profile: Profile) -> Iterable[Record]:
    for process in profile.processes:
        record = {
            "id": process.id,
            "pid": process.pid,
            "name": profile.process_title(process) if profile.members else process.name,
            "parent_pid": process.parent_pid,
            "cpu_s": seconds(process.cpu_ns),
            "wall_s": seconds(process.wall_ns),
            "end": process.end,
        }
        yield {**record, "member": process.member} if profile.members else record


def _members(profile: Profile) -> Iterable[Record]:
    for number, (title, member) in enumerate(zip(profile.member_titles, profile.members, strict=True)):
        run = member.run
        yield {
            "id": number,
            "name": title,
            "target": run.target,
            "argv": list(run.argv),
            "host": run.host,
            "exit_code": run.exit_code,
            "wall_s": seconds(run.wall_ns),
            "cpu_s": seconds(run.cpu_ns),
            "python": run.python,
            "started": run.started,
            "notes": member.notes,
        }


def _unseen(profile: Profile) -> Iterable[Record]:
    for unseen in profile.unseen:
        yield {"module": unseen.module, "reason": unseen.reason, "hint": unseen.hint, "share": unseen.share}


def _sources(profile: Profile) -> Iterable[Record]:
    for file, digest in sorted(profile.source_hashes.items()):
        yield {"file": file, "sha256": digest}
