"""How the commands of README.md, examples/README.md and docs/ are run: as they stand there, with smaller amounts behind them.

Commands of a block are run page by page, from top to bottom. What stands in running text is run once, unless a block has it, or
a target of the Makefile that is run.
"""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from pathlib import Path

from cli_support import Done, environ, run
from docs_blocks import ROOT, Command, commands, mentions, pages

STEPS = ("make demo", "make test", "make docs")
"""Steps of .ci/run, which are not run once more."""
NOT_RUN = {
    "docker build -t cyprof .": "there is no Docker engine in CI; make image-check builds the Dockerfile with buildah, as root",
    "docker run -v $PWD:/work cyprof graph examples/train_mnist.py -o graph.png": "make image-check runs it in that image",
}
"""Commands that no test runs, and why."""
AMOUNTS = {
    'cyprof diff "examples/train_mnist.py --stage cdef" "examples/train_mnist.py --stage adam" --runs 5': "--runs 1",
    'cyprof diff "examples/train_mnist.py --stage python" "examples/train_mnist.py --stage cython" --runs 5': "--runs 1",
    "make bench": "BENCH_ROUNDS=1",
    "make fuzz": "FUZZ_SECONDS=1",
    "make sanitize": "SANITIZE_ARGS=run_recursion.py",
    "make study": "STUDY_ARGS='--only mnist --runs 1 --epochs 1'",
    "make study-full": "STUDY_ARGS='--epochs 1 --stages python'",
    "python benchmarks/cpython_tests.py": "test_sys_setprofile",
    "python benchmarks/demo_overhead.py": "1",
    "python benchmarks/diff_rates.py": "1 1",
    "python benchmarks/export_time.py": "1000",
    "python benchmarks/package_suites.py": "frozenlist --keep $WORK",
    "python benchmarks/packages.py": "cymem --keep $WORK",
    "python benchmarks/pressure.py": "recursion",
}
"""What is put behind a command that would otherwise take minutes: the least that it can be asked for."""
IN_CHECKOUT = re.compile(r"^(make|npm) |^pip install '?\.|\b(examples|benchmarks)/")
"""Commands for which a reader stands in a checkout. For others it is a folder with docs/example in it."""
VIEWERS = ("snakeviz", "tuna")
"""Commands that show a page in a browser, and end when they are interrupted."""


def to_run(page: Path) -> list[Command]:
    """The commands of a page's blocks, without those that are not run."""
    return [command for command in commands(page) if command.text not in (*STEPS, *NOT_RUN)]


def running_text() -> list[str]:
    """The commands that stand in running text alone, each once."""
    found = list(dict.fromkeys(mention for page in pages() for mention in mentions(page)))
    ran = [command.text for page in pages() for command in to_run(page)] + [*STEPS, *NOT_RUN]
    recipes = [part for command in {*found, *ran}.difference(NOT_RUN) for part in recipe(command)]
    words = [text.split() for text in (*ran, *recipes)]
    return [text for text in found if not any(text.split() == other[: len(text.split())] for other in words)]


def recipe(command: str) -> list[str]:
    """What the Makefile runs for `make TARGET` with the programs of its virtual environment; nothing for another command."""
    target = re.fullmatch(r"make ([\w-]+)", command)
    lines = re.search(rf"^{target[1]}:.*\n((?:\t.*\n)*)", _MAKEFILE, re.MULTILINE) if target else None
    return [line.removeprefix("\t$(BIN)/") for line in lines[1].splitlines() if line.startswith("\t$(BIN)/")] if lines else []


_MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def perform(text: str, folder: Path, tools: dict[str, str]) -> Done:
    """Runs a command to its end; of a viewer that is when its page was read, which stands in `out` then."""
    if text.split()[0] in VIEWERS:
        return _view(text, folder, tools)
    return run(["bash", "-c", f"{text} {AMOUNTS.get(text, '')}"], folder, timeout=900, **tools)


def _view(text: str, folder: Path, tools: dict[str, str]) -> Done:
    """The browser of `tools` writes down the address that it is asked to show."""
    address, words = folder / "address", ["bash", "-c", f"exec {text}"]
    address.unlink(missing_ok=True)
    viewer = subprocess.Popen(
        words, cwd=folder, env=environ(**tools), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        end = time.monotonic() + 300
        while viewer.poll() is None and not address.is_file() and time.monotonic() < end:
            time.sleep(0.05)
        page = _NO_PROXY.open(address.read_text(), timeout=60).read().decode() if address.is_file() else ""
    finally:
        viewer.terminate()
        _, err = viewer.communicate(timeout=60)
    return Done(0 if "collatz.pyx" in page else 1, page, err)


_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
