"""Why a build of a project failed, in one sentence, from its log."""

from __future__ import annotations

import re
import shutil
import sysconfig
from pathlib import Path

from cyprof.build import environment as tools
from cyprof.build.project.find import Project
from cyprof.build.project.tree import Tree
from cyprof.build.words import Complaint, c_complaint, cython_complaint, indented, link_words, source_line
from cyprof.errors import BuildError

_NO_COMPILER = re.compile(
    r"Unknown compiler\(s\)|No CMAKE_C(?:XX)?_COMPILER could be found|command '[^']*(?:cc|\+\+)' failed: No such file"
)
_LAST_WORDS = re.compile(r"(?:^|\s)(?:[\w.]*(?:Error|Exception)\b|error|fatal|ERROR|CMake Error)\b.*", re.MULTILINE)
_SOURCES = (".pyx", ".pxd", ".pxi", ".py", ".c", ".cpp", ".h", ".hpp")
_HIDDEN = re.compile(r"CalledProcessError|subprocess-exited|BackendFailed")


def check_tools() -> None:
    """BuildError when there is no C compiler, or no header of Python's: no project can be built then."""
    command = tools.compiler_command("CC")
    if not command or shutil.which(command[0]) is None:
        raise tools.no_compiler(command[0] if command else "", "c")
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").is_file():
        raise tools.no_python_headers(folder)


def is_own_fault(log: str) -> bool:
    """Whether the project's own sources do not compile: another try would end the same way."""
    return cython_complaint(log, [], "") is not None


def wants_generated(log: str, tree: Tree) -> bool:
    """Whether the build missed a C file that was left out of the copy, since Cython had written it."""
    return any(Path(name).name in log for name in tree.generated)


def failed(project: Project, log: str, path: Path, error: str, work: Path) -> BuildError:
    """The error for a build that failed. `work` is the copy it was made in."""
    hint = f"See whether its plain build works: pip wheel --no-deps {project.source}.\nThe whole log: {path}"
    if _NO_COMPILER.search(log):
        no_compiler = tools.no_compiler("c++" if "CXX" in log else "cc", "c++" if "CXX" in log else "c")
        return BuildError(no_compiler.message, f"{no_compiler.hint}\nThe whole log: {path}", log)
    sources = [str(file) for file in project.source.rglob("*") if file.suffix in _SOURCES]
    complaint = cython_complaint(log, sources, "") or c_complaint(log, "", sources, "")
    if complaint is not None:
        place, excerpt = _place(complaint, project, work)
        return BuildError(f"{project.title} cannot be built: {place}: {complaint.text}{indented(excerpt)}", hint, log)
    words = link_words(log) or _last_words(log) or error
    return BuildError(f"{project.title} cannot be built: {words}", hint, log)


def _place(complaint: Complaint, project: Project, work: Path) -> tuple[str, str]:
    """A place in the copy as one in the project's own folder, and the source there."""
    file = Path(complaint.file) if complaint.file else Path()
    if file.is_relative_to(work):
        file = file.relative_to(work)
    own = project.source / file
    excerpt = complaint.excerpt or (source_line(str(own), complaint.line, complaint.column) if own.is_file() else "")
    return f"{own if own.is_file() else file}, line {complaint.line}", excerpt


def _last_words(log: str) -> str:
    found = [match[0].strip() for match in _LAST_WORDS.finditer(log) if not _HIDDEN.search(match[0])]
    return found[-1][:300] if found else ""
