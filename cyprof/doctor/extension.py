"""The extension modules of a subject: what each file tells, where its source is, and what is worth saying about it.

One registered function for each thing worth saying; each gives a Finding or None.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from ..build.environment import OLDEST_CYTHON, project_folder, release
from ..cython.elf import UnreadableBinary, compiled_files
from ..cython.extension import ExtensionFacts, module_stem, read_extension
from .result import Extension, Finding
from .subject import Subject

ExtensionCheck = Callable[[Extension, Subject], Finding | None]
_checks: list[ExtensionCheck] = []
_SOURCES = (".pyx", ".py")


def extension_check(check: ExtensionCheck) -> ExtensionCheck:
    """Registers a check; they are applied in the order in which they stand here."""
    _checks.append(check)
    return check


def examine_extensions(subject: Subject) -> list[Extension]:
    """Every extension module of the subject, those from Cython first."""
    sources = _by_stem(subject.sources)
    extensions = [_examine(path, subject, sources) for path in subject.extensions]
    return sorted(extensions, key=lambda extension: (not extension.facts.cython, extension.name))


def _examine(path: Path, subject: Subject, sources: dict[str, list[Path]]) -> Extension:
    facts = read_extension(path)
    name = _module_name(path, subject)
    source, how = _find_source(facts, sources) if facts.cython else ("", "")
    extension = Extension(name, facts, source, how, _other_python(path))
    findings = [finding for check in _checks if (finding := check(extension, subject)) is not None]
    return replace(extension, findings=tuple(findings))


def _other_python(path: Path) -> str:
    tag = re.search(r"\.((?:cpython|pypy|cp)-?\d+[a-z]*)[-.]", path.name)
    return tag[1] if tag and not path.name.endswith(tuple(EXTENSION_SUFFIXES[:1])) else ""


def _module_name(path: Path, subject: Subject) -> str:
    """The name a module is imported by: dotted from the outermost folder with an `__init__`, or below site-packages."""
    parts = [module_stem(path)]
    folder = path.parent
    while folder != folder.parent and _is_package(folder, subject):
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _is_package(folder: Path, subject: Subject) -> bool:
    if subject.installed:
        return folder.is_relative_to(subject.root) and folder != subject.root
    return any((folder / f"__init__{suffix}").is_file() for suffix in (".py", ".pyx"))


def _by_stem(sources: tuple[Path, ...]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sources:
        if path.suffix in _SOURCES:
            found.setdefault(path.stem, []).append(path)
    return found


def _find_source(facts: ExtensionFacts, sources: dict[str, list[Path]]) -> tuple[str, str]:
    """Where a module's source is and how it was found: beside the module, among the subject's files, by the debug
    information's line table. A .py counts only where there is no .pyx: it may be something else's."""
    stem = module_stem(facts.path)
    for suffix in _SOURCES[:1] if facts.source else _SOURCES:
        beside = facts.path.with_name(stem + suffix)
        if beside.is_file():
            return str(beside), "beside"
    named = Path(facts.source).name or f"{stem}.pyx"
    others = [path for path in sources.get(Path(named).stem, []) if path.name == named]
    if facts.source:
        others.sort(key=lambda path: not str(path).endswith(facts.source))
    if others:
        return str(others[0]), "package"
    return (_of_line_table(facts, named), "debug") if facts.debug else ("", "")


def _of_line_table(facts: ExtensionFacts, named: str) -> str:
    """The source by the places that the debug information names, the one beside the C file among them; "" where none is."""
    try:
        files = compiled_files(facts.path)
    except UnreadableBinary:
        return ""  # the file's main tables were readable; without its line tables there is just no source to name
    candidates = [file for file in files if Path(file).name == named]
    candidates += [str(Path(file).with_name(named)) for file in files if Path(file).suffix in (".c", ".cpp", ".cxx", ".cc")]
    return next((file for file in candidates if Path(file).is_absolute() and Path(file).is_file()), "")


@extension_check
def unreadable(extension: Extension, subject: Subject) -> Finding | None:
    """The file could not be looked into."""
    del subject
    if not extension.facts.unreadable:
        return None
    return Finding("file", "note", f"cannot look inside: {extension.facts.unreadable}")


@extension_check
def tracing(extension: Extension, subject: Subject) -> Finding | None:
    """It was built with Cython's own tracing."""
    facts = extension.facts
    if facts.tracing == "none":
        return None
    what = {
        "calls": "reports each call to profilers (profile)",
        "lines": "reports each call and line to profilers (linetrace with CYTHON_TRACE)",
    }.get(facts.tracing, "reports each call to profilers (profile), perhaps each line too (it is stripped and does not tell)")
    symbols = ", ".join(facts.evidence[:2]) + (f" and {len(facts.evidence) - 2} more" if len(facts.evidence) > 2 else "")
    shown = f"; it imports {symbols}" if symbols else ""
    return Finding("tracing", "bad", f"{what}{shown}", rebuild_command(extension, subject))


@extension_check
def age_of_cython(extension: Extension, subject: Subject) -> Finding | None:
    """It was made by a Cython whose output cyprof's probes do not know."""
    version = release(extension.facts.version)
    if not version or version >= OLDEST_CYTHON:
        return None
    oldest = ".".join(map(str, OLDEST_CYTHON))
    text = f"made by Cython {extension.facts.version}, and can stay so: for a profile it is built anew by {oldest} or newer"
    del subject
    return Finding("cython", "note", text)


def rebuild_command(extension: Extension, subject: Subject) -> str:
    """The one command that builds a module anew, with what its project now asks for."""
    python = shlex.quote(sys.executable)
    if subject.installed:
        name = shlex.quote(subject.distribution)
        return f"{python} -m pip install --force-reinstall --no-deps --no-binary {name} {name}"
    project = project_folder(extension.facts.path.parent)
    if project is not None and (project / "setup.py").is_file():
        return f"cd {shlex.quote(str(project))} && {python} setup.py build_ext --inplace --force"
    if project is not None and "[build-system]" in (project / "pyproject.toml").read_text(encoding="utf-8", errors="replace"):
        return f"{python} -m pip install --force-reinstall --no-deps -e {shlex.quote(str(project))}"
    if extension.source:
        return f"cythonize -i -f {shlex.quote(extension.source)}"
    return ""
