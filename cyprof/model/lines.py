"""Line data: hits and time for each line of each node."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class LineRecords:
    """Parallel lists, one entry for each line reached in each node of the call tree.

    `node` is a node of the tree, `file` an index into `Profile.files`, `line` a line number, `hits` how often the line
    was reached as its author reads it, `self_ns` the time on it without callees.
    """

    node: list[int] = field(default_factory=list)
    file: list[int] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    self_ns: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.node)

    def add(self, node: int, file: int, line: int, hits: int, self_ns: int) -> None:
        """Appends one record."""
        self.node.append(node)
        self.file.append(file)
        self.line.append(line)
        self.hits.append(hits)
        self.self_ns.append(self_ns)

    def columns(self) -> dict[str, list[int]]:
        """The arrays by name, in the order they are declared."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


@dataclass(frozen=True, slots=True)
class LineTimes:
    """One line of one function, over all threads and call paths. Times in ns, probe cost taken off."""

    file: str
    line: int
    function: int
    hits: int
    self_ns: int
    total_ns: int
