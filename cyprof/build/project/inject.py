"""Runs at the start of every Python process of a build environment: has Cython put probes in, once it is imported.

Executed by the environment's .pth file, outside any package. Whatever starts Cython (setuptools, the `cython` program, a
build script in a child process), its compiler is imported as Cython.Compiler.Main, and right after that our hook goes in.
"""

# ruff: noqa: PTH100, PTH109, PTH123
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_REQUEST = os.environ.get("CYPROF_INJECT_REQUEST", "")


def _request() -> dict[str, Any]:
    import json

    with open(_REQUEST, encoding="utf-8") as file:
        value = json.load(file)
    assert isinstance(value, dict)
    return value


def _install_hook(module: Any) -> None:
    """After Cython.Compiler.Main."""
    del module
    request = _request()
    # cyprof's folder holds the user's other packages as well, which a build must not see: only the package is shown.
    package = type(sys)("cyprof")
    package.__path__ = [request["package"]]
    sys.modules.setdefault("cyprof", package)
    from pathlib import Path

    from cyprof.build.project.places import Places
    from cyprof.cython import hook, names

    if request["legacy"]:
        from Cython.Compiler import Options

        Options._directive_defaults.update(legacy_implicit_noexcept=True, cpow=True, c_api_binop_methods=True)
        if Options._directive_defaults.get("language_level") is None:
            Options._directive_defaults["language_level"] = 2
    names.show_at(Places(**request["places"]).shown)
    options = hook.ProbeOptions.from_json(request["probes"])
    hook.install(options, Path(request["reports"]))
    if options.lines:
        _record_translations(Path(request["reports"]))


def _record_translations(folder: Any) -> None:
    """Leaves beside each report what annotate.py needs to translate the module once more."""
    import json

    from Cython.Compiler import ModuleNode

    from cyprof.build.project.annotate import RECORD_SUFFIX
    from cyprof.cython.nodes import wrap_method

    def process_implementation(original: Any, node: Any, choices: Any, result: Any) -> Any:
        directives = {name: value for name, value in choices.compiler_directives.items() if _is_plain(value)}
        told = {
            "source": os.path.abspath(node.pos[0].filename),
            "module": str(node.full_module_name),
            "cwd": os.getcwd(),
            "options": {
                "include_path": list(choices.include_path),
                "cplus": bool(choices.cplus),
                "compiler_directives": {**directives, "profile": False, "linetrace": False},
                "language_level": choices.language_level,
                "compile_time_env": choices.compile_time_env,
            },
        }
        folder.mkdir(parents=True, exist_ok=True)
        name = told["module"].removesuffix(".__init__")
        if _is_plain(told["options"]["compile_time_env"]):
            (folder / f"{name}{RECORD_SUFFIX}").write_text(json.dumps(told), encoding="utf-8")
        return original(node, choices, result)

    wrap_method(ModuleNode.ModuleNode, "process_implementation", process_implementation)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(item) for item in value.values())
    return value is None or isinstance(value, str | int | float | bool)


def _keep_from_cache(module: Any) -> None:
    """After Cython.Build.Dependencies: Cython's own cache of C files knows nothing of probes."""
    original = module.cythonize

    def cythonize(*args: Any, **options: Any) -> Any:
        options.pop("cache", None)
        jobs = _request()["jobs"]
        if jobs > 1:
            options.setdefault("nthreads", jobs)
        return original(*args, **options)

    cythonize.__doc__ = original.__doc__
    module.cythonize = cythonize


def _choose_extensions(module: Any) -> None:
    """After setuptools.command.build_ext: only the extensions asked for are built, and as many at once as asked for."""
    request = _request()
    patterns, jobs = request["probes"]["modules"], request["jobs"]
    original = module.build_ext.build_extensions

    def build_extensions(self: Any) -> None:
        if jobs > 1 and not self.parallel:
            self.parallel = jobs
        if patterns:
            from fnmatch import fnmatchcase

            chosen = [one for one in self.extensions if any(fnmatchcase(one.name, pattern) for pattern in patterns)]
            self.extensions = chosen or self.extensions
        original(self)

    module.build_ext.build_extensions = build_extensions


_AFTER: dict[str, Callable[[Any], None]] = {
    "Cython.Compiler.Main": _install_hook,
    "Cython.Build.Dependencies": _keep_from_cache,
    "setuptools.command.build_ext": _choose_extensions,
}


class _CyprofWatch:
    """Stands first on sys.meta_path and does something right after certain modules have been imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec another finder gives, with our part after its module's body."""
        act = _AFTER.pop(name, None)
        if act is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self._follow(spec.loader, act)
                return spec
        return None

    @staticmethod
    def _follow(loader: Any, act: Callable[[Any], None]) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            act(module)

        loader.exec_module = exec_module


# A venv's .pth files are read twice (site.venv and site.main).
if _REQUEST and not any(type(finder).__name__ == _CyprofWatch.__name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, _CyprofWatch())
