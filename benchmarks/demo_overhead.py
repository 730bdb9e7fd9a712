"""What cyprof adds to the MNIST trainer: its own training time, and the start-up of a run whose builds are cached.

    python benchmarks/demo_overhead.py [PAIRS]

Each pair runs the trainer bare (compiled in place, in a copy) and under `cyprof run`, in turn; medians of the ratios.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
EMPTY = "import mnist_trainer.adam, mnist_trainer.relu\n"


def run(command: list[str], folder: Path) -> tuple[float, str]:
    """Wall time in seconds, and what the command printed."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def training_seconds(stdout: str) -> float:
    match = re.search(r"training took ([\d.]+) s", stdout)
    assert match, stdout
    return float(match[1])


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    cyprof = [sys.executable, "-m", "cyprof", "run", "--quiet"]
    with tempfile.TemporaryDirectory() as name:
        bare, probed = Path(name, "bare"), Path(name, "probed")
        for folder in (bare, probed):
            shutil.copytree(EXAMPLES, folder)
            (folder / "empty.py").write_text(EMPTY)
        sources = [str(path) for path in (bare / "mnist_trainer").glob("*.pyx")]
        run([sys.executable, "-m", "Cython.Build.Cythonize", "-i", "-q", *sources], bare)
        run([*cyprof, "train_mnist.py", "-o", "run.cyprof", "--", "--epochs", "1"], probed)  # fills the cache
        trained, started = [], []
        for _ in range(pairs):
            without = training_seconds(run([sys.executable, "train_mnist.py"], bare)[1])
            under = training_seconds(run([*cyprof, "train_mnist.py", "-o", "run.cyprof"], probed)[1])
            trained.append((without, under))
            without = run([sys.executable, "empty.py"], bare)[0]
            started.append(run([*cyprof, "empty.py", "-o", "run.cyprof"], probed)[0] - without)
    ratios = sorted(under / without for without, under in trained)
    print(f"Python {sys.version.split()[0]}, {pairs} interleaved pairs")
    print(f"training: bare {statistics.median(pair[0] for pair in trained):.2f} s, under cyprof / bare: median "
          f"{statistics.median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})")  # fmt: skip
    print(f"start-up and end of a cached run: {statistics.median(started):.2f} s more ({min(started):.2f}-{max(started):.2f})")


if __name__ == "__main__":
    main()
