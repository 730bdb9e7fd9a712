"""`cyprof build`: projects and installed packages, with probes, into the cache."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence

from ..errors import UsageError
from .options import add_general, positive
from .parser import Parser
from .terminal import Terminal

_LEVELS = ("0", "1", "2", "3", "s")


def main(words: Sequence[str], terminal: Terminal) -> int:
    """Runs the command and returns its exit code."""
    from ..build.cache import Cache
    from ..build.project import Settings, build_project, find_project
    from ..build.project.settings import remember
    from ..cython.hook import ProbeOptions

    parser = _parser()
    options = parser.parse_args(list(words))
    if not options.projects:
        raise UsageError("cyprof build: no project was given.", "Name one: cyprof build FOLDER, or cyprof build NAME")
    terminal.quiet = options.quiet
    settings = Settings(
        environ=dict(options.env or ()),
        config=_config(options.config_setting or ()),
        modules=tuple(options.module or ()),
        level=options.level or "",
        jobs=options.jobs or 0,
    )
    cache = Cache.open()
    for text in options.projects:
        project = find_project(text, cache, terminal.progress)
        built = build_project(project, ProbeOptions(lines=options.lines), settings, cache, terminal.progress)
        remember(cache, project.key, settings)
        for note in built.notes:
            terminal.note(note)
        for module, reason in built.unprobed.items():
            terminal.note(f"{module} has no probes: {reason}")
        count = f"{len(built.modules)} module{'s' if len(built.modules) != 1 else ''}"
        terminal.note(f"{project.title}: {count} with probes{' (unchanged)' if built.cached else ''}, in {built.folder}")
    return 0


def _pair(text: str) -> tuple[str, str]:
    """NAME=VALUE. Raises ArgumentTypeError."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def _config(pairs: Sequence[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Config settings as a backend gets them: a list for a name that was given more than once."""
    config: dict[str, str | list[str]] = {}
    for name, value in pairs:
        earlier = config.get(name)
        config[name] = value if earlier is None else [*([earlier] if isinstance(earlier, str) else earlier), value]
    return config


def _parser() -> Parser:
    parser = Parser(
        "build",
        "Builds a project with its own build system, and with probes in its Cython modules. Its folder and what is installed\n"
        "stay as they are; --package of the other commands uses the build. What is unchanged is not built again.",
        [
            "cyprof build .                                       the project in this folder",
            "cyprof build cymem                                   what is installed, from its source distribution",
            "cyprof build implicit --env IMPLICIT_DISABLE_CUDA=1  and cyprof graph train.py --package implicit",
        ],
        operand="FOLDER|NAME[=FOLDER] ...",
    )
    parser.add_argument("projects", nargs="*", help="folders of projects, or installed distributions")
    group = parser.add_argument_group("the build", "A later --package of the same project is built the same way.")
    group.add_argument("--lines", action="store_true", help="with line probes, as cyprof lines needs them")
    group.add_argument("--module", action="append", metavar="PATTERN", help="only these extension modules get probes")
    group.add_argument("--env", action="append", type=_pair, metavar="NAME=VALUE", help="a variable for the build")
    setting = "a setting for the build backend, as pip's -C"
    group.add_argument("--config-setting", "-C", action="append", type=_pair, metavar="NAME=VALUE", help=setting)
    group.add_argument("-O", dest="level", choices=_LEVELS, metavar="LEVEL", help="0, 1, 2, 3 or s in place of its own -O")
    group.add_argument("--jobs", "-j", type=positive, metavar="N", help="compilers at once (default: what the backend does)")
    add_general(parser)
    return parser
