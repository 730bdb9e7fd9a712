"""The stock profilers, run for real: cProfile and line_profiler on a scratch build with Cython's own tracing."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..build import spare
from ..build.cache import kept_in_use
from ..build.overlay import Overlay
from ..cython.hook import ProbeOptions
from ..cython.report import ModuleReport
from ..errors import CollectError
from ..model import Calls, Engine, Entry, Function, Key, Kind, Profile, Run, from_stats
from ..target import Target
from .convert import now
from .probes import build, lost, run
from .registry import Progress, Recording, RecordOptions, collector
from .stock_words import blind_spots

_FUSED = re.compile(r"__pyx_fuse_(\d+)")
_OWN_FILES = str(Path(__file__).resolve().parent.parent) + os.sep


@collector("cprofile")
def cprofile(target: Target, options: RecordOptions, progress: Progress) -> Recording:
    """Runs the target under cProfile. Raises BuildError and CollectError."""
    with kept_in_use():
        return _record("cprofile", ProbeOptions(stock=True), _stats_of_cprofile, target, options, progress)


@collector("line_profiler")
def line_profiler(target: Target, options: RecordOptions, progress: Progress) -> Recording:
    """Runs the target under line_profiler. Raises BuildError and CollectError."""
    if importlib.util.find_spec("line_profiler") is None:
        raise CollectError(
            "line_profiler is not installed for this Python.", f"Install it: {sys.executable} -m pip install line_profiler."
        )
    probes = ProbeOptions(lines=True, stock=True)
    with kept_in_use():
        return _record("line_profiler", probes, _stats_of_line_profiler, target, options, progress)


Stats = dict[Key, Entry]


def _record(
    engine: str,
    probes: ProbeOptions,
    stats_of: Callable[[dict[str, Any]], Stats],
    target: Target,
    options: RecordOptions,
    progress: Progress,
) -> Recording:
    overlay = build(target, probes, progress)
    progress(f"running {target.title} under {engine}")
    started = now()
    with run(target, options, overlay, f"cyprof.target.engine_{engine}") as (exit_code, result):
        if "raw" not in result:
            return Recording(None, exit_code, lost(exit_code))
        raw = result["raw"]
        modules = Overlay.from_json(result["overlay"]).modules
        reports = [ModuleReport.read(Path(modules[name].report)) for name in result["loaded"] if name in modules]
    facts = Run(
        target=target.title,
        argv=(*target.words, *target.args),
        exit_code=exit_code,
        wall_ns=raw["wall_ns"],
        cpu_ns=raw["cpu_ns"],
        python=".".join(map(str, sys.version_info[:3])),
        cython=", ".join(sorted({report.cython for report in reports})),
        clock="",
        started=started,
        with_lines=probes.lines,
    )
    functions, tree, stated = from_stats(stats_of(raw), _Names(reports, raw.get("modules", {})).function)
    blind_spot = blind_spots(engine, sys.version_info[:2], bool(reports))
    by = Engine(engine, blind_spot, raw.get("timings", {}), raw.get("unit", 1e-9))
    return Recording(Profile(facts, functions, tree, stated=stated, engine=by), exit_code, remark=spare.remark())


def _stats_of_cprofile(raw: dict[str, Any]) -> Stats:
    """All but the functions of cyprof's finder, which is at work while the program imports."""
    stats = {key: row for key, row in raw["stats"].items() if not key[0].startswith(_OWN_FILES)}
    return {
        key: Entry(_calls(*sums), {caller: _calls(*row) for caller, row in callers.items() if caller in stats})
        for key, (*sums, callers) in stats.items()
    }


def _stats_of_line_profiler(raw: dict[str, Any]) -> Stats:
    """For each function the time of its lines, which holds what they call; calls it cannot say."""
    return {
        key: Entry(Calls(0, 0, 0.0, sum(time for _, _, time in rows) * raw["unit"]))
        for key, rows in raw["timings"].items()
        if rows
    }


def _calls(primitive: int, calls: int, own: float, total: float) -> Calls:
    return Calls(calls, primitive, own, total)


class _Names:
    """From the file, line and name that a profiler gives to a function, with what the builds know of Cython's."""

    def __init__(self, reports: list[ModuleReport], modules: dict[str, str]) -> None:
        self._modules = modules
        self._owners: dict[str, str] = {}
        self._known: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for report in reports:
            self._owners |= {file: report.module for file in report.files if file not in self._owners}
            self._owners[report.source] = report.module
            for one in report.functions:
                self._known.setdefault((one["file"], one["line"]), []).append(one)

    def function(self, number: int, key: Key) -> Function:
        """The function. Of a Cython function the author's own name and kind are known."""
        file, line, name = key
        source = self._source(file)
        if not source:
            kind: Kind = "module" if name == "<module>" else "python"
            return Function(number, self._modules.get(file, ""), name, file if Path(file).is_file() else "", line, kind)
        module = self._owners[source]
        known = self._known.get((source, line), [])
        one = _chosen(known, name)
        if one is not None:
            return Function(number, module, one["name"], source, line, one["kind"], one["nogil"], "cython")
        kind = known[0]["kind"] if known else "module"
        return Function(number, module, name if known else "<module>", source, line, kind, False, "cython")

    def _source(self, file: str) -> str:
        """The source of a built module by its name in the code, which is relative to where Cython was told to begin; "" for
        any other file."""
        if file in self._owners:
            return file
        return next((source for source in self._owners if source.endswith(f"/{file}")), "")


def _chosen(known: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """Which of the functions that begin on one line is meant: specialisations of a fused one are numbered, or named."""
    if len(known) == 1:
        return known[0]
    fused = _FUSED.match(name)
    if fused is not None and int(fused[1]) < len(known):
        return known[int(fused[1])]
    return next((one for one in known if _last(one["name"]) == _last(name)), None)


def _last(name: str) -> str:
    return name.rpartition(".")[2]
