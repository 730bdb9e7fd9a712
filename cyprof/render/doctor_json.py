"""What an examination found, as JSON for other programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # every module of this package is loaded to draw a graph, too
    from ..doctor.result import CallCost, Diagnosis, Extension, MarkedPlace

SCHEMA = "cyprof-doctor/1"


def doctor_json(found: Diagnosis) -> str:
    """The findings as a JSON text (schema `cyprof-doctor/1`) that ends in a line break. Costs are in ns a call."""
    value = {
        "schema": SCHEMA,
        "subject": found.title,
        "folder": found.folder,
        "checks": [
            {"name": check.name, "status": check.status, "found": check.found, "command": check.command}
            for check in found.checks
        ],
        "extensions": [_extension(extension) for extension in found.extensions],
        "tracing_left_on": found.tracing_left_on,
        "tracing": [_place(place) for place in found.places],
        "tracing_cost_ns": _cost(found.cost),
        "notes": list(found.notes),
    }
    return json.dumps(value, indent=1) + "\n"


def _extension(extension: Extension) -> dict[str, Any]:
    facts = extension.facts
    return {
        "module": extension.name,
        "file": str(facts.path),
        "made_by_cython": facts.cython,
        "cython": facts.version,
        "debug_info": facts.debug,
        "stripped": facts.stripped,
        "source": extension.source,
        "source_found": extension.how,
        "compiled_from": facts.source,
        "other_python": extension.other_python,
        "openmp": facts.openmp,
        "limited_api": facts.limited_api,
        "tracing": facts.tracing,
        "tracing_symbols": list(facts.evidence),
        "unreadable": facts.unreadable,
        "findings": [
            {"about": one.about, "status": one.status, "text": one.text, "command": one.command} for one in extension.findings
        ],
    }


def _place(place: MarkedPlace) -> dict[str, Any]:
    mark = place.mark
    return {
        "file": str(mark.file),
        "line": mark.line,
        "name": mark.name,
        "text": mark.quoted,
        "condition": mark.condition,
        "command": place.command,
    }


def _cost(cost: CallCost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    kinds = ("def", "cdef", "nogil")
    figures = zip(kinds, cost.plain, cost.traced, strict=True)
    return {**{kind: {"plain": plain, "traced": traced} for kind, plain, traced in figures}, "source": cost.source}
