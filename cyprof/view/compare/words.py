"""The texts of a comparison, the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ..file_names import file_names
from ..table import kind_text, row_label
from ..units import shorten, time_text, visible
from .lines import LineChange
from .sides import Runs
from .table import Comparison, Ratio, Row

VERDICTS = {
    "faster": "faster",
    "slower": "slower",
    "same": "same within noise",
    "new": "new",
    "gone": "gone",
    "moved": "moved",
    "absorbed": "absorbed",
    "unknown": "too few runs",
}
MEANINGS = {
    "faster": "its self time fell by more than noise does",
    "slower": "its self time rose by more than noise does",
    "same within noise": "runs of the same program differ by as much",
    "new": "only the second side has it",
    "gone": "only the first side has it",
    "moved": "written in another language or module, matched by its name; or its time is shown in a callee now",
    "absorbed": "its self time rose by what a callee had that no probe sees any more: nothing became slower",
    "too few runs": "of lines, which are told from noise with four runs a side or more (--runs 4)",
}
COLUMNS = ("calls", "self", "total", "ratio", "verdict", "function", "kind")
LINE_COLUMNS = ("hits", "self", "ratio", "verdict", "function", "line", "source")
WORD_COLUMNS = frozenset({"verdict", "function", "kind", "source"})
"""The columns that hold words, and begin at their left; the others hold numbers."""


def letter(number: int) -> str:
    """What a side is called: A is the first, number 0."""
    return chr(ord("A") + min(number, 25))


def verdict_text(row: Row) -> str:
    """`slower`, `same within noise`, `moved, faster`."""
    text = VERDICTS[row.verdict]
    return f"{text}, {VERDICTS[row.change]}" if row.verdict == "moved" and row.change else text


def ratio_text(ratio: Ratio | None) -> str:
    """`1.10 (1.06-1.14)`; `×` is left to the heading. Empty where there is nothing to divide."""
    if ratio is None:
        return ""
    if ratio.high > 1e3 or ratio.low < 1e-3:
        return f"{_number(ratio.value)} (?)"
    return f"{_number(ratio.value)} ({_number(ratio.low)}-{_number(ratio.high)})"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def change_text(before: str, after: str) -> str:
    """`480` where both are the same, `480 → 1,440` else."""
    return before if before == after else f"{before or '-'} → {after or '-'}"


def calls_text(row: Row) -> str:
    """Calls on both sides."""
    return change_text(*(f"{side.calls:,}" if side else "" for side in (row.before, row.after)))


def self_text(row: Row) -> str:
    """Self time on both sides."""
    return change_text(*(time_text(side.self_ns) if side else "" for side in (row.before, row.after)))


def total_text(row: Row) -> str:
    """Total time on both sides."""
    return change_text(*(time_text(side.total_ns) if side else "" for side in (row.before, row.after)))


def hits_text(line: LineChange) -> str:
    """Hits of a line on both sides."""
    return change_text(*("" if hits is None else f"{hits:,}" for hits in (line.before_hits, line.after_hits)))


def lines_text(changed: Sequence[LineChange]) -> str:
    """How many lines were compared, and what so few runs leave open."""
    unknown = sum(line.change == "unknown" for line in changed)
    if unknown:
        return (
            f"{len(changed)} lines compared. Lines are told from noise with four runs a side or more (--runs 4): {unknown} "
            "that both sides have got no verdict, those that differ most stand first."
        )
    same = sum(line.change == "same" for line in changed)
    return f"{len(changed)} lines compared: {len(changed) - same} changed by more than noise does."


def unknown_ratio_text(found: Comparison) -> str:
    """What `(?)` means, where it is shown."""
    shown = any("(?)" in ratio_text(row.ratio) for row in found.rows)
    return "(?): the interval of the ratio goes beyond a thousand times." if shown else ""


def line_self_text(line: LineChange) -> str:
    """Self time of a line on both sides."""
    return change_text(*("" if ns is None else time_text(ns) for ns in (line.before_ns, line.after_ns)))


def line_number_text(line: LineChange) -> str:
    """Where a line is on both sides."""
    return change_text(*(str(number or "") for number in (line.before_line, line.after_line)))


def labels(found: Comparison) -> list[str]:
    """For each row `filename:lineno(function)`, or the title of a folded group."""
    names = file_names(row.function.file for row in found.rows if row.function)
    return [row_label(row.function, names) if row.function else f"[{row.title}]" for row in found.rows]


def kind_of(row: Row) -> str:
    """The kind of a row's function."""
    return kind_text(row.function) if row.function else "folded"


def side_text(number: int, runs: Runs) -> str:
    """`A  train.py: 5 runs, median 2.31 s (2.28 s to 2.60 s)`."""
    walls = sorted(profile.run.wall_ns for profile in runs.side.profiles)
    name = shorten(visible(runs.side.name), 70)
    if len(walls) == 1:
        return f"{letter(number)}  {name}: 1 run, {time_text(walls[0])}"
    spread = f"({time_text(walls[0])} to {time_text(walls[-1])})"
    return f"{letter(number)}  {name}: {len(walls)} runs, median {time_text(median(walls))} {spread}"


def pace_text(found: Comparison) -> str:
    """What is to be said of the program as a whole."""
    if found.pace is None:
        return "Too few functions to tell the pace of the machine from changes of the program: times are as they were taken."
    spread = [factor for side in found.paces for factor in side]
    runs = f"the runs' own paces, {min(spread):.2f} to {max(spread):.2f}, are divided out where that evens them"
    if found.pace_change != "same":
        return f"The program as a whole is {found.pace_change}: ratio {ratio_text(found.pace)}; {runs}."
    if not found.shuffled:
        unknown = "which so few runs cannot tell from the machine's pace"
        return f"All functions alike: ratio {_number(found.pace.value)}, {unknown}; {runs}."
    return f"All functions alike: ratio {ratio_text(found.pace)}, same within noise; {runs}."


def summary_text(found: Comparison) -> str:
    """How many rows have which verdict."""
    counts = {verdict: sum(row.verdict == verdict for row in found.rows) for verdict in VERDICTS}
    parts = [f"{count} {VERDICTS[verdict]}" for verdict, count in counts.items() if count]
    text = f"{len(found.rows)} functions compared: {', '.join(parts)}." if parts else "No function is left to compare."
    return text + (f" {found.left_out:,} smaller ones of others left out (--all compares them)." if found.left_out else "")
