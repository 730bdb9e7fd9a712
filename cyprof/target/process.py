"""The parent's side of the process the program runs in: starts it, passes signals on, waits for it."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from ..errors import CollectError

_PASSED_ON = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2})
_MAY_BE_BOTHS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
_PATIENCE_S = 0.5
"""A signal somebody sent may have been sent to the group as well. Twice is one KeyboardInterrupt too many for a program
that is cleaning up, so it is passed on only when the program goes on as if it had not got it."""
_FROM_KERNEL = 0x80
"""si_code of a signal the terminal sent: it went to the whole group, so the program has it already."""


HELD_BACK = frozenset({signal.SIGINT})
"""Blocked in the new process until it unblocks them: a Ctrl-C while it sets itself up is the program's."""


def held_back() -> list[int]:
    """The signals the new process has to unblock: those held back that this process does not block itself."""
    return [int(number) for number in HELD_BACK - signal.pthread_sigmask(signal.SIG_BLOCK, ())]


def run_process(command: Sequence[str], environ: Mapping[str, str], *, silent: bool = False) -> int:
    """Runs a command on this process's stdin, stdout and stderr, or on none of them when `silent`, and returns its exit
    code, negative for a signal.

    Signals sent to this process meanwhile reach the program instead. Ctrl-C, which reaches both, ends only the program.
    Raises CollectError when the process cannot be started.
    """
    if threading.current_thread() is not threading.main_thread():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return _exit_code(os.waitpid(_start(command, environ, mask, silent), 0)[1])
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else the system reaps the child, and its exit code is lost
    waited = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        process = _start(command, environ, before, silent)
        return _wait(process, waited)
    finally:
        while signal.sigtimedwait({signal.SIGINT, signal.SIGCHLD} - before, 0) is not None:
            pass  # a Ctrl-C that was meant for the program shall not end the drawing
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def die_by(number: int) -> None:
    """Ends this process by a signal, as the program was ended. Returns when the signal does not end a process."""
    import resource

    # The program has left a core dump where one is wanted; a second one, of this process, would replace it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def leave_group() -> None:
    """Goes on in a session of its own, and so out of reach of a launcher that is about to kill this process's group, as mpirun
    is a second after SIGTERM. The process that the launcher knows waits, and ends as the one that goes on does."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    process = os.fork()
    if not process:
        os.setsid()
        return
    code = _exit_code(os.waitpid(process, 0)[1])
    if code < 0:
        die_by(-code)
    os._exit(code if code >= 0 else 128 - code)


def _start(command: Sequence[str], environ: Mapping[str, str], mask: set[signal.Signals] | set[int], silent: bool) -> int:
    if not sys.executable:
        raise CollectError("The path of the running Python is unknown, so no program can be run.", "Start it by its path.")
    try:
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)] if silent else ()
        return os.posix_spawn(command[0], list(command), environ, setsigmask={*mask, *HELD_BACK}, file_actions=nothing)
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise CollectError("The program's arguments are too long.", "Hand them over in a file.") from error
        raise CollectError(
            f"{command[0]} could not be started: {error.strerror or error}.", "Check that it can be run by hand."
        ) from error


def _wait(process: int, waited: frozenset[signal.Signals]) -> int:
    put_off: list[int] = []
    due = 0.0
    while True:
        received = signal.sigtimedwait(waited, max(0.0, due - time.monotonic())) if put_off else signal.sigwaitinfo(waited)
        if received is None:
            os.kill(process, put_off.pop(0))
        elif received.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return _exit_code(status)
        elif received.si_code == _FROM_KERNEL:
            continue
        elif received.si_signo not in _MAY_BE_BOTHS:
            os.kill(process, received.si_signo)
        elif received.si_signo not in put_off:
            due = time.monotonic() + _PATIENCE_S
            put_off.append(received.si_signo)


def _exit_code(status: int) -> int:
    return os.waitstatus_to_exitcode(status)
