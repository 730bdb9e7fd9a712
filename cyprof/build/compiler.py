"""The C compiler's part of a build: generated C to an extension, with the flags the user's own build would have had.

setuptools drives the compiler, so that CC, CFLAGS and the platform's habits mean here what they mean in a plain build.
"""

# ruff: noqa: PTH100, PTH110, PTH113, PTH117, PTH118, PTH120
# Paths are plain strings here: setuptools takes and compilers print nothing else.
from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The first of the two: it brings the distutils that Python no longer has.
import setuptools  # type: ignore[import-untyped]  # isort: skip
from distutils.command.build_ext import build_ext
from distutils.errors import CCompilerError, DistutilsExecError, DistutilsPlatformError
from distutils.log import set_verbosity

from cyprof.build import environment
from cyprof.build.job import LOG_FILE, Job
from cyprof.build.translate import Translation
from cyprof.build.words import c_complaint, indented, link_words, shown
from cyprof.errors import BuildError

# Debug information must stay, warnings must not end a build, and link-time optimisation would only take long.
_UNWANTED = re.compile(
    r"-(g0|s|Werror(=.*)?|pedantic-errors|Wl,(-s|-S|--strip-all|--strip-debug)"
    r"|flto(=.*)?|ffat-lto-objects|fuse-linker-plugin)"
)
_LEVEL = re.compile(r"-O([0-9gsz]|fast)?")
_OPENMP_CODE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp[ \t]", re.MULTILINE)
_NO_OPENMP = re.compile(r"-fopenmp['’]?|-l(omp|gomp)\b|\bomp\.h\b|libgomp\.spec")
_NUMPY_HEADER = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[\"<]numpy/", re.MULTILINE)


@dataclass
class Plan:
    """What the compiler will be asked for."""

    settings: dict[str, list[Any]]
    language: str
    numpy: str
    openmp: bool


@dataclass
class Compiled:
    """An extension and the headers that went into it. `numpy` is the folder of numpy when its headers did, else ""."""

    extension: Path
    headers: list[str]
    numpy: str


def compile_extension(job: Job, translation: Translation) -> Compiled:
    """Compiles and links the job's C in its folder. BuildError, in the compiler's words, when it cannot."""
    plan = _plan(job, translation)
    _check_tools(plan.language)
    extension = setuptools.Extension(job.cython_name, language=plan.language, **plan.settings)
    command = _command(job, extension)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    set_verbosity(1)  # the log of a build names every command
    for name in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"):
        if name in os.environ:
            os.environ[name] = " ".join(_wanted(os.environ[name].split()))
    try:
        command.run()
    except (CCompilerError, DistutilsExecError, DistutilsPlatformError) as error:
        raise _failure(job, translation, plan, str(error)) from error
    headers = [header for file in sorted(Path(job.folder, "objects").rglob("*.d")) for header in read_depfile(file)]
    numpy = plan.numpy if any(header.startswith(plan.numpy + os.sep) for header in headers if plan.numpy) else ""
    return Compiled(Path(command.get_ext_fullpath(job.cython_name)), _own_headers(headers, job, numpy), numpy)


