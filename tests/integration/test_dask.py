"""cyprof.dask on a real LocalCluster: worker processes of nannies."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from build_support import write
from projects import BACKENDS

import cyprof as product
from cyprof.model import Profile

pytest.importorskip("distributed")

KERNEL = """
def work(int n):
    cdef int i
    cdef double s = 0
    for i in range(n):
        s += step(i)
    return s

cdef double step(int i) noexcept nogil:
    return i * 0.5
"""
CLUSTER = """
import asyncio, glob, importlib, os, signal, sys, tempfile, time
from distributed import Client, LocalCluster
import cyprof.dask

def task(n):
    import kern
    return kern.work(n)

async def coroutine(n):
    import kern
    return kern.work(n)

def early():
    importlib.import_module("pkg.%s")

def deadly(n, marker):
    import kern
    kern.work(n)
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return "tried again"
    from cyprof.collect.part import read_part
    pattern = os.path.join(tempfile.gettempdir(), "cyprof-dask-*", str(os.getpid()), "*.part")
    while True:
        for path in glob.glob(pattern):
            with open(path, "rb") as file:
                part = read_part(file.read()).raw
            calls = sum(calls for calls, f in zip(part["calls"], part["function"]) if part["functions"][f][1] == "step")
            if calls >= n:
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)

def packaged(n):
    from toy import kernel
    return kernel.total(n)

SETTINGS = dict(dashboard_address=None, threads_per_worker=2)
"""
PLAIN = importlib.util.find_spec("_json")
"""An extension of Python's own that stands for one that was built before."""


