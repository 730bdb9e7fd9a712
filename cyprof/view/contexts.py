"""Folding: says for each node of the calling-context tree what it counts for in the view.

That is decided for each call path, not for each function: `marshal.loads` called by the import system is part of the
import, called by the user's own function it is a function.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..model import NO_PARENT, Function, Profile
from .classify import Origin, matches, origin_of, package_of, probed_packages
from .options import ViewOptions

IMPORT = "import"
STDLIB = "standard library"


@dataclass(frozen=True, slots=True)
class Entity:
    """What becomes one node: a function, or a group of folded functions (then `function` is None).

    `own` marks the user's own functions, `forced` those that `--show` asks for.
    """

    index: int
    title: str
    function: Function | None = None
    own: bool = False
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Contexts:
    """The entities, and for each node of the tree the index of its entity."""

    entities: list[Entity]
    of_node: list[int]
    folded_functions: list[set[int]]
    """For each entity the functions folded into it; empty for a function of its own."""


class _Builder:
    def __init__(self) -> None:
        self.entities: list[Entity] = []
        self.folded: list[set[int]] = []
        self.functions: dict[int, int] = {}
        self.groups: dict[str, int] = {}

    def function(self, function: Function, own: bool, forced: bool) -> int:
        if function.id not in self.functions:
            self.functions[function.id] = self._add(Entity(len(self.entities), function.name, function, own, forced))
        return self.functions[function.id]

    def group(self, title: str) -> int:
        if title not in self.groups:
            self.groups[title] = self._add(Entity(len(self.entities), title))
        return self.groups[title]

    def _add(self, entity: Entity) -> int:
        self.entities.append(entity)
        self.folded.append(set())
        return entity.index


def fold(profile: Profile, options: ViewOptions) -> Contexts:
    """Folds import machinery, standard library and installed packages, each into one entity.

    C functions and generated code that a folded function calls go with it, and so does everything that runs for an
    import, short of the user's own module bodies. Without call paths a function is one entity, and a C function goes with
    a group when nothing else calls it.
    """
    probed = probed_packages(profile)
    origins: list[Origin] = [origin_of(function, probed) for function in profile.functions]
    forced = [bool(options.show) and matches(function, options.show) for function in profile.functions]
    builder = _Builder()
    of_node: list[int] = []
    if not profile.has_paths:
        titles = [""] * len(origins) if options.everything else _titles_by_callers(profile, origins)
        for number in profile.tree.function:
            if titles[number] and not forced[number]:
                of_node.append(builder.group(titles[number]))
                builder.folded[of_node[-1]].add(number)
            else:
                of_node.append(builder.function(profile.functions[number], origins[number] == "own", forced[number]))
        return Contexts(builder.entities, of_node, builder.folded)
    for parent, function_id in zip(profile.tree.parent, profile.tree.function, strict=True):
        function, origin = profile.functions[function_id], origins[function_id]
        above = builder.entities[of_node[parent]] if parent != NO_PARENT else None
        title = "" if options.everything or forced[function_id] else _group_title(function, origin, above)
        if title:
            index = builder.group(title)
            builder.folded[index].add(function_id)
        else:
            index = builder.function(function, origin in ("own", "generated"), forced[function_id])
        of_node.append(index)
    return Contexts(builder.entities, of_node, builder.folded)


def _titles_by_callers(profile: Profile, origins: list[Origin]) -> list[str]:
    """By function the group it folds into in every call, "" for none."""
    titles = [_group_title(function, origin, None) for function, origin in zip(profile.functions, origins, strict=True)]
    callers: dict[int, set[str]] = defaultdict(set)
    for edge in profile.edges:
        callers[edge.callee].add(titles[edge.caller])
    for node, parent in enumerate(profile.tree.parent):
        if parent == NO_PARENT and profile.tree.calls[node]:
            callers[profile.tree.function[node]].add("")
    for number, found in callers.items():
        if origins[number] in ("builtin", "generated") and len(found) == 1:
            titles[number] = next(iter(found))
    return titles


def _group_title(function: Function, origin: Origin, above: Entity | None) -> str:
    """The group a call folds into, or "" when it stands for itself."""
    in_group = above is not None and above.function is None
    if origin == "own":
        return ""
    if origin == "import" or (in_group and above is not None and above.title == IMPORT):
        return IMPORT
    if origin in ("builtin", "generated"):
        return above.title if in_group and above is not None else ""
    return STDLIB if origin == "stdlib" else package_of(function)
