"""Several recordings made into one, and taken apart again: the ranks of an MPI program, the workers of a cluster."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from typing import TypeVar

from .calltree import NO_PARENT, CallTree
from .cost import ProbeCost
from .function import Function
from .lines import LineRecords
from .profile import Member, Process, Profile, Run, Thread, Unseen

_LARGEST = (1 << 63) - 1
_NAMED = 3

Value = TypeVar("Value")
FunctionKey = tuple[str, str, str, int, str, bool, str]


class MergeError(ValueError):
    """Two of the recordings are the same one. `first` and `second` are their places among those that were to be merged."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"recordings {first} and {second} are the same")
        self.first = first
        self.second = second


def merge(profiles: Sequence[Profile], names: Sequence[str]) -> Profile:
    """One profile of several, with a member for each. A merged profile among them gives its members, so that it makes no
    difference in which order, or in how many steps, recordings are merged.

    `names` says what each profile is called that does not know it by itself (`Run.place`). Counts and times of a function
    are the sums over the members; the run's time is that of the longest. Raises MergeError for a recording that is there
    twice, and ValueError for none at all or for one without call paths.
    """
    if not profiles or not all(profile.has_paths for profile in profiles):
        raise ValueError("only recordings with call paths can be merged")
    found = sorted(_parts(profiles, names), key=lambda part: _order(*part[1:]))
    parts = [(name, part) for _, name, part in _without_doubles(found)]
    joined = _Joined()
    for index, (_, part) in enumerate(parts):
        joined.add(part, index)
    members = [
        Member(name, part.run, dict(sorted(part.source_hashes.items())), list(part.unseen), list(part.notes))
        for name, part in parts
    ]
    return Profile(
        run=_run([member.run for member in members]),
        functions=list(joined.functions.values()),
        tree=joined.tree,
        lines=joined.lines,
        files=list(joined.files),
        threads=joined.threads,
        processes=joined.processes,
        members=members,
        unseen=_unseen([part for _, part in parts]),
        scores=_first_of(part.scores for _, part in parts),
        source_hashes=_first_of(part.source_hashes for _, part in parts),
        notes=_notes(members),
        settled_ns=joined.settled_ns if max(joined.settled_ns, default=-1) >= 0 else [],
        baseline_ns_per_call=joined.baselines,
        remarks=joined.remarks,
    )


def part_of(profile: Profile, member: int) -> Profile:
    """What one member of a merged profile had recorded, as it was before."""
    processes = [process for process in profile.processes if process.member == member]
    known = {process.id for process in processes}
    threads = [thread for thread in profile.threads if thread.process in known]
    ids = {thread.id for thread in threads}
    kept = [node for node, thread in enumerate(profile.tree.thread) if thread in ids]
    node_of = {NO_PARENT: NO_PARENT} | {node: index for index, node in enumerate(kept)}
    columns = {name: [values[node] for node in kept] for name, values in profile.tree.columns().items()}
    columns["parent"] = [node_of[parent] for parent in columns["parent"]]
    lines = LineRecords()
    for node, *rest in zip(*profile.lines.columns().values(), strict=True):
        if node in node_of:
            lines.add(node_of[node], *rest)
    one = profile.members[member]
    return Profile(
        run=one.run,
        functions=profile.functions,
        tree=CallTree(**columns),
        lines=lines,
        files=profile.files,
        threads=threads,
        processes=[replace(process, member=0) for process in processes],
        unseen=list(one.unseen),
        scores=profile.scores,
        source_hashes=dict(one.sources),
        notes=list(one.notes),
        settled_ns=[profile.settled_ns[node] for node in kept] if profile.settled_ns else [],
        baseline_ns_per_call=profile.baseline_ns_per_call,
        remarks=profile.remarks,
    )


def member_called(profile: Profile, name: str) -> int | None:
    """The number of the member of that title, or of that number where they are numbered ("3" of "rank 3"); None when there is
    none."""
    titles = profile.member_titles
    wanted = (name, f"{member_noun(profile.members)} {name}")
    return next((number for number, title in enumerate(titles) if title in wanted), None)


def function_key(function: Function) -> FunctionKey:
    """What tells a function from every other, in whichever recording it is met."""
    f = function
    return f.module, f.name, f.file, f.line, f.kind, f.nogil, f.language


