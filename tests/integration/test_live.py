"""cyprof.profile() and cyprof.install() in a process that is running already."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recording import PROGRAMS

pytestmark = pytest.mark.every_python

BLOCK = """
import cyprof
cyprof.install()
import loops

def main():
    with cyprof.profile() as p:
        loops.over_range(10)
        loops.while_loop(5)
    return p

p = main()
by_name = {f.name: t for f, t in zip(p.profile.functions, p.profile.function_times)}
assert by_name["over_range"].calls == by_name["while_loop"].calls == 1
assert by_name["main"].calls == 0, "running when the recording began"
hits = {(line.file.rpartition("/")[2], line.line): line.hits for line in p.profile.line_times}
assert hits["loops.pyx", 8] == 11, hits
assert hits["main.py", 8] == hits["main.py", 9] == 1, hits
edges = [(p.profile.functions[e.caller].name, p.profile.functions[e.callee].name, e.calls) for e in p.profile.edges]
assert ("main", "over_range", 1) in edges, edges
p.graph("g.svg"), p.save("p.cyprof"), p.export("p.json")
p.stats()
"""
DECORATOR = """
import cyprof
cyprof.install(lines=False)
import loops

@cyprof.profile(lines=False)
def work(n):
    return loops.nested(n)

assert work(3) == loops.nested(3) == 9
names = [f.name for f in work.cyprof.profile.functions]
assert "work" in names and "nested" in names, names
"""
CYCLES = """
import threading
import cyprof
cyprof.install(lines=False)
import loops

def page():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4

def cycle():
    with p:
        loops.nested(3)
        thread = threading.Thread(target=loops.nested, args=(3,))
        thread.start()
        thread.join()

p = cyprof.profile(lines=False)
for _ in range(200):
    cycle()
before = page()
for _ in range(800):
    cycle()
assert page() - before < 1024, (before, page())
"""
COMPILED_AGAIN = """
from cyprof.collect.part import read_part
from cyprof.probe import _runtime as runtime

def page():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4

def run(count):
    for _ in range(count):
        eval("(lambda x: x)(1)")

runtime.start("sampled")
run(2000)
before = page()
run(20_000)
after = page()
raw = read_part(runtime.stop()).raw
[number] = [n for n, (_, name, *_) in enumerate(raw["functions"]) if name == "<lambda>"]
assert sum(calls for function, calls in zip(raw["function"], raw["calls"]) if function == number) == 22_000
assert after - before < 1024, (before, after)
"""
SHARED_PATHS = """
import itertools
from cyprof.collect.part import read_part
from cyprof.probe import _runtime as runtime

def make(number):
    exec(f"def f{number}(path):\\n    if path: return path[0](path[1:])\\n    return sum(path)\\n", globals())
    return globals()[f"f{number}"]

def run():
    for path in itertools.product(functions, repeat=4):
        path[0](path[1:])
    after()

def after(): pass

functions = [make(number) for number in range(6)]
runtime.start("sampled", most_paths=500)
run()
part = read_part(runtime.stop())
raw, names = part.raw, [name for _, name, *_ in part.raw["functions"]]
calls = dict.fromkeys(names, 0)
for function, count in zip(raw["function"], raw["calls"]):
    calls[names[function]] += count
assert part.paths_shared and not part.stack_switched and len(raw["calls"]) < 520
assert calls["f0"] == calls["f5"] == 4 * 6**3 and calls["sum"] == 6**4, calls
[node] = [n for n, function in enumerate(raw["function"]) if names[function] == "after"]
runtime.start("sampled", most_paths=500)
run()
assert read_part(runtime.stop()).paths_shared, "the paths of the recording before are no burden"
"""
ERRORS = """
import cyprof
from cyprof.errors import CollectError

p = cyprof.profile(lines=False)
try:
    p.profile
except CollectError as error:
    assert "Nothing has been recorded" in str(error)
with p:
    try:
        with cyprof.profile():
            raise AssertionError
    except CollectError as error:
        assert "in progress" in str(error), error
assert any("cyprof.install()" in note for note in p.profile.notes), p.profile.notes
try:
    with cyprof.profile(lines=False) as q:
        raise KeyError("the program's own")
except KeyError:
    pass
assert q.profile.run.wall_ns > 0
"""


PROGRAMS_OF_ALL = {
    "block": BLOCK, "decorator": DECORATOR, "errors": ERRORS, "1,000 recordings": CYCLES, "too many paths": SHARED_PATHS,
    "compiled again and again": COMPILED_AGAIN,
}  # fmt: skip


@pytest.mark.parametrize("code", PROGRAMS_OF_ALL.values(), ids=PROGRAMS_OF_ALL)
def test_live(tmp_path: Path, code: str) -> None:
    shutil.copy(PROGRAMS / "loops.pyx", tmp_path)
    (tmp_path / "main.py").write_text(code)
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    if code is BLOCK:
        assert (tmp_path / "g.svg").stat().st_size > 1000
        assert "over_range" in done.stdout
