"""The line table of `cyprof lines`: each function's lines with hits, times and Python interaction, and what to edit first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ..model import CYTHON_KINDS, Function, FunctionTimes, LineTimes, Profile, Run, Unseen
from .classify import matches, origin_of, probed_packages
from .file_names import file_names
from .line_advice import HOT_SHARE, SUMMARY_LINES, Advice, Candidate, advise
from .line_rows import Extents, FilePart, LineRow, SourceProvider, SourceText, find_extents, rows_of
from .options import USER_FUNCTIONS_KEPT, ViewOptions
from .table import kind_text
from .units import count_text, percent_text, share_text, visible

SLOWED_FROM = 1.2
"""A function that line probes slowed by this factor or more is marked."""


@dataclass(frozen=True, slots=True)
class FunctionLines:
    """One function with its lines. Times in ns, `share` and `total_share` of the run.

    `calls_others` says that some line's total time differs from its self time. `slowdown` is how many times longer a call
    took with line probes than the `baseline_ns` without, None where that is not known; `slowed` marks one worth a warning.
    """

    function: Function
    kind: str
    place: str
    times: FunctionTimes
    share: float
    total_share: float
    calls_others: bool
    slowdown: float | None
    baseline_ns: float | None
    slowed: bool
    parts: tuple[FilePart, ...]

    @property
    def rows(self) -> list[LineRow]:
        """The lines of all files."""
        return [row for part in self.parts for row in part.lines]


@dataclass(frozen=True, slots=True)
class WithoutLines:
    """Functions that have no line table, and why; `hint` says what to do about it."""

    reason: str
    hint: str
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class LineTable:
    """Functions by self time, the lines worth an edit first, and all that is not there with the reason for it.

    `message` says why there is no function to list, when there is none; `first_message` why no line is worth an edit.
    `functions_run` counts the functions with lines, `whole_ns` is what 100 % of the run stands for.
    """

    run: Run
    whole_ns: int
    functions: tuple[FunctionLines, ...]
    functions_run: int
    first: tuple[Advice, ...]
    first_message: str
    left_out: tuple[str, ...]
    without: tuple[WithoutLines, ...]
    unseen: tuple[Unseen, ...]
    notes: tuple[str, ...]
    message: str


def line_table(profile: Profile, options: ViewOptions, source: SourceProvider) -> LineTable:
    """The line table of a profile as the options ask for it. Reads no file: `source` gives the text of files."""
    records: dict[int, dict[str, list[LineTimes]]] = defaultdict(lambda: defaultdict(list))
    for time in profile.line_times:
        records[time.function][time.file].append(time)
    texts = _Texts(source)
    with_lines = [profile.functions[number] for number in records]
    listed, left_out = _select(with_lines, profile, options)
    build = _Builder(profile, options, records, find_extents(records, profile.functions, texts), texts)
    functions = sorted((build.function(function) for function in listed), key=_by_self_time)
    first = advise(build.candidates(listed), profile.self_sum_ns, options.top or SUMMARY_LINES)
    without = _without(profile, options, set(records))
    return LineTable(
        run=profile.run,
        whole_ns=profile.self_sum_ns,
        functions=tuple(functions),
        functions_run=len(with_lines),
        first=first,
        first_message="" if first or not functions else _nothing_hot(profile),
        left_out=tuple(left_out),
        without=without,
        unseen=tuple(profile.unseen),
        notes=tuple(visible(note) for note in profile.notes),
        message="" if functions else _message(profile, bool(with_lines)),
    )


def _by_self_time(entry: FunctionLines) -> tuple[object, ...]:
    return -entry.times.self_ns, entry.place, entry.function.name, entry.function.id


class _Texts:
    """Asks the provider once for each file."""

    def __init__(self, source: SourceProvider) -> None:
        self._source = source
        self._known: dict[str, SourceText] = {}

    def __call__(self, file: str) -> SourceText:
        if file not in self._known:
            self._known[file] = self._source(file)
        return self._known[file]


class _Builder:
    def __init__(
        self,
        profile: Profile,
        options: ViewOptions,
        records: dict[int, dict[str, list[LineTimes]]],
        extents: Extents,
        source: SourceProvider,
    ) -> None:
        self.profile = profile
        self.options = options
        self.records = records
        self.extents = extents
        self.source = source
        self.names = file_names(file for files in records.values() for file in files)

    def function(self, function: Function) -> FunctionLines:
        """One function with the rows of all its files, its own file first."""
        profile = self.profile
        times = profile.function_times[function.id]
        files = self.records[function.id]
        own_ns = max(1, sum(time.self_ns for of_file in files.values() for time in of_file))
        order = sorted(files, key=lambda file: (file != function.file, file))
        slowdown = profile.line_slowdown.get(function.id)
        return FunctionLines(
            function=function,
            kind=kind_text(function),
            place=f"{visible(self.names.get(function.file) or self.names[order[0]])}:{function.line}",
            times=times,
            share=times.self_ns / profile.self_sum_ns,
            total_share=min(1.0, times.total_ns / profile.self_sum_ns),
            calls_others=any(time.total_ns != time.self_ns for of_file in files.values() for time in of_file),
            slowdown=slowdown,
            baseline_ns=profile.baseline_ns_per_call.get(function.id) if slowdown is not None else None,
            slowed=slowdown is not None and slowdown >= SLOWED_FROM,
            parts=tuple(self._part(function, file, own_ns) for file in order),
        )

    def _part(self, function: Function, file: str, own_ns: int) -> FilePart:
        text = self.source(file)
        rows = rows_of(
            function,
            file,
            self.records[function.id][file],
            extents=self.extents,
            source=text,
            scores=self.profile.scores.get(file),
            own_ns=own_ns,
            whole_ns=self.profile.self_sum_ns,
            unfold=self.options.everything,
        )
        return FilePart(file, visible(self.names[file]), rows, found=text.lines is not None, changed=text.changed)

    def candidates(self, functions: Iterable[Function]) -> Iterable[Candidate]:
        """The lines of the listed functions that took any time."""
        for function in functions:
            slowdown = self.profile.line_slowdown.get(function.id, 1.0)
            slowdown = slowdown if slowdown >= SLOWED_FROM else 1.0
            for file, times in self.records[function.id].items():
                lines = self.source(file).lines or ()
                scores = self.profile.scores.get(file)
                for time in times:
                    if time.self_ns <= 0:
                        continue
                    text = lines[time.line - 1] if time.line <= len(lines) else ""
                    score = scores.get(time.line, 0) if scores is not None and function.language == "cython" else None
                    place = visible(self.names[file])
                    yield Candidate(file, place, time.line, function, text, time.hits, time.self_ns, score, slowdown)


def _select(functions: list[Function], profile: Profile, options: ViewOptions) -> tuple[list[Function], list[str]]:
    """The functions to list, and a sentence for each reason one with lines was left out."""
    left_out: list[str] = []

    def without(kept: list[Function], why: str) -> list[Function]:
        gone = {function.id for function in functions} - {function.id for function in kept}
        if gone:
            spent = sum(profile.function_times[number].self_ns for number in gone) / profile.self_sum_ns
            share = f"self time together {share_text(spent)}"
            left_out.append(f"{count_text(len(gone), 'function')} with lines left out {why}; {share}.")
        return kept

    functions = without([f for f in functions if not matches(f, options.hide)], "by --hide")
    if options.only:
        functions = without([f for f in functions if matches(f, options.only)], "by --only")
    if options.everything:
        return functions, left_out
    least = options.min_share / 100 * profile.self_sum_ns
    compiled = {function.id for function in functions if function.kind in CYTHON_KINDS}
    kept = compiled if len(compiled) < USER_FUNCTIONS_KEPT else set()

    def listed(function: Function) -> bool:
        asked_for = bool(options.show) and matches(function, options.show)
        return asked_for or function.id in kept or profile.function_times[function.id].total_ns >= least

    limit = percent_text(options.min_share)
    why = f"whose total time is under {limit} of the run (--min-share 0 or --all lists them)"
    return without([f for f in functions if listed(f)], why), left_out


def _without(profile: Profile, options: ViewOptions, with_lines: set[int]) -> tuple[WithoutLines, ...]:
    """The user's own functions that have no line table, grouped by the reason."""
    if not profile.run.with_lines and not with_lines:
        return ()
    ran = set(profile.tree.function)
    probed = probed_packages(profile)
    groups: dict[tuple[str, str], list[Function]] = defaultdict(list)
    for function in profile.functions:
        if function.id in with_lines or function.language == "c" or origin_of(function, probed) != "own":
            continue
        groups[_reason(function, function.id in ran, options)].append(function)
    return tuple(WithoutLines(*reason, tuple(functions)) for reason, functions in groups.items())


