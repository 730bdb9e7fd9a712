"""Whether this Python is one that the probes work with."""

from __future__ import annotations

import sysconfig
from importlib import import_module
from typing import Any

from ..errors import CollectError


def require_gil() -> None:
    """Raises CollectError on a free-threaded build of Python: what the runtime shares it guards by the GIL."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise CollectError(
            "This Python is built without the GIL (free-threaded), and the probes need it.",
            "Run cyprof and the program on the ordinary build of the same version.",
        )


def load_runtime() -> Any:
    """The C runtime, which probed modules look for. Raises CollectError where it cannot work in this process."""
    require_gil()
    try:
        return import_module("cyprof.probe._runtime")
    except RuntimeError as error:
        raise _cannot_record(error) from error


def calibrated() -> dict[str, float]:
    """What looking costs here, in ns by what is looked at (`calibrate` of the runtime). Raises CollectError where nothing can
    be recorded."""
    try:
        cost = load_runtime().calibrate()
    except (RuntimeError, AttributeError) as error:
        raise _cannot_record(error) from error
    return {str(name): float(value) for name, value in cost.items()}


def _cannot_record(error: Exception) -> CollectError:
    return CollectError(
        f"Nothing can be recorded in this Python: {error}.",
        "See what its sitecustomize and .pth files do: they run before every program, and before cyprof.",
    )
