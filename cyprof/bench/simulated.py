"""Instructions and mispredicted branches of each variant, from a simulated processor: valgrind's cachegrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CollectError
from .process import SMALL, child

_PATIENCE_S = 240
_CALLS = (1, 3)
"""The first call makes much else: tables, code of numexpr's. Only what later calls add is counted."""
_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([\d,]+)")
_MISPREDICTED = re.compile(r"Mispredicts:\s+([\d,]+)")


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions and mispredicted branches of one call, for each element."""

    instructions: float
    mispredicts: float


def simulated(path: Path, folder: Path, variants: Sequence[int]) -> tuple[dict[int, Counts], str]:
    """The counts of those of the variants that ran under valgrind, and why there are none of the others ("" else)."""
    if shutil.which("valgrind") is None:
        return {}, "valgrind, which could count branches and instructions, is not installed (apt-get install valgrind)"
    before = ("valgrind", "--tool=cachegrind", "--branch-sim=yes", "--cache-sim=no", "--trace-children=no",
              f"--log-file={folder}/valgrind.%p", "--cachegrind-out-file=/dev/null")  # fmt: skip
    request = {"task": "count", "variants": list(variants), "calls": _CALLS, "scale": SMALL}
    try:
        told = child(path, folder, request, before=before, patience=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return {}, f"valgrind was to count branches and instructions, and was not done in {_PATIENCE_S} s"
    except CollectError:
        return {}, "valgrind could not count branches and instructions: the program failed under it"
    elements = max(1, int(told["elements"]))
    found: dict[int, Counts] = {}
    for variant in variants:
        logs = [folder / f"valgrind.{one['process']}" for one in told["processes"] if one["variant"] == variant]
        texts = [log.read_text(errors="replace") if log.is_file() else "" for log in logs]
        instructions, mispredicts = (_added(texts, pattern, elements) for pattern in (_INSTRUCTIONS, _MISPREDICTED))
        if instructions is not None and mispredicts is not None:
            found[variant] = Counts(instructions, mispredicts)
    missing = len(variants) - len(found)
    return found, f"{missing} of the variants failed under valgrind, which counts branches and instructions" if missing else ""


def _added(texts: Sequence[str], pattern: re.Pattern[str], elements: int) -> float | None:
    """What one more call adds to a count, for each element; None where valgrind printed none."""
    counts = [int(found[1].replace(",", "")) for text in texts if (found := pattern.search(text))]
    if len(counts) != len(_CALLS):
        return None
    return max(0, counts[1] - counts[0]) / (_CALLS[1] - _CALLS[0]) / elements
