"""The environment a project is built in: a venv of its own in the cache, which the user's pip fills."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cyprof.build import environment as tools
from cyprof.build.cache import Cache
from cyprof.errors import BuildError

_READY = "cyprof-complete"
_HOOK = "cyprof_probes.pth"
# Inert unless a build of ours says otherwise; read by every Python process of the environment, whoever starts it.
_HOOK_LINE = (
    "import os; f = os.environ.get('CYPROF_INJECT'); "
    "f and exec(compile(open(f, encoding='utf-8').read(), f, 'exec'), {'__file__': f, '__name__': 'cyprof_inject'})\n"
)
_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|Connection (?:refused|reset|aborted)|ProxyError"
    r"|Temporary failure in name resolution|Network is unreachable|SSLError|Read timed out|Max retries exceeded"
)


@dataclass(frozen=True)
class BuildEnvironment:
    """A finished environment. `python` is its interpreter."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def scripts(self) -> Path:
        return self.folder / "bin"

    def versions(self) -> dict[str, str]:
        """What is installed in it."""
        from importlib.metadata import distributions

        return {str(dist.metadata["Name"]): dist.version for dist in distributions(path=[_site_packages(self.folder)])}


def build_environment(cache: Cache, words: Iterable[str], title: str, progress: Callable[[str], None]) -> BuildEnvironment:
    """The environment with the requirements `words`, made when the cache has none. BuildError when pip cannot make it."""
    wanted = sorted(words)
    # The same for every venv of a Python: it is made from the Python below.
    facts = [*wanted, *tools.python_facts(sys.base_prefix), _HOOK_LINE]
    key = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:24]
    folder = cache.root / "environments" / key
    with cache.lock(f"environment-{key}", lambda: progress("waiting for another run that prepares the same environment")):
        if not (folder / _READY).is_file():
            progress(f"preparing an environment to build {title}: {', '.join(wanted)}")
            shutil.rmtree(folder, ignore_errors=True)
            # A venv cannot be moved: it is made where it stays, and counts once its mark is there.
            venv.create(folder, with_pip=False, symlinks=True)
            _install(cache, folder, wanted, title)
            (Path(_site_packages(folder)) / _HOOK).write_text(_HOOK_LINE, encoding="utf-8")
            (folder / _READY).touch()
        os.utime(folder / _READY)
    return BuildEnvironment(folder)


def _install(cache: Cache, folder: Path, words: list[str], title: str) -> None:
    done = run_pip(cache, folder, ["--python", str(folder / "bin" / "python"), "install", "--no-compile", *words])
    if done.returncode == 0:
        return
    name = re.sub(r"\W+", "-", title)
    log = cache.keep_log(f"environment-{name}", folder.name, done.stdout)
    shutil.rmtree(folder, ignore_errors=True)
    if network_failed(done.stdout):
        raise BuildError(
            f"What {title} needs to be built could not be installed: the package index cannot be reached.",
            f"Check the network and pip's settings (pip config list).\nThe whole log: {log}",
            done.stdout,
        )
    raise BuildError(
        f"What {title} needs to be built could not be installed: {pip_complaint(done.stdout)}",
        f"Mend the requires in its pyproject.toml, or name sources that can be built.\nThe whole log: {log}",
        done.stdout,
    )


def _site_packages(folder: Path) -> str:
    return sysconfig.get_path("purelib", "venv", vars={"base": str(folder), "platbase": str(folder)})


def run_pip(cache: Cache, folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs pip in a folder; all it says is in `stdout`. BuildError when there is no pip."""
    command = [*_pip_command(cache), "--no-input", "--disable-pip-version-check", "--no-color", *words]
    return subprocess.run(
        command, cwd=folder, env=_pip_environ(cache), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip


def _pip_command(cache: Cache) -> list[str]:
    """How pip is started: the user's own, else one in the cache. BuildError when there can be none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    folder = cache.root / "environments" / "pip"
    if not (folder / "bin" / "pip").is_file():
        try:
            venv.create(folder, with_pip=True, symlinks=True)
        except (subprocess.CalledProcessError, OSError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise BuildError(
                "pip is not installed for this Python, and it installs what a project needs to be built.",
                f"Install it: {sys.executable} -m ensurepip.",
            ) from error
    return [str(folder / "bin" / "python"), "-m", "pip"]


def _pip_environ(cache: Cache) -> dict[str, str]:
    """The variables for pip: the user's settings count, and what it keeps for itself goes into our cache."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CYPROF_", "PYTHON"))}
    own = {"PIP_CACHE_DIR": str(cache.root / "pip"), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    return {**environ, **own, "PIP_REQUIRE_VIRTUALENV": "0"}


def network_failed(output: str) -> bool:
    """Whether pip's output tells of an index that could not be reached."""
    return _NETWORK.search(output) is not None


def pip_complaint(output: str) -> str:
    """pip's own last words of error, as one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it gave no reason"])[-1].removeprefix("ERROR: ")
