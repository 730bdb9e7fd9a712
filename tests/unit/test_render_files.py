"""Rendering into files: the registry, .dot, .json, the table, and how drawing fails."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import stat
from pathlib import Path

import profiles
import pytest

from cyprof import render
from cyprof.errors import RenderError, UsageError
from cyprof.render import image
from cyprof.render.dot import dot_text
from cyprof.render.engine import draw_embedded
from cyprof.view import ViewOptions, call_graph, source_lines

GOLDEN = Path(__file__).parent.parent / "golden"
ALL = ["demo", "mnist", "recursion", "single", "empty", "uncertain", "nasty"]
embedded = pytest.mark.skipif(importlib.util.find_spec("pygraphviz") is None, reason="pygraphviz is not installed")


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"differs from {path}; UPDATE_GOLDEN=1 writes it anew"


@pytest.mark.parametrize("name", ALL)
def test_dot_is_as_before(name: str) -> None:
    graph = call_graph(getattr(profiles, name)(), ViewOptions(), source_lines(profiles.DEMO_LINES))
    check_golden(f"{name}.dot", dot_text(graph))


@pytest.mark.parametrize("name", ["demo", "mnist", "empty", "uncertain"])
def test_json_is_as_before(name: str) -> None:
    check_golden(f"{name}.json", render.find(Path("a.json")).render(getattr(profiles, name)(), ViewOptions()).decode())


@pytest.mark.parametrize("name", ALL)
def test_table_is_as_before(name: str) -> None:
    check_golden(f"{name}.stats.txt", render.stats_text(getattr(profiles, name)(), ViewOptions(explain=True, threads=True)))


def test_json_has_every_key_of_the_schema() -> None:
    data = json.loads(render.find(Path("a.json"), "export").render(profiles.demo(), ViewOptions()))
    assert data["schema"] == "cyprof/1"
    assert {
        "target", "argv", "exit_code", "wall_s", "cpu_s", "python", "cython", "clock", "probe_ns", "events", "overhead_s",
        "samples", "started",
    } <= set(data["run"])  # fmt: skip
    keys = {
        "functions": "id module name file line kind nogil calls primitive_calls resumes raised self_s total_s wait_s "
        "self_min_s raw_self_s",
        "calls": "caller callee calls total_s",
        "tree": "id parent function thread calls resumes self_s total_s wait_s",
        "lines": "file line function hits self_s total_s",
        "threads": "id name cpu_s wall_s",
    }
    for part, names in keys.items():
        assert set(names.split()) <= set(data[part][0]), part
    assert sum(f["self_s"] for f in data["functions"]) == pytest.approx(data["run"]["wall_s"], rel=1e-6)


def test_json_holds_any_name() -> None:
    data = json.loads(render.find(Path("a.json")).render(profiles.nasty(), ViewOptions()))
    assert profiles.NASTY in [function["name"] for function in data["functions"]]


def test_table_has_colours_on_a_terminal_only() -> None:
    assert "\x1b[" not in render.stats_text(profiles.demo(), ViewOptions())
    assert "\x1b[" in render.stats_text(profiles.demo(), ViewOptions(), color=True)


def test_table_fits_a_terminal() -> None:
    text = render.stats_text(profiles.nasty(), ViewOptions(), width=100)
    assert max(map(len, text.splitlines())) <= 100


def test_pstats_columns_stand_where_readers_look_for_them() -> None:
    lines = render.stats_text(profiles.demo(), ViewOptions()).splitlines()
    assert lines[0] == "         29771 function calls (7881 primitive calls) in 1.040 seconds"
    (head,) = [line for line in lines if "ncalls" in line]
    assert head.split()[:6] == ["ncalls", "tottime", "percall", "cumtime", "percall", "filename:lineno(function)"]
    (fib,) = [line for line in lines if "(fib)" in line]
    assert fib.split()[0] == "21891/1"
    assert float(fib.split()[1]) == pytest.approx(0.03001)


def test_suffix_decides_and_an_unknown_one_is_a_usage_error(tmp_path: Path) -> None:
    assert set(render.suffixes("graph")) >= {".svg", ".png", ".pdf", ".dot"}
    with pytest.raises(UsageError, match=r"suffix \.gif") as error:
        render.check_output(tmp_path / "a.gif", "graph")
    assert ".svg" in error.value.hint
    with pytest.raises(UsageError):
        render.check_output(tmp_path / "graph", "graph")


def test_place_that_cannot_be_written_is_found_before_the_run(tmp_path: Path) -> None:
    render.check_output(tmp_path / "a.svg", "graph")
    with pytest.raises(RenderError, match="does not exist"):
        render.check_output(tmp_path / "no" / "a.svg", "graph")
    (tmp_path / "b.svg").mkdir()
    with pytest.raises(RenderError, match="is a folder"):
        render.check_output(tmp_path / "b.svg", "graph")


def test_write_replaces_whole_files_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "my graph.dot"
    path.write_text("old")
    path.chmod(0o640)
    assert render.write(profiles.demo(), path, ViewOptions(), "graph") == path
    assert path.read_text().startswith("digraph")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["my graph.dot"]


def test_write_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.dot").symlink_to("real.dot")
    render.write(profiles.single(), tmp_path / "link.dot", ViewOptions(), "graph")
    assert (tmp_path / "link.dot").is_symlink()
    assert (tmp_path / "real.dot").read_text().startswith("digraph")


def fake_dot(folder: Path, script: str) -> None:
    dot = folder / "dot"
    dot.write_text(f"#!/bin/sh\n{script}\n")
    dot.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('echo "dot: graph is too large" >&2; exit 1', "graph is too large"),
        ("exit 0", "what it wrote is no whole json0"),
        ("echo '{\"bb\": '", "what it wrote is no whole json0"),
    ],
)
def test_failing_dot_has_its_say_and_the_graph_is_kept(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    fake_dot(tmp_path / "bin", script)
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "dot")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(RenderError, match=words) as error:
        render.write(profiles.demo(), tmp_path / "g.svg", ViewOptions(), "graph")
    assert error.value.exit_code == 5
    assert str(tmp_path / "g.dot") in error.value.hint
    assert (tmp_path / "g.dot").read_text().startswith("digraph")
    assert not (tmp_path / "g.svg").exists()


def test_dot_that_crashes_is_asked_for_simpler_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def draw(text: str, form: str, placed: bool) -> bytes:
        (splines,) = re.findall(r'splines="(\w+)"', text)
        seen.append(splines)
        if splines != "line":
            raise image.GraphvizError("it was ended by signal 11")
        return draw_embedded(text, form, placed)

    monkeypatch.setattr(image, "find_graphviz", lambda: draw)
    if importlib.util.find_spec("pygraphviz") is None:
        pytest.skip("pygraphviz is not installed")
    assert b"<svg" in image.draw(call_graph(profiles.demo(), ViewOptions()), "svg")
    assert list(dict.fromkeys(seen)) == ["spline", "polyline", "line"]


def test_without_dot_graphviz_is_named_and_a_file_of_the_user_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "dot")
    monkeypatch.setenv("PATH", "/nonexistent")
    (tmp_path / "h.dot").write_text("mine")
    with pytest.raises(RenderError, match="Graphviz is not installed") as error:
        render.write(profiles.demo(), tmp_path / "h.png", ViewOptions(), "graph")
    assert "apt-get install graphviz" in error.value.hint
    assert (tmp_path / "h.dot").read_text() == "mine"
    assert (tmp_path / "h.png.dot").read_text().startswith("digraph")


def test_misspelt_engine_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "dots")
    with pytest.raises(UsageError, match="CYPROF_GRAPHVIZ"):
        image.draw(call_graph(profiles.demo(), ViewOptions()), "svg")


def test_without_a_font_png_is_refused_and_svg_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "installed_fonts", frozenset)
    monkeypatch.setattr(image, "find_graphviz", lambda: lambda text, form, placed: b"{}")
    with pytest.raises(RenderError, match="No font is installed"):
        image.draw(call_graph(profiles.demo(), ViewOptions()), "png")


@embedded
@pytest.mark.parametrize("name", ALL)
def test_embedded_graphviz_draws_svg(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "embedded")
    monkeypatch.setenv("PATH", "/nonexistent")
    profile = getattr(profiles, name)()
    text = render.find(Path("a.svg"), "graph").render(profile, ViewOptions()).decode()
    graph = call_graph(profile, ViewOptions())
    for kind in {node.css_class for node in graph.nodes}:
        assert text.count(f'class="{kind}"') == sum(node.css_class == kind for node in graph.nodes)
    assert text.count('class="call"') == sum(not edge.indirect for edge in graph.edges)
    assert 'fill="#ffffff"' in text or 'fill="white"' in text


@embedded
@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_embedded_graphviz_draws_pictures(suffix: str, magic: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPROF_GRAPHVIZ", "embedded")
    if not image.installed_fonts():
        pytest.skip("no font is installed")
    assert render.find(Path(f"a{suffix}"), "graph").render(profiles.demo(), ViewOptions()).startswith(magic)
