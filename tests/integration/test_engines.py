"""cProfile and line_profiler run for real on modules with Cython's own tracing: exact counts, and none of its defects."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recording import PROGRAMS

pytestmark = pytest.mark.every_python

BLIND = sys.version_info[:2] == (3, 12)
OLD = sys.version_info[:2] < (3, 12)
CPROFILE = ("stats", "--engine", "cprofile", "--all")
LINES = ("lines", "--engine", "line_profiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("engines"), dirs_exist_ok=True)


def cyprof(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cyprof", *words]
    environ = {**os.environ, "CFLAGS": "-O0"}  # the builds are what takes long here
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def calls(table: str) -> dict[str, str]:
    """ncalls by `file:line(name)` of the functions in .pyx files."""
    return {found[2]: found[1] for found in re.finditer(r"^ *([\d/]+) .* (\w+\.pyx:\d+\(.+?\))  ", table, re.MULTILINE)}


def hits(path: Path) -> dict[tuple[str, int], int]:
    timings = pickle.loads(path.read_bytes()).timings
    return {(Path(file).name, line): count for (file, _, _), rows in timings.items() for line, count, _ in rows}


@pytest.fixture(scope="module")
def kinds(folder: Path) -> subprocess.CompletedProcess[str]:
    return cyprof(folder, *CPROFILE, "run_kinds.py", "--", "errors.txt")


@pytest.mark.skipif(BLIND, reason="cProfile sees nothing of Cython on 3.12")
def test_cprofile_counts_every_kind_exactly(kinds: subprocess.CompletedProcess[str]) -> None:
    assert kinds.stdout.startswith("4\n")
    found = calls(kinds.stdout)
    # The property's accessors begin on lines of their own.
    properties = {key: found.pop(key) for key in list(found) if ":43(" in key or ":47(" in key}
    assert list(properties.values()) == ["1", "1"]
    assert found == {
        "kinds.pyx:1(<module>)": "1",
        "kinds.pyx:10(leaf)": "3",
        "kinds.pyx:14(twice)": "2",
        "kinds.pyx:18(fused[int])": "1",
        "kinds.pyx:18(fused[double])": "1",
        "kinds.pyx:22(both)": "3",
        "kinds.pyx:28(swallowed)": "1",
        "kinds.pyx:37(Base.__init__)": "3",
        # 4 bodies, and 1 look-up of the method by which Override replaces it.
        "kinds.pyx:40(Base.size)": "5/4",
        "kinds.pyx:51(Base.__add__)": "1",
        "kinds.pyx:54(Base.fixed)": "1",
        "kinds.pyx:58(Base.ask)": "3",
        "kinds.pyx:63(Derived.size)": "1",
        "kinds.pyx:68(Plain.method)": "1",
        "kinds.pyx:69(Plain.method.<locals>.<lambda>)": "1",
        "kinds.pyx:74(Plain.Nested.Deeper.deep)": "1",
        "kinds.pyx:83(bound)": "1",
        "kinds.pyx:88(make_scaler)": "1",
        "kinds.pyx:89(make_scaler.<locals>.scale)": "4",
        "kinds.pyx:95(one_line)": "5",
        "kinds.pyx:98(factorial)": "6/1",
        "kinds.pyx:106(main)": "1",
        "kinds.pyx:133(decided[int])": "1",
        "kinds.pyx:133(decided[double])": "1",
        "kinds.pyx:152(assigned_below)": "1",
    }


def test_what_cprofile_cannot_see_is_said_in_one_sentence(kinds: subprocess.CompletedProcess[str]) -> None:
    (sentence,) = kinds.stderr.splitlines()
    assert "leave out --engine" in sentence
    assert ("sees nothing of Cython at all" in sentence) is BLIND
    assert not BLIND or calls(kinds.stdout) == {}
    assert "cyprof/" not in kinds.stdout, "rows of cyprof's own files"


@pytest.mark.skipif(BLIND, reason="line_profiler sees nothing of Cython on 3.12")
def test_line_profiler_hits_are_exact(folder: Path) -> None:
    cyprof(folder, *LINES, "run_kinds.py", "-o", "kinds.lprof", "--", "errors.txt")
    found = hits(folder / "kinds.lprof")
    wanted = {19: 1, 23: 3, 25: 2, 41: 4, 56: 1, 59: 3, 64: 1, 70: 1, 85: 1, 89: 1, 92: 1, 107: 1, 122: 5}
    assert {line: found.get(("kinds.pyx", line)) for line in wanted} == wanted
    assert found.get(("kinds.pyx", 24)) == (1 if OLD else None), "a line that raises"
    assert found["run_kinds.py", 8] == 1
    printed = subprocess.run([sys.executable, "-m", "line_profiler", "kinds.lprof"], cwd=folder, capture_output=True, text=True)
    assert re.search(r"^ +41 +4 .*return self.value", printed.stdout, re.MULTILINE)


def test_the_table_is_line_profilers_own(folder: Path) -> None:
    done = cyprof(folder, *LINES, "run_kinds.py", "--only", "Override.*", "--only", "both", "--", "errors.txt")
    assert "Timer unit: 1e-09 s" in done.stdout
    assert re.search(r"^ +8 +1 .*return super\(\).size\(\) \+ 1", done.stdout, re.MULTILINE)
    assert bool(re.search(r"^ +23 +3 .*if x > 5", done.stdout, re.MULTILINE)) is not BLIND
    assert "leave out --engine" in done.stderr and "line_profiler sees" in done.stderr


@pytest.mark.parametrize("engine", [CPROFILE, LINES])
def test_stop_iteration_in_a_traced_next_ends_the_loop(folder: Path, engine: tuple[str, ...]) -> None:
    """From 3.13 on Cython's tracing fires an event that needs an exception where it raised none: ValueError."""
    done = cyprof(folder, *engine, "run_defects.py")
    assert done.stdout.startswith("[2, 1, 0]\n")
    if engine is CPROFILE and not BLIND:
        assert calls(done.stdout)["defects.pyx:15(Countdown.__next__)"] == "4"


