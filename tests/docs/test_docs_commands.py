"""What README.md, examples/README.md and the pages of docs/ show: each command is run as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli_support import Done, run
from docs_blocks import DOCS, PROGRAMS, ROOT, Command, blocks, commands, is_whole, mentions, name_of, pages, pattern
from docs_runs import AMOUNTS, IN_CHECKOUT, NOT_RUN, STEPS, perform, to_run

from cyprof.cli.main import COMMANDS


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
def test_commands_of_a_page(page: Path, folder: Path, checkout: Path, tools: dict[str, str]) -> None:
    for command in to_run(page):
        place = checkout if IN_CHECKOUT.search(command.text) else folder
        for name in command.outputs:
            (place / name).unlink(missing_ok=True)
        check(command, perform(command.text, place, tools), place)


def test_blocks_of_commands_are_marked_so() -> None:
    """A command in a block of another kind would be run by nobody."""
    for page in pages():
        for block in blocks(page):
            where = f"{name_of(page)}:{block.line}"
            assert block.language not in ("", "sh", "bash", "shell", "shell-session"), f"{where}: write ```console"
            if block.language != "console":
                lines = [line for line in block.lines if line.split(" ")[0] in PROGRAMS and len(line.split()) > 1]
                assert not lines, f"{where}: a command outside of a block of commands: {lines}"


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
    assert not {*STEPS, *NOT_RUN, *AMOUNTS} - shown
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
