"""What a reader is told when a build cannot be: one sentence, the compiler's own words, what to try."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from build_support import Bench, Built, listing, write


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("cache") / "c")


def failing(bench: Bench, root: Path, text: str, **environ: str) -> tuple[str, str, str]:
    script = write(root, {"main.py": "import bad", "bad.pyx": text})
    before = listing(root)
    error = bench.build(script, **environ).error
    assert error is not None
    assert listing(root) == before
    message, hint, log = error
    assert "Traceback" not in message + hint
    return message, hint, log


def log_of(hint: str) -> Path:
    return Path(hint.rpartition("The whole log: ")[2].splitlines()[0])


def test_syntax_error(bench: Bench, tmp_path: Path) -> None:
    message, hint, log = failing(bench, tmp_path, "def f(x):\n    y = x\n    return y z\n")
    first, *excerpt = message.splitlines()
    assert first == "Cython cannot compile bad.pyx, line 3: Syntax error in simple statement list"
    assert "        return y z" in excerpt and excerpt[-1].strip() == "^"
    assert "cythonize -i bad.pyx" in hint
    assert log_of(hint).read_text() == log and "Syntax error" in log


def test_semantic_error(bench: Bench, tmp_path: Path) -> None:
    message, _, _ = failing(bench, tmp_path, "cdef int f():\n    return undefined_name\n")
    assert message.startswith("Cython cannot compile bad.pyx, line 2: undeclared name not builtin: undefined_name")


def test_error_in_an_included_file(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "part.pxi").write_text("\n\ndef f(:\n")
    message, _, _ = failing(bench, tmp_path, "include 'part.pxi'\n")
    assert message.startswith("Cython cannot compile part.pxi, line 3:")


def test_missing_pxd(bench: Bench, tmp_path: Path) -> None:
    message, _, _ = failing(bench, tmp_path, "cimport nowhere_to_be_found\n")
    assert message.startswith("Cython cannot compile bad.pyx, line 1: 'nowhere_to_be_found.pxd' not found")


def test_c_error_speaks_of_the_authors_line(bench: Bench, tmp_path: Path) -> None:
    text = "cdef extern from *:\n    int never_declared(int x)\n\ndef f(int x):\n    return never_declared_here(x)\n"
    text = text.replace("int never_declared(int x)", 'int never_declared_here "never->declared" (int x)')
    message, hint, _ = failing(bench, tmp_path, text)
    first, excerpt = message.splitlines()
    assert first.startswith("gcc cannot compile bad.pyx, line 5: ")
    assert excerpt == "        return never_declared_here(x)"
    assert "cythonize -i bad.pyx" in hint


def test_missing_header(bench: Bench, tmp_path: Path) -> None:
    message, hint, _ = failing(bench, tmp_path, "cdef extern from 'not_here.h':\n    int N\ndef f():\n    return N\n")
    assert "not_here.h: No such file or directory" in message and "bad.pyx" in message
    assert "include_dirs" in hint


def test_missing_library(bench: Bench, tmp_path: Path) -> None:
    message, hint, _ = failing(bench, tmp_path, "# distutils: libraries = not_a_library\ndef f():\n    return 1\n")
    assert message.startswith("bad.pyx was compiled but cannot be linked: ") and "not_a_library" in message
    assert "libraries" in hint


def test_missing_extra_source(bench: Bench, tmp_path: Path) -> None:
    message, _, _ = failing(bench, tmp_path, "# distutils: sources = helper.c\ndef f():\n    return 1\n")
    assert message == "bad.pyx is to be built with helper.c, and there is no such file."


def test_the_project_is_named_when_there_is_one(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("")
    _, hint, _ = failing(bench, tmp_path, "cdef extern from 'not_here.h':\n    int N\ndef f():\n    return N\n")
    assert f"the project in {tmp_path}" in hint


def test_broken_pyxbld(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "bad.pyxbld").write_text("def make_ext(modname, pyxfilename):\n    raise RuntimeError('no luck')\n")
    message, _, _ = failing(bench, tmp_path, "def f():\n    return 1\n")
    assert message == "bad.pyxbld failed: RuntimeError: no luck"


def test_no_compiler(bench: Bench, tmp_path: Path) -> None:
    message, hint, _ = failing(bench, tmp_path, "def f():\n    return 1\n", CC="/nonexistent/cc")
    assert message == "There is no C compiler: /nonexistent/cc was not found."
    assert "Install it" in hint


def test_no_compiler_on_an_empty_path(bench: Bench, tmp_path: Path) -> None:
    message, _, _ = failing(bench, tmp_path, "def f():\n    return 1\n", PATH="")
    assert message.startswith("There is no C compiler: ") and message.endswith("was not found.")


def test_no_compiler_for_cplus(bench: Bench, tmp_path: Path) -> None:
    text = "# distutils: language = c++\ndef f():\n    return 1\n"
    message, _, _ = failing(bench, tmp_path, text, CXX="no-such-compiler")
    assert message == "There is no C++ compiler: no-such-compiler was not found."


def test_no_openmp(bench: Bench, tmp_path: Path) -> None:
    compiler = tmp_path / "bin" / "cc-without-openmp"
    write(tmp_path / "bin", {"cc-without-openmp": '#!/bin/sh\ncase "$*" in *-fopenmp*) echo "clang: error: unsupported option \'-fopenmp\'" >&2; exit 1;; esac\nexec gcc "$@"\n'})  # fmt: skip  # noqa: E501
    compiler.chmod(0o755)
    text = "from cython.parallel cimport prange\ndef f():\n    cdef int i, s = 0\n    for i in prange(9, nogil=True):\n        s += i\n    return s\n"  # noqa: E501
    message, hint, _ = failing(bench, tmp_path, text, CC=str(compiler))
    assert message == f"bad.pyx uses cython.parallel, and the compiler {compiler} has no OpenMP."
    assert "Set CC" in hint


def without(tmp_path: Path, name: str) -> dict[str, str]:
    """An environment in whose Python package `name` cannot be found."""
    code = (
        "import sys\nclass Hide:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {name!r}: raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, Hide())\n"
    )
    write(tmp_path / "hide", {"sitecustomize.py": code})
    return {"PYTHONPATH": f"{tmp_path / 'hide'}:{Path(__file__).resolve().parents[2]}"}


def test_cython_missing(bench: Bench, tmp_path: Path) -> None:
    message, hint, _ = failing(bench, tmp_path / "p", "def f(): pass\n", **without(tmp_path, "Cython"))
    assert message == "Cython is not installed for this Python, and probed modules are built with it."
    assert f"{sys.executable} -m pip install" in hint


def test_setuptools_missing(bench: Bench, tmp_path: Path) -> None:
    message, hint, _ = failing(bench, tmp_path / "p", "def f(): pass\n", **without(tmp_path, "setuptools"))
    assert message == "setuptools is not installed for this Python, and it drives the C compiler."
    assert "pip install setuptools" in hint


def test_cython_too_old(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path / "old", {"Cython/__init__.py": "", "Cython/Shadow.py": "__version__ = '0.29.37'\n"})
    root = Path(__file__).resolve().parents[2]
    message, _, _ = failing(bench, tmp_path / "p", "def f(): pass\n", PYTHONPATH=f"{tmp_path / 'old'}:{root}")
    assert message.startswith("Cython 0.29.37 is too old to build modules with probes: that takes 3.1 or newer.")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A Python that has Cython and setuptools, and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    site = next((folder / "env").glob("lib/python*/site-packages"))
    for name in ("Cython", "cython", "setuptools", "_distutils_hack", "pkg_resources"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue  # older releases of setuptools need pkg_resources, newer ones have none
        file = Path(spec.origin)
        place = file.parent if file.name == "__init__.py" else file
        (site / place.name).symlink_to(place)
    return Bench(folder / "cache", str(folder / "env" / "bin" / "python"))


@pytest.mark.parametrize("text", ["cimport numpy as np\n", "from numpy cimport ndarray\n"])
def test_numpy_missing(bare: Bench, tmp_path: Path, text: str) -> None:
    message, hint, _ = failing(bare, tmp_path, text)
    assert message == "bad.pyx cimports numpy, and numpy is not installed for this Python."
    assert hint.startswith(f"Install it: {bare.python} -m pip install numpy.")


def test_numpy_headers_missing(bare: Bench, tmp_path: Path) -> None:
    text = "cdef extern from 'numpy/arrayobject.h':\n    int NPY_MAXDIMS\ndef f():\n    return NPY_MAXDIMS\n"
    message, _, _ = failing(bare, tmp_path, text)
    assert message == "bad.pyx needs the C headers of numpy, and numpy is not installed for this Python."


def test_a_bare_python_builds(bare: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, {"main.py": "import a\nprint(a.f())", "a.pyx": "def f():\n    return 1\n"})
    assert bare.output(script) == ["1", "loaded a"]


def test_python_headers_missing(tmp_path: Path) -> None:
    code = (
        "import sysconfig\nfrom cyprof.build import compiler\nfrom cyprof.errors import BuildError\n"
        "sysconfig.get_path = lambda *names: '/nowhere'\n"
        "try:\n    compiler._check_tools('c')\nexcept BuildError as error:\n    print(error)\n"
    )
    environ = Bench(tmp_path).environ()
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    message, hint = done.stdout.splitlines()
    assert message == "The C headers of Python are missing: there is no Python.h in /nowhere."
    assert hint.startswith("Install it") or "xcode-select" in hint


def test_only_the_first_failure_is_told_the_others_are_named(bench: Bench, tmp_path: Path) -> None:
    files = {"main.py": "import a, b, c", "a.pyx": "def f(): pass\n", "b.pyx": "def (\n", "c.pyx": "cdef !\n"}
    script = write(tmp_path, files)
    error = bench.build(script).error
    assert error is not None
    assert error[0].startswith("Cython cannot compile b.pyx, line 1") and "c.pyx" not in error[0]
    assert error[1].endswith("Also failed: c.pyx.")
    (tmp_path / "b.pyx").write_text("")
    (tmp_path / "c.pyx").write_text("")
    assert sorted(bench.build(script).said) == ["building b.pyx (1 of 2)", "building c.pyx (2 of 2)"]


def test_a_failure_is_not_remembered(bench: Bench, tmp_path: Path) -> None:
    failing(bench, tmp_path, "def f(:\n")
    script = write(tmp_path, {"main.py": "import bad\nprint(bad.f())", "bad.pyx": "def f():\n    return 2\n"})
    assert bench.output(script)[0] == "2"


def test_unwritable_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    script = write(tmp_path / "p", {"main.py": "import a", "a.pyx": ""})
    built: Built = Bench(tmp_path / "file" / "cache").build(script)
    assert built.error is not None
    assert built.error[0].endswith("cannot be written: Not a directory.")
    assert "CYPROF_CACHE_DIR" in built.error[1]
