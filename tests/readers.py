"""What the programs that read cyprof's exports make of them, put into one form to be compared with a profile."""

from __future__ import annotations

import gzip
import io
import json
import os
import pstats
import re
import shutil
import subprocess
import tarfile
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gprof2dot
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from cyprof.model import NO_PARENT, Profile

SPEEDSCOPE = "speedscope@1.25.0"
Name = Any


@dataclass
class Seen:
    """Calls, self and total time (ns) by function and by edge, as far as a format has them."""

    name: str = ""
    calls: dict[Name, int] = field(default_factory=dict)
    self_ns: dict[Name, int] = field(default_factory=dict)
    edge_calls: dict[tuple[Name, Name], int] = field(default_factory=dict)
    edge_totals: dict[tuple[Name, Name], int] = field(default_factory=dict)
    paths: dict[tuple[Name, ...], tuple[int, ...]] = field(default_factory=dict)


def of_profile(profile: Profile, names: list[Name]) -> Seen:
    """What a reader must see, with the names a format gives the functions."""
    ran = sorted(set(profile.tree.function))
    times = profile.function_times
    return Seen(
        "",
        {names[i]: times[i].calls for i in ran},
        {names[i]: times[i].self_ns for i in ran},
        {(names[e.caller], names[e.callee]): e.calls for e in profile.edges},
        {(names[e.caller], names[e.callee]): e.total_ns for e in profile.edges},
    )


def paths_of(profile: Profile, names: list[Name], columns: list[list[int]]) -> dict[tuple[Name, ...], tuple[int, ...]]:
    """By call path the sums of some columns of the tree."""
    stacks: list[tuple[Name, ...]] = []
    sums: dict[tuple[Name, ...], list[int]] = {}
    for node, parent in enumerate(profile.tree.parent):
        above = stacks[parent] if parent != NO_PARENT else ()
        stacks.append((*above, names[profile.tree.function[node]]))
        of_path = sums.setdefault(stacks[-1], [0] * len(columns))
        for number, column in enumerate(columns):
            of_path[number] += column[node]
    return {path: tuple(values) for path, values in sums.items()}


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def by_pstats(path: Path) -> Seen:
    """pstats.Stats."""
    seen = Seen()
    for key, (_, calls, own, _, callers) in pstats.Stats(str(path)).stats.items():  # type: ignore[attr-defined]
        seen.calls[key], seen.self_ns[key] = calls, ns(own)
        for caller, (count, _, _, total) in callers.items():
            seen.edge_calls[caller, key], seen.edge_totals[caller, key] = count, ns(total)
    return seen


def by_gprof2dot(path: Path, form: str) -> Seen:
    """gprof2dot; it gives primitive calls for the edges of a pstats file."""
    with redirect_stderr(io.StringIO()):  # it warns of recursion
        if form == "pstats":
            profile, unit, own, total = gprof2dot.PstatsParser(str(path)).parse(), 1e9, gprof2dot.TIME, gprof2dot.TOTAL_TIME
        else:
            with path.open(encoding="utf-8", newline="\n") as file:
                profile = gprof2dot.CallgrindParser(file).parse()
            unit, own, total = 1, gprof2dot.SAMPLES, gprof2dot.SAMPLES2
    seen = Seen()
    names = {key: function.name for key, function in profile.functions.items()}
    for function in profile.functions.values():
        seen.calls[function.name], seen.self_ns[function.name] = function.called, round(function[own] * unit)
        for call in function.calls.values():
            edge = (function.name, names[call.callee_id])
            seen.edge_calls[edge], seen.edge_totals[edge] = call[gprof2dot.CALLS], round(call[total] * unit)
    return seen


_ROW = re.compile(r" *([\d,]+) \([ \d.]+%\)  ([>*]) +(.*)")
_FUNCTION = re.compile(r"(.*?)(?: \[[^\[\]]*\])?")
_CALL = re.compile(r"(.*) \(([\d,]+)x\)(?: \[.*\])?")


def by_callgrind_annotate(path: Path) -> Seen:
    """callgrind_annotate's own table and call tree. Its names hold the file."""
    command = ["callgrind_annotate", "--threshold=100", "--tree=calling", "--auto=no", "--show-percs=yes", str(path)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    seen = Seen()
    caller = ""
    for line in done.stdout.splitlines():
        row = _ROW.fullmatch(line)
        if not row:
            continue
        cost = int(row[1].replace(",", ""))
        if row[2] == "*":
            caller = _FUNCTION.fullmatch(row[3])[1]  # type: ignore[index]
            seen.self_ns[caller] = cost
        else:
            name, calls = _CALL.fullmatch(row[3]).groups()  # type: ignore[union-attr]
            seen.edge_calls[caller, name] = int(calls.replace(",", ""))
            seen.edge_totals[caller, name] = cost
    return seen


def by_callgrind_lines(path: Path) -> Seen:
    """The rules of the Callgrind Format Specification alone, for what gprof2dot's further steps do not take."""
    seen = Seen()
    known: dict[tuple[str, str], str] = {}
    now: dict[str, str] = {}
    calls = -1
    for line in path.read_text(encoding="utf-8").partition("\nsummary: ")[2].split("\n")[1:]:
        position = re.fullmatch(r"(c?)(ob|fl|fi|fe|fn)=\((\d+)\)(?: (.*))?", line)
        if position:
            kind = "fl" if position[2] in ("fi", "fe") else position[2]
            if position[4] is not None:
                assert (kind, position[3]) not in known
                known[kind, position[3]] = position[4]
            now[position[1] + kind] = known[kind, position[3]]
            if position[1] + kind == "fn":
                assert now["fn"] not in seen.self_ns
                seen.self_ns[now["fn"]] = 0
        elif line.startswith("calls="):
            calls = int(re.fullmatch(r"calls=([1-9]\d*) \d+", line)[1])  # type: ignore[index]
        elif line:
            cost = int(re.fullmatch(r"\d+ (\d+)", line)[1])  # type: ignore[index]
            if calls < 0:
                seen.self_ns[now["fn"]] += cost
                continue
            edge = (now["fn"], now["cfn"])
            seen.edge_calls[edge] = seen.edge_calls.get(edge, 0) + calls
            seen.edge_totals[edge] = seen.edge_totals.get(edge, 0) + cost
            calls = -1
    return seen


def by_lines(path: Path) -> dict[tuple[str, ...], tuple[int, ...]]:
    """Folded stacks, as flamegraph.pl takes them apart: what follows the last space is the count."""
    sums: Counter[tuple[str, ...]] = Counter()
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        stack, count = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line).groups()  # type: ignore[union-attr]
        sums[tuple(stack.split(";"))] += int(count)
    return {stack: (count,) for stack, count in sums.items()}


