"""What a build depends on besides the sources: Python, Cython, the C compiler, numpy. Nothing big is imported for it.

A run whose modules are all in the cache must start at once, so versions are read from files and compilers are known by
their path, size and date, without running them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from cyprof.errors import BuildError

OLDEST_CYTHON = (3, 1)
_FLAG_VARIABLES = (
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDSHARED", "LDCXXSHARED", "ARCHFLAGS", "CPATH",
    "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT",
)  # fmt: skip
_VERSION = re.compile(r"""^__version__\s*=\s*['"]([^'"]+)['"]""", re.MULTILINE)


def package_folder(name: str, search_path: Iterable[str] = ()) -> Path | None:
    """The folder of an installed package, looked for on `search_path` first and then where this Python finds it."""
    for entry in search_path:
        folder = Path(entry) / name
        if (folder / "__init__.py").is_file():
            return folder
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def cython_facts() -> list[str]:
    """The version of Cython and the folder it lies in. BuildError when it is missing or too old."""
    folder = package_folder("Cython")
    hint = f"Install it for this Python: {sys.executable} -m pip install 'cython>=3.1'."
    if folder is None:
        raise BuildError("Cython is not installed for this Python, and probed modules are built with it.", hint)
    match = _VERSION.search((folder / "Shadow.py").read_text(encoding="utf-8", errors="replace"))
    version = match[1] if match else "0"
    if release(version) < OLDEST_CYTHON:
        raise BuildError(
            f"Cython {version} is too old to build modules with probes: that takes 3.1 or newer. Nothing else of cyprof's uses"
            " it, and modules that an older Cython has built can stay as they are.",
            hint,
        )
    return [version, str(folder)]


def release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, fewer where it has no more."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def python_facts(place: str = sys.prefix) -> list[str]:
    """What the extension's binary form depends on: the interpreter's version, build and `place`."""
    values = (sysconfig.get_config_var(name) for name in ("SOABI", "EXT_SUFFIX", "Py_DEBUG", "Py_GIL_DISABLED"))
    return [
        sys.implementation.name,
        ".".join(map(str, sys.version_info[:3])),
        *map(str, values),
        sysconfig.get_platform(),
        sysconfig.get_path("include"),
        place,
    ]


def compiler_facts() -> list[str]:
    """Which C and C++ compilers will run, and every variable that gives them flags."""
    facts = [f"{name}={os.environ[name]}" for name in _FLAG_VARIABLES if name in os.environ]
    for name in ("CC", "CXX", "LDSHARED", "LDCXXSHARED", "CFLAGS"):
        facts.append(str(sysconfig.get_config_var(name)))
    for name in ("CC", "CXX"):
        facts += [_identity(word) for word in compiler_command(name) if not word.startswith("-")]
    return facts


def compiler_command(variable: str) -> list[str]:
    """The words of the compiler command in CC or CXX: the user's own, else what Python was built with."""
    command = os.environ.get(variable) or sysconfig.get_config_var(variable) or ""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _identity(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        return f"{program}: none"
    real = Path(path).resolve()
    about = real.stat()
    return f"{real} {about.st_size} {about.st_mtime_ns}"


def project_folder(folder: Path) -> Path | None:
    """The nearest folder from `folder` upwards that holds a project's setup.py or pyproject.toml, None without one."""
    for place in (folder, *folder.parents):
        if (place / "setup.py").is_file() or (place / "pyproject.toml").is_file():
            return place
    return None


def numpy_headers(folder: Path) -> Path:
    """The folder of numpy's C headers inside its package `folder` (it moved in numpy 2)."""
    new = folder / "_core" / "include"
    return new if new.is_dir() else folder / "core" / "include"


def no_compiler(program: str, language: str) -> BuildError:
    """The error for a machine without the compiler `program`, with the package that brings it."""
    what = "C++" if language == "c++" else "C"
    return BuildError(f"There is no {what} compiler: {program or 'cc'} was not found.", _install("compiler", language))


def no_python_headers(folder: str) -> BuildError:
    """The error for a Python installed without its C headers."""
    return BuildError(f"The C headers of Python are missing: there is no Python.h in {folder}.", _install("headers", "c"))


def no_openmp(source: str, program: str) -> BuildError:
    """The error for a module that uses prange, with a compiler that has no OpenMP."""
    hint = "Set CC to a compiler that has it, or add it: " + _install("openmp", "c")
    return BuildError(f"{source} uses cython.parallel, and the compiler {program} has no OpenMP.", hint)


def _install(what: str, language: str) -> str:
    command = install_command(what, language)
    return f"{command}." if sys.platform == "darwin" else f"Install it with your system's package manager: {command}."


def install_command(what: str, language: str = "c") -> str:
    """The command of this system that installs a "compiler" for a language, Python's "headers", "openmp", "graphviz" or
    "fonts"."""
    cplus = language == "c++"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.platform == "darwin":
        brew = {"openmp": "brew install libomp gcc", "graphviz": "brew install graphviz"}
        return brew.get(what, "xcode-select --install")
    packages = {
        "debian": ("apt install", "g++" if cplus else "gcc", f"python{version}-dev", "libomp-dev", "fonts-dejavu-core"),
        "fedora": ("dnf install", "gcc-c++" if cplus else "gcc", "python3-devel", "libomp-devel", "dejavu-sans-fonts"),
        "suse": ("zypper install", "gcc-c++" if cplus else "gcc", "python3-devel", "libomp-devel", "dejavu-fonts"),
        "alpine": ("apk add", "g++ musl-dev" if cplus else "gcc musl-dev", "python3-dev", "openmp-dev", "font-dejavu"),
        "arch": ("pacman -S", "gcc", "python", "openmp", "ttf-dejavu"),
    }
    command, compiler, headers, openmp, fonts = packages[_family()]
    known = {"compiler": compiler, "headers": headers, "openmp": openmp, "fonts": fonts}
    return f"{command} {known.get(what, what)}"


def _family() -> str:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "debian"
    ids = " ".join(re.findall(r"^(?:ID|ID_LIKE)=\"?([^\"\n]*)", text, re.MULTILINE)).split()
    names = {"rhel": "fedora", "centos": "fedora", "opensuse": "suse", "ubuntu": "debian"}
    known = (names.get(word, word) for word in ids)
    return next((word for word in known if word in ("debian", "fedora", "suse", "alpine", "arch")), "debian")
