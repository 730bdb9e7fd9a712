"""Builds the runtime, and puts cyprof.pth into the wheel; everything else is in pyproject.toml."""

import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

PROBE = Path("cyprof/probe")
SOURCES = (
    "runtime", "threads", "thread_names", "tree", "watcher", "functions", "code_lines", "code_loops", "callables", "frames",
    "frames_monitoring", "frames_profile", "greenlets", "snapshot", "process", "deaths", "calibrate",
)  # fmt: skip

PTH = "cyprof.pth"


class BuildWithPth(build_py):
    """Lays the file that begins a recording in child processes beside the package: site reads it from there."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            shutil.copyfile(PTH, Path(self.build_lib) / PTH)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        more = [] if self.editable_mode else [str(Path(self.build_lib) / PTH)]
        return [*super().get_outputs(include_bytecode), *more]


if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(
        "cyprof does not work on this Python, which is built without the GIL (free-threaded). Install it on the ordinary build."
    )

setup(
    cmdclass={"build_py": BuildWithPth},
    ext_modules=[
        Extension(
            "cyprof.probe._runtime",
            sources=[str(PROBE / f"{name}.c") for name in SOURCES],
            depends=[str(PROBE / "probe.h"), str(PROBE / "runtime.h")],
            extra_compile_args=["-O2", "-Wall", "-Wextra", "-Wno-unused-function", "-fvisibility=hidden"],
            extra_link_args=["-pthread"],
        )
    ],
)
