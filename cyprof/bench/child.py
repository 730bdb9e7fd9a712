"""The process that a bench file runs in: `python child.py REQUEST`, where REQUEST is a file of JSON and so is the result."""

from __future__ import annotations

import gc
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

_LEAST_S = 0.005
_FEWEST_ROUNDS = 7
_COPY_BYTES = 1 << 28


def main() -> None:
    """Does what the request says and writes the result beside it."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path[0] = str(Path(request["file"]).resolve().parent)
    sys.path.append(request["root"])
    sys.argv = [request["file"]]
    tasks = {"measure": _measured, "count": _counted, "reach": _reached}
    result = tasks[request["task"]](request)
    Path(request["result"]).write_text(json.dumps(result), encoding="utf-8")


def _load(request: dict[str, Any], *, probed: bool = False) -> tuple[list[Any], Callable[[float], tuple[Any, ...]], Any]:
    """The variants, what makes their arguments, and the overlay with the extensions that were compiled for them."""
    import_module("cyprof.probe._runtime")
    overlay = import_module("cyprof.build.overlay")
    # Without any probe, but for the question who calls whom: what is timed is what the compiler made of the source.
    probes = {"lines": False, "only": [], "without": [] if probed else ["*"]}
    overlay.install(overlay.Overlay({}, probes), build_missing=True)
    bench = import_module("cyprof.bench")
    namespace = {"__name__": "__main__", "__file__": request["file"]}
    code = compile(Path(request["file"]).read_bytes(), request["file"], "exec", dont_inherit=True)
    exec(code, namespace)

    def arguments(scale: float) -> tuple[Any, ...]:
        if not bench.setups:
            return ()
        function = bench.setups[-1]
        takes_scale = "scale" in inspect.signature(function).parameters
        made = function(scale=scale) if takes_scale else function()
        return made if isinstance(made, tuple) else (made,)

    return bench.variants, arguments, overlay


def _compiled(overlay: Any) -> list[Any]:
    """What was built for the modules that were imported."""
    current = overlay.current()
    return [current.modules[name] for name in overlay.loaded() if name in current.modules]


def _counted(request: dict[str, Any]) -> dict[str, Any]:
    """Calls variants on small data while a simulator looks on: each in forked processes of its own, one for each number of
    calls, so that what differs between two of them is those calls."""
    variants, arguments, _ = _load(request)
    made = arguments(request["scale"])
    measures = import_module("cyprof.bench.measures")
    processes = [
        {"variant": index, "calls": calls, "process": _fork(partial(variants[index].function, *made), calls)}
        for index in request["variants"]
        for calls in request["calls"]
    ]
    return {"elements": max((int(array.size) for array in measures.arrays(made)), default=0), "processes": processes}


def _fork(call: Callable[[], Any], times: int) -> int:
    """The id of a process that made the calls and has ended, 0 where it failed."""
    process = os.fork()
    if process:
        _, status = os.waitpid(process, 0)
        return process if status == 0 else 0
    code = 1
    try:
        for _ in range(times):
            call()
        code = 0
    finally:
        os._exit(code)


def _reached(request: dict[str, Any]) -> dict[str, Any]:
    """Which Cython functions each variant enters, by a recording of one call on small data."""
    variants, arguments, overlay = _load(request, probed=True)
    made = arguments(request["scale"])
    live = import_module("cyprof.collect.live")
    reached = []
    for index in request["variants"]:
        with live.profile(lines=False) as recording:
            variants[index].function(*made)
        entered = [one for one in recording.profile.functions if one.language == "cython" and one.kind != "module"]
        reached.append({"variant": index, "functions": [[one.file, one.line, one.name] for one in entered]})
    return {"reached": reached, "reports": [module.report for module in _compiled(overlay)]}


def _measured(request: dict[str, Any]) -> dict[str, Any]:
    variants, arguments, overlay = _load(request)
    built = [(module.extension, module.source) for module in _compiled(overlay)]
    if not variants:
        return {"variants": []}
    made = arguments(1.0)
    told = [_told(variant, made) for variant in variants]
    first = next((index for index, one in enumerate(told) if not one["error"]), None)
    if first is None:
        return {"variants": told, "built": built}
    _compare(variants, told, made)
    running = [index for index, one in enumerate(told) if not one["error"]]
    calls = [partial(variants[index].function, *made) for index in running]
    timed = _time(calls, request)
    for number, index in enumerate(running):
        told[index]["times"] = [row[number] for row in timed["rounds"]]
    return {"variants": told, "built": built, "roof": timed["roof"], "disturbed": timed["disturbed"]}


def _told(variant: Any, made: tuple[Any, ...]) -> dict[str, Any]:
    """The evidence of one variant, from a few calls; the first of them warms it up."""
    measures = import_module("cyprof.bench.measures")
    told: dict[str, Any] = {"title": variant.title, "error": "", "times": []}
    try:
        result = variant.function(*made)
        told["result_bytes"] = measures.array_bytes(result)
        told["elements"] = max((int(array.size) for array in measures.arrays([*made, result])), default=0)
        told["minimum_bytes"] = measures.array_bytes(list(made)) + told["result_bytes"]
        del result

        def call() -> None:
            variant.function(*made)

        told["peak_bytes"] = measures.peak_bytes(call)
        told["faults"], told["system_s"], told["user_s"] = measures.usage(call)
        try:
            told["counters"] = measures.counters(call)
        except measures.NoCountersError as error:
            told["no_counters"] = str(error)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        told["error"] = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return told


def _compare(variants: list[Any], told: list[dict[str, Any]], made: tuple[Any, ...]) -> None:
    """Notes where results differ from the first variant's that ran."""
    measures = import_module("cyprof.bench.measures")
    first: Any = None
    for variant, one in zip(variants, told, strict=True):
        if one["error"]:
            continue
        result = variant.function(*made)
        if first is None:
            first = result
        one["disagrees"] = measures.disagreement(result, first, made) if first is not result else ""