def read_depfile(path: Path) -> list[str]:
    """The files a compiler's -MMD output names as read, absolute, the compiled ones included."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    _, _, names = text.partition(": ")
    words = re.findall(r"(?:\\.|\$\$|[^\s\\])+", names.split("\n", 1)[0])
    return [os.path.abspath(re.sub(r"\\(.)", r"\1", word).replace("$$", "$")) for word in words]


def _plan(job: Job, translation: Translation) -> Plan:
    values = translation.settings
    language = values.get("language") or "c"
    folders = _folders(job)
    code = translation.c_file.read_text(encoding="utf-8", errors="replace")
    openmp = bool(_OPENMP_CODE.search(code)) or any(Path(file).name == "openmp.pxd" for file in translation.files)
    settings: dict[str, list[Any]] = {
        "sources": [str(translation.c_file), *_more_sources(job, values, folders)],
        "include_dirs": [*_resolved(values.get("include_dirs", []), folders), folders[0], job.root, job.folder],
    }
    for name in ("library_dirs", "runtime_library_dirs", "extra_objects"):
        settings[name] = _resolved(values.get(name, []), folders)
    for name in ("define_macros", "undef_macros", "libraries"):
        settings[name] = list(dict.fromkeys(values.get(name, [])))
    translation.files += [file for file in _resolved(values.get("depends", []), folders) if os.path.isfile(file)]
    translation.files += settings["sources"][1:]
    numpy = _find_numpy(job, translation, code)
    if numpy:
        settings["include_dirs"].append(str(environment.numpy_headers(Path(numpy))))
    settings["extra_compile_args"] = _compile_args(job, values, language, folders, openmp)
    parallel = ["-fopenmp"] if openmp else []
    settings["extra_link_args"] = [*_flags(values.get("extra_link_args", []), folders), *parallel]
    return Plan(settings, language, numpy, openmp)


def _more_sources(job: Job, values: dict[str, Any], folders: list[str]) -> list[str]:
    names = [item for item in values.get("sources", []) if Path(item).suffix not in (".pyx", ".pxd", ".py")]
    paths = _resolved(names, folders)
    for path in paths:
        if not os.path.isfile(path):
            name = shown(job.source, job.cwd)
            hint = "Write the path in its `# distutils: sources` comment relative to the folder of the .pyx."
            raise BuildError(f"{name} is to be built with {shown(path, job.cwd)}, and there is no such file.", hint)
    return paths


def _compile_args(job: Job, values: dict[str, Any], language: str, folders: list[str], openmp: bool) -> list[str]:
    own = _flags(values.get("extra_compile_args", []), folders)
    variables = ["CC", "CFLAGS", "CPPFLAGS"] + (["CXX", "CXXFLAGS"] if language == "c++" else [])
    given = own + [word for name in variables for word in os.environ.get(name, "").split()]
    level = [] if any(_LEVEL.fullmatch(word) for word in given) else ["-O2"]
    # The build folder is renamed when it is done: debuggers shall find the C where it will lie.
    place = f"-fdebug-prefix-map={job.folder}={job.final}"
    return [*own, *level, "-g", "-MMD", place, *(["-fopenmp"] if openmp else [])]


def _folders(job: Job) -> list[str]:
    """Where the relative paths of `# distutils:` comments may start: beside the source first, then ever further out."""
    folder = os.path.dirname(job.source)
    folders = [folder, job.root]
    project = environment.project_folder(Path(folder))
    if project is not None:
        folders.append(str(project))
    return list(dict.fromkeys(folders))


def _resolved(names: list[str], folders: list[str]) -> list[str]:
    whole: list[str] = []
    for name in names:
        places = [os.path.normpath(os.path.join(folder, name)) for folder in folders]
        whole.append(next((place for place in places if os.path.exists(place)), places[0]))
    return list(dict.fromkeys(whole))


def _flags(words: list[str], folders: list[str]) -> list[str]:
    flags = []
    for word in _wanted(words):
        start = word[:2]
        relative = start in ("-I", "-L") and len(word) > 2 and not os.path.isabs(word[2:])
        flags.append(start + _resolved([word[2:]], folders)[0] if relative else word)
    return flags


def _wanted(words: list[str]) -> list[str]:
    return [word for word in words if not _UNWANTED.fullmatch(word)]


def _find_numpy(job: Job, translation: Translation, code: str) -> str:
    """numpy's folder when the module's C includes its headers, else "". BuildError when they are not there."""
    cimported = any("/numpy/" in file and file.endswith(".pxd") for file in translation.files)
    if not cimported and not _NUMPY_HEADER.search(code):
        return ""
    folder = environment.package_folder("numpy", job.search_path)
    if folder is None:
        raise BuildError(
            f"{shown(job.source, job.cwd)} needs the C headers of numpy, and numpy is not installed for this Python.",
            "Install it: python -m pip install numpy.",
        )
    return str(folder)


def _own_headers(headers: list[str], job: Job, numpy: str) -> list[str]:
    """The headers to watch: not Python's, which its version stands for, nor numpy's, nor files of the build itself."""
    known = [sysconfig.get_path("include"), sysconfig.get_path("platinclude"), job.folder] + ([numpy] if numpy else [])
    folders = tuple(os.path.abspath(folder) + os.sep for folder in known)
    kept = [header for header in headers if not header.startswith(folders)]
    return list(dict.fromkeys(kept + ([os.path.join(numpy, "version.py")] if numpy else [])))


def _check_tools(language: str) -> None:
    command = environment.compiler_command("CXX" if language == "c++" else "CC")
    if not command or shutil.which(command[0]) is None:
        raise environment.no_compiler(command[0] if command else "", language)
    folder = sysconfig.get_path("include")
    if not os.path.isfile(os.path.join(folder, "Python.h")):
        raise environment.no_python_headers(folder)


class _QuietBuild(build_ext):
    """setuptools' command without the flags that would spoil a probed build."""

    def build_extensions(self) -> None:
        """Builds, once the compiler's own command lines are cleaned."""
        for name in ("compiler", "compiler_so", "compiler_cxx", "compiler_so_cxx", "linker_so", "linker_so_cxx"):
            words = getattr(self.compiler, name, None)
            if isinstance(words, list):
                setattr(self.compiler, name, _wanted(words))
        super().build_extensions()


def _command(job: Job, extension: Any) -> Any:
    command = _QuietBuild(setuptools.Distribution({"name": "scratch", "ext_modules": [extension]}))
    command.build_lib = os.path.join(job.folder, "lib")
    command.build_temp = os.path.join(job.folder, "objects")
    command.force = True
    command.ensure_finalized()
    return command


def _failure(job: Job, translation: Translation, plan: Plan, error: str) -> BuildError:
    log = Path(job.folder, LOG_FILE).read_text(encoding="utf-8", errors="replace")
    name = shown(job.source, job.cwd)
    program = environment.compiler_command("CXX" if plan.language == "c++" else "CC")[0]
    complaint = c_complaint(log, str(translation.c_file), translation.files, job.source)
    words = complaint.text if complaint is not None else link_words(log) or error
    if plan.openmp and _NO_OPENMP.search(words):
        return environment.no_openmp(name, program)
    hint = f"See whether the plain build works: cythonize -i {name}."
    if complaint is None:
        hint = f"Name what it needs in {name}: # distutils: libraries = NAME, library_dirs = FOLDER. {hint}"
    elif "No such file" in words or "file not found" in words:
        hint = f"Name its folder in {name}: # distutils: include_dirs = FOLDER. {hint}"
    project = environment.project_folder(Path(job.source).parent)
    if project is not None:
        hint += (
            f" The settings of the project in {shown(str(project), job.cwd)} are not read: write those that it needs"
            " into # distutils: comments."
        )
    if complaint is None:
        return BuildError(f"{name} was compiled but cannot be linked: {words}", hint)
    if not complaint.line:
        return BuildError(f"{program} cannot compile the C that Cython wrote for {name}: {words}", hint)
    place = f"{shown(complaint.file, job.cwd)}, line {complaint.line}"
    return BuildError(f"{program} cannot compile {place}: {words}{indented(complaint.excerpt)}", hint)
