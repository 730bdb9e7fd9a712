"""What holds for all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# No test asserts an absolute time: a busy machine is no failure.
settings.register_profile("cyprof", deadline=None)
settings.load_profile("cyprof")


def pytest_configure() -> None:
    """Signals act as in a terminal: what starts the tests in the background may have these ignored, and a program started
    from here would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
