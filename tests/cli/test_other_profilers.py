"""Programs with a profiler, tracer or debugger of their own: they see what they see in a plain run, and so does cyprof."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_support import cyprof, python, write

import cyprof as product
from cyprof.model import Profile

pytestmark = pytest.mark.every_python

HEAD = """
import sys
def f(): return len("x")
def g(): return f()
"""

PROGRAMS = {
    "sys.setprofile": """
seen = []
def mine(frame, event, arg):
    if frame.f_code.co_name in ("f", "g", "<module>"):
        seen.append((event, frame.f_code.co_name, getattr(arg, "__name__", None)))
sys.setprofile(mine)
g()
print(sys.getprofile() is mine)
sys.setprofile(None)
g()
print(sys.getprofile(), seen)
""",
    "a profiler that fails": """
def bad(frame, event, arg):
    if frame.f_code.co_name == "f":
        raise ValueError("no")
sys.setprofile(bad)
try:
    g()
except ValueError as error:
    print(error, sys.getprofile())
g()
""",
    "cProfile": """
import cProfile, pstats
profiler = cProfile.Profile()
profiler.enable()
g()
profiler.disable()
g()
stats = pstats.Stats(profiler).stats
print(sorted((name, calls) for (_, _, name), (calls, *_) in stats.items() if name in "fg" or "len" in name))
""",
    "profile": """
import profile
profiler = profile.Profile()
profiler.runcall(g)
g()
profiler.create_stats()
print(sorted((name, calls) for (_, _, name), (calls, *_) in profiler.stats.items() if name in "fg" or "len" in name))
""",
    "threading.setprofile": """
import threading
seen = []
def mine(frame, event, arg):
    if frame.f_code.co_name in "fg":
        seen.append((event, frame.f_code.co_name))
threading.setprofile(mine)
thread = threading.Thread(target=g)
thread.start()
thread.join()
g()
print(seen)
""",
    "sys.settrace": """
seen = []
def mine(frame, event, arg):
    if frame.f_code.co_name in "fg":
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
        return mine
sys.settrace(mine)
g()
print(sys.gettrace() is mine)
sys.settrace(None)
g()
print(sys.gettrace(), seen)
""",
    "pdb": """
import pdb
def debugged():
    pdb.set_trace()
    # On 3.13 set_trace stops within its own line, which a tool that listens to calls makes it leave: it stops in the next.
    g()
    return 1
debugged()
g()
""",
}


def counts(profile: Profile) -> Counter[str]:
    found: Counter[str] = Counter()
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        found[function.name] += times.calls
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_see_everything(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path, {"prog.py": HEAD + PROGRAMS[name]})
    plain = python(folder, "prog.py", stdin="next\nnext\ncontinue\n")
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", stdin="next\nnext\ncontinue\n")
    assert done.code == plain.code
    if name != "pdb" or sys.version_info < (3, 13):
        assert done.out == plain.out
    profile = product.load(folder / "r.cyprof")
    found = counts(profile)
    assert found["g"] == 2
    assert found["f"] == 2 or name == "a profiler that fails"  # then one call of f ends before it begins
    assert not profile.notes


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_the_program_takes_every_tool_id_but_one(tmp_path: Path) -> None:
    text = "for i in range(6):\n    if i != 2: sys.monitoring.use_tool_id(i, 'mine')\n    g()\n"
    folder = write(tmp_path, {"prog.py": HEAD + text + "print([sys.monitoring.get_tool(i) for i in (0, 1, 3, 4, 5)])\n"})
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof")
    assert done.out == "['mine', 'mine', 'mine', 'mine', 'mine']\n"
    assert counts(product.load(folder / "r.cyprof"))["g"] == 6


@pytest.mark.skipif(not find_spec("test.test_sys_setprofile"), reason="this Python was installed without its own tests")
def test_cpythons_own_tests_end_as_without(tmp_path: Path) -> None:
    """`python benchmarks/cpython_tests.py` runs more of them."""
    plain = python(tmp_path, "-m", "unittest", "test.test_sys_setprofile")
    done = cyprof(tmp_path, "run", "-o", "r.cyprof", "--quiet", "-m", "unittest", "--", "test.test_sys_setprofile")
    said = (re.sub(r" in [\d.]+s|^\.+", "", text, flags=re.M) for text in (plain.err, done.err))
    assert (done.code, done.out) == (plain.code, plain.out), done.err
    assert next(said).split() == next(said).split()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions give each tool lines of its own")
def test_lines_that_a_tracer_of_the_programs_own_hides_are_said(tmp_path: Path) -> None:
    folder = write(tmp_path, {"prog.py": HEAD + "sys.settrace(lambda *_: None)\ng()\n"})
    assert cyprof(folder, "run", "--lines", "prog.py", "-o", "r.cyprof").code == 0
    assert [note for note in product.load(folder / "r.cyprof").notes if note.startswith("A tracer of the program's own")]


WRAPPED = """
import sys

