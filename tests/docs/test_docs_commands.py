"""What README.md and the pages of docs/ show: each command is run as it stands there, page by page, top to bottom.

A page's folder holds docs/example; that of a page about examples/ or `make` is a checkout, with smaller examples.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_support import Done, run
from docs_blocks import DOCS, PROGRAMS, ROOT, Command, blocks, commands, is_whole, mentions, name_of, pages, pattern

from cyprof.cli.main import COMMANDS

STEPS = ("make demo", "make test", "make docs")
"""Steps of .ci/run, which are not run once more."""
NOT_RUN = {
    "pip install .": "make installs the wheel so before all tests, without looking for what is there already",
    "docker build -t cyprof .": "there is no Docker engine in CI; make image-check builds the Dockerfile with buildah, as root",
    "docker run -v $PWD:/work cyprof graph examples/train_mnist.py -o graph.png": "make image-check runs it in that image",
    "make study-full": "fetches the full MNIST, and trains for half an hour and more; make study is run",
    "pip install '.[dask]'": "as pip install .; the test extra brings dask, and tests/integration/test_dask.py uses it",
    "snakeviz run.prof": "opens a browser; tests/unit/test_exports.py reads a file with its parser",
    "tuna run.prof": "opens a browser; tests/unit/test_exports.py reads a file with its parser",
    "kcachegrind run.callgrind": "opens a window; callgrind_annotate reads the same file",
    "flamegraph.pl run.collapsed > flame.svg": "no package brings it; tests/unit/test_exports.py reads the lines",
    "pprof -http : run.pb.gz": "opens a browser; tests/unit/test_exports.py decodes the file as pprof's profile.proto",
    "make fuzz": "looks for more for as long as one likes; tests/unit/test_hostile_files.py has what CI looks for",
    "make sanitize": "builds the runtime and small programs with the sanitizers of gcc, and runs them slowly; minutes",
    "make bench": "measures what it prints, for a minute or two; its figures mean something on a quiet machine only",
}
"""Commands that no test runs as they stand, and why."""
MEASURES = re.compile(r"python (benchmarks/\w+\.py)")
"""Programs that measure for minutes, on a quiet machine."""
SMALLER = {
    "train_mnist.py": {"default=2, help": "default=1, help", "default=100,": "default=500,", "default=1000,": "default=30,"},
    "relu_derivative.py": {"3072 *": "16 *"},
}
"""What is put into the examples for the tests: less to compute, and the same calls."""
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
}  # fmt: skip
"""More ranks than processors, and of whoever runs the tests."""
STUDY = "--only mnist --runs 1 --epochs 1"


def to_run(page: Path) -> list[Command]:
    return [command for command in commands(page) if command.text not in (*STEPS, *NOT_RUN)]


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `cyprof`, `python` and `pip` are those under test. Pages share a cache; compilers do not
    optimise. What pip installs goes into a folder of its own. `make` finds its virtual environment there, and up to date."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    (root / "docs-cache").mkdir(mode=0o700, exist_ok=True)
    venv = tmp_path_factory.mktemp("venv")
    folder, site = venv / "bin", venv / "site"
    folder.mkdir()
    for name, words in (("cyprof", "-m cyprof "), ("python", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        path.chmod(0o755)
    pip = f'#!/bin/sh\nPIP_TARGET="{site}" PIP_DISABLE_PIP_VERSION_CHECK=1 exec "{sys.executable}" -m pip "$@"\n'
    (folder / "pip").write_text(pip)
    (venv / ".installed").touch()
    places = [str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
    search = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PATH": os.pathsep.join(places), "PYTHONPATH": os.pathsep.join(search), "CYPROF_CACHE_DIR": str(root / "docs-cache"),
        "COLUMNS": "120", "CFLAGS": "-O0", "VENV": str(venv), "STUDY_ARGS": STUDY, **MPI,
    }  # fmt: skip


@pytest.fixture
def folder(tools: dict[str, str], request: pytest.FixtureRequest) -> Path:
    """The folder of one page. It is made anew in the same place each time, so that builds are found in the cache."""
    place = Path(tools["CYPROF_CACHE_DIR"]).parent / f"docs-page-{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(DOCS / "example", place)
    page = getattr(request.node, "callspec", None)
    if page is not None and any(re.search(r"examples/|^make ", command.text) for command in to_run(page.params["page"])):
        check_out(place)
    return place


def check_out(place: Path) -> None:
    """Puts the parts of a checkout there that `make` and the examples need."""
    for name in ("examples", "benchmarks", "tests", "docs/tutorial"):
        built = shutil.ignore_patterns("*.so", "*.c", "build", "__pycache__")
        shutil.copytree(ROOT / name, place / name, ignore=built)
    for name in ("Makefile", "pyproject.toml", "setup.py"):
        shutil.copy2(ROOT / name, place)
    for name, exchanged in SMALLER.items():
        path = place / "examples" / name
        text = path.read_text(encoding="utf-8")
        for old, new in exchanged.items():
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


def check(command: Command, done: Done, folder: Path) -> None:
    """Fails unless a command did what its page says."""
    where = f"{command.page}:{command.line}: {command.text}"
    output = done.out + done.err
    assert done.code == command.code, f"{where}\n{output}"
    missing = [name for name in command.outputs if not (folder / name).is_file()]
    assert not missing, f"{where}\ndid not write {missing}\n{output}"
    lines = output.splitlines()
    for shown in filter(str.strip, command.shown):
        assert any(pattern(shown).fullmatch(line.strip()) for line in lines), f"{where}\ndoes not print\n{shown}\nbut\n{output}"


@pytest.mark.parametrize("page", [page for page in pages() if to_run(page)], ids=name_of)
def test_commands_of_a_page(page: Path, folder: Path, tools: dict[str, str]) -> None:
    for command in to_run(page):
        check(command, run(["bash", "-c", command.text], folder, timeout=900, **tools), folder)


def test_blocks_of_commands_are_marked_so() -> None:
    """A command in a block of another kind would be run by nobody."""
    for page in pages():
        for block in blocks(page):
            where = f"{name_of(page)}:{block.line}"
            assert block.language not in ("", "sh", "bash", "shell", "shell-session"), f"{where}: write ```console"
            if block.language != "console":
                lines = [line for line in block.lines if line.split(" ")[0] in PROGRAMS and len(line.split()) > 1]
                assert not lines, f"{where}: a command outside of a block of commands: {lines}"


def test_commands_in_running_text_are_run_too() -> None:
    ran = [command.text.split() for page in pages() for command in to_run(page)]
    for page in pages():
        for mention in mentions(page):
            words = mention.split()
            covered = any(words == command[: len(words)] for command in ran) or mention in (*STEPS, *NOT_RUN)
            measures = MEASURES.fullmatch(mention)
            assert covered or (measures and (ROOT / measures[1]).is_file()), (
                f"{name_of(page)}: `{mention}` is run by no test: show it in a block of commands, or tell in NOT_RUN why not"
            )


def test_a_whole_command_is_known_from_a_form() -> None:
    assert all(
        map(
            is_whole, ("make study DATA=package/data", "cyprof doctor . --check", "python benchmarks/study.py", "pip install x")
        )
    )
    forms = (
        "cyprof graph",
        "cyprof stats FILE.prof",
        "cyprof diff --runs 5",
        "python -S",
        "pip install -e",
        "cyprof COMMAND --help",
        "run.prof",
        "make",
    )
    assert not any(map(is_whole, forms))


def test_what_is_not_run_is_still_shown_and_what_ci_runs_is_a_step_of_it() -> None:
    shown = {command.text for page in pages() for command in commands(page)} | {
        one for page in pages() for one in mentions(page)
    }
    assert not {*STEPS, *NOT_RUN} - shown
    steps = (ROOT / ".ci" / "run").read_text().splitlines()
    assert not set(STEPS) - set(steps)
    assert "cyprof graph examples/train_mnist.py -o graph.png" in (ROOT / "tests" / "image_check.sh").read_text()


def test_every_command_has_a_page() -> None:
    assert not [command for command in COMMANDS if not (DOCS / "commands" / f"{command}.md").is_file()]


def test_every_page_shows_a_command_that_is_run() -> None:
    for command in COMMANDS:
        page = DOCS / "commands" / f"{command}.md"
        assert any(found.text.startswith(f"cyprof {command} ") for found in commands(page)), page


def test_a_shown_line_stands_for_others_with_other_figures() -> None:
    assert pattern("  3 rows  0.317 3.2e-06 ...  (12 ms)").fullmatch("12 rows 1.5   0.2 and more  (1.25 µs)")
    assert not pattern("3 rows").fullmatch("3 columns")


def test_the_schema_page_tells_every_key(folder: Path, tools: dict[str, str]) -> None:
    """And no key that is not there, but for those that only some profiles have."""
    done = run(
        ["bash", "-c", "cyprof run --lines collatz_run.py -o r.cyprof -- 1000 && cyprof export r.cyprof -o r.json"],
        folder,
        **tools,
    )
    assert done.code == 0, done.err
    found = json.loads((folder / "r.json").read_text())
    told = keys_of_tables(DOCS / "schema.md")
    assert set(found) <= set(told[""]), set(found) - set(told[""])
    for part, keys in told.items():
        records = found.get(part, []) if part else []
        there = set().union(*([records] if isinstance(records, dict) else records))
        assert there <= set(keys), (part, there - set(keys))
        assert not there or set(keys) - there <= SOMETIMES, (part, set(keys) - there)


SOMETIMES = {"has_paths", "member", "baseline_per_call_s", "line_slowdown", "remark"}


def keys_of_tables(page: Path) -> dict[str, list[str]]:
    """The keys that the tables of a page tell, by the section they stand in."""
    keys: dict[str, list[str]] = {"": []}
    part = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            part = line[3:].strip("`")
        elif line.startswith("| `"):
            keys.setdefault(part, []).extend(re.findall(r"`(\w+)`", line.split("|")[1]))
    return keys
