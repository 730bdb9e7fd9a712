"""Edits of generated C, on texts of the shape that Cython writes."""

from __future__ import annotations

from cyprof.cython.text import instrument, number_lines, wrap_calls

FUNCTION = """\
static PyObject *f(void) {
  CYP_FUNCTION("f", CYP_KIND_DEF, 0, 0, 3)
  __Pyx_TraceDeclarationsFunc
  __Pyx_TraceStartFunc("f", __pyx_f[0], 3, 0, 0, 0, __PYX_ERR(0, 3, __pyx_L1_error));
"""


def line(number: int, file: int = 0, name: str = "__Pyx_TraceLine") -> str:
    return f"  {name}({number},12,0,__PYX_ERR({file}, {number}, __pyx_L1_error))\n"


def test_lines_are_numbered_by_file_and_line_in_each_function() -> None:
    text = number_lines(FUNCTION + line(4) + line(5) + line(4) + line(4, file=1) + FUNCTION + line(9))
    assert "cyp_places[] = {{0, 4}, {0, 5}, {1, 4}}" in text
    assert "CYP_DECLARE(3, cyp_places)" in text
    assert [part.split(")")[0] for part in text.split("CYP_LINE(")[1:]] == ["1", "2", "1", "3", "1"]
    assert "cyp_places[] = {{0, 9}}" in text


def test_a_return_to_a_line_is_no_hit() -> None:
    text = number_lines(FUNCTION + line(4) + line(4, name="__cyp_AtLine"))
    assert "CYP_LINE(1);" in text
    assert "CYP_AT_LINE(1);" in text


def test_the_rounds_of_a_comprehension_on_one_line_are_no_hits_of_it() -> None:
    rounds = "/*cyprof: one line 4*/\n" + line(4) + line(5) + "/*cyprof: end of one line*/\n"
    text = number_lines(FUNCTION + line(4) + rounds + line(6))
    assert text.count("CYP_LINE(1)") == 1
    assert text.count("CYP_AT_LINE(1)") == 1
    assert "CYP_LINE(2)" in text
    assert "cyprof:" not in text


def test_a_function_on_the_line_of_its_def_reaches_it_by_being_called() -> None:
    text = number_lines(FUNCTION)
    assert "cyp_places[] = {{0, 3}}" in text
    assert text.count("CYP_LINE(1);") == 1


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
