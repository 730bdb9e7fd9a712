"""Which entities are shown: an ordered list of steps, each of which takes some out and says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from ..model import CYTHON_KINDS, Profile
from .classify import matches
from .contexts import Contexts, Entity
from .measure import Measures
from .options import MOST_NODES, USER_FUNCTIONS_KEPT, ViewOptions

Reason = Literal["hide", "only", "share", "limit"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the steps decide on."""

    profile: Profile
    options: ViewOptions
    contexts: Contexts
    measures: list[Measures]

    def share(self, index: int) -> float:
        """Total time of an entity as a percentage of the run."""
        return 100 * self.measures[index].total_ns / self.profile.self_sum_ns


@dataclass(frozen=True, slots=True)
class Selection:
    """The shown entities in their order, and those left out, by the reason for it."""

    shown: tuple[int, ...]
    left_out: tuple[tuple[Reason, tuple[int, ...]], ...] = ()

    def without(self, reason: Reason, gone: list[int]) -> Selection:
        """The selection less some entities."""
        if not gone:
            return self
        dropped = set(gone)
        shown = tuple(index for index in self.shown if index not in dropped)
        return replace(self, shown=shown, left_out=(*self.left_out, (reason, tuple(gone))))


Step = Callable[[Selection, Facts], Selection]


def select(facts: Facts) -> Selection:
    """Applies all steps to everything that ran."""
    selection = Selection(tuple(entity.index for entity in facts.contexts.entities))
    for step in STEPS:
        selection = step(selection, facts)
    return selection


def drop_hidden(selection: Selection, facts: Facts) -> Selection:
    """Leaves out what `--hide` names: functions by pattern, groups by their title."""
    return selection.without("hide", [i for i in selection.shown if _fits(facts, i, facts.options.hide)])


def keep_only(selection: Selection, facts: Facts) -> Selection:
    """With `--only`, leaves out Python and Cython functions that no pattern fits, and groups. C functions stay: they
    are what the chosen functions call."""
    options = facts.options
    if not options.only:
        return selection

    def unwanted(entity: Entity) -> bool:
        if entity.forced or (entity.function is not None and entity.function.language == "c"):
            return False
        return not _fits(facts, entity.index, options.only)

    return selection.without("only", [i for i in selection.shown if unwanted(facts.contexts.entities[i])])


def prune_small(selection: Selection, facts: Facts) -> Selection:
    """Leaves out what took less than `--min-share` of the time, but never the user's own functions while they are few."""
    if facts.options.everything:
        return selection
    kept = _protected(selection, facts)
    small = [i for i in selection.shown if i not in kept and _weight(i, facts) < facts.options.min_share]
    return selection.without("share", small)


def _weight(index: int, facts: Facts) -> float:
    """What an entity counts for, in percent of the run: its total time, but of a module's body only what it does itself. The
    rest is its imports, which are drawn as what they are."""
    function = facts.contexts.entities[index].function
    if function is not None and function.kind == "module" and function.module != "__main__":
        return 100 * facts.measures[index].self_ns / facts.profile.self_sum_ns
    return facts.share(index)


def limit_nodes(selection: Selection, facts: Facts) -> Selection:
    """Keeps the nodes with the most time when there are more than a picture can hold."""
    if facts.options.everything or len(selection.shown) <= MOST_NODES:
        return selection
    kept = _protected(selection, facts)

    def rank(index: int) -> tuple[bool, int, int]:
        sums = facts.measures[index]
        # Self time counts twice, so that a hot leaf stands before the wrappers above it.
        return index not in kept, -(sums.total_ns + sums.self_ns), index

    return selection.without("limit", sorted(sorted(selection.shown, key=rank)[MOST_NODES:]))


STEPS: tuple[Step, ...] = (drop_hidden, keep_only, prune_small, limit_nodes)


def _fits(facts: Facts, index: int, patterns: tuple[str, ...]) -> bool:
    entity = facts.contexts.entities[index]
    if entity.function is None:
        return any(fnmatchcase(entity.title, pattern) for pattern in patterns)
    return matches(entity.function, patterns)


def _protected(selection: Selection, facts: Facts) -> set[int]:
    """Entities that neither share nor limit may take out."""
    entities = [facts.contexts.entities[index] for index in selection.shown]
    forced = {entity.index for entity in entities if entity.forced}
    own = {entity.index for entity in entities if entity.own}
    # In a program with many functions of its own, the Cython ones are what the user came to see.
    compiled = {entity.index for entity in entities if entity.own and _is_compiled(entity)}
    return forced | next((kept for kept in (own, compiled) if len(kept) < USER_FUNCTIONS_KEPT), set())


def _is_compiled(entity: Entity) -> bool:
    return entity.function is not None and entity.function.kind in CYTHON_KINDS
