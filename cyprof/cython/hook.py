"""Puts probes into every module that Cython compiles in this process, whatever started it.

Cython is told `profile=True`, and its tracing macros are given our meaning: the hook through which it reads its utility code
(`Cython.Compiler.Code.read_utilities_hook`) hands it our text for Profile.c. The rest are patches of node classes (nodes.py,
statements.py, loops.py, kept.py, arithmetic.py) and edits of the written C (text.py). Directives, file-level ones included, are
overridden; a decorator `@cython.profile(False)` is respected.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from . import arithmetic, kept, loops, text
from .names import shown_path
from .nodes import NodePatches, name_matches, wrap_method
from .report import ModuleReport
from .statements import Statements

_PROBE_FOLDER = Path(__file__).resolve().parent.parent / "probe"
_HEADERS = ("probe.h", "cython.h")
_OWN_SOURCES = (
    *("hook.py", "nodes.py", "statements.py", "arithmetic.py", "loops.py", "kept.py", "text.py"),
    *("names.py", "report.py", "scores.py", "stock.py"),
)
_FORCED = ("profile", "linetrace")

# Cython keeps the layout of generators and the names of its shared types by these macros: stock tracing stays off.
_CONFIG = """
#undef CYTHON_PROFILE
#define CYTHON_PROFILE 0
#undef CYTHON_TRACE
#define CYTHON_TRACE 0
#undef CYTHON_TRACE_NOGIL
#define CYTHON_TRACE_NOGIL 0
"""

# The string is what tells an extension of Cython's (extension.CYTHON_MARK).
_STAND_IN = """\
/* A stand-in for a module that gets no probes */
#include <Python.h>
const char *cyprof_stand_in = "cython_runtime";
PyMODINIT_FUNC PyInit_{name}(void)
{{
    PyErr_SetString(PyExc_ImportError, "built by cyprof as a stand-in, and not to be loaded");
    return NULL;
}}
"""


@dataclass(frozen=True)
class ProbeOptions:
    """Which probes to put in. `lines`: line probes as well as function probes, where `only` (patterns of qualified names or
    `module:name`, empty for all) matches. `without`: functions that get no probe at all. `modules`: patterns of the names of
    modules that get probes, empty for all. `stock`: Cython's own tracing in place of probes."""

    lines: bool = False
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    stock: bool = False
    modules: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> ProbeOptions:
        """The options of which `values` are the fields; one that is missing has its default."""
        told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return cls(**told)

    def probes_module(self, module: str) -> bool:
        """Whether a module gets probes at all."""
        return not self.modules or any(fnmatchcase(module, pattern) for pattern in self.modules)

    def probes(self, module: str, name: str) -> bool:
        """Whether a function gets probes."""
        return not name_matches(self.without, module, name)

    def probes_lines(self, module: str, name: str) -> bool:
        """Whether a function gets line probes."""
        return self.lines and (not self.only or name_matches(self.only, module, name))


def _version() -> str:
    folder = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for path in [*(_PROBE_FOLDER / name for name in _HEADERS), *(folder / name for name in _OWN_SOURCES)]:
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


HOOK_VERSION = _version()
"""Digest of all that decides what a probed module looks like: part of the key of the build cache."""


def install(options: ProbeOptions, report_dir: Path) -> None:
    """Patches Cython in this process, once. Each module compiled afterwards carries probes in its C, which needs no header of
    ours, and writes a ModuleReport into `report_dir`."""
    patches = NodePatches(options.probes, options.probes_lines)
    patches.install()
    arithmetic.install()
    statements = Statements()
    statements.install()
    loops.install(statements)
    kept.install()
    replace_utility_code()
    force_directives(options)
    calls = header_text(1)
    report_modules(patches, report_dir, options, lambda code: text.instrument(code, calls, options.lines))
    if options.modules:
        _stand_in_for_others(options)


def header_text(part: int = 0) -> str:
    """The C text of the probes (0) and of the wrappers of C calls (1)."""
    probe, cython = (path.read_text(encoding="utf-8") for path in (_PROBE_FOLDER / name for name in _HEADERS))
    macros, calls = cython.split("#endif /* CYP_CYTHON_H */")
    return calls if part else f"{probe}\n{macros}#endif\nCYP_MODULE_FUNCTION(0, 1)\n"