def by_speedscope(path: Path) -> list[Seen]:
    """By thread what its events say, replayed as speedscope does: a frame that closes must be the one opened last."""
    document = json.loads(path.read_bytes())
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    threads = []
    for profile in document["profiles"]:
        seen = Seen(name=profile["name"])
        threads.append(seen)
        stack: list[str] = []
        now = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= now
            _spend(seen, stack, event["at"] - now)
            now = event["at"]
            if event["type"] == "O":
                stack.append(frames[event["frame"]])
                _spend(seen, stack, 0)
            else:
                assert stack.pop() == frames[event["frame"]]
        assert not stack and now == profile["endValue"]
    return threads


def _spend(seen: Seen, stack: list[str], spent: int) -> None:
    if stack:
        path = tuple(stack)
        seen.paths[path] = (seen.paths.get(path, (0,))[0] + spent,)
        seen.self_ns[path[-1]] = seen.self_ns.get(path[-1], 0) + spent


@cache
def speedscope_schema(folder: Path) -> Any:
    """The JSON schema that speedscope's own package brings, fetched once into `folder`."""
    kept = folder / f"{SPEEDSCOPE}.json"
    if not kept.exists():
        if shutil.which("npm") is None and not os.environ.get("CI"):
            pytest.skip("npm is not installed: speedscope's schema cannot be fetched")
        own = folder / str(os.getpid())
        own.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", SPEEDSCOPE], cwd=own, check=True, capture_output=True, timeout=120)
        (archive,) = own.glob("*.tgz")
        with tarfile.open(archive) as packed:
            (name,) = [name for name in packed.getnames() if name.endswith("/file-format-schema.json")]
            (own / "schema").write_bytes(packed.extractfile(name).read())  # type: ignore[union-attr]
        (own / "schema").replace(kept)
        shutil.rmtree(own)
    return json.loads(kept.read_bytes())


# The messages of profile.proto by field: name, number, type (a message's name, or a number as FieldDescriptorProto has it).
_INT64, _UINT64, _STRING = 3, 4, 9
_PROTO = {
    "ValueType": [("type", 1, _INT64), ("unit", 2, _INT64)],
    "Label": [("key", 1, _INT64), ("str", 2, _INT64), ("num", 3, _INT64), ("num_unit", 4, _INT64)],
    "Sample": [("location_id", 1, [_UINT64]), ("value", 2, [_INT64]), ("label", 3, ["Label"])],
    "Line": [("function_id", 1, _UINT64), ("line", 2, _INT64)],
    "Location": [("id", 1, _UINT64), ("mapping_id", 2, _UINT64), ("address", 3, _UINT64), ("line", 4, ["Line"])],
    "Function": [
        ("id", 1, _UINT64), ("name", 2, _INT64), ("system_name", 3, _INT64), ("filename", 4, _INT64), ("start_line", 5, _INT64),
    ],
    "Profile": [
        ("sample_type", 1, ["ValueType"]), ("sample", 2, ["Sample"]), ("location", 4, ["Location"]),
        ("function", 5, ["Function"]), ("string_table", 6, [_STRING]),
        ("time_nanos", 9, _INT64), ("duration_nanos", 10, _INT64),
        ("comment", 13, [_INT64]), ("default_sample_type", 14, _INT64),
    ],
}  # fmt: skip


@cache
def _profile_message() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for name, fields in _PROTO.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind in fields:
            repeated = isinstance(kind, list)
            added = message.field.add(name=field_name, number=number, label=3 if repeated else 1)
            of = kind[0] if isinstance(kind, list) else kind
            if isinstance(of, str):
                added.type, added.type_name = 11, f".perftools.profiles.{of}"
            else:
                added.type = of
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def by_protobuf(path: Path) -> Any:
    """The Profile message, by Google's decoder. No field may be one that profile.proto does not have."""
    message = _profile_message()()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    again = _profile_message()()
    again.ParseFromString(message.SerializeToString(deterministic=True))
    again.DiscardUnknownFields()
    assert again == message
    return message


def pprof_paths(message: Any) -> dict[tuple[str, ...], tuple[int, ...]]:
    """By call path, outermost first, the sums of the sample values."""
    functions = {function.id: message.string_table[function.name] for function in message.function}
    places = {place.id: functions[place.line[0].function_id] for place in message.location}
    sums: dict[tuple[str, ...], tuple[int, ...]] = {}
    for sample in message.sample:
        path = tuple(places[number] for number in reversed(sample.location_id))
        before = sums.get(path, (0,) * len(sample.value))
        sums[path] = tuple(a + b for a, b in zip(before, sample.value, strict=True))
    return sums
