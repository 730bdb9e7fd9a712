"""What an examination found, as plain values: the renderers turn them into text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..cython.directives import Mark
from ..cython.extension import ExtensionFacts

Status = Literal["ok", "note", "bad"]
"""`note`: cyprof works, with a limit. `bad`: something of cyprof's does not work here."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at in the environment. `found` is what was seen, in a sentence or a few words; `command` is
    the one command that mends it, "" where nothing is wrong or no single command does."""

    name: str
    status: Status
    found: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth saying about an extension module."""

    about: str
    status: Status
    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension module: its name as it is imported, what its file tells, where its source was found ("" for nowhere; `how`
    says by what: "beside", "package", "debug"), and what is worth saying about it. `other_python`: the Python it was built for,
    by its name ("cpython-311"), "" when this one loads it."""

    name: str
    facts: ExtensionFacts
    source: str = ""
    how: str = ""
    other_python: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def traced(self) -> bool:
        """Whether it was built with Cython's own tracing."""
        return self.facts.tracing != "none"


@dataclass(frozen=True, slots=True)
class MarkedPlace:
    """A place in a source or build file that asks for tracing, and the command that has it not ask ("" where no single one
    does)."""

    mark: Mark
    command: str


@dataclass(frozen=True, slots=True)
class CallCost:
    """What one call costs, in ns, without tracing and with tracing that nobody listens to: of a `def` function from Cython, a
    `cdef` function, and a `nogil` function. `source` says where the figures come from."""

    plain: tuple[float, float, float]
    traced: tuple[float, float, float]
    source: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found about one subject. `title` names it ("" for the environment alone), `folder` is where its files were
    looked for, `notes` say what was not looked at."""

    title: str
    folder: str
    checks: tuple[Check, ...]
    extensions: tuple[Extension, ...] = ()
    places: tuple[MarkedPlace, ...] = ()
    cost: CallCost | None = None
    notes: tuple[str, ...] = ()

    @property
    def tracing_left_on(self) -> bool:
        """Whether a built module traces, or a source or build file asks for it unconditionally."""
        asked = any(place.mark.is_directive and not place.mark.condition for place in self.places)
        return asked or any(extension.traced for extension in self.extensions)
