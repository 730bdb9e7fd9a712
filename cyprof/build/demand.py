"""A build asked for by a program that is running: all the work is done in another process.

The asking side imports nothing that the interpreter has not loaded itself: the program may have modules of its own that
are called like those of the standard library, and must go on finding them.
"""

# ruff: noqa: PTH100, PTH112, PTH118, PTH120, PTH123, SIM105
from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable
from typing import Any

_RESULT = b"result\n"
# As it is before a recording adapts it: what it starts here is no process of the program's.
_start = os.posix_spawn
_TOOLS = ("Cython", "setuptools", "pyproject_hooks", "packaging")


def build_elsewhere(request: dict[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Has one source built and returns {"overlay": ...} or {"error": [message, hint]}; an empty dict when the other
    process died. `request` holds the fields of Source as strings, "probes" and "search_path"; "spare" names the
    folder that is to take the place of the user's cache. An error of the cache alone has "cache" true beside it."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [entry for entry in sys.path if any(os.path.isdir(os.path.join(entry or ".", tool)) for tool in _TOOLS)]
    command = [sys.executable, "-I", "-X", "utf8", "-W", "ignore", os.path.abspath(__file__), own, *path]
    # Nothing of cyprof's own for child processes shall start in this one; where the cache lies, it must know.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CYPROF_") or "CACHE" in name}
    read_question, write_question = os.pipe()
    read_answer, write_answer = os.pipe()
    streams = [(os.POSIX_SPAWN_DUP2, read_question, 0), (os.POSIX_SPAWN_DUP2, write_answer, 1)]
    process = _start(sys.executable, command, environ, file_actions=streams)
    os.close(read_question)
    os.close(write_answer)
    result: dict[str, Any] = {}
    try:
        with open(write_question, "wb") as question:
            marshal.dump(request, question)
        with open(read_answer, "rb") as answer:
            for line in answer:
                if line == _RESULT:
                    result = marshal.loads(answer.read())
                    break
                progress(line.decode("utf-8", "replace").rstrip("\n"))
    finally:
        _wait(process)
    return result


def _wait(process: int) -> None:
    try:
        os.waitpid(process, 0)
    except ChildProcessError:
        pass  # a program that ignores SIGCHLD has its children reaped by the system


def main() -> None:
    """The working side: reads the request from stdin, writes progress and the result to stdout."""
    from pathlib import Path

    from cyprof.build import spare
    from cyprof.build.around import build_sources
    from cyprof.build.modules import Source
    from cyprof.cython.hook import ProbeOptions
    from cyprof.errors import CacheError, CyprofError

    request = marshal.load(sys.stdin.buffer)
    source = Source(request["module"], Path(request["path"]), Path(request["root"]), request["package"])
    probes = ProbeOptions.from_json(request["probes"])
    if request.get("spare"):
        spare.use(Path(request["spare"]))
    try:
        overlay, projects = build_sources([source], probes, lambda text: print(text, flush=True), request["search_path"])
        for project in projects:
            overlay.add(project.overlay())
        result: dict[str, Any] = {"overlay": overlay.to_json()}
    except CyprofError as error:
        result = {"error": [error.message, error.hint], "cache": isinstance(error, CacheError)}
    sys.stdout.flush()
    sys.stdout.buffer.write(_RESULT + marshal.dumps(result))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.path.extend(path for path in sys.argv[1:] if path not in sys.path)
    main()
