"""What a user may type wrong: each is one sentence of what happened and one of what to do, and nothing is run."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_support import Done, cyprof, write

FILES = {
    "prog.py": "print('ran')\n",
    "fast.pyx": "def f():\n    return 1\n",
    "defs.pxd": "cdef int x\n",
    "bad.py": "x = 1\nif x\n    pass\n",
    "null.py": "x = 1\0\n",
    "latin.py": "name = '\udce4'\n",
    "book.ipynb": "{}",
    "empty.cyprof": "",
    "text.cyprof": "hello\n",
    "plain/readme.txt": "",
    "one/only.py": "",
    "package/__init__.py": "",
    "package/part.py": "x = = 1\n",
    "package/c.pyx": "",
    "plain/sub/__init__.pxd": "",
    "plain/sub/c.pyx": "",
    "not-a-name.pyx": "",
    "runs/__main__.py": "print('ran')\n",
    "badmain/__main__.py": "(\n",
}
CASES: dict[str, tuple[Sequence[str], int, Sequence[str]]] = {
    # words, exit code, what stderr must hold
    "missing": (["graph", "nowhere.py"], 2, ["nowhere.py does not exist", "Check the name"]),
    "misspelt": (["graph", "prg.py"], 2, ["prg.py does not exist", "Did you mean prog.py?"]),
    "module without -m": (["graph", "package.part"], 2, ["package.part does not exist"]),
    "stdlib module without -m": (["stats", "timeit"], 2, ["timeit does not exist", "cyprof stats -m timeit"]),
    "folder": (["graph", "plain"], 2, ["plain is a folder without a __main__.py", "Name the script"]),
    "folder with a script": (["graph", "one"], 2, ["one is a folder", "cyprof graph one/only.py"]),
    "package folder": (["graph", "package"], 2, ["package is a folder", "It is a package"]),
    "folder whose main is wrong": (["graph", "badmain"], 2, ["badmain/__main__.py:1: '(' was never closed"]),
    "pyx": (["graph", "fast.pyx"], 2, ["fast.pyx is a Cython module", 'cyprof graph -c "import fast; ..."']),
    "pyx in a package": (["graph", "package/c.pyx"], 2, ['short: cyprof graph -c "import package.c; ..."']),
    "pyx in a package below": (["stats", "plain/sub/c.pyx"], 2, ['PYTHONPATH=plain cyprof stats -c "import sub.c; ..."']),
    "pyx whose name cannot be imported": (["graph", "not-a-name.pyx"], 2, ["Name the script that uses it."]),
    "pxd": (["graph", "defs.pxd"], 2, ["defs.pxd holds Cython declarations"]),
    "notebook": (["graph", "book.ipynb"], 2, ["book.ipynb is a notebook", "nbconvert"]),
    "syntax": (["graph", "bad.py"], 2, ["bad.py:2: expected ':'", "nothing was run"]),
    "null byte": (["graph", "null.py"], 2, ["null.py", "null bytes"]),
    "encoding": (["graph", "latin.py"], 2, ["latin.py", "utf-8"]),
    "code": (["stats", "-c", "x = = 1"], 2, ["<string>:1: invalid syntax"]),
    "module": (["stats", "-m", "no_such_module"], 2, ["No module named no_such_module"]),
    "submodule": (["stats", "-m", "package.none"], 2, ["No module named package.none"]),
    "module that is a path": (["stats", "-m", "prog.py"], 2, ["-m takes a module's name", "cyprof stats prog.py"]),
    "module with an error": (["stats", "-m", "package.part"], 2, ["package/part.py:1: invalid syntax"]),
    "module that is Cython": (["stats", "-m", "package.c"], 2, ["package.c is a Cython module", "import package.c"]),
    "package without main": (["stats", "-m", "package"], 2, ["package is a package without a __main__"]),
    "odd module": (["stats", "-m", "a..b"], 2, ["'a..b' is no module's name"]),
    "empty profile": (["graph", "empty.cyprof"], 4, ["empty.cyprof is empty", "Record it again"]),
    "no profile": (["stats", "text.cyprof"], 4, ["text.cyprof is not a cyprof profile"]),
    "missing profile": (["stats", "none.cyprof"], 2, ["none.cyprof does not exist", "cyprof run"]),
    "suffix": (["graph", "prog.py", "-o", "x.jpg"], 2, ["x.jpg cannot be written", ".jpg", ".svg"]),
    "no suffix": (["graph", "prog.py", "-o", "x"], 2, ["a name without a suffix", ".svg"]),
    "folder of output": (["graph", "prog.py", "-o", "none/x.svg"], 5, ["The folder none does not exist"]),
    "output is a folder": (["run", "prog.py", "-o", "d.cyprof"], 5, ["d.cyprof is a folder"]),
    "run with another suffix": (["run", "prog.py", "-o", "x.svg"], 2, ["a recording ends in .cyprof", "cyprof export"]),
    "run into nowhere": (["run", "prog.py", "-o", "none/x.cyprof"], 5, ["The folder none does not exist"]),
    "export of a script": (["export", "prog.py", "-o", "x.json"], 2, ["prog.py is no recorded run", "cyprof run prog.py"]),
    "program's option": (
        ["graph", "prog.py", "--epochs", "2", "-o", "x.svg"], 2,
        ["cyprof graph has no option --epochs", "cyprof graph prog.py -o x.svg -- --epochs 2"],
    ),
    "program's option with =": (["stats", "prog.py", "--epochs=2"], 2, ["cyprof stats prog.py -- --epochs=2"]),
    "program's short option": (["stats", "prog.py", "-v"], 2, ["has no option -v", "cyprof stats prog.py -- -v"]),
    "program's operand": (["stats", "prog.py", "a b"], 2, ["takes one TARGET", "cyprof stats prog.py -- 'a b'"]),
    "module's operand": (["stats", "-m", "runs", "tests/"], 2, ["cyprof stats -m runs -- tests/"]),
    "both sides": (["stats", "prog.py", "-v", "--", "-w"], 2, ["cyprof stats prog.py -- -v -w"]),
    "threads of lines": (["lines", "--threads", "prog.py"], 2, ["no option --threads", "belongs to cyprof graph and"]),
    "threads of diff": (["diff", "--threads", "prog.py", "prog.py"], 2, ["no option --threads", "belongs to cyprof graph"]),
    "misspelt option": (["stats", "prog.py", "--sorted", "name"], 2, ["no option --sorted", "did you mean --sort?"]),
    "option before the target": (["stats", "--srt", "x", "prog.py"], 2, ["no option --srt", "Did you mean --sort?"]),
    "lines without lines": (["lines", "prog.py", "--no-lines"], 2, ["--no-lines records none", "cyprof stats TARGET"]),
    "no target": (["graph"], 2, ["no TARGET was given"]),
    "target behind --": (["graph", "--", "prog.py"], 2, ["no TARGET was given"]),
    "two targets": (["graph", "-m", "runs", "-c", "1"], 2, ["there is one program to run"]),
    "no value": (["graph", "prog.py", "-o"], 2, ["-o needs a value"]),
    "no value before --": (["graph", "prog.py", "-o", "--", "x"], 2, ["-o needs a value"]),
    "bad percentage": (["graph", "prog.py", "--min-share", "lots"], 2, ["'lots' is no percentage"]),
    "bad number": (["stats", "prog.py", "--top", "0"], 2, ["'0' is no whole number above 0"]),
    "bad choice": (["stats", "prog.py", "--clock", "sundial"], 2, ["sundial", "auto"]),
    "no such command": (["grph", "prog.py"], 2, ["has no command grph", "Did you mean cyprof graph?"]),
    "no command": (["prog.py"], 2, ["prog.py is no command", "cyprof graph prog.py"]),
    "option first": (["--quiet", "stats", "prog.py"], 2, ["--quiet stands before any command", "cyprof stats --quiet"]),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "w", {name: text for name, text in FILES.items() if name != "latin.py"})
    (tmp_path / "w" / "latin.py").write_bytes(FILES["latin.py"].encode("utf-8", "surrogateescape"))
    (tmp_path / "w" / "d.cyprof").mkdir()
    return tmp_path / "w"


def listing(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.name != "__pycache__" and path.suffix != ".pyc"}


def check(done: Done, code: int, words: Sequence[str]) -> None:
    assert (done.code, done.out) == (code, ""), done
    assert done.err.startswith("cyprof: error: ")
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) >= 2, "one sentence says what happened, one what to do"
    for word in words:
        assert word in done.err, done.err


@pytest.mark.parametrize("case", CASES)
def test_bad_input(folder: Path, case: str) -> None:
    words, code, said = CASES[case]
    before = listing(folder)
    check(cyprof(folder, *words), code, said)
    assert listing(folder) == before


def test_of_a_long_line_the_part_around_the_mistake_is_shown(tmp_path: Path) -> None:
    line = "a = [" + "1, " * 1000 + "] ! [" + "2, " * 1000 + "]"
    done = cyprof(write(tmp_path, {"long.py": line}), "stats", "long.py")
    assert done.code == 2 and "1, ] ! [2, " in done.err and len(done.err) < 400


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_output(folder: Path) -> None:
    (folder / "shut").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    check(cyprof(folder, "graph", "prog.py", "-o", "shut/x.svg"), 5, ["cannot be written: permission denied"])


def test_damaged_profile(folder: Path) -> None:
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    path = folder / "r.cyprof"
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    check(cyprof(folder, "stats", "r.cyprof"), 4, ["r.cyprof is damaged", "Record it again"])
    path.write_bytes(data[:200])
    check(cyprof(folder, "stats", "r.cyprof"), 4, ["r.cyprof is truncated"])


def test_arguments_for_a_recording(folder: Path) -> None:
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    check(cyprof(folder, "stats", "r.cyprof", "--", "x"), 2, ["nothing is run"])
    check(cyprof(folder, "run", "r.cyprof", "-o", "s.cyprof"), 2, ["is a recording already"])
    check(cyprof(folder, "export", "r.cyprof"), 2, ["no file to write was given", ".json"])
    for words in (["lines", "r.cyprof"], ["export", "r.cyprof", "-o", "x.lprof"]):
        check(cyprof(folder, *words), 4, ["r.cyprof holds no lines", "cyprof run --lines prog.py -o r.cyprof"])
    check(cyprof(folder, "export", "r.cyprof", "--", "-o", "x.json"), 2, [])


def test_debug_shows_the_traceback(folder: Path) -> None:
    done = cyprof(folder, "graph", "nowhere.py", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err
    assert "cyprof: error: nowhere.py does not exist." in done.err


def test_debug_of_the_program_is_not_ours(folder: Path) -> None:
    assert "Traceback" not in cyprof(folder, "graph", "nowhere.py", "--", "--debug").err


def test_a_script_nobody_has_to_name_py(folder: Path) -> None:
    (folder / "tool").write_text("#!/usr/bin/env python3\nprint('tool')\n")
    assert cyprof(folder, "run", "tool", "--quiet").out == "tool\n"
    assert (folder / "tool.cyprof").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.cyprof]\nmin-shar = 3\n", ["unknown key 'min-shar'", "min-share"]),
        ("[tool.cyprof]\nmin-share = 300\n", ["min-share = 300", "percentage"]),
        ("[tool.cyprof]\nmin-share = 'x'\n", ["min-share = 'x'", "it is a number"]),
        ("[tool.cyprof]\nclock = 'slow'\n", ["clock = 'slow'", "auto, exact, sampled"]),
        ("[tool.cyprof]\nhide = [1]\n", ["hide = [1]", "a pattern or a list of patterns"]),
        ("[tool.cyprof]\nall = 1\n", ["all = 1", "true or false"]),
        ("[tool.cyprof\n", ["is no valid TOML"]),
        ("[tool]\ncyprof = 3\n", ["tool.cyprof is no table"]),
    ],
)
def test_bad_settings(folder: Path, text: str, said: Sequence[str]) -> None:
    (folder / "pyproject.toml").write_text(text)
    check(cyprof(folder, "stats", "prog.py"), 2, [str(folder / "pyproject.toml"), *said])


def test_a_pattern_that_fits_nothing_is_said(folder: Path) -> None:
    done = cyprof(folder, "stats", "prog.py", "--only", "nowhere")
    assert done.code == 0
    assert "--only nowhere fits no function" in done.err
    assert "built-in" not in done.out


def test_an_option_of_another_command_is_not_taken_for_the_programs(folder: Path) -> None:
    check(cyprof(folder, "graph", "prog.py", "--sort", "total"), 2, ["has no option --sort", "cyprof stats"])
