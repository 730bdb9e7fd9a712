"""Both experiments of docs/tutorial, run on this machine: writes the tables and pictures that its pages show.

    python benchmarks/study.py [--runs 5] [--epochs 2] [--data DIR] [--limit SECONDS]     (make study)

The trainer's stages run in turns, under cyprof. `--data` takes the full MNIST, `--epochs 20` the original's length.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from cyprof import render
from cyprof.bench.run import BenchOptions
from cyprof.bench.run import run as run_bench
from cyprof.collect import RecordOptions
from cyprof.collect.rounds import Taken, in_rounds
from cyprof.model import Profile
from cyprof.target import side_targets
from cyprof.view import ViewOptions
from cyprof.view.compare import Side, compare

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "tutorial" / "figures"
STAGES = ("python", "cython", "cdef", "adam", "fused", "naive")
ORIGINAL = {"python": "755 s", "cython": "800 s", "cdef": "776 s", "adam": "727 s", "fused": "-", "naive": "-"}
FUNCTIONS = ("Adam.update_one", "ndarray.dot", "ndarray.fill", "Variable.backward")
ORIGINAL_CALLS = {"Adam.update_one": 72_000, "ndarray.dot": 114_000, "ndarray.fill": 216_000, "Variable.backward": 12_000}
ORIGINAL_RATIOS = {"ceil(clip(X, 0, 1))": "23", "numexpr X>=0": "0.78", "numexpr (X>=0)+0": "1.6", "(X>=0).view('i1')": "1"}


def main() -> None:
    options = _options()
    FIGURES.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.only != "relu":
        trainer(options)
    if options.only != "mnist":
        relu(options)


def trainer(options: argparse.Namespace) -> None:
    """The figures of the first experiment."""
    taken = record(options)
    write("stages.md", stages_table(taken, options))
    write("counts.md", counts_table(taken["python"].profiles[0], options))
    for before, after in (("python", "cython"), ("cdef", "adam"), ("adam", "fused"), ("fused", "naive")):
        found = compare(Side(before, taken[before].profiles), Side(after, taken[after].profiles), ViewOptions(top=14))
        write(f"diff-{before}-{after}.txt", render.diff_text([found], ViewOptions(top=14)))
        if after in ("fused", "naive"):
            render.write((found,), FIGURES / f"diff-{before}-{after}.png", ViewOptions(), "diff")
    render.write(taken["fused"].profiles[0], FIGURES / "mnist.png", ViewOptions(), "graph")


def relu(options: argparse.Namespace) -> None:
    """The figures of the second experiment."""
    bench = run_bench(ROOT / "examples" / "relu_derivative.py", BenchOptions(limit=options.limit), print)
    write("relu.txt", render.bench_text(bench).replace(f"{ROOT}/", ""))
    rows = [
        (
            one.title,
            f"{one.seconds * 1e3:.1f}",
            f"{one.ratio:.2f} ({one.low:.2f}-{one.high:.2f})",
            ORIGINAL_RATIOS.get(one.title, "-"),
        )
        for one in bench.variants
        if one.times
    ]
    write("relu.md", table(("variant", "ms", "ratio here", "ratio in the original"), rows) + stamp(f"{bench.rounds} rounds"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=90.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", choices=("mnist", "relu"))
    return parser.parse_args()


def record(options: argparse.Namespace) -> dict[str, Taken]:
    """The runs of every stage."""
    own = ["--epochs", str(options.epochs), *(["--data", str(options.data.absolute())] if options.data else [])]
    script = shlex.quote(str(ROOT / "examples" / "train_mnist.py"))
    words = [f"{script} --relu naive" if stage == "naive" else f"{script} --stage {stage}" for stage in STAGES]
    sides = [side_targets(word, own, "cyprof diff") for word in words]
    quiet = RecordOptions(silent=True)
    in_rounds(sides, 1, quiet, lambda text: print(text, flush=True))  # fills the cache of builds and of files
    return dict(zip(STAGES, in_rounds(sides, options.runs, quiet, lambda text: print(text, flush=True)), strict=True))


def _of(profile: Profile, name: str) -> tuple[int, float]:
    """Calls and total time in s of a function by its name; of the trainer's own calls, since `import numpy` makes a dot."""
    ids = {function.id for function in profile.functions if function.name == name}
    own = {function.id for function in profile.functions if "/examples/" in function.file}
    edges = [edge for edge in profile.edges if edge.callee in ids and edge.caller in own]
    return sum(edge.calls for edge in edges), sum(edge.total_ns for edge in edges) / 1e9


def stages_table(taken: dict[str, Taken], options: argparse.Namespace) -> str:
    """Times of every stage, beside the original's."""
    rows = []
    for stage in STAGES:
        profiles = taken[stage].profiles
        whole = [profile.run.wall_ns / 1e9 for profile in profiles]
        times = [f"{median(_of(profile, name)[1] for profile in profiles):.3f}" for name in FUNCTIONS[:3]]
        rows.append((stage, f"{median(whole):.2f} ({min(whole):.2f}-{max(whole):.2f})", *times, ORIGINAL[stage]))
    heads = ("stage", "run, s", *(f"{name}, s" for name in FUNCTIONS[:3]), "original, 20 epochs")
    return table(heads, rows) + stamp(_how(options))


def counts_table(profile: Profile, options: argparse.Namespace) -> str:
    """Calls here beside what the numbers of batches say, and the original's."""
    steps = _of(profile, "Variable.backward")[0]
    tests = _of(profile, "Classifier.__call__")[0] - steps
    formulas = {"Adam.update_one": ("6U", 6 * steps), "ndarray.dot": ("3F + 6U", 3 * (steps + tests) + 6 * steps),
                "ndarray.fill": ("18U", 18 * steps), "Variable.backward": ("U", steps)}  # fmt: skip
    rows = []
    for name in FUNCTIONS:
        count, (formula, expected) = _of(profile, name)[0], formulas[name]
        assert count == expected, f"{name}: {count} calls, {expected} expected"
        rows.append((f"`{name}`", formula, f"{count:,}", f"{ORIGINAL_CALLS[name]:,}"))
    note = f"\nU = {steps:,} training steps, V = {tests:,} test steps, F = U + V. The original: U = 12,000, V = 2,000.\n"
    return table(("function", "formula", "calls here", "calls in the original"), rows) + note + stamp(_how(options))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _how(options: argparse.Namespace) -> str:
    return f"{options.runs} runs of {options.epochs} epoch{'s' * (options.epochs > 1)} each"


def stamp(how: str) -> str:
    """What the figures were measured on."""
    names = [line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    when = datetime.date.today().isoformat()
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    words = (names[0] if names else platform.machine(), f"{os.cpu_count()} processors", f"Python {platform.python_version()}",
             f"numpy {np.__version__}", how, load, when)  # fmt: skip
    return f"\n*Measured by `make study`: {', '.join(word for word in words if word)}.*\n"


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def write(name: str, text: str) -> None:
    """One figure."""
    (FIGURES / name).write_text(text, encoding="utf-8")
    print(f"wrote {FIGURES / name}", flush=True)


if __name__ == "__main__":
    main()
