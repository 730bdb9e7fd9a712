"""Programs that run on probed extensions: how the modules look to them, and builds they need on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from build_support import Bench, write

SUFFIX = EXTENSION_SUFFIXES[0]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("cache") / "c")


LOOKS = """
import importlib, importlib.resources, importlib.util, inspect, os, pickle, pkgutil, sys
import pkg
from pkg import fast
here = os.path.dirname(os.path.abspath(__file__))
assert pkg.__file__.startswith(os.path.join(here, "pkg", "__init__.")), pkg.__file__
assert pkg.__path__ == [os.path.join(here, "pkg")]
assert pkg.__spec__.submodule_search_locations == pkg.__path__
assert os.path.dirname(fast.__file__) == pkg.__path__[0]
assert fast.__spec__.origin == fast.__file__ and fast.__spec__.has_location
assert fast.__loader__ is fast.__spec__.loader and fast.__package__ == "pkg" and fast.__name__ == "pkg.fast"
assert inspect.getfile(fast) == fast.__file__ == inspect.getfile(fast.Thing)
assert open(os.path.join(os.path.dirname(fast.__file__), "data.txt")).read() == "data"
assert pkgutil.get_data("pkg", "data.txt") == b"data"
assert importlib.resources.files("pkg").joinpath("data.txt").read_text() == "data"
assert [m.name for m in pkgutil.iter_modules(pkg.__path__)] == ["plain"]
thing = pickle.loads(pickle.dumps(fast.Thing(5)))
assert type(thing) is fast.Thing and thing.value == 5
assert importlib.reload(fast) is fast and importlib.reload(pkg) is pkg
assert fast.Thing(2).value == 2
assert importlib.util.find_spec("pkg.fast").origin == fast.__file__
assert fast.__loader__.is_package("pkg.fast") is False and pkg.__loader__.is_package("pkg") is True
print("all well")
"""


def test_modules_look_as_without_cyprof(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": LOOKS,
        "pkg/__init__.pyx": "from . import plain\n",
        "pkg/plain.py": "",
        "pkg/fast.pyx": "class Thing:\n    def __init__(self, value):\n        self.value = value\n",
        "pkg/data.txt": "data",
    }
    assert bench.output(write(tmp_path, files)) == ["all well", "loaded pkg pkg.fast"]


def test_traceback_names_the_authors_line(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, {"main.py": "import fast\nfast.f()", "fast.pyx": "def f():\n    raise ValueError('no')\n"})
    built = bench.build(script)
    done = bench.run(script, built.overlay)
    assert done.returncode == 1
    assert 'fast.pyx", line 2, in fast.f' in done.stderr


DYNAMIC = {
    "main.py": "import importlib, sys\nname = 'fa' + 'st'\nfast = importlib.import_module(name)\n"
    "print(fast.f(), fast.__file__, sorted({'Cython', 'setuptools', 'subprocess', 'json'} & set(sys.modules)))\n",
    "fast.pyx": "import other\ndef f():\n    return other.g()\n",
    "other.pyx": "def g():\n    return 3\n",
}


def test_what_the_scan_missed_is_built_when_imported(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path, DYNAMIC)
    built = bench.build(script)
    assert built.overlay is not None and built.overlay["modules"] == {}
    done = bench.run(script, built.overlay, build_missing=True)
    first, loaded = done.stdout.splitlines()
    assert (first, loaded) == (f"3 {tmp_path}/fast{SUFFIX} ['json']", "loaded fast other"), done.stderr


def test_the_programs_own_module_named_like_the_standard_library(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import importlib\nimportlib.import_module('fa' + 'st')\nimport subprocess\nprint(subprocess.mine)",
        "fast.pyx": "",
        "subprocess.py": "mine = 1",
        "hashlib.py": "raise RuntimeError",
    }
    done = bench.run(write(tmp_path, files), None, build_missing=True)
    assert done.stdout.splitlines() == ["1", "loaded fast"], done.stderr


def test_a_failing_build_on_the_way_ends_the_program(bench: Bench, tmp_path: Path) -> None:
    text = (
        "import importlib\nprint('before')\ntry:\n    importlib.import_module('ba' + 'd')\n"
        "except BaseException:\n    print('went on')\n"
    )
    script = write(tmp_path, {"main.py": text, "bad.pyx": "def f(:\n"})
    done = bench.run(script, None, build_missing=True)
    assert (done.returncode, done.stdout) == (3, "before\n")
    assert done.stderr.startswith("cyprof: Cython cannot compile bad.pyx, line 1:")
    assert "cythonize -i bad.pyx" in done.stderr and "Traceback" not in done.stderr


def test_the_program_finds_another_module_when_it_changes_its_path(bench: Bench, tmp_path: Path) -> None:
    files = {
        "main.py": "import sys\nsys.path.insert(0, sys.path[0] + '/first')\nimport fast\nprint(fast.who)",
        "fast.pyx": "who = 'beside'",
        "first/fast.py": "who = 'first'",
    }
    assert bench.output(write(tmp_path, files)) == ["first", "loaded"]


def test_a_program_reached_through_a_link_is_the_same_program(bench: Bench, tmp_path: Path) -> None:
    script = write(tmp_path / "real", {"main.py": "import fast\nprint(fast.f())", "fast.pyx": "def f():\n    return 1\n"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    built = bench.build(script)
    done = bench.run(tmp_path / "link" / "main.py", built.overlay)
    assert done.stdout.splitlines() == ["1", "loaded fast"], done.stderr


def test_an_extension_that_everyone_can_write_is_not_loaded(bench: Bench, tmp_path: Path) -> None:
    """Though the program catches what it can: nothing may go on with it."""
    text = "try:\n    import fast\nexcept BaseException:\n    pass\nprint('went on')\n"
    script = write(tmp_path, {"main.py": text, "fast.pyx": "print('loaded')"})
    built = bench.build(script)
    extension = Path(built.entry("fast")["extension"])
    extension.chmod(0o777)
    done = bench.run(script, built.overlay)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"{extension} can be written by everyone" in done.stderr
    extension.chmod(0o755)
    assert bench.run(script, built.overlay).stdout.splitlines() == ["loaded", "went on", "loaded fast"]


def test_installed_modules_are_known_by_name_alone(bench: Bench, tmp_path: Path) -> None:
    script = write(
        tmp_path / "build", {"main.py": "import lib.core", "lib/__init__.py": "", "lib/core.pyx": "def f():\n    return 8\n"}
    )
    built = bench.build(script)
    site = tmp_path / "site-packages"
    plain = site / "lib" / f"core{SUFFIX}"
    write(site, {"lib/__init__.py": "", f"lib/core{SUFFIX}": "never loaded"})
    assert built.overlay is not None
    overlay = {**built.overlay, "modules": {"lib.core": {**built.entry("lib.core"), "loose": False}}}
    run = write(tmp_path / "run", {"main.py": "import lib.core\nprint(lib.core.f(), lib.core.__file__)"})
    done = bench.run(run, overlay, PYTHONPATH=f"{bench.environ()['PYTHONPATH']}:{site}")
    assert done.stdout.splitlines() == [f"8 {plain}", "loaded lib.core"], done.stderr


def test_interrupted_build_leaves_nothing_running_and_nothing_behind(tmp_path: Path) -> None:
    cache = Bench(tmp_path / "cache")
    text = "".join(f"def f{i}(x):\n    return [x + {i} for _ in range({i})]\n" for i in range(400))
    script = write(tmp_path / "p", {"main.py": "import slow", "slow.pyx": text})
    process = cache.start(script)
    scratch = tmp_path / "cache" / "scratch"
    deadline = time.monotonic() + 60
    while not (scratch.is_dir() and any(scratch.glob("*/slow.c"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) != 0
    assert list(scratch.iterdir()) == []
    assert list((tmp_path / "cache" / "builds").iterdir()) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert str(scratch) not in running


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_killed_build_is_never_taken_for_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "cache")
    script = write(tmp_path / "p", {"main.py": "import fast\nprint(fast.f())", "fast.pyx": "def f():\n    return 1\n"})
    scratch = tmp_path / "cache" / "scratch"
    process = bench.start(script)
    deadline = time.monotonic() + 60
    while not (scratch.is_dir() and any(scratch.glob("*/fast.c"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert list((tmp_path / "cache" / "builds").glob("*/*")) == []
    assert bench.output(script) == ["1", "loaded fast"]


def test_a_worker_that_is_killed_is_an_error_in_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "cache")
    killer = "import os\ndef make_ext(modname, pyxfilename):\n    os.kill(os.getpid(), 9)\n"
    script = write(tmp_path / "p", {"main.py": "import fast", "fast.pyx": "", "fast.pyxbld": killer})
    error = bench.build(script).error
    assert error is not None and error[0] == "The build of fast.pyx was stopped: Killed."
