"""From a raw recording to a profile."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cyprof.collect.convert import Facts, to_profile
from cyprof.collect.own import without_own_calls
from cyprof.model import Profile

FACTS = Facts("prog.py", ("prog.py",), 0, "2026-01-01T00:00:00+00:00", "auto", False, {"call_ns": 4.0, "clock_ns": -1.0})
PURE = ("pure", "it failed", "It ran as plain Python.")


def recording(functions: list[tuple[Any, ...]], nodes: list[tuple[int, int]], **more: Any) -> dict[str, Any]:
    """A raw recording: `nodes` are (parent, function), each with one call and 10 ns."""
    raw: dict[str, Any] = {
        "functions": functions,
        "files": [],
        "threads": [(1, "MainThread", 5, 9)],
        "wall_ns": 100,
        "cpu_ns": 50,
    }
    raw |= {"samples": 0, "parent": [parent for parent, _ in nodes], "function": [function for _, function in nodes]}
    raw |= {name: [1] * len(nodes) for name in ("calls", "thread")}
    raw |= {name: [0] * len(nodes) for name in ("exact_calls", "resumes", "raised", "wait_ns", "call_line")}
    raw |= {"self_ns": [10] * len(nodes), **{f"line_{name}": [] for name in ("node", "file", "line", "hits", "self_ns")}}
    return raw | more


def profile_of(raw: dict[str, Any], **more: Any) -> Profile:
    empty = {"modules": {}, "probes": {}, "skipped": {}, "notes": []}
    return to_profile({"raw": raw, "loaded": [], "overlay": empty, "extensions": []} | more, FACTS)


def python(name: str, file: str = "", line: int = 1, module: str = "__main__") -> tuple[Any, ...]:
    return (module, name, file, line, "python", False, "python")


def builtin(name: str, module: str = "builtins") -> tuple[Any, ...]:
    return (module, name, "", 0, "builtin", False, "c")


def test_files_exist_and_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x\n")
    files = ["a.py", "gone.py", "<string>", "<frozen os>", "<frozen importlib._bootstrap>", "<frozen nothing>", ""]
    functions = [python(f"f{number}", file) for number, file in enumerate(files)]
    profile = profile_of(recording(functions, [(-1, number) for number in range(len(files))]))
    found = [function.file for function in profile.functions]
    assert found[0] == str(tmp_path / "a.py")
    assert found[1:3] == ["", ""]
    assert Path(found[3]).samefile(os.__file__)
    assert found[4].endswith("/importlib/_bootstrap.py")
    assert found[5:] == ["", ""]
    assert set(profile.source_hashes) == {file for file in found if file}


def test_code_made_anew_is_one_function(tmp_path: Path) -> None:
    functions = [python("main"), python("f", "<string>"), python("g"), python("f", "<string>"), python("f", "<stdin>")]
    nodes = [(-1, 0), (0, 1), (1, 2), (0, 3), (3, 2), (0, 4)]
    lines = {"line_node": [1, 3], "line_file": [0, 0], "line_line": [1, 1], "line_hits": [2, 3], "line_self_ns": [1, 1]}
    (tmp_path / "x.py").touch()
    profile = profile_of(recording(functions, nodes, files=[str(tmp_path / "x.py")], **lines))
    assert [function.name for function in profile.functions] == ["main", "f", "g", "f"]
    assert profile.tree.parent == [-1, 0, 1, 0]
    assert profile.tree.calls == [1, 2, 2, 1]
    assert profile.tree.self_ns == [10, 20, 20, 10]
    assert (profile.lines.node, profile.lines.hits) == ([1, 1], [2, 3])


def test_calls_of_cyprofs_own_files_are_taken_out() -> None:
    functions = [builtin("isinstance"), python("main"), builtin("len"), python("show"), builtin("excepthook", "sys")]
    raw = without_own_calls(recording(functions, [(-1, 0), (-1, 1), (1, 2), (-1, 4), (3, 3), (4, 2)]))
    profile = profile_of(raw)
    assert [function.name for function in profile.functions] == ["main", "len"]
    assert profile.tree.parent == [-1, 0]
    clean = recording([python("main")], [(-1, 0)])
    assert without_own_calls(clean) is clean


def test_run() -> None:
    run = profile_of(recording([python("main")], [(-1, 0)])).run
    assert (run.target, run.argv, run.wall_ns, run.cpu_ns, run.events) == ("prog.py", ("prog.py",), 100, 50, 2)
    assert (run.cost.call_ns, run.cost.clock_ns) == (4.0, 0.0)
    assert run.cython == ""


def test_reports_of_the_modules_that_ran(tmp_path: Path) -> None:
    source = tmp_path / "fast.pyx"
    source.write_text("x\n")
    hint = "Take the decorator off."
    report = {
        "module": "fast", "source": str(source), "cython": "3.1.0", "c_file": "", "functions": [], "files": [str(source)],
        "unseen": [{"name": "f", "file": str(source), "line": 3, "reason": "it is decorated", "hint": hint}],
        "overridden": [{"directive": "profile", "value": False}], "scores": {str(source): {"3": 11}},
    }  # fmt: skip
    path = tmp_path / "fast.json"
    path.write_text(json.dumps(report))
    built = {"extension": "", "source": str(source), "report": str(path), "loose": True}
    overlay = {
        "modules": {"fast": built, "unused": {**built, "report": "/none"}},
        "probes": {},
        "skipped": {"pure": "it failed"},
        "notes": [],
    }
    profile = profile_of(recording([python("main")], [(-1, 0)]), loaded=["fast"], overlay=overlay)
    assert profile.run.cython == "3.1.0"
    assert profile.scores == {str(source): {3: 11}}
    assert [(one.module, one.reason, one.hint) for one in profile.unseen] == [("fast.f", "it is decorated", hint), PURE]
    assert "profile=False was overridden" in profile.notes[0]


def test_cython_modules_without_probes_are_named_with_their_share(tmp_path: Path) -> None:
    cython, plain = tmp_path / "a.so", tmp_path / "b.so"
    cython.write_bytes(b"...cython_runtime...")
    plain.write_bytes(b"...")
    functions = [python("main"), builtin("solve", "pkg.a"), builtin("add", "other.b")]
    extensions = [("pkg.a", str(cython)), ("pkg.uncalled", str(cython)), ("other.b", str(plain)), ("gone", "/none")]
    profile = profile_of(recording(functions, [(-1, 0), (0, 1), (0, 2), (0, 1)]), extensions=extensions)
    assert [(one.module, one.share) for one in profile.unseen] == [("pkg", 0.5)]
    assert "pkg.a" in profile.unseen[0].reason
