/* Python frames by the profile hook, Python 3.11, which has no sys.monitoring. The hook belongs to a thread: each thread sets
 * its own, at its first event through threading.setprofile. Line events come by the trace hook, set when lines are wanted. */
#include "runtime.h"

#if PY_VERSION_HEX < 0x030C0000

#include "frameobject.h"
#include "opcode.h"

static PyObject *thread_hook;   /* a Python callable that puts our C hook into the thread that calls it */

/* Whether the frame begins, rather than going on after a yield or await: its first RESUME has argument 0. The hook fires at
   RESUME (Python/ceval.c, TRACE_FUNCTION_ENTRY), or at the yield itself when an exception is thrown in; PyFrame_GetLasti
   gives the offset. */
static bool is_start(PyFrameObject *frame, PyCodeObject *code) {
    if (!(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))) return true;
    PyObject *bytes = PyCode_GetCode(code);
    int offset = PyFrame_GetLasti(frame);
    bool start = true;
    if (bytes && offset >= 0 && offset + 1 < PyBytes_GET_SIZE(bytes)) {
        const unsigned char *instruction = (const unsigned char *)PyBytes_AS_STRING(bytes) + offset;
        start = instruction[0] == RESUME && (instruction[1] & 3) == 0;
    }
    Py_XDECREF(bytes);
    return start;
}

static const cyp_function *function_of_frame(PyFrameObject *frame, PyCodeObject *code) {
    const cyp_function *function = functions_known(code);
    if (function) return function;
    PyObject *globals = PyFrame_GetGlobals(frame);
    function = functions_of_code(code, globals);
    Py_DECREF(globals);
    return function;
}

static void frame_event(PyFrameObject *frame, int what, PyObject *arg) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    const cyp_function *function = function_of_frame(frame, code);
    if (what == PyTrace_CALL)
        frames_enter(function, !is_start(frame, code));
    else
        frames_leave(function, arg == NULL);
    Py_DECREF(code);
}

static int profile_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self;
    if (!threads_listening()) return 0;
    /* A pending exception has been put aside by the interpreter (Python/ceval.c, call_trace_protected). */
    switch (what) {
    case PyTrace_CALL:
    case PyTrace_RETURN: frame_event(frame, what, arg); break;
    case PyTrace_C_CALL: frames_enter(callables_function(arg, NULL), false); break;
    case PyTrace_C_RETURN: frames_leave(callables_function(arg, NULL), false); break;
    case PyTrace_C_EXCEPTION: frames_leave(callables_function(arg, NULL), true); break;
    default: break;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int trace_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)arg;
    if (!threads_listening() || (what != PyTrace_CALL && what != PyTrace_LINE)) return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const cyp_function *function = function_of_frame(frame, code);
    int failed = !function;
    if (function && what == PyTrace_LINE)
        frames_line(function, frame, PyFrame_GetLineNumber(frame));
    else if (function && !function->line_count)
        failed = PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", Py_False);
    Py_DECREF(code);
    return failed ? -1 : 0;
}

static void hook_this_thread(void) {
    PyEval_SetProfile(profile_hook, NULL);
    if (recording.lines) PyEval_SetTrace(trace_hook, NULL);
}

/* Called by a new thread's first profile event, as (frame, event, arg): puts the C hook in its place, and gives it that event. */
PyObject *frames_hook_thread(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (!is_recording() || count != 3 || !PyFrame_Check(args[0])) {
        PyEval_SetProfile(NULL, NULL);
        Py_RETURN_NONE;
    }
    hook_this_thread();
    const char *event = PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    if (event && !strcmp(event, "call")) frame_event((PyFrameObject *)args[0], PyTrace_CALL, args[2]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static int set_hook_of_new_threads(PyObject *hook) {
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *result = threading ? PyObject_CallMethod(threading, "setprofile", "O", hook) : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* The trace hook reports the lines of every frame that does not decline them. */
int frames_ask_for_lines(const cyp_function *function, PyObject *code) {
    (void)function, (void)code;
    return 0;
}

int frames_init(PyObject *module) {
    thread_hook = PyObject_GetAttrString(module, "_hook_thread");
    return thread_hook ? 0 : -1;
}

int frames_begin(void) {
    if (set_hook_of_new_threads(thread_hook)) return -1;
    hook_this_thread();
    return 0;
}

void frames_end(void) {
    PyEval_SetProfile(NULL, NULL);
    if (recording.lines) PyEval_SetTrace(NULL, NULL);
    if (set_hook_of_new_threads(Py_None)) PyErr_WriteUnraisable(thread_hook);
}

#endif /* Python 3.11 */
