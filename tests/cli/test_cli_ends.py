"""How runs end: exit codes, signals, and what is written all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_support import Done, cyprof, environ, write

import cyprof as product

pytestmark = pytest.mark.every_python

WAITS = """
import os, sys, time
def wait():
    print(os.getpid(), flush=True)
    time.sleep(60)
wait()
"""


@pytest.fixture
def cache(tmp_path: Path) -> dict[str, str]:
    return {"CYPROF_CACHE_DIR": str(tmp_path / "cache")}


def names(path: Path) -> set[str]:
    profile = product.load(path)
    return {profile.functions[number].name for number in profile.tree.function}


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ("f()", 0),
        ("f(); sys.exit(3)", 3),
        ("f(); 1 / 0", 1),
        ("f(); raise KeyboardInterrupt", -signal.SIGINT),
        ("f(); sys.exit('no')", 1),
    ],
)
def test_a_profile_is_written_however_a_program_ends(tmp_path: Path, last: str, code: int) -> None:
    folder = write(tmp_path, {"prog.py": f"import sys\ndef f(): pass\n{last}\n"})
    done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof")
    assert done.code == code
    assert done.err.endswith("cyprof: wrote r.cyprof\n")
    assert names(folder / "r.cyprof") >= {"<module>", "f"}
    assert product.load(folder / "r.cyprof").run.exit_code == code


def test_the_programs_code_wins_over_a_failed_drawing(tmp_path: Path) -> None:
    text = "import os, sys\nos.rename('out', 'moved')\nsys.exit(int(sys.argv[1]))\n"
    for code, expected in (("0", 5), ("7", 7)):
        folder = write(tmp_path / code, {"prog.py": text, "out/x": ""})
        done = cyprof(folder, "graph", "prog.py", "-o", "out/g.dot", "--", code)
        assert done.code == expected
        assert "cyprof: error: out/g.dot cannot be written" in done.err


def test_os_exit_leaves_a_profile(tmp_path: Path) -> None:
    text = "import os, sys\ndef f(): pass\nf()\nprint('out', flush=True)\nos._exit(int(sys.argv[1]))\n"
    folder = write(tmp_path, {"prog.py": text})
    for code in (6, 0):
        done = cyprof(folder, "run", "prog.py", "-o", "r.cyprof", "--", str(code))
        assert (done.code, done.out) == (code, "out\n")
        assert names(folder / "r.cyprof") >= {"<module>", "f", "print"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_death_by_a_signal_is_repeated(tmp_path: Path, number: signal.Signals) -> None:
    folder = write(tmp_path, {"prog.py": f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(60)\n"})
    done = cyprof(folder, "stats", "prog.py")
    assert done.code == -number
    crashed = number in (signal.SIGSEGV, signal.SIGABRT)
    assert (f"The program crashed ({number.name})" if crashed else "The program was ended") in done.err


def start(folder: Path, *words: str) -> tuple[subprocess.Popen[str], int]:
    """Starts a program that prints its process id, and gives that."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cyprof", *words], cwd=folder, env=environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def finish(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=30)
    return Done(process.returncode, out, err)


