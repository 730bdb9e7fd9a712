/* What looking costs on this machine: the probes of probe.h themselves, and small Python functions, in loops with and
 * without. Each figure is the least of several tries, since all that disturbs a try makes it longer. */
#include "runtime.h"

#define CALLS 4000
#define ROUNDS 15


static const char *const files[] = {""};
static const cyp_place places[] = {{0, 1}, {0, 2}};
static const cyp_function calibrated = {"", "calibrated", files, 0, 1, CYP_KIND_CDEF, CYP_LANGUAGE_CYTHON, 0, 2, places};

static __attribute__((noinline)) unsigned bare(unsigned x) {
    __asm__ volatile("");
    return x * 3 + 1;
}

static __attribute__((noinline)) unsigned with_call(unsigned x) {
    __attribute__((cleanup(cyp_leave))) cyp_frame frame = CYP_FRAME(NULL, NULL, NULL);
    cyp_enter(&frame, &calibrated, 0);
    __asm__ volatile("");
    return x * 3 + 1;
}

static __attribute__((noinline)) unsigned with_lines(unsigned x, unsigned rounds) {
    __attribute__((cleanup(cyp_leave))) cyp_frame frame = CYP_FRAME(NULL, NULL, NULL);
    cyp_enter(&frame, &calibrated, 0);
    for (unsigned i = 0; i < rounds; i++) {
        cyp_at_line(&frame, 1 + (i & 1), 1);
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static __attribute__((noinline)) unsigned without_lines(unsigned x, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static unsigned loop_bare(unsigned x) {
    for (int i = 0; i < CALLS; i++) x = bare(x);
    return x;
}

static unsigned loop_call(unsigned x) {
    for (int i = 0; i < CALLS; i++) x = with_call(x);
    return x;
}

static unsigned loop_lines(unsigned x) { return with_lines(x, CALLS); }
static unsigned loop_without_lines(unsigned x) { return without_lines(x, CALLS); }

static unsigned loop_clock(unsigned x) {
    for (int i = 0; i < CALLS / 16; i++) x += (unsigned)now_ns();
    return x;
}

/* ns per round of `loop`. */
static double least(unsigned (*loop)(unsigned), double rounds) {
    static volatile unsigned sink;
    double best = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = now_ns();
        sink = loop(sink);
        double each = (double)(now_ns() - start) / rounds;
        if (each < best) best = each;
    }
    return best;
}

double calibrate_clock(void) { return least(loop_clock, CALLS / 16.0); }

/* ---- Python functions */

#define PYTHON_ROUNDS 7
#define PYTHON_CALLS 500

/* Each function makes PYTHON_CALLS rounds; `nothing` is what the others do besides. */
static const char python_loops[] =
    "def f(): pass\n"
    "def nothing(n):\n    for _ in n: pass\n"
    "def python(n):\n    for _ in n: f()\n"
    "def builtin(n):\n    for _ in n: abs(0)\n"
    "def lines(n):\n    for _ in n:\n        0\n        pass\n";

static double time_python(PyObject *namespace, const char *name, PyObject *rounds) {
    double best = 1e18;
    PyObject *loop = PyDict_GetItemString(namespace, name);
    for (int i = 0; loop && i < PYTHON_ROUNDS; i++) {
        uint64_t start = now_ns();
        PyObject *result = PyObject_CallOneArg(loop, rounds);
        double each = (double)(now_ns() - start) / PYTHON_CALLS;
        if (!result) return -1;
        Py_DECREF(result);
        if (each < best) best = each;
    }
    return best;
}

/* ns per round of the loops named, in their order. 0, or -1 with an exception set. */
static int time_loops(PyObject *namespace, const char *const *names, int count, double *each) {
    PyObject *rounds = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", PYTHON_CALLS);
    if (!rounds) return -1;
    for (int i = 0; i < count; i++) each[i] = time_python(namespace, names[i], rounds);
    Py_DECREF(rounds);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *calibrate_namespace(void) {
    PyObject *namespace = PyDict_New();
    PyObject *result = NULL;
    if (namespace && !PyDict_SetItemString(namespace, "__builtins__", PyEval_GetBuiltins()))
        result = PyRun_String(python_loops, Py_file_input, namespace, namespace);
    if (!result) Py_CLEAR(namespace);
    Py_XDECREF(result);
    return namespace;
}

static const char *const loop_names[CALIBRATED_LOOPS] = {"nothing", "python", "builtin", "lines"};

int calibrate_python(PyObject *namespace, double *each) {
    return time_loops(namespace, loop_names, CALIBRATED_LOOPS, each);
}

/* Fills in the cost of a call's probe and of a line's; a sampled recording is on. */
void calibrate_probes(double *call_ns, double *line_ns) {
    cyp_rt = runtime_modules_api();
    double call = least(loop_call, CALLS) - least(loop_bare, CALLS);
    double line = least(loop_lines, CALLS) - least(loop_without_lines, CALLS);
    *call_ns = call > 0 ? call : 0;
    *line_ns = line > 0 ? line : 0;
}
