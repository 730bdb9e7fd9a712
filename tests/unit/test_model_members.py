"""Recordings merged into one: nothing is lost or counted twice, whatever the order and the steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import profiles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyprof.errors import StoreError
from cyprof.model import (
    CallTree,
    Function,
    LineRecords,
    MergeError,
    ProbeCost,
    Process,
    Profile,
    Run,
    Thread,
    Unseen,
    function_key,
    merge,
    part_of,
)
from cyprof.render.export_json import json_bytes
from cyprof.store import from_bytes, load, save, to_bytes
from cyprof.store.content import from_content, to_content
from cyprof.view import ViewOptions

POOL = [
    Function(0, "m", "<module>", "/m.py", 1, "module"),
    Function(0, "m", "f", "/m.py", 3, "python"),
    Function(0, "k", "g", "/k.pyx", 3, "cdef", True, "cython"),
    Function(0, "numpy", "dot", "", 0, "builtin", False, "c"),
]
SMALL = st.integers(0, 1_000_000)


@st.composite
def recordings(draw: Callable[..., Any]) -> list[Profile]:
    """A few recordings that differ, as of one program."""
    return [draw(recording(index)) for index in range(draw(st.integers(1, 4)))]


@st.composite
def recording(draw: Callable[..., Any], index: int) -> Profile:
    chosen = draw(st.permutations(POOL))[: draw(st.integers(1, 4))]
    functions = [replace(function, id=number) for number, function in enumerate(chosen)]
    processes = [Process(3 * number, 100 + number, "child" if number else "") for number in range(draw(st.integers(1, 2)))]
    threads = [
        Thread(5 + 2 * number, f"t{number}", process=draw(st.sampled_from(processes)).id)
        for number in range(draw(st.integers(1, 3)))
    ]
    tree = CallTree()
    for node in range(draw(st.integers(1, 8))):
        parent = draw(st.integers(-1, node - 1))
        thread = draw(st.sampled_from(threads)).id if parent < 0 else tree.thread[parent]
        tree.add(parent, draw(st.integers(0, len(functions) - 1)), thread, calls=draw(SMALL), self_ns=draw(SMALL))
    lines = LineRecords()
    for _ in range(draw(st.integers(0, 3))):
        lines.add(
            draw(st.integers(0, len(tree) - 1)), draw(st.integers(0, 1)), draw(st.integers(1, 9)), draw(SMALL), draw(SMALL)
        )
    run = Run(
        draw(st.sampled_from(["a.py", "b.py"])),
        exit_code=draw(st.sampled_from([0, 0, 3, -9])),
        wall_ns=1000 * draw(SMALL) + index,  # no two are the same recording
        cost=ProbeCost(*[draw(st.floats(0, 9)) for _ in range(6)]),
        place=f"rank {draw(st.integers(0, 12))}",
        with_lines=draw(st.booleans()),
    )
    return Profile(
        run, functions, tree, lines, ["/m.py", "/k.pyx"], threads, processes=processes,
        unseen=draw(st.lists(st.builds(Unseen, st.sampled_from("ab"), st.just("why"), st.just(""), st.just(0.5)), max_size=1)),
        source_hashes={"/k.pyx": draw(st.sampled_from("xy"))},
        notes=draw(st.lists(st.sampled_from(["a note", "another"]), max_size=1)),
        settled_ns=[-1] * len(tree) if draw(st.booleans()) else [],
    )  # fmt: skip


def merged(*given: Profile) -> Profile:
    return merge(given, ["file"] * len(given))


def sums(profile: Profile) -> Counter[Any]:
    """Calls and times of each function, hits of each line."""
    found: Counter[Any] = Counter()
    for number in set(profile.tree.function):
        times = profile.function_times[number]
        for name in ("calls", "primitive_calls", "self_ns", "total_ns", "self_min_ns", "raw_self_ns"):
            found[function_key(profile.functions[number]), name] += getattr(times, name)
    for line in profile.line_times:
        found[function_key(profile.functions[line.function]), line.file, line.line, "hits"] += line.hits
        found[function_key(profile.functions[line.function]), line.file, line.line, "self"] += line.self_ns
    for edge in profile.edges:
        pair = function_key(profile.functions[edge.caller]), function_key(profile.functions[edge.callee])
        found[pair] += edge.calls
    return +found


@settings(max_examples=60)
@given(recordings())
def test_counts_and_times_are_the_sums(given: list[Profile]) -> None:
    """To the nanosecond, though each recording has probes of its own cost."""
    expected: Counter[Any] = Counter()
    for one in given:
        expected += sums(one)
    assert sums(merged(*given)) == expected


@settings(max_examples=60)
@given(recordings(), st.randoms())
def test_neither_order_nor_steps_matter(given: list[Profile], random: Any) -> None:
    whole = merged(*given)
    shuffled = random.sample(given, len(given))
    assert merged(*shuffled) == whole
    cut = random.randint(0, len(given) - 1)
    in_steps = merged(*([merged(*shuffled[:cut])] if cut else []), *shuffled[cut:])
    assert in_steps == whole
    assert merged(whole) == whole


@settings(max_examples=60)
@given(recordings())
def test_each_member_is_kept_as_it_was(given: list[Profile]) -> None:
    whole = merged(*given)
    parts = [part_of(whole, number) for number in range(len(whole.members))]
    assert Counter(repr(sorted(sums(part).items(), key=repr)) for part in parts) == Counter(
        repr(sorted(sums(one).items(), key=repr)) for one in given
    )
    assert sorted((part.run for part in parts), key=repr) == sorted((one.run for one in given), key=repr)
    assert merge(parts, [""] * len(parts)) == whole


@settings(max_examples=30)
@given(recordings())
def test_a_merged_profile_is_saved_and_read(given: list[Profile]) -> None:
    whole = merged(*given)
    assert from_content(json.loads(json.dumps(to_content(whole)))) == whole
    assert from_bytes(to_bytes(whole), Path("x")) == whole


def ranks(*numbers: int) -> list[Profile]:
    found = []
    for number in numbers:
        profile = profiles.demo()
        found.append(
            replace(profile, run=replace(profile.run, place=f"rank {number}", started=f"2026-11-30T12:00:{number:02}"))
        )
    return found


def test_ranks_stand_in_the_order_of_their_numbers() -> None:
    whole = merged(*ranks(10, 2, 0, 1))
    assert whole.member_titles == ["rank 0", "rank 1", "rank 2", "rank 10"]
    assert [whole.process_title(process) for process in whole.processes] == whole.member_titles


def test_two_jobs_have_ranks_of_the_same_name() -> None:
    first, second = ranks(0), ranks(0)
    second[0] = replace(second[0], run=replace(second[0].run, started="2026-12-01"))
    assert merged(*first, *second).member_titles == ["rank 0", "rank 0 #2"]


def test_the_same_recording_twice_is_refused() -> None:
    zero, one = ranks(0, 1)
    with pytest.raises(MergeError) as caught:
        merged(one, merged(zero, one))
    assert (caught.value.first, caught.value.second) == (0, 1)


def test_nothing_and_pstats_data_are_refused() -> None:
    with pytest.raises(ValueError, match="call paths"):
        merge([], [])


def test_what_differs_is_said() -> None:
    zero, one, two = ranks(0, 1, 2)
    zero.source_hashes = {"/k.pyx": "a", "/same.pyx": "c"}
    one.source_hashes = {"/k.pyx": "a", "/same.pyx": "c"}
    two.source_hashes = {"/k.pyx": "b", "/same.pyx": "c"}
    two = replace(two, run=replace(two.run, target="other.py", exit_code=-9, with_lines=False))
    two.notes = ["It was killed."]
    notes = merged(zero, one, two).notes
    assert any("/k.pyx" in note and "rank 2 ran another version" in note for note in notes)
    assert not any("/same.pyx" in note for note in notes)
    assert any("different programs" in note and "other.py (rank 2)" in note for note in notes)
    assert any("without lines: rank 2" in note for note in notes)
    assert "rank 2 ended by signal 9." in notes
    assert "rank 2: It was killed." in notes
    assert merged(zero, one).notes == []


def test_a_share_that_was_not_seen_is_that_of_all(tmp_path: Path) -> None:
    zero, one = ranks(0, 1)
    zero.unseen = [Unseen("lib", "built without probes", "", 0.5)]
    one.unseen = []
    (unseen,) = merged(zero, one).unseen
    assert unseen.share == pytest.approx(0.25)


def test_the_json_names_the_members() -> None:
    found = json.loads(json_bytes(merged(*ranks(0, 1)), ViewOptions()))
    assert [member["name"] for member in found["members"]] == ["rank 0", "rank 1"]
    assert [process["name"] for process in found["processes"]] == ["rank 0", "rank 1"]
    assert [process["member"] for process in found["processes"]] == [0, 1]
    plain = json.loads(json_bytes(ranks(0)[0], ViewOptions()))
    assert "members" not in plain


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content["processes"]["member"].__setitem__(0, 7),
        lambda content: content["threads"]["process"].__setitem__(0, 9),
        lambda content: content["members"].append({}),
        lambda content: content["members"][0]["run"].pop("cost"),
        lambda content: content["tree"]["thread"].__setitem__(0, 2),
        lambda content: content["processes"]["id"].__setitem__(1, 0),
    ],
)
def test_a_file_with_members_that_make_no_sense_is_refused(spoil: Callable[[Any], Any]) -> None:
    content = json.loads(json.dumps(to_content(merged(*ranks(0, 1)))))
    spoil(content)
    with pytest.raises(ValueError):
        from_content(content)


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    content = json.loads(json.dumps(to_content(profiles.demo())))
    del content["members"], content["processes"]["member"], content["run"]["place"], content["run"]["host"]
    assert from_content(content) == profiles.demo()


def test_a_profile_too_large_to_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cyprof.store.file._LARGEST", 100)
    with pytest.raises(StoreError, match="too large"):
        save(profiles.demo(), tmp_path / "x.cyprof")
    assert not (tmp_path / "x.cyprof").exists()
    monkeypatch.undo()
    assert load(save(profiles.demo(), tmp_path / "x.cyprof")) == profiles.demo()
