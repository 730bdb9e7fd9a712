"""A pstats file, as cProfile, `profile` and others write it, as a Profile."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Literal

from ..model import Entry, Function, Key, Kind, Profile, Run, from_stats
from .marshalled import read_stats

SUFFIXES = (".prof", ".pstats", ".pstat")
LARGEST = 1 << 24
"""No more bytes than this are read: some 400,000 calls of one function by another, as cProfile writes them."""

_CYTHON_FILES = (".pyx", ".pxd", ".pxi")
_LIBRARY = re.compile(r"^.*[/\\](?:site-packages|dist-packages|lib(?:64)?[/\\]python\d+\.\d+t?)[/\\](.+)$", re.S)
_FROZEN = re.compile(r"<frozen ([\w.]+)>")


def stats_profile(data: bytes, path: Path) -> Profile:
    """The profile that a pstats file holds. What it cannot tell is left out: call paths, threads, lines, waiting. A function's
    language is told from its file, and its kind is `python` where the file says nothing. Raises ValueError."""
    stats = read_stats(data)
    modules = _modules({file for key, entry in stats.items() for file, _, _ in (key, *entry.callers)})

    def function_of(number: int, key: Key) -> Function:
        file, line, name = key
        kind: Kind = "module" if name == "<module>" else "python"
        language: Literal["cython", "python"] = "cython" if file.lower().endswith(_CYTHON_FILES) else "python"
        return Function(number, modules[file], name, file, line, kind, language=language)

    functions, tree, stated = from_stats(stats, function_of)
    run = Run(target=str(path), clock="", wall_ns=sum(tree.self_ns))
    return Profile(run, functions, tree, stated=stated, notes=_notes(path, stats))


def _notes(path: Path, stats: dict[Key, Entry]) -> list[str]:
    sums = [calls for entry in stats.values() for calls in (entry.sums, *entry.callers.values())]
    notes = [f"{path.name} is a pstats file: it tells who calls whom, not along which path, and no kinds, threads or lines."]
    if any(calls.total_s is None for calls in sums):
        notes.append("It does not tell the time of each caller's calls: arrows show 0 s.")
    negative = sum((calls.self_s or 0) < 0 or (calls.total_s or 0) < 0 for calls in sums)
    if negative:
        notes.append(f"It holds {negative:,} times below zero, which are shown as 0 s.")
    return notes


def _modules(files: set[str]) -> dict[str, str]:
    """By file the name of its module, as far as its path tells: whole for an installed one, else the file's own name, with
    its folder where two files share it."""
    names: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    for file in files:
        frozen, library = _FROZEN.fullmatch(file), _LIBRARY.search(file)
        if frozen or file.startswith("<"):
            names[file] = frozen[1] if frozen else file
            continue
        parts = [part for part in re.split(r"[/\\]", library[1] if library else file) if part]
        parts = [*parts[:-1], re.sub(r"\.\w+$", "", parts[-1])] if parts else [file]
        paths[file] = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
        if library:
            names[file] = ".".join(paths[file])
    shared = Counter(parts[-1] for file, parts in paths.items() if file not in names)
    for file, parts in paths.items():
        names.setdefault(file, ".".join(parts[-2:] if shared[parts[-1]] > 1 else parts[-1:]))
    return names
