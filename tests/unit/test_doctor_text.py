"""What an examination found reads well at 80 columns, whole when piped, and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len

from cyprof.build.housekeeping import Build
from cyprof.cython.directives import Mark
from cyprof.cython.extension import ExtensionFacts
from cyprof.doctor import CallCost, Check, Diagnosis, Extension, Finding, MarkedPlace
from cyprof.render.cache_text import builds_text
from cyprof.render.doctor_json import doctor_json
from cyprof.render.doctor_text import doctor_text

LONG = "a/very/long/path/" * 8 + "end"


def extension(name: str, **facts: object) -> Extension:
    return Extension(name, ExtensionFacts(Path(f"/p/{name}.so"), cython=True, version="3.3.1", debug=True, stripped=False))


TRACED = replace(
    extension("pkg.traced"),
    facts=ExtensionFacts(
        Path("/p/pkg/traced.so"), cython=True, version="3.2.4", tracing="lines", evidence=("_PyMonitoring_FireLineEvent",),
        debug=False, stripped=True, openmp="libgomp.so.1", limited_api=True, source="pkg/traced.pyx",
    ),
    findings=(Finding("tracing", "bad", "reports each call and line", "cythonize -i -f x.pyx"),),
)  # fmt: skip
PLAIN = replace(extension("pkg.plain"), source="/p/pkg/plain.pyx", how="beside")
OTHERS = [Extension(f"pkg.c{number}", ExtensionFacts(Path(f"/p/c{number}.so"), cython=False)) for number in range(9)]
ALWAYS = MarkedPlace(Mark(Path("/p/a.pyx"), 3, "linetrace", "# cython: linetrace=True", "linetrace=", "True", "False"), "sed 1")
SOMETIMES = MarkedPlace(Mark(Path("/p/setup.py"), 9, "profile", "x" * 200, "profile=", "True", "False", "DEBUG " * 30), "")
MACRO = MarkedPlace(Mark(Path("/p/setup.py"), 10, "CYTHON_TRACE", "CYTHON_TRACE=1", "CYTHON_TRACE=", "1", "0"), "sed 2")
FOUND = Diagnosis(
    "script.py",
    "/p",
    (Check("C compiler", "bad", f"There is none in {LONG}.", "apt install gcc"), Check("Python", "ok", "3.13")),
    (PLAIN, TRACED, *OTHERS),
    (ALWAYS, SOMETIMES, MACRO),
    CallCost((10, 1, 1), (60, 15, 500), "measured here"),
    ("Not all files were looked at.",),
)


def test_nothing_is_cut_when_piped() -> None:
    text = doctor_text(FOUND)
    assert LONG in text
    assert "\x1b" not in text
    assert "pkg.c8" in text
    assert "  bad    C compiler" in text
    assert "         mend: apt install gcc\n" in text
    assert "a.pyx:3: linetrace in `# cython: linetrace=True`\n         mend: sed 1\n" in text
    assert "(only if DEBUG" in text
    assert "traced, OpenMP, abi3" in text
    assert "not here (pkg/traced.pyx)" in text
    assert "a cdef function 1.00 to 15.0 ns" in text
    assert text.endswith(
        "cyprof cannot do all its work here: C compiler. Tracing was left on: 1 module built with it, 1 place asking for it.\n"
    )


def test_a_terminal_of_80_columns_is_enough() -> None:
    lines = doctor_text(FOUND, width=80).splitlines()
    assert [line for line in lines if cell_len(line) > 80] == []
    assert "and 5 more" in "".join(lines)
    assert "\x1b[" in doctor_text(FOUND, width=80, color=True)


def test_the_environment_alone_and_a_clean_package() -> None:
    text = doctor_text(Diagnosis("", "", FOUND.checks[1:]))
    assert text == "Environment\n  ok     Python         3.13\n\ncyprof has what it needs.\n"
    clean = Diagnosis("x", "/p", (), (PLAIN,))
    assert "No tracing was left on." in doctor_text(clean)
    assert not clean.tracing_left_on
    assert "There are none below /p" in doctor_text(Diagnosis("x", "/p", ()))


def test_what_counts_as_left_on() -> None:
    def left_on(*places: MarkedPlace, extensions: tuple[Extension, ...] = ()) -> bool:
        return Diagnosis("x", "/p", (), extensions, places).tracing_left_on

    assert left_on(ALWAYS)
    assert not left_on(SOMETIMES)
    assert not left_on(MACRO)
    assert left_on(extensions=(TRACED,))


def test_json_holds_all_of_it() -> None:
    value = json.loads(doctor_json(FOUND))
    assert value["schema"] == "cyprof-doctor/1"
    assert value["tracing_left_on"] is True
    assert value["checks"][0] == {
        "name": "C compiler", "status": "bad", "found": f"There is none in {LONG}.", "command": "apt install gcc",
    }  # fmt: skip
    traced = value["extensions"][1]
    assert traced["module"] == "pkg.traced"
    assert (traced["cython"], traced["debug_info"], traced["stripped"], traced["tracing"]) == ("3.2.4", False, True, "lines")
    assert traced["tracing_symbols"] == ["_PyMonitoring_FireLineEvent"]
    assert value["tracing"][0]["file"] == "/p/a.pyx"
    assert value["tracing"][0]["line"] == 3
    assert value["tracing_cost_ns"]["cdef"] == {"plain": 1, "traced": 15}
    assert json.loads(doctor_json(Diagnosis("", "", ())))["tracing_cost_ns"] is None


def test_the_list_of_builds() -> None:
    builds = [
        Build(Path("/c/1"), "pkg.mod", ("/src/mod.pyx", "/src/mod.pxd"), 1e9, 1e9, 1_234_567),
        Build(Path("/c/2"), "", (), 1e9, 1e9, 10),
        Build(Path("/c/3"), "m", (f"/{LONG}.pyx",), 1e9, 1e9, 2_000),
    ]
    text = builds_text(builds)
    assert "1.23 MB  pkg.mod  /src/mod.pyx (gone) and 1 file\n" in text
    assert LONG in text
    assert [line for line in builds_text(builds, 80).splitlines() if len(line) > 80] == []
    assert builds_text([]) == "There are no builds.\n"
