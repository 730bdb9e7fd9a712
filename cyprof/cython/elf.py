"""What an ELF file (an extension module on Linux) tells of how it was compiled and linked, read with pyelftools.

Any bytes may come: a damaged file ends in UnreadableBinary with a sentence, never in another exception.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"\x7fELF"
_MOST_SECTIONS = 10_000
_MOST_SYMBOLS = 500_000
_MOST_UNITS = 2_000
_PATIENCE = 5.0
_ASK_AGAIN = 0.05
_LINE_TRACERS = (b"__Pyx_call_line_trace_func", b"__pyx_call_line_trace_func")


class UnreadableBinary(Exception):
    """A compiled file that cannot be looked into; the text says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """What the tables of an ELF file say.

    `imported`: names of the functions and variables it takes from others. `libraries`: file names of the shared libraries it
    is linked with. `debug`: it holds debug information, or names a separate file that does. `stripped`: its table of local
    symbols is gone. `line_tracer`: among those is Cython's function that reports lines (up to Python 3.12, and only where
    the table was kept).
    """

    imported: frozenset[str]
    libraries: tuple[str, ...]
    debug: bool
    stripped: bool
    line_tracer: bool


def read_elf(path: Path) -> ElfFacts:
    """The facts of the ELF file at `path`. Raises UnreadableBinary."""
    with _opened(path) as elf:
        names = {section.name for section in _sections(elf)}
        return ElfFacts(
            imported=frozenset(_imported(elf)),
            libraries=tuple(_libraries(elf)),
            debug=bool(names & {".debug_info", ".zdebug_info", ".gnu_debuglink"}),
            stripped=".symtab" not in names,
            line_tracer=_holds(elf, ".strtab", _LINE_TRACERS),
        )


def check_elf(path: Path) -> None:
    """Raises UnreadableBinary when the file's table of sections, which stands at its end, cannot be read."""
    with _opened(path) as elf:
        for _ in _sections(elf):
            pass


def compiled_files(path: Path) -> list[str]:
    """The source files that the debug information's line tables name, absolute where they are written so; empty without
    debug information. Raises UnreadableBinary."""
    with _opened(path) as elf:
        if not elf.has_dwarf_info(strict=True):
            return []
        dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        found: dict[str, None] = {}
        for number, unit in enumerate(dwarf.iter_CUs()):
            if number >= _MOST_UNITS:
                break
            folder = _attribute(unit.get_top_DIE(), "DW_AT_comp_dir")
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                found.update(dict.fromkeys(_files_of(program, folder, unit.header["version"])))
        return list(found)


@contextmanager
def _limited() -> Iterator[None]:
    """Ends what takes longer than a few seconds: a damaged count can have pyelftools read entries of no length for ever. Acts
    on the main thread only, the one that Python hands signals to. It asks again until it is heard: Python drops an exception
    that is raised while a callback of the garbage collector or a destructor runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise UnreadableBinary("its tables have no end, or are very large")

    earlier = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE, _ASK_AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from elftools.elf.elffile import ELFFile

    try:
        with _limited(), path.open("rb") as file:
            elf = ELFFile(file)
            if elf.num_sections() > _MOST_SECTIONS:
                raise UnreadableBinary("its table of sections is damaged")
            yield elf
    except UnreadableBinary:
        raise
    except OSError as error:
        raise UnreadableBinary(f"it cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise UnreadableBinary("its tables name more data than fits into memory") from error
    except Exception as error:
        # pyelftools promises no set of exceptions for damaged files: ELFError, AssertionError and KeyError were seen.
        raise UnreadableBinary("it is damaged, or was cut off") from error


def _sections(elf: Any) -> Iterator[Any]:
    return iter(elf.iter_sections())


def _imported(elf: Any) -> Iterator[str]:
    table = elf.get_section_by_name(".dynsym")
    if table is None:
        raise UnreadableBinary("it has no table of imported symbols")
    if table.num_symbols() > _MOST_SYMBOLS:
        raise UnreadableBinary("its table of symbols is damaged")
    for symbol in table.iter_symbols():
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name:
            yield symbol.name


def _libraries(elf: Any) -> Iterator[str]:
    table = elf.get_section_by_name(".dynamic")
    if table is not None:
        for tag in table.iter_tags("DT_NEEDED"):
            yield tag.needed


def _holds(elf: Any, section_name: str, texts: tuple[bytes, ...]) -> bool:
    section = elf.get_section_by_name(section_name)
    if section is None or section["sh_size"] > os.fstat(elf.stream.fileno()).st_size:
        return False
    data = section.data()
    return any(text in data for text in texts)


def _attribute(die: Any, name: str) -> str:
    found = die.attributes.get(name)
    return found.value.decode("utf-8", "surrogateescape") if found is not None and isinstance(found.value, bytes) else ""


def _files_of(program: Any, unit_folder: str, version: int) -> Iterator[str]:
    """The files of one line table. Up to DWARF 4 folder 0 is the unit's own and the others count from 1 (DWARF 4, 6.2.4)."""
    folders = [folder.decode("utf-8", "surrogateescape") for folder in program["include_directory"]]
    if version < 5:
        folders.insert(0, unit_folder)
    for entry in program["file_entry"]:
        name = entry.name.decode("utf-8", "surrogateescape")
        index = entry.dir_index
        folder = folders[index] if 0 <= index < len(folders) else ""
        yield os.path.normpath(os.path.join(unit_folder, folder, name))  # noqa: PTH118 - names out of a file, not paths yet
