"""The lines under the picture: what was left out, and the option that brings it back. Nothing is cut silently."""

from __future__ import annotations

from .labels import is_wide
from .select import Facts, Reason, Selection
from .units import count_text, percent_text, share_text, visible

_NAMED = 3
_NOTES = 2


def footer_lines(facts: Facts, selection: Selection, edges_dropped: int, indirect: bool) -> tuple[str, ...]:
    """One sentence for each thing a reader may miss in the picture."""
    lines = [_folded(facts, selection)]
    lines += [_left_out(reason, gone, facts) for reason, gone in selection.left_out]
    if edges_dropped:
        lines.append(f"{count_text(edges_dropped, 'light edge')} left out; --all draws them.")
    if indirect:
        lines.append("A dashed edge runs through functions that are not shown.")
    lines.append(_precision(facts, selection))
    lines.append(_unseen(facts))
    notes = facts.profile.notes
    lines += [visible(note) for note in notes[:_NOTES]]
    if len(notes) > _NOTES:
        lines.append(f"{count_text(len(notes) - _NOTES, 'further note')}: see cyprof stats.")
    return tuple(line for line in lines if line)


def _folded(facts: Facts, selection: Selection) -> str:
    groups = [
        f"{facts.contexts.entities[index].title} ({count_text(len(facts.contexts.folded_functions[index]), 'function')})"
        for index in selection.shown
        if facts.contexts.entities[index].function is None
    ]
    if not groups:
        return ""
    twice = "" if facts.profile.has_paths else " What leaves a group and comes back counts twice in its total and its arrows."
    return f"Folded: {_some(groups)}. --all unfolds them, --show PATTERN some.{twice}"


def _left_out(reason: Reason, gone: tuple[int, ...], facts: Facts) -> str:
    entities = [facts.contexts.entities[index] for index in gone]
    functions = sum(entity.function is not None for entity in entities)
    groups = [entity.title for entity in entities if entity.function is None]
    names = ([count_text(functions, "function")] if functions else []) + groups
    spent = sum(facts.measures[index].self_ns for index in gone) / facts.profile.self_sum_ns
    what = f"{_some(names)} left out"
    share = f"self time together {share_text(spent)}"
    if reason == "share":
        return f"{what}, each under {percent_text(facts.options.min_share)} of the time; {share}. --min-share 0 shows them."
    if reason == "limit":
        return f"{what} to keep the picture readable; {share}. --all shows them, --show PATTERN some."
    return f"{what} by --{reason}; {share}."


def _precision(facts: Facts, selection: Selection) -> str:
    whole = facts.profile.self_sum_ns
    wide = [i for i in selection.shown if is_wide(facts.measures[i].least_ns, facts.measures[i].raw_ns, whole)]
    if not wide:
        return ""
    return "A range such as 12-31 % spans what the probes' own cost may be; --calibrate narrows it."


def _unseen(facts: Facts) -> str:
    names = [visible(unseen.module) for unseen in facts.profile.unseen if not unseen.share]
    if not names:
        return ""
    return f"Not probed, share unknown: {_some(names)}. cyprof stats says why."


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
