/* Python frames by sys.monitoring (PEP 669), Python 3.12 and later. */
#include "runtime.h"

#if PY_VERSION_HEX >= 0x030C0000

#define EVENT_COUNT 12

static PyObject *monitoring;        /* sys.monitoring */
static PyObject *module_methods;    /* the callbacks, by name, in our module */
static long tool = -1;
static long events_of_tool, line_event, jump_event, branch_event;
static PyObject *disable;           /* sys.monitoring.DISABLE */

static const struct {
    const char *event, *callback;
} callbacks[EVENT_COUNT] = {
    {"PY_START", "_py_start"},   {"PY_RESUME", "_py_resume"}, {"PY_THROW", "_py_resume"},  {"PY_RETURN", "_py_return"},
    {"PY_YIELD", "_py_return"},  {"PY_UNWIND", "_py_unwind"}, {"CALL", "_c_call"},         {"C_RETURN", "_c_return"},
    {"C_RAISE", "_c_raise"},     {"LINE", "_line"},       {"JUMP", "_jump"},          {"BRANCH", "_branch"},
};

static long event_bit(const char *name) {
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    PyObject *bit = events ? PyObject_GetAttrString(events, name) : NULL;
    long value = bit ? PyLong_AsLong(bit) : -1;
    Py_XDECREF(events);
    Py_XDECREF(bit);
    return value;
}

