"""What a Bench says, in words: one sentence of evidence and one of conclusion for each variant. Pure."""

from __future__ import annotations

from ..view.units import percent_text, share_text, time_text
from .result import Bench, Evidence, Variant, is_known

_FAULTY = 0.15
"""System time above this part of a call is worth a word."""
_NEAR_ROOF = 0.8
_OVER_ROOF = 1.25
_GUESSING = 0.1
"""Mispredicted branches for each element from which on they decide."""
_EXPLAINED = 0.75
"""Where memory and the kernel take less than this part of a call, its own instructions decide."""
_SLOWER = 1.1
_MORE = 1.2
"""Who is slower than another with hardly more bytes is not held up by them."""
_UNREAD = 50
"""At so many times the copy roof nothing reads all of its input: no cache is so much faster than memory."""
_LEAST_TEMPORARY = 0.25
"""Bytes an element: less is not the data's, but Python's own objects."""
_FEW_FAULTS = 10
_DISTURBED = 0.05


def ratio_text(variant: Variant) -> str:
    """`6.02 (5.95-6.10)`."""
    if variant.high == float("inf"):
        return f"{variant.ratio:.2f} (?)"
    return f"{variant.ratio:.2f} ({variant.low:.2f}-{variant.high:.2f})"


def rate(variant: Variant) -> float:
    """GB/s at the bytes that any way must move, in its fastest round: so the copy roof was measured, too."""
    return variant.evidence.minimum_bytes / min(variant.times) / 1e9 if variant.times else 0.0


def each(variant: Variant, count: float | None) -> float:
    """A count for each element."""
    return (count or 0) / max(1, variant.evidence.elements)


def evidence_text(variant: Variant, bench: Bench) -> str:
    """All that was gathered, each number with its unit."""
    found = variant.evidence
    result, peak = each(variant, found.result_bytes), each(variant, found.peak_bytes)
    parts = [f"moves at least {each(variant, found.minimum_bytes):.1f} B an element, at {rate(variant):.1f} GB/s"
             f" (copy roof {bench.roof:.1f})"]  # fmt: skip
    extra = temporaries(variant)
    parts.append(f"allocates {peak:.1f} B an element, {result:.1f} of it the result" + (f": {extra}" if extra else ""))
    if found.faults is not None and found.system_s is not None:
        spent = f"{time_text(found.system_s * 1e9)} of system time ({share_text(_system_share(variant))})"
        parts.append(f"{found.faults:,.0f} page faults and {spent} a call")
    if found.counters:
        parts.append(", ".join(f"{each(variant, count):.2f} {name}" for name, count in found.counters.items()) + " an element")
    elif found.instructions is not None:
        parts.append(f"{found.instructions:.2f} instructions and {found.mispredicts or 0:.3f} mispredicted branches an element"
                     " (simulated by cachegrind, without AVX-512)")  # fmt: skip
    if rate(variant) < bench.roof:
        parts.append(f"memory at the roof and the kernel take {share_text(explained(variant, bench))} of its time")
    if found.vectorised:
        parts.append(f"vector code at {', '.join(found.vectorised)}")
    if found.scalar:
        parts.append("scalar at " + ", ".join(f"{place} ({_reason(found, place)})" for place in found.scalar))
    return "; ".join(parts) + "."


def explained(variant: Variant, bench: Bench) -> float:
    """Which part of a call, at most 1, the kernel takes and the memory that has to be moved, temporary arrays written and
    read again, were it moved at the copy roof."""
    found = variant.evidence
    if not variant.times or not bench.roof:
        return 0.0
    moved = found.minimum_bytes + 2 * max(0, (found.peak_bytes or 0) - found.result_bytes)
    return min(1.0, _system_share(variant) + moved / (bench.roof * 1e9) / min(variant.times))


def temporaries(variant: Variant) -> str:
    """How many arrays of the result's size lived beside it at most."""
    found = variant.evidence
    if (
        not found.peak_bytes
        or not found.result_bytes
        or found.peak_bytes - found.result_bytes < _LEAST_TEMPORARY * found.elements
    ):
        return ""
    count = round((found.peak_bytes - found.result_bytes) / found.result_bytes)
    return f"{count} temporary array{'s' if count != 1 else ''} of its size at a time" if count > 0 else ""


