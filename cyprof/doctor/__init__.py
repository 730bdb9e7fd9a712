"""Looks at an environment and at built Cython modules, and says what is wrong and what mends it. Nothing is run or changed."""

from __future__ import annotations

from collections.abc import Callable

from .cost import call_cost
from .environment import examine_environment
from .extension import examine_extensions
from .result import CallCost, Check, Diagnosis, Extension, Finding, MarkedPlace
from .subject import Subject, subject_of
from .tracing import find_places

__all__ = ["CallCost", "Check", "Diagnosis", "Extension", "Finding", "MarkedPlace", "Subject", "examine", "subject_of"]


def examine(subject: Subject | None, *, measure: bool, progress: Callable[[str], None]) -> Diagnosis:
    """Examines the environment and, unless None, a subject. Where tracing was found, its cost is measured here (`measure`), or
    told as it was measured elsewhere."""
    checks = tuple(examine_environment())
    if subject is None:
        return Diagnosis("", "", checks)
    found = Diagnosis(
        subject.title,
        str(subject.root),
        checks,
        extensions=tuple(examine_extensions(subject)),
        places=tuple(find_places(subject)),
        notes=subject.notes,
    )
    if not found.tracing_left_on:
        return found
    cost, note = call_cost(measure, progress)
    notes = (*found.notes, note) if note else found.notes
    return Diagnosis(found.title, found.folder, checks, found.extensions, found.places, cost, notes)
