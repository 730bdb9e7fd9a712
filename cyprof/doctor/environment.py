"""What cyprof needs of the environment, one registered check for each."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from ..build import environment
from ..build.cache import Cache
from ..build.housekeeping import Housekeeper
from ..errors import CyprofError
from ..view.units import count_text, size_text
from .result import Check

EnvironmentCheck = Callable[[], Check]
_checks: list[EnvironmentCheck] = []
_TESTED_PYTHONS = ((3, 11), (3, 13))
_NEWEST_CYTHON = (3, 3)
_PATIENCE = 30.0


def environment_check(check: EnvironmentCheck) -> EnvironmentCheck:
    """Registers a check; they are made in the order in which they stand here."""
    _checks.append(check)
    return check


def examine_environment() -> list[Check]:
    """All checks of the environment."""
    return [check() for check in _checks]


def _pip(*words: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


@environment_check
def python() -> Check:
    """The interpreter, its build, and whether probes are tested with it."""
    build = [
        word for word, is_so in (("free-threaded", _config("Py_GIL_DISABLED")), ("debug build", _config("Py_DEBUG"))) if is_so
    ]
    version = ".".join(map(str, sys.version_info[:3]))
    found = " ".join([sys.implementation.name.replace("cpython", "CPython"), version, *(f"({word})" for word in build)])
    found += f", {platform.system()} {platform.machine()}, {sys.executable}"
    if sys.implementation.name != "cpython":
        return Check("Python", "bad", f"{found}: the probes need CPython", "")
    if _config("Py_GIL_DISABLED"):
        return Check("Python", "bad", f"{found}: the probes need the GIL, which the ordinary build has")
    oldest, newest = _TESTED_PYTHONS
    if not oldest <= sys.version_info[:2] <= newest:
        return Check("Python", "note", f"{found}: tested are {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}")
    return Check("Python", "ok", found)


def _config(name: str) -> bool:
    return bool(sysconfig.get_config_var(name))


@environment_check
def compiler() -> Check:
    """The C compiler that builds probed modules."""
    command = environment.compiler_command("CC")
    if not command or shutil.which(command[0]) is None:
        missing = environment.no_compiler(command[0] if command else "", "c")
        return Check("C compiler", "bad", missing.message, environment.install_command("compiler"))
    path = str(shutil.which(command[0]))
    done = _compiled(command, "int main(void) { return 0; }\n")
    if done:
        return Check(
            "C compiler", "bad", f"{path} cannot compile an empty program: {done}", environment.install_command("compiler")
        )
    return Check("C compiler", "ok", f"{_first_line([command[0], '--version']) or command[0]}, {path}")


@environment_check
def headers() -> Check:
    """Python's C headers, read by the compiler."""
    folder = sysconfig.get_path("include")
    install = environment.install_command("headers")
    if not Path(folder, "Python.h").is_file():
        return Check("Python headers", "bad", environment.no_python_headers(folder).message, install)
    command = environment.compiler_command("CC")
    if command and shutil.which(command[0]):
        words = _compiled([*command, f"-I{folder}", f"-I{sysconfig.get_path('platinclude')}"], "#include <Python.h>\n")
        if words:
            return Check("Python headers", "bad", f"Python.h in {folder} cannot be compiled: {words}", install)
    return Check("Python headers", "ok", folder)


@environment_check
def cython() -> Check:
    """The Cython that probed modules are built with."""
    newest = ".".join(map(str, _NEWEST_CYTHON))
    oldest = ".".join(map(str, environment.OLDEST_CYTHON))
    install = _pip("--upgrade", f"cython>={oldest},<{_NEWEST_CYTHON[0]}.{_NEWEST_CYTHON[1] + 1}")
    try:
        version, folder = environment.cython_facts()
    except CyprofError as error:
        return Check("Cython", "bad", error.message, install)
    if environment.release(version) > _NEWEST_CYTHON:
        return Check("Cython", "note", f"{version}, {folder}: probes are tested with {oldest} to {newest}", install)
    return Check("Cython", "ok", f"{version}, {folder}")


@environment_check
def setuptools() -> Check:
    """setuptools, which drives the compiler."""
    version = _version("setuptools")
    if not version:
        return Check("setuptools", "bad", "It is not installed, and it drives the C compiler.", _pip("setuptools>=64"))
    return Check("setuptools", "ok", version)


@environment_check
def openmp() -> Check:
    """OpenMP, which modules with `prange` need."""
    command = environment.compiler_command("CC")
    if not command or shutil.which(command[0]) is None:
        return Check(
            "OpenMP", "note", "It could not be looked for without a C compiler.", environment.install_command("compiler")
        )
    words = _compiled([*command, "-fopenmp"], "#include <omp.h>\n")
    if words:
        return Check("OpenMP", "note", f"Modules with prange cannot be built: {words}", environment.install_command("openmp"))
    return Check("OpenMP", "ok", f"{command[0]} -fopenmp works")


