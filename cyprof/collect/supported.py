"""Whether this Python is one that the probes work with."""

from __future__ import annotations

import sysconfig

from ..errors import CollectError


def require_gil() -> None:
    """Raises CollectError on a free-threaded build of Python: what the runtime shares it guards by the GIL."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise CollectError(
            "This Python is built without the GIL (free-threaded), and the probes need it.",
            "Run cyprof and the program on the ordinary build of the same version.",
        )
