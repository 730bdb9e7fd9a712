/* The lines of a Python function, and which of its line events are no reading of a line by its author. The GIL is held.
 *
 * Python reports a `with` line again when the block is left, and on 3.11 the line of a comprehension once a round: by where in the
 * bytecode the event is, the two are told apart (CPython, Python/compile.c, compiler_with and compiler_comprehension). */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#include "opcode.h"

typedef struct { int start, end, line; } line_range;

static bool enters_context(int opcode) {
#ifdef BEFORE_WITH
    return opcode == BEFORE_WITH || opcode == BEFORE_ASYNC_WITH;
#else
    return opcode == LOAD_SPECIAL; /* 3.14 */
#endif
}

static bool has_entry(const unsigned char *code, const line_range *range) {
    for (int offset = range->start; offset < range->end; offset += 2)
        if (enters_context(code[offset])) return true;
    return false;
}

/* The ranges of bytecode that belong to one line each, in their order; their number, or -1 with an exception set. */
static int read_ranges(PyCodeObject *code, line_range **found) {
    PyObject *each = PyObject_CallMethod((PyObject *)code, "co_lines", NULL);
    PyObject *all = each ? PySequence_List(each) : NULL;
    Py_XDECREF(each);
    if (!all) return -1;
    int count = 0;
    line_range *ranges = calloc((size_t)PyList_GET_SIZE(all) + 1, sizeof *ranges);
    if (!ranges) PyErr_NoMemory();
    for (Py_ssize_t i = 0; ranges && i < PyList_GET_SIZE(all); i++) {
        int start, end;
        PyObject *line;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(all, i), "iiO", &start, &end, &line)) break;
        if (line == Py_None) continue;
        /* A range may be cut in two where nothing but the column changes, or by the clearing up behind an exception, which is of no
           line. */
        if (count && ranges[count - 1].line == PyLong_AsLong(line))
            ranges[count - 1].end = end;
        else
            ranges[count++] = (line_range){start, end, (int)PyLong_AsLong(line)};
    }
    Py_DECREF(all);
    if (PyErr_Occurred()) {
        free(ranges);
        return -1;
    }
    *found = ranges;
    return count;
}

/* The rounds of a comprehension or generator expression on one line: their author wrote an expression. */
static bool is_expression_on_one_line(PyCodeObject *code, const line_range *ranges, int count) {
    const char *name = PyUnicode_AsUTF8(code->co_name);
    if (!name) PyErr_Clear();
    if (!name || name[0] != '<' || !strcmp(name, "<lambda>") || !strcmp(name, "<module>")) return false;
    for (int i = 0; i < count; i++)
        if (ranges[i].line != code->co_firstlineno) return false;
    return true;
}

static bool is_silent(const unsigned char *code, const line_range *ranges, int count, int which) {
    if (has_entry(code, &ranges[which])) return false;
    for (int i = 0; i < count; i++)
        if (ranges[i].line == ranges[which].line && has_entry(code, &ranges[i])) return true;
    return false;
}

static int note_silent(python_function *function, const unsigned char *code, bool all, const line_range *ranges, int count) {
    /* One for each range, and one for the loop in it (code_loops.c). */
    function->silent = calloc(2 * (size_t)count + 1, sizeof *function->silent);
    if (!function->silent) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < count; i++)
        if (all || is_silent(code, ranges, count, i))
            function->silent[function->silent_count++] = (code_range){ranges[i].start, ranges[i].end};
    return 0;
}

static int note_loops(python_function *function, const unsigned char *code, Py_ssize_t size, const line_range *ranges, int count) {
    function->loops = calloc((size_t)size / 2 + 1, sizeof *function->loops);
    if (!function->loops) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < count; i++)
        code_loops_add(function, code, (code_range){ranges[i].start, ranges[i].end}, ranges[i].line);
    code_loop *shorter = realloc(function->loops, ((size_t)function->loop_count + 1) * sizeof *shorter);
    if (shorter) function->loops = shorter;
    return 0;
}

static int note_bytecode(python_function *function, PyCodeObject *code, const line_range *ranges, int count) {
    PyObject *bytes = PyCode_GetCode(code);
    if (!bytes) return -1;
    const unsigned char *start = (const unsigned char *)PyBytes_AS_STRING(bytes);
    bool all = is_expression_on_one_line(code, ranges, count);
    int failed = note_silent(function, start, all, ranges, count) ||
                 (!all && note_loops(function, start, PyBytes_GET_SIZE(bytes), ranges, count));
    Py_DECREF(bytes);
    return failed ? -1 : 0;
}

/* Gives a Python function a line table from its first line to its last. 0, or -1 with an exception set. */
int code_lines_add(python_function *function, PyCodeObject *code) {
    line_range *ranges = NULL;
    int count = read_ranges(code, &ranges);
    if (count < 0) return -1;
    int last = code->co_firstlineno;
    for (int i = 0; i < count; i++)
        if (ranges[i].line > last) last = ranges[i].line;
    int lines = last - code->co_firstlineno + 1;
    cyp_place *places = calloc((size_t)lines, sizeof *places);
    if (!places) PyErr_NoMemory();
    int failed = !places || note_bytecode(function, code, ranges, count);
    free(ranges);
    if (failed) {
        free(places);
        return -1;
    }
    for (int i = 0; i < lines; i++) places[i].line = code->co_firstlineno + i;
    function->base.places = places;
    function->base.line_count = lines;
    return 0;
}

/* Whether the line event that `frame` (NULL: the current one) is at counts for its author. */
bool code_lines_count(const cyp_function *function, PyFrameObject *frame) {
    const python_function *described = (const python_function *)function;
    if (!described->silent_count) return true;
    int offset = PyFrame_GetLasti(frame ? frame : PyEval_GetFrame());
    for (int i = 0; i < described->silent_count; i++)
        if (offset >= described->silent[i].start && offset < described->silent[i].end) return false;
    return true;
}
