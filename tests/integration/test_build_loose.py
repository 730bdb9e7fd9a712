"""Loose sources built for real: what they need, when they are built again, that nothing of the user's is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from build_support import ROOT, Bench, Built, listing, write

SUFFIX = EXTENSION_SUFFIXES[0]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("cache") / "c")


PLAIN = {
    "main.py": "import adam\nprint(adam.update(10))\nprint(adam.__file__)\n",
    "adam.pyx": "include 'part.pxi'\ncdef int twice(int x):\n    return 2 * x\n\n"
    "def update(int n):\n    return twice(n) + from_part() + from_header()\n",
    "adam.pxd": "cdef extern from 'own.h':\n    int from_header()\ncdef int twice(int x)\n",
    "part.pxi": "cdef int from_part():\n    return 100\n",
    "own.h": '#include "deeper.h"\nstatic int from_header(void) { return DEEPER; }\n',
    "deeper.h": "#define DEEPER 1000\n",
}


@pytest.fixture(scope="module")
def plain(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    script = write(tmp_path_factory.mktemp("plain"), PLAIN)
    return script, bench.build(script)


def test_builds_and_runs_and_says_so(bench: Bench, plain: tuple[Path, Built]) -> None:
    script, built = plain
    assert built.said == ["building adam.pyx (1 of 1)"]
    done = bench.run(script, built.overlay)
    assert done.stdout.splitlines() == ["1120", str(script.parent / f"adam{SUFFIX}"), "loaded adam"], done.stderr


def test_extension_carries_probes_and_a_report(plain: tuple[Path, Built]) -> None:
    script, built = plain
    entry = built.entry("adam")
    assert b"cyprof-probes-1" in Path(entry["extension"]).read_bytes()
    report = json.loads(Path(entry["report"]).read_text())
    assert report["module"] == "adam"
    assert {function["name"] for function in report["functions"]} >= {"update", "twice", "from_part"}
    assert Path(report["c_file"]).is_file()
    assert entry["source"] == str(script.parent / "adam.pyx")


def test_second_build_comes_from_the_cache_without_cython(bench: Bench, plain: tuple[Path, Built]) -> None:
    script, first = plain
    again = bench.build(script)
    assert (again.overlay, again.said, again.imported) == (first.overlay, [], [])


def test_line_probes_are_another_build(bench: Bench, plain: tuple[Path, Built]) -> None:
    script, first = plain
    lines = bench.build(script, lines=True)
    assert lines.entry("adam")["extension"] != first.entry("adam")["extension"]
    assert bench.build(script).said == []


def test_compiler_flags_are_another_build(bench: Bench, plain: tuple[Path, Built]) -> None:
    script, first = plain
    other = bench.build(script, CFLAGS="-O0 -Werror -g0")
    assert other.entry("adam")["extension"] != first.entry("adam")["extension"]
    log = (Path(other.entry("adam")["extension"]).parents[1] / "log.txt").read_text()
    command = next(line for line in log.splitlines() if " -c " in line)
    assert "-Werror" not in command and "-g0" not in command
    assert [word for word in command.split() if word.startswith("-O")][-1] == "-O0"
    assert command.split().count("-O2") == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("deeper.h", "1000", "2000", "2120"),
        ("part.pxi", "100", "300", "1320"),
        ("adam.pyx", "2 * x", "3 * x", "1130"),
    ],
)
def test_built_again_when_what_it_reads_changes(
    bench: Bench, plain: tuple[Path, Built], file: str, old: str, new: str, result: str
) -> None:
    script, first = plain
    path = script.parent / file
    text = path.read_text()
    try:
        path.write_text(text.replace(old, new))
        changed = bench.build(script)
        assert changed.said == ["building adam.pyx (1 of 1)"]
        assert bench.run(script, changed.overlay).stdout.splitlines()[0] == result
    finally:
        path.write_text(text)
    assert bench.build(script).overlay == first.overlay


def test_built_again_when_a_pxd_appears(bench: Bench, tmp_path: Path) -> None:
    script = write(
        tmp_path,
        {"main.py": "import one\nprint(one.f(3))", "one.pyx": "cdef g(x):\n    return x\ndef f(x):\n    return g(x)"},
    )
    assert bench.output(script) == ["3", "loaded one"]
    (tmp_path / "one.pxd").write_text("cdef g(x)\n")
    assert bench.build(script).said == ["building one.pyx (1 of 1)"]


def test_debug_information_and_optimisation(plain: tuple[Path, Built]) -> None:
    log = (Path(plain[1].entry("adam")["extension"]).parents[1] / "log.txt").read_text()
    words = next(line for line in log.splitlines() if " -c " in line).split()
    assert [word for word in words if word.startswith("-O")][-1] == "-O2"
    assert "-g" in words and not {"-g0", "-s"} & set(words)


def test_numpy_headers_are_found(bench: Bench, tmp_path: Path) -> None:
    text = "cimport numpy as cnp\nimport numpy as np\ncnp.import_array()\ndef f(cnp.ndarray a):\n    return a.shape[0]\n"
    script = write(tmp_path, {"main.py": "import nump, numpy\nprint(nump.f(numpy.zeros(7)))", "nump.pyx": text})
    built = bench.build(script)
    assert built.overlay is not None, built.error
    assert bench.run(script, built.overlay).stdout.splitlines() == ["7", "loaded nump"]
    manifest = json.loads((Path(built.entry("nump")["extension"]).parents[1] / "manifest.json").read_text())
    assert any(name.endswith("numpy/version.py") for name in manifest["files"])
    assert len(manifest["files"]) < 20


def test_distutils_comments(bench: Bench, tmp_path: Path) -> None:
    head = (
        "# distutils: language = c++\n# distutils: sources = more/helper.cpp\n# distutils: include_dirs = more\n"
        "# distutils: define_macros = STEP=5\n# distutils: extra_compile_args = -Imore/deep -O1\n"
    )
    files = {
        "main.py": "import cpp\nprint(cpp.f(2))",
        "cpp.pyx": head
        + "from libcpp.vector cimport vector\ncdef extern from 'helper.h':\n    int helper(int x)\n    int STEP\n"
        "def f(int x):\n    cdef vector[int] v\n    v.push_back(helper(x))\n    return v[0] + STEP\n",
        "more/helper.h": '#include "deep.h"\nint helper(int x);\n',
        "more/deep/deep.h": "#define DEEP 40\n",
        "more/helper.cpp": '#include "helper.h"\n#include "deep/deep.h"\nint helper(int x) { return x + DEEP; }\n',
    }
    script = write(tmp_path, files)
    assert bench.output(script) == ["47", "loaded cpp"]
    (tmp_path / "more/helper.cpp").write_text(files["more/helper.cpp"].replace("x + DEEP", "x - DEEP"))
    assert bench.output(script) == ["-33", "loaded cpp"]


def test_pyxbld_as_pyximport_has_it(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import bld\nprint(bld.f())",
        "bld.pyx": "cdef extern from *:\n    int STEP\ndef f():\n    return STEP\n",
        "bld.pyxbld": "def make_ext(modname, pyxfilename):\n    from distutils.extension import Extension\n"
        "    return Extension(name=modname, sources=[pyxfilename], define_macros=[('STEP', '9')])\n",
    }
    assert bench.output(write(tmp_path, files)) == ["9", "loaded bld"]


def test_prange_is_parallel(bench: Bench, tmp_path: Path) -> None:
    text = (
        "cimport openmp\nfrom cython.parallel cimport prange, threadid\n"
        "def f():\n    cdef int i, n = 0\n    cdef int[64] seen\n"
        "    openmp.omp_set_num_threads(2)\n"
        "    for i in range(64):\n        seen[i] = -1\n"
        "    for i in prange(64, nogil=True, num_threads=2, schedule='static'):\n        seen[i] = threadid()\n"
        "    return sorted({seen[i] for i in range(64)})\n"
    )
    script = write(tmp_path, {"main.py": "import par\nprint(par.f())", "par.pyx": text})
    assert bench.output(script) == ["[0, 1]", "loaded par"]


def test_pure_python_mode(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import inspect, pure\nprint(pure.compiled, pure.f(4), pure.__file__.endswith('pure.py'))\n"
        "print(inspect.getsource(pure).splitlines()[0])",
        "pure.py": "import cython\ncompiled = cython.compiled\ndef f(n):\n    return g(n)\ndef g(n):\n    return n * n\n",
        "pure.pxd": "cpdef long g(long n)\n",
    }
    assert bench.output(write(tmp_path, files)) == ["True 16 True", "import cython", "loaded pure"]


def test_pure_python_that_cannot_be_compiled_stays_python(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import pure\nprint(pure.f())",
        "pure.py": "def f():\n    return 1\n",
        "pure.pxd": "cdef nonsense !\n",
    }
    script = write(tmp_path, files)
    built = bench.build(script)
    assert built.overlay is not None
    assert "Cython cannot compile pure.pxd, line 1" in built.overlay["skipped"]["pure"]
    assert bench.run(script, built.overlay, build_missing=True).stdout.splitlines() == ["1", "loaded"]


def test_package_with_relative_cimports(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import pkg.low\nprint(pkg.VALUE, pkg.low.f(2), pkg.low.__package__, len(pkg.__path__))",
        "pkg/__init__.pyx": "from .low import f\nVALUE = f(1)\n",
        "pkg/low.pyx": "from .side cimport g\nfrom . import helper\ndef f(int x):\n    return g(x) + helper.more\n",
        "pkg/side.pyx": "cdef int g(int x):\n    return 10 * x\n",
        "pkg/side.pxd": "cdef int g(int x)\n",
        "pkg/helper.py": "more = 3\n",
    }
    script = write(tmp_path, files)
    built = bench.build(script)
    assert sorted(built.said)[0].startswith("building pkg/") and len(built.said) == 3
    assert bench.run(script, built.overlay).stdout.splitlines()[0] == "13 23 pkg 1"


def test_namespace_package(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import ns.inner.fast as fast\nprint(fast.f(), fast.__name__)",
        "ns/inner/fast.pyx": "from ns.inner.decl cimport number\ndef f():\n    return number\n",
        "ns/inner/decl.pxd": "cdef enum:\n    number = 5\n",
    }
    assert bench.output(write(tmp_path, files)) == ["5 ns.inner.fast", "loaded ns.inner.fast"]


def test_folder_with_odd_characters(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "my prögram $x #1"
    script = write(folder, {"main.py": "import odd\nprint(odd.f())", "odd.pyx": "cdef extern from 'odd.h':\n    int ODD\ndef f():\n    return ODD\n", "odd.h": "#define ODD 7\n"})  # fmt: skip  # noqa: E501
    assert bench.output(script) == ["7", "loaded odd"]
    (folder / "odd.h").write_text("#define ODD 8\n")
    assert bench.output(script) == ["8", "loaded odd"]


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    script = write(tmp_path / "tree", PLAIN)
    for path in [script.parent, *script.parent.iterdir()]:
        path.chmod(path.stat().st_mode & ~0o222)
    yield script
    script.parent.chmod(0o755)


def test_read_only_tree_and_nothing_written_into_it(bench: Bench, read_only: Path) -> None:
    before = listing(read_only.parent)
    assert bench.output(read_only, PYTHONDONTWRITEBYTECODE="1")[0] == "1120"
    assert listing(read_only.parent) == before


def test_public_declarations_leave_no_headers_in_the_tree(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, {"main.py": "import api\nprint(api.f())", "api.pyx": "cdef public api int g():\n    return 4\ndef f():\n    return g()\n"})  # fmt: skip  # noqa: E501
    before = listing(tmp_path)
    assert bench.output(script, PYTHONDONTWRITEBYTECODE="1")[0] == "4"
    assert listing(tmp_path) == before


def test_plain_extension_beside_the_source_is_left_untouched(bench: Bench, tmp_path: Path) -> None:
    script = write(
        tmp_path,
        {"main.py": "import beside\nprint(beside.f(), beside.__file__)", "beside.pyx": "def f():\n    return 1\n"},
    )
    subprocess.run(["cythonize", "-i", "-q", "beside.pyx"], cwd=tmp_path, check=True, capture_output=True, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})  # fmt: skip  # noqa: E501
    before = listing(tmp_path)
    assert bench.output(script, PYTHONDONTWRITEBYTECODE="1") == [f"1 {tmp_path}/beside{SUFFIX}", "loaded beside"]
    assert listing(tmp_path) == before


def test_files_named_like_the_standard_library_do_no_harm(bench: Bench, tmp_path: Path) -> None:
    files = {"main.py": "import fast\nprint(fast.f())", "fast.pyx": "def f():\n    return 1\n"}
    files |= dict.fromkeys(("pythran.py", "Tempita.py", "distutils.py"), "raise RuntimeError('wrong file')\n")
    files["driver/main.py"] = files.pop("main.py")
    script = write(tmp_path, files)
    built = bench.build(script.with_name("driver") / "main.py", PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert built.overlay is not None, built.error
    assert list(built.overlay["modules"]) == ["fast"]


def test_several_modules_are_built_at_once(bench: Bench, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor")
    files = {f"m{i}.pyx": "def f():\n    return 1\n" for i in range(2)}
    script = write(tmp_path, {"main.py": "import m0, m1", **files})
    built = bench.build(script)
    assert sorted(built.said) == ["building m0.pyx (1 of 2)", "building m1.pyx (2 of 2)"]
    logs = [Path(built.entry(f"m{i}")["extension"]).parents[1] for i in range(2)]
    spans = [((folder / "job.json").stat().st_mtime, (folder / "result.json").stat().st_mtime) for folder in logs]
    assert max(start for start, _ in spans) < min(end for _, end in spans)


def test_warm_start_is_fast(bench: Bench, tmp_path: Path) -> None:
    count = 4
    files = {f"m{i}.pyx": "def f():\n    return 1\n" for i in range(count)}
    script = write(tmp_path, {"main.py": "import " + ", ".join(f"m{i}" for i in range(count)), **files})
    started = time.perf_counter()
    assert len(bench.build(script).said) == count
    cold = time.perf_counter() - started
    started = time.perf_counter()
    assert bench.build(script).said == []
    assert time.perf_counter() - started < cold / 4


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_builds_without_a_network(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no new network namespace here")
    script = write(tmp_path, {"main.py": "import off\nprint(off.f())", "off.pyx": "def f():\n    return 1\n"})
    code = f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]\nfrom pathlib import Path\nfrom build_support import Bench\nprint(Bench(Path({str(tmp_path / 'cache')!r})).output(Path({str(script)!r})))"  # fmt: skip  # noqa: E501
    done = subprocess.run(["unshare", "-rn", sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['1', 'loaded off']", done.stderr