def _time(calls: Sequence[Callable[[], Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Times of every call in each round (`rounds`), the copy roof in bytes a second (`roof`), and which part of the time other
    programs had the processor (`disturbed`). In turns, forwards and backwards, until every ratio to the first is known well
    enough or the time is up."""
    result = import_module("cyprof.bench.result")
    seconds = import_module("cyprof.bench.measures").seconds
    repeats = [max(1, int(_LEAST_S / max(1e-9, seconds(call, 1)[0]))) for call in calls]
    copy, moved = _copier()
    rounds: list[list[float]] = []
    fastest_copy = min(seconds(copy, 1)[0] for _ in range(_FEWEST_ROUNDS))
    kept_off = 0.0
    gc.disable()
    start = time.perf_counter()
    while len(rounds) < 2 or time.perf_counter() < start + request["limit"]:
        row = [0.0] * len(calls)
        order = range(len(calls)) if len(rounds) % 2 == 0 else range(len(calls) - 1, -1, -1)
        for index in order:
            row[index], delay = seconds(calls[index], repeats[index])
            kept_off += delay
        fastest_copy = min(fastest_copy, seconds(copy, 1)[0])
        rounds.append(row)
        if len(rounds) >= _FEWEST_ROUNDS and all(
            result.is_known(*result.ratio_interval([r[i] for r in rounds], [r[0] for r in rounds])[1:], request["precision"])
            for i in range(1, len(calls))
        ):
            break
    disturbed = kept_off / (time.perf_counter() - start)
    gc.enable()
    return {"rounds": rounds, "roof": moved / fastest_copy, "disturbed": disturbed}


def _copier() -> tuple[Callable[[], Any], int]:
    import numpy as np

    source = np.ones(_COPY_BYTES // 8)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source), 2 * _COPY_BYTES


if __name__ == "__main__":
    main()
