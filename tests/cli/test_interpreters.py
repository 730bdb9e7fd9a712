"""Interpreters that are not like others: several in a process, and one without the GIL."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from recorded import calls_by_process, record

from cyprof.collect.supported import require_gil
from cyprof.errors import CollectError

pytestmark = pytest.mark.every_python

ROOT = Path(__file__).parents[2]
PROGRAM = """
import subprocess, sys

try:
    import kern
except ImportError:  # in a child that is not recorded: the module was built nowhere else
    from types import SimpleNamespace
    kern = SimpleNamespace(work=abs)
try:
    import _xxsubinterpreters as interpreters
    run, kinds = interpreters.run_string, [{"isolated": True}, {"isolated": False}]
except ImportError:
    import _interpreters as interpreters
    run, kinds = interpreters.exec, [{}, {"config": "legacy"}]

code = '''
def inside(n):
    return n
for n in range(10):
    inside(n)
try:
    import kern
except ImportError as error:
    print(type(error).__name__, flush=True)
'''
kern.work(2)
for kind in kinds:
    made = interpreters.create(*kind.values()) if "config" in kind else interpreters.create(**kind)
    run(made, code)
    interpreters.destroy(made)
kern.work(3)
if not sys.argv[1:]:
    subprocess.run([sys.executable, "prog.py", "child"], check=True)
"""
KERNEL = "def work(int n):\n    return n\n"


def test_sub_interpreters_are_left_alone_and_said(tmp_path: Path) -> None:
    """Of the program's process and of one it starts: in each of theirs site reads cyprof.pth again, where it is installed."""
    profile = record(tmp_path, {"kern.pyx": KERNEL, "prog.py": PROGRAM}, cache=tmp_path / "cache")
    work = calls_by_process(profile, "work")
    assert work[""] == 2
    if (Path(sysconfig.get_path("platlib")) / "cyprof.pth").exists():
        assert work["prog.py"] == 2
    assert not calls_by_process(profile, "inside")
    assert sum(note.startswith("The program uses sub-interpreters") for note in profile.notes) == 1


def test_a_python_without_the_gil_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is none here to try: the configuration says that this is one."""
    require_gil()
    given = sysconfig.get_config_var
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else given(name))
    with pytest.raises(CollectError, match="built without the GIL"):
        require_gil()


def test_setup_refuses_a_python_without_the_gil() -> None:
    code = (
        "import sysconfig, runpy; sysconfig.get_config_var = lambda name: name == 'Py_GIL_DISABLED'; runpy.run_path('setup.py')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        done.stderr.strip().splitlines()[-1].startswith("cyprof does not work on this Python, which is built without the GIL")
    )
