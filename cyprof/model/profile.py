"""The one value that travels: what was run, its functions, its call tree, and everything derived from the tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from .calltree import NO_PARENT, CallTree
from .cost import NodeTimes, ProbeCost, node_times
from .function import Function
from .lines import LineRecords, LineTimes
from .stated import Engine, Stated


@dataclass(frozen=True, slots=True)
class Run:
    """What was run and with what. Times in ns; `started` is an ISO date; `clock` is auto, exact or sampled. `place` says which
    part of a program on many machines it was ("rank 3"), `host` on which of them it ran."""

    target: str
    argv: tuple[str, ...] = ()
    exit_code: int = 0
    wall_ns: int = 0
    cpu_ns: int = 0
    python: str = ""
    cython: str = ""
    clock: str = "auto"
    events: int = 0
    samples: int = 0
    started: str = ""
    cost: ProbeCost = field(default_factory=ProbeCost)
    with_lines: bool = False
    place: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread that ran. `cpu_ns` is its processor time, `wall_ns` the time from its first event to its end.

    `merged` says how many ended threads of that kind are one entry, 0 for a thread on its own; `process` is an id.
    """

    id: int
    name: str
    cpu_ns: int = 0
    wall_ns: int = 0
    merged: int = 0
    process: int = 0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that ran; the program's own has id 0 and no name. Times in ns.

    `end` says how it ended, "" for the usual way. `member` is the number of the merged recording that it comes from.
    """

    id: int
    pid: int
    name: str
    parent_pid: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    end: str = ""
    member: int = 0


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something no probe reached: a module or a function, why, and what to do. `share` of the run where it is known."""

    module: str
    reason: str
    hint: str = ""
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """One of the recordings that were merged into a profile: a rank, a worker, another run. `sources` are the sha256 of its
    source files; `unseen` and `notes` are its own."""

    name: str
    run: Run
    sources: dict[str, str] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FunctionTimes:
    """A function over all threads and call paths. Times in ns.

    `self_ns` is the best estimate, `self_min_ns` and `raw_self_ns` bound it; `total_ns` counts each stack once.
    """

    calls: int
    primitive_calls: int
    resumes: int
    raised: int
    self_ns: int
    total_ns: int
    wait_ns: int
    self_min_ns: int
    raw_self_ns: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Calls from one function to another. `total_ns` counts each stack once, `primitive_calls` leaves out those made while
    another call of the same edge was open. `self_ns` is the callee's own time when called from this caller."""

    caller: int
    callee: int
    calls: int
    total_ns: int
    primitive_calls: int
    self_ns: int


