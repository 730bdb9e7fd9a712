"""From the runtime's raw recording and the reports of the modules that ran to a Profile."""

from __future__ import annotations

import datetime
import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..build.overlay import Overlay
from ..cython.report import ModuleReport
from ..model import NO_PARENT, CallTree, Function, LineRecords, ProbeCost, Process, Profile, Run, Thread
from .unseen import unprobed_packages, unseen_of_reports

_STDLIB = Path(os.__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run besides its recording. `cost` is what the runtime's calibrate() gave; `place` and `host` say
    which part of a program on many machines it was, and on which of them."""

    target: str
    argv: tuple[str, ...]
    exit_code: int
    started: str
    clock: str
    with_lines: bool
    cost: dict[str, float]
    place: str = ""
    host: str = ""


def now() -> str:
    """The time of day as a run's `started` has it."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def to_profile(result: dict[str, Any], facts: Facts) -> Profile:
    """The profile of a run. `result` is what the program's process wrote: the raw recording under "raw", the overlay it
    ended with, the probed modules it loaded, the other compiled modules it loaded."""
    raw = result["raw"]
    paths = _Paths()
    functions, numbers = _functions(raw["functions"], paths)
    tree, nodes = _tree(raw, numbers, merged=len(functions) < len(numbers) or raw.get("code_made_anew", False))
    lines, files = _lines(raw, nodes, paths)
    reports = _reports(result)
    overlay = Overlay.from_json(result["overlay"])
    profile = Profile(
        run=_run(raw, facts, reports),
        functions=functions,
        tree=tree,
        lines=lines,
        files=files,
        threads=_threads(raw, tree),
        processes=[Process(*row) for row in raw.get("processes", ())],
        scores={paths.of(file): scores for report in reports for file, scores in report.scores.items()},
        source_hashes=_hashes({function.file for function in functions} | set(files)),
        notes=[*raw.get("notes", ()), *overlay.notes, *_overridden(reports)],
    )
    profile.unseen += unseen_of_reports(reports, overlay)
    profile.unseen += unprobed_packages(profile, result["extensions"])
    return profile


class _Paths:
    """File names as the recording has them made absolute; "" for what is no file."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"": ""}

    def of(self, name: str) -> str:
        """The absolute path of an existing file, or ""."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._find(name)
        return known

    @staticmethod
    def _find(name: str) -> str:
        if name.startswith("<frozen ") and name.endswith(">"):
            stem = _STDLIB.joinpath(*name[len("<frozen ") : -1].split("."))
            candidates = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
            return next((str(path) for path in candidates if path.is_file()), "")
        path = os.path.abspath(name)  # noqa: PTH100 - not resolved: a link's name is what the user knows
        return path if Path(path).is_file() else ""


def _functions(rows: list[tuple[Any, ...]], paths: _Paths) -> tuple[list[Function], list[int]]:
    """The functions, each once however often its code was made anew, and the id for each row."""
    ids: dict[tuple[Any, ...], int] = {}
    functions: list[Function] = []
    numbers = []
    for module, name, file, line, kind, nogil, language in rows:
        path = paths.of(file)
        # Without a file, what tells apart is the name the code was compiled under: "<string>", "<stdin>".
        key = (module, name, path or file, line, kind, nogil, language)
        if key not in ids:
            ids[key] = len(functions)
            functions.append(Function(len(functions), module, name, path, line, kind, bool(nogil), language))
        numbers.append(ids[key])
    return functions, numbers


def _tree(raw: dict[str, Any], numbers: list[int], merged: bool) -> tuple[CallTree, list[int]]:
    """The call tree, and the node in it for each node of the recording: where functions were merged, call paths are."""
    names = [field.name for field in fields(CallTree)]
    columns = {name: list(raw[name]) for name in names}
    columns["function"] = [numbers[function] for function in columns["function"]]
    count = len(columns["parent"])
    if not merged:
        return CallTree(**columns), list(range(count))
    tree = CallTree()
    found: dict[tuple[int, int, int, int], int] = {}
    nodes: list[int] = []
    sums = ("calls", "exact_calls", "resumes", "raised", "self_ns", "wait_ns")
    for row in range(count):
        values = {name: columns[name][row] for name in names}
        parent = values["parent"]
        values["parent"] = NO_PARENT if parent == NO_PARENT else nodes[parent]
        key = (values["parent"], values["function"], values["thread"], values["call_line"])
        node = found.get(key)
        if node is None:
            node = found[key] = tree.add(**values)
        else:
            for name in sums:
                getattr(tree, name)[node] += values[name]
        nodes.append(node)
    return tree, nodes


def _lines(raw: dict[str, Any], nodes: list[int], paths: _Paths) -> tuple[LineRecords, list[str]]:
    """The line records, and the files they point into. Lines of what is no file are left out."""
    lines = LineRecords()
    files: dict[str, int] = {}
    columns = (raw[f"line_{name}"] for name in ("node", "file", "line", "hits", "self_ns"))
    for node, file, line, hits, self_ns in zip(*columns, strict=True):
        path = paths.of(raw["files"][file])
        if path:
            lines.add(nodes[node], files.setdefault(path, len(files)), line, hits, self_ns)
    return lines, list(files)


def _threads(raw: dict[str, Any], tree: CallTree) -> list[Thread]:
    threads = [Thread(number, name, max(0, cpu), max(0, wall), *more) for number, name, cpu, wall, *more in raw["threads"]]
    known = {thread.id for thread in threads}
    return threads + [Thread(number, f"thread {number}") for number in sorted(set(tree.thread) - known)]


def _reports(result: dict[str, Any]) -> list[ModuleReport]:
    """The reports of the probed modules that were loaded."""
    modules = Overlay.from_json(result["overlay"]).modules
    paths = [Path(modules[name].report) for name in result["loaded"] if name in modules]
    return [ModuleReport.read(path) for path in paths if path.is_file()]


def _run(raw: dict[str, Any], facts: Facts, reports: list[ModuleReport]) -> Run:
    counted = sum(raw["calls"]) + sum(raw["resumes"])
    return Run(
        target=facts.target,
        argv=facts.argv,
        exit_code=facts.exit_code,
        wall_ns=max(0, raw["wall_ns"]),
        cpu_ns=max(0, raw["cpu_ns"]),
        python=".".join(map(str, sys.version_info[:3])),
        cython=", ".join(sorted({report.cython for report in reports})),
        clock=facts.clock,
        events=raw.get("events", 2 * counted + sum(raw["line_hits"])),
        samples=raw["samples"],
        started=facts.started,
        cost=ProbeCost(**{field.name: max(0.0, facts.cost.get(field.name, 0.0)) for field in fields(ProbeCost)}),
        with_lines=facts.with_lines,
        place=facts.place,
        host=facts.host,
    )


def _overridden(reports: list[ModuleReport]) -> list[str]:
    return [
        f"{report.source}: the file-level directive {one['directive']}={one['value']} was overridden, so that its "
        f"functions are seen; a decorator on a function is respected."
        for report in reports
        for one in report.overridden
    ]


def _hashes(files: set[str], digest: Callable[[bytes], Any] = hashlib.sha256) -> dict[str, str]:
    """sha256 of each file as it is now, right after the run."""
    hashes = {}
    for file in sorted(files - {""}):
        try:
            hashes[file] = str(digest(Path(file).read_bytes()).hexdigest())
        except OSError:
            continue  # removed since it was looked up: there is no source to compare with, and none to quote
    return hashes
