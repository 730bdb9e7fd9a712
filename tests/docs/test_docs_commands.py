"""What the pages of docs/ show: each command is run as it stands there, page by page, in a folder that holds docs/example."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli_support import Done, run
from docs_blocks import DOCS, Command, commands, pages, pattern

from cyprof.cli.main import COMMANDS


def to_run(page: Path) -> list[Command]:
    return [command for command in commands(page) if not command.elsewhere]


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `cyprof` and `python` are those under test. Pages share a cache; compilers do not optimise."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    (root / "docs-cache").mkdir(mode=0o700, exist_ok=True)
    folder = tmp_path_factory.mktemp("bin")
    for name, words in (("cyprof", "-m cyprof "), ("python", "")):
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        path.chmod(0o755)
    places = [str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {"PATH": os.pathsep.join(places), "CYPROF_CACHE_DIR": str(root / "docs-cache"), "COLUMNS": "120", "CFLAGS": "-O0"}


@pytest.fixture
def folder(tools: dict[str, str]) -> Path:
    """The folder of one page. It is made anew in the same place each time, so that builds are found in the cache."""
    place = Path(tools["CYPROF_CACHE_DIR"]).parent / f"docs-page-{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(DOCS / "example", place)
    return place


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


@pytest.mark.parametrize("page", [page for page in pages() if to_run(page)], ids=lambda page: page.relative_to(DOCS).as_posix())
def test_commands_of_a_page(page: Path, folder: Path, tools: dict[str, str]) -> None:
    for command in to_run(page):
        check(command, run(["bash", "-c", command.text], folder, **tools), folder)


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
