"""What the call graph shows, on profiles made by hand."""

from __future__ import annotations

import re
from itertools import pairwise

import profiles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import ProfileBuilder

from cyprof.model import Profile
from cyprof.view import Graph, Node, ViewOptions, call_graph, source_lines
from cyprof.view import palette as colours
from cyprof.view.contexts import fold
from cyprof.view.measure import links, measure
from cyprof.view.select import Facts, select


def titles(graph: Graph) -> list[str]:
    return [node.title for node in graph.nodes]


def node_of(graph: Graph, title: str) -> Node:
    (found,) = [node for node in graph.nodes if node.title == title]
    return found


def edge_pairs(graph: Graph) -> dict[tuple[str, str], str]:
    names = {node.id: node.title for node in graph.nodes}
    return {(names[edge.tail], names[edge.head]): edge.css_class for edge in graph.edges}


def importing_program(share_of_import: float = 30) -> Profile:
    """main imports an extension and a helper, which imports a module of the standard library."""
    b = ProfileBuilder(target="/home/user/project/run.py")
    body = b.function("__main__", "<module>", "run.py", 1, "module")
    main = b.function("__main__", "main", "run.py", 1)
    shout = b.function("ext", "shout", "ext.pyx", 3, "def")
    ext_body = b.function("ext", "<module>", "ext.pyx", 1, "module")
    helper = b.function("helper", "<module>", "helper.py", 1, "module")
    greet = b.function("helper", "greet", "helper.py", 4)
    load = b.function("importlib._bootstrap", "_find_and_load", "<frozen importlib._bootstrap>", 1350)
    finder = b.function("cyprof.build.overlay", "Finder.find_spec", "/opt/tools/cyprof/build/overlay.py", 20)
    loads = b.builtin("marshal", "loads")
    entities = b.function("html.entities", "<module>", f"{profiles.STDLIB}/html/entities.py", 1, "module")
    top = b.call(b.call(-1, body, 1, 1), main, 1, 1)
    first = b.call(top, load, 1, share_of_import)
    b.call(first, finder, 1, 0.1)
    b.call(first, ext_body, 1, 0.01)
    second = b.call(top, load, 1, 1)
    b.call(second, loads, 3, 1)
    helping = b.call(second, helper, 1, 0.01)
    b.call(b.call(helping, load, 1, 1), entities, 1, 2)
    b.call(top, shout, 1, 0.01)
    b.call(top, greet, 1, 0.01)
    return b.profile()


def test_imports_are_one_folded_node_and_the_users_functions_stay() -> None:
    graph = call_graph(importing_program(), ViewOptions())
    assert sorted(titles(graph)) == ["<module>", "<module>", "<module>", "greet", "import", "main", "shout"]
    assert node_of(graph, "import").css_class == "function folded"
    pairs = edge_pairs(graph)
    assert pairs["main", "import"] == "call"
    assert pairs["import", "<module>"] == "call"


def test_folded_nodes_have_no_tooltip_of_a_function() -> None:
    graph = call_graph(importing_program(), ViewOptions())
    places = [node.tooltip for node in graph.nodes if re.search(r":\d+\)$", node.tooltip)]
    assert len(places) == 6
    assert not any("importlib" in place or "entities" in place for place in places)


def test_small_import_is_hidden_and_leaves_dashed_edges() -> None:
    graph = call_graph(importing_program(), ViewOptions(min_share=99))
    assert "import" not in titles(graph)
    pairs = edge_pairs(graph)
    assert pairs["main", "<module>"] == "call indirect"
    assert any("dashed" in line for line in graph.footer)


def test_all_unfolds_and_says_nothing_is_missing() -> None:
    graph = call_graph(importing_program(), ViewOptions(everything=True))
    assert {"_find_and_load", "Finder.find_spec", "loads"} <= set(titles(graph))
    assert graph.footer == ()


def test_show_takes_a_function_out_of_its_fold() -> None:
    graph = call_graph(importing_program(), ViewOptions(show=("html.entities:*",)))
    assert "html.entities:<module> (/usr/local/lib/python3.13/html/entities.py:1)" in [n.tooltip for n in graph.nodes]
    assert "import" in titles(graph)


@pytest.mark.parametrize("pattern", ["mid", "kern:mid", "m?d"])
def test_hidden_function_between_two_shown_ones_leaves_a_dashed_edge(pattern: str) -> None:
    graph = call_graph(profiles.demo(), ViewOptions(hide=(pattern,)))
    assert "mid" not in titles(graph)
    assert edge_pairs(graph)["Acc.add", "_inner"] == "call indirect"
    (edge,) = [e for e in graph.edges if e.tooltip.startswith("Acc.add → _inner")]
    assert (edge.calls, edge.total_ns) == (6000, 750 * profiles.MS)
    assert any("left out by --hide" in line for line in graph.footer)


