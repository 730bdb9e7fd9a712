"""Records a program of a test's own and asks the profile for what its threads and processes did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cli_support import cyprof, write

import cyprof as product
from cyprof.model import Profile


def record(
    folder: Path, files: dict[str, str], *words: str, cache: Path, code: int = 0, args: tuple[str, ...] = (), **more: str
) -> Profile:
    """The profile of `prog.py`, which is one of the files, run in `folder`."""
    write(folder, files)
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", *words, "--", *args, CYPROF_CACHE_DIR=str(cache), **more)
    assert done.code == code, done.out + done.err
    assert "Error processing line" not in done.err, done.err  # of site, which reads cyprof.pth
    return product.load(folder / "r.cyprof")


def calls_by_process(profile: Profile, name: str) -> Counter[str]:
    """Calls of a function by the name of the process; those of several processes of a name summed up."""
    processes = {process.id: process.name for process in profile.processes}
    names = {thread.id: processes[thread.process] for thread in profile.threads}
    return _calls(profile, name, names)


def calls_by_thread(profile: Profile, name: str) -> Counter[str]:
    """Calls of a function by the name of the thread; those of several threads of a name summed up."""
    return _calls(profile, name, {thread.id: thread.name for thread in profile.threads})


def _calls(profile: Profile, name: str, names: dict[int, str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for node, function in enumerate(profile.tree.function):
        if profile.functions[function].name == name:
            found[names[profile.tree.thread[node]]] += profile.tree.calls[node]
    return +found


def waiting_share(profile: Profile, name: str) -> float:
    """Which part of a function's total time its threads waited, callees included."""
    tree = profile.tree
    waits = tree.totals(tree.wait_ns)
    nodes = [node for node, function in enumerate(tree.function) if profile.functions[function].name == name]
    return sum(waits[node] for node in nodes) / sum(profile.node_totals[node] for node in nodes)
