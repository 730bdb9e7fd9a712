"""What fails around a program while it is recorded: memory, and the folder that builds are kept in."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from cli_support import Done, cyprof, python, write

import cyprof as product

KERNEL = {
    "kern.pyx": """
cdef int step(int n) noexcept nogil:
    return n + 1

def work(int n):
    cdef int i, total = 0
    for i in range(n):
        total = step(total)
    return total
"""
}


def calls(path: Path) -> Counter[str]:
    profile = product.load(path)
    found: Counter[str] = Counter()
    for function, times in zip(profile.functions, profile.function_times, strict=True):
        found[function.name] += times.calls
    return found


NO_MEMORY = """
import resource, sys
import kern

def unmet(n):
    return eval(f"lambda: kern.work({n} - {n} + 1)")

functions = [unmet(n) for n in range(2000)]
kern.work(50)
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (16 << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))
kept, size = [], 1 << 22
while size > 24:
    try:
        while True:
            kept.append(b"x" * size)
    except MemoryError:
        size //= 2
good = bad = 0
for function in functions:
    try:
        function()
        good += 1
    except MemoryError:
        bad += 1
kept.clear()
kern.work(5)
print(good + bad)
if sys.argv[1:]:
    bytearray(1 << 40)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module in it, which is built once for all."""
    return write(tmp_path_factory.mktemp("built"), KERNEL)


@pytest.mark.every_python
def test_a_program_without_memory_ends_as_it_would(built: Path) -> None:
    folder = write(built, {"prog.py": NO_MEMORY})
    for words, code in ((), 0), (("--", "raise"), 1):
        done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", *words, CYPROF_CACHE_DIR=str(built / "cache"))
        assert (done.code, done.out) == (code, "2000\n"), done.err
        assert "cyprof/" not in done.err
        assert (code == 0) == ("MemoryError" not in done.err)
        assert calls(folder / "r.cyprof")["step"] >= 55


# Every allocation that the runtime makes after the first `fail_after` of them fails; those of the interpreter do not.
REFUSING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static int left = -1, refusals;
void fail_after(int count) { left = count; }
int refused_so_far(void) { return refusals; }
static int refused(void *caller) {
    Dl_info info;
    if (left < 0 || !dladdr(caller, &info) || !strstr(info.dli_fname, "_runtime")) return 0;
    if (left > 0) return left--, 0;
    return ++refusals;
}
#define CALLER __builtin_return_address(0)
void *malloc(size_t size) { return refused(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused(CALLER) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return refused(CALLER) ? NULL : __libc_realloc(old, size); }
char *strdup(const char *text) {
    char *copy = refused(CALLER) ? NULL : __libc_malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}
void *mmap(void *where, size_t size, int protection, int flags, int file, off_t offset) {
    static void *(*plain)(void *, size_t, int, int, int, off_t);
    if (!plain) plain = dlsym(RTLD_NEXT, "mmap");
    return refused(CALLER) ? MAP_FAILED : plain(where, size, protection, flags, file, offset);
}
"""

REFUSED = """
import ctypes, threading
import kern
shim = ctypes.CDLL(None)

def unmet(n):
    names = {"work": kern.work}
    exec(f"def outer(depth):\\n    return inner(depth)\\ndef inner(depth):\\n"
         "    return outer(depth - 1) if depth else work(1) + len(str(sorted([1])))\\n", names)
    return names["outer"]

rounds = [unmet(n) for n in range(40)]
kern.work(50)
total = 0
for n, function in enumerate(rounds):
    thread = threading.Thread(target=function, args=(n,))
    shim.fail_after(n)
    total += function(n)
    thread.start()
    thread.join()
    shim.fail_after(-1)
kern.work(5)
print(total, shim.refused_so_far() > 100)
"""


