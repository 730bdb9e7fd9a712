"""Names for formats that tell functions apart by their names alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from ..model import Function
from .units import visible

Form = Callable[[Function], str]


def unique_names(functions: Sequence[Function], replaced: dict[str, str] | None = None) -> list[str]:
    """For each function `module:qualified name` on one line, and no name twice.

    Where two share it, ` (file:line)` follows; where they share that too, ` #2`. `replaced` gives what stands for
    characters that a format keeps for itself.
    """
    table = str.maketrans(replaced or {})

    def clean(text: str) -> str:
        return visible(text).translate(table).strip()

    return distinct(functions, [lambda function: clean(f"{function.module}:{function.name}"), lambda f: clean(f.label)])


def distinct(
    functions: Sequence[Function], forms: Sequence[Form], place: Callable[[Function], Hashable] | None = None
) -> list[str]:
    """For each function the first of `forms` that no other function of the same `place` shares, else the last of them with
    a number behind it. By default all functions are of one place."""
    places = [place(function) if place else None for function in functions]
    rows = [[form(function) for form in forms] for function in functions]
    shared = [Counter(zip(places, texts, strict=True)) for texts in zip(*rows, strict=True)]
    taken: set[tuple[Hashable, str]] = set()
    numbers: Counter[tuple[Hashable, str]] = Counter()
    names = []
    for where, row in zip(places, rows, strict=True):
        free = (text for text, count in zip(row, shared, strict=True) if count[where, text] == 1 and (where, text) not in taken)
        name = next(free, row[-1])
        while (where, name) in taken:
            numbers[where, row[-1]] += 1
            name = f"{row[-1]} #{numbers[where, row[-1]] + 1}"
        taken.add((where, name))
        names.append(name)
    return names
