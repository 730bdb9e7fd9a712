"""The picture drawn with pycallgraph2's own classes: its names, counts, groups and times, and none of its faults."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import profiles
import pygraphviz
import pytest

from cyprof import render
from cyprof.errors import RenderError
from cyprof.model import Profile
from cyprof.render import pycallgraph2_style
from cyprof.view import ViewOptions

pytestmark = pytest.mark.every_python
ALL = ["demo", "mnist", "recursion", "single", "empty", "uncertain", "nasty"]


def text_of(profile: Profile, **options: Any) -> str:
    return render.find(Path("a.dot"), "pycallgraph2").render(profile, ViewOptions(**options)).decode()


def graph_of(profile: Profile, **options: Any) -> Any:
    """The graph as Graphviz' own reader sees it."""
    return pygraphviz.AGraph(string=text_of(profile, **options))


def edges_of(graph: Any) -> dict[tuple[str, str], str]:
    return {(edge[0], edge[1]): edge.attr["label"] for edge in graph.edges()}


def test_counts_edges_and_times_are_the_profiles() -> None:
    graph = graph_of(profiles.demo())
    assert graph.get_node("kern._inner").attr["label"] == r"kern._inner\ncalls: 6600\ntime: 0.982000s"
    edges = edges_of(graph)
    assert edges["kern.mid", "kern._inner"] == "6600"
    assert edges["kern.Acc.add", "kern.mid"] == "300"
    assert edges["kern.outer", "kern.mid"] == "30"
    assert edges["__main__.Model.train", "__main__.Model.step"] == "300"


def test_the_time_of_recursion_counts_once_and_its_calls_are_drawn() -> None:
    graph = graph_of(profiles.demo())
    assert graph.get_node("__main__.fib").attr["label"] == r"__main__.fib\ncalls: 21891\ntime: 0.030010s"
    assert edges_of(graph)["__main__.fib", "__main__.fib"] == "21890"


def test_modules_are_groups_also_where_one_lies_in_another() -> None:
    b = profiles.ProfileBuilder()
    outer = b.function("pkg", "outer", "pkg/__init__.py", 1)
    inner = b.function("pkg.sub", "C.inner", "pkg/sub.pyx", 1, "def")
    b.call(b.call(-1, outer, 1, 1), inner, 2, 1)
    groups = re.findall(r'subgraph "cluster_(.*?)" { "(.*?)"; label = "(.*?)"', text_of(b.profile()))
    assert sorted(groups) == [("pkg", "pkg.outer", "pkg"), ("pkg.sub", "pkg.sub.C.inner", "pkg.sub")]


def test_functions_of_one_name_stay_apart() -> None:
    b = profiles.ProfileBuilder()
    main = b.call(-1, b.function("__main__", "main", "a.py", 1), 1, 1)
    for line in (3, 9):
        b.call(main, b.function("__main__", "<lambda>", "a.py", line), line, 1)
    edges = edges_of(graph_of(b.profile()))
    assert edges == {("__main__.main", "__main__.<lambda>:3"): "3", ("__main__.main", "__main__.<lambda>:9"): "9"}


def test_what_is_hidden_leaves_a_dashed_edge_and_its_name_may_be_dotted() -> None:
    for pattern in ("kern:mid", "kern.mid", "mid"):
        graph = graph_of(profiles.demo(), hide=(pattern,))
        assert "kern.mid" not in graph.nodes()
        assert graph.get_edge("kern.Acc.add", "kern._inner").attr["style"] == "dashed"
    assert "left out by --hide" in text_of(profiles.demo(), hide=("kern.mid",))


def test_any_name_can_be_drawn(tmp_path: Path) -> None:
    names = graph_of(profiles.nasty()).nodes()
    assert len(names) == 4, names
    assert 'pkg.<"odd"> & co|{x}.a "b" <c> &' in names[1], names
    assert names[2] == "?"
    path = tmp_path / 'my "odd" graph; rm.svg'
    render.write(profiles.nasty(), path, ViewOptions(), "pycallgraph2")
    assert "a &quot;b&quot; &lt;c&gt; &amp; d | e } f" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ALL)
def test_the_embedded_graphviz_draws_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "embedded")
    monkeypatch.setenv("PATH", "/nonexistent")
    profile = getattr(profiles, name)()
    svg = render.find(Path("a.svg"), "pycallgraph2").render(profile, ViewOptions()).decode()
    assert svg.count("<g id=") >= len(graph_of(profile).nodes())
    assert 'class="node' not in svg


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_pictures(suffix: str, magic: bytes) -> None:
    found = render.find(Path(f"a{suffix}"), "pycallgraph2")
    assert found.render(profiles.demo(), ViewOptions()).startswith(magic)


def test_failing_dot_has_its_say_and_the_graph_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dot = tmp_path / "dot"
    dot.write_text('#!/bin/sh\necho "dot: out of ink" >&2\nexit 7\n')
    dot.chmod(0o755)
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "dot")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(RenderError, match="out of ink") as error:
        render.write(profiles.demo(), tmp_path / "g.svg", ViewOptions(), "pycallgraph2")
    assert error.value.exit_code == 5
    assert "kern._inner" in (tmp_path / "g.dot").read_text()
    assert not (tmp_path / "g.svg").exists()


def test_its_import_changes_nothing_and_warns_of_nothing() -> None:
    code = (
        "import inspect; before = inspect.getmodule\n"
        "from cyprof.render.pycallgraph2_style import pycallgraph2\n"
        "assert pycallgraph2().Config; assert inspect.getmodule is before\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert inspect.getmodule.__module__ == "inspect"


@pytest.mark.parametrize("missing", ["pycallgraph2", "setuptools"])
def test_a_missing_package_is_named_before_the_run(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(RenderError, match=f"{missing} is not installed") as error:
        render.check_output(tmp_path / "g.svg", "pycallgraph2")
    assert f"pip install {missing}" in error.value.hint
    render.check_output(tmp_path / "g.svg", "graph")


def test_its_tracer_is_never_started(monkeypatch: pytest.MonkeyPatch) -> None:
    pycallgraph2_style.pycallgraph2()
    monkeypatch.setattr(sys, "settrace", lambda function: pytest.fail("a tracer was set"))
    text_of(profiles.demo())
