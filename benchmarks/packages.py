"""Builds packages of the index with probes, runs a small workload of each, and checks the calls of their Cython functions.

    python benchmarks/packages.py [NAME ...] [--python PYTHON] [--keep FOLDER]

Everything lies in one folder, which is removed at the end unless --keep names one: a venv in which cyprof and the packages
are installed as a user would install them, and a cache. Prints a table; ends with exit code 1 when a package has no probes
or a count is not the one expected.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Package:
    """A package: the workload, and the calls of some of its functions (`module:function`) that it must make. `options` are
    those of its build, `beside` packages that are installed but not built."""

    name: str
    backend: str
    workload: str
    calls: dict[str, int]
    options: tuple[str, ...] = ()
    beside: tuple[str, ...] = field(default=())


PACKAGES = [
    Package(
        "cymem",
        "setuptools, C++",
        "from cymem.cymem import Pool\n"
        "for i in range(1000):\n    pool = Pool()\n    for _ in range(3): pool.own_pyref(object())\n    del pool\n",
        {"cymem.cymem:Pool.own_pyref": 3000, "cymem.cymem:Pool.__cinit__": 1000, "cymem.cymem:Pool.__dealloc__": 1000},
    ),
    Package(
        "frozenlist",
        "in-tree",
        "from frozenlist import FrozenList\n"
        "for i in range(500):\n    one = FrozenList([1, 2, 3]); one.append(i); one.freeze(); len(one); one[0]\n",
        {f"frozenlist._frozenlist:FrozenList.{name}": 500 for name in ("append", "_check_frozen", "_fast_len", "__getitem__")},
    ),
    Package(
        "PyYAML",
        "in-tree, old_build_ext",
        "import yaml\nfor _ in range(100): yaml.load('{a: 1, b: [1, 2]}', Loader=yaml.CSafeLoader)\n",
        {
            "yaml._yaml:CParser._parse_next_event": 1700,
            "yaml._yaml:CParser._compose_node": 700,
            "yaml._yaml:CParser._compose_scalar_node": 500,
            "yaml._yaml:Mark.__init__": 1400,
        },
    ),
    Package(
        "msgpack",
        "setuptools, ships C",
        "import msgpack\nfor i in range(300): msgpack.unpackb(msgpack.packb({'a': [1, 2.5, 'x']}))\n",
        {
            "msgpack._cmsgpack:Packer.pack": 300,
            "msgpack._cmsgpack:Packer._pack_inner": 1800,
            "msgpack._cmsgpack:unpackb": 300,
            "msgpack._cmsgpack:get_data_from_buffer": 300,
        },
    ),
    Package(
        "cftime",
        "setuptools, numpy",
        "import cftime, datetime\nfor i in range(200):\n"
        "    day = cftime.datetime(2000, 1, 1, calendar='noleap') + datetime.timedelta(days=1)\n",
        {
            "cftime._cftime:datetime.__init__": 400,
            "cftime._cftime:assert_valid_date": 400,
            "cftime._cftime:add_timedelta": 200,
            "cftime._cftime:DatetimeNoLeap.__init__": 200,
        },
    ),
    Package(
        "PyWavelets",
        "meson-python, numpy",
        "import pywt\nfor _ in range(50): pywt.dwt([1.0, 2.0, 3.0, 4.0], 'db2')\n",
        {"pywt._extensions._dwt:dwt_single[float64_t]": 50, "pywt._extensions._pywt:wname_to_code": 100},
    ),
    Package(
        "implicit",
        "scikit-build-core, OpenMP",
        "from implicit.nearest_neighbours import CosineRecommender\nfrom scipy.sparse import csr_matrix\n"
        "model = CosineRecommender(K=2, num_threads=1)\n"
        "model.fit(csr_matrix([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]]), show_progress=False)\n",
        {"implicit._nearest_neighbours:all_pairs_knn": 1},
        options=("--env", "IMPLICIT_DISABLE_CUDA=1"),
        beside=("scipy",),
    ),
    Package(
        "dbus-fast",
        "poetry, .py and .pxd",
        "from dbus_fast import Message\nfor i in range(100):\n"
        "    Message('org.a', '/a', 'org.a', 'B', signature='as', body=[['x', 'y']], serial=i + 1)._marshall(False)\n",
        {
            "dbus_fast.message:Message._marshall": 100,
            "dbus_fast._private.marshaller:Marshaller._construct_buffer": 200,
            "dbus_fast._private.marshaller:Marshaller._write_array": 200,
        },
    ),
    Package(
        "preshed",
        "setuptools, C++, cimports cymem",
        "from preshed.maps import PreshMap\none = PreshMap()\nfor i in range(1, 401): one[i] = i\n"
        "assert sum(one[i] for i in range(1, 401)) == 80200\n",
        {"preshed.maps:PreshMap.__setitem__": 400, "preshed.maps:PreshMap.__getitem__": 400},
        beside=("cymem", "murmurhash"),
    ),
    Package(
        "uvloop",
        "setuptools, libuv, ships C",
        "import uvloop\nloop = uvloop.new_event_loop()\n"
        "for _ in range(300): loop.call_soon(len, '')\nfor _ in range(200): loop.time()\n"
        "loop.call_soon(loop.stop)\nloop.run_forever()\nloop.close()\n",
        {"uvloop.loop:Loop.call_soon": 301, "uvloop.loop:Loop.time": 200, "uvloop.loop:Loop.run_forever": 1},
    ),
    Package(
        "lxml",
        "setuptools, libxml2, ships C",
        "from lxml import etree\nfor _ in range(100):\n    root = etree.fromstring('<a><b c=\"1\"/><b/></a>')\n"
        "    for child in root: child.get('c')\n    etree.tostring(root)\n",
        {"lxml.etree:fromstring": 100, "lxml.etree:_Element.get": 200, "lxml.etree:tostring": 100},
    ),
]


class Bench:
    """A folder with a venv, in which cyprof and the packages are used."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        self.environ = {**os.environ, "CYPROF_CACHE_DIR": str(folder / "cache")}
        if not self.python.is_file():
            subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        self.install("--force-reinstall", "--no-deps", str(ROOT))
        self.install(str(ROOT))

    def install(self, *words: str) -> None:
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", *words], check=True)

    def cyprof(self, *words: str) -> tuple[float, subprocess.CompletedProcess[str]]:
        """Seconds and what came of it."""
        started = time.perf_counter()
        command = [self.python, "-m", "cyprof", *words]
        done = subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True)
        return time.perf_counter() - started, done

    def check(self, package: Package) -> tuple[str, bool]:
        """A row of the table, and whether all was as expected."""
        self.install(package.name, *package.beside)
        words = ("build", package.name, "-O0", *package.options)
        took, done = self.cyprof(*words)
        if done.returncode:
            return f"not built: {done.stderr.splitlines()[0] if done.stderr else done.returncode}", False
        again, done = self.cyprof(*words)
        title = done.stderr.splitlines()[-1].removeprefix("cyprof: ").partition(":")[0]
        (self.folder / "workload.py").write_text(package.workload)
        _, done = self.cyprof("run", "workload.py", "--package", package.name, "-o", "workload.cyprof")
        if done.returncode:
            return f"{title}: not run: {done.stderr.splitlines()[-1] if done.stderr else done.returncode}", False
        self.cyprof("export", "workload.cyprof", "-o", "workload.json")
        profile = json.loads((self.folder / "workload.json").read_text())
        seen = {f"{f['module']}:{f['name']}": f["calls"] for f in profile["functions"] if f["kind"] in ("def", "cdef", "cpdef")}
        wrong = {name: seen.get(name, 0) for name, calls in package.calls.items() if seen.get(name, 0) != calls}
        verdict = f"{len(package.calls)} counts exact" if not wrong else f"WRONG {wrong}"
        row = f"{title:<22} {package.backend:<32} {took:>7.1f} {again:>6.2f} {len(seen):>9} {sum(seen.values()):>8}  {verdict}"
        return row, not wrong


def main() -> int:
    """Prints the table and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(package.name for package in PACKAGES)} (default: all)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to use")
    parser.add_argument("--keep", type=Path, help="work in this folder, and leave it")
    options = parser.parse_args()
    chosen = [package for package in PACKAGES if not options.names or package.name in options.names]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep.absolute() if options.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, options.python)
        print(f"{'package':<22} {'backend':<32} {'build s':>7} {'again':>6} {'functions':>9} {'calls':>8}")
        good = True
        for package in chosen:
            row, fine = bench.check(package)
            print(row, flush=True)
            good &= fine
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
