"""What built extension modules tell of themselves, and that no damaged file ends in a traceback."""

from __future__ import annotations

import gc
import os
import random
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cyprof.cython.elf import UnreadableBinary, compiled_files
from cyprof.cython.extension import CYTHON_MARK, is_extension, module_stem, read_extension
from cyprof.doctor import Extension, subject_of
from cyprof.doctor.extension import examine_extensions
from cyprof.doctor.tracing import find_places

SOURCE = """\
from cython.parallel cimport prange

cdef int twice(int x) noexcept nogil:
    return 2 * x

def total(int n):
    cdef int i, s = 0
    for i in prange(n, nogil=True):
        s += twice(i)
    return s

def count():
    yield 1
"""
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TRACE = "-DCYTHON_TRACE=1"
SOURCES = {"plain": "", "calls": "# cython: profile=True\n", "lines": "# cython: linetrace=True\n"}
BUILDS = {
    # module: (its source, flags of the compiler)
    "plain": ("plain", ["-gdwarf-4", "-fopenmp"]),
    "calls": ("calls", []),
    "lines": ("lines", ["-gdwarf-5", TRACE]),
    "unasked": ("lines", ["-DCYTHON_PROFILE=0"]),
    "bare": ("lines", ["-s", TRACE]),
    "limited": ("plain", ["-DPy_LIMITED_API=0x030b0000"]),
}  # fmt: skip


def translate(folder: Path, name: str, text: str) -> None:
    """A source and the C that Cython makes of it."""
    (folder / f"{name}.pyx").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "cython", "-3", f"{name}.pyx"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


def compile_c(folder: Path, module: str, source: str, flags: list[str]) -> Path:
    """An extension of that C; it is never imported."""
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    output = folder / f"{module}{SUFFIX}"
    include = f"-I{sysconfig.get_path('include')}"
    command = [*compiler, "-O0", "-w", "-shared", "-fPIC", include, *flags, f"{source}.c", "-o", str(output)]
    subprocess.run(command, check=True, cwd=folder)
    return output


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: translate(folder, name, SOURCES[name] + SOURCE), SOURCES))
        list(pool.map(lambda name: compile_c(folder, name, *BUILDS[name]), BUILDS))
    return folder


def examined(folder: Path) -> dict[str, Extension]:
    subject = subject_of(str(folder))
    assert subject is not None
    return {extension.name: extension for extension in examine_extensions(subject)}


@pytest.mark.every_python
def test_each_kind_of_build_is_told_apart(built: Path) -> None:
    from Cython import __version__ as cython

    found = examined(built)
    assert sorted(found) == sorted(BUILDS)
    assert {extension.facts.version for extension in found.values()} == {cython}
    tracing = {name: extension.facts.tracing for name, extension in found.items()}
    # Through sys.monitoring (3.13) the symbols that are imported tell lines; before, only those that stripping removes.
    bare = "lines" if sys.version_info >= (3, 13) else "calls, perhaps lines"
    assert tracing == {
        "plain": "none", "calls": "calls", "lines": "lines", "unasked": "none", "bare": bare, "limited": "none",
    }  # fmt: skip
    assert {name for name, extension in found.items() if extension.facts.debug} == {"plain", "lines"}
    assert {name for name, extension in found.items() if extension.facts.stripped} == {"bare"}
    assert {name for name, extension in found.items() if extension.facts.limited_api} == {"limited"}
    assert {name for name, extension in found.items() if extension.facts.openmp} == {"plain"}
    assert {name: extension.how for name, extension in found.items() if name in SOURCES} == dict.fromkeys(SOURCES, "beside")
    assert {Path(extension.source).stem for name, extension in found.items() if name in ("bare", "unasked")} == {"lines"}


def test_tracing_is_named_with_the_command_that_rebuilds(built: Path) -> None:
    finding = next(one for one in examined(built)["lines"].findings if one.about == "tracing")
    assert "each call and line" in finding.text
    assert finding.command == f"cythonize -i -f {built / 'lines.pyx'}"
    subject = subject_of(str(built))
    assert subject is not None
    marks = [(place.mark.file.name, place.mark.line, place.mark.name) for place in find_places(subject)]
    assert marks == [("calls.pyx", 1, "profile"), ("lines.pyx", 1, "linetrace")]


def test_a_decorator_alone_puts_tracing_in(tmp_path: Path) -> None:
    translate(tmp_path, "d", "cimport cython\n@cython.profile(True)\ndef f(): pass\n")
    assert read_extension(compile_c(tmp_path, "d", "d", [])).tracing == "calls"


def test_the_source_is_found_by_the_line_table(built: Path, tmp_path: Path) -> None:
    moved = tmp_path / f"plain{SUFFIX}"
    moved.write_bytes((built / f"plain{SUFFIX}").read_bytes())
    extension = examined(tmp_path)["plain"]
    assert (extension.source, extension.how) == (str(built / "plain.pyx"), "debug")
    assert str(built / "plain.c") in compiled_files(moved)