@environment_check
def numpy() -> Check:
    """numpy's C headers, which modules that cimport numpy need."""
    folder = environment.package_folder("numpy")
    if folder is None:
        return Check("numpy headers", "note", "numpy is not installed: modules that cimport it cannot be built.", _pip("numpy"))
    place = environment.numpy_headers(folder)
    if not (place / "numpy" / "arrayobject.h").is_file():
        return Check(
            "numpy headers", "note", f"numpy in {folder} came without its C headers.", _pip("--force-reinstall", "numpy")
        )
    return Check("numpy headers", "ok", f"numpy {_version('numpy') or ''}, {place}".replace(" ,", ","))


@environment_check
def graphviz() -> Check:
    """Graphviz, proved by drawing two nodes."""
    from ..render.engine import VARIABLE, GraphvizError, draw_with_dot, find_graphviz

    try:
        draw = find_graphviz()
        found = "dot" if draw is draw_with_dot else "embedded"
        draw("digraph { a -> b }", "svg", False)
    except GraphvizError as error:
        return Check("Graphviz", "bad", error.words, environment.install_command("graphviz"))
    except CyprofError as error:
        return Check("Graphviz", "bad", error.message, f"unset {VARIABLE}")
    embedded = f"in pygraphviz {_version('pygraphviz')}" if find_spec("pygraphviz") is not None else ""
    if found == "embedded":
        return Check("Graphviz", "ok", f"{embedded}, drawing works")
    version = re.search(r"version (\S+)", _first_line(["dot", "-V"]))
    also = f"; another {embedded}" if embedded else ""
    return Check("Graphviz", "ok", f"{version[1] if version else ''} {shutil.which('dot')}, drawing works{also}".strip())


@environment_check
def fonts() -> Check:
    """Fonts for .png and .pdf."""
    from ..render.image import installed_fonts

    names = installed_fonts()
    install = environment.install_command("fonts")
    if not names:
        return Check("Fonts", "bad", "There are none: .png and .pdf cannot show text; .svg can.", install)
    if not any(name.lower().startswith("dejavusans") for name in names):
        return Check("Fonts", "note", f"{len(names):,} files, and no DejaVu Sans among them: texts may be cut.", install)
    return Check("Fonts", "ok", f"DejaVu Sans among {len(names):,} files")


@environment_check
def cache() -> Check:
    """The cache: where, whether it can be written and is private, and how much is in it."""
    mend = f"export CYPROF_CACHE_DIR={shlex.quote(_own_folder())}"
    try:
        root = Cache.open().root
    except CyprofError as error:
        return Check("Cache", "bad", error.message, mend)
    if not os.access(root, os.W_OK | os.X_OK):
        return Check("Cache", "bad", f"The cache folder {root} cannot be written.", mend)
    keeper = Housekeeper(root)
    content = f"{count_text(len(keeper.builds()), 'build')}, {size_text(keeper.size())}, limit {size_text(keeper.limit)}"
    return Check("Cache", "ok", f"{root}, private, {content}")


def _own_folder() -> str:
    import tempfile

    return str(Path(tempfile.gettempdir(), f"cyprof-{os.getuid()}"))


@environment_check
def runtime() -> Check:
    """cyprof's own C runtime, which the probes report to."""
    try:
        module = import_module("cyprof.probe._runtime")
    except (ImportError, RuntimeError) as error:
        return Check(
            "Runtime", "bad", f"cyprof's C part cannot be loaded: {error}", _pip("--force-reinstall", "--no-deps", "cyprof")
        )
    return Check("Runtime", "ok", f"loads, {module.__file__}")


@environment_check
def flags() -> Check:
    """Compiler flags of the environment that switch Cython's own tracing on in every build."""
    names = [name for name in ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "CYTHON_DIRECTIVES") if _asks(os.environ.get(name, ""))]
    if names:
        found = f"{', '.join(names)} switches Cython's tracing on in every build: {os.environ[names[0]]}"
        return Check("Flags", "note", found, f"unset {' '.join(names)}")
    return Check("Flags", "ok", "none that switch Cython's tracing on")


def _asks(text: str) -> bool:
    return bool(re.search(r"CYTHON_TRACE|(?:linetrace|profile)=True", text))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _first_line(command: list[str]) -> str:
    """The first line a program prints, "" when it cannot be started."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
    return lines[0].strip() if lines else ""


def _compiled(command: list[str], text: str) -> str:
    """Has a compiler check a C text; returns "" or its first complaint."""
    whole = [*command, "-fsyntax-only", "-x", "c", "-"]
    try:
        done = subprocess.run(
            whole, input=text.encode(), capture_output=True, check=False, timeout=_PATIENCE, env={**os.environ, "LC_ALL": "C"}
        )
    except subprocess.TimeoutExpired:
        return f"it gave no answer in {_PATIENCE:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else next((line for line in lines if "error" in line), f"exit code {done.returncode}")
