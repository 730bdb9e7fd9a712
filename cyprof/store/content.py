"""A profile as plain dicts and lists, and back. On the way back every value is checked: type, range, length, index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from ..model import (
    KINDS,
    NO_PARENT,
    CallTree,
    Function,
    LineRecords,
    Member,
    ProbeCost,
    Process,
    Profile,
    Run,
    Stated,
    Thread,
    Unseen,
)

_MOST = 1 << 63
_LANGUAGES = get_args(get_type_hints(Function)["language"])
_CLOCKS = ("auto", "exact", "sampled", "")  # none where another tool took the times
_FUNCTION_COLUMNS = ("module", "name", "file", "line", "kind", "nogil", "language")
_STATED_COLUMNS = ("primitive_calls", "total_ns")
_THREAD_COLUMNS = ("id", "name", "cpu_ns", "wall_ns", "merged", "process")
_PROCESS_COLUMNS = ("id", "pid", "name", "parent_pid", "cpu_ns", "wall_ns", "end", "member")
_UNSEEN_COLUMNS = ("module", "reason", "hint", "share")


class ContentError(ValueError):
    """A value is not what it must be; says which."""


def to_content(profile: Profile) -> dict[str, Any]:
    """The profile as JSON-ready values; each list of records as parallel lists."""
    return {
        "run": _run_content(profile.run),
        "functions": _columns(profile.functions, _FUNCTION_COLUMNS),
        "tree": profile.tree.columns(),
        "lines": profile.lines.columns(),
        "files": profile.files,
        "threads": _columns(profile.threads, _THREAD_COLUMNS),
        "processes": _columns(profile.processes, _PROCESS_COLUMNS),
        "members": [_member_content(member) for member in profile.members],
        "unseen": _columns(profile.unseen, _UNSEEN_COLUMNS),
        "scores": {file: sorted(of.items()) for file, of in profile.scores.items()},
        "source_hashes": profile.source_hashes,
        "notes": profile.notes,
        "settled_ns": profile.settled_ns,
        "baselines": sorted(profile.baseline_ns_per_call.items()),
        "stated": None if profile.stated is None else {name: getattr(profile.stated, name) for name in _STATED_COLUMNS},
        "remarks": sorted(profile.remarks.items()),
    }


def _run_content(run: Run) -> dict[str, Any]:
    values = {field.name: getattr(run, field.name) for field in fields(Run)}
    return {
        **values,
        "argv": list(run.argv),
        "cost": {field.name: getattr(run.cost, field.name) for field in fields(ProbeCost)},
    }


def _member_content(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "run": _run_content(member.run),
        "sources": member.sources,
        "unseen": _columns(member.unseen, _UNSEEN_COLUMNS),
        "notes": member.notes,
    }


def from_content(content: Any) -> Profile:
    """The profile that `to_content` described. Raises ContentError."""
    top = _mapping(content, "the profile")
    functions = _functions(_part(top, "functions"))
    threads = _threads(_part(top, "threads"))
    tree = _tree(_part(top, "tree"), len(functions), {thread.id for thread in threads})
    files = _list(_need(top, "files"), "files", _text)
    processes = _processes(_mapping(top.get("processes", {name: [] for name in _PROCESS_COLUMNS}), "processes"))
    return Profile(
        run=_run(_part(top, "run")),
        functions=functions,
        tree=tree,
        lines=_lines(_part(top, "lines"), len(tree), len(files)),
        files=files,
        threads=threads,
        processes=processes,
        members=_members(top.get("members", []), tree, threads, processes),
        unseen=_unseen(_part(top, "unseen")),
        scores=_scores(_part(top, "scores")),
        source_hashes=_hashes(_part(top, "source_hashes")),
        notes=_list(_need(top, "notes"), "notes", _text),
        settled_ns=_settled(top.get("settled_ns", []), len(tree)),
        baseline_ns_per_call=_baselines(top.get("baselines", []), len(functions)),
        stated=_stated(top.get("stated"), len(tree)),
        remarks=_remarks(top.get("remarks", []), len(functions)),
    )


def _stated(values: Any, nodes: int) -> Stated | None:
    if values is None:
        return None
    columns = _number_columns(_mapping(values, "stated"), "stated", _STATED_COLUMNS, dict.fromkeys(_STATED_COLUMNS, -_MOST))
    if len(columns["total_ns"]) != nodes:
        raise ContentError("stated does not have one value for each node")
    return Stated(**columns)


def _remarks(values: Any, functions: int) -> dict[int, str]:
    remarks = {_integer(function, "remarks"): _text(remark, "remarks") for function, remark in _pairs(values, "remarks")}
    _below(list(remarks), functions, "remarks")
    return remarks


def _pairs(values: Any, where: str) -> list[list[Any]]:
    if not isinstance(values, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in values):
        raise ContentError(f"{where} is no list of pairs")
    return values


def _settled(values: Any, nodes: int) -> list[int]:
    settled = _list(values, "settled_ns", lambda value, where: _integer(value, where, least=-1))
    if settled and len(settled) != nodes:
        raise ContentError("settled_ns does not have one value for each node")
    return settled


def _baselines(values: Any, functions: int) -> dict[int, float]:
    pairs = _pairs(values, "baselines")
    baselines = {_integer(function, "baselines"): _number(time, "baselines") for function, time in pairs}
    _below(list(baselines), functions, "baselines")
    return baselines


def _columns(records: Iterable[object], names: tuple[str, ...]) -> dict[str, list[Any]]:
    rows = list(records)
    return {name: [getattr(row, name) for row in rows] for name in names}


def _run(values: dict[str, Any]) -> Run:
    cost = _part(values, "cost")
    clock = _text(_need(values, "clock"), "clock")
    if clock not in _CLOCKS:
        raise ContentError(f"the clock is {clock!r}")
    return Run(
        target=_text(_need(values, "target"), "target"),
        argv=tuple(_list(_need(values, "argv"), "argv", _text)),
        exit_code=_integer(_need(values, "exit_code"), "exit_code", least=-_MOST),
        wall_ns=_integer(_need(values, "wall_ns"), "wall_ns"),
        cpu_ns=_integer(_need(values, "cpu_ns"), "cpu_ns"),
        python=_text(_need(values, "python"), "python"),
        cython=_text(_need(values, "cython"), "cython"),
        clock=clock,
        events=_integer(_need(values, "events"), "events"),
        samples=_integer(_need(values, "samples"), "samples"),
        started=_text(_need(values, "started"), "started"),
        cost=ProbeCost(**{field.name: _number(_need(cost, field.name), field.name) for field in fields(ProbeCost)}),
        with_lines=_truth(_need(values, "with_lines"), "with_lines"),
        place=_text(values.get("place", ""), "place"),
        host=_text(values.get("host", ""), "host"),
    )


def _functions(values: dict[str, Any]) -> list[Function]:
    checks: Mapping[str, Callable[[Any, str], Any]]
    checks = {"line": _integer, "kind": _kind, "nogil": _truth, "language": _language}
    rows = _rows(values, "functions", _FUNCTION_COLUMNS, checks)
    return [Function(index, *row) for index, row in enumerate(rows)]


def _threads(values: dict[str, Any]) -> list[Thread]:
    checks = {name: _integer for name in _THREAD_COLUMNS if name != "name"}
    # Files of the first releases have one process, and each thread on its own.
    alone = [0] * len(_list(_need(values, "id"), "threads.id", _integer))
    values = {"merged": alone, "process": alone, **values}
    threads = [Thread(*row) for row in _rows(values, "threads", _THREAD_COLUMNS, checks)]
    if len({thread.id for thread in threads}) < len(threads):
        raise ContentError("two threads have the same id")
    return threads


def _processes(values: dict[str, Any]) -> list[Process]:
    checks = {name: _integer for name in _PROCESS_COLUMNS if name not in ("name", "end")}
    # Files of the first releases were merged from nothing.
    values = {"member": [0] * len(_list(_need(values, "id"), "processes.id", _integer)), **values}
    return [Process(*row) for row in _rows(values, "processes", _PROCESS_COLUMNS, checks)]


def _members(values: Any, tree: CallTree, threads: list[Thread], processes: list[Process]) -> list[Member]:
    members = _list(values, "members", _member)
    if not members:
        return []
    _below([process.member for process in processes], len(members), "processes.member")
    if len({process.id for process in processes}) < len(processes):
        raise ContentError("two processes have the same id")
    known = {process.id for process in processes}
    if not known.issuperset(thread.process for thread in threads) or (len(tree) and not threads):
        raise ContentError("a thread belongs to no process")
    of_thread = {thread.id: thread.process for thread in threads}
    of_process = {process.id: process.member for process in processes}
    of_node = [of_process[of_thread[thread]] for thread in tree.thread]
    if any(parent != NO_PARENT and of_node[parent] != of_node[node] for node, parent in enumerate(tree.parent)):
        raise ContentError("a call leads from one member to another")
    return members


def _member(value: Any, where: str) -> Member:
    values = _mapping(value, where)
    return Member(
        name=_text(_need(values, "name"), where),
        run=_run(_part(values, "run")),
        sources=_hashes(_part(values, "sources")),
        unseen=_unseen(_part(values, "unseen")),
        notes=_list(_need(values, "notes"), where, _text),
    )


def _hashes(values: dict[str, Any]) -> dict[str, str]:
    return {file: _text(digest, "source_hashes") for file, digest in values.items()}


def _unseen(values: dict[str, Any]) -> list[Unseen]:
    return [Unseen(*row) for row in _rows(values, "unseen", _UNSEEN_COLUMNS, {"share": _share})]


def _tree(values: dict[str, Any], functions: int, threads: set[int]) -> CallTree:
    names = tuple(field.name for field in fields(CallTree))
    columns = _number_columns(values, "tree", names, {"parent": NO_PARENT})
    for node, parent in enumerate(columns["parent"]):
        if parent >= node:
            raise ContentError(f"node {node} names parent {parent}, which does not stand before it")
    _below(columns["function"], functions, "tree.function")
    if threads and not threads.issuperset(columns["thread"]):
        raise ContentError("the tree names a thread that is not listed")
    return CallTree(**columns)


def _lines(values: dict[str, Any], nodes: int, files: int) -> LineRecords:
    columns = _number_columns(values, "lines", tuple(field.name for field in fields(LineRecords)), {})
    _below(columns["node"], nodes, "lines.node")
    _below(columns["file"], files, "lines.file")
    return LineRecords(**columns)


def _scores(values: dict[str, Any]) -> dict[str, dict[int, int]]:
    scores: dict[str, dict[int, int]] = {}
    for file, pairs in values.items():
        if not isinstance(pairs, list):
            raise ContentError("scores is no list of lines")
        of_file = scores[file] = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                raise ContentError("scores holds something else than (line, score)")
            of_file[_integer(pair[0], "scores")] = _integer(pair[1], "scores")
    return scores


def _rows(
    values: dict[str, Any], where: str, names: tuple[str, ...], checks: Mapping[str, Callable[[Any, str], Any]]
) -> list[tuple[Any, ...]]:
    """Parallel lists as rows; each value goes through its check, a column without one holds texts."""
    columns = [_list(_need(values, name), f"{where}.{name}", checks.get(name, _text)) for name in names]
    _same_length(columns, where)
    return list(zip(*columns, strict=True))


def _number_columns(values: dict[str, Any], where: str, names: tuple[str, ...], least: dict[str, int]) -> dict[str, list[int]]:
    columns = {}
    for name in names:
        column = _need(values, name)
        if not isinstance(column, list) or not all(type(value) is int for value in column):
            raise ContentError(f"{where}.{name} is no list of whole numbers")
        if column and not (least.get(name, 0) <= min(column) and max(column) < _MOST):
            raise ContentError(f"a number in {where}.{name} is out of range")
        columns[name] = column
    _same_length(list(columns.values()), where)
    return columns


def _same_length(columns: list[list[Any]], where: str) -> None:
    if len({len(column) for column in columns}) > 1:
        raise ContentError(f"the lists in {where} differ in length")


def _below(column: list[int], limit: int, where: str) -> None:
    if column and max(column) >= limit:
        raise ContentError(f"{where} points at number {max(column)} of {limit}")


def _need(values: dict[str, Any], key: str) -> Any:
    if key not in values:
        raise ContentError(f"{key} is missing")
    return values[key]


def _part(values: dict[str, Any], key: str) -> dict[str, Any]:
    return _mapping(_need(values, key), key)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ContentError(f"{where} is no mapping")
    return value


def _list(value: Any, where: str, check: Callable[[Any, str], Any]) -> list[Any]:
    if not isinstance(value, list):
        raise ContentError(f"{where} is no list")
    return [check(item, where) for item in value]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ContentError(f"{where} holds something else than text")
    return value


def _truth(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ContentError(f"{where} holds something else than true or false")
    return value


def _integer(value: Any, where: str, least: int = 0) -> int:
    if type(value) is not int or not least <= value < _MOST:
        raise ContentError(f"{where} holds something else than a whole number in range")
    return value


def _number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < _MOST or not math.isfinite(value):
        raise ContentError(f"{where} holds something else than a number in range")
    return float(value)


def _share(value: Any, where: str) -> float | None:
    return None if value is None else _number(value, where)


def _kind(value: Any, where: str) -> str:
    if value not in KINDS:
        raise ContentError(f"{where} holds a kind that is not known")
    return str(value)


def _language(value: Any, where: str) -> str:
    if value not in _LANGUAGES:
        raise ContentError(f"{where} holds a language that is not known")
    return str(value)
