"""Projects of every build backend, and packages from the index, under `cyprof build` and `--package`."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from cli_support import Done, cyprof, python, run, write
from folders import listing
from projects import BACKENDS, COUNTS, OUTPUT, SCRIPT


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers do not optimise: what is built here is called a few times."""
    monkeypatch.setenv("CFLAGS", "-O0")


def recorded(folder: Path, cache: Path, *words: str, **more: str) -> tuple[Done, dict[str, object]]:
    """Runs `cyprof run` and returns what it said and the recording as JSON."""
    done = cyprof(folder, "run", "-o", "run.cyprof", *words, CYPROF_CACHE_DIR=str(cache), **more)
    assert done.code == 0, done.err
    exported = cyprof(folder, "export", "run.cyprof", "-o", "run.json")
    assert exported.code == 0, exported.err
    return done, json.loads((folder / "run.json").read_text())


def on_path(*folders: Path) -> str:
    """A PYTHONPATH with `folders` before what the tests themselves need."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH", "")])])


def calls(profile: dict[str, object], module: str) -> dict[str, int]:
    functions = profile["functions"]
    assert isinstance(functions, list)
    compiled = ("def", "cdef", "cpdef")
    return {one["name"]: one["calls"] for one in functions if one["module"] == module and one["kind"] in compiled}


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=[pytest.mark.every_python] if name == "setuptools" else []) for name in BACKENDS]
)
def test_every_backend_gets_probes_and_leaves_the_checkout_alone(backend: str, tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", BACKENDS[backend])
    write(tmp_path, {"main.py": SCRIPT})
    before = listing(checkout)
    words = ("main.py", "--package", f"toy={checkout}")
    done, profile = recorded(tmp_path, cache, *words, PYTHONPATH=on_path(checkout), PYTHONDONTWRITEBYTECODE="1")
    assert done.out == OUTPUT
    assert calls(profile, "toy.kernel") == COUNTS
    assert profile["unseen"] == []
    files = {one["file"] for one in profile["functions"] if one["module"] == "toy.kernel"}  # type: ignore[attr-defined]
    assert files == {str(checkout / "toy" / "kernel.pyx")}
    assert listing(checkout) == before
    # A pin that rules out every Cython with probes is lifted, and that is said.
    lifted = "it is built with Cython>=3.1, which probes need" in cyprof(tmp_path, "stats", "run.cyprof").out
    assert lifted == (backend == "setup.py")


SECOND = {
    "toy/second.pyx": "def other(x):\n    return x + 1\n",
    "pyproject.toml": BACKENDS["setuptools"]["pyproject.toml"].replace(
        'kernel.pyx"]}]', 'kernel.pyx"]}, {name = "toy.second", sources = ["toy/second.pyx"]}]'
    ),
}


def built(folder: Path, cache: Path, *words: str, **more: str) -> Done:
    return cyprof(folder, "build", *words, CYPROF_CACHE_DIR=str(cache), **more)


def folder_of(done: Done) -> Path:
    """The build's folder in the cache, as the command names it."""
    assert done.code == 0, done.err
    return Path(done.err.rstrip().rpartition(", in ")[2])


