"""Where the commands of the documentation are run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from docs_blocks import DOCS, ROOT

SMALLER = {
    "train_mnist.py": {"default=2, help": "default=1, help", "default=100,": "default=500,", "default=1000,": "default=30,"},
    "relu_derivative.py": {"3072 *": "16 *"},
    "relu_kernels.pyx": {"args = -O3": "args = -O0"},
    "mnist_trainer/adam.pyx": {"args = -O3": "args = -O0"},
    "mnist_trainer/relu.pyx": {"args = -O3": "args = -O0"},
}
"""What is put into the examples for the tests: less to compute and to compile, and the same calls."""
SCRIPTS = {
    "cyprof": "#!{python}\nimport sys\nfrom cyprof.cli import main\nsys.exit(main())\n",
    "pip": '#!/bin/sh\nexec "{python}" -m pip "$@"\n',
    "browser": '#!/bin/sh\nprintf %s "$1" > address.part\nmv address.part address\n',
}
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
}  # fmt: skip
"""More ranks than processors, and of whoever runs the tests."""
FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf"
"""Where Debian's libdevel-nytprof-perl has flamegraph.pl."""


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A virtual environment as a user has it (VENV, in the folder WORK), in which all that the tests' own holds is there: `pip`
    installs beside that, `make` takes it for up to date. Pages share a cache; compilers do not optimise; a browser writes down
    what it is asked to show."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    (root / "docs-cache").mkdir(mode=0o700, exist_ok=True)
    venv = tmp_path_factory.mktemp("user") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "of_the_tests.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    for name, text in SCRIPTS.items():
        path = venv / "bin" / name
        path.write_text(text.format(python=venv / "bin" / "python"))
        path.chmod(0o755)
    (venv / ".installed").touch()
    places = [str(venv / "bin"), str(Path(sys.executable).parent), os.environ["PATH"], FLAMEGRAPH]
    return {
        "PATH": os.pathsep.join(places), "CYPROF_CACHE_DIR": str(root / "docs-cache"), "COLUMNS": "120", "CFLAGS": "-O0",
        "VENV": str(venv), "BROWSER": str(venv / "bin" / "browser"), "WORK": str(venv.parent), **MPI,
    }  # fmt: skip


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as it comes, but with smaller examples."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("cyprof", "benchmarks", "tests", "docs"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("*.so", "_build", "__pycache__"))
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("*.so", "*.c", "build", "__pycache__"))
    for name in ("Makefile", "README.md", "LICENSE", "cyprof.pth", "pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / name, place)
    for name, exchanged in SMALLER.items():
        path = place / "examples" / name
        text = path.read_text(encoding="utf-8")
        for old, new in exchanged.items():
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return place


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one page. It is made anew in the same place each time, so that builds are found in the cache."""
    place = tmp_path_factory.getbasetemp() / "docs-page"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(DOCS / "example", place)
    return place