def _parts(profiles: Sequence[Profile], names: Sequence[str]) -> Iterator[tuple[int, str, Profile]]:
    """The recordings behind the profiles, each with the place of its profile and its name."""
    for place, (profile, name) in enumerate(zip(profiles, names, strict=True)):
        if not profile.members:
            yield place, profile.run.place or name, profile
        for index, member in enumerate(profile.members):
            yield place, member.name, part_of(profile, index)


def _without_doubles(parts: list[tuple[int, str, Profile]]) -> list[tuple[int, str, Profile]]:
    """The parts as they are. Raises MergeError when two are the same recording: the run to the ns, and the process."""
    seen: dict[tuple[Run, int], int] = {}
    for place, _, part in parts:
        key = part.run, _pid(part)
        if key in seen:
            raise MergeError(*sorted((seen[key], place)))
        seen[key] = place
    return parts


def _order(name: str, part: Profile) -> tuple[object, ...]:
    """Ranks by their numbers; what has the same name by what was recorded, whatever file it came from."""
    pieces = re.split(r"([0-9]+)", name)
    natural = [(len(piece.lstrip("0")), piece) if number % 2 else (0, piece) for number, piece in enumerate(pieces)]
    run = part.run
    return natural, run.started, run.wall_ns, run.cpu_ns, _pid(part), part.tree.calls, part.tree.self_ns


def _pid(part: Profile) -> int:
    return part.processes[0].pid if part.processes else 0


class _Joined:
    """The trees of several recordings side by side: functions once, nodes, threads and processes numbered anew."""

    def __init__(self) -> None:
        self.functions: dict[FunctionKey, Function] = {}
        self.tree = CallTree()
        self.lines = LineRecords()
        self.files: dict[str, int] = {}
        self.threads: list[Thread] = []
        self.processes: list[Process] = []
        self.settled_ns: list[int] = []
        self.baselines: dict[int, float] = {}
        self.remarks: dict[int, str] = {}

    def add(self, part: Profile, member: int) -> None:
        """Adds a recording as one member. Functions that did not run are left out."""
        threads = self._add_threads(part, member)
        first = len(self.tree)
        columns = part.tree.columns()
        numbers = self._add_functions(part)
        moved = {
            "parent": [NO_PARENT if parent == NO_PARENT else parent + first for parent in part.tree.parent],
            "function": [numbers[function] for function in part.tree.function],
            "thread": [threads[thread] for thread in part.tree.thread],
        }
        for name, values in self.tree.columns().items():
            values.extend(moved.get(name, columns[name]))
        self.settled_ns += part.settled_ns or [-1] * len(part.tree)
        for node, file, *rest in zip(*part.lines.columns().values(), strict=True):
            self.lines.add(node + first, self.files.setdefault(part.files[file], len(self.files)), *rest)

    def _add_functions(self, part: Profile) -> dict[int, int]:
        numbers = {}
        for function in dict.fromkeys(part.tree.function):
            key = function_key(part.functions[function])
            known = self.functions.setdefault(key, replace(part.functions[function], id=len(self.functions)))
            number = numbers[function] = known.id
            if function in part.baseline_ns_per_call:
                own = part.baseline_ns_per_call[function]
                self.baselines[number] = min(own, self.baselines.get(number, own))
            if function in part.remarks:
                self.remarks.setdefault(number, part.remarks[function])
        return numbers

    def _add_threads(self, part: Profile, member: int) -> dict[int, int]:
        """Adds processes and threads, and returns the new number of each thread."""
        processes = part.processes or [Process(0, 0, "", cpu_ns=part.run.cpu_ns, wall_ns=part.run.wall_ns)]
        process_of = {process.id: len(self.processes) + index for index, process in enumerate(processes)}
        self.processes += [replace(process, id=process_of[process.id], member=member) for process in processes]
        unlisted = sorted(set(part.tree.thread) - {thread.id for thread in part.threads})
        threads = [*part.threads, *(Thread(number, f"thread {number}") for number in unlisted)]
        first = len(self.threads) + 1
        main = process_of[processes[0].id]
        self.threads += [
            replace(thread, id=first + index, process=process_of.get(thread.process, main))
            for index, thread in enumerate(threads)
        ]
        return {thread.id: first + index for index, thread in enumerate(threads)}


