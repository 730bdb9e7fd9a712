"""What runs inside the program's own processes. Imports next to nothing: a program finds only what it imports itself."""

import os

VARIABLE = "CYPROF_PROCESSES"
"""The environment variable that names the folder of a run to the processes that its program starts."""


def hide_variable() -> str | None:
    """Takes the variable out of what the program sees as its environment; returns the folder it names."""
    shown = os.environ
    value = shown._data.pop(shown.encodekey(VARIABLE), None)  # type: ignore[attr-defined]
    return None if value is None else os.fsdecode(value)
