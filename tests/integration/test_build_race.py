"""Several runs at once on one cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from build_support import ROOT, Bench, write

# The real cache and the real processes, with a worker that writes its files at once: many rounds in little time.
_FAKE_WORKER = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
job = json.loads((folder / "job.json").read_text())
time.sleep(0.02)
(folder / "m.so").write_text(job["source"])
(folder / "m.json").write_text("{}")
with open(pathlib.Path(job["root"]) / "built", "a") as file:
    file.write(job["module"] + "\\n")
manifest = {"extension": "m.so", "report": "m.json", "numpy": "", "files": {}, "absent": []}
(folder / "result.json").write_text(json.dumps({"manifest": manifest, "message": "", "hint": ""}))
"""

_RACER = """
import pathlib, sys, time
from cyprof.build import loose
from cyprof.build.modules import Source
from cyprof.cython.hook import ProbeOptions
root, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
loose._WORKER = root / "fake_worker.py"
loose._OWN_SOURCES = ()
options = ProbeOptions()
for number in range(rounds):
    gate = root / f"gate{number}"
    (root / f"ready{number}-{sys.argv[3]}").touch()
    while not gate.exists():
        time.sleep(0.0005)
    sources = [Source(f"m{number}_{i}", root / f"m{number}_{i}.pyx", root) for i in range(2)]
    overlay = loose.build(sources, options, lambda text: None, [])
    for source in sources:
        assert pathlib.Path(overlay.modules[source.module].extension).read_text() == str(source.path)
print("done")
"""


def test_many_runs_at_once_build_each_module_once(tmp_path: Path) -> None:
    rounds, runs = 25, 4
    write(tmp_path, {"fake_worker.py": _FAKE_WORKER})
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "CYPROF_CACHE_DIR": str(tmp_path / "cache")}
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, str(tmp_path), str(rounds), str(i)], env=environ, stdout=subprocess.PIPE
        )
        for i in range(runs)
    ]
    for number in range(rounds):
        while len(list(tmp_path.glob(f"ready{number}-*"))) < runs:
            assert all(racer.poll() in (None, 0) for racer in racers)
        (tmp_path / f"gate{number}").touch()
    assert [racer.communicate()[0] for racer in racers] == [b"done\n"] * runs
    built = (tmp_path / "built").read_text().split()
    assert sorted(built) == sorted(f"m{number}_{i}" for number in range(rounds) for i in range(2))
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


def test_real_builds_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "cache")
    script = write(tmp_path / "p", {"main.py": "import fast\nprint(fast.f())", "fast.pyx": "def f():\n    return 1\n"})
    processes = [bench.start(script) for _ in range(3)]
    built = [bench.finish(process) for process in processes]
    assert len({one.entry("fast")["extension"] for one in built}) == 1
    said = sorted(line for one in built for line in one.said)
    assert said.count("building fast.pyx (1 of 1)") == 1
    assert set(said) <= {"building fast.pyx (1 of 1)", "waiting for another run that builds fast.pyx"}
    assert bench.run(script, built[0].overlay).stdout.splitlines() == ["1", "loaded fast"]