def _run(runs: Sequence[Run]) -> Run:
    first = runs[0]
    costs = zip(*(astuple(run.cost) for run in runs), strict=True)
    return Run(
        target=", ".join(_some([run.target for run in runs])),
        argv=first.argv if all(run.argv == first.argv for run in runs) else (),
        exit_code=next((run.exit_code for run in runs if run.exit_code), 0),
        wall_ns=max(run.wall_ns for run in runs),
        cpu_ns=min(_LARGEST, sum(run.cpu_ns for run in runs)),
        python=", ".join(sorted({run.python for run in runs})),
        cython=", ".join(sorted({version for run in runs for version in run.cython.split(", ") if version})),
        clock=first.clock if all(run.clock == first.clock for run in runs) else "auto",
        events=min(_LARGEST, sum(run.events for run in runs)),
        samples=min(_LARGEST, sum(run.samples for run in runs)),
        started=min(run.started for run in runs),
        cost=ProbeCost(*map(max, costs)),
        with_lines=any(run.with_lines for run in runs),
    )


def _first_of(tables: Iterable[dict[str, Value]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for table in tables:
        found = table | found
    return dict(sorted(found.items()))


def member_noun(members: Sequence[Member]) -> str:
    """What one of the members is called in a sentence."""
    for word in ("rank", "worker"):
        if members and all(member.name.startswith(f"{word} ") for member in members):
            return word
    return "recording"


def _notes(members: Sequence[Member]) -> list[str]:
    """What a reader should know of the members, and what was noted of each."""
    notes: list[str] = []
    word = member_noun(members)
    for what, texts in (
        ("programs", [member.run.target for member in members]),
        ("versions of Python", [member.run.python for member in members]),
        ("versions of Cython", [member.run.cython for member in members]),
    ):
        if len(set(texts) - {""}) > 1:
            notes.append(f"The {word}s ran different {what}: {_by_text(texts, members)}.")
    notes += _changed_sources(members)
    without = [member.name for member in members if not member.run.with_lines]
    if 0 < len(without) < len(members):
        notes.append(f"Recorded without lines: {', '.join(_some(without))}; line tables show the others only.")
    notes += [_end(member) for member in members if member.run.exit_code]
    said = defaultdict(list)
    for member in members:
        for note in member.notes:
            said[note].append(member.name)
    return notes + [
        note if len(names) == len(members) else f"{', '.join(_some(names))}: {note}" for note, names in said.items()
    ]


def _by_text(texts: Sequence[str], members: Sequence[Member]) -> str:
    """`a.py (rank 0), b.py (rank 1, rank 2)`."""
    groups = defaultdict(list)
    for text, member in zip(texts, members, strict=True):
        if text:
            groups[text].append(member.name)
    return ", ".join(_some([f"{text} ({', '.join(_some(names))})" for text, names in groups.items()]))


def _changed_sources(members: Sequence[Member]) -> Iterator[str]:
    """A sentence for each source file that was not the same everywhere."""
    versions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for member in members:
        for file, digest in member.sources.items():
            versions[file][digest].append(member.name)
    for file, names in sorted(versions.items()):
        if len(names) > 1:
            first, *others = names.values()
            where = "; ".join(", ".join(_some(group)) for group in others)
            yield (
                f"{file} is not the same everywhere: {where} ran another version than {', '.join(_some(first))}, "
                "so that a function may be shown twice, and a line number stand for two lines."
            )


def _end(member: Member) -> str:
    code = member.run.exit_code
    return f"{member.name} ended {f'with exit code {code}' if code > 0 else f'by signal {-code}'}."


def _some(texts: Iterable[str]) -> list[str]:
    """The texts, each once; of many the first, and how many more there are."""
    different = list(dict.fromkeys(texts))
    more = [f"{len(different) - _NAMED:,} more"] if len(different) > _NAMED else []
    return different[:_NAMED] + more


def _unseen(parts: Sequence[Profile]) -> list[Unseen]:
    """What was not seen anywhere, each once; its share is that of all members' time."""
    whole = sum(sum(part.tree.self_ns) for part in parts) or 1
    shares: dict[tuple[str, str, str], float | None] = {}
    for part in parts:
        weight = sum(part.tree.self_ns) / whole
        for one in part.unseen:
            key = (one.module, one.reason, one.hint)
            known = shares.get(key)
            shares[key] = known if one.share is None else (known or 0.0) + one.share * weight
    return [Unseen(*key, None if share is None else min(1.0, share)) for key, share in shares.items()]
