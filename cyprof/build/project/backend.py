"""Calls the build system of a project in its scratch copy (PEP 517), with our hook in before the first call."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cyprof.build import environment as tools
from cyprof.build.project.environment import BuildEnvironment
from cyprof.build.project.requirements import BuildSystem
from cyprof.build.project.settings import Settings
from cyprof.build.project.tree import WorkCopy

_FOLDER = Path(__file__).resolve().parent
_COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "clang++")
_EVERY_S = 1.0
_LONGEST = 90
_NOISE = re.compile(r"^[\s\W]*$")


class BackendFailed(Exception):
    """The build system ended with an error; the log has its words."""


class Backend:
    """One build system in one copy. All it says goes to `log`, its last line now and then to `progress`."""

    def __init__(
        self, system: BuildSystem, copy: WorkCopy, settings: Settings, log: Path, progress: Callable[[str], None]
    ) -> None:
        self._system = system
        self._copy = copy
        self._settings = settings
        self._log = log
        self._progress = progress
        self._told = 0.0

    def more_requirements(self, environment: BuildEnvironment, environ: Mapping[str, str]) -> list[str]:
        """What the backend asks for besides the static requirements. It may run the project's setup.py for that."""
        return [str(word) for word in self._caller(environment, environ).get_requires_for_build_wheel(self._config())]

    def build_wheel(self, environment: BuildEnvironment, environ: Mapping[str, str], folder: Path) -> Path:
        """Builds the wheel into `folder`. Raises BackendFailed."""
        name = self._caller(environment, environ).build_wheel(str(folder), self._config())
        return folder / str(name)

    def _caller(self, environment: BuildEnvironment, environ: Mapping[str, str]) -> Any:
        from pyproject_hooks import BuildBackendHookCaller

        def run(command: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
            self._run(command, cwd, {**environ, **(extra_environ or {})})

        return _Caller(
            BuildBackendHookCaller(
                str(self._copy.source),
                self._system.backend,
                backend_path=list(self._system.backend_path) or None,
                runner=run,
                python_executable=str(environment.python),
            ),
            self._log,
        )

    def _config(self) -> dict[str, Any]:
        """The user's config settings, and a build folder that lasts for backends that know one."""
        config: dict[str, Any] = {}
        name = self._system.backend.partition(".")[0]
        if name in ("mesonpy", "scikit_build_core"):
            config["build-dir"] = str(self._copy.output)
        if name == "mesonpy" and self._settings.jobs:
            config["compile-args"] = f"-j{self._settings.jobs}"
        return {**config, **self._settings.config}

    def _run(self, command: Sequence[str], cwd: str | None, environ: Mapping[str, str]) -> None:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    self._tell(line.decode("utf-8", "replace").strip())
                code = process.wait()
            finally:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if code:
            raise BackendFailed(f"exit code {code}")

    def _tell(self, line: str) -> None:
        now = time.monotonic()
        if now - self._told >= _EVERY_S and not _NOISE.match(line):
            self._told = now
            self._progress(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


class _Caller:
    """Turns the errors of pyproject_hooks that mean the backend failed into BackendFailed."""

    def __init__(self, caller: Any, log: Path) -> None:
        self._caller = caller
        self._log = log

    def __getattr__(self, name: str) -> Any:
        from pyproject_hooks import BackendUnavailable, HookMissing, UnsupportedOperation

        method = getattr(self._caller, name)

        def call(*args: Any) -> Any:
            try:
                with warnings.catch_warnings():  # the backend's own, meant for the project's author; the log has them
                    warnings.simplefilter("ignore")
                    return method(*args)
            except BackendUnavailable as error:
                with self._log.open("a", encoding="utf-8") as log:
                    log.write(str(error.traceback))
                raise BackendFailed("its build backend cannot be imported") from error
            except (HookMissing, UnsupportedOperation) as error:
                raise BackendFailed(f"its build backend builds no wheel: {error}") from error

        return call


def build_environ(
    environment: BuildEnvironment, copy: WorkCopy, settings: Settings, request: Path, aside: Path, version: str
) -> dict[str, str]:
    """The variables of a build: the user's own where they mean compilers, and all that brings our hook in."""
    dropped = ("CYPROF_", "PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    shims = _make_shims(copy.folder / "compilers", environ)
    path = [str(environment.scripts), environ.get("PATH", os.defpath)]
    environ |= {
        "PATH": os.pathsep.join([str(shims), *path]),
        "VIRTUAL_ENV": str(environment.folder),
        "PYTHONNOUSERSITE": "1",
        "LC_ALL": "C.UTF-8",
        "LANGUAGE": "",
        "GCC_COLORS": "",
        "SKBUILD_INSTALL_STRIP": "false",
        "CYPROF_INJECT": str(_FOLDER / "inject.py"),
        "CYPROF_INJECT_REQUEST": str(request),
        "CYPROF_SHIM_PYTHON": str(environment.python),
        "CYPROF_SHIM_WORK": str(copy.source),
        "CYPROF_SHIM_ASIDE": str(aside),
        "CYPROF_SHIM_LEVEL": settings.level,
    }
    # The copy has no version control to read a version from.
    environ.setdefault("SETUPTOOLS_SCM_PRETEND_VERSION", version or "0.0.0")
    if settings.jobs:
        environ["CMAKE_BUILD_PARALLEL_LEVEL"] = str(settings.jobs)
    return {**environ, **settings.environ}


def _make_shims(folder: Path, environ: dict[str, str]) -> Path:
    """A folder with a stand-in for each compiler that is there. CC and CXX that name one by its path name it bare then."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program = folder / ".shim.py"
    text = (_FOLDER / "shim.py").read_text(encoding="utf-8")
    # Isolated and without site, it starts in a few milliseconds; the base interpreter needs no venv.
    program.write_text(f"#!{_base_python()} -IS\n{text}", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "regenerate.py").symlink_to(_FOLDER / "regenerate.py")
    named = [words[0] for words in map(tools.compiler_command, ("CC", "CXX", "LDSHARED", "LDCXXSHARED")) if words]
    for name in dict.fromkeys([*_COMPILERS, *(Path(word).name for word in named)]):
        if shutil.which(name, path=environ.get("PATH")):
            (folder / name).symlink_to(program.name)
    for variable in ("CC", "CXX"):
        words = environ.get(variable, "").split()
        if words and Path(words[0]).is_absolute() and (folder / Path(words[0]).name).exists():
            environ[variable] = " ".join([str(folder / Path(words[0]).name), *words[1:]])
    return folder


def _base_python() -> str:
    base = getattr(sys, "_base_executable", sys.executable)
    return base if len(base) < 100 and " " not in base else shutil.which("python3") or sys.executable
