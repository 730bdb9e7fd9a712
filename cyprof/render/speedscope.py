"""speedscope's own file (https://www.speedscope.app): one evented profile for each thread, in the shape of its JSON schema."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import PurePath
from typing import Any

from ..model import NO_PARENT, Profile
from ..view import ViewOptions
from ..view.names import unique_names
from ..view.units import visible
from .registry import FOR_OTHER_VIEWERS, renderer

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


@renderer(
    ".speedscope.json",
    name="speedscope",
    description="flame graphs of each thread: www.speedscope.app",
    groups=FOR_OTHER_VIEWERS,
    limits="speedscope shows times along each call path, and no calls; calls of one path are one block, in no order of time.",
    needs_paths=True,
)
def speedscope_bytes(profile: Profile, options: ViewOptions) -> bytes:
    """The calling-context tree in ns, each call path opened once, its self time first. Options do not change it."""
    from .. import __version__

    del options
    names = unique_names(profile.functions)
    frames: list[dict[str, Any]] = [
        {"name": name, "file": visible(function.file), "line": function.line} if function.file else {"name": name}
        for name, function in zip(names, profile.functions, strict=True)
    ]
    document = {
        "$schema": SCHEMA,
        "name": visible(PurePath(profile.run.target).name or profile.run.target),
        "exporter": f"cyprof {__version__}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": _profiles(profile),
    }
    return json.dumps(document, separators=(",", ":")).encode()


class _Timeline:
    """The events of one thread."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 0
        self.open: set[int] = {NO_PARENT}

    def add(self, kind: str, frame: int) -> None:
        self.events.append({"type": kind, "frame": frame, "at": self.now})


def _profiles(profile: Profile) -> list[dict[str, Any]]:
    names = {thread.id: thread.name for thread in profile.threads}
    lines = _timelines(profile) or {0: _Timeline()}
    return [
        {
            "type": "evented",
            "name": visible(names.get(thread, f"thread {thread}")),
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": line.now,
            "events": line.events,
        }
        for thread, line in lines.items()
    ]


def _timelines(profile: Profile) -> dict[int, _Timeline]:
    """By thread its events. A node may lie below one of another thread (OpenMP workers do): the path to it is opened in its
    own thread too, where it takes no time."""
    tree, own = profile.tree, profile.node_times.best
    lines: dict[int, _Timeline] = {}
    opened_in: dict[int, list[_Timeline]] = defaultdict(list)
    for node, entering in tree.walk():
        if not entering:
            for line in opened_in.pop(node):
                line.add("C", tree.function[node])
                line.open.remove(node)
            continue
        line = lines.setdefault(tree.thread[node], _Timeline())
        path, above = [node], tree.parent[node]
        while above not in line.open:
            path.append(above)
            above = tree.parent[above]
        for step in reversed(path):
            line.add("O", tree.function[step])
            line.open.add(step)
            opened_in[step].append(line)
        line.now += own[node]
    return lines