@pytest.mark.parametrize("engine", [CPROFILE, LINES])
def test_a_generator_may_be_closed_and_thrown_into(folder: Path, engine: tuple[str, ...]) -> None:
    """From 3.13 on Cython's tracing fires its start, or its resume, with the exception set: SystemError in the program."""
    assert "\nthrown\n" in cyprof(folder, *engine, "run_defects.py").stdout


@pytest.mark.skipif(BLIND, reason="cProfile sees nothing of Cython on 3.12")
def test_cpdef_counts_once_however_it_is_called(folder: Path) -> None:
    """Cython fires a return without a call for a cpdef function that is entered past its dispatch."""
    found = calls(cyprof(folder, *CPROFILE, "run_defects.py").stdout)
    names = ("23(Base.size)", "26(Base.ask)", "31(Derived.size)", "35(double)", "51(caller)")
    assert {name: found[f"defects.pyx:{name}"] for name in names} == dict(zip(names, "21231", strict=True))


@pytest.mark.parametrize(("answers", "events"), [("all", ["call", "line", "line", "return"]), ("none", ["call"])])
def test_a_program_may_set_its_own_tracer(folder: Path, answers: str, events: list[str]) -> None:
    """Cython hands the None it puts into `f_trace` to tracers of `sys.settrace`, which call it: TypeError in the program."""
    done = cyprof(folder, *LINES, "run_defects.py", "--", "settrace", answers)
    seen = events if sys.version_info < (3, 13) else []
    assert f"(10, 6, 2) True {seen}\n" in done.stdout


@pytest.mark.skipif(BLIND, reason="neither sees anything of Cython on 3.12")
def test_an_excluded_function_stays_excluded_with_line_events(folder: Path) -> None:
    """Cython goes on tracing a function with @cython.profile(False) when linetrace is on."""
    cyprof(folder, *LINES, "run_defects.py", "-o", "defects.lprof")
    found = hits(folder / "defects.lprof")
    assert found["defects.pyx", 53] == 1
    assert not {line for _, line in found} & {46, 47, 48}
    assert "excluded" not in cyprof(folder, *CPROFILE, "run_defects.py").stdout


