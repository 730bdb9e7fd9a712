"""Runs programs with the C runtime built for a sanitizer, and fails on what that finds in it.

    python tests/sanitize.py address|thread [PROGRAM ...]

`address` is AddressSanitizer with UndefinedBehaviorSanitizer: every bad access and undefined operation counts, a leak
counts when the runtime itself made the allocation (the interpreter keeps a good deal to its end). `thread` is
ThreadSanitizer: a race counts when a frame of the runtime is part of it. Needs gcc with its sanitizers. Modules are built
beforehand, without them. A PROGRAM is sanitize_program.py or one of tests/integration/programs; without one, CHOSEN.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "integration" / "programs"
FLAGS = {"address": "-fsanitize=address,undefined", "thread": "-fsanitize=thread"}
LIBRARIES = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
OURS = re.compile(r"^\s+#\d+ .*cyprof/probe/(\w+\.[ch]:\d+)", re.M)
WAYS = (("--clock", "auto"), ("--lines", "--clock", "exact"))
CHOSEN = ("sanitize_program.py", "run_flows.py", "run_kinds.py", "run_recursion.py", "run_shares.py")


def build(kind: str, place: Path) -> None:
    """Installs cyprof with a runtime for the sanitizer into a folder. It is built from a copy: no other build shall find its
    objects, nor it theirs."""
    copy = place.with_name("sources")
    copy.mkdir()
    for name in ("setup.py", "pyproject.toml", "cyprof.pth", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "cyprof", copy / "cyprof", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    flags = f"{FLAGS[kind]} -g -O1 -fno-omit-frame-pointer"
    command = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(place), str(copy)]
    subprocess.run([sys.executable, *command], check=True, env={**os.environ, "CFLAGS": flags, "LDFLAGS": flags})


def environment(kind: str, logs: Path) -> dict[str, str]:
    """What a process needs to run with it. Reports go to files whose names begin with `logs`."""
    libraries = []
    for name in LIBRARIES[kind]:
        done = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        libraries.append(done.stdout.strip())
    common = f"log_path={logs}:exitcode=0:handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0"
    return {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": f"{common}:detect_leaks=1:malloc_context_size=6",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:halt_on_error=0:report_signal_unsafe=0:die_after_fork=0",
    }


def findings(kind: str, logs: Path) -> list[str]:
    """The reports that count."""
    found = []
    for path in sorted(logs.parent.iterdir()):
        text = path.read_text(errors="replace")
        if kind == "thread":
            blocks = re.split(r"={18}\n", text)
            found += [block for block in blocks if "WARNING: ThreadSanitizer" in block and OURS.search(block)]
            continue
        if "ERROR: AddressSanitizer" in text or "runtime error:" in text:
            found.append(text)
        # The first frame is the allocator's, the second who asked it.
        leaks = [block.splitlines() for block in re.split(r"\n\n+", text) if "leak of" in block.partition("\n")[0]]
        found += ["\n".join(lines) for lines in leaks if any(OURS.match(line) for line in lines[2:3])]
    return found


def kinds(reports: list[str]) -> list[str]:
    """One report of each kind, after their number. Those with the same first and last lines of the runtime are of one kind."""
    found: dict[tuple[str, ...], list[str]] = {}
    for report in reports:
        lines = OURS.findall(report)
        found.setdefault((lines[0], lines[-1]) if lines else (), []).append(report)
    return [f"{len(same)} like this:\n{same[0]}" for same in found.values()]


def main(kind: str, names: Sequence[str]) -> int:
    """Prints what was found and returns the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, place, logs = Path(scratch) / "programs", Path(scratch) / "cyprof", Path(scratch) / "logs" / "report"
        logs.parent.mkdir()
        shutil.copytree(PROGRAMS, folder)
        shutil.copy(ROOT / "tests" / "sanitize_program.py", folder)
        build(kind, place)
        environ = {**os.environ, "PYTHONPATH": str(place), "CYPROF_CACHE_DIR": str(Path(scratch) / "cache")}
        # Without the sanitizer's library that runtime cannot be loaded: the first time, which builds, it is the usual one.
        plain = {**os.environ, "CYPROF_CACHE_DIR": environ["CYPROF_CACHE_DIR"]}
        failed = []
        for name in names:
            for way in WAYS:
                command = [sys.executable, "-m", "cyprof", "run", name, "-o", "run.cyprof", *way]
                codes = [subprocess.run(command, cwd=folder, env=plain, capture_output=True, check=False).returncode]
                done = subprocess.run(
                    command, cwd=folder, env=environ | environment(kind, logs), capture_output=True, text=True, check=False
                )
                if done.returncode != codes[0]:
                    failed.append(f"{name} {' '.join(way)}: exit code {done.returncode}, {codes[0]} without it\n{done.stderr}")
        reports = findings(kind, logs)
    for text in [*failed, *kinds(reports)]:
        print(text)
    print(f"{kind} sanitizer: {len(reports)} findings in the runtime, {len(failed)} programs ended otherwise")
    return 1 if reports or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] or CHOSEN))
