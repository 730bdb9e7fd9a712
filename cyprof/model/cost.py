"""What the probes themselves cost, and what is left when it is taken off.

The cost of a probe is a range: around a function of a few ns it is nearly what a calibration loop shows, around a longer
one the processor overlaps it with other work and hardly any of it can be seen. So each node gets three times: as measured,
with the whole calibrated cost taken off, and a best estimate between the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .calltree import NO_PARENT, CallTree
from .function import Function


@dataclass(frozen=True, slots=True)
class ProbeCost:
    """Calibrated costs in ns: of one counted call of a Cython function, of one Python call seen, of one C call seen,
    of one clock read, and of one line event of Cython and of Python."""

    call_ns: float = 0.0
    python_ns: float = 0.0
    builtin_ns: float = 0.0
    clock_ns: float = 0.0
    line_ns: float = 0.0
    python_line_ns: float = 0.0

    def of_call(self, function: Function) -> float:
        """The cost of one call of `function`, without clock reads."""
        if function.language == "c":
            return self.builtin_ns
        return self.call_ns if function.language == "cython" else self.python_ns

    def of_line(self, function: Function) -> float:
        """The cost of one line event of `function`."""
        return self.python_line_ns if function.language == "python" else self.line_ns


def visible_cost(measured_ns: float, cost_ns: float) -> float:
    """The part of a probe's cost that shows in a call that took `measured_ns` with the probe.

    Model: a call of true length t shows cost²/(cost + t) of the calibrated cost; all of it at t = 0, half at t = cost,
    a twelfth at t = 11 cost. It was chosen to meet three measured points (2 ns: two thirds; 46 ns: next to nothing) and
    is solved here for the measured time t + cost²/(cost + t).
    """
    if cost_ns <= 0:
        return 0.0
    if measured_ns <= cost_ns:
        return measured_ns
    both = measured_ns + cost_ns
    true_ns = (both + math.sqrt(both * both - 4 * cost_ns * cost_ns)) / 2 - cost_ns
    return measured_ns - true_ns


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """Self times of every node in ns: the least they can be, the best estimate, and as measured."""

    least: list[int]
    best: list[int]
    raw: list[int]

    def with_settled(self, settled: list[int]) -> NodeTimes:
        """These times, with a node's range closed where `settled` holds its true time (not -1)."""
        if not settled:
            return self
        return NodeTimes(
            *([own if own >= 0 else old for own, old in zip(settled, times, strict=True)]
              for times in (self.least, self.best, self.raw))
        )  # fmt: skip


def node_times(tree: CallTree, functions: list[Function], cost: ProbeCost, line_hits: list[int]) -> NodeTimes:
    """Takes the probes' cost off the measured self times. No time falls below zero.

    Half of what a call's probe costs falls before the switch to the callee and half after it, so half is taken off the
    callee and half off its caller; a line event's cost lies wholly in its node. `line_hits` gives line events per node.
    """
    count = len(tree)
    whole = [0.0] * count
    visible = [0.0] * count
    for node in range(count):
        calls = tree.calls[node] + tree.resumes[node]
        function = functions[tree.function[node]]
        line_cost = line_hits[node] * cost.of_line(function)
        whole[node] += line_cost
        # An event of Python's is a call that nothing overlaps; a line probe is two stores that fit between other work.
        visible[node] += line_cost if function.language == "python" else line_cost / 2
        if not calls:
            continue
        parent = tree.parent[node]
        full = cost.of_call(function)
        seen = visible_cost(tree.self_ns[node] / calls + full / 2, full)
        clock = tree.exact_calls[node] * cost.clock_ns
        for sums, probe in ((whole, calls * full), (visible, calls * seen)):
            sums[node] += probe / 2 + clock
            if parent != NO_PARENT:
                sums[parent] += probe / 2 + clock
    raw = tree.self_ns
    least = [max(0, round(own - off)) for own, off in zip(raw, whole, strict=True)]
    best = [max(low, round(own - off)) for low, own, off in zip(least, raw, visible, strict=True)]
    return NodeTimes(least, best, list(raw))