@dataclass
class Profile:
    """A recorded run. Built once and not changed afterwards; derived tables are computed when first asked for.

    `functions[i].id == i`. `files` are the files that line records point into, `scores` Cython's annotation score per
    file and line, `source_hashes` the sha256 of each source file as it was when it ran, `notes` sentences for the user.
    `settled_ns`, when not empty, holds each node's self time as a second run without its probe settled it, -1 where none did.
    `baseline_ns_per_call` gives by function id what a call took, callees left out, in a run with function probes only.
    `stated` is there when the tree holds no call paths, `remarks` says by function id what a reader should know of it.
    `engine` is there when another profiler than the probes recorded; a saved recording does not keep it.
    `members` are the recordings it was merged from, if it was (members.py).
    """

    run: Run
    functions: list[Function]
    tree: CallTree
    lines: LineRecords = field(default_factory=LineRecords)
    files: list[str] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    unseen: list[Unseen] = field(default_factory=list)
    scores: dict[str, dict[int, int]] = field(default_factory=dict)
    source_hashes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    baseline_ns_per_call: dict[int, float] = field(default_factory=dict)
    settled_ns: list[int] = field(default_factory=list)
    stated: Stated | None = None
    remarks: dict[int, str] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)
    engine: Engine | None = None
    members: list[Member] = field(default_factory=list)

    @property
    def has_paths(self) -> bool:
        """Whether the tree holds call paths, and not only who calls whom."""
        return self.stated is None

    @property
    def has_kinds(self) -> bool:
        """Whether it is known of functions what kind they are: a build tells that, and a file without call paths does not."""
        return self.has_paths or self.engine is not None

    @cached_property
    def node_primitive_calls(self) -> list[int]:
        """The calls of each node that are primitive when no node of the same function stands above it."""
        return self.tree.calls if self.stated is None else self.stated.primitive_calls

    @cached_property
    def node_times(self) -> NodeTimes:
        """Self time of each node: least, best estimate, as measured."""
        hits = [0] * len(self.tree)
        for node, count in zip(self.lines.node, self.lines.hits, strict=True):
            hits[node] += count
        return node_times(self.tree, self.functions, self._node_costs, hits).with_settled(self.settled_ns)

    @cached_property
    def _node_costs(self) -> list[ProbeCost]:
        """What probes cost where each node was recorded: machines differ."""
        if not self.members:
            return [self.run.cost] * len(self.tree)
        costs = {process.id: self.members[process.member].run.cost for process in self.processes}
        of_thread = {thread.id: costs[thread.process] for thread in self.threads}
        return [of_thread[thread] for thread in self.tree.thread]

    @cached_property
    def node_totals(self) -> list[int]:
        """Total time of each node (best estimate), callees included."""
        return self.tree.totals(self.node_times.best) if self.stated is None else self.stated.total_ns

    @cached_property
    def self_sum_ns(self) -> int:
        """The self times of all nodes together: what 100 % stands for. Never 0."""
        return max(1, sum(self.node_times.best))

    def thread_title(self, thread: Thread) -> str:
        """The thread's name, with its process where there are several."""
        if len(self.processes) < 2:
            return thread.name
        process = next((process for process in self.processes if process.id == thread.process), None)
        return f"{self.process_title(process)} {process.pid}: {thread.name}" if process is not None else thread.name

    def process_title(self, process: Process) -> str:
        """The process's name; in a merged profile with the member it belongs to, which names the first process of each."""
        if not self.members:
            return process.name or "main"
        member = self.member_titles[process.member]
        return f"{member}, {process.name}" if process.name else member

    @cached_property
    def member_titles(self) -> list[str]:
        """The names of the members, numbered where several have the same."""
        often: Counter[str] = Counter()
        titles = []
        for member in self.members:
            often[member.name] += 1
            titles.append(member.name if often[member.name] == 1 else f"{member.name} #{often[member.name]}")
        return titles

    @cached_property
    def delayed_ns(self) -> int:
        """How long the main thread was ready to run while other programs had the processor; 0 where that is not known."""
        if not self.threads or not self.threads[0].cpu_ns:
            return 0
        main = self.threads[0]
        waited = sum(wait for wait, thread in zip(self.tree.wait_ns, self.tree.thread, strict=True) if thread == main.id)
        return max(0, main.wall_ns - waited - main.cpu_ns)

    @cached_property
    def function_times(self) -> list[FunctionTimes]:
        """Calls and times per function, by function id."""
        tree, times = self.tree, self.node_times
        size = len(self.functions)
        sums: dict[str, list[int]] = {
            name: [0] * size for name in ("calls", "primitive", "resumes", "raised", "own", "total", "wait", "least", "raw")
        }
        for node, function in enumerate(tree.function):
            sums["calls"][function] += tree.calls[node]
            sums["resumes"][function] += tree.resumes[node]
            sums["raised"][function] += tree.raised[node]
            sums["own"][function] += times.best[node]
            sums["wait"][function] += min(tree.wait_ns[node], times.best[node])
            sums["least"][function] += times.least[node]
            sums["raw"][function] += times.raw[node]
        for node in self._outermost_nodes:
            sums["primitive"][tree.function[node]] += self.node_primitive_calls[node]
            sums["total"][tree.function[node]] += self.node_totals[node]
        return [FunctionTimes(*row) for row in zip(*sums.values(), strict=True)]

    @cached_property
    def edges(self) -> list[Edge]:
        """Calls between functions, in the order they are first met."""
        tree = self.tree
        calls: Counter[tuple[int, int]] = Counter()
        primitive: Counter[tuple[int, int]] = Counter()
        own: Counter[tuple[int, int]] = Counter()
        totals: Counter[tuple[int, int]] = Counter()
        open_edges: Counter[tuple[int, int]] = Counter()
        for node, entering in tree.walk():
            parent = tree.parent[node]
            if parent == NO_PARENT:
                continue
            pair = (tree.function[parent], tree.function[node])
            if not entering:
                open_edges[pair] -= 1
                continue
            calls[pair] += tree.calls[node]
            own[pair] += self.node_times.best[node]
            if not open_edges[pair]:
                primitive[pair] += self.node_primitive_calls[node]
                totals[pair] += self.node_totals[node]
            open_edges[pair] += 1
        return [Edge(*pair, count, totals[pair], primitive[pair], own[pair]) for pair, count in calls.items()]

    @cached_property
    def line_times(self) -> list[LineTimes]:
        """Hits and times per function and line, sorted by function, file and line. A line's total time counts each stack that
        holds the line once. Below a recursive call the lines calls were made from may be unknown; they then count for none."""
        tree = self.tree
        hits: Counter[tuple[int, int, int]] = Counter()
        own: Counter[tuple[int, int, int]] = Counter()
        total: Counter[tuple[int, int, int]] = Counter()
        rows: dict[int, list[tuple[tuple[int, int, int], int]]] = {}
        sites: dict[tuple[int, int], tuple[int, int, int]] = {}
        for (node, file, line, count, _), corrected in zip(self._line_rows, self._line_self_ns, strict=True):
            key = (tree.function[node], file, line)
            hits[key] += count
            own[key] += corrected
            rows.setdefault(node, []).append((key, corrected))
            sites.setdefault((node, line), key)
        open_sites: Counter[tuple[int, int, int]] = Counter()
        for node, entering in tree.walk():
            site = sites.get((tree.parent[node], tree.call_line[node]))
            if site:
                if entering and not open_sites[site]:
                    total[site] += self.node_totals[node]
                open_sites[site] += 1 if entering else -1
            if not entering:
                continue
            for key, corrected in rows.get(node, ()):
                total[key] += 0 if open_sites[key] else corrected
        return [
            LineTimes(self.files[file], line, function, hits[key], own[key], total[key])
            for key in sorted(hits)
            for function, file, line in (key,)
        ]

    @property
    def _line_rows(self) -> list[tuple[int, ...]]:
        return list(zip(*self.lines.columns().values(), strict=True))

    @cached_property
    def _line_self_ns(self) -> list[int]:
        """Self time of each line record: what its own events cost is taken off, and the rest shares out the node's time."""
        tree, costs = self.tree, self._node_costs
        left = [
            max(0.0, raw - count * costs[node].visible_of_line(self.functions[tree.function[node]]))
            for node, _, _, count, raw in self._line_rows
        ]
        sums: Counter[int] = Counter()
        for node, own in zip(self.lines.node, left, strict=True):
            sums[node] += own  # type: ignore[assignment]
        best = self.node_times.best
        return [
            round(own * best[node] / sums[node]) if sums[node] else 0 for node, own in zip(self.lines.node, left, strict=True)
        ]

    @cached_property
    def line_slowdown(self) -> dict[int, float]:
        """How many times longer a call took with line probes than with function probes only, callees left out, by function
        id; only for functions whose baseline is known."""
        times = self.function_times
        return {
            function: times[function].self_ns / times[function].calls / baseline
            for function, baseline in self.baseline_ns_per_call.items()
            if baseline > 0 and times[function].calls
        }

    @cached_property
    def _outermost_nodes(self) -> list[int]:
        """The nodes with no node of the same function above them."""
        function = self.tree.function
        depth = [0] * len(self.functions)
        found = []
        for node, entering in self.tree.walk():
            if not entering:
                depth[function[node]] -= 1
                continue
            if not depth[function[node]]:
                found.append(node)
            depth[function[node]] += 1
        return found
