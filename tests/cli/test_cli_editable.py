"""Projects that pip installed in editable mode, by backends with import finders of their own: probed in every process."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from cli_support import Done, run, write
from projects import renamed

import cyprof

ROOT = Path(cyprof.__file__).parent.parent
TOYS = {"mtoy": "meson-python", "ktoy": "scikit-build-core"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a venv in which both are installed, as those who work on them do it, and cyprof with its .pth file."""
    folder = tmp_path_factory.mktemp("editable")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    place = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=place))
    # What the tests run on is there, too: the build tools, and whichever cyprof is tested.
    outer = dict.fromkeys([str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (site / "a-outer.pth").write_text("\n".join(outer))
    shutil.copy(Path(__file__).parents[2] / "cyprof.pth", site)
    for name, backend in TOYS.items():
        checkout = write(folder / name / "checkout", renamed(backend, name))
        python = str(folder / "venv/bin/python")
        words = ["--python", python, "install", "--quiet", "--no-build-isolation", "--no-deps", "-e", str(checkout)]
        done = run([sys.executable, "-m", "pip", *words], folder, **settings(folder))
        assert done.code == 0, done.out + done.err
    return folder


def settings(folder: Path) -> dict[str, str]:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {"CFLAGS": "-O0", "PATH": tools, "CYPROF_CACHE_DIR": str(folder / "cache")}


def record(
    folder: Path, *words: str, flags: tuple[str, ...] = (), **more: str
) -> tuple[Done, dict[str, dict[str, int]], list[dict[str, str]]]:
    """Runs `cyprof run` on the venv's Python; returns what it said, the calls by module and function, and what was unseen."""
    command = [str(folder / "venv/bin/python"), *flags, "-m", "cyprof"]
    environ = settings(folder) | more
    done = run([*command, "run", "-o", "run.cyprof", *words], folder, **environ)
    assert done.code == 0, done.out + done.err
    assert run([*command, "export", "run.cyprof", "-o", "run.json"], folder, **environ).code == 0
    profile = json.loads((folder / "run.json").read_text())
    calls: dict[str, dict[str, int]] = {}
    for one in profile["functions"]:
        if one["kind"] in ("cdef", "cpdef"):
            calls.setdefault(one["module"], {})[one["name"]] = one["calls"]
    return done, calls, profile["unseen"]


PROGRAM = """
import multiprocessing, subprocess, sys
from NAME import kernel

if __name__ == "__main__":
    kernel.total(1)
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=kernel.total, args=(10,))
        process.start()
        process.join()
    for flags in ([], ["-I"]):
        subprocess.run([sys.executable, *flags, "-c", "from NAME import kernel; kernel.total(100)"], check=True)
"""


@pytest.mark.parametrize("name", TOYS)
def test_its_modules_are_probed_in_every_process_though_no_package_is_named(name: str, folder: Path) -> None:
    """cyprof itself runs isolated (-I), and the program with it."""
    write(folder, {f"{name}.program.py": PROGRAM.replace("NAME", name)})
    _, calls, unseen = record(folder, f"{name}.program.py", flags=("-I",))
    assert unseen == []
    assert calls == {f"{name}.kernel": {"total": 5, "scaled": 1 + 20 + 200}}


def test_as_a_package_under_pytest(folder: Path, cache: Path) -> None:
    """The other one is named with what would show it: nothing tells beforehand what the tests import."""
    imports = "".join(f"from {name} import kernel as {name}\n" for name in TOYS)
    test = f"{imports}\ndef test_total():\n    assert mtoy.total(4) == ktoy.total(4) == 12\n"
    write(folder, {"tests/test_total.py": test})
    words = ("-m", "pytest", "--package", "mtoy", "--", "-q", "-p", "no:cacheprovider", "tests")
    done, calls, unseen = record(folder, *words, CYPROF_CACHE_DIR=str(cache))
    assert "1 passed" in done.out
    assert calls == {"mtoy.kernel": {"total": 1, "scaled": 4}}
    assert [(one["module"], one["hint"]) for one in unseen] == [("ktoy", "See into it: --package ktoy")]
