/* Python frames by the profile hook, Python 3.11, which has no sys.monitoring. The hook belongs to a thread: each thread sets
 * its own, at its first event through threading.setprofile. Line events come by the trace hook, set when lines are wanted. */
#include "runtime.h"

#if PY_VERSION_HEX < 0x030C0000

#include "frameobject.h"
#include "opcode.h"

static PyObject *thread_hook;   /* a Python callable that puts our C hook into the thread that calls it */
static PyObject *set_profile, *our_set_profile;     /* sys.setprofile as it was, and what stands in its place */
static uint64_t lost_since_ns;  /* when a profiler of the program's was begun that we could not stand before; 0: never */

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

/* A profiler of the program's own, by sys.setprofile or cProfile, takes the place of our hook. We take it back, keep the
   object that sys.getprofile() gives, and hand each event on to that profiler. */
static int profile_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);
static void hook_this_thread(void);

static void regain_hook(void) {
    PyThreadState *state = PyThreadState_Get();
    thread_state *thread = threads_current();
    if (!thread || state->c_profilefunc == profile_hook) return;
    PyObject *object = Py_XNewRef(state->c_profileobj);
    thread->next_profile = state->c_profilefunc;
    PyEval_SetProfile(profile_hook, object);
    Py_XDECREF(object);
}

static int regain_by_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    PyEval_SetTrace(NULL, NULL);
    regain_hook();
    return 0;
}

/* cProfile is about to begin or end: the first event of a trace hook is where the thread comes back to us. */
static void regain_soon(PyObject *callable) {
    if (!PyCFunction_Check(callable) || !PyCFunction_GET_SELF(callable)) return;
    PyTypeObject *type = Py_TYPE(PyCFunction_GET_SELF(callable));
    while (type && strcmp(type->tp_name, "_lsprof.Profiler")) type = type->tp_base;
    if (!type) return;
    PyThreadState *state = PyThreadState_Get();
    if (!state->c_tracefunc)
        PyEval_SetTrace(regain_by_trace, NULL);
    else if (!recording.lines && !lost_since_ns)
        lost_since_ns = now_ns();
}

/* In the place of sys.setprofile. A new thread sets our own hook by it. */
PyObject *frames_setprofile(PyObject *self, PyObject *function) {
    (void)self;
    if (function == thread_hook && is_recording()) {
        hook_this_thread();
        Py_RETURN_NONE;
    }
    bool ours = PyThreadState_Get()->c_profilefunc == profile_hook;
    PyObject *result = PyObject_CallOneArg(set_profile, function);
    if (!result || !is_recording()) return result;
    thread_state *thread = threads_current();
    Py_tracefunc before = thread ? thread->next_profile : NULL;
    regain_hook();
    /* Without us a profiler does not see the end of the call that set it, unless there was one before it. */
    if (thread) thread->skips_return = ours && !before;
    return result;
}

static int own_event(PyFrameObject *frame, int what, PyObject *arg) {
    if (!threads_listening()) return 0;
    /* A pending exception has been put aside by the interpreter (Python/ceval.c, call_trace_protected). */
    switch (what) {
    case PyTrace_CALL:
    case PyTrace_RETURN: frame_event(frame, what, arg); break;
    case PyTrace_C_CALL:
        frames_enter(callables_function(arg, NULL), false);
        regain_soon(arg);
        break;
    case PyTrace_C_RETURN: frames_leave(callables_function(arg, NULL), false); break;
    case PyTrace_C_EXCEPTION: frames_leave(callables_function(arg, NULL), true); break;
    default: break;
    }
    return PyErr_Occurred() && !functions_forgive_memory() ? -1 : 0;
}

static int profile_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    if (own_event(frame, what, arg)) return -1;
    thread_state *thread = (thread_state *)current_thread;
    if (!thread || !thread->next_profile) return 0;
    if (thread->skips_return && what == PyTrace_C_RETURN) {
        thread->skips_return = false;
        return 0;
    }
    int failed = thread->next_profile(self, frame, what, arg);
    if (!PyThreadState_Get()->c_profilefunc) regain_hook();     /* it failed, and was taken away */
    return failed;
}

/* Line events come from a frame that does not decline them, opcode events from one that asks for them: a function with a `while`
   on one line. 0, or -1 with an exception set. */
static int ask_for_events(PyFrameObject *frame, const cyp_function *function) {
    if (!function->line_count) return PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", Py_False);
    if (!((const python_function *)function)->loop_count) return 0;
    return PyObject_SetAttrString((PyObject *)frame, "f_trace_opcodes", Py_True);
}

static bool begins_test(PyFrameObject *frame, const cyp_function *function) {
    return code_loops_at((const python_function *)function, PyFrame_GetLasti(frame)) != NULL;
}

static int trace_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)arg;
    regain_hook();
    if (!threads_listening() || (what != PyTrace_CALL && what != PyTrace_LINE && what != PyTrace_OPCODE)) return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    const cyp_function *function = function_of_frame(frame, code);
    int failed = !function && PyErr_Occurred();
    if (function && what == PyTrace_CALL)
        failed = ask_for_events(frame, function);
    else if (function && (what == PyTrace_LINE || begins_test(frame, function)))
        frames_line(function, frame, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return failed && !functions_forgive_memory() ? -1 : 0;
}

static void hook_this_thread(void) {
    thread_state *thread = threads_current();
    if (thread) thread->next_profile = NULL;
    PyEval_SetProfile(profile_hook, NULL);
    if (!recording.lines) return;
    /* A tracer that threading.settrace has set in a new thread stays. */
    if (PyThreadState_Get()->c_tracefunc) recording.lines_lost = true;
    else PyEval_SetTrace(trace_hook, NULL);
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
    PyObject *found = PySys_GetObject("setprofile");
    if (!thread_hook || !found || !PyCFunction_Check(found)) return -1;
    set_profile = Py_NewRef(found);
    /* The same name, text and module. */
    static PyMethodDef method;
    const PyCFunctionObject *function = (PyCFunctionObject *)found;
    method = (PyMethodDef){"setprofile", frames_setprofile, METH_O, function->m_ml->ml_doc};
    our_set_profile = PyCFunction_NewEx(&method, function->m_self, function->m_module);
    return our_set_profile ? 0 : -1;
}

int frames_begin(void) {
    lost_since_ns = 0;
    if (PySys_SetObject("setprofile", our_set_profile)) return -1;
    if (set_hook_of_new_threads(thread_hook)) return -1;
    hook_this_thread();
    return 0;
}

void frames_end(void) {
    PyThreadState *state = PyThreadState_Get();
    thread_state *thread = (thread_state *)current_thread;
    if (lost_since_ns && state->c_profilefunc != profile_hook) recording.python_lost_ns = now_ns() - lost_since_ns;
    if (recording.lines && state->c_tracefunc != trace_hook) recording.lines_lost = true;
    /* A profiler or tracer of the program's stays. */
    if (state->c_profilefunc == profile_hook) {
        PyObject *object = Py_XNewRef(state->c_profileobj);
        PyEval_SetProfile(thread ? thread->next_profile : NULL, object);
        Py_XDECREF(object);
    }
    if (state->c_tracefunc == trace_hook) PyEval_SetTrace(NULL, NULL);
    if (PySys_SetObject("setprofile", set_profile)) PyErr_WriteUnraisable(set_profile);
    if (set_hook_of_new_threads(Py_None)) PyErr_WriteUnraisable(thread_hook);
}

#endif /* Python 3.11 */
