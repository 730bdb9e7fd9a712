"""The call graph as it is drawn: nodes, edges and clusters, with their texts and colours decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from .palette import Language


@dataclass(frozen=True, slots=True)
class Node:
    """One box. `title` and `place` stand left in the first row, `total` right; then `own` and `calls`; then `hot_line`.

    `kind` is the function's kind, or `folded`, `unseen`, `thread`. `level` is the step of the colour ramp, `size` 0 to 2
    how large the title is set. Times in ns.
    """

    id: str
    kind: str
    language: Language
    title: str
    tooltip: str
    place: str = ""
    total: str = ""
    own: str = ""
    calls: str = ""
    hot_line: str = ""
    level: int = 0
    size: int = 0
    cluster: str = ""
    self_ns: int = 0
    total_ns: int = 0
    change: str = ""
    """In a comparison the verdict, which then decides on the fill."""

    @property
    def css_class(self) -> str:
        """The class the picture carries: `function KIND`, or `unseen` and `thread` for what is no function."""
        return self.kind if self.kind in ("unseen", "thread") else f"function {self.kind}"


@dataclass(frozen=True, slots=True)
class Edge:
    """Calls from `tail` to `head` (node ids); `indirect` through functions that are not shown. `share` is 0 to 1 of the
    run, `hot` marks the path that took most of the time."""

    tail: str
    head: str
    label: str
    tooltip: str
    share: float
    calls: int
    total_ns: int
    indirect: bool = False
    hot: bool = False

    @property
    def css_class(self) -> str:
        """`call` or `call indirect`."""
        return "call indirect" if self.indirect else "call"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The box around a module's functions."""

    id: str
    label: str
    language: Language
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """A whole picture. `message` says why there is nothing to draw, when there is nothing."""

    title: str
    subtitle: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...]
    footer: tuple[str, ...] = ()
    languages: tuple[Language, ...] = field(default=())
    message: str = ""
