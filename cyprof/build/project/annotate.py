"""Cython's annotation scores for a module that was built with line probes: a translation of its own, without the hook.

Run by path with the Python of the build environment, on the file that inject.py left of the module's translation.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

RECORD_SUFFIX = ".translation"


def main(record: Path, package: str) -> int:
    """Prints {file: {line: score}} as JSON, the files as they are compiled."""
    cyprof = type(sys)("cyprof")
    cyprof.__path__ = [package]
    sys.modules["cyprof"] = cyprof
    from Cython.Compiler.Main import Context, compile_single
    from Cython.Compiler.Options import CompilationOptions, default_options

    from cyprof.cython.scores import annotation_scores

    told: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    if Path(told["cwd"]).is_dir():
        os.chdir(told["cwd"])
    with tempfile.TemporaryDirectory() as folder:
        options = CompilationOptions(default_options, output_file=str(Path(folder) / "out.c"), annotate=True, **told["options"])
        context = Context.from_options(options)
        scores = annotation_scores(lambda: compile_single(told["source"], options, told["module"], context=context))
    sys.stdout.write(json.dumps(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
