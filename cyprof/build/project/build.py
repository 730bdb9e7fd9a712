"""The build of one project with probes: from the cache when nothing it is made of has changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyprof.build import environment as tools
from cyprof.build.cache import FORMAT, Cache, Digests, Entry, cannot_write, file_digest
from cyprof.build.overlay import Built, Overlay
from cyprof.build.project.annotate import RECORD_SUFFIX
from cyprof.build.project.backend import Backend, BackendFailed, build_environ
from cyprof.build.project.environment import BuildEnvironment, build_environment
from cyprof.build.project.failure import check_tools, failed, is_own_fault, wants_generated
from cyprof.build.project.find import Project
from cyprof.build.project.places import Places
from cyprof.build.project.requirements import BuildSystem, Requirements, read_build_system, settle
from cyprof.build.project.settings import Settings
from cyprof.build.project.tree import Tree, WorkCopy, read_tree
from cyprof.build.project.wheel import take_extensions
from cyprof.errors import BuildError

if TYPE_CHECKING:
    from cyprof.cython.hook import ProbeOptions

_OWN_FOLDER = Path(__file__).resolve().parent
_LOG = "log.txt"


@dataclass
class BuiltProject:
    """A project's probed extensions by module name. `unprobed` tells why an extension of Cython has no probes, `notes` what
    the user should know; `cached` whether it was there already. `folder` is its place in the cache."""

    project: Project
    folder: Path
    modules: dict[str, Built]
    unprobed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    cached: bool = False

    def overlay(self) -> Overlay:
        """The modules for a program that is running already, with all that its reader should know."""
        unprobed = [f"{module} has no probes: {reason}." for module, reason in self.unprobed.items()]
        return Overlay(self.modules, notes=[*self.notes, *unprobed])


def build_project(
    project: Project, probes: ProbeOptions, settings: Settings, cache: Cache, progress: Callable[[str], None]
) -> BuiltProject:
    """Builds a project with probes, or takes it from the cache. Raises BuildError, naming the log, when that fails or no
    extension carries probes."""
    return _Build(project, probes, settings, cache, progress).run()


class _Build:
    def __init__(
        self, project: Project, probes: ProbeOptions, settings: Settings, cache: Cache, progress: Callable[[str], None]
    ) -> None:
        self._project = project
        self._settings = settings
        self._cache = cache
        self._progress = progress
        self._probes = {
            "lines": probes.lines, "only": list(probes.only), "without": list(probes.without),
            "modules": list(settings.modules),
        }  # fmt: skip
        self._system = read_build_system(project.source)
        self._required = settle(self._system.requires, project.title)

    def run(self) -> BuiltProject:
        """The build, from the cache or made."""
        tree = read_tree(self._project.source)
        base = self._key(self._required.words)
        key = hashlib.sha256(f"{base}\0{tree.digest}".encode()).hexdigest()[:40]
        entry = self._lookup(key)
        if entry is not None:
            with contextlib.suppress(OSError):  # a read-only cache is tidied by nobody
                os.utime(self._cache.root / "projects" / base)  # it holds sources of that build
            return self._built(entry, cached=True)
        check_tools()
        try:
            title = self._project.title
            with self._cache.lock(f"project-{base}", lambda: self._progress(f"waiting for another run that builds {title}")):
                entry = self._lookup(key)
                if entry is None:
                    with self._cache.scratch(key) as (folder, final):
                        entry = self._make(tree, base, key, folder, final)
        except OSError as error:
            raise cannot_write(self._cache.root, error) from error
        self._cache.tidy()
        return self._built(entry, cached=False)

    def _lookup(self, key: str) -> Entry | None:
        return self._cache.lookup(key, lambda: "", Digests())

    def _key(self, words: list[str]) -> str:
        """Digest of all that is known beforehand but the project's files."""
        from cyprof.cython.hook import HOOK_VERSION

        own = [file_digest(str(path)) for path in sorted(_OWN_FOLDER.glob("*.py"))]
        facts = [
            FORMAT, HOOK_VERSION, *own, json.dumps([self._probes, self._settings.to_json(), words], sort_keys=True),
            self._project.name, str(self._project.source), *tools.python_facts(), *tools.compiler_facts(),
        ]  # fmt: skip
        return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:40]

    def _make(self, tree: Tree, base: str, key: str, folder: Path, final: Path) -> Entry:
        place = self._cache.root / "projects" / base
        place.mkdir(parents=True, exist_ok=True)
        copy = WorkCopy(place)
        attempt = _Attempt(self, copy, folder, key)
        wheel = attempt.run(tree)
        contents = take_extensions(wheel, place / "reports", folder, self._settings.modules)
        log = folder / _LOG
        if self._probes["lines"]:
            self._add_scores(place, folder, [report for _, report in contents.modules.values()], attempt)
        if not contents.modules:
            raise self._nothing(contents.unprobed, contents.plain, log, key)
        first = next(iter(contents.modules.values()))
        manifest: dict[str, Any] = {
            "project": self._project.title,
            "source": str(self._project.source),
            "extension": first[0],
            "report": first[1],
            "contents": contents.to_json(),
            "notes": self._notes(contents.version),
            "environment": attempt.versions,
            "files": {}, "absent": [], "numpy": "",
        }  # fmt: skip
        shutil.rmtree(folder / "wheel")
        return self._cache.publish(folder, final, manifest)

    def _add_scores(self, place: Path, folder: Path, reports: list[str], attempt: _Attempt) -> None:
        """Adds Cython's annotation scores to the reports. Where a module cannot be translated once more it has none."""
        from cyprof.cython.report import ModuleReport

        places = Places(**self.request(place)["places"])
        for path in (folder / report for report in reports):
            report = ModuleReport.read(path)
            record = place / "reports" / f"{report.module}{RECORD_SUFFIX}"
            command = [attempt.python, "-I", str(_OWN_FOLDER / "annotate.py"), str(record), str(_OWN_FOLDER.parent.parent)]
            done = subprocess.run(
                command, cwd=place / "source", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                found = json.loads(done.stdout.splitlines()[-1])
                report.scores = {
                    places.shown(file): {int(line): score for line, score in of.items()} for file, of in found.items()
                }
                report.write(path.parent)
            else:
                with (folder / _LOG).open("a", encoding="utf-8") as log:
                    log.write(f"cyprof: no annotation scores for {report.module}\n{done.stderr}")

    def _notes(self, version: str) -> list[str]:
        notes = list(self._required.notes)
        installed = self._project.installed_version
        if installed and version and _same_version(installed, version) is False and not self._project.version:
            notes.append(
                f"{self._project.name} {installed} is installed, and the sources are those of {version}: where they differ, "
                "the program may fail."
            )
        return notes

    def _nothing(self, unprobed: dict[str, str], plain: list[str], log: Path, key: str) -> BuildError:
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        kept = self._cache.keep_log(self._project.name, key, text)
        title = self._project.title
        if unprobed:
            module, reason = next(iter(unprobed.items()))
            hint = "Check --module." if self._settings.modules else "Please report this with the log."
            return BuildError(
                f"{title} was built, and none of its extensions carries probes: {module}: {reason}.",
                f"{hint}\nThe whole log: {kept}",
                text,
            )
        made = f"its extensions ({', '.join(plain[:3])}) are not made by Cython" if plain else "it has no extensions"
        return BuildError(
            f"{title} has nothing to put probes into: {made}.",
            "Probes go into extensions made by Cython; functions of others are seen as C functions, without any build."
            f"\nThe whole log: {kept}",
            text,
        )

    def _built(self, entry: Entry, cached: bool) -> BuiltProject:
        contents = entry.manifest["contents"]
        modules = {
            name: Built(str(entry.folder / extension), "", str(entry.folder / report), loose=False)
            for name, (extension, report) in contents["modules"].items()
        }
        return BuiltProject(self._project, entry.folder, modules, contents["unprobed"], entry.manifest["notes"], cached)

    # What an attempt asks of its build.

    @property
    def project(self) -> Project:
        return self._project

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def system(self) -> BuildSystem:
        return self._system

    @property
    def cache(self) -> Cache:
        return self._cache

    def required(self, more: list[str]) -> Requirements:
        """The requirements, `more` of the backend's own among them."""
        settled = settle([*self._system.requires, *more], self._project.title)
        settled.legacy = settled.legacy or self._required.legacy
        self._required = settled
        return settled

    def environment(self, words: list[str]) -> BuildEnvironment:
        return build_environment(self._cache, words, self._project.title, self._progress)

    def request(self, place: Path) -> dict[str, Any]:
        """What the hook is told in the processes of the build."""
        return {
            "package": str(_OWN_FOLDER.parent.parent),
            "legacy": self._required.legacy,
            "jobs": self._settings.jobs,
            "probes": self._probes,
            "reports": str(place / "reports"),
            "places": {
                "work": str(place / "source"), "shown": str(self._project.source), "kept": str(place / "kept"),
            },
        }  # fmt: skip

    def tell(self, text: str) -> None:
        """Progress."""
        self._progress(text)


class _Attempt:
    """Tries to build in a copy: first on top of what an earlier build left there, at last from nothing."""

    def __init__(self, build: _Build, copy: WorkCopy, folder: Path, key: str) -> None:
        self._build = build
        self._copy = copy
        self._folder = folder
        self._key = key
        self.versions: dict[str, str] = {}
        self.python = ""

    def run(self, tree: Tree) -> Path:
        """The wheel. Raises BuildError."""
        again = not self._copy.is_fresh
        with_generated = False
        while True:
            try:
                return self._once(tree, with_generated)
            except BackendFailed as error:
                log = self._log()
                own_fault = is_own_fault(log)
                if not own_fault and again:
                    again = False
                    self._build.tell("building once more, from nothing")
                elif not own_fault and not with_generated and wants_generated(log, tree):
                    with_generated = True
                    self._build.tell("building once more, with the C that the project ships")
                else:
                    kept = self._build.cache.keep_log(self._build.project.name, self._key, log)
                    raise failed(self._build.project, log, kept, str(error), self._copy.source) from error
                self._copy.clear()

    def _log(self) -> str:
        try:
            return (self._folder / _LOG).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""  # it failed before it said anything

    def _once(self, tree: Tree, with_generated: bool) -> Path:
        build, copy = self._build, self._copy
        copy.update(tree, with_generated)
        wheels = self._folder / "wheel"
        shutil.rmtree(wheels, ignore_errors=True)
        wheels.mkdir()
        words = build.required([]).words
        environment = build.environment(words)
        backend = Backend(
            build.system,
            copy,
            build.settings,
            self._folder / _LOG,
            lambda line: build.tell(f"building {build.project.title}: {line}"),
        )
        build.tell(f"building {build.project.title}")
        environ = self._environ(environment)
        more = backend.more_requirements(environment, environ)
        if build.required(more).words != words:
            environment = build.environment(build.required(more).words)
            environ = self._environ(environment)
        wheel = backend.build_wheel(environment, environ, wheels)
        self.versions, self.python = environment.versions(), str(environment.python)
        return wheel

    def _environ(self, environment: BuildEnvironment) -> dict[str, str]:
        build, copy = self._build, self._copy
        request = copy.folder / "request.json"
        request.write_text(json.dumps(build.request(copy.folder)), encoding="utf-8")
        version = build.project.version or build.project.installed_version
        return build_environ(environment, copy, build.settings, request, build.project.source, version)


def _same_version(one: str, other: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return one == other