def wrapped(function):
    return lambda *words: function(*words)

for place, names in PLACES:
    for name in names:
        setattr(place, name, wrapped(getattr(place, name)))
"""
FUNCTIONS = {
    "sys": 'PLACES = [(sys, ("setprofile", "settrace", "getprofile"))]',
    "sys.monitoring": 'PLACES = [(sys.monitoring, ("use_tool_id", "free_tool_id", "register_callback", "set_events"))]',
}


def with_sitecustomize(folder: Path, text: str) -> dict[str, str]:
    """The variables with which Python runs a text before each program."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(f"import sys\n{text}\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH", "")]))}


@pytest.mark.parametrize("name", FUNCTIONS if sys.version_info >= (3, 12) else ["sys"])
@pytest.mark.parametrize("program", ["sys.setprofile", "sys.settrace"])
def test_functions_that_were_replaced_before_every_program(tmp_path: Path, name: str, program: str) -> None:
    folder = write(tmp_path, {"prog.py": HEAD + PROGRAMS[program].replace('"f", "g", "<module>"', '"f", "g"')})
    environ = with_sitecustomize(tmp_path, FUNCTIONS[name] + WRAPPED)
    plain = python(folder, "prog.py", **environ)
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", **environ)
    assert (done.code, done.out) == (plain.code, plain.out), done.err
    profile = product.load(folder / "r.cyprof")
    assert (counts(profile)["g"], counts(profile)["f"]) == (2, 2)
    assert not profile.notes


def test_a_program_puts_a_function_of_its_own_in_the_place_of_sys_setprofile(tmp_path: Path) -> None:
    """It stays there, and a profiler that is set without it is seen to as well."""
    text = "known = sys.setprofile\ndef mine(f): known(f)\nsys.setprofile = mine\nfrom cyprof import profile\n"
    folder = write(tmp_path, {"prog.py": HEAD + text + """
events = []
with profile(lines=False) as p:
    assert sys.setprofile is mine
    mine(lambda frame, event, arg: events.append(frame.f_code.co_name))
    g()
    known(None)
    g()
assert sys.setprofile is mine
assert events.count("f") == 4, events  # len, too
p.save("r.cyprof")
"""})  # fmt: skip
    done = python(folder, "prog.py")
    assert done.code == 0, done.err
    found = counts(product.load(folder / "r.cyprof"))
    assert (found["g"], found["f"]) == (2, 2)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("del sys.monitoring", "sys.monitoring was taken away or replaced"),
        ("sys.monitoring = object()", "sys.monitoring was taken away or replaced"),
        ("for i in range(6): sys.monitoring.use_tool_id(i, 'mine')", "all six tool ids"),
    ],
)
def test_a_python_that_lets_nobody_monitor_is_told_in_a_sentence(tmp_path: Path, text: str, why: str) -> None:
    folder = write(tmp_path, {"prog.py": "print(1)\n"})
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", **with_sitecustomize(tmp_path, text))
    assert (done.code, done.out) == (4, "")
    assert why in done.err
    assert "sitecustomize" in done.err
    assert "fault" not in done.err
