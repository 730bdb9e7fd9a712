"""The commands that stand in the running text of the pages, and nowhere else."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_runs import perform, running_text


@pytest.mark.parametrize("text", running_text())
def test_a_command_in_running_text(text: str, checkout: Path, tools: dict[str, str]) -> None:
    """It is enough that it ends well: what a benchmark prints is for reading."""
    if text == "python benchmarks/cpython_tests.py" and find_spec("test.test_sys_setprofile") is None:
        pytest.skip("this Python was installed without its own tests")
    done = perform(text, checkout, tools)
    assert done.code == 0, f"{text}\n{done.out}{done.err}"
