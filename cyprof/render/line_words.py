"""What line tables say in words, whatever they are rendered to."""

from __future__ import annotations

from pathlib import PurePath

from ..model import Function, Unseen
from ..view.line_advice import STRONG_SCORE, Verdict
from ..view.line_rows import FilePart, Fold
from ..view.line_table import FunctionLines, LineTable, WithoutLines
from ..view.units import count_text, share_text, time_text, visible

VERDICTS: dict[Verdict, str] = {
    "python": "edit",
    "check": "check",
    "c": "in C",
    "interpreted": "python",
    "leave": "leave",
}
COLUMNS = {
    "hits": "how often the line was reached; a loop's line counts its rounds and the last test",
    "per hit": "the line's total time divided by its hits",
    "self": "time on the line itself, without the functions it calls",
    "total": "with the functions it calls, where that is more",
    "% func": "self time as a part of the function's",
    "% run": "self time as a part of the whole run's: this says what is hot",
    "py": "Cython's annotation score, how much Python the line's C holds: · none, 2 a check, py 23 goes through Python",
    "verdict": "edit: hot, and goes through Python; check: hot, C with a check or conversion; in C: hot, the cost is in the C "
    "code itself; python: hot, in a Python function; leave: goes through Python, but takes next to no time",
}
"""What stands in each column."""

NOT_FOUND = "the source was not found: lines are shown by number only"
CHANGED = "the file has changed since the run: lines may not match"


def title_text(table: LineTable) -> str:
    """What was run, by its name."""
    return visible(PurePath(table.run.target).name or table.run.target or "?")


def run_facts(table: LineTable) -> list[str]:
    """How long it ran, with what, and how much of it is shown."""
    run = table.run
    words = [
        f"{time_text(run.wall_ns)} wall",
        f"Python {run.python}" if run.python else "",
        f"Cython {run.cython}" if run.cython else "",
        f"exit code {run.exit_code}" if run.exit_code else "",
        f"{len(table.functions):,} of {count_text(table.functions_run, 'function')} with lines shown, by self time",
    ]
    return [visible(word) for word in words if word]


def score_text(score: int | None) -> str:
    """`py 23` for a line that goes through Python, `2` for one with a check, `·` for one that is all C, "" where unknown."""
    if score is None:
        return ""
    return f"py {score}" if score >= STRONG_SCORE else str(score or "·")


def place_text(entry: FunctionLines) -> str:
    """The function's file, whole, and line."""
    function = entry.function
    return visible(f"{function.file}:{function.line}" if function.file else entry.place)


def calls_text(entry: FunctionLines) -> str:
    """`6,600 calls`, with primitive calls and resumes where there are such."""
    times = entry.times
    text = count_text(times.calls, "call")
    if times.primitive_calls != times.calls:
        text += f" ({times.primitive_calls:,} primitive)"
    return f"{text}, {count_text(times.resumes, 'resume')}" if times.resumes else text


def slowdown_text(entry: FunctionLines) -> str:
    """What looking cost a function: `line probes slowed it 3.2x (12.0 ns a call without)`; "" where that is not known."""
    if entry.slowdown is None or entry.baseline_ns is None:
        return ""
    without = f"({time_text(entry.baseline_ns)} a call without)"
    if entry.slowed:
        return f"line probes slowed it {entry.slowdown:.1f}x {without}: read its times as shares of each other"
    return f"line probes did not slow it {without}"


def source_warning(part: FilePart) -> str:
    """Why the source may not be what ran, "" when it is."""
    if not part.found:
        return NOT_FOUND
    return CHANGED if part.changed else ""


def fold_text(fold: Fold) -> str:
    """The words of a folded stretch."""
    return f"lines {fold.first:,} to {fold.last:,}: other functions, or not reached"


def without_text(group: WithoutLines, most: int | None = None) -> str:
    """Which functions have no line table and why, at most so many of them by name."""
    names = [visible(_label(function)) for function in group.functions[:most]]
    more = len(group.functions) - len(names)
    named = ", ".join(names) + (f" and {more:,} more" if more else "")
    return f"No lines of {count_text(len(group.functions), 'function')}, {group.reason}: {named}. {group.hint}".rstrip()


def unseen_text(unseen: Unseen) -> str:
    """What no probe reached, and why."""
    share = f" ({share_text(unseen.share)} of the run)" if unseen.share is not None else ""
    reason = unseen.reason if unseen.reason.endswith((".", "!", "?")) else f"{unseen.reason}."
    return visible(f"No probes in {unseen.module}{share}: {reason} {unseen.hint}".rstrip())


def _label(function: Function) -> str:
    return f"{function.module}:{function.name}" if function.name.startswith("<") else function.name
