"""cyprof: shows where the time goes in a Python program with Cython in it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cyprof.collect.live import install, profile
    from cyprof.model import Profile
    from cyprof.store import load

__version__ = "0.1.0"
__all__ = ["Profile", "__version__", "install", "load", "profile"]

# Looked up when first used: a program that is being profiled imports this package too, and must not pay for all of it.
_PLACES = {
    "Profile": "cyprof.model",
    "install": "cyprof.collect.live",
    "load": "cyprof.store",
    "profile": "cyprof.collect.live",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
