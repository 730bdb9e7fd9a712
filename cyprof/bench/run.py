"""Runs a bench file in a process of its own, gathers what that process cannot see itself, and gives a Bench."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CollectError, UsageError
from .result import Bench, Evidence, Variant, is_known, ratio_interval
from .vectorised import vectorised

Progress = Callable[[str], None]
_CHILD = Path(__file__).with_name("child.py")
_ROOT = Path(__file__).resolve().parent.parent.parent
_SMALL = 0.02
_SIMULATION_S = 240
_MISPREDICTED = re.compile(r"Mispredicts:\s+([\d,]+)")


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
        told = _child(path, Path(folder), {"limit": options.limit, "precision": options.precision, "only": None})
        if not told["variants"]:
            raise UsageError(
                f"{path} has no variants.", "Mark functions in it: from cyprof.bench import variant, and @variant above each."
            )
        simulated = _simulations(path, Path(folder), told, options, progress)
    compiled = [
        (Path(extension).name.partition(".")[0], vectorised(Path(extension), Path(source)))
        for extension, source in told.get("built", ())
    ]
    return _bench(path, told, simulated, compiled, options)


def _check(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"{path} does not exist." if not path.exists() else f"{path} is no file.", "Name a file of variants.")
    try:
        compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python source: {error}.", "Mend it first; nothing was run.") from error


def _child(path: Path, folder: Path, more: dict[str, Any], before: tuple[str, ...] = ()) -> dict[str, Any]:
    request, result = folder / "request.json", folder / "result.json"
    result.unlink(missing_ok=True)
    request.write_text(json.dumps({"file": str(path.absolute()), "root": str(_ROOT), "result": str(result), **more}))
    command = [*before, sys.executable, str(_CHILD), str(request)]
    patience = _SIMULATION_S if before else None
    done = subprocess.run(command, check=False, timeout=patience, capture_output=bool(before))
    if not result.is_file():
        raise CollectError(
            f"{path} ended with exit code {done.returncode} before its variants were timed.",
            f"See whether it runs alone: python {path}",
        )
    told = json.loads(result.read_text())
    assert isinstance(told, dict)
    return told


def _simulations(
    path: Path, folder: Path, told: dict[str, Any], options: BenchOptions, progress: Progress
) -> tuple[dict[int, float], str]:
    """Branch mispredictions per element by variant, from valgrind; and why there are none."""
    if any(one.get("counters") for one in told["variants"]):
        return {}, ""
    if not options.simulate:
        return {}, "valgrind was not asked (--no-simulate)"
    if shutil.which("valgrind") is None:
        return {}, "valgrind, which could count them, is not installed (apt-get install valgrind)"
    found: dict[int, float] = {}
    try:
        progress("counting branches with valgrind: without any variant")
        base, _ = _simulated(path, folder, -1)
        for index, one in enumerate(told["variants"]):
            if one["error"]:
                continue
            progress(f"counting branches with valgrind: {one['title']}")
            count, elements = _simulated(path, folder, index)
            found[index] = max(0, count - base) / max(1, elements)
    except (CollectError, subprocess.TimeoutExpired) as error:
        words = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else "the program failed under it"
        return found, f"valgrind could not count them: {words}"
    return found, ""


def _simulated(path: Path, folder: Path, variant: int) -> tuple[int, int]:
    command = ("valgrind", "--tool=cachegrind", "--branch-sim=yes", "--cache-sim=no", "--trace-children=no",
               f"--log-file={folder / 'valgrind.log'}", f"--cachegrind-out-file={folder / 'cachegrind.out'}")  # fmt: skip
    told = _child(path, folder, {"only": variant, "scale": _SMALL}, command)
    found = _MISPREDICTED.search((folder / "valgrind.log").read_text(errors="replace"))
    if found is None:
        raise CollectError("valgrind printed no count.", "Try --no-simulate.")
    return int(found[1].replace(",", "")), int(told["elements"])


def _bench(
    path: Path,
    told: dict[str, Any],
    simulated: tuple[dict[int, float], str],
    compiled: list[tuple[str, tuple[list[str], list[str], str]]],
    options: BenchOptions,
) -> Bench:
    ran = [one for one in told["variants"] if not one["error"]]
    base = ran[0]["times"] if ran else []
    variants = []
    for index, one in enumerate(told["variants"]):
        ratio, low, high = ratio_interval(one["times"], base) if one["times"] else (0.0, 0.0, 0.0)
        evidence = _evidence(one, simulated[0].get(index), simulated[1], compiled)
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
        notes=tuple(f"{name}: which loops are vector code is not known: {why}." for name, (_, _, why) in compiled if why),
    )


def _evidence(
    one: dict[str, Any], mispredicts: float | None, why_none: str, compiled: list[tuple[str, tuple[list[str], list[str], str]]]
) -> Evidence:
    if one["error"]:
        return Evidence()
    elements = max(1, one["elements"])
    counters = one.get("counters", {})
    missing = []
    if not counters:
        missing.append(one.get("no_counters", "no hardware counters"))
        if mispredicts is None and why_none:
            missing.append(why_none)
    lines = [found for name, found in compiled if name in one["modules"]]
    return Evidence(
        elements=one["elements"],
        result_bytes=one["result_bytes"],
        peak_bytes=one["peak_bytes"],
        minimum_bytes=one["minimum_bytes"],
        faults=one["faults"],
        system_s=one["system_s"],
        user_s=one["user_s"],
        counters=counters,
        mispredicts=counters["branch misses"] / elements if counters else mispredicts,
        simulated=not counters and mispredicts is not None,
        vectorised=tuple(line for good, _, _ in lines for line in good),
        scalar=tuple(line for _, bad, _ in lines for line in bad),
        missing=tuple(missing),
    )