def _reason(function: Function, ran: bool, options: ViewOptions) -> tuple[str, str]:
    if options.only and not matches(function, options.only):
        return "excluded by --only", "Widen the pattern to see them."
    if not ran:
        return "not executed", ""
    if function.file.startswith("<"):
        return "run from a text, not from a file", "There is no source to show lines of."
    if function.language == "python":
        return "run without line data", "Lines of Python functions are recorded where the file is the program's own."
    return (
        "run, but built without line probes",
        "Their lines were excluded when it was recorded, or switched off by `@cython.linetrace(False)`, or they lie in a "
        "module that was not built for `cyprof lines`.",
    )


def _nothing_hot(profile: Profile) -> str:
    hot = percent_text(100 * HOT_SHARE)
    if not any(profile.scores.values()) and any(function.language == "cython" for function in profile.functions):
        return "No line can be singled out: the profile holds no annotation scores."
    return f"No single line has {hot} of the run's time or more, callees left out."


def _message(profile: Profile, any_lines: bool) -> str:
    if any_lines:
        return "Every function with lines is left out by the options; the lines below say by which."
    if not profile.tree.function:
        return "No function was recorded: nothing that carries probes ran."
    if not profile.run.with_lines:
        return "No lines were asked for: this profile holds function times only. Record it with `cyprof run --lines TARGET`."
    return "Lines were asked for, but no function with line probes ran; the reasons stand below."
