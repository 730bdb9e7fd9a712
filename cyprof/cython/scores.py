"""How much of each source line still goes through Python: the annotation score of `cython -a`, as Cython computes it.

The score of a line weighs the calls of Python's C API in the C written for it (Cython/Compiler/Annotate.py: 5 for a function of
Python's, 2 for a helper of Cython's, 1 for a macro). Tracing adds error paths that take the GIL, and would colour lines that
are white: the scores come from a translation without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SCORE = re.compile(r'class="cython line score-(\d+)"')

LineScores = dict[str, dict[int, int]]
"""Scores above zero, by absolute path and line."""


def annotation_scores(translate: Callable[[], object]) -> LineScores:
    """The scores of the module that `translate` has Cython translate, with `annotate=True` and no hook in."""
    from Cython.Compiler.Annotate import AnnotationCCodeWriter

    found: LineScores = {}

    def save(writer: Any, *_args: Any, **_options: Any) -> None:
        found.update(_line_scores(writer))

    original = AnnotationCCodeWriter.save_annotation
    AnnotationCCodeWriter.save_annotation = save
    try:
        translate()
    finally:
        AnnotationCCodeWriter.save_annotation = original
    return found


def _line_scores(writer: Any) -> LineScores:
    # The page is thrown away but for its scores, one a line; colouring the source is most of the work.
    writer._htmlify_code = lambda code, _language: re.sub("[^\n]+", "", code)
    scores: LineScores = {}
    for file, code in list(writer.code.items()):
        if file is None or not Path(file).is_file():
            continue
        source = Path(file).read_text(encoding="utf-8", errors="replace")
        page = "".join(writer._save_annotation_body(source, code, {}, {}))
        found = {line: int(score) for line, score in enumerate(_SCORE.findall(page), 1) if score != "0"}
        scores[str(Path(file).absolute())] = found
    return scores
