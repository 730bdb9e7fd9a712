"""Builds loose sources: each from the cache when nothing it was made of has changed, else in a process of its own."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyprof.build import environment
from cyprof.build.cache import FORMAT, Cache, Digests, Entry, cannot_write, file_digest
from cyprof.build.job import LOG_FILE, Job, Result
from cyprof.build.modules import Source
from cyprof.build.overlay import Built, Overlay
from cyprof.build.words import shown
from cyprof.errors import BuildError

if TYPE_CHECKING:
    from cyprof.cython.hook import ProbeOptions

_WORKER = Path(__file__).with_name("worker.py")
_OWN_SOURCES = ("worker.py", "translate.py", "compiler.py", "job.py")
_TOOLS = ("Cython", "setuptools")


def build(
    sources: Sequence[Source], options: ProbeOptions, progress: Callable[[str], None], search_path: Sequence[str]
) -> Overlay:
    """Builds `sources` with the probes of `options`. See `cyprof.build.build_loose`."""
    probes = {"lines": options.lines, "only": list(options.only), "without": list(options.without), "stock": options.stock}
    overlay = Overlay({}, probes)
    if not sources:
        return overlay
    cache = Cache.open()
    run = _Run(cache, probes, progress, [str(Path(entry).absolute()) for entry in search_path])
    keys = [run.key(source) for source in sources]
    done: dict[int, Entry] = {}
    for index, key in enumerate(keys):
        entry = cache.lookup(key, run.numpy, run.digests)
        if entry is not None:
            done[index] = entry
    missing = [index for index in range(len(sources)) if index not in done]
    if missing:
        failures: dict[int, BuildError] = {}
        for index, made in zip(missing, run.all_of([(sources[i], keys[i]) for i in missing]), strict=True):
            if isinstance(made, Entry):
                done[index] = made
            else:
                failures[index] = made
        _settle([(sources[index], error) for index, error in failures.items()], overlay)
        cache.tidy()
    for index, source in enumerate(sources):
        if index in done:
            entry = done[index]
            built = Built(str(entry.extension), str(source.path), str(entry.report), loose=not source.by_name)
            overlay.modules[source.module] = built
    return overlay


def _settle(failures: list[tuple[Source, BuildError]], overlay: Overlay) -> None:
    """Raises the first failure that matters, the others named; notes those that plain Python makes up for."""
    required = [(source, error) for source, error in failures if source.required]
    overlay.skipped.update({source.module: error.message for source, error in failures if not source.required})
    if not required:
        return
    first = required[0][1]
    others = [str(source.path) for source, error in required[1:]]
    hint = first.hint
    if others:
        cwd = _cwd()
        hint = f"{hint}\nAlso failed: {', '.join(shown(path, cwd) for path in others)}."
    raise BuildError(first.message, hint, first.log)


@dataclass
class _Run:
    """What the builds of one call share."""

    cache: Cache
    probes: dict[str, Any]
    progress: Callable[[str], None]
    search_path: list[str]
    digests: Digests = field(default_factory=Digests)
    _workers: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    @functools.cached_property
    def common(self) -> list[str]:
        """The part of every key that is no module's own."""
        from cyprof.cython.hook import HOOK_VERSION

        own = [file_digest(str(_WORKER.with_name(name))) for name in _OWN_SOURCES]
        facts = [*environment.cython_facts(), *environment.python_facts(), *environment.compiler_facts()]
        return [FORMAT, HOOK_VERSION, json.dumps(self.probes, sort_keys=True), *own, *facts]

    @functools.cached_property
    def _numpy(self) -> str:
        return str(environment.package_folder("numpy", self.search_path) or "")

    def numpy(self) -> str:
        """numpy's folder, "" without it."""
        return self._numpy

    def key(self, source: Source) -> str:
        """The digest of all that is known of a build beforehand."""
        own = [source.module, str(source.path), str(source.root), str(source.package)]
        return hashlib.sha256("\0".join([*self.common, *own]).encode("utf-8", "surrogateescape")).hexdigest()[:40]

    def all_of(self, wanted: list[tuple[Source, str]]) -> Iterable[Entry | BuildError]:
        """Builds the modules, as many at a time as there are processors, and gives what came of each in order."""
        total = len(wanted)
        if total == 1:
            return [self._one(*wanted[0], "(1 of 1)")]
        from concurrent.futures import ThreadPoolExecutor  # takes longer to import than a warm start

        counts = [f"({number} of {total})" for number in range(1, total + 1)]
        with ThreadPoolExecutor(min(total, processors())) as pool:
            futures = [pool.submit(self._one, *pair, count) for pair, count in zip(wanted, counts, strict=True)]
            try:
                return [future.result() for future in futures]
            except BaseException:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _tell(self, text: str) -> None:
        with self._guard:
            self.progress(text)

    def _one(self, source: Source, key: str, count: str) -> Entry | BuildError:
        name = shown(str(source.path), str(source.root))
        try:
            with self.cache.lock(key, lambda: self._tell(f"waiting for another run that builds {name}")):
                entry = self.cache.lookup(key, self.numpy, Digests())
                if entry is not None:
                    return entry
                self._tell(f"building {name} {count}")
                with self.cache.scratch(key) as (folder, final):
                    return self._make(source, key, folder, final)
        except BuildError as error:
            return error
        except OSError as error:
            return cannot_write(self.cache.root, error)

    def _make(self, source: Source, key: str, folder: Path, final: Path) -> Entry:
        job = Job(
            source.module, str(source.path), str(source.root), source.package, str(folder), str(final), _cwd(),
            self.search_path, self.probes,
        )  # fmt: skip
        job.write()
        code = self._run_worker(folder)
        result = Result.read(folder)
        log = (folder / LOG_FILE).read_text(encoding="utf-8", errors="replace")
        if result is not None and not result.message:
            return self.cache.publish(folder, final, result.manifest)
        path = self.cache.keep_log(source.module, key, log)
        if result is not None:
            raise BuildError(result.message, f"{result.hint}\nThe whole log: {path}", log)
        name = shown(str(source.path), job.cwd)
        if code < 0:
            how = signal.strsignal(-code) or str(-code)
            raise BuildError(f"The build of {name} was stopped: {how}.", f"Try again. The whole log: {path}", log)
        last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "no reason was given")
        raise BuildError(f"The build of {name} failed: {last}", f"The whole log: {path}", log)

    def _run_worker(self, folder: Path) -> int:
        """Runs the worker in `folder` and returns its exit code, negative for a signal. It dies with this call."""
        python = sys.executable
        if not python:
            raise BuildError("The path of the running Python is unknown, so none can build.", "Start python by its path.")
        command = [python, "-I", "-X", "utf8", "-W", "ignore", str(_WORKER), str(folder), *_bootstrap_path()]
        # Compilers shall speak plain English; nothing of a profiled program's overlay shall reach the worker.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CYPROF_")}
        environ |= {"LC_ALL": "C.UTF-8", "LANGUAGE": "", "GCC_COLORS": ""}
        with (folder / LOG_FILE).open("wb") as log:
            with self._guard:
                if self._stopped:
                    raise BuildError("The build was stopped.")
                worker = subprocess.Popen(
                    command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True,
                )  # fmt: skip
                self._workers.add(worker)
            try:
                return worker.wait()
            finally:
                _kill(worker)
                with self._guard:
                    self._workers.discard(worker)

    def _stop(self) -> None:
        with self._guard:
            self._stopped = True
            for worker in self._workers:
                _kill(worker)


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """Ends a worker that still runs, and the compilers it started."""
    if worker.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _bootstrap_path() -> list[str]:
    """The folders in which cyprof and the tools it builds with lie, wherever this process has them from."""
    tools = [environment.package_folder(name) for name in _TOOLS]
    if tools[-1] is None:
        install = f"Install it: {sys.executable} -m pip install setuptools."
        raise BuildError("setuptools is not installed for this Python, and it drives the C compiler.", install)
    own = _WORKER.parent.parent
    return list(dict.fromkeys(str(folder.parent) for folder in [*tools, own] if folder is not None))


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return os.sep  # the folder the user stood in is gone; nothing is relative to it any more
