"""Where output goes: the program's to where it always went, tables behind it on stdout, all else to stderr."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import cyprof, environ, write

import cyprof as product

PROGRAM = {"prog.py": "import sys\ndef work():\n    return sum(range(1000))\nprint('from the program', work(), sys.argv[1:])\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, PROGRAM)


def test_table_follows_the_programs_output(folder: Path) -> None:
    done = cyprof(folder, "stats", "prog.py", "--sort", "name", "--", "-x", "--", "y")
    first, _, table = done.out.partition("\n")
    assert first == "from the program 499500 ['-x', '--', 'y']"
    assert "Ordered by: function name" in table
    assert "prog.py:2(work)" in table
    assert done.err == ""


def test_graph_without_output_is_drawn_here(folder: Path) -> None:
    done = cyprof(folder, "graph", "prog.py")
    assert done.out == "from the program 499500 []\n"
    assert done.err == "cyprof: wrote graph.svg\n"
    assert "<svg" in (folder / "graph.svg").read_text(encoding="utf-8")


def test_recording_is_named_after_the_program(folder: Path) -> None:
    write(folder, {"pkg/__init__.py": "", "pkg/tool.py": ""})
    for words, name in (
        (["prog.py"], "prog"),
        (["-m", "pkg.tool"], "pkg.tool"),
        (["-c", "pass"], "code"),
        (["./pkg/tool.py"], "tool"),
    ):
        assert cyprof(folder, "run", *words).err == f"cyprof: wrote {name}.cyprof\n"
        assert (folder / f"{name}.cyprof").exists()


@pytest.mark.parametrize(
    "words", [["-o", "g.dot", "prog.py"], ["prog.py", "-o", "g.dot"], ["-og.dot", "prog.py"], ["prog.py", "--output=g.dot"]]
)
def test_options_stand_before_or_after_the_target(folder: Path, words: list[str]) -> None:
    done = cyprof(folder, "graph", *words, "--", "--epochs")
    assert done.out == "from the program 499500 ['--epochs']\n"
    assert (folder / "g.dot").read_text(encoding="utf-8").startswith("digraph")


def test_quiet(folder: Path) -> None:
    done = cyprof(folder, "graph", "prog.py", "-o", "g.dot", "--quiet")
    assert (done.code, done.err) == (0, "")


def test_one_recording_many_looks(folder: Path) -> None:
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    (folder / "prog.py").unlink()
    assert "work" in cyprof(folder, "stats", "r.cyprof").out
    assert cyprof(folder, "graph", "r.cyprof", "-o", "g.dot").code == 0
    assert cyprof(folder, "export", "r.cyprof", "-o", "r.json").code == 0
    data = json.loads((folder / "r.json").read_text())
    assert data["schema"] == "cyprof/1"
    assert data["run"]["argv"] == ["prog.py"]
    assert all(os.path.isabs(f["file"]) for f in data["functions"] if f["file"])


def test_recordings_are_known_by_their_content(folder: Path) -> None:
    assert cyprof(folder, "run", "prog.py", "-o", "r.cyprof").code == 0
    (folder / "r.cyprof").rename(folder / "renamed")
    assert "work" in cyprof(folder, "stats", "renamed").out


def test_files_of_functions_exist(folder: Path) -> None:
    write(
        folder,
        {"names.py": "from collections import namedtuple\nP = namedtuple('P', 'x')\nexec('def g(): pass')\ng(); import abc\n"},
    )
    assert cyprof(folder, "run", "names.py", "-o", "r.cyprof").code == 0
    functions = product.load(folder / "r.cyprof").functions
    assert all(Path(function.file).is_absolute() and Path(function.file).is_file() for function in functions if function.file)
    assert "importlib._bootstrap" not in {function.file for function in functions}


def test_lines(folder: Path) -> None:
    assert cyprof(folder, "lines", "prog.py", "-o", "l.json").code == 0
    data = json.loads((folder / "l.json").read_text())
    assert {line["line"] for line in data["lines"] if line["file"] == str(folder / "prog.py")} >= {3}
    assert cyprof(folder, "run", "prog.py", "--lines", "-o", "r.cyprof").code == 0
    assert product.load(folder / "r.cyprof").run.with_lines


def test_defaults_from_pyproject(folder: Path) -> None:
    write(
        folder,
        {"pyproject.toml": "[tool.cyprof]\nsort = 'name'\nquiet = true\nhide = 'wor*'\n", "sub/prog.py": PROGRAM["prog.py"]},
    )
    done = cyprof(folder / "sub", "stats", "prog.py")
    assert "Ordered by: function name" in done.out
    assert "work" not in done.out
    assert "Ordered by: call count" in cyprof(folder / "sub", "stats", "prog.py", "--sort", "calls").out


def test_pyproject_of_others(folder: Path) -> None:
    write(folder, {"pyproject.toml": "[project]\nname = 'x'\n"})
    assert cyprof(folder, "stats", "prog.py").code == 0


def test_help_and_version(folder: Path) -> None:
    version = cyprof(folder, "--version")
    assert version.out.startswith(f"cyprof {product.__version__}")
    shown = cyprof(folder, "--help")
    assert (shown.code, shown.err) == (0, "")
    for command in ("graph", "lines", "stats", "run", "export"):
        assert command in shown.out
        detail = cyprof(folder, command, "--help")
        assert (detail.code, detail.err) == (0, "")
        assert "examples:" in detail.out
        assert detail.out.startswith(f"usage: cyprof {command}")
        assert max(map(len, detail.out.splitlines())) <= 120
    nothing = cyprof(folder)
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.err == shown.out


def on_a_terminal(folder: Path, *words: str) -> tuple[str, str]:
    """stdout by a pipe, and what a terminal on stderr shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cyprof", *words], cwd=folder, env=environ(), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=60)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return out.decode(), shown.decode().replace("\r\n", "\n")


def test_progress_only_on_a_terminal(folder: Path) -> None:
    out, shown = on_a_terminal(folder, "graph", "prog.py", "-o", "g.dot")
    assert out == "from the program 499500 []\n"
    assert shown == "cyprof: running prog.py\ncyprof: drawing g.dot\ncyprof: wrote g.dot\n"
    assert on_a_terminal(folder, "graph", "prog.py", "-o", "g.dot", "--quiet")[1] == ""


def test_stdout_that_cannot_show_a_name(folder: Path) -> None:
    write(folder, {"prog.py": "def größe(): pass\ngröße()\n"})
    done = cyprof(folder, "stats", "prog.py", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == 0
    assert "gr" in done.out


def test_closed_streams(folder: Path) -> None:
    command = f"{sys.executable} -m cyprof stats prog.py >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], cwd=folder, env=environ(), check=False, timeout=60).returncode in (0, 1)
    command = f"{sys.executable} -m cyprof run -c pass -o x.cyprof >&- 2>&- <&-"
    assert subprocess.run(["bash", "-c", command], cwd=folder, env=environ(), check=False, timeout=60).returncode == 0
    assert (folder / "x.cyprof").exists()


def test_a_program_never_sees_what_cyprof_needs(folder: Path) -> None:
    code = "import sys; print([n for n in ('rich', 'numpy', 'Cython', 'graphviz', 'json', 'argparse') if n in sys.modules])"
    assert cyprof(folder, "run", "-c", code).out == "[]\n"


def test_module_and_import_are_light() -> None:
    code = "import sys, cyprof; print(len([n for n in sys.modules if n.startswith('cyprof')]), cyprof.Profile, cyprof.load)"
    done = subprocess.run([sys.executable, "-c", code], env=environ(), capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 <class 'cyprof.model.profile.Profile'> <function load")
