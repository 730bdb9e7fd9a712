"""One Cython source built in the ways that are compared: bare, with our probes, and with Cython's own tracing."""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

# How each build is translated (directives) and compiled (macros). `probed` and `probed_lines` come from the hook.
BUILDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bare": ((), ()),
    "stock": (("profile=True",), ("CYTHON_TRACE_NOGIL=1", "CYTHON_TRACE=1")),
    "stock_lines": (("profile=True", "linetrace=True", "binding=True"), ("CYTHON_TRACE_NOGIL=1", "CYTHON_TRACE=1")),
    "probed": ((), ()),
    "probed_lines": ((), ()),
}

_HOOKED = """
import sys
from pathlib import Path
from cyprof.cython import hook
hook.install(hook.ProbeOptions(lines=sys.argv[3] == "probed_lines"), Path(sys.argv[2]).parent)
from Cython.Compiler.Main import compile
from Cython.Compiler.Options import CompilationOptions
done = compile([sys.argv[1]], CompilationOptions(output_file=None, compiler_directives={"language_level": 3}))
sys.exit(any(result.num_errors for result in done.values()))
"""


def build(folder: Path, source: str, way: str, optimisation: str = "-O2") -> ModuleType:
    """Builds `source` in one way and imports it as `work_<way>`. The recording runtime must be imported before."""
    name = f"work_{way}"
    place = folder / way
    place.mkdir(parents=True)
    pyx = place / f"{name}.pyx"
    pyx.write_text(source)
    directives, macros = BUILDS[way]
    if way.startswith("probed"):
        _run([sys.executable, "-c", _HOOKED, str(pyx), str(pyx.with_suffix(".c")), way])
    else:
        _run([sys.executable, "-m", "cython", "-3", *(f"-X{directive}" for directive in directives), str(pyx)])
    extension = pyx.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    macro_options = [f"-D{macro}" for macro in macros]
    include = ["-I", sysconfig.get_paths()["include"]]
    c_file = str(pyx.with_suffix(".c"))
    _run(["gcc", "-shared", "-fPIC", optimisation, "-g", "-w", *macro_options, *include, c_file, "-o", str(extension)])
    spec = importlib.util.spec_from_file_location(name, extension)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")


def seconds(function: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def interleaved(variants: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Runs every variant once a round, so that a slow phase of the machine meets them all. Returns their figures."""
    figures: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, variant in variants.items():
            figures[name].append(variant())
    return figures


def median_text(values: Iterable[float], unit: str = "ns") -> str:
    """`4.6 ns (4.4-5.1)`: the median with the least and the greatest."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.1f} {unit} ({ordered[0]:.1f}-{ordered[-1]:.1f})"
