"""The texts of nodes and edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

from ..model import Function, LineTimes, Profile
from .measure import Link, Measures
from .palette import Language
from .units import count_text, range_text, share_text, shorten, time_text, visible

SourceLine = Callable[[str, int], str | None]
"""Gives the text of a line of a file, or None where it cannot be known."""

LONGEST_TITLE = 44
LONGEST_LINE = 46
_WIDE_RANGE = 0.02
_HOT = 0.05
_WAITS_MUCH = 0.02


def language_of(function: Function) -> Language:
    """The language a node's border shows."""
    return "nogil" if function.nogil else function.language


def title_text(function: Function) -> str:
    """The function's name, shortened visibly when it is very long."""
    return shorten(visible(function.name) or "?", LONGEST_TITLE)


def place_text(function: Function, recursive: bool) -> str:
    """What stands after the name: `:20 cdef nogil`, `C · numpy`, with `↻` when recursive."""
    words = []
    if function.line:
        words.append(f":{function.line}")
    if function.language == "c":
        words.append("C" if function.module in ("", "builtins") else f"C · {shorten(visible(function.module), 24)}")
    elif function.kind in ("def", "cpdef", "cdef"):
        words.append(function.kind)
    elif function.kind == "module" and function.language == "cython":
        words.append("Cython")
    if function.nogil:
        words.append("nogil")
    if recursive:
        words.append("↻")
    return " ".join(words)


def tooltip_text(function: Function, remark: str = "") -> str:
    """`module:qualified name (file:line)` whole, on one line, and what is to be said of it."""
    return visible(f"{function.label}: {remark}" if remark else function.label)


def own_text(sums: Measures, whole_ns: int) -> str:
    """`self 12 %`, or `self 12-31 %` where the probes' own cost leaves it that uncertain; `self 40 % (38 % waiting)`."""
    text = f"self {self_share_text(sums.self_ns, sums.least_ns, sums.raw_ns, whole_ns)}"
    waits = waits_much(sums.wait_ns, sums.self_ns, whole_ns)
    return f"{text} ({share_text(sums.wait_ns / whole_ns)} waiting)" if waits else text


def self_share_text(own_ns: int, least_ns: int, raw_ns: int, whole_ns: int) -> str:
    """A self time as a share of the run, as a range where that is wide."""
    if is_wide(least_ns, raw_ns, whole_ns):
        return range_text(least_ns / whole_ns, min(1.0, raw_ns / whole_ns))
    return share_text(own_ns / whole_ns)


def waits_much(wait_ns: int, own_ns: int, whole_ns: int) -> bool:
    """Whether a reader should know that a function waited: for 2 % of the run or more, and for a tenth of its self time."""
    return wait_ns >= _WAITS_MUCH * whole_ns and wait_ns * 10 >= own_ns


def is_wide(least_ns: int, raw_ns: int, whole_ns: int) -> bool:
    """Whether a self time is so uncertain that a single number would mislead: by 2 % of the run or more, and by a tenth
    of itself."""
    spread = raw_ns - least_ns
    return spread >= _WIDE_RANGE * whole_ns and spread * 10 >= raw_ns


def calls_text(sums: Measures, each: bool) -> str:
    """`6,600 calls`, `21,891 calls (1 primitive)`, `1 call · 300 resumes`; with `each` `6,600 calls · 150 µs each`."""
    text = count_text(sums.calls, "call")
    if sums.resumes:
        return f"{text} · {count_text(sums.resumes, 'resume')}"
    if sums.primitive_calls != sums.calls:
        return f"{text} ({sums.primitive_calls:,} primitive)"
    if each and sums.calls > 1:
        return f"{text} · {time_text(sums.total_ns / sums.calls)} each"
    return text


def size_of(share: float) -> int:
    """How large a title is set for a share (0 to 1) of self time."""
    return 2 if share >= 0.25 else 1 if share >= 0.10 else 0


def hottest_lines(profile: Profile) -> dict[int, LineTimes]:
    """For each function with line times its line with the largest self time."""
    found: dict[int, LineTimes] = {}
    for line in profile.line_times:
        best = found.get(line.function)
        if line.self_ns > 0 and (best is None or line.self_ns > best.self_ns):
            found[line.function] = line
    return found


def hot_line_text(line: LineTimes | None, sums: Measures, whole_ns: int, source_line: SourceLine | None) -> str:
    """`line 6: s += x * i % 7.0 (88 %)` for a function that took 5 % of the run or more, else ""."""
    if line is None or sums.self_ns < _HOT * whole_ns:
        return ""
    text = source_line(line.file, line.line) if source_line else None
    quoted = f": {shorten(visible(text.strip()), LONGEST_LINE)}" if text and text.strip() else ""
    return f"line {line.line}{quoted}  ({share_text(min(1.0, line.self_ns / max(1, sums.self_ns)))})"


def edge_label(link: Link, whole_ns: int) -> str:
    """`300×, 75 %`; for a generator that was only resumed `300 resumes, 75 %`."""
    count = count_text(link.resumes, "resume") if link.resumes and not link.calls else f"{link.calls:,}×"
    return f"{count}, {share_text(link.total_ns / whole_ns)}"


def edge_tooltip(link: Link, caller: str, callee: str, whole_ns: int) -> str:
    """The edge as a sentence."""
    parts = [count_text(link.calls, "call")]
    if link.resumes:
        parts.append(count_text(link.resumes, "resume"))
    parts.append(f"{time_text(link.total_ns)}, {share_text(link.total_ns / whole_ns)} of the run")
    through = " through functions that are not shown" if link.indirect else ""
    return visible(f"{caller} → {callee}{through}: {', '.join(parts)}")


def module_label(module: str, functions: list[Function]) -> tuple[str, Language]:
    """`kern (kern.pyx, Cython)` and the module's language."""
    files = [function.file for function in functions if function.file]
    # A module's functions may come from an included file too; the file most of them are in names the module.
    name = PurePath(max(files, key=files.count)).name if files else ""
    cython = any(function.language == "cython" for function in functions)
    inside = ", ".join(word for word in (shorten(visible(name), 30), "Cython" if cython else "") if word)
    title = shorten(visible(module) or "?", LONGEST_TITLE)
    return f"{title} ({inside})" if inside else title, "cython" if cython else "python"


def source_lines(texts: Mapping[tuple[str, int], str]) -> SourceLine:
    """A `SourceLine` that looks into a mapping."""
    return lambda file, line: texts.get((file, line))
