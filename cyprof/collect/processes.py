"""The processes of a run: what each of them left in the run's folder, put together into one recording."""

from __future__ import annotations

import marshal
import shutil
import signal
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ..build import spare
from ..build.overlay import Overlay
from .own import without_own_calls
from .part import BY_EXIT, LINE_COLUMNS, NODE_COLUMNS, UNKNOWN, WHOLE, Part, PartError, read_part
from .unseen import some

SUMMED = ("cpu_ns", "samples")
_INSTALLED = "cyprof.pth"
_SUB_INTERPRETERS = ("_xxsubinterpreters", "_interpreters")
"""The modules under `concurrent.interpreters`: of Python 3.11 and 3.12, of later ones."""


class Leavings:
    """What the processes of a run have left in its folder. `ended_ns` is when the program ended, since the epoch, None where
    that is not known. `is_main` tells the program's own process from those that it forked or started."""

    def __init__(self, folder: Path, ended_ns: int | None, is_main: Callable[[Part], bool]) -> None:
        self._folder = folder
        self._ended_ns = ended_ns
        self.parts = _in_order(_parts(folder), is_main)
        self._infos = {int(path.stem): marshal.loads(path.read_bytes()) for path in folder.glob("*.info")}

    @property
    def no_room(self) -> bool:
        """Whether what was recorded could not be written."""
        return (self._folder / "unwritten").exists() or shutil.disk_usage(self._folder).free < 1 << 20

    @property
    def spare_remark(self) -> str:
        """What the user should know when the program had modules built that the cache could not take; "" else."""
        told = self._folder / "spare"
        return spare.sentence(marshal.loads(told.read_bytes())) if told.exists() else ""

    def result(self, overlay: Overlay) -> dict[str, Any]:
        """The recording of all processes, as `to_profile` takes it. `overlay` is the one the program began with."""
        infos = self._infos.values()
        whole = Overlay.from_json(overlay.to_json())
        for info in infos:
            whole.add(Overlay.from_json(info["overlay"]))
        raw = _joined(self.parts, [self._end(part) for part in self.parts])
        ran = {row[0] for row in raw["functions"] if row[6] == "cython"}
        loaded = [name for info in infos for name in info["loaded"]] + [name for name in whole.modules if name in ran]
        extensions = [tuple(pair) for info in infos for pair in info["extensions"]]
        return {
            "raw": raw | {"notes": self._notes()},
            "loaded": list(dict.fromkeys(loaded)),
            "overlay": whole.to_json(),
            "extensions": list(dict.fromkeys(extensions)),
        }

    def _end(self, part: Part) -> str:
        """How a process ended, in a word; "" for the usual way."""
        if part.state == UNKNOWN:
            return "running" if part is not self.parts[0] and _is_running(part.pid) else "killed"
        words = {WHOLE: "", BY_EXIT: "os._exit or os.exec"}
        return words[part.state] if part.state in words else signal_name(part.state)

    def _notes(self) -> list[str]:
        ends = {id(part): self._end(part) for part in self.parts}
        running = [part for part in self.parts if ends[id(part)] == "running"]
        killed = [part for part in self.parts if ends[id(part)] == "killed"]
        notes = []
        if self.no_room:
            notes.append("The end of the recording could not be written: the disk is full, or no memory was left.")
        if running:
            notes.append(f"Still running when the program ended, and shown up to then or little less: {_some(running)}.")
        if killed:
            notes.append(f"Ended without a word (as by SIGKILL), and shown up to a moment before: {self._lost(killed)}.")
        own = [*limit_notes(self.parts), *self._python_notes(), *self._sub_interpreters()]
        return [*notes, *own, *self._unrecorded()]

    def _lost(self, killed: Sequence[Part]) -> str:
        main = self.parts[0]
        if killed[0] is not main or self._ended_ns is None:
            return _some(killed)
        missing = max(0, self._ended_ns - main.started_ns - main.raw["wall_ns"])
        return f"{_some(killed)}; the last {missing / 1e9:.1f} s of the program are missing"

    def _python_notes(self) -> Iterable[str]:
        lost = sum(part.python_lost_ns for part in self.parts)
        if lost:
            whole = max(1, sum(part.raw["wall_ns"] for part in self.parts))
            yield (
                f"For {100 * lost / whole:.0f} % of the time a profiler or tracer of the program's own stood in the way, "
                "and Python functions were not seen; their time is their callers'."
            )
        if any(part.lines_lost for part in self.parts):
            yield (
                "A tracer of the program's own (sys.settrace, a debugger, coverage) took the place of cyprof's: lines of "
                "Python functions were not seen from then on; lines of Cython functions were."
            )
        switched = {part.pid for part in self.parts if part.stack_switched}
        if any(self._infos.get(pid, {}).get("greenlets") for pid in switched):
            yield (
                "The program switches between greenlets: a function that goes on after a switch may be shown below one of "
                "another greenlet. Calls, hits and self times are right; callers and total times across a switch are not."
            )

    def _sub_interpreters(self) -> Iterable[str]:
        """A sentence when the program made interpreters within its process."""
        functions = (function[:2] for part in self.parts for function in part.raw["functions"])
        if any(name == "create" and module in _SUB_INTERPRETERS for module, name in functions):
            yield (
                "The program uses sub-interpreters: functions that run in them are not seen. Their time is that of the "
                "function that has an interpreter run something (exec, run_string)."
            )

    def _unrecorded(self) -> Iterable[str]:
        """A sentence when Python processes were started that could not begin a recording of their own."""
        started = sum(len(info["started"]) for info in self._infos.values())
        recorded = sum(1 for part in self.parts[1:] if not part.forked)
        if started > recorded and not _is_installed():
            count = started - recorded
            what = "1 Python process" if count == 1 else f"{count} Python processes"
            yield (
                f"Not recorded: {what} that the program started by subprocess. cyprof runs from its sources here, and only "
                "its installed wheel brings the file that begins a recording in other interpreters: pip install cyprof"
            )


