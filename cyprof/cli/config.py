"""`[tool.cyprof]` of a pyproject.toml: defaults for options."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .options import setting_checks

_FILE = "pyproject.toml"
_TABLE = "[tool.cyprof]"


def defaults(folder: Path | None = None) -> dict[str, Any]:
    """Option values from the nearest pyproject.toml that has a [tool.cyprof], in `folder` (by default the current one)
    or above it. Raises UsageError that names the file and the key for what is unknown or makes no sense."""
    try:
        start = Path.cwd() if folder is None else folder
    except OSError:
        return {}  # the current folder was removed: there is nothing to read
    for place in (start, *start.parents):
        table = _read(place / _FILE)
        if table is not None:
            return _checked(table, place / _FILE)
    return {}


def _read(path: Path) -> Any:
    """The table of one file, None when it has none."""
    try:
        text = path.read_bytes()
    except OSError:
        return None
    if b"cyprof" not in text:
        return None  # most have none, and need not be parsed
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8")).get("tool", {}).get("cyprof")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise UsageError(f"{path} is no valid TOML: {error}.", f"Mend it; cyprof reads {_TABLE} in it.") from error


def _checked(table: Any, path: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.cyprof is no table.", f"Write it as {_TABLE}.")
    checks = setting_checks()
    values = {}
    for key, value in table.items():
        if key not in checks:
            raise UsageError(f"{path}: {_TABLE} has an unknown key {key!r}.", f"Known are {', '.join(checks)}.")
        name, check = checks[key]
        try:
            values[name] = check(value)
        except ArgumentTypeError as error:
            raise UsageError(f"{path}: {key} = {value!r} in {_TABLE} makes no sense: {error}.", "Mend it there.") from error
    return values