def is_gone(number: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("whom", ["cyprof alone", "the group"])
def test_interrupt(tmp_path: Path, whom: str) -> None:
    folder = write(tmp_path, {"prog.py": WAITS})
    process, program = start(folder, "run", "prog.py", "-o", "r.cyprof")
    os.kill(process.pid, signal.SIGINT) if whom == "cyprof alone" else os.killpg(process.pid, signal.SIGINT)
    done = finish(process)
    assert done.code == -signal.SIGINT
    assert "KeyboardInterrupt" in done.err
    assert done.err.endswith("cyprof: wrote r.cyprof\n")
    assert "cyprof/" not in done.err
    assert "wait" in names(folder / "r.cyprof")
    assert is_gone(program)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    folder = write(tmp_path, {"prog.py": WAITS})
    process, program = start(folder, "run", "prog.py", "-o", "r.cyprof")
    process.send_signal(number)
    assert finish(process).code == -number
    assert is_gone(program)


def test_a_program_that_handles_a_signal_ends_as_it_wants(tmp_path: Path) -> None:
    handler = "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(8))\n"
    folder = write(tmp_path, {"prog.py": handler + WAITS})
    process, _ = start(folder, "run", "prog.py", "-o", "r.cyprof")
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == 8
    assert "wait" in names(folder / "r.cyprof")


def test_interrupts_do_not_stop_a_program_that_ignores_them(tmp_path: Path) -> None:
    text = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WAITS.replace("sleep(60)", "sleep(1)")
    folder = write(tmp_path, {"prog.py": text})
    process, _ = start(folder, "run", "prog.py", "-o", "r.cyprof")
    os.killpg(process.pid, signal.SIGINT)
    assert finish(process).code == 0
    assert (folder / "r.cyprof").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of the end of another")
def test_no_program_outlives_a_killed_cyprof(tmp_path: Path) -> None:
    folder = write(tmp_path, {"prog.py": WAITS})
    process, program = start(folder, "run", "prog.py")
    process.kill()
    assert process.wait(30) == -signal.SIGKILL
    assert is_gone(program)


def test_no_temporary_files_stay(tmp_path: Path) -> None:
    folder = write(tmp_path / "w", {"prog.py": "1 / 0\n"})
    (tmp_path / "t").mkdir()
    cyprof(folder, "run", "prog.py", TMPDIR=str(tmp_path / "t"))
    assert list((tmp_path / "t").iterdir()) == []


def test_atexit_and_threads_are_part_of_the_profile(tmp_path: Path) -> None:
    text = """
import atexit, threading, time
def late(): pass
def work():
    time.sleep(0.2)
    after_the_end()
def after_the_end(): pass
atexit.register(late)
threading.Thread(target=work).start()
"""
    folder = write(tmp_path, {"prog.py": text})
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    assert names(folder / "r.cyprof") >= {"late", "work", "after_the_end"}


@pytest.mark.parametrize(("last", "code"), [("", 0), ("1 / 0", 1), ("raise SystemExit(2)", 2), ("raise KeyboardInterrupt", -2)])
def test_nothing_of_cyprofs_own_is_in_the_profile(tmp_path: Path, last: str, code: int) -> None:
    folder = write(tmp_path, {"prog.py": f"def f(): pass\nf()\n{last}\n"})
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == code
    profile = product.load(folder / "r.cyprof")
    seen = {function.name for function in profile.functions if function.module != "threading"}
    seen.discard("SystemExit")  # the program calls it
    if sys.version_info >= (3, 12):  # before, the interpreter's own join of threads is seen
        assert seen == {"<module>", "f"}
    roots = {profile.functions[profile.tree.function[node]] for node in profile.tree.roots()}
    assert {function.language for function in roots} == {"python"}


def test_an_excepthook_of_the_program_is_part_of_it(tmp_path: Path) -> None:
    folder = write(tmp_path, {"prog.py": "import sys\ndef hook(*args): print('hooked')\nsys.excepthook = hook\n1 / 0\n"})
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").out == "hooked\n"
    assert "hook" in names(folder / "r.cyprof")


CYTHON = {
    "main.py": "import fast\nprint(fast.twice(4))\n",
    "fast.pyx": "def twice(int n):\n    return helper(n) + helper(n)\ncdef int helper(int n) noexcept nogil:\n    return n\n",
}


def test_cython_functions_are_seen_and_nothing_is_left_beside_them(tmp_path: Path, cache: dict[str, str]) -> None:
    folder = write(tmp_path / "w", CYTHON)
    done = cyprof(folder, "run", "main.py", "-o", "r.cyprof", **cache)
    assert (done.code, done.out) == (0, "8\n"), done.err
    profile = product.load(folder / "r.cyprof")
    calls = {function.name: times.calls for function, times in zip(profile.functions, profile.function_times, strict=True)}
    assert (calls["twice"], calls["helper"]) == (1, 2)
    assert {function.file for function in profile.functions if function.name == "twice"} == {str(folder / "fast.pyx")}
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == ["fast.pyx", "main.py", "r.cyprof"]
    assert profile.run.cython


def test_failed_builds(tmp_path: Path, cache: dict[str, str]) -> None:
    folder = write(tmp_path, {**CYTHON, "fast.pyx": "cdef int f(:\n    pass\n"})
    done = cyprof(folder, "stats", "main.py", **cache)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("cyprof: error: Cython cannot compile fast.pyx, line 1")
    hidden = write(tmp_path / "h", {"main.py": "print('on')\n__import__('fa' + 'st')\n", "fast.pyx": "cdef int f(:\n"})
    done = cyprof(hidden, "stats", "main.py", **cache)
    assert (done.code, done.out) == (3, "on\n")
    assert done.err.startswith("cyprof: error: Cython cannot compile fast.pyx, line 1")
    assert "Traceback" not in done.err


def test_a_module_only_the_running_program_names(tmp_path: Path, cache: dict[str, str]) -> None:
    folder = write(tmp_path, {**CYTHON, "main.py": "print(__import__('fa' + 'st').twice(4))\n"})
    done = cyprof(folder, "run", "main.py", "-o", "r.cyprof", "--quiet", **cache)
    assert (done.code, done.out, done.err) == (0, "8\n", "")
    assert "helper" in names(folder / "r.cyprof")


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Path]:
    folder = write(tmp_path, {"prog.py": "def f(): pass\nf()\n"})
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    yield folder


def test_looking_at_a_failed_run_is_no_failure(tmp_path: Path) -> None:
    folder = write(tmp_path, {"prog.py": "raise SystemExit(9)\n"})
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 9
    assert cyprof(folder, "stats", "r.cyprof").code == 0


def test_reader_that_leaves_early(recorded: Path) -> None:
    command = f"{sys.executable} -m cyprof stats r.cyprof --all | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=recorded, env=environ(), capture_output=True, text=True, check=False)
    assert done.stdout == "0\n"
    assert done.stderr == ""
