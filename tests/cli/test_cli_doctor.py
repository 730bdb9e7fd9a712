"""`cyprof doctor` and `cyprof cache` as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import cyprof, write

DIRTY = {
    "bench.py": "import kern\n",
    "kern.pyx": "# cython: linetrace=True\ndef f():\n    return 1\n",
    "pkg/__init__.py": "",
    "setup.py": "from Cython.Build import cythonize\ncythonize('kern.pyx', compiler_directives={'profile': True})\n",
    "venv/pyvenv.cfg": "",
    "venv/other.pyx": "# cython: profile=True\n",
    ".hidden/other.pyx": "# cython: profile=True\n",
}


def doctor(folder: Path, *words: str) -> tuple[int, str, str]:
    done = cyprof(folder, "doctor", *words, CYPROF_CACHE_DIR=str(folder.parent / "cache"))
    return done.code, done.out, done.err


@pytest.mark.every_python
def test_the_environment(tmp_path: Path) -> None:
    code, out, err = doctor(tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("Environment\n  ok     Python         CPython 3.")
    assert out.endswith("cyprof has what it needs.\n")


def test_check_is_for_ci(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", DIRTY)
    for what in ("bench.py", ".", "./kern.pyx", str(folder)):
        code, out, err = doctor(folder, what, "--check", "--no-measure")
        assert (code, err) == (1, ""), out
        assert "kern.pyx:1: linetrace in `# cython: linetrace=True`" in out
        assert "other.pyx" not in out
        assert "setup.py:2: profile" in out
    assert doctor(folder, "bench.py", "--no-measure")[0] == 0
    value = json.loads(doctor(folder, ".", "--json", "--no-measure")[1])
    assert value["tracing_left_on"] is True
    for place in value["tracing"]:
        subprocess.run(place["command"], shell=True, check=True)
    code, out, _ = doctor(folder, ".", "--check")
    assert code == 0
    assert out.endswith("No tracing was left on.\n")
    assert "1 when tracing was left on" in " ".join(doctor(folder, "--help")[1].split())


def test_the_cost_is_measured_here(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"a.pyx": "# cython: profile=True\n"})
    code, out, err = doctor(folder, ".", "--json", "--check")
    cost = json.loads(out)["tracing_cost_ns"]
    assert (code, err) == (1, "")
    assert cost["source"].startswith("measured here")
    assert all(cost[kind]["plain"] > 0 for kind in ("def", "cdef", "nogil"))
    assert cost["nogil"]["traced"] > 3 * cost["nogil"]["plain"]  # it takes the GIL at each call: some 80 to 400 times
    assert sorted(path.name for path in folder.iterdir()) == ["a.pyx"]


def test_a_module_and_a_distribution(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"pkg/__init__.py": "", "pkg/a.pyx": "# cython: profile=True\n"})
    assert doctor(folder, "-m", "pkg.main", "--check", "--no-measure")[0] == 1
    value = json.loads(doctor(folder, "numpy", "--json", "--check")[1])
    mtrand = next(one for one in value["extensions"] if one["module"] == "numpy.random.mtrand")
    assert (mtrand["made_by_cython"], mtrand["tracing"]) == (True, "none")
    (folder / "numpy").mkdir()
    assert "write ./numpy" in doctor(folder, "numpy")[1]
    assert "There are none below" in doctor(folder, "./numpy")[1]


def test_sources_that_a_script_reaches_elsewhere(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"prog.py": "import kern\n", "other.py": ""})
    write(tmp_path / "src", {"kern.pyx": "# cython: profile=True\n"})
    path = os.pathsep.join([str(tmp_path / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = cyprof(folder, "doctor", "prog.py", "--check", "--no-measure", PYTHONPATH=path)
    assert done.code == 1
    assert f"{tmp_path / 'src' / 'kern.pyx'}:1: profile" in done.out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["numppy"], "no file, folder or installed distribution called numppy", "Did you mean numpy?"),
        (["gone.py"], "no file, folder or installed distribution called gone.py", "Check the name"),
        (["-m", "gone"], "No module named gone", "Check the name"),
        (["-m", "sys"], "sys is part of Python itself", "Name a script"),
        (["r.cyprof"], "r.cyprof is a recorded run", "Name the script"),
        (["--bad"], "unrecognized arguments: --bad", "See cyprof doctor --help"),
    ],
)
def test_what_cannot_be_examined(words: list[str], message: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "r.cyprof").touch()
    code, out, err = doctor(tmp_path, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert hint in err


@pytest.mark.skipif(sys.platform != "linux", reason="reads an ELF file")
def test_damaged_modules_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"a.so": "", "b.so": "\x7fELF cython_runtime"})
    code, out, err = doctor(folder, ".", "--check")
    assert (code, err) == (0, "")
    assert "a: cannot look inside: it is empty" in out
    assert "b: cannot look inside: it is damaged, or was cut off" in out


def test_the_cache(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"prog.py": "import kern\nkern.f()\n", "kern.pyx": "def f():\n    return 1\n"})
    place = str(tmp_path / "cache")

    def cache(*words: str) -> tuple[int, str, str]:
        done = cyprof(folder, "cache", *words, CYPROF_CACHE_DIR=place)
        return done.code, done.out, done.err

    assert cache("list")[1] == "There are no builds.\n"
    assert cyprof(folder, "stats", "prog.py", CYPROF_CACHE_DIR=place).code == 0
    code, out, err = cache("list")
    assert (code, len(out.splitlines())) == (0, 2)
    assert out.splitlines()[1].endswith(f"  kern    {folder / 'kern.pyx'}")
    assert "1 build, " in err
    value = json.loads(cache("list", "--json")[1])
    assert value["builds"][0]["sources"] == [str(folder / "kern.pyx")]
    assert value["size"] >= value["builds"][0]["size"] > 10_000
    assert place in cache("size")[1]
    assert cache("limit")[1].startswith("2.00 GB: ")
    assert "the limit is 500 MB now" in cache("limit", "500MB")[2]
    assert cache("limit")[1].startswith("500 MB: ")
    assert "removed 0 builds" in cache("clear", "--older-than", "1")[2]
    assert "removed 1 build, " in cache("clear")[2]
    assert cache("list", "--quiet")[1:] == ("There are no builds.\n", "")
    for words in (["limit", "lots"], ["size", "1GB"], ["clear", "--older-than", "x"], ["burn"], []):
        code, out, err = cache(*words)
        assert (code, out) == (2, "")
        assert "cyprof: error:" in err


def test_a_running_program_keeps_its_builds(tmp_path: Path) -> None:
    """The program clears the cache it runs on, and goes on importing from it."""
    program = (
        "import subprocess, sys, one\n"
        "done = subprocess.run([sys.executable, '-m', 'cyprof', 'cache', 'clear'], capture_output=True, text=True)\n"
        "print(done.stderr)\n"
        "def later():\n    import two\n    return two.f()\n"
        "print(one.f(), later())\n"
    )
    body = "def f():\n    return 1\n"
    folder = write(tmp_path / "w", {"prog.py": program, "one.pyx": body, "two.pyx": body})
    done = cyprof(folder, "stats", "prog.py", CYPROF_CACHE_DIR=str(tmp_path / "cache"))
    assert done.code == 0, done.err
    assert "removed 0 builds, 0 B; 2 builds stayed" in done.out
    assert "1 1" in done.out
