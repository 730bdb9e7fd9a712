"""Both experiments of docs/tutorial, run on this machine: writes the tables and pictures that its pages show.

    python benchmarks/study.py [--runs 5] [--epochs 2] [--limit SECONDS]                        (make study)
    python benchmarks/study.py --full DIR [--runs 1] [--epochs 20] [--stages python,fused]      (make study-full)

The trainer's stages run in turns, under cyprof. `--full` takes the folder of the full MNIST and the original's 20 epochs;
it writes the two tables of the trainer alone, as `full-*`.
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
from cyprof.target import Target, side_targets
from cyprof.view import ViewOptions
from cyprof.view.compare import Side, compare
from cyprof.view.units import count_text

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
    if options.full:
        full(options)
        return
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


def full(options: argparse.Namespace) -> None:
    """The tables of the first experiment, at its original size."""
    taken = record(options)
    write("full-stages.md", stages_table(taken, options))
    write("full-counts.md", counts_table(taken[options.stages[0]].profiles[0], options))


def relu(options: argparse.Namespace) -> None:
    """The figures of the second experiment."""
    bench = run_bench(ROOT / "examples" / "relu_derivative.py", BenchOptions(limit=options.limit), say)
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
    write(
        "relu.md",
        table(("variant", "ms", "ratio here", "ratio in the original"), rows) + stamp(options, f"{bench.rounds} rounds"),
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--full", type=Path, metavar="DIR")
    parser.add_argument("--stages", type=lambda text: tuple(text.split(",")), default=STAGES)
    parser.add_argument("--only", choices=("mnist", "relu"))
    options = parser.parse_args()
    options.runs = options.runs or (1 if options.full else 5)
    options.epochs = options.epochs or (20 if options.full else 2)
    if not set(options.stages) <= set(STAGES) or (options.stages != STAGES and not options.full):
        parser.error(f"--stages takes some of {','.join(STAGES)}, with --full")
    return options


def record(options: argparse.Namespace) -> dict[str, Taken]:
    """The runs of every stage."""
    own = ["--epochs", str(options.epochs), *(["--data", str(options.full.absolute())] if options.full else [])]
    quiet = RecordOptions(silent=True)
    # Fills the cache of builds, and that of files.
    in_rounds(_sides(options.stages, ["--epochs", "1", "--batch", "1000", "--units", "30"]), 1, quiet, say)
    return dict(zip(options.stages, in_rounds(_sides(options.stages, own), options.runs, quiet, say), strict=True))


def _sides(stages: Sequence[str], own: Sequence[str]) -> list[list[Target]]:
    script = shlex.quote(str(ROOT / "examples" / "train_mnist.py"))
    words = [f"{script} --relu naive" if stage == "naive" else f"{script} --stage {stage}" for stage in stages]
    return [side_targets(word, own, "cyprof diff") for word in words]


def say(text: str) -> None:
    """Progress."""
    print(text, flush=True)


def _of(profile: Profile, name: str) -> tuple[int, float]:
    """Calls and total time in s of a function by its name; of the trainer's own calls, since `import numpy` makes a dot."""
    ids = {function.id for function in profile.functions if function.name == name}
    own = {function.id for function in profile.functions if "/examples/" in function.file}
    edges = [edge for edge in profile.edges if edge.callee in ids and edge.caller in own]
    return sum(edge.calls for edge in edges), sum(edge.total_ns for edge in edges) / 1e9


def stages_table(taken: dict[str, Taken], options: argparse.Namespace) -> str:
    """Times of every stage, beside the original's."""
    rows = []
    for stage in taken:
        profiles = taken[stage].profiles
        whole = [profile.run.wall_ns / 1e9 for profile in profiles]
        times = [f"{median(_of(profile, name)[1] for profile in profiles):.3f}" for name in FUNCTIONS[:3]]
        rows.append((stage, f"{median(whole):.2f} ({min(whole):.2f}-{max(whole):.2f})", *times, ORIGINAL[stage]))
    heads = ("stage", "run, s", *(f"{name}, s" for name in FUNCTIONS[:3]), "original, 20 epochs")
    return table(heads, rows) + stamp(options, _how(options))


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
    return table(("function", "formula", "calls here", "calls in the original"), rows) + note + stamp(options, _how(options))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in markdown."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _how(options: argparse.Namespace) -> str:
    digits = "70,000 digits" if options.full else "5,000 digits"
    return f"{count_text(options.runs, 'run')} of {count_text(options.epochs, 'epoch')} over {digits} for each stage"


def stamp(options: argparse.Namespace, how: str) -> str:
    """What the figures were measured on."""
    names = [line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    when = datetime.date.today().isoformat()
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    words = (names[0] if names else platform.machine(), f"{os.cpu_count()} processors", f"Python {platform.python_version()}",
             f"numpy {np.__version__}", how, load, when)  # fmt: skip
    return f"\n*Measured by `make {'study-full' if options.full else 'study'}`: {', '.join(word for word in words if word)}.*\n"


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def write(name: str, text: str) -> None:
    """One figure."""
    (FIGURES / name).write_text(text, encoding="utf-8")
    print(f"wrote {FIGURES / name}", flush=True)


if __name__ == "__main__":
    main()
