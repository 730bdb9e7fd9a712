"""Runs a bench file in a process of its own, gathers what that process cannot see itself, and gives a Bench."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .compiled import loops
from .process import child
from .result import Bench, Evidence, Variant, is_known, ratio_interval
from .simulated import Counts, simulated
from .vectorised import Loop

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """`limit` is how many seconds the timing may take, `precision` how well ratios are to be known, `simulate` whether
    valgrind may count branch mispredictions where the kernel does not."""

    limit: float = 60.0
    precision: float = 0.02
    simulate: bool = True


def run(path: Path, options: BenchOptions, progress: Progress) -> Bench:
    """Times the variants of a bench file. Raises UsageError for a file without any and CollectError when it fails."""
    _check(path)
    with tempfile.TemporaryDirectory(prefix="cyprof-") as folder:
        progress(f"timing the variants of {path}")
        told = child(path, Path(folder), {"task": "measure", "limit": options.limit, "precision": options.precision})
        if not told["variants"]:
            raise UsageError(
                f"{path} has no variants.", "Mark functions in it: from cyprof.bench import variant, and @variant above each."
            )
        counts: tuple[dict[int, Counts], str] = {}, ""
        compiled: tuple[dict[int, list[Loop]], list[str]] = {}, []
        if ran := [index for index, one in enumerate(told["variants"]) if not one["error"]]:
            counts = _counts(path, Path(folder), told, ran, options, progress)
            if told["built"]:
                progress("asking the compiler which loops are vector code")
                compiled = loops(path, Path(folder), ran, told["built"])
    return _bench(path, told, counts, compiled, options)


def _check(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"{path} does not exist." if not path.exists() else f"{path} is no file.", "Name a file of variants.")
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python source: {error}.", "Mend it first; nothing was run.") from error


def _counts(
    path: Path, folder: Path, told: dict[str, Any], ran: list[int], options: BenchOptions, progress: Progress
) -> tuple[dict[int, Counts], str]:
    """Simulated counts by variant, and why there are none."""
    if any(one.get("counters") for one in told["variants"]):
        return {}, ""
    if not options.simulate:
        return {}, "valgrind was not asked (--no-simulate)"
    progress("counting branches and instructions with valgrind")
    return simulated(path, folder, ran)


def _bench(
    path: Path,
    told: dict[str, Any],
    counts: tuple[dict[int, Counts], str],
    compiled: tuple[dict[int, list[Loop]], list[str]],
    options: BenchOptions,
) -> Bench:
    ran = [one for one in told["variants"] if not one["error"]]
    base = ran[0]["times"] if ran else []
    variants = []
    for index, one in enumerate(told["variants"]):
        ratio, low, high = ratio_interval(one["times"], base) if one["times"] else (0.0, 0.0, 0.0)
        evidence = _evidence(one, counts[0].get(index), counts[1], compiled[0].get(index, []))
        variants.append(
            Variant(one["title"], tuple(one["times"]), ratio, low, high, one.get("disagrees", ""), one["error"], evidence)
        )
    timed = [variant for variant in variants if variant.times]
    return Bench(
        file=str(path),
        variants=tuple(variants),
        roof=told.get("roof", 0.0) / 1e9,
        precision=options.precision,
        known=all(is_known(variant.low, variant.high, options.precision) for variant in timed[1:]),
        rounds=len(base),
        machine=f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}",
        notes=tuple(compiled[1]),
        disturbed=told.get("disturbed", 0.0),
    )


def _evidence(one: dict[str, Any], counts: Counts | None, why_none: str, found: list[Loop]) -> Evidence:
    if one["error"]:
        return Evidence()
    elements = max(1, one["elements"])
    counters = one.get("counters", {})
    missing = []
    if not counters:
        missing.append(one.get("no_counters", "no hardware counters"))
        if counts is None and why_none:
            missing.append(why_none)
    known = Counts(counters["instructions"] / elements, counters["branch misses"] / elements) if counters else counts
    return Evidence(
        elements=one["elements"],
        result_bytes=one["result_bytes"],
        peak_bytes=one["peak_bytes"],
        minimum_bytes=one["minimum_bytes"],
        faults=one["faults"],
        system_s=one["system_s"],
        user_s=one["user_s"],
        counters=counters,
        instructions=known.instructions if known else None,
        mispredicts=known.mispredicts if known else None,
        simulated=not counters and counts is not None,
        vectorised=tuple(_place(loop) for loop in found if loop.vector),
        scalar=tuple(_place(loop) for loop in found if not loop.vector),
        reasons={_place(loop): loop.reason for loop in found if not loop.vector},
        remedies={_place(loop): loop.remedy for loop in found if loop.remedy},
        missing=tuple(missing),
    )


def _place(loop: Loop) -> str:
    return f"{Path(loop.file).name}:{loop.line}"
