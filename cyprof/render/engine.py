"""Graphviz, wherever it comes from: a `dot` on the PATH, or the one inside pygraphviz's wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ..errors import UsageError

VARIABLE = "CYPROF_GRAPHVIZ"
_INSTALL = (
    "Install Graphviz (apt-get install graphviz, brew install graphviz, or https://graphviz.org/download), "
    "or pygraphviz, whose wheel brings it."
)

# What a whole file of each format has at its beginning and at its end.
_ENDS = {"json0": (b"{", b"}"), "svg": (b"<svg", b"</svg>"), "png": (b"\x89PNG", b"IEND"), "pdf": (b"%PDF-", b"%%EOF")}
_HEAD, _TAIL = 4096, 64

Draw = Callable[[str, str, bool], bytes]
"""(DOT text, format, whether positions are already in it) to the picture."""


class GraphvizError(Exception):
    """Graphviz gave no picture. `words` is what it said itself, `missing` that there is none."""

    def __init__(self, words: str, hint: str = "", missing: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint
        self.missing = missing


def find_graphviz() -> Draw:
    """The Graphviz to draw with, as CYPROF_GRAPHVIZ says: `dot`, `embedded`, or `auto`, which takes a `dot` on the PATH
    first. Raises UsageError for another value and GraphvizError where there is none."""
    wanted = os.environ.get(VARIABLE, "").strip().lower() or "auto"
    if wanted not in ("dot", "embedded", "auto"):
        raise UsageError(f"{VARIABLE} is {wanted!r}.", "It can be dot, embedded or auto.")
    if wanted != "embedded" and shutil.which("dot"):
        return draw_with_dot
    if wanted == "dot":
        raise GraphvizError("Graphviz is not installed: there is no program `dot` on the PATH.", _INSTALL, missing=True)
    if importlib.util.find_spec("pygraphviz") is None:
        raise GraphvizError(
            "Graphviz is not installed: there is neither a program `dot` on the PATH nor the package pygraphviz.",
            _INSTALL,
            missing=True,
        )
    return draw_embedded


def draw_with_dot(text: str, form: str, placed: bool) -> bytes:
    """Draws with the `dot` program. Raises GraphvizError with its own words."""
    import graphviz  # takes a while to import

    try:
        picture: bytes = (
            graphviz.pipe("neato", form, text.encode(), neato_no_op=2, quiet=True)
            if placed
            else graphviz.pipe("dot", form, text.encode(), quiet=True)
        )
    except graphviz.ExecutableNotFound as error:
        raise GraphvizError("Graphviz is not installed: `dot` cannot be started.", _INSTALL, missing=True) from error
    except graphviz.CalledProcessError as error:
        raise GraphvizError(_words(error.stderr, error.returncode)) from error
    except OSError as error:
        raise GraphvizError(f"dot cannot be started: {error.strerror or error}") from error
    return _whole(picture, form)


def draw_embedded(text: str, form: str, placed: bool) -> bytes:
    """Draws with the Graphviz inside pygraphviz's wheel. Raises GraphvizError with its own words."""
    child = Path(__file__).with_name("graphviz_child.py")
    # -P: the folder of the script holds modules that must not stand before those of the standard library.
    command = [sys.executable, "-P", str(child), "nop2" if placed else "dot", form]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    if done.returncode:
        raise GraphvizError(_words(done.stderr, done.returncode))
    errors = [line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("Error:")]
    if errors:
        raise GraphvizError("\n".join(errors))
    return _whole(done.stdout, form)


def _whole(picture: bytes, form: str) -> bytes:
    """The picture, if it is one. Raises GraphvizError for what a program wrote that ended well and drew nothing."""
    begin, end = _ENDS[form]
    if begin not in picture[:_HEAD] or end not in picture[-_TAIL:]:
        raise GraphvizError(f"it ended without an error, but what it wrote is no whole {form}")
    return picture


def _words(stderr: bytes | str | None, code: int) -> str:
    """What Graphviz said, or how it ended when it said nothing."""
    text = stderr.decode(errors="replace") if isinstance(stderr, bytes) else stderr or ""
    # Remarks of the font library on its own configuration are not about the graph.
    lines = [line for line in text.strip().splitlines() if not line.startswith("Fontconfig ")]
    if lines:
        return "\n".join(lines[-12:])
    return f"it was ended by signal {-code}" if code < 0 else f"exit code {code}"
