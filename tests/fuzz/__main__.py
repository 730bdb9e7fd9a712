"""python -m fuzz prof|cyprof|values [LIBFUZZER OPTION ...]: has atheris look for files that do harm (in the folder tests/)."""

from __future__ import annotations

import json
import marshal
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["cyprof"]):
    from fuzz import targets


def prof(data: bytes) -> None:
    targets.file_of_bytes(FOLDER, "x.prof", data)


def cyprof(data: bytes) -> None:
    targets.file_of_bytes(FOLDER, "x.cyprof", data if data[:1] == b"\x93" else targets.forge(data))


def values(data: bytes) -> None:
    """The bytes choose the places and what is put there."""
    source = atheris.FuzzedDataProvider(data)
    changes = []
    while source.remaining_bytes() and len(changes) < 8:
        way = [source.ConsumeIntInRange(0, 63) for _ in range(source.ConsumeIntInRange(1, 4))]
        kinds = (
            lambda: source.ConsumeUnicode(20), lambda: source.ConsumeInt(9), source.ConsumeRegularFloat,
            lambda: targets.MARK, lambda: None, lambda: [], lambda: "/dev/zero",
        )  # fmt: skip
        changes.append((way, kinds[source.ConsumeIntInRange(0, len(kinds) - 1)]()))
    targets.profile_of_values(FOLDER, changes)


with tempfile.TemporaryDirectory() as folder:
    FOLDER = Path(folder)
    seeds = FOLDER / "seeds"
    seeds.mkdir()
    (seeds / "cyprof").write_bytes(json.dumps(targets.CONTENT).encode())
    (seeds / "prof").write_bytes(marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {("a.py", 2, "g"): (1, 1, 0.5, 0.5)})}))
    TARGETS = {"prof": prof, "cyprof": cyprof, "values": values}
    atheris.Setup([sys.argv[0], *sys.argv[2:], str(seeds)], TARGETS[sys.argv[1]])
    atheris.Fuzz()
