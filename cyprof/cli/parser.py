"""Reads the words behind a command: options anywhere, one TARGET, and the program's own arguments after `--`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import UsageError
from ..target import Target

_ELSEWHERE = {
    "--sort": "cyprof stats",
    "--top": "cyprof stats and cyprof lines",
    "--explain": "cyprof stats and cyprof lines",
    "--lines": "cyprof run",
    "--engine": "cyprof stats and cyprof lines",
    "--style": "cyprof graph",
    "--threads": "cyprof graph and cyprof stats",
    "--rank": "cyprof graph, stats, lines and export",
    "--ranks": "cyprof stats",
    "--format": "cyprof graph, stats, lines and export",
}
"""Options that some commands have, and which: given to another they are not the program's."""


class Parser(argparse.ArgumentParser):
    """An option parser that raises UsageError, and that leaves TARGET and the program's arguments to `read`."""

    def __init__(self, command: str, description: str, examples: Sequence[str], operand: str = "TARGET") -> None:
        runs = operand == "TARGET"
        super().__init__(
            prog=f"cyprof {command}",
            usage=f"cyprof {command} [OPTIONS] {operand}{' [-- ARGUMENT ...]' if runs else ''}",
            description=description,
            epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=100),
            allow_abbrev=False,
        )
        self.operand = operand

    def error(self, message: str) -> NoReturn:
        """Raises instead of exiting."""
        raise UsageError(f"{self.prog}: {message}.", f"See {self.prog} --help.")

    def takes_value(self) -> dict[str, bool]:
        """Every option by name, and whether a value belongs to it."""
        return {name: action.nargs != 0 for action in self._actions for name in action.option_strings}

    def read(self, words: Sequence[str], defaults: dict[str, Any]) -> tuple[argparse.Namespace, Target]:
        """The options, those of `defaults` behind them, and the target with its arguments. Raises UsageError."""
        before, after = _split(words)
        parts = _sort(before, self.takes_value(), self.prog)
        if parts.foreign:
            raise self._foreign(parts, after)
        self.set_defaults(**{name: value for name, value in defaults.items() if self._has(name)})
        options = self.parse_args(parts.options)
        return options, self._target(parts, options, tuple(after or ()))

    def read_many(self, words: Sequence[str], defaults: dict[str, Any]) -> tuple[argparse.Namespace, list[str], list[str]]:
        """The options, several operands as they were typed (one in quotes may hold blanks), and the words behind `--`.
        Raises UsageError."""
        before, after = _split(words)
        parts = _sort(before, self.takes_value(), self.prog, many=True)
        if parts.foreign:
            raise self._foreign(parts, after)
        self.set_defaults(**{name: value for name, value in defaults.items() if self._has(name)})
        return self.parse_args(parts.options), parts.operands, list(after or ())

    def _has(self, name: str) -> bool:
        return any(action.dest == name for action in self._actions)

    def _target(self, parts: _Parts, options: argparse.Namespace, args: tuple[str, ...]) -> Target:
        module, code = getattr(options, "module", None), getattr(options, "code", None)
        given = [Target(kind, value, args) for kind, value in (("module", module), ("code", code)) if value is not None]  # type: ignore[arg-type]
        given += [Target("script", word, args) for word in parts.operands]
        if not given:
            raise UsageError(
                f"{self.prog}: no {self.operand} was given.", f"Name one: {self.prog} {self.operand} (see {self.prog} --help)"
            )
        if len(given) > 1:
            self.error(f"there is one program to run, and both {given[0].title} and {given[1].title} were given")
        if given[0].kind == "code" and sys.version_info >= (3, 14):
            from textwrap import dedent

            return Target("code", dedent(given[0].value), args)  # as python does
        return given[0]

    def _foreign(self, parts: _Parts, after: list[str] | None) -> UsageError:
        """For words that are no options of ours: most likely the program's, which belong behind `--`."""
        word = parts.foreign[0]
        name = word.partition("=")[0]
        what = f"{self.prog} has no option {name}." if word.startswith("-") else f"{self.prog} takes one {self.operand}."
        if name in _ELSEWHERE and name not in self.takes_value():
            return UsageError(what, f"It belongs to {_ELSEWHERE[name]}; see {self.prog} --help.")
        similar = _similar(name, self.takes_value()) if word.startswith("-") else ""
        if self.operand != "TARGET" or not parts.has_target_before_foreign:
            return UsageError(what, f"Did you mean {similar}?" if similar else f"See {self.prog} --help.")
        command = shlex.join([*self.prog.split(), *parts.ours, "--", *parts.foreign, *(after or ())])
        hint = f"Arguments of the program go behind --: {command}"
        return UsageError(what, f"{hint}\nOr did you mean {similar}?" if similar else hint)


@dataclass
class _Parts:
    """The words before `--`: options in a form that argparse cannot misread, operands, and what belongs to neither.

    `ours` are options and operands as they were typed.
    """

    options: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    has_target: bool = False
    has_target_before_foreign: bool = False

    def add_foreign(self, *words: str) -> None:
        if not self.foreign:
            self.has_target_before_foreign = self.has_target
        self.foreign += words


def _split(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    words = list(words)
    if "--" not in words:
        return words, None
    place = words.index("--")
    return words[:place], words[place + 1 :]


def _sort(words: list[str], takes_value: dict[str, bool], prog: str, many: bool = False) -> _Parts:
    parts = _Parts()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, has_value, attached = _option(word, takes_value)
        if name is None and many and (" " in word or not word.startswith("-")):
            parts.operands.append(word)
            continue
        if name is None:
            _sort_other(word, rest, parts)
            continue
        typed = [word]
        if takes_value[name] and not has_value:
            if not rest:
                raise UsageError(f"{prog}: {name} needs a value.", f"See {prog} --help.")
            attached = rest.pop(0)
            typed.append(attached)
        if takes_value[name]:
            # Attached, since a value may look like an option: --hide=-x, -c-1.
            word = f"{name}={attached}" if name.startswith("--") else name + attached
        parts.options.append(word)
        parts.ours += typed
        parts.has_target |= name in ("-m", "-c")
    return parts


def _option(word: str, takes_value: dict[str, bool]) -> tuple[str | None, bool, str]:
    """The option a word names, whether its value is attached, and that value. None for what is no option of ours."""
    if word in takes_value:
        return word, False, ""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return (name, True, value) if equals and takes_value.get(name) else (None, False, "")
    if word.startswith("-") and takes_value.get(word[:2]):
        return word[:2], True, word[2:]
    return None, False, ""


def _sort_other(word: str, rest: list[str], parts: _Parts) -> None:
    if word.startswith("-") and word != "-":
        parts.add_foreign(word)
        if parts.has_target and rest and not rest[0].startswith("-"):
            parts.add_foreign(rest.pop(0))  # most likely its value
    elif parts.has_target:
        parts.add_foreign(word)
    else:
        parts.has_target = True
        parts.operands.append(word)
        parts.ours.append(word)


def _similar(name: str, known: dict[str, bool]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1, cutoff=0.75)
    return found[0] if found else ""