def conclusion(variant: Variant, bench: Bench) -> str:
    """What most likely decides on the time, told only from the evidence."""
    if variant.error:
        return f"It raised {variant.error}; it is left out of the timing."
    first = _first(bench)
    part = rate(variant) / bench.roof if bench.roof else 0.0
    slower = first is not None and variant is not first and variant.ratio > _SLOWER
    more = variant.evidence.minimum_bytes / max(1, first.evidence.minimum_bytes) if first is not None else 1.0
    causes = [*_of_the_machine(variant), *_of_memory(part, near=not (slower and more <= _MORE))]
    if first is not None and slower:
        if more > _MORE:
            causes.append(f"it has to move {more:.1f} times the bytes of {first.title}")
        if not causes or explained(variant, bench) < _EXPLAINED:
            causes += _own_instructions(variant, first, bench)
    elif explained(variant, bench) < _EXPLAINED:
        causes += _scalar_loops(variant)
    if not causes:
        return _plain(part)
    text = "; ".join(causes)
    return f"{text[0].upper()}{text[1:]}."


def _of_the_machine(variant: Variant) -> list[str]:
    """What the processor and the kernel do beside the work itself."""
    found = variant.evidence
    causes = []
    if found.mispredicts is not None and found.mispredicts >= _GUESSING:
        causes.append(f"the processor guesses {found.mispredicts:.2f} branches an element wrong")
    if _system_share(variant) >= _FAULTY and (found.faults or 0) >= _FEW_FAULTS:
        causes.append(f"{share_text(_system_share(variant))} of its time the kernel makes pages for fresh arrays")
    if temporaries(variant):
        causes.append(f"it makes {temporaries(variant)}, each of them written and read again")
    return causes


def _of_memory(part: float, *, near: bool) -> list[str]:
    """What its rate says, a part of the copy roof; `near` whether being near the roof may hold it up."""
    if part >= _UNREAD:
        return ["it cannot have read all of its input in that time"]
    if part >= _OVER_ROOF:
        return [f"its data fit into the processor's caches, at {part:.1f} times the copy roof of memory"]
    if part >= _NEAR_ROOF and near:
        return [f"it moves memory at {share_text(part)} of the copy roof, so fewer bytes are the only way on"]
    return []


def _own_instructions(variant: Variant, first: Variant, bench: Bench) -> list[str]:
    """That its arithmetic takes the time, where memory and the kernel leave most of it."""
    found, other = variant.evidence, first.evidence.instructions
    taken = share_text(explained(variant, bench))
    causes = [f"memory and the kernel take {taken} of its time, its own instructions the rest"]
    if found.instructions is not None and other and found.instructions > 1.2 * other:
        times = found.instructions / other
        causes[0] += f": {found.instructions:.1f} an element, {times:.1f} times those of {first.title}"
    return causes + _scalar_loops(variant)


def _scalar_loops(variant: Variant) -> list[str]:
    found = variant.evidence
    return [f"its loop at {place} is not vector code{_remedy(found, place)}" for place in found.scalar]


def _reason(found: Evidence, place: str) -> str:
    flags = found.remedies.get(place)
    return found.reasons.get(place, "") + (f"; vector code with {flags}" if flags else "")


def _remedy(found: Evidence, place: str) -> str:
    flags = found.remedies.get(place)
    return f", as it would be with {flags}" if flags else ""


def _plain(part: float) -> str:
    """What is said where nothing stands out."""
    if not part:
        return "Nothing gathered here stands out."
    return (
        f"Nothing holds it up: one pass over memory at {share_text(part)} of the copy roof, no temporary array, few new pages."
    )


def _system_share(variant: Variant) -> float:
    """System time as a part of the processor time of a call."""
    found = variant.evidence
    if found.system_s is None or found.user_s is None:
        return 0.0
    return found.system_s / max(1e-9, found.system_s + found.user_s)


def _first(bench: Bench) -> Variant | None:
    return next((variant for variant in bench.variants if variant.times), None)


def end_text(bench: Bench) -> str:
    """How well the ratios are known."""
    timed = [variant for variant in bench.variants if variant.times]
    if not timed:
        return "No variant ran."
    precision = percent_text(100 * bench.precision)
    disturbed = ""
    if bench.disturbed >= _DISTURBED:
        disturbed = f" Other programs had the processor {share_text(bench.disturbed)} of the time; the times are without that."
    if bench.known:
        return f"{bench.rounds} rounds; every ratio is known to {precision}.{disturbed}"
    loose = [variant.title for variant in timed[1:] if not is_known(variant.low, variant.high, bench.precision)]
    unknown = f"the ratios of {', '.join(loose)} are not known to {precision}"
    return f"{bench.rounds} rounds, then the time was up: {unknown}; a quieter machine or a longer --limit helps.{disturbed}"