def replace_utility_code() -> None:
    """Gives Cython our text for its tracing macros, in this process."""
    from Cython.Compiler import Code

    original = Code.read_utilities_hook

    def read(path: str) -> Any:
        lines = original(path)
        return list(_profile_sections()) if path == "Profile.c" else lines

    Code.read_utilities_hook = read
    Code.UtilityCodeBase._utility_cache.pop("Profile.c", None)


def _profile_sections() -> Iterable[str]:
    def title(name: str) -> str:
        return f"/////////////// {name} ///////////////\n"

    yield title("Profile_config.proto")
    yield "//@proto_block: utility_code_proto_before_types\n"
    yield from _CONFIG.splitlines(keepends=True)
    yield title("Profile.proto")
    yield "//@requires: Profile_config\n"
    yield from header_text().splitlines(keepends=True)
    yield title("Profile")
    yield "\n"


def force_directives(options: ProbeOptions) -> None:
    """Has every module of this process compiled with tracing, whatever its file-level directives say."""
    from Cython.Compiler import Options, ParseTreeTransforms

    forced = {"profile": True, "linetrace": options.lines}

    def compilation_options(original: Any, self: Any, *args: Any, **values: Any) -> None:
        original(self, *args, **values)
        self.emit_linenums = True
        self.compiler_directives = {**self.compiler_directives, **forced}

    def module(original: Any, transform: Any, node: Any) -> Any:
        overridden: list[dict[str, Any]] = []
        if not options.probes_module(_module_name(node)):
            node.directive_comments.update(dict.fromkeys(_FORCED, False))
            return original(transform, node)
        for directive in _FORCED:
            value = node.directive_comments.pop(directive, None)
            if value is False:
                overridden.append({"directive": directive, "value": value})
        node.cyprof_overridden = overridden
        return original(transform, node)

    wrap_method(Options.CompilationOptions, "__init__", compilation_options)
    wrap_method(ParseTreeTransforms.InterpretCompilerDirectives, "visit_ModuleNode", module)


def _module_name(node: Any) -> str:
    """The dotted name a module is imported by: a package's own module is its `__init__` to Cython."""
    return str(node.full_module_name).removesuffix(".__init__")


def _stand_in_for_others(options: ProbeOptions) -> None:
    """Writes next to no C for the modules that get no probes, whatever builds them: the program has them from elsewhere."""
    from Cython.Compiler import ModuleNode

    def generate_c_code(original: Any, node: Any, env: Any, choices: Any, result: Any) -> None:
        name = _module_name(node)
        if options.probes_module(name):
            original(node, env, choices, result)
            return
        Path(result.c_file).write_text(_STAND_IN.format(name=name.rpartition(".")[2]), encoding="utf-8")
        result.c_file_generated = 1

    wrap_method(ModuleNode.ModuleNode, "generate_c_code", generate_c_code)


def report_modules(patches: NodePatches, report_dir: Path, options: ProbeOptions, edit: Callable[[str], str]) -> None:
    """Makes the report of each module that gets probes, and edits the C that was written for it."""
    from Cython import __version__ as cython_version
    from Cython.Compiler import ModuleNode

    def process_implementation(original: Any, node: Any, choices: Any, result: Any) -> Any:
        if not options.probes_module(_module_name(node)):
            return original(node, choices, result)
        source = shown_path(str(Path(node.pos[0].filename).absolute()))
        earlier = patches.report
        patches.report = ModuleReport(_module_name(node), source, cython_version)
        patches.report.overridden = getattr(node, "cyprof_overridden", [])
        answer = original(node, choices, result)
        if result.c_file and Path(result.c_file).exists():
            path = Path(result.c_file)
            path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
            patches.report.c_file = str(path.absolute())
            patches.report.write(report_dir)
        patches.report = earlier
        return answer

    wrap_method(ModuleNode.ModuleNode, "process_implementation", process_implementation)