def test_hide_by_module_takes_all_its_functions() -> None:
    graph = call_graph(profiles.demo(), ViewOptions(hide=("kern",)))
    assert {cluster.label for cluster in graph.clusters} == {"__main__ (demo.py)"}


def test_only_keeps_what_fits_and_the_c_functions_it_calls() -> None:
    graph = call_graph(profiles.mnist(), ViewOptions(only=("mnist_trainer.link",)))
    assert "ndarray.dot" in titles(graph)
    assert "Adam.update" not in titles(graph)
    assert "standard library" not in titles(graph)


def test_own_functions_are_shown_whatever_their_share() -> None:
    graph = call_graph(profiles.demo(), ViewOptions(min_share=50))
    assert {"fib", "outer", "mid", "Model.train"} <= set(titles(graph))


def test_from_sixty_own_functions_on_the_share_decides_and_the_footer_says_so() -> None:
    graph = call_graph(profiles.many(200), ViewOptions(min_share=1))
    assert 1 < len(graph.nodes) < 60
    assert any("--min-share 0 shows them" in line for line in graph.footer)


def test_two_thousand_functions_stay_below_the_limit() -> None:
    graph = call_graph(profiles.many(2000), ViewOptions(min_share=0))
    assert len(graph.nodes) == 80
    assert any("--all shows them" in line for line in graph.footer)
    assert graph.subtitle[-1] == "80 of 2,000 functions shown"


def test_c_functions_below_the_share_are_left_out() -> None:
    assert "len" not in titles(call_graph(profiles.demo(), ViewOptions()))
    assert "len" in titles(call_graph(profiles.demo(), ViewOptions(min_share=0)))


def test_recursion_is_marked_and_draws_no_loop() -> None:
    graph = call_graph(profiles.demo(), ViewOptions())
    fib = node_of(graph, "fib")
    assert fib.place.endswith("↻")
    assert fib.calls == "21,891 calls (1 primitive)"
    assert all(edge.tail != edge.head for edge in graph.edges)


def test_resumes_are_told_from_calls() -> None:
    assert node_of(call_graph(profiles.recursion(), ViewOptions()), "walk").calls == "1 call · 500 resumes"


def test_unseen_time_is_a_node_and_what_has_no_share_is_named() -> None:
    graph = call_graph(profiles.mnist(), ViewOptions())
    unseen = node_of(graph, "unseen: scipy.linalg.cython_blas")
    assert (unseen.css_class, unseen.own) == ("unseen", "3.0 % of the run")
    assert any("mtrand" in line for line in graph.footer)


def test_hot_line_is_quoted_where_its_text_is_known() -> None:
    with_text = call_graph(profiles.demo(), ViewOptions(), source_lines(profiles.DEMO_LINES))
    assert node_of(with_text, "_inner").hot_line == "line 6: s += x * i % 7.0  (88 %)"
    assert node_of(call_graph(profiles.demo(), ViewOptions()), "_inner").hot_line == "line 6  (88 %)"


def test_uncertain_time_is_a_range_and_the_footer_explains_it() -> None:
    graph = call_graph(profiles.uncertain(), ViewOptions())
    assert node_of(graph, "tiny").own == "self 33-54 %"
    assert any("--calibrate" in line for line in graph.footer)


def test_hot_path_runs_from_the_entry_to_the_hottest_function() -> None:
    graph = call_graph(profiles.demo(), ViewOptions())
    hot = {(edge.tail, edge.head) for edge in graph.edges if edge.hot}
    ids = {name: node_of(graph, name).id for name in ("main", "Model.train", "Model.step", "Acc.add", "mid", "_inner")}
    path = list(ids.values())
    assert set(pairwise(path)) <= hot


def test_clusters_name_module_file_and_language() -> None:
    labels = {cluster.label for cluster in call_graph(profiles.demo(), ViewOptions()).clusters}
    assert labels == {"__main__ (demo.py)", "kern (kern.pyx, Cython)"}


def test_threads_become_entries() -> None:
    b = ProfileBuilder()
    work = b.function("__main__", "work", "demo.py", 1)
    b.call(-1, work, 1, 5, thread=0)
    b.call(-1, work, 2, 9, thread=1)
    b.threads.append(profiles.Thread(1, "worker"))
    graph = call_graph(b.profile(), ViewOptions(threads=True))
    assert edge_pairs(graph) == {("thread MainThread", "work"): "call", ("thread worker", "work"): "call"}


def test_empty_profile_says_why() -> None:
    graph = call_graph(profiles.empty(), ViewOptions())
    assert graph.nodes == ()
    assert graph.message == "No function was recorded: nothing that carries probes ran."
    assert "left out by the options" in call_graph(profiles.demo(), ViewOptions(hide=("*",))).message


