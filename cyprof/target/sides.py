"""What `cyprof diff` compares: each operand is one side, a program or recordings of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from ..errors import UsageError
from .resolve import resolve
from .target import Target


def side_targets(operand: str, args: Sequence[str], command: str) -> list[Target]:
    """The targets an operand stands for: one program, or one or more recordings. Raises UsageError.

    A path stands for itself, a pattern of recordings (`'before-*.cyprof'`) for all it matches; anything else is read as the
    words behind `python`: `"train.py --stage cdef"`, `"-m package"`, `"-c code"`. `args` follow the operand's own.
    """
    if Path(operand).exists():
        return [_resolved(Target("script", operand, tuple(args)), command)]
    if operand.endswith(".cyprof") and _is_pattern(operand):
        return [resolve(Target("script", path), command) for path in _matching(operand)]
    try:
        words = shlex.split(operand)
    except ValueError as error:
        raise UsageError(f"{operand} cannot be read as words: {error}.", "Mend its quotes.") from error
    return [_resolved(_from_words(words, operand, args), command)]


def recordings(operand: str, command: str) -> list[Path]:
    """The recordings an operand stands for: one file, or all that a pattern matches. Raises UsageError when there is none."""
    names = _matching(operand) if _is_pattern(operand) and not Path(operand).exists() else [operand]
    targets = [resolve(Target("script", name), command) for name in names]
    for target in targets:
        if target.kind != "saved":
            raise UsageError(f"{target.value} is no recording.", f"Record it first: cyprof run {target.value} -o run.cyprof")
    return [Path(target.value) for target in targets]


def _is_pattern(operand: str) -> bool:
    return any(sign in operand for sign in "*?[")


def _matching(pattern: str) -> list[str]:
    found = sorted(glob(pattern))  # noqa: PTH207 - the pattern may be absolute
    if not found:
        raise UsageError(f"No recording matches {pattern}.", "Check the pattern and the folder you are in.")
    return found


def _from_words(words: list[str], operand: str, args: Sequence[str]) -> Target:
    if not words:
        raise UsageError("An empty word is no program.", "Name a script or a recording.")
    kinds = {"-m": "module", "-c": "code"}
    if words[0] in kinds:
        if len(words) < 2:
            raise UsageError(f"{operand} names no program.", f"Something has to follow {words[0]}, within the same quotes.")
        return Target(kinds[words[0]], words[1], (*words[2:], *args))  # type: ignore[arg-type]
    return Target("script", words[0], (*words[1:], *args))


def _resolved(target: Target, command: str) -> Target:
    if target.kind == "script" and target.value.endswith(".cyprof"):
        target = Target("script", target.value)  # what follows -- is for the programs among the sides
    return resolve(target, command)
