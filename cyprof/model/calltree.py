"""The calling-context tree: one node for each distinct call path, as parallel arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

NO_PARENT = -1


@dataclass(slots=True)
class CallTree:
    """Nodes as parallel lists; index i of each list is node i. A parent stands before its children.

    `parent` is a node or NO_PARENT, `function` and `thread` are ids. `calls` counts calls, `exact_calls` those of them
    that were timed with a clock read, `resumes` how often a generator or coroutine was entered again, `raised` how often
    the function was left by an exception. `self_ns` is time as measured, without callees and with the probes' own cost;
    `wait_ns` the part of it the thread did not run. `call_line` is the line of the parent the call was made from, 0 where
    lines were not recorded; with lines recorded, call sites are nodes of their own.
    """

    parent: list[int] = field(default_factory=list)
    function: list[int] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    exact_calls: list[int] = field(default_factory=list)
    resumes: list[int] = field(default_factory=list)
    raised: list[int] = field(default_factory=list)
    self_ns: list[int] = field(default_factory=list)
    wait_ns: list[int] = field(default_factory=list)
    call_line: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.parent)

    def add(
        self,
        parent: int,
        function: int,
        thread: int = 0,
        *,
        calls: int = 0,
        exact_calls: int = 0,
        resumes: int = 0,
        raised: int = 0,
        self_ns: int = 0,
        wait_ns: int = 0,
        call_line: int = 0,
    ) -> int:
        """Appends a node and returns its index. Raises ValueError when the parent does not stand before it."""
        index = len(self.parent)
        if not NO_PARENT <= parent < index:
            raise ValueError(f"node {index} names parent {parent}, which does not stand before it")
        for name, value in (
            ("parent", parent), ("function", function), ("thread", thread), ("calls", calls),
            ("exact_calls", exact_calls), ("resumes", resumes), ("raised", raised), ("self_ns", self_ns),
            ("wait_ns", wait_ns), ("call_line", call_line),
        ):  # fmt: skip
            getattr(self, name).append(value)
        return index

    def columns(self) -> dict[str, list[int]]:
        """The arrays by name, in the order they are declared."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def children(self) -> list[list[int]]:
        """For each node the list of its children, in order."""
        lists: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent):
            if parent != NO_PARENT:
                lists[parent].append(node)
        return lists

    def roots(self) -> list[int]:
        """The nodes without a parent."""
        return [node for node, parent in enumerate(self.parent) if parent == NO_PARENT]

    def totals(self, own: list[int]) -> list[int]:
        """Sums `own` (one value a node) over each node and all below it."""
        sums = list(own)
        for node in range(len(sums) - 1, -1, -1):
            parent = self.parent[node]
            if parent != NO_PARENT:
                sums[parent] += sums[node]
        return sums

    def walk(self) -> Iterator[tuple[int, bool]]:
        """Depth first without recursion: yields (node, True) on entering and (node, False) on leaving each node."""
        children = self.children()
        stack = [(node, True) for node in reversed(self.roots())]
        while stack:
            node, entering = stack.pop()
            yield node, entering
            if entering:
                stack.append((node, False))
                stack.extend((child, True) for child in reversed(children[node]))
