"""Callgrind's profile format, for KCachegrind, QCachegrind, callgrind_annotate and gprof2dot.

Source: the Callgrind Format Specification in the Valgrind manual. Costs are nanoseconds. Names are given once with a number
and by that number afterwards, which also keeps a name that begins with a parenthesis from being read as one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..model import Function, Profile
from ..view import ViewOptions
from ..view.costs import CallSite, call_sites, line_costs
from ..view.names import unique_names
from ..view.units import visible
from .registry import FOR_OTHER_VIEWERS, renderer

_UNKNOWN = "???"
"""Callgrind's word for a file or object it does not know."""


@renderer(
    ".callgrind",
    description="for KCachegrind, callgrind_annotate, gprof2dot -f callgrind",
    groups=(*FOR_OTHER_VIEWERS, "lines"),
    limits="Callgrind's format tells who calls whom, not along which path, and has no threads or waiting time.",
)
def callgrind_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """All functions that ran, self time by line where lines were recorded. Options do not change it."""
    del options
    return "\n".join([*_head(profile), *_Body(profile).lines(), ""]).encode()


def _head(profile: Profile) -> list[str]:
    from .. import __version__

    run = profile.run
    whole = sum(times.self_ns for times in profile.function_times)
    return [
        "# callgrind format",
        "version: 1",
        f"creator: cyprof {__version__}",
        f"cmd: {visible(' '.join(run.argv) or run.target)}",
        "positions: line",
        "event: ns : Time in ns",
        "events: ns",
        f"summary: {whole}",
        "",
    ]


class _Names:
    """The numbers of one kind of names."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, name: str) -> str:
        """`(3) name` at first, `(3)` from then on."""
        number = self._numbers.get(name)
        if number is not None:
            return f"({number})"
        self._numbers[name] = number = len(self._numbers) + 1
        return f"({number}) {name}"


class _Body:
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._function_names = unique_names(profile.functions)
        self._files, self._objects, self._functions = _Names(), _Names(), _Names()

    def lines(self) -> Iterator[str]:
        """The costs of every function that ran."""
        sites: dict[int, list[CallSite]] = defaultdict(list)
        for site in _counted(call_sites(self._profile)):
            sites[site.caller].append(site)
        costs = line_costs(self._profile)
        for number in sorted(set(self._profile.tree.function)):
            function = self._profile.functions[number]
            yield from self._position(function)
            file = function.file
            for cost in costs[number]:
                if cost.file != file:
                    yield f"{'fe' if cost.file == function.file else 'fi'}={self._file(cost.file)}"
                    file = cost.file
                yield f"{cost.line} {cost.self_ns}"
            if file != function.file:
                yield f"fe={self._file(function.file)}"
            for site in sites[number]:
                callee = self._profile.functions[site.callee]
                yield from self._position(callee, called="c")
                yield f"calls={site.calls} {callee.line}"
                yield f"{site.line} {site.total_ns}"
            yield ""

    def _position(self, function: Function, called: str = "") -> Iterator[str]:
        # gprof2dot reads a callee's file under cfi= only, all others take both.
        yield f"{called}ob={self._objects.of(visible(function.module).strip() or _UNKNOWN)}"
        yield f"{'cfi' if called else 'fl'}={self._file(function.file)}"
        yield f"{called}fn={self._functions.of(self._function_names[function.id])}"

    def _file(self, file: str) -> str:
        return self._files.of(visible(file).strip() or _UNKNOWN)


def _counted(sites: list[CallSite]) -> Iterator[CallSite]:
    """The sites, each with a count: readers take the cost behind `calls=0` for the caller's own.

    A site without calls (of a generator that is only continued there) gives its time to another site of the same edge;
    where there is none, its resumes stand for calls. One without time says nothing and is left out.
    """
    edges: dict[tuple[int, int], list[CallSite]] = defaultdict(list)
    for site in sites:
        edges[site.caller, site.callee].append(site)
    for of_edge in edges.values():
        called = [site for site in of_edge if site.calls]
        if not called:
            first, total = of_edge[0], sum(site.total_ns for site in of_edge)
            resumes = sum(site.resumes for site in of_edge)
            if total or resumes:
                yield CallSite(first.caller, first.callee, first.line, max(1, resumes), 0, total)
            continue
        called[0].total_ns += sum(site.total_ns for site in of_edge if not site.calls)
        yield from called
