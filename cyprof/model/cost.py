"""What the probes themselves cost, and what is left when it is taken off.

The cost of a probe is a range: around a function of a few ns it is nearly what a calibration loop shows, around a longer
one the processor overlaps it with other work and hardly any of it can be seen. So each node gets three times: as measured,
with the whole calibrated cost taken off, and a best estimate between the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .calltree import NO_PARENT, CallTree
from .function import Function

DOUBT = 1.25
"""How many times its calibrated cost a probe may have cost at the most: the loop it was calibrated in is a friendly place."""

LEAST_PART = 20
"""What ran took some time: the estimate never falls below this part (one in so many) of what was measured."""


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

    def visible_of_line(self, function: Function) -> float:
        """The part of it that shows: an event of Python's is a call that nothing overlaps, a line probe is two stores, half of
        which fit between other work."""
        return self.python_line_ns if function.language == "python" else self.line_ns / 2


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


def node_times(tree: CallTree, functions: list[Function], costs: Sequence[ProbeCost], line_hits: list[int]) -> NodeTimes:
    """Takes the probes' cost off the measured self times. No time falls below zero.

    Part of what a call's probe costs falls before the switch to the callee and part after it, so half is taken off the
    callee and half off its caller; where one of them has less than that, the other gives the rest. A line event's cost lies
    wholly in its node. `costs` gives what probes cost and `line_hits` the line events, each by node.
    """
    whole, visible = _Off(tree), _Off(tree)
    for node in range(len(tree)):
        function, cost = functions[tree.function[node]], costs[node]
        line_cost = line_hits[node] * cost.of_line(function)
        calls = tree.calls[node] + tree.resumes[node]
        full = cost.of_call(function)
        seen = visible_cost(tree.self_ns[node] / calls + full / 2, full) if calls else 0.0
        clock = tree.exact_calls[node] * cost.clock_ns
        whole.add(node, DOUBT * calls * full + 2 * clock, line_cost)
        visible.add(node, calls * seen + 2 * clock, line_hits[node] * cost.visible_of_line(function))
    least = whole.taken_off()
    best = [max(low, own, raw // LEAST_PART) for low, own, raw in zip(least, visible.taken_off(), tree.self_ns, strict=True)]
    return NodeTimes(least, best, list(tree.self_ns))


class _Off:
    """What is to be taken off the nodes of a tree: for each node on its own, and for its calls, shared with its caller."""

    def __init__(self, tree: CallTree) -> None:
        self._tree = tree
        self._own = [0.0] * len(tree)
        self._for_calls = [0.0] * len(tree)

    def add(self, node: int, for_calls: float, own: float) -> None:
        """Notes costs of a node."""
        self._for_calls[node] = for_calls
        self._own[node] = own

    def taken_off(self) -> list[int]:
        """The self times that are left."""
        parent = self._tree.parent
        left = [float(own) - off for own, off in zip(self._tree.self_ns, self._own, strict=True)]
        for node, off in enumerate(self._for_calls):
            left[node] -= off / 2
            if parent[node] != NO_PARENT:
                left[parent[node]] -= off / 2
        children = self._tree.children()
        for node in range(len(left) - 1, -1, -1):
            if left[node] >= 0:
                continue
            # A caller shorter than its half of the calls it makes leaves the rest to its callees,
            for callee in children[node]:
                given = min(-left[node], left[callee]) if self._for_calls[callee] else 0.0
                left[callee] -= given
                left[node] += given
            # a callee shorter than its half leaves it to its caller.
            if parent[node] != NO_PARENT:
                left[parent[node]] += max(left[node], -self._for_calls[node] / 2)
            left[node] = 0.0
        return [max(0, round(own)) for own in left]
