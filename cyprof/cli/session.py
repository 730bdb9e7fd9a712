"""What all commands do the same way: read the words, look before the leap, record, show, and end with the right code."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import render
from ..collect import record
from ..errors import CollectError, CyprofError, UsageError
from ..model import Profile, member_called, part_of
from ..store import SUFFIX
from ..target import Rank, Target, own_rank, path_of, pattern_of, resolve
from ..view import ViewOptions
from ..view.classify import matches
from .config import defaults
from .options import record_options, view_options
from .parser import Parser
from .terminal import Terminal

OWN_COMMANDS = {"cprofile": "cyprof stats", "line_profiler": "cyprof lines"}
"""The command that each stock profiler belongs to."""

Show = Callable[[Profile, ViewOptions], None]


@dataclass
class Session:
    """One command on one target: its options, what it was told to look at, and where it prints."""

    parser: Parser
    options: Namespace
    target: Target
    terminal: Terminal
    asked_for: Path | None = None
    """The file that was asked for, by the user or by default; each rank has one of its own instead."""

    @classmethod
    def open(cls, parser: Parser, words: Sequence[str], terminal: Terminal) -> Session:
        """Reads and checks the words behind a command. Raises UsageError."""
        options, target = parser.read(words, defaults())
        terminal.quiet = options.quiet
        session = cls(parser, options, resolve(target, parser.prog), terminal)
        if session.rank is not None:
            terminal.place, terminal.speaker = session.rank.title, session.rank.is_first
        session._check_engine()
        if getattr(options, "rank", None) is not None and session.target.kind != "saved":
            raise UsageError("--rank picks one of a merged recording, and a program is to be run.", "Leave it out.")
        return session

    @property
    def rank(self) -> Rank | None:
        """Which rank of an MPI program is recorded; None outside of one, and for what was recorded before."""
        return None if self.target.kind == "saved" else own_rank()

    @property
    def output(self) -> Path | None:
        """The file named by -o, or this rank's own."""
        path = self.options.output
        return self.own_path(path) if isinstance(path, Path) else None

    def own_path(self, path: Path) -> Path:
        """Where this process writes what is to be written to `path`: each rank has a file of its own."""
        self.asked_for = path
        return path_of(path, self.rank, _suffixes()) if self.rank is not None or "{" in path.name else path

    def output_in(self, group: str, stem: str, suffix: str = "") -> Path | None:
        """The file to write: -o, else STEM with the suffix of --format, else with `suffix`; None without any. The tables of
        several ranks cannot share a terminal and are files, too. Raises, before anything is run, UsageError for a format the
        group does not write and RenderError for a place that cannot be written."""
        form, path = self.options.format, self.output
        if form is not None:
            suffix = render.find_format(form, group).suffix
        elif self.rank is not None:
            suffix = suffix or ".txt"
        if path is None and suffix:
            path = self.own_path(Path(f"{stem}{suffix}"))
        if path is not None:
            render.check_output(path, group, form)
            if self.target.kind == "saved" and path.exists() and path.samefile(self.target.value):
                raise UsageError(f"{path} is what is read: it would be written over.", "Name another file with -o.")
        return path

    def write(self, profile: Profile, path: Path, options: ViewOptions, group: str) -> None:
        """Writes a profile into a file and tells where it lies, and what its format cannot hold."""
        form = self.options.format
        render.write(profile, path, options, group, form)
        self.wrote(path)
        limits = render.find(path, group, form).limits
        if limits:
            self.terminal.note(limits)

    @property
    def stem(self) -> str:
        """What files made of this target are called, without a suffix."""
        return self.default_output("").name

    def default_output(self, suffix: str) -> Path:
        """Where a recording of this target goes in the current folder when no file was named."""
        if self.target.kind == "code":
            return Path(f"code{suffix}")
        name = self.target.value if self.target.kind == "module" else Path(self.target.value).absolute().stem
        return Path(f"{name}{suffix}")

    @property
    def engine(self) -> str:
        """Who records."""
        return str(getattr(self.options, "engine", "probes"))

    def _check_engine(self) -> None:
        """Raises UsageError for an engine that this command, or this target, cannot have."""
        engine, command = self.engine, self.parser.prog
        if engine == "probes":
            return
        stock = self.options.stock
        if engine != stock:
            other = OWN_COMMANDS.get(engine)
            hint = f"It belongs to {other}: {other} --engine {engine} ..." if other else f"It can be probes or {stock}."
            raise UsageError(f"{command} has no engine {engine}.", hint)
        if getattr(self.options, "package", None):
            raise UsageError(
                f"{engine} runs on the modules beside the program only, and --package asks for more.",
                "Leave --package out, or leave out --engine: the probes see into packages.",
            )
        if self.target.kind == "saved":
            raise UsageError(
                f"{self.target.value} is a recording, and {engine} can only watch a program that runs.",
                f"Name the program: {command} --engine {engine} SCRIPT",
            )

    def run(self, show: Show, *, lines: bool = False) -> int:
        """Records the target, hands its profile to `show`, and returns the exit code: the program's own unless it is 0."""
        options = record_options(self.options, lines=lines, progress=self.terminal.shows_progress)
        recording = record(self.target, options, self.terminal.progress, by=self.engine)
        if recording.remark:
            self.terminal.remark(recording.remark)
        try:
            if recording.profile is None:
                raise recording.lost or CyprofError("No profile was recorded.")
            options_shown = view_options(self.options)
            show(self._chosen(recording.profile), options_shown)
            self._say_what_fits_nothing(recording.profile, options_shown)
            if recording.profile.engine is not None:
                self.terminal.note(recording.profile.engine.blind_spot)
            if self.engine != "probes" and (options.calibrate or options.clock != "auto"):
                self.terminal.note(f"--clock and --calibrate are the probes' and mean nothing to {self.engine}.")
        except BrokenPipeError:
            self.terminal.abandon_stdout()
        except CyprofError as error:
            self.terminal.error(error)
            return recording.exit_code or error.exit_code
        return recording.exit_code

    def _chosen(self, profile: Profile) -> Profile:
        """The profile, or of a merged one the member that --rank names. Raises UsageError when there is none."""
        name = getattr(self.options, "rank", None)
        if name is None:
            return profile
        member = member_called(profile, name)
        if member is None:
            known = ", ".join(profile.member_titles[:6])
            hint = f"There are {known}." if known else "It was not merged: leave --rank out."
            raise UsageError(f"{self.target.value} has no member {name}.", hint)
        return part_of(profile, member)

    def _say_what_fits_nothing(self, profile: Profile, options: ViewOptions) -> None:
        for option, patterns in (("--only", options.only), ("--show", options.show), ("--hide", options.hide)):
            for pattern in patterns:
                if not any(matches(function, (pattern,)) for function in profile.functions):
                    modules = sorted({f.module for f in profile.functions if f.language == "cython"} | {"__main__"})
                    self.terminal.note(
                        f"{option} {pattern} fits no function; a pattern is held against NAME, MODULE and MODULE:NAME,"
                        f" with modules such as {', '.join(modules[:4])}"
                    )

    def need_lines(self, profile: Profile) -> None:
        """Raises CollectError when a saved profile was recorded without lines."""
        if not profile.has_paths:
            raise CollectError(
                f"{self.target.value} holds no lines: a pstats file has none.", "Record the program: cyprof lines SCRIPT"
            )
        if self.target.kind == "saved" and not profile.run.with_lines:
            raise CollectError(
                f"{self.target.value} holds no lines: it was recorded with function probes only.",
                f"Record it again with lines: cyprof run --lines {profile.run.target} -o {self.target.value}",
            )

    def need_members(self, profile: Profile) -> None:
        """Raises CollectError when a profile was not merged."""
        if not profile.members:
            raise CollectError(
                f"{self.target.value} is one recording, and --ranks holds several against each other.",
                "Merge them first: cyprof merge 'rank*.cyprof' -o all.cyprof",
            )

    def wrote(self, path: Path) -> None:
        """Tells where an output lies; the first rank tells of those of the others, too."""
        if self.rank is None or self.asked_for is None:
            self.terminal.note(f"wrote {path}")
            return
        others = f"the other {self.rank.size - 1} ranks" if self.rank.size else "the other ranks"
        merge = ""
        if path.name.endswith(SUFFIX):
            whole = f"{self.stem}{SUFFIX}" if "{" in self.asked_for.name else str(self.asked_for)
            merge = f"; as one: cyprof merge '{pattern_of(self.asked_for, _suffixes())}' -o {whole}"
        self.terminal.note(f"wrote {path}, and {others} a file each{merge}")


def _suffixes() -> list[str]:
    """The suffixes of what is written, those with dots in them too."""
    return [SUFFIX, *(found.suffix for found in render.renderers())]