static int call(const char *method, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PyObject *tuple = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    PyObject *function = tuple ? PyObject_GetAttrString(monitoring, method) : NULL;
    PyObject *result = function ? PyObject_Call(function, tuple, NULL) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Takes a tool id that is free, last of all those with a meaning: a program that uses cProfile needs the one for profilers.
   0, or -1 with an exception set. */
static int take_tool(void) {
    static const long wanted[] = {3, 4, 5, 2, 1, 0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!call("use_tool_id", "(ls)", wanted[i], "cyprof")) {
            tool = wanted[i];
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "all six tool ids of sys.monitoring are taken by other tools");
    return -1;
}

/* ---- sys.setprofile of the program's own
 *
 * A profiler does not see the end of the call that set it, unless there was one before it: until then nobody listens to calls. Now we
 * do, so the interpreter would report that end, and `profile` of the standard library stumbles over it. */

/* Stands before a profiler until its first event. */
static int skip_own_return(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    thread_state *thread = (thread_state *)current_thread;
    PyThreadState *state = PyThreadState_Get();
    Py_tracefunc profiler = thread ? thread->next_profile : NULL;
    state->c_profilefunc = profiler;
    return !profiler || (what == PyTrace_C_RETURN && frames_is_setprofile(arg)) ? 0 : profiler(self, frame, what, arg);
}

/* In the place of sys.setprofile. */
static PyObject *setprofile(PyObject *self, PyObject *function) {
    (void)self;
    PyThreadState *state = PyThreadState_Get();
    bool first = !state->c_profilefunc;
    PyObject *result = frames_call_setprofile(function);
    thread_state *thread = result && first && state->c_profilefunc ? threads_current() : NULL;
    if (!thread) return result;
    thread->next_profile = state->c_profilefunc;
    state->c_profilefunc = skip_own_return;
    return result;
}

int frames_init(PyObject *module) {
    monitoring = PySys_GetObject("monitoring");
    Py_XINCREF(monitoring);
    module_methods = module;
    disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : NULL;
    if (!disable) {
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring was taken away or replaced");
        return -1;
    }
    return frames_prepare_setprofile(setprofile);
}

static int listen(void) {
    if (take_tool()) return -1;
    events_of_tool = 0;
    line_event = event_bit("LINE");
    jump_event = event_bit("JUMP");
    branch_event = event_bit("BRANCH");
    for (int i = 0; i < EVENT_COUNT; i++) {
        long bit = event_bit(callbacks[i].event);
        PyObject *callback = PyObject_GetAttrString(module_methods, callbacks[i].callback);
        int failed = bit < 0 || !callback || call("register_callback", "(llO)", tool, bit, callback);
        Py_XDECREF(callback);
        if (failed) return -1;
        if (!(bit & (line_event | jump_event | branch_event))) events_of_tool |= bit;
    }
    return call("set_events", "(ll)", tool, events_of_tool);
}

int frames_begin(void) { return frames_replace_setprofile() ? -1 : listen(); }

/* The program is about to take a tool id: if it is ours, we go out of the way to another. Where none is free we stay, as any
   tool would. */
static void make_way(PyObject *wanted) {
    long old = tool;
    if (!PyLong_Check(wanted) || PyLong_AsLong(wanted) != old || PyErr_Occurred()) return PyErr_Clear();
    if (listen()) {
        PyErr_Clear();
        tool = old;
        return;
    }
    int failed = call("set_events", "(li)", old, 0);
    for (int i = 0; i < EVENT_COUNT && !failed; i++)
        failed = call("register_callback", "(llO)", old, event_bit(callbacks[i].event), Py_None);
    if (failed || call("free_tool_id", "(l)", old)) PyErr_WriteUnraisable(monitoring);
}

void frames_end(void) {
    if (tool < 0) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (call("set_events", "(li)", tool, 0) || call("free_tool_id", "(l)", tool)) PyErr_WriteUnraisable(monitoring);
    frames_restore_setprofile();
    tool = -1;
    PyErr_Restore(type, value, traceback);
}

/* Every thread is seen. */
const cyp_function *frames_called_from_cython(PyObject *callable, PyObject *self) { return callables_function(callable, self); }
void frames_restart(void) {}
uint64_t frames_unseen(void) { return 0; }

/* The callbacks. Each gets (code, offset, ...) and answers None. */

/* The function that begins; its globals are the current ones. */
static const cyp_function *starting(PyObject *const *args) {
    PyCodeObject *code = (PyCodeObject *)args[0];
    if (!threads_listening()) return NULL;
    const cyp_function *function = functions_known(code);
    return function ? function : functions_of_code(code, PyEval_GetGlobals());
}

/* The function that goes on or ends: one not known was entered before the recording began. */
static const cyp_function *started(PyObject *const *args) {
    return threads_listening() ? functions_known((PyCodeObject *)args[0]) : NULL;
}

static long wanted_events(const python_function *function) {
    long wanted = function->loop_count ? line_event | jump_event : line_event;
    for (int i = 0; i < function->loop_count; i++)
        if (function->loops[i].tests_below) wanted |= branch_event;
    return wanted;
}

/* Line events are asked for code by code, when a function that wants them is first entered. */
int frames_ask_for_lines(const cyp_function *function, PyObject *code) {
    if (!function->line_count || !recording.lines) return 0;
    PyObject *have = PyObject_CallMethod(monitoring, "get_local_events", "lO", tool, code);
    long bits = have ? PyLong_AsLong(have) : -1;
    Py_XDECREF(have);
    if (bits < 0) return -1;
    return bits & line_event ? 0 : call("set_local_events", "(lOl)", tool, code, wanted_events((const python_function *)function));
}

/* What a collector's callback answers. An exception that came while it asked (Ctrl-C, say) is the program's. */
static PyObject *none_or_error(void) {
    if (PyErr_Occurred() && !functions_forgive_memory()) return NULL;
    Py_RETURN_NONE;
}

PyObject *frames_py_start(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    const cyp_function *function = starting(args);
    if (function && !frames_ask_for_lines(function, args[0])) frames_enter(function, false);
    return none_or_error();
}

PyObject *frames_py_resume(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    frames_enter(starting(args), true);
    return none_or_error();
}

PyObject *frames_py_return(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    frames_leave(started(args), false);
    return none_or_error();
}

PyObject *frames_py_unwind(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    frames_leave(started(args), true);
    return none_or_error();
}

PyObject *frames_line_event(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    const cyp_function *function = started(args);
    if (function) frames_line(function, NULL, (int)PyLong_AsLong(args[1]));
    return none_or_error();
}

/* Another round of a loop on one line. Jumps that are none are not reported again. */
PyObject *frames_jump(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    const cyp_function *function = started(args);
    if (!function) return none_or_error();
    const code_loop *loop = code_loops_at((const python_function *)function, (int)PyLong_AsLong(args[1]));
    if (!loop || PyLong_AsLong(args[2]) != loop->start) return Py_NewRef(disable);
    frames_line(function, NULL, loop->line);
    return none_or_error();
}

/* The test behind the rounds of a `while` on one line has ended it. */
PyObject *frames_branch(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    const cyp_function *function = started(args);
    if (!function) return none_or_error();
    const code_loop *loop = code_loops_at((const python_function *)function, (int)PyLong_AsLong(args[1]));
    if (!loop || !loop->tests_below) return Py_NewRef(disable);
    if (PyLong_AsLong(args[2]) >= loop->end) frames_line(function, NULL, loop->line);
    return none_or_error();
}

PyObject *frames_c_call(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    const cyp_function *function = threads_listening() ? callables_function(args[2], NULL) : NULL;
    frames_enter(function, false);
    if (function && CYP_UNLIKELY(function->flags & CYP_TAKES_TOOL) && count > 3) make_way(args[3]);
    return none_or_error();
}

PyObject *frames_c_return(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    if (threads_listening()) frames_leave(callables_function(args[2], NULL), false);
    return none_or_error();
}

PyObject *frames_c_raise(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self, (void)count;
    if (threads_listening()) frames_leave(callables_function(args[2], NULL), true);
    return none_or_error();
}

#endif /* Python 3.12 */