def limit_notes(parts: Iterable[Part]) -> Iterable[str]:
    """Sentences on what was not recorded, or not apart."""
    parts = list(parts)
    unseen = sum(part.unseen_entries for part in parts)
    if unseen:
        yield (
            f"Threads made in C took Python's lock {'once' if unseen == 1 else f'{unseen:,} times'} where Python 3.11 tells "
            "nobody: Python functions that they called then, if any, were not seen. Python 3.12 shows them."
        )
    if any(part.memory_lost for part in parts):
        yield "The program ran out of memory: calls that were first made then are missing, their time is their callers'."
    if any(part.paths_shared for part in parts):
        yield (
            "There were more call paths than are kept apart (500,000 in a process). Calls along the others are counted and "
            "timed, each function's in one place of its own: callers and total times leave them out."
        )


def signal_name(number: int) -> str:
    """The name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _parts(folder: Path) -> list[Part]:
    parts = []
    for path in folder.glob("*.part"):
        try:
            parts.append(read_part(path.read_bytes()))
        except PartError:
            continue  # a file is renamed only when it is whole; one that is not comes from a disk that failed
    return parts


def _in_order(parts: list[Part], is_main: Callable[[Part], bool]) -> list[Part]:
    """The program's own process first, the others as they began. Empty when the program's own left nothing."""
    parts = sorted(parts, key=lambda part: part.started_ns)
    main = next((part for part in parts if is_main(part) and not part.forked), None)
    return [] if main is None else [main, *(part for part in parts if part is not main)]


def _joined(parts: Sequence[Part], ends: Sequence[str]) -> dict[str, Any]:
    """One recording of several: nodes and lines side by side, each function once, threads numbered anew."""
    raw: dict[str, Any] = {name: [] for name in (*NODE_COLUMNS, *LINE_COLUMNS, "files", "threads", "processes")}
    functions: dict[tuple[Any, ...], int] = {}
    for process, (part, end) in enumerate(zip(parts, ends, strict=True)):
        own = without_own_calls(part.raw)
        numbers = [functions.setdefault(row, len(functions)) for row in own["functions"]]
        nodes, files = len(raw["parent"]), len(raw["files"])
        threads = {row[0]: len(raw["threads"]) + index + 1 for index, row in enumerate(own["threads"])}
        moved = {
            "parent": [-1 if parent < 0 else parent + nodes for parent in own["parent"]],
            "function": [numbers[function] for function in own["function"]],
            "thread": [threads[thread] for thread in own["thread"]],
            "line_node": [node + nodes for node in own["line_node"]],
            "line_file": [file + files for file in own["line_file"]],
        }
        for name in (*NODE_COLUMNS, *LINE_COLUMNS):
            raw[name] += moved.get(name, own[name])
        raw["files"] += own["files"]
        raw["threads"] += [(threads[number], *rest, process) for number, *rest in own["threads"]]
        raw["processes"].append((process, part.pid, part.name, part.parent_pid, own["cpu_ns"], own["wall_ns"], end))
    raw["functions"] = list(functions)
    raw["code_made_anew"] = len(functions) < sum(len(part.raw["functions"]) for part in parts)
    raw["wall_ns"] = parts[0].raw["wall_ns"]
    return raw | {name: sum(part.raw[name] for part in parts) for name in SUMMED}


def _some(parts: Sequence[Part]) -> str:
    return some([f"{part.name or 'the program'} (process {part.pid})" for part in parts])


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _is_installed() -> bool:
    return any((Path(sysconfig.get_path(name)) / _INSTALLED).is_file() for name in ("purelib", "platlib"))
