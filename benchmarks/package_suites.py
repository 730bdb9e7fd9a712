"""The own test suites of packages with C extensions, as they are and under `cyprof stats --package NAME -m pytest`.

    python benchmarks/package_suites.py [NAME ...] [--python PYTHON] [--keep FOLDER]

Each package is downloaded as source distribution and installed, with cyprof, into a venv in one folder, which is removed
at the end unless --keep names one. Prints, for each, what pytest says of every test without and with cyprof; exit
code 1 when a test ends otherwise, or when cyprof saw no function of the package.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as tree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Suite:
    """A package, the folder of its tests in its source distribution, and what they need."""

    name: str
    tests: str
    needs: tuple[str, ...] = ()


SUITES = (Suite("frozenlist", "tests"), Suite("PyYAML", "tests"))


class Bench:
    """A venv with cyprof in it, and a cache, in one folder."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.python = str(folder / "venv" / "bin" / "python")
        self.environ = {**os.environ, "CYPROF_CACHE_DIR": str(folder / "cache")}
        if not Path(self.python).exists():
            self.run([python, "-m", "venv", str(folder / "venv")], folder)
            self.pip("install", "pytest", str(ROOT))

    def run(self, command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=cwd, env=self.environ, capture_output=True, text=True, check=False)

    def pip(self, *words: str) -> None:
        done = self.run([self.python, "-m", "pip", "-q", *words], self.folder)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)

    def sources(self, suite: Suite) -> Path:
        """The unpacked source distribution of the version that is installed."""
        place = self.folder / suite.name
        if not place.exists():
            # Built here, too: a wheel may bring a newer C library than the one that both are built with.
            self.pip("install", "--no-binary", suite.name, suite.name, *suite.needs)
            version = self.run([self.python, "-m", "pip", "show", suite.name], self.folder).stdout
            exact = f"{suite.name}=={re.search(r'^Version: (.*)$', version, re.M)[1]}"  # type: ignore[index]
            self.pip("download", "--no-deps", "--no-binary", suite.name, "-d", str(place), exact)
            with tarfile.open(next(place.glob("*.tar.gz"))) as packed:
                packed.extractall(place, filter="data")
        return next(entry for entry in place.iterdir() if entry.is_dir())

    def check(self, suite: Suite) -> bool:
        """Runs a suite both ways and prints what came of it; whether it came out alike."""
        # The tests alone: the package that is tested is the installed one.
        tests = self.folder / f"{suite.name}-tests"
        source = self.sources(suite) / suite.tests
        if not tests.exists():
            tests.symlink_to(source)
        words = ["-m", "pytest", "--", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", str(tests), str(tests)]
        plain = self.outcomes([*words[:2], *words[3:]], tests)
        stats = ["-m", "cyprof", "stats", "--package", suite.name, "--all", *words]
        ours = self.outcomes(stats, tests)
        other = {name: (end, ours.get(name)) for name, end in plain.items() if ours.get(name) != end}
        seen = len(re.findall(r"\.pyx:\d+\(", self.said))
        ends = ", ".join(f"{list(plain.values()).count(end)} {end}" for end in sorted(set(plain.values())))
        print(f"{suite.name:<12} {ends:<28} {len(other):>3} differ   {seen:>4} functions of its .pyx seen", flush=True)
        for name, (before, now) in other.items():
            print(f"    {name}: {before} without cyprof, {now} under it")
        if not (plain and seen):
            print(self.said[-2000:])
        return bool(plain) and not other and seen > 0

    def outcomes(self, words: list[str], tests: Path) -> dict[str, str]:
        """How each test ended, by its name, from pytest's own report."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        done = self.run([self.python, *words, f"--junitxml={report}"], tests)
        self.said = done.stdout + done.stderr
        if not report.exists():
            return {}
        return {
            f"{case.get('classname')}.{case.get('name')}": next(
                (child.tag for child in case if child.tag != "properties"), "passed"
            )
            for case in tree.parse(report).getroot().iter("testcase")
        }


def main() -> int:
    """Prints the table and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(suite.name for suite in SUITES)} (default: all)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to use")
    parser.add_argument("--keep", type=Path, help="work in this folder, and leave it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep.absolute() if options.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, options.python)
        chosen = [suite for suite in SUITES if not options.names or suite.name in options.names]
        alike = [bench.check(suite) for suite in chosen]
        return 0 if all(alike) else 1


if __name__ == "__main__":
    sys.exit(main())
