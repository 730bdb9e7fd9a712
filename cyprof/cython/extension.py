"""What a compiled extension module tells of itself: whether Cython made it, which version, and how it was built."""

from __future__ import annotations

import itertools
import mmap
import re
from dataclasses import dataclass, replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Literal

from .elf import MAGIC, ElfFacts, UnreadableBinary, check_elf, read_elf

CYTHON_MARK = b"cython_runtime"
"""The name of a module that every extension from Cython makes for itself."""

# CYTHON_ABI in Cython's ModuleSetupCode.c: the version with underscores, then what its shared types depend on. "limited" for
# the limited API, "mon" when the module reports events to sys.monitoring.
_ABI = re.compile(rb"_cython_(\d{1,3}(?:_\d{1,4}){1,3}(?:(?:a|b|rc)\d{1,3})?)([A-Za-z]?\w{0,80})[.\0]", re.ASCII)
_SOURCE = re.compile(rb"\0([\w./+-]{1,250}\.pyx)(?=\0)")
_LIBRARY = re.compile(r"lib[^.]+\.so")
_OPENMP = re.compile(r"lib(?:gomp|i?omp5?)\b")
_MONITORING = re.compile(r"_?PyMonitoring_(?:Fire\w+|EnterScope)")
# The first four bytes of Mach-O files, either byte order and "fat", and of a PE file as linkers write it.
_FORMATS = dict.fromkeys(
    (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"), " (this one is for macOS)"
) | {b"MZ\x90\0": " (this one is for Windows)"}
_MOST_SOURCES = 1000
_LINE_EVENT = "_PyMonitoring_FireLineEvent"
_TRACING = ("PyThreadState_EnterTracing", "PyThreadState_LeaveTracing")

Tracing = Literal["none", "calls", "lines", "calls, perhaps lines"]


@dataclass(frozen=True, slots=True)
class ExtensionFacts:
    """What one extension file tells.

    `cython`: Cython made it. `version`: of that Cython, "" where the file does not tell. `source`: the .pyx as the compiler
    was given it, "" where the file does not tell. `tracing`: what it reports to profilers (`evidence`: the imported
    symbols that show it). `limited_api`: built for any later Python. `openmp`: the library it is linked with, "" without.
    `debug` and `stripped`: see ElfFacts; None where `unreadable` says why the tables could not be read.
    """

    path: Path
    cython: bool
    version: str = ""
    source: str = ""
    tracing: Tracing = "none"
    evidence: tuple[str, ...] = ()
    limited_api: bool = False
    openmp: str = ""
    debug: bool | None = None
    stripped: bool | None = None
    unreadable: str = ""


def is_extension(name: str) -> bool:
    """Whether a file of that name is an extension module of any Python: `m.so`, `m.cpython-313-x86_64-linux-gnu.so`."""
    return name.endswith((".so", ".pyd", *EXTENSION_SUFFIXES)) and not _LIBRARY.fullmatch(name)


def module_stem(path: Path) -> str:
    """The last part of an extension's module name: `m` for `m.cpython-313-x86_64-linux-gnu.so`."""
    return path.name.partition(".")[0]


def is_cython(path: Path) -> bool:
    """Whether Cython made the file. False where it cannot be read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(CYTHON_MARK) >= 0
    except (OSError, ValueError):  # ValueError: an empty file cannot be mapped
        return False


def read_extension(path: Path) -> ExtensionFacts:
    """The facts of the extension at `path`. A file that cannot be looked into has `unreadable`; nothing is raised."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            facts = _of_bytes(path, data)
            head = data[:4]
    except (OSError, ValueError) as error:
        reason = "it is empty" if isinstance(error, ValueError) else f"it cannot be read: {error.strerror or error}"
        return ExtensionFacts(path, cython=False, unreadable=reason)
    if head != MAGIC:
        return replace(facts, unreadable=f"it is no ELF file, and only those can be read{_FORMATS.get(head, '')}")
    try:
        if not facts.cython:
            check_elf(path)
            return facts
        return _with_elf(facts, read_elf(path))
    except UnreadableBinary as error:
        return replace(facts, unreadable=str(error))


def _of_bytes(path: Path, data: mmap.mmap) -> ExtensionFacts:
    if data.find(CYTHON_MARK) < 0:
        return ExtensionFacts(path, cython=False)
    abi = _ABI.search(data)
    sources = [match[1].decode() for match in itertools.islice(_SOURCE.finditer(data), _MOST_SOURCES)]
    own = (name for name in sources if Path(name).stem == module_stem(path))
    suffixes = abi[2].decode() if abi else ""
    return ExtensionFacts(
        path,
        cython=True,
        version=abi[1].decode().replace("_", ".") if abi else "",
        source=next(own, sources[0] if sources else ""),
        tracing="calls" if "_mon" in suffixes else "none",
        limited_api="limited" in suffixes or ".abi3." in path.name,
    )


def _with_elf(facts: ExtensionFacts, elf: ElfFacts) -> ExtensionFacts:
    tracing, evidence = _tracing(elf)
    return replace(
        facts,
        tracing=tracing,
        evidence=evidence,
        openmp=next((name for name in elf.libraries if _OPENMP.search(name)), ""),
        debug=elf.debug,
        stripped=elf.stripped,
    )


def _tracing(elf: ElfFacts) -> tuple[Tracing, tuple[str, ...]]:
    """What a module from Cython reports, by the symbols that nothing else in such a module needs (seen in builds by Cython
    3.0 to 3.3 for Python 3.11 to 3.13). Through sys.monitoring a line has an event of its own; before, lines show by a
    local function only, which a stripped file does not name."""
    events = tuple(sorted(name for name in elf.imported if _MONITORING.fullmatch(name)))
    if events:
        return ("lines" if _LINE_EVENT in events else "calls"), events
    switches = tuple(name for name in _TRACING if name in elf.imported)
    if not switches:
        return "none", ()
    if elf.line_tracer:
        return "lines", switches
    return ("calls, perhaps lines" if elf.stripped else "calls"), switches