def test_the_source_is_found_elsewhere_in_the_project(built: Path, tmp_path: Path) -> None:
    package = tmp_path / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / f"calls{SUFFIX}").write_bytes((built / f"calls{SUFFIX}").read_bytes())
    (tmp_path / "cython").mkdir()
    (tmp_path / "cython" / "calls.pyx").touch()
    extension = examined(tmp_path)["pkg.calls"]
    assert (extension.source, extension.how) == (str(tmp_path / "cython" / "calls.pyx"), "package")


def test_what_is_not_from_cython_is_named_so() -> None:
    import cyprof.probe._runtime as runtime

    facts = read_extension(Path(runtime.__file__))
    assert not facts.cython
    assert not facts.unreadable


def test_an_installed_distribution() -> None:
    subject = subject_of("numpy")
    assert subject is not None
    assert subject.installed
    found = {extension.name: extension for extension in examine_extensions(subject)}
    assert found["numpy.random.mtrand"].facts.cython
    assert found["numpy.random.mtrand"].facts.version
    assert any(name.endswith("_multiarray_umath") and not extension.facts.cython for name, extension in found.items())
    assert not any(extension.traced for extension in found.values())


@pytest.mark.parametrize("name", ["lib.cpython-313-x86_64-linux-gnu.so", "a.so", "b.abi3.so", "c.cpython-311-darwin.so"])
def test_names_of_extensions(name: str) -> None:
    assert is_extension(name)
    assert module_stem(Path(name)) in ("lib", "a", "b", "c")
    assert not is_extension("libgomp-1234.so")
    assert not is_extension("a.so.1")


FOREIGN = {
    b"": "it is empty",
    b"\xcf\xfa\xed\xfe" + CYTHON_MARK: "macOS",
    b"MZ\x90\0" + CYTHON_MARK: "Windows",
    b"text " + CYTHON_MARK: "no ELF file",
    b"\x7fELF" + CYTHON_MARK: "damaged",
}


@pytest.mark.parametrize("data", FOREIGN)
def test_files_of_other_kinds_are_said_to_be_so(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.so"
    path.write_bytes(data)
    facts = read_extension(path)
    assert FOREIGN[data] in facts.unreadable
    assert facts.debug is None


def test_a_file_that_is_gone_or_a_folder(tmp_path: Path) -> None:
    assert "No such file" in read_extension(tmp_path / "m.so").unreadable
    (tmp_path / "d.so").mkdir()
    assert "Is a directory" in read_extension(tmp_path / "d.so").unreadable


def read_everything(path: Path) -> None:
    read_extension(path)
    try:
        compiled_files(path)
    except UnreadableBinary as error:
        assert str(error)


def test_truncated_files_give_a_sentence(built: Path, tmp_path: Path) -> None:
    data = (built / f"lines{SUFFIX}").read_bytes()
    path = tmp_path / "m.so"
    for size in [*range(1, 70, 7), *(len(data) * part // 20 for part in range(1, 20)), len(data) - 1]:
        path.write_bytes(data[:size])
        read_everything(path)
        assert read_extension(path).unreadable


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60), where=st.sampled_from(["head", "tail", "all"]))
def test_damaged_files_never_raise(built: Path, tmp_path: Path, seed: int, count: int, where: str) -> None:
    """Bytes of a real module are changed: of its header, of its tables at the end, or anywhere."""
    data = bytearray((built / f"lines{SUFFIX}").read_bytes())
    chance = random.Random(seed)
    first, last = {"head": (4, 1024), "tail": (len(data) - 4096, len(data)), "all": (4, len(data))}[where]
    for _ in range(count):
        data[chance.randrange(first, last)] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    path = tmp_path / "m.so"
    path.write_bytes(data)
    read_everything(path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_table_without_end_is_given_up(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DWARF 5, 6.2.4: with no fields in an entry, any number of entries takes no room."""
    from elftools.elf.elffile import ELFFile

    data = bytearray((built / f"lines{SUFFIX}").read_bytes())
    with (built / f"lines{SUFFIX}").open("rb") as file:
        table = ELFFile(file).get_section_by_name(".debug_line")["sh_offset"]
    fields = table + 4 + 2 + 1 + 1 + 4 + 6  # length, version, sizes of addresses and selectors, length of the header, six bytes
    assert int.from_bytes(data[table + 4 : table + 6], "little") == 5
    opcodes = data[fields - 1] - 1
    data[fields + opcodes : fields + opcodes + 11] = b"\0" + b"\xff" * 9 + b"\x7f"
    path = tmp_path / "m.so"
    path.write_bytes(data)
    monkeypatch.setattr("cyprof.cython.elf._PATIENCE", 0.3)
    with collector_that_drops_exceptions(), pytest.raises(UnreadableBinary, match="have no end"):
        compiled_files(path)


@contextmanager
def collector_that_drops_exceptions() -> Iterator[None]:
    """Most of the time goes into a callback of the garbage collector, out of which no exception comes."""

    def slow(*_: object) -> None:
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass

    gc.callbacks.append(slow)
    try:
        yield
    finally:
        gc.callbacks.remove(slow)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_any_bytes_behind_the_magic_never_raise(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.so"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + data + CYTHON_MARK)
    read_everything(path)
