"""Profiles what the workers of a dask cluster do: `with cyprof.dask.profile(client) as p: ...`.

Needs dask's `distributed` (`pip install cyprof[dask]`), and cyprof where the workers run.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from distributed import Client, WorkerPlugin, default_client
from distributed.core import Status

from .collect.kept import KeptRecording, Session, left_behind, own_recording
from .collect.shown import Shown
from .errors import CollectError, CyprofError
from .model import Profile, merge
from .store import from_bytes, to_bytes
from .target import host

__all__ = ["Plugin", "profile"]

_TASKS = ("distributed.worker:_run_task*", "distributed.worker:_run_actor*", "distributed.worker:apply_function*")
"""The functions of a worker that call those of tasks, in threads and, for coroutines, in its event loop; the last are those
of earlier releases."""
_THREADS = (
    "MainThread", "IO loop*", "Profile", "*Dask-*", "TCP-Executor*", "asyncio_*", "Nanny*", "QueueFeederThread",
    "* (monitor_parent)",
)  # fmt: skip
"""The threads of a worker's own. All others were begun by tasks."""

_RESTART_S = 30
"""How long a nanny may take to start another worker."""

_OVER = ("", b"")
"""What the client tells by the scheduler when the block has ended. What workers tell is their machine, and what they have
recorded when they leave."""

_recordings: dict[str, KeptRecording] = {}
"""The recordings of this process by the name of their session: workers that share a process share one."""


class profile(Shown):  # lower case, as cyprof.profile is
    """Records what the tasks of a cluster do in a `with` block, on every worker, those that join later too.

    After the block `profile` is one profile with a member for each worker; `stats()`, `graph()`, `save()` and the others show
    it, `workers()` holds the workers against each other. `client` is by default the current one; an asynchronous one wants
    `async with`.

    Modules that workers import from then on are built with probes; with `restart` the workers are restarted first, so that
    this holds for all, and results they hold are lost. `tasks_only` leaves out what workers do beside tasks: their event
    loops, waiting for tasks. `clock`, `lines` and `only` are as for `cyprof.profile()` and `cyprof.install()`;
    `packages` are installed packages to see into, or projects, each as --package of the command line has it: NAME or NAME=PATH.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        clock: Literal["auto", "exact", "sampled"] = "auto",
        lines: bool = False,
        only: tuple[str, ...] = (),
        packages: tuple[str, ...] = (),
        restart: bool = False,
        tasks_only: bool = True,
    ) -> None:
        self._client = default_client() if client is None else client
        self._restart = restart
        target = Path(sys.argv[0]).name or "python"
        shut = _THREADS if tasks_only else ()
        name = f"dask-{secrets.token_hex(8)}"
        self._session = Session(name, target, tuple(sys.argv), clock, lines, only, packages, _TASKS, shut)

    def __enter__(self) -> Self:
        if self._client.asynchronous:
            raise CollectError("The client is an asynchronous one.", "Write: async with cyprof.dask.profile(client) as p:")
        self._client.sync(self._begin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._client.sync(self._end)

    async def __aenter__(self) -> Self:
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    def workers(self) -> None:
        """Prints each function over the workers: least, median and most."""
        from .render import members_text

        self._print(members_text)

    async def _begin(self) -> None:
        try:
            if self._restart:
                await self._client.restart()
            await self._client.register_plugin(Plugin(self._session), name=self._session.name)
        except ModuleNotFoundError as error:
            raise CollectError(
                f"The workers have no module {error.name}.", "Install cyprof where the workers run, in the same version."
            ) from error
        except CyprofError:
            await self._fetch()  # some workers may have begun
            raise

    async def _end(self) -> None:
        self._profile = self._merged(await self._fetch())

    async def _fetch(self) -> list[Profile]:
        """Ends the recordings and brings them here. Nothing of them is left on the workers."""
        await self._client.log_event(self._session.name, _OVER)
        await self._client.unregister_worker_plugin(self._session.name)
        handed_over = await self._settled()
        own: dict[str, bytes | None] = await self._client.run(_own, self._session)
        left: dict[str, list[bytes]] = await self._client.run(
            _left, self._session, workers=list((await self._machines()).values())
        )
        packed = [*handed_over, *own.values(), *(data for group in left.values() for data in group)]
        if self._session.begun_here():
            packed += await _left(self._session)
        return [from_bytes(data, Path(self._session.name)) for data in packed if data]

    async def _machines(self) -> dict[str, str]:
        """The machines of the cluster, with a worker of each."""
        return {machine: worker for worker, machine in (await self._client.run(host)).items()}

    async def _settled(self) -> list[bytes]:
        """Waits, where the only worker of another machine was killed, for the one that its nanny starts in its place, as long
        as that may take. Returns what workers have handed over that left."""
        give_up = time.monotonic() + _RESTART_S
        while True:
            events: list[tuple[str, bytes]] = [told for _, told in await self._client.get_events(self._session.name)]
            handed_over = {machine for machine, recording in events if recording}
            silent = {machine for machine, _ in events if machine} - handed_over - set(await self._machines())
            if self._session.begun_here():
                silent.discard(host())
            if not silent or time.monotonic() > give_up:
                return [recording for _, recording in events]
            await asyncio.sleep(0.2)

    def _merged(self, parts: list[Profile]) -> Profile:
        if not parts:
            raise CollectError("No worker gave a recording back.", "See whether there are workers, and what their logs say.")
        found = merge(parts, [""] * len(parts))
        if not len(found.tree):
            found.notes.append("No task was seen; tasks_only=False shows all that the workers did.")
        return found


class Plugin(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
    """Records the process of each worker, from when it is registered to when it is taken away; `profile` does both.

    What was recorded lies in a temporary folder of the worker's machine until it is fetched."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def setup(self, worker: Any) -> None:
        """Begins the recording, unless another worker of the process has. The worker goes on with its tasks while packages are
        built."""
        name = self._session.name
        if name in _recordings:
            return
        recording = _recordings[name] = KeptRecording(self._session, f"worker {worker.name}")
        try:
            if _OVER in [tuple(told) for _, told in await worker.scheduler.events(topic=name)]:
                _recordings.pop(name, None)  # this worker was started while the block ended
                return
            recording.prepare()
            await asyncio.to_thread(recording.build_packages)
            if _recordings.get(name) is recording:  # else it was taken away meanwhile
                recording.begin()
                worker.log_event(name, (host(), b""))
        except BaseException:
            _recordings.pop(name, None)
            raise

    async def teardown(self, worker: Any) -> None:
        """Ends it. A worker that leaves hands over what it has recorded: it may be the last one of its machine."""
        recording = _recordings.pop(self._session.name, None)
        if recording is None:
            return
        recording.end()
        if worker.status is Status.closing:
            worker.log_event(self._session.name, (host(), await _own(self._session) or b""))


async def _own(session: Session) -> bytes | None:
    """What the process that this runs on has recorded, as a file would hold it."""
    return await asyncio.to_thread(_packed, session)


def _packed(session: Session) -> bytes | None:
    found = own_recording(session)
    return None if found is None else to_bytes(found)


async def _left(session: Session) -> list[bytes]:
    """What workers of this machine have recorded that are gone."""
    return [to_bytes(found) for found in await asyncio.to_thread(left_behind, session)]
