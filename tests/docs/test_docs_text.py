"""The commands that stand in the running text of the pages, and nowhere else."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from docs_runs import perform, running_text

_TESTS = Path(sysconfig.get_path("stdlib")) / "test"
"""CPython's own tests, which some distributions leave out."""


@pytest.mark.parametrize("text", running_text())
def test_a_command_in_running_text(text: str, checkout: Path, tools: dict[str, str]) -> None:
    """It is enough that it ends well: what a benchmark prints is for reading."""
    done = perform(text, checkout, tools)
    if text == "python benchmarks/cpython_tests.py" and not (_TESTS / "test_sys_setprofile.py").is_file():
        assert (done.code, done.err.startswith("This Python has no test_sys_setprofile")) == (1, True), done.err
        return
    assert done.code == 0, f"{text}\n{done.out}{done.err}"
