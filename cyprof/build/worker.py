"""The process that builds one module: it alone imports Cython and setuptools, and it writes into its own folder only.

Run by path with Python's isolated mode, so that no file of the user's can stand in for a module of the standard
library; the folders where cyprof, Cython and setuptools lie follow as arguments, to be searched last.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyprof.build.job import Job


def main(folder: Path) -> int:
    """Does the job in `folder`. Returns 0, or 1 when it failed; either way the result lies there in a file."""
    from cyprof.build.job import Job, Result
    from cyprof.errors import BuildError

    job = Job.read(folder)
    try:
        result = Result(manifest=_build(job))
    except BuildError as error:
        result = Result(message=error.message, hint=error.hint)
    result.write(folder)
    return 1 if result.message else 0


def _build(job: Job) -> dict[str, object]:
    from cyprof.errors import BuildError

    started = time.time_ns()
    folder = Path(job.folder)
    reports = folder / "report"
    from cyprof.build.translate import translate

    scores = _annotation_scores(job) if job.probes["lines"] and not job.probes["stock"] else {}
    mark = _install_hook(job, reports)
    translation = translate(job)
    from cyprof.build.compiler import compile_extension

    compiled = compile_extension(job, translation)
    report = reports / f"{job.module}.json"
    if mark not in compiled.extension.read_bytes() or not report.is_file():
        raise BuildError(
            f"{job.source} was built, but without probes.",
            "Please report this, with the version of Cython that `python -m cython --version` names.",
        )
    _finish_report(report, job, scores)
    shutil.rmtree(folder / "objects")
    files = [path for path in [*translation.files, *compiled.headers] if not path.startswith(_cython_folder())]
    return {
        "module": job.module,
        "source": job.source,
        "extension": str(compiled.extension.relative_to(folder)),
        "report": str(report.relative_to(folder)),
        "numpy": compiled.numpy,
        "files": {path: _digest_of_read(path, started) for path in files},
        "absent": [path for path in dict.fromkeys(translation.absent) if not Path(path).exists()],
    }


def _install_hook(job: Job, reports: Path) -> bytes:
    """Has Cython put in what the job asks for, and returns the mark by which an extension shows that it is there."""
    from cyprof.build.job import PROBE_MARK
    from cyprof.cython import hook, stock

    options = hook.ProbeOptions.from_json(job.probes)
    if options.stock:
        stock.install(options.lines, reports)
        return stock.STOCK_MARK
    hook.install(options, reports)
    return PROBE_MARK


def _cython_folder() -> str:
    """Where Cython's own .pxd files lie: its version, which is part of the key, stands for them."""
    import Cython

    return str(Path(Cython.__file__).absolute().parent) + os.sep


def _digest_of_read(path: str, started: int) -> str:
    """The digest of a file that was read, "" (never current) when it may have changed since."""
    from cyprof.build.cache import file_digest

    return "" if Path(path).stat().st_ctime_ns > started else file_digest(path)


def _annotation_scores(job: Job) -> dict[str, dict[int, int]]:
    """Cython's scores for the source's lines, of a translation that the hook has no part in: it comes before the hook.
    But for the tracing macros, of which Cython keeps the first text it reads: a module may ask for tracing itself."""
    from cyprof.build.translate import translate
    from cyprof.cython import hook
    from cyprof.cython.scores import annotation_scores

    folder = Path(job.folder) / "annotated"
    folder.mkdir()
    hook.replace_utility_code()
    scores = annotation_scores(lambda: translate(job, folder=folder, annotate=True))
    shutil.rmtree(folder)
    return scores


def _finish_report(path: Path, job: Job, scores: dict[str, dict[int, int]]) -> None:
    """Adds the scores to the hook's report. It names the C where it was written and will be read where the folder has been
    renamed to."""
    from cyprof.cython.report import ModuleReport

    report = ModuleReport.read(path)
    report.c_file = report.c_file.replace(job.folder, job.final, 1)
    report.scores = scores
    report.write(path.parent)


if __name__ == "__main__":
    sys.path.extend(path for path in sys.argv[2:] if path not in sys.path)
    sys.exit(main(Path(sys.argv[1])))
