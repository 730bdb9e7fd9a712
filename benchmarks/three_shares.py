"""Three families of work with equal true shares: 1e8 calls of 2 ns, 5e6 calls of 46 ns, 10 calls of 23 ms.

    python benchmarks/three_shares.py [ROUNDS]

Prints the share of each family (a function with its loop) by cyprof, by cyprof --calibrate, by cProfile on a build with stock
profiling, and true (a build without any), each round running all of them; cProfile's run is given a tenth of the calls.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import build

PYX = """
# cython: language_level=3, cdivision=True
cdef unsigned long tiny(unsigned long x) noexcept:
    return (x ^ (x >> 7)) * 636413623

cdef unsigned long small(unsigned long x) noexcept:
    cdef int i
    for i in range(20):
        x = (x ^ (x >> 7)) * 636413623
    return x

cdef unsigned long heavy(unsigned long x, long steps) noexcept:
    cdef long i
    for i in range(steps):
        x = (x ^ (x >> 7)) * 636413623
    return x

def run_tiny(long n):
    cdef long i
    cdef unsigned long x = 1
    for i in range(n):
        x = tiny(x)
    return x

def run_small(long n):
    cdef long i
    cdef unsigned long x = 1
    for i in range(n):
        x = small(x)
    return x

def run_heavy(long n):
    cdef long i
    cdef unsigned long x = 1
    for i in range(10):
        x = heavy(x, n)
    return x
"""
PROGRAM = """
import shares
shares.run_tiny(100_000_000)
shares.run_small(5_000_000)
shares.run_heavy(10_000_000)
"""
# Times the families bare, or under cProfile with `divide` times fewer calls.
TIMED = """
import sys, time, json
sys.path.insert(0, sys.argv[1])
module = __import__(sys.argv[2])
divide, traced = int(sys.argv[3]), sys.argv[4] == "traced"
work = {"tiny": 100_000_000, "small": 5_000_000, "heavy": 10_000_000}
times = {}
if traced:
    import cProfile, pstats
    for family, n in work.items():
        profiler = cProfile.Profile()
        profiler.runcall(getattr(module, "run_" + family), n // divide)
        stats = pstats.Stats(profiler).stats
        times[family] = sum(row[2] for (_, _, name), row in stats.items() if name.endswith(family))
else:
    for family, n in work.items():
        start = time.perf_counter()
        getattr(module, "run_" + family)(n // divide)
        times[family] = time.perf_counter() - start
print(json.dumps(times))
"""
FAMILIES = ("tiny", "small", "heavy")


def shares(times: dict[str, float]) -> dict[str, float]:
    whole = sum(times.values()) or 1.0
    return {family: 100 * times[family] / whole for family in FAMILIES}


def timed(folder: Path, module: str, divide: int, how: str) -> dict[str, float]:
    command = [sys.executable, "-c", TIMED, str(folder), module, str(divide), how]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def by_cyprof(folder: Path, *options: str) -> dict[str, tuple[float, float, float]]:
    """The least, best and greatest share of each family in percent, as the report prints them."""
    cyprof = [sys.executable, "-m", "cyprof"]
    run, out = folder / "run.cyprof", folder / "run.json"
    subprocess.run([*cyprof, "run", "program.py", "-o", str(run), *options], check=True, cwd=folder)
    subprocess.run([*cyprof, "export", str(run), "-o", str(out)], check=True, cwd=folder)
    functions = json.loads(out.read_text())["functions"]
    sums = {
        key: {family: sum(f[key] for f in functions if f["name"] in (family, f"run_{family}")) for family in FAMILIES}
        for key in ("self_min_s", "self_s", "raw_self_s")
    }
    best = shares(sums["self_s"])
    found = {}
    for family in FAMILIES:
        others_most = sum(sums["raw_self_s"][other] for other in FAMILIES if other != family)
        others_least = sum(sums["self_min_s"][other] for other in FAMILIES if other != family)
        least, most = sums["self_min_s"][family], sums["raw_self_s"][family]
        found[family] = (100 * least / (least + others_most), best[family], 100 * most / (most + others_least))
    return found


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shares.pyx").write_text(PYX)
        (folder / "program.py").write_text(PROGRAM)
        build(folder, PYX, "bare")
        build(folder, PYX, "stock")
        true, plain, settled, cprofile = [], [], [], []
        for _ in range(rounds):
            true.append(shares(timed(folder / "bare", "work_bare", 1, "bare")))
            plain.append(by_cyprof(folder))
            settled.append(by_cyprof(folder, "--calibrate"))
            cprofile.append(shares(timed(folder / "stock", "work_stock", 10, "traced")))
    print(f"Python {sys.version.split()[0]}, shares in percent, median of {rounds} rounds; a range in brackets")
    print(f"{'':8}{'true':>8}{'cyprof':>22}{'cyprof --calibrate':>24}{'cProfile':>12}")
    for family in FAMILIES:
        low, best, high = (statistics.median(found[family][i] for found in plain) for i in range(3))
        print(
            f"{family:8}{statistics.median(found[family] for found in true):8.1f}"
            f"{f'{best:.1f} [{low:.1f}-{high:.1f}]':>22}"
            f"{statistics.median(found[family][1] for found in settled):24.1f}"
            f"{statistics.median(found[family] for found in cprofile):12.1f}"
        )
    if sys.version_info[:2] == (3, 12):
        print("On 3.12 cProfile records no Cython function at all.")


if __name__ == "__main__":
    main()