def test_what_is_unchanged_is_not_built_again_and_an_edit_builds_one_module(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", {**BACKENDS["setuptools"], **SECOND})
    first = built(tmp_path, cache, "checkout")
    assert "toy: 2 modules with probes, in" in first.err
    again = built(tmp_path, cache, "checkout")
    assert "2 modules with probes (unchanged)" in again.err
    assert folder_of(again) == folder_of(first)
    kernel = checkout / "toy" / "kernel.pyx"
    kernel.write_text(kernel.read_text().replace("2 * x", "3 * x"))
    edited = built(tmp_path, cache, "checkout")
    log = (folder_of(edited) / "log.txt").read_text()
    assert "Cythonizing toy/kernel.pyx" in log
    assert "Cythonizing toy/second.pyx" not in log
    kernel.write_text(kernel.read_text().replace("3 * x", "2 * x"))
    assert folder_of(built(tmp_path, cache, "checkout")) == folder_of(first)


SECONDS = {
    "meson-python": {
        **BACKENDS["meson-python"],
        "meson.build": BACKENDS["meson-python"]["meson.build"]
        + "py.extension_module('second', 'toy/second.pyx', install: true, subdir: 'toy')\n",
    },
    "scikit-build-core": {
        **BACKENDS["scikit-build-core"],
        "CMakeLists.txt": BACKENDS["scikit-build-core"]["CMakeLists.txt"]
        + "cython_transpile(toy/second.pyx LANGUAGE C OUTPUT_VARIABLE second_c)\n"
        + 'python_add_library(second MODULE "${second_c}" WITH_SOABI)\ninstall(TARGETS second DESTINATION toy)\n',
    },
}


@pytest.mark.parametrize("backend", SECONDS)
def test_one_module_is_built_where_the_others_are_wanted_or_changed_by_nobody(
    backend: str, tmp_path: Path, cache: Path
) -> None:
    checkout = write(tmp_path / "checkout", {**SECONDS[backend], "toy/second.pyx": SECOND["toy/second.pyx"]})
    words = ("checkout", "--module", "toy.kernel")
    first = built(tmp_path, cache, *words)
    assert "toy.second has no probes: left out by --module" in first.err
    sizes = {path.name.partition(".")[0]: path.stat().st_size for path in folder_of(first).glob("lib/toy/*.so")}
    assert sizes["second"] < 30_000 < sizes["kernel"]
    kernel = checkout / "toy" / "kernel.pyx"
    kernel.write_text(kernel.read_text().replace("2 * x", "3 * x"))
    log = (folder_of(built(tmp_path, cache, *words)) / "log.txt").read_text()
    assert re.search(r"kernel\.pyx|kernel\.c\b", log)
    assert not re.search(r"second\.pyx|second\.c\b", log)


def test_modules_left_out_run_and_are_named_as_unseen(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", {**BACKENDS["setuptools"], **SECOND})
    # Built in one go by a build system that knows nothing of --module: here its filter is set aside.
    setup = "from setuptools import setup\nfrom setuptools.command.build_ext import build_ext\n"
    setup += "class All(build_ext):\n    def build_extensions(self):\n        everything = self.extensions\n"
    setup += "        for one in everything:\n            self.build_extension(one)\nsetup(cmdclass={'build_ext': All})\n"
    write(checkout, {"setup.py": setup})
    done = built(tmp_path, cache, "checkout", "--module", "toy.kernel")
    assert "toy.second has no probes: left out by --module" in done.err
    write(tmp_path, {"main.py": "from toy import kernel, second\nkernel.total(3)\n"})
    native = {"PYTHONPATH": on_path(checkout)}
    write(checkout, {"toy/second.py": "other = None\n"})
    _, profile = recorded(tmp_path, cache, "main.py", "--package", "toy=checkout", **native)
    assert calls(profile, "toy.kernel") == {"total": 1, "scaled": 3}
    unseen = profile["unseen"]
    assert isinstance(unseen, list)
    assert [(one["module"], one["reason"]) for one in unseen] == [("toy.second", "built without probes: left out by --module")]


def test_lines_of_a_package(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", BACKENDS["setuptools"])
    write(tmp_path, {"main.py": SCRIPT})
    words = ("main.py", "--package", "toy=checkout", "--lines")
    _, profile = recorded(tmp_path, cache, *words, PYTHONPATH=on_path(checkout))
    lines = profile["lines"]
    assert isinstance(lines, list)
    hits = {one["line"]: one["hits"] for one in lines if one["file"] == str(checkout / "toy" / "kernel.pyx")}
    assert (hits[6], hits[12], hits[13], hits[14]) == (15, 17, 15, 2)
    # The scores of `cython -a`: the loop is C, and the multiplication by a global name is Python.
    shown = cyprof(tmp_path, "lines", "run.cyprof", "--all").out
    assert "the profile holds no annotation scores" not in shown
    assert re.search(r"py \d+ .*return result \* FACTOR", shown)


def test_only_limits_the_line_probes_of_a_package(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", BACKENDS["setuptools"])
    write(tmp_path, {"main.py": SCRIPT})
    words = ("lines", "main.py", "--package", "toy=checkout", "--only", "toy.kernel:scaled", "-o", "lines.json")
    done = cyprof(tmp_path, *words, PYTHONPATH=on_path(checkout), CYPROF_CACHE_DIR=str(cache))
    assert done.code == 0, done.err
    profile = json.loads((tmp_path / "lines.json").read_text())
    assert calls(profile, "toy.kernel") == COUNTS
    inner = {6, 12, 13, 14, 18}
    hits = {one["line"]: one["hits"] for one in profile["lines"] if one["file"] == str(checkout / "toy" / "kernel.pyx")}
    assert {line: count for line, count in hits.items() if line in inner and count} == {6: 15}


def test_a_namespace_package_under_pytest(tmp_path: Path, cache: Path) -> None:
    files = {name: text for name, text in BACKENDS["setuptools"].items() if name != "toy/__init__.py"}
    checkout = write(tmp_path / "checkout", files)
    test = "from toy import kernel\n\ndef test_total():\n    assert kernel.total(4) == 12\n"
    write(tmp_path, {"tests/test_kernel.py": test})
    words = ("-m", "pytest", "--package", "toy=checkout")
    done = cyprof(
        tmp_path, "run", *words, "-o", "run.cyprof", "--", "-q", "-p", "no:cacheprovider", "tests",
        PYTHONPATH=on_path(checkout), CYPROF_CACHE_DIR=str(cache),
    )  # fmt: skip
    assert "1 passed" in done.out, done.out + done.err
    cyprof(tmp_path, "export", "run.cyprof", "-o", "run.json")
    assert calls(json.loads((tmp_path / "run.json").read_text()), "toy.kernel") == {"total": 1, "scaled": 4}


FINDER = """\
import sys
from importlib.machinery import PathFinder
class Editable:
    def find_spec(self, name, path=None, target=None):
        return PathFinder.find_spec(name, [CHECKOUT], target) if name == "toy" else None
sys.meta_path.insert(0, Editable())
"""


def test_an_editable_install_is_built_from_its_checkout(tmp_path: Path, cache: Path) -> None:
    """As meson-python and scikit-build-core install one: no search path, a finder that stands first on sys.meta_path."""
    checkout = write(tmp_path / "checkout", BACKENDS["setuptools"])
    about = json.dumps({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    site = write(
        tmp_path / "site",
        {
            "toy-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
            "toy-1.0.dist-info/direct_url.json": about,
            "sitecustomize.py": FINDER.replace("CHECKOUT", repr(str(checkout))),
        },
    )
    write(tmp_path, {"main.py": SCRIPT})
    done, profile = recorded(tmp_path, cache, "main.py", "--package", "toy", PYTHONPATH=on_path(site))
    assert done.out == OUTPUT
    assert calls(profile, "toy.kernel") == COUNTS


WITH_HEADER = {
    **BACKENDS["setuptools"],
    "native/twice.h": "#define TWICE(x) (2 * (x))\n",
    "toy/kernel.pyx": 'cdef extern from "twice.h":\n    int TWICE(int)\n\ndef twice(int x):\n    return TWICE(x)\n',
    "pyproject.toml": BACKENDS["setuptools"]["pyproject.toml"].replace(
        'sources = ["toy/kernel.pyx"]', 'sources = ["toy/kernel.pyx"], include-dirs = ["native"]'
    ),
}
"""A project with a header that only its build files know of."""


def test_a_project_builds_what_cannot_be_built_loose(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", WITH_HEADER)
    write(tmp_path, {"main.py": "from toy import kernel\nprint(kernel.twice(21))\n"})
    done, profile = recorded(tmp_path, cache, "main.py", PYTHONPATH=on_path(checkout))
    assert done.out == "42\n"
    assert calls(profile, "toy.kernel") == {"twice": 1}
    assert cyprof(tmp_path, "stats", "run.cyprof").out.count("built by its own build system") == 1

    def failed_logs() -> int:
        """How many loose builds have failed since it was asked last."""
        return sum(path.unlink() is None for path in cache.glob("logs/toy.kernel-*.log"))

    assert failed_logs()

    _, profile = recorded(tmp_path, cache, "main.py", PYTHONPATH=on_path(checkout))
    assert calls(profile, "toy.kernel") == {"twice": 1}
    assert not failed_logs()  # it is known that it fails, and not tried again
    assert cyprof(tmp_path, "stats", "run.cyprof").out.count("built by its own build system") == 1

    kernel = checkout / "toy" / "kernel.pyx"
    kernel.write_text(kernel.read_text() + "\n")
    _, profile = recorded(tmp_path, cache, "main.py", PYTHONPATH=on_path(checkout))
    assert calls(profile, "toy.kernel") == {"twice": 1}
    assert failed_logs()  # the source has changed, and may do by itself now


def test_a_project_builds_what_the_running_program_names(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", WITH_HEADER)
    late = "import importlib, sys\nprint(importlib.import_module(f'toy.{sys.argv[1]}').twice(21))\n"
    live = "import cyprof\ncyprof.install(lines=False)\nfrom toy import kernel\n"
    live += "with cyprof.profile() as p:\n    kernel.twice(4)\np.export('live.json')\n"
    write(tmp_path, {"late.py": late, "live.py": live})
    done, profile = recorded(tmp_path, cache, "late.py", "--", "kernel", PYTHONPATH=on_path(checkout))
    assert done.out == "42\n"
    assert calls(profile, "toy.kernel") == {"twice": 1}
    assert profile["unseen"] == []
    assert len(profile["processes"]) <= 1  # type: ignore[arg-type]
    assert cyprof(tmp_path, "stats", "run.cyprof").out.count("built by its own build system") == 1
    done = python(tmp_path, "live.py", PYTHONPATH=on_path(checkout), CYPROF_CACHE_DIR=str(cache))
    assert done.code == 0, done.err
    assert calls(json.loads((tmp_path / "live.json").read_text()), "toy.kernel") == {"twice": 1}


def test_a_package_of_the_index_keeps_its_files(tmp_path: Path, cache: Path) -> None:
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), "frozenlist==1.8.0"]
    assert run(install, tmp_path).code == 0
    home = tmp_path / "home"
    state = {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    write(home, {"cache/pip/own": "the user's"})
    before = listing(site), listing(home)
    text = "from frozenlist import FrozenList\nimport frozenlist\nfor i in range(50):\n"
    text += "    one = FrozenList([1]); one.append(i); one.freeze(); len(one)\nprint(frozenlist._frozenlist.__file__)\n"
    write(tmp_path, {"main.py": text})
    words = ("main.py", "--package", "frozenlist")
    done, profile = recorded(tmp_path, cache, *words, PYTHONPATH=on_path(site), **state)
    assert Path(done.out.strip()).parent == site / "frozenlist"
    names = ("__init__", "append", "freeze", "__len__", "_check_frozen", "_fast_len")
    assert calls(profile, "frozenlist._frozenlist") == {f"FrozenList.{name}": 50 for name in names}
    assert profile["unseen"] == []
    assert (listing(site), listing(home)) == before


def test_c_that_nothing_can_write_anew_is_named_as_unseen(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", {**BACKENDS["setuptools"], **SECOND})
    assert python(checkout, "-m", "cython", "-3", "toy/second.pyx").code == 0
    (checkout / "toy/second.pyx").unlink()
    pyproject = checkout / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("second.pyx", "second.c"))
    reason = "its build compiled C that Cython had not written during the build, so there are no probes"
    assert f"toy.second has no probes: {reason}" in built(tmp_path, cache, "checkout").err
    write(tmp_path, {"main.py": "from toy import kernel\nkernel.total(3)\n"})
    _, profile = recorded(tmp_path, cache, "main.py", "--package", "toy=checkout", PYTHONPATH=on_path(checkout))
    assert calls(profile, "toy.kernel") == {"total": 1, "scaled": 3}
    unseen = profile["unseen"]
    assert isinstance(unseen, list)
    assert [(one["module"], one["reason"]) for one in unseen] == [("toy.second", f"built without probes: {reason}")]


def failure(done: Done) -> tuple[str, str]:
    """The sentence of what happened and the text of a log that the error names."""
    assert done.code == 3, done.err
    lines = done.err.splitlines()
    log = next(line.partition("The whole log: ")[2] for line in lines if line.startswith("The whole log: "))
    return next(line for line in lines if line.startswith("cyprof: error: ")), Path(log).read_text()


def test_a_source_that_does_not_compile_is_quoted(tmp_path: Path, cache: Path) -> None:
    checkout = write(tmp_path / "checkout", {**BACKENDS["setuptools"], "toy/kernel.pyx": "def f(:\n    pass\n"})
    happened, log = failure(built(tmp_path, cache, "checkout"))
    assert f"toy cannot be built: {checkout}/toy/kernel.pyx, line 1: " in happened
    assert "def f(:" in log


def test_a_build_script_that_fails_is_quoted(tmp_path: Path, cache: Path) -> None:
    files = {**BACKENDS["setup.py"], "setup.py": "raise SystemError('the moon is full')\n"}
    write(tmp_path / "checkout", files)
    happened, log = failure(built(tmp_path, cache, "checkout"))
    assert happened == "cyprof: error: checkout cannot be built: SystemError: the moon is full"
    assert "Traceback" in log


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ('requires = ["no-such-requirement-of-cyprof"]', "What toy needs to be built could not be installed: No matching"),
        (
            'requires = ["setuptools>=64"]\nbuild-backend = "nosuch"',
            "toy cannot be built: ModuleNotFoundError: No module named",
        ),
    ],
)
def test_a_build_system_that_is_not_there(system: str, said: str, tmp_path: Path, cache: Path) -> None:
    write(tmp_path / "toy", {"pyproject.toml": f"[build-system]\n{system}\n"})
    happened, _ = failure(built(tmp_path, cache, "./toy"))
    assert said in happened


def test_no_compiler(tmp_path: Path, cache: Path) -> None:
    write(tmp_path / "checkout", BACKENDS["setuptools"])
    done = built(tmp_path, cache, "checkout", CC="nosuchcompiler")
    assert done.code == 3
    assert "There is no C compiler: nosuchcompiler was not found." in done.err


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"PIP_NO_INDEX": "1"}, "There is no source distribution of nosuchdist 1.0 on the package index."),
        (
            {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"},
            "The sources of nosuchdist 1.0 could not be downloaded: the package index cannot be reached.",
        ),
    ],
)
def test_no_sources(index: dict[str, str], said: str, tmp_path: Path, cache: Path) -> None:
    about = {"nosuchdist-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: nosuchdist\nVersion: 1.0\n"}
    site = write(tmp_path / "site", about)
    happened, _ = failure(built(tmp_path, cache, "nosuchdist", PYTHONPATH=on_path(site), **index))
    assert happened == f"cyprof: error: {said}"


def test_a_project_without_cython_is_refused(tmp_path: Path, cache: Path) -> None:
    files = {"setup.py": "from setuptools import setup\nsetup(name='plain', py_modules=['plain'])\n", "plain.py": ""}
    write(tmp_path / "checkout", {**files, "pyproject.toml": '[build-system]\nrequires = ["setuptools>=64"]\n'})
    happened, _ = failure(built(tmp_path, cache, "checkout"))
    assert happened.endswith("has nothing to put probes into: it has no extensions.")