def run(folder: Path, program: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program on the cluster's functions, in a folder with a Cython module and a package with a compiled one."""
    (folder / "kern.pyx").write_text(KERNEL)
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").touch()
    assert PLAIN is not None and PLAIN.origin is not None
    shutil.copy(PLAIN.origin, folder / "pkg")
    (folder / "pkg" / "_json.pyx").write_text("def one():\n    return 1\n")
    (folder / "tmp").mkdir()
    (folder / "prog.py").write_text(CLUSTER % "_json" + program)
    environ = {
        **os.environ,
        "CYPROF_CACHE_DIR": str(folder / "cache"),
        "CFLAGS": "-O0",
        "TMPDIR": str(folder / "tmp"),
        **more,
    }
    done = subprocess.run([sys.executable, "prog.py"], cwd=folder, env=environ, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    assert not list((folder / "tmp").glob("cyprof-*")), "a folder was left behind"
    return done


def calls(profile: Profile, name: str) -> int:
    return sum(
        times.calls for function, times in zip(profile.functions, profile.function_times, strict=True) if function.name == name
    )


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Three recordings of one cluster of processes, and what was printed: a plain one; one by an asynchronous client that
    restarts the workers; one in which a worker is killed."""
    folder = tmp_path_factory.mktemp("processes")
    done = run(
        folder,
        """
async def restarted(cluster):
    async with Client(cluster.scheduler_address, asynchronous=True) as client:
        async with cyprof.dask.profile(client, restart=True) as p:
            await client.gather(client.map(coroutine, range(50, 60)))
            await client.run(early)
        p.save("restarted.cyprof")

if __name__ == "__main__":
    with LocalCluster(n_workers=2, processes=True, **SETTINGS) as cluster, Client(cluster) as client:
        client.run(early)
        with cyprof.dask.profile() as p:
            client.gather(client.map(task, range(100, 120)))
        p.save("plain.cyprof")
        p.workers()
        asyncio.run(restarted(cluster))
        with cyprof.dask.profile(client) as p:
            assert client.submit(deadly, 1000, os.path.abspath("marker")).result() == "tried again"
        p.save("killed.cyprof")
""",
    )
    return folder, done.stdout


def test_tasks_are_counted_on_every_worker(processes: tuple[Path, str]) -> None:
    """And nothing that the workers do beside them; what was imported without probes is named."""
    folder, out = processes
    profile = product.load(folder / "plain.cyprof")
    assert (calls(profile, "task"), calls(profile, "work"), calls(profile, "step")) == (20, 20, sum(range(100, 120)))
    assert profile.member_titles == ["worker 0", "worker 1"]
    assert any("pkg._json" in note and "restart=True" in note for note in profile.notes)
    assert not any(function.module.startswith("tornado") for function in profile.functions)
    assert "2 workers of prog.py" in out


def test_workers_that_are_restarted_have_probes_everywhere(processes: tuple[Path, str]) -> None:
    profile = product.load(processes[0] / "restarted.cyprof")
    assert (calls(profile, "work"), calls(profile, "step")) == (10, sum(range(50, 60)))
    assert profile.notes == []


def test_a_worker_that_is_killed_keeps_what_it_had(processes: tuple[Path, str]) -> None:
    profile = product.load(processes[0] / "killed.cyprof")
    assert calls(profile, "step") == 2000
    assert any("as by SIGKILL" in note for note in profile.notes)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of a cluster of one worker, which dies or leaves: `here`, where the client is on its machine; in `there` and
    `left` the client looks for temporary files elsewhere, as if it were not."""
    folder = tmp_path_factory.mktemp("alone")
    run(
        folder,
        """
import dask
from distributed.scheduler import KilledWorker

if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(n_workers=1, processes=True, **SETTINGS) as cluster, Client(cluster) as client:
        for name in ("here", "there"):
            with cyprof.dask.profile() as p:
                try:
                    client.submit(deadly, 1000, os.path.abspath(name), key=name).result()
                except KilledWorker:
                    pass
            p.save(name + ".cyprof")
            os.mkdir("elsewhere-" + name)
            tempfile.tempdir = os.path.abspath("elsewhere-" + name)
        client.wait_for_workers(1)
        with cyprof.dask.profile() as p:
            client.submit(task, 500).result()
            client.retire_workers(workers=list(client.nthreads()))
        p.save("left.cyprof")
""",
    )
    return folder


@pytest.mark.parametrize("name", ["here", "there"])
def test_the_only_worker_of_a_machine_is_killed(alone: Path, name: str) -> None:
    """Its recording is read by the client, or by the worker that its nanny starts next."""
    profile = product.load(alone / f"{name}.cyprof")
    assert calls(profile, "step") == 1000
    assert any("as by SIGKILL" in note for note in profile.notes)


def test_the_only_worker_of_a_machine_leaves(alone: Path) -> None:
    profile = product.load(alone / "left.cyprof")
    assert calls(profile, "step") == 500
    assert profile.notes == []


@pytest.mark.every_python
def test_workers_that_are_threads_are_recorded_once(tmp_path: Path) -> None:
    """And not at all while the process is recorded already."""
    run(
        tmp_path,
        """
if __name__ == "__main__":
    with LocalCluster(n_workers=2, processes=False, **SETTINGS) as cluster, Client(cluster) as client:
        with cyprof.dask.profile(client, lines=True) as p:
            client.gather(client.map(task, range(100, 120)))
        p.save("threads.cyprof")
        try:
            with cyprof.profile(), cyprof.dask.profile(client):
                pass
        except cyprof.errors.CollectError as error:
            assert "recorded already" in error.message
        else:
            raise AssertionError
""",
    )
    profile = product.load(tmp_path / "threads.cyprof")
    assert calls(profile, "step") == sum(range(100, 120))
    assert len(profile.members) == 1
    hits = {line.line: line.hits for line in profile.line_times if line.file.endswith("kern.pyx")}
    assert hits[10] == sum(range(100, 120))


def test_packages_are_built_on_the_workers(tmp_path: Path) -> None:
    """As --package builds them; one that is not there is the error of --package."""
    checkout = tmp_path / "checkout"
    write(checkout, BACKENDS["setuptools"])
    run(
        tmp_path,
        """
if __name__ == "__main__":
    with LocalCluster(n_workers=2, processes=True, **SETTINGS) as cluster, Client(cluster) as client:
        with cyprof.dask.profile(client, packages=("toy=" + os.path.abspath("checkout"),)) as p:
            client.gather(client.map(packaged, [10, 5]))
        p.save("packages.cyprof")
        try:
            with cyprof.dask.profile(client, packages=("nosuchpackage",)):
                pass
        except cyprof.errors.UsageError as error:
            assert "nosuchpackage" in error.message
        else:
            raise AssertionError
""",
        PYTHONPATH=os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH", "")])),
    )
    profile = product.load(tmp_path / "packages.cyprof")
    assert (calls(profile, "total"), calls(profile, "scaled")) == (2, 15)
    assert not profile.unseen


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cyprof.collect.kept import Session
    from cyprof.errors import CollectError

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "cyprof-x").mkdir(mode=0o755)
    with pytest.raises(CollectError, match="not this user's own"):
        _ = Session("x", "prog.py").folder