@pytest.mark.parametrize("engine", [CPROFILE, LINES])
def test_the_program_runs_as_it_runs_alone(folder: Path, engine: tuple[str, ...]) -> None:
    (folder / "ends.py").write_text(
        "import sys, defects\n"
        "print(__name__, __file__, sys.argv, sys.path[0])\n"
        "def fail():\n"
        "    raise KeyError(defects.plain(3))\n"
        "if len(sys.argv) > 2:\n"
        "    sys.exit(7)\n"
        "fail()\n"
    )
    for words, code in ((["a"], 1), (["a", "b"], 7)):
        done = cyprof(folder, *engine, "--quiet", "ends.py", "--", *words, code=code)
        alone = f"__main__ {folder}/ends.py {['ends.py', *words]} {folder}\n"
        assert done.stdout.startswith(alone)
        expected = 'ends.py", line 7, in <module>' if code == 1 else ""
        assert expected in done.stderr
        assert "engine_" not in done.stderr, "frames of cyprof's"
    assert "KeyError: 3" in cyprof(folder, *engine, "ends.py", "--", "a", code=1).stderr


def test_modules_and_code_are_targets_too(folder: Path) -> None:
    for words in (["-m", "run_defects"], ["-c", "import defects; print([2, 1, 0]); defects.double(1)"]):
        done = cyprof(folder, *CPROFILE, *words)
        assert done.stdout.startswith("[2, 1, 0]\n")
        assert BLIND or "defects.pyx:35(double)" in done.stdout


def test_what_an_engine_cannot_do_is_said(folder: Path) -> None:
    cyprof(folder, "run", "-c", "pass", "-o", "run.cyprof")
    for words, message, hint in (
        (("stats", "--engine", "perf", "run_kinds.py"), "no engine perf", "probes or cprofile"),
        (("stats", "--engine", "line_profiler", "run_kinds.py"), "no engine line_profiler", "cyprof lines --engine"),
        (("stats", "--engine", "cprofile", "run.cyprof"), "run.cyprof is a recording", "Name the program"),
        (("graph", "--engine", "cprofile", "run_kinds.py"), "no option --engine", "cyprof stats and cyprof lines"),
        (("lines", "--engine", "line_profiler", "run_kinds.py", "-o", "a.html"), "suffix .html", ".lprof"),
    ):
        done = cyprof(folder, *words, code=2)
        assert message in done.stderr and hint in done.stderr
        assert len(done.stderr.splitlines()) == 2


def test_a_missing_line_profiler_is_named(folder: Path) -> None:
    code = (
        "import importlib.util, sys; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'line_profiler' else find(name, *more)\n"
        "from cyprof.cli import main; sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, *LINES, "run_kinds.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 4
    assert "line_profiler is not installed" in done.stderr and "pip install line_profiler" in done.stderr


def test_engines_side_by_side_with_reasons(folder: Path) -> None:
    done = cyprof(folder, "compare-engines", "run_kinds.py", "--hide", "builtins", "--", "errors.txt")
    assert done.stdout.startswith("4\n") and done.stdout.count("\n4\n") == 0, "only the first run shows its output"
    reasons = dict(re.findall(r"^\[(\d+)\] (.*)$", done.stdout, re.MULTILINE))
    rows = {}
    for line in done.stdout.splitlines():
        if found := re.match(r"\w+\.pyx?:\d+\((.+?)\)  .*?  ([\d,]+) +([\d,]+|-)  (.*)", line):
            rows[found[1]] = found[2], found[3], " ".join(reasons[number] for number in re.findall(r"\[(\d+)\]", found[4]))
    unseen = "-" if BLIND else None
    for name, probes, cprofile in (("leaf", "3", "3"), ("factorial", "6", "6"), ("both", "3", "3"), ("Derived.size", "1", "1")):
        assert rows[name][:2] == (probes, unseen or cprofile), name
    assert rows["Override.size"][:2] == ("1", "1")
    assert rows["Base.size"][:2] == ("4", unseen or "5")
    if BLIND:
        assert "Cython tells cProfile nothing on Python 3.12." in rows["Base.size"][2]
        assert "line_profiler sees no Cython on Python 3.12." in rows["leaf"][2]
    else:
        assert "looks up the Python method that replaces it" in rows["Base.size"][2]
        assert "a cdef function is none" in rows["leaf"][2]
        assert "no special method or property" in rows["Base.__init__"][2]


def test_comparing_a_recording_is_refused(folder: Path) -> None:
    cyprof(folder, "run", "-c", "pass", "-o", "run.cyprof")
    done = cyprof(folder, "compare-engines", "run.cyprof", code=2)
    assert "run.cyprof is a recording" in done.stderr and "Name the program" in done.stderr
