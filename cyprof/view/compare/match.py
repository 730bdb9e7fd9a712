"""Which function of one side is which of the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .sides import Key, Runs, Seen


@dataclass(frozen=True, slots=True)
class Pair:
    """A function before and after; one of them None where it is new or gone. `moved` says what became of it, "" for one
    that stayed what it was."""

    before: Key | None
    after: Key | None
    moved: str = ""


def pairs(before: Runs, after: Runs) -> list[Pair]:
    """Every function of either side once: by module and name, and what is left by its qualified name alone where only one
    on each side has it. A Python function and its Cython twin find each other in both ways."""
    common = [key for key in before.seen if key in after.seen]
    found = [Pair(key, key, _language_change(before.seen[key], after.seen[key])) for key in common]
    gone = [key for key in before.seen if key not in after.seen]
    new = [key for key in after.seen if key not in before.seen]
    twins = _twins(gone, new, before, after)
    taken = set(twins.values())
    for key in gone:
        twin = twins.get(key)
        moved = _move_text(before.seen[key], after.seen[twin]) if twin else ""
        found.append(Pair(key, twin, moved))
    found += [Pair(None, key) for key in new if key not in taken]
    return found


def _twins(gone: Iterable[Key], new: Iterable[Key], before: Runs, after: Runs) -> dict[Key, Key]:
    def by_name(keys: Iterable[Key], runs: Runs) -> dict[str, list[Key]]:
        names: dict[str, list[Key]] = defaultdict(list)
        for key in keys:
            function = runs.seen[key].function
            # Lambdas and comprehensions all share a name, and so do many C functions.
            if function is not None and "<" not in function.name.replace("<locals>", "") and function.language != "c":
                names[function.name].append(key)
        return names

    others = by_name(new, after)
    return {
        keys[0]: others[name][0]
        for name, keys in by_name(gone, before).items()
        if len(keys) == 1 and len(others.get(name, ())) == 1
    }


def _language_change(before: Seen, after: Seen) -> str:
    if before.function is None or after.function is None or before.function.language == after.function.language:
        return ""
    return f"{kind_word(before)} → {kind_word(after)}"


def _move_text(before: Seen, after: Seen) -> str:
    assert before.function is not None and after.function is not None
    kinds = _language_change(before, after)
    return f"{before.function.module} → {after.function.module}" + (f", {kinds}" if kinds else "")


def kind_word(seen: Seen) -> str:
    """What a function is written in: `Python`, `Cython`, `C` (compiled and not probed)."""
    assert seen.function is not None
    return {"python": "Python", "cython": "Cython", "c": "C (not probed)"}[seen.function.language]