@pytest.mark.every_python
@pytest.mark.parametrize("words", [(), ("--lines",)], ids=["functions", "lines"])
def test_an_allocation_that_fails_in_the_runtime_is_only_a_gap(built: Path, words: tuple[str, ...]) -> None:
    folder = write(built, {"prog.py": REFUSED, "shim.c": REFUSING})
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "shim.c", "-o", "shim.so", "-ldl"], cwd=folder, check=True)
    shim = {"LD_PRELOAD": str(folder / "shim.so"), "CYPROF_CACHE_DIR": str(built / "cache")}
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", *words, **shim)
    assert (done.code, done.out) == (0, "160 True\n"), done.err
    assert done.err == "cyprof: wrote r.cyprof\n"
    assert 55 <= calls(folder / "r.cyprof")["step"] <= 55 + 80
    assert any("ran out of memory" in note for note in product.load(folder / "r.cyprof").notes)


# The second module is found only while the program runs.
LATE = {
    **KERNEL,
    "late.pyx": KERNEL["kern.pyx"],
    "prog.py": "import kern\nprint(kern.work(3), __import__('la' + 'te').work(4))\n",
}


def without_a_cache(folder: Path, *words: str, **settings: str) -> Done:
    (folder / "tmp").mkdir()
    done = cyprof(folder, *words, TMPDIR=str(folder / "tmp"), **settings)
    assert not list((folder / "tmp").iterdir())
    return done


def test_a_cache_that_cannot_be_written_costs_the_builds_only(tmp_path: Path) -> None:
    """A file stands in the folder's place: that stops root, too, who may write where modes forbid it."""
    folder = write(tmp_path, {**LATE, "file": ""})
    done = without_a_cache(folder, "run", "prog.py", "-o", "r.cyprof", CYPROF_CACHE_DIR=str(folder / "file"))
    assert (done.code, done.out) == (0, "3 4\n"), done.err
    said, wrote = done.err.splitlines()
    assert said.startswith(f"cyprof: The cache folder {folder / 'file'} cannot be written: ")
    assert "for this run alone" in said and wrote == "cyprof: wrote r.cyprof"
    assert calls(folder / "r.cyprof")["step"] == 7


def test_a_home_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path) -> None:
    program = "import os, signal, kern\nkern.work(3)\nos.kill(os.getpid(), signal.SIGTERM)\n"
    folder = write(tmp_path, {**KERNEL, "prog.py": program})
    done = without_a_cache(folder, "stats", "prog.py", HOME="/proc/no home", XDG_CACHE_HOME="")
    assert done.code == -15
    assert "step" in done.out
    assert "for this run alone" in done.err


def test_the_folder_in_its_place_is_private(tmp_path: Path) -> None:
    program = """
import os, kern
place = os.environ["TMPDIR"]
print({oct(os.stat(f"{place}/{name}").st_mode)[-3:] for name in os.listdir(place)})
"""
    folder = write(tmp_path, {**KERNEL, "prog.py": program, "file": ""})
    done = without_a_cache(folder, "run", "prog.py", CYPROF_CACHE_DIR=str(folder / "file"))
    assert done.out == "{'700'}\n", done.err


def test_a_build_imports_nothing_from_where_the_user_stands(tmp_path: Path) -> None:
    """Nor from beside the source: files there may be called like the tools that build."""
    tools = ("Cython", "setuptools", "distutils", "json", "tempfile", "hashlib", "packaging", "numpy")
    traps = {f"{place}{name}.py": f"open({str(tmp_path / 'sprung')!r}, 'a')\n" for name in tools for place in ("", "src/")}
    folder = write(
        tmp_path / "w", {**traps, "src/kern.pyx": KERNEL["kern.pyx"], "src/prog.py": "import kern\nprint(kern.work(2))\n"}
    )
    command = write(tmp_path / "bin", {"cyprof": "import sys\nfrom cyprof.cli import main\nsys.exit(main())\n"}) / "cyprof"
    settings = {"CYPROF_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(product.__file__).parent.parent)}
    done = python(folder, str(command), "run", "src/prog.py", "-o", "r.cyprof", **settings)
    assert (done.code, done.out) == (0, "2\n"), done.err
    assert calls(folder / "r.cyprof")["step"] == 2
    assert not (tmp_path / "sprung").exists()
