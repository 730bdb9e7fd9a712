"""Folding: says for each node of the calling-context tree what it counts for in the view.

That is decided for each call path, not for each function: `marshal.loads` called by the import system is part of the
import, called by the user's own function it is a function.
"""

from __future__ import annotations

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
    import, short of the user's own module bodies.
    """
    probed = probed_packages(profile)
    origins: list[Origin] = [origin_of(function, probed) for function in profile.functions]
    forced = [bool(options.show) and matches(function, options.show) for function in profile.functions]
    builder = _Builder()
    of_node: list[int] = []
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