def test_very_long_name_is_shortened_in_the_box_and_whole_in_the_tooltip() -> None:
    graph = call_graph(profiles.nasty(), ViewOptions())
    (long,) = [node for node in graph.nodes if "…" in node.title]
    assert len(long.title) <= 44
    assert "x" * 4000 in long.tooltip
    assert "\n" not in long.tooltip


def test_text_can_be_read_on_every_fill() -> None:
    for step, fill in enumerate(colours.RAMP):
        soft = colours.SOFT_TEXT_ON_FILL if step >= 3 else colours.SOFT_TEXT
        assert colours.contrast(colours.TEXT, fill) >= 4.5
        assert colours.contrast(soft, fill) >= 4.5
    for language, text in colours.CLUSTER_TEXT.items():
        assert colours.contrast(text, colours.CLUSTER_FILL[language]) >= 4.5
        assert colours.contrast(colours.EDGE_TEXT, colours.CLUSTER_FILL[language]) >= 4.5


@st.composite
def random_profiles(draw: st.DrawFn) -> Profile:
    """Any tree over functions of every origin, deep recursion and several roots included."""
    b = ProfileBuilder()
    makers = [
        lambda n: b.function("__main__", f"own{n}", "demo.py", n + 1),
        lambda n: b.function("kern", f"cy{n}", "kern.pyx", n + 1, "cdef", nogil=True),
        lambda n: b.builtin("numpy", f"c{n}"),
        lambda n: b.function("json", f"std{n}", f"{profiles.STDLIB}/json/__init__.py", n + 1),
        lambda n: b.function("pkg.mod", f"other{n}", f"{profiles.SITE}/pkg/mod.py", n + 1),
        lambda n: b.function("importlib._bootstrap", f"load{n}", "<frozen importlib._bootstrap>", n + 1),
    ]
    functions = [draw(st.sampled_from(makers))(number) for number in range(draw(st.integers(1, 12)))]
    for node in range(draw(st.integers(1, 40))):
        parent = draw(st.integers(-1, node - 1))
        b.call(parent, draw(st.sampled_from(functions)), draw(st.integers(0, 5)), draw(st.integers(0, 50)))
    return b.profile()


options = st.builds(
    ViewOptions,
    min_share=st.sampled_from([0.0, 0.5, 5.0, 30.0]),
    hide=st.sampled_from([(), ("own1",), ("*3",), ("kern",)]),
    show=st.sampled_from([(), ("std*",), ("load2",)]),
    everything=st.booleans(),
    threads=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(random_profiles(), options)
def test_any_graph_is_sound(profile: Profile, view: ViewOptions) -> None:
    graph = call_graph(profile, view)
    ids = {node.id for node in graph.nodes}
    assert len(ids) == len(graph.nodes)
    whole = sum(profile.node_times.best)
    totals = {node.id: node.total_ns for node in graph.nodes}
    for edge in graph.edges:
        assert {edge.tail, edge.head} <= ids
        assert edge.total_ns <= totals[edge.head] <= whole
    assert all(node.self_ns <= node.total_ns for node in graph.nodes)
    clustered = [node for cluster in graph.clusters for node in cluster.nodes]
    assert len(clustered) == len(set(clustered))
    assert set(clustered) <= ids


@settings(max_examples=200, deadline=None)
@given(random_profiles(), options)
def test_shown_and_hidden_self_times_add_up_and_nothing_is_orphaned(profile: Profile, view: ViewOptions) -> None:
    contexts = fold(profile, view)
    facts = Facts(profile, view, contexts, measure(profile, contexts))
    selection = select(facts)
    shown = set(selection.shown)
    left_out = [index for _, gone in selection.left_out for index in gone]
    assert sorted([*selection.shown, *left_out]) == list(range(len(contexts.entities)))
    assert sum(sums.self_ns for sums in facts.measures) == sum(profile.node_times.best)

    reached = {(link.caller, link.callee) for link in links(profile, contexts, shown)}
    parents = profile.tree.parent
    for node, entity in enumerate(contexts.of_node):
        above = parents[node]
        while above != -1 and contexts.of_node[above] not in shown:
            above = parents[above]
        if entity in shown and above != -1 and contexts.of_node[above] != entity:
            assert (contexts.of_node[above], entity) in reached


def test_in_a_large_program_the_users_cython_functions_are_kept_whatever_their_share() -> None:
    build = ProfileBuilder()
    main = build.call(-1, build.function("demo", "main", "demo.py", 1), ms=10_000)
    for number in range(80):
        build.call(main, build.function("demo", f"small{number}", "demo.py", 10 + number), ms=0.001)
    build.call(main, build.function("kern", "tiny", "kern.pyx", 3, "cdef"), calls=5, ms=0.001)
    names = {node.title for node in call_graph(build.profile(), ViewOptions()).nodes}
    assert "tiny" in names
    assert "small0" not in names
