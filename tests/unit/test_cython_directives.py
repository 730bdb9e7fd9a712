"""Where tracing is asked for: found with its line and condition, and nothing else is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cyprof.cython.directives import marks_in
from cyprof.doctor.tracing import mending_command


def found(folder: Path, name: str, text: str) -> list[tuple[int, str, str]]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [(mark.line, mark.name, mark.condition) for mark in marks_in(path)]


SOURCES = {
    "# cython: profile=True\n": [(1, "profile", "")],
    "# -*- coding: utf-8 -*-\n\n# CYTHON: language_level=3, linetrace = True\n": [(3, "linetrace", "")],
    "\ufeff# cython: profile=1\n": [(1, "profile", "")],
    "# distutils: define_macros=CYTHON_TRACE=1 CYTHON_TRACE_NOGIL=1\n": [
        (1, "CYTHON_TRACE", ""),
        (1, "CYTHON_TRACE_NOGIL", ""),
    ],
    "cimport cython\n# cython: profile=True\n": [],  # behind the first code it is a comment like any other
    "# cython: profile=False, linetrace=False\n": [],
    "# profile=True\n": [],
    "@cython.profile(True)\ndef f(): pass\n": [(1, "profile", "")],
    "    @linetrace(True)\n": [(1, "linetrace", "")],
    "def f():\n    with cython.profile(True):\n        pass\n": [(2, "profile", "")],
    "@cython.profile(False)\ndef f(profile=True): pass\n": [],
    '"""\n@cython.profile(True)\n"""\nx = "@cython.linetrace(True)"  # @cython.profile(True)\n': [],
    '"""Title."""\n@cython.profile(True)\ndef f(): "it\'s"\n@cython.linetrace(True)\n': [
        (2, "profile", ""),
        (4, "linetrace", ""),
    ],
}


@pytest.mark.parametrize("text", SOURCES)
@pytest.mark.parametrize("suffix", [".pyx", ".pxd", ".py"])
def test_sources(text: str, suffix: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"a{suffix}", text) == SOURCES[text]


SETUP = '''
"""How to build: linetrace=True is for tests."""
import os
from Cython.Build import cythonize
# "profile": True
TRACE = "TRACE" in os.environ
directives = {"linetrace": TRACE, 'profile': True}
directives["linetrace"] = True
macros = [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", 1), ("CYTHON_TRACE", "0")]
if TRACE:
    directives["profile"] = True
    macros += [("CYTHON_TRACE", "1")]
else:
    flags = ["-DCYTHON_TRACE", "-DCYTHON_TRACE_NOGIL=1"]
cythonize("a.pyx", compiler_directives=dict(profile=False, linetrace=True))
'''
BUILD_FILES = {
    "setup.py": (
        SETUP,
        [
            (7, "profile", ""),
            (7, "linetrace", "TRACE"),
            (8, "linetrace", ""),
            (9, "CYTHON_TRACE", ""),
            (9, "CYTHON_TRACE_NOGIL", ""),
            (11, "profile", "TRACE"),
            (12, "CYTHON_TRACE", "TRACE"),
            (14, "CYTHON_TRACE", "not (TRACE)"),
            (14, "CYTHON_TRACE_NOGIL", "not (TRACE)"),
            (15, "linetrace", ""),
        ],
    ),
    "meson.build": (
        "# '-X', 'profile=True'\nargs = ['-X', 'linetrace=True', '-Xprofile=True']\nif get_option('trace')\n"
        "  add_project_arguments('-DCYTHON_TRACE=1', language: 'c')\nelif other\n  x = ['-Xprofile=True']\nendif\n",
        [
            (2, "linetrace", ""),
            (2, "profile", ""),
            (4, "CYTHON_TRACE", "get_option('trace')"),
            (6, "profile", "other"),
        ],
    ),
    "CMakeLists.txt": (
        'if(TRACE)\n  add_definitions(-DCYTHON_TRACE)\nelse()\n  set(A "-X linetrace=True")\nendif()\nset(B profile=True)\n',
        [(2, "CYTHON_TRACE", "TRACE"), (4, "linetrace", "not (TRACE)"), (6, "profile", "")],
    ),
    "pyproject.toml": (
        "[tool.other]\nprofile = true\n[tool.hatch.build.hooks.cython.options]\nprofile = true  # yes\n"
        "directives = { linetrace = true }\n# linetrace = true\ndefine_macros = [['CYTHON_TRACE', '1']]\n",
        [(4, "profile", ""), (5, "linetrace", ""), (7, "CYTHON_TRACE", "")],
    ),
    "setup.cfg": (
        "[build_ext]\ndefine = CYTHON_TRACE=1\ncython-directives = linetrace=True\n",
        [(2, "CYTHON_TRACE", ""), (3, "linetrace", "")],
    ),
}


@pytest.mark.parametrize("name", BUILD_FILES)
def test_build_files(name: str, tmp_path: Path) -> None:
    text, expected = BUILD_FILES[name]
    assert found(tmp_path, name, text) == expected


def test_a_script_that_builds_counts_where_a_project_is_built_from(tmp_path: Path) -> None:
    text = "from Cython.Build import cythonize\ncythonize('a.pyx', compiler_directives={'profile': True})\n"
    assert found(tmp_path, "build_ext.py", text) == []
    (tmp_path / "pyproject.toml").touch()
    assert found(tmp_path, "build_ext.py", text) == [(2, "profile", "")]
    assert found(tmp_path, "program.py", "options = {'profile': True}\n") == []


@pytest.mark.parametrize("text", ["def f(:\n", "x = '''\n", "\0", "if 1:\n  x\n y\n", "\x0c\r\r\n", "é" * 9])
@pytest.mark.parametrize("name", ["setup.py", "a.pyx", "meson.build", "pyproject.toml"])
def test_what_is_no_valid_source_is_still_read(text: str, name: str, tmp_path: Path) -> None:
    found(tmp_path, name, f"{text}{{'profile': True}} linetrace=True CYTHON_TRACE=1 endif else")


def test_the_commands_mend_every_unconditional_place(tmp_path: Path) -> None:
    texts = {name: text for name, (text, _) in BUILD_FILES.items()} | {
        f"s{number} it's.pyx": text for number, text in enumerate(SOURCES)
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        before = marks_in(path)
        for mark in before:
            command = mending_command(mark)
            assert bool(command) == (not mark.condition)
            if command:
                subprocess.run(command, shell=True, check=True)
        left = [(mark.line, mark.condition) for mark in before if mark.condition]
        assert [(mark.line, mark.condition) for mark in marks_in(path)] == left, name
        assert path.read_text(encoding="utf-8").count("\n") == text.count("\n")
