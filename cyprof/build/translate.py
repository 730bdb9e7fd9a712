"""Cython's part of a build: one source to C, with every file noted that was read and every one whose absence mattered.

Runs in the worker process only, with the hook installed: this is one of the modules that import Cython.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from Cython.Build.Dependencies import DistutilsInfo, create_dependency_tree
from Cython.Compiler.Errors import PyrexError
from Cython.Compiler.Main import Context, compile_single
from Cython.Compiler.Options import CompilationOptions, default_options

from cyprof.build.environment import package_folder
from cyprof.build.job import Job
from cyprof.build.locate import Folders
from cyprof.build.words import cython_complaint, indented, shown
from cyprof.errors import BuildError

_NEEDS_NUMPY = re.compile(r"'numpy[\w/.]*\.px[di]' not found")


@dataclass
class Translation:
    """The C of a module. `settings` are those of its `# distutils:` comments and its .pyxbld, by setuptools' names."""

    c_file: Path
    settings: dict[str, Any]
    files: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


def translate(job: Job, *, folder: Path | None = None, annotate: bool = False) -> Translation:
    """Compiles the job's source to C in `folder`, by default the job's. BuildError, in Cython's words, when it cannot."""
    info, directives = _settings(job)
    cplus = info.get("language") == "c++"
    name = "__init__" if job.package else job.module.rpartition(".")[2]
    done = Translation((folder or Path(job.folder)) / (name + (".cpp" if cplus else ".c")), info, [job.source])
    _note_builder(job, done)
    options = CompilationOptions(
        default_options,
        output_file=str(done.c_file),
        include_path=include_path(job),
        cplus=cplus,
        annotate=annotate,
        compiler_directives=directives,
    )
    context = Context.from_options(options)
    places = Folders()
    _record_reads(context, done, {folder for folder in include_path(job) if places.is_local(folder)})
    said = io.StringIO()
    failed = True
    try:
        with contextlib.redirect_stderr(said):
            failed = compile_single(job.source, options, job.cython_name, context=context).num_errors > 0
    except (PyrexError, OSError) as error:
        said.write(f"{error}\n")
    except Exception:
        said.write(traceback.format_exc())
    log = said.getvalue()
    sys.stderr.write(log)
    if failed or not done.c_file.is_file():
        raise _failure(job, done, log)
    return done


def include_path(job: Job) -> list[str]:
    """Where cimports are looked for: the folder the module's name starts from, then the user's search path."""
    return list(dict.fromkeys([job.root, *job.search_path]))


def _settings(job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    context = Context.from_options(CompilationOptions(default_options, include_path=include_path(job)))
    extension = _built_by(job)
    base = DistutilsInfo(exn=extension) if extension is not None else None
    values = dict(create_dependency_tree(context, quiet=True).distutils_info(job.source, base=base).values)
    if extension is not None:
        more = [item for item in extension.sources if Path(item).suffix not in (".pyx", ".py")]
        values["sources"] = [*values.get("sources", []), *more]
        for key, value in (base.values if base is not None else {}).items():
            values.setdefault(key, value)
    return values, dict(getattr(extension, "cython_directives", None) or {})


def _builder(job: Job) -> Path:
    return Path(job.source).with_suffix(".pyxbld")


def _built_by(job: Job) -> Any:
    """The extension that a .pyxbld beside the source describes, as pyximport's users write it; None without one."""
    if not _builder(job).is_file():
        return None
    try:
        make = runpy.run_path(str(_builder(job))).get("make_ext")
        return make(job.module, job.source) if make is not None else None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        hint = "Mend make_ext() in it, or move the file away."
        raise BuildError(f"{shown(str(_builder(job)), job.cwd)} failed: {what}", hint) from error


def _note_builder(job: Job, done: Translation) -> None:
    builder = _builder(job)
    (done.files if builder.is_file() else done.absent).append(str(builder))


def _record_reads(context: Any, done: Translation, searched: set[str]) -> None:
    """Notes what the compiler finds, and where a file put before it later would have been found first."""
    search = context.search_include_directories

    def recorded(name: str, suffix: str | None = None, *args: Any, **keywords: Any) -> Any:
        found = search(name, suffix, *args, **keywords)
        if found:
            done.files.append(str(Path(found).absolute()))
        if suffix == ".pxd":
            parts = name.split(".")
            for folder in context.include_directories:
                if found and str(found).startswith(folder + os.sep):
                    break
                if folder not in searched:
                    continue
                stem = Path(folder, *parts)
                done.absent += [f"{stem}.pxd", str(stem / "__init__.pxd")]
        return found

    context.search_include_directories = recorded


def _failure(job: Job, done: Translation, log: str) -> BuildError:
    name = shown(job.source, job.cwd)
    if _NEEDS_NUMPY.search(log) and package_folder("numpy", job.search_path) is None:
        return BuildError(
            f"{name} cimports numpy, and numpy is not installed for this Python.",
            f"Install it: {sys.executable} -m pip install numpy.",
        )
    hint = f"See whether the plain build works: cythonize -i {name}."
    complaint = cython_complaint(log, done.files, job.source)
    if complaint is None:
        last = next((line for line in reversed(log.splitlines()) if line.strip()), "it gave no reason")
        return BuildError(f"Cython itself failed on {name}: {last.strip()}", hint)
    place = f"{shown(complaint.file, job.cwd)}, line {complaint.line}"
    return BuildError(f"Cython cannot compile {place}: {complaint.text}{indented(complaint.excerpt)}", hint)
