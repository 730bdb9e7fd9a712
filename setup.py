"""Builds the runtime; everything else is in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

PROBE = Path("cyprof/probe")
SOURCES = (
    "runtime", "threads", "tree", "watcher", "functions", "code_lines", "callables", "frames", "frames_monitoring",
    "frames_profile", "snapshot", "calibrate",
)  # fmt: skip

setup(
    ext_modules=[
        Extension(
            "cyprof.probe._runtime",
            sources=[str(PROBE / f"{name}.c") for name in SOURCES],
            depends=[str(PROBE / "probe.h"), str(PROBE / "runtime.h")],
            extra_compile_args=["-O2", "-Wall", "-Wextra", "-Wno-unused-function", "-fvisibility=hidden"],
            extra_link_args=["-pthread"],
        )
    ]
)
