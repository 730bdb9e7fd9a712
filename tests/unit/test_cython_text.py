"""Edits of generated C, on texts of the shape that Cython writes."""

from __future__ import annotations

import re

from cyprof.cython.text import instrument, number_lines, wrap_calls

FUNCTION = """\
static PyObject *f(void) {
  CYP_FUNCTION("f", CYP_KIND_DEF, 0, 0, 3)
  __Pyx_TraceDeclarationsFunc
  __Pyx_TraceStartFunc("f", __pyx_f[0], 3, 0, 0, 0, __PYX_ERR(0, 3, __pyx_L1_error));
"""


def mark(number: int, file: int = 0) -> str:
    """A mark of Cython's."""
    return f"  __Pyx_TraceLine({number},12,0,__PYX_ERR({file}, {number}, __pyx_L1_error))\n"


def probe(number: int, file: int = 0, counts: bool = True) -> str:
    return f"  __cyp_Line({number},{file},{int(counts)});\n"


def statement(number: int, *inside: str, kind: str = "expression") -> str:
    return f"/*cyprof: open {number} 0 {kind}*/\n{probe(number)}{''.join(inside)}/*cyprof: close*/\n"


def probes(text: str) -> list[str]:
    return re.findall(r"CYP_(?:AT_)?LINE\(\d+\)", number_lines(FUNCTION + text))


def test_lines_are_numbered_by_file_and_line_in_each_function() -> None:
    text = number_lines(FUNCTION + probe(4) + probe(5) + probe(4) + probe(4, file=1) + FUNCTION + probe(9))
    assert "cyp_places[] = {{0, 4}, {0, 5}, {1, 4}}" in text
    assert "CYP_DECLARE(3, cyp_places)" in text
    assert [part.split(")")[0] for part in text.split("CYP_LINE(")[1:]] == ["1", "2", "1", "3", "1"]
    assert "cyp_places[] = {{0, 9}}" in text
    assert "cyprof:" not in text


def test_marks_of_cython_on_the_line_of_a_statement_are_no_hits() -> None:
    assert probes(statement(4, mark(4), mark(5), mark(4)) + statement(5)) == [
        *("CYP_LINE(1)", "CYP_AT_LINE(1)", "CYP_AT_LINE(2)", "CYP_AT_LINE(1)", "CYP_LINE(2)"),
    ]


def test_a_later_line_of_a_statement_is_reached_once() -> None:
    assert probes(statement(4, mark(5), mark(4), mark(5))) == ["CYP_LINE(1)", "CYP_LINE(2)", "CYP_AT_LINE(1)", "CYP_AT_LINE(2)"]


def test_no_later_line_of_a_block_is_reached_by_a_mark() -> None:
    assert probes(statement(4, mark(9), kind="block")) == ["CYP_LINE(1)", "CYP_AT_LINE(2)"]


def test_a_probe_right_before_another_of_its_line_is_left_out() -> None:
    assert probes(probe(4, counts=False) + probe(4)) == ["CYP_LINE(1)"]


def test_time_after_a_resume_belongs_to_the_statement_that_yielded() -> None:
    resume = "  __Pyx_TraceResumeGen(name, file, 1, 0, goto)\n"
    assert probes(statement(4, resume)) == ["CYP_LINE(1)", "CYP_AT_LINE(1)"]
    assert probes(resume) == []


def test_a_function_without_statements_has_no_lines() -> None:
    assert "cyp_places" not in number_lines(FUNCTION)


def test_only_calls_in_the_modules_own_code_are_wrapped() -> None:
    text = (
        "/* #### Code section: utility_code_proto ### */\n"
        "x = __Pyx_PyObject_FastCall(f, a, 1);\n"
        "/* #### Code section: module_code ### */\n"
        "x = __Pyx_PyObject_FastCall(f, a, 1); y = __Pyx_CallUnboundCMethod1(&m, s, a);\n"
        "/* #### Code section: utility_code_def ### */\n"
        "static PyObject *__Pyx_PyObject_FastCall(PyObject *f) {}\n"
    )
    wrapped = wrap_calls(text, "/* wrappers */\n")
    before, own = wrapped.split("/* #### Code section: module_code ### */")
    own, after = own.split("/* #### Code section: utility_code_def ### */")
    assert "x = __Pyx_PyObject_FastCall(f, a, 1);" in before
    assert before.endswith(
        "#define CYP_CALLS\n#define CYP_CALLS_CallUnboundCMethod1\n#define CYP_CALLS_FastCall\n/* wrappers */\n\n"
    )
    assert "x = cyp_PyObject_FastCall(f, a, 1); y = cyp_CallUnboundCMethod1(&m, s, a);" in own
    assert "__Pyx_PyObject_FastCall" in after


def test_a_text_without_calls_or_lines_stays_as_it_is() -> None:
    text = "/* #### Code section: module_code ### */\nint x;\n"
    assert instrument(text, "never", lines=True) == text
