/* Python frames by the profile hook, Python 3.11, which has no sys.monitoring. The hook belongs to a thread's state in the
 * interpreter: it is put into each while its thread waits for the GIL. Line events come by the trace hook, set when lines are
 * wanted. */
#include "runtime.h"

#if PY_VERSION_HEX < 0x030C0000

#include "frameobject.h"
#include "opcode.h"

/* For the lock on the list of the threads' states, and their count. */
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED  /* defined again there, in other words */
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"

static bool thread_begins;      /* a call that starts a thread is on its way: its state may be there at any event */
static uint64_t newest_seen;    /* number of the newest thread state that was looked at; they count from 1 */
static uint64_t first_number, hooked;   /* the newest when the recording began, and how many later ones have our hook */
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
static int trace_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);
static void hook_new_threads(void);

/* The program's own profiler on this thread, NULL for none. A thread made in C has a new state, without one, each time that it
   takes the GIL. */
static Py_tracefunc next_profile(const thread_state *thread) {
    return thread && thread->next_profile && thread->next_profile_state == PyThreadState_Get()->id ? thread->next_profile : NULL;
}

static void regain_hook(void) {
    PyThreadState *state = PyThreadState_Get();
    thread_state *thread = threads_current();
    if (!thread || state->c_profilefunc == profile_hook) return;
    PyObject *object = Py_XNewRef(state->c_profileobj);
    thread->next_profile = state->c_profilefunc;
    thread->next_profile_state = state->id;
    PyEval_SetProfile(profile_hook, object);
    Py_XDECREF(object);
}

static int regain_by_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    PyEval_SetTrace(NULL, NULL);
    regain_hook();
    return 0;
}

/* Whether a C function exchanges the hook of this thread: of cProfile, or sys.setprofile itself, which a program can have kept
   from before the recording. */
static bool exchanges_hook(PyObject *callable) {
    PyObject *self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
    if (!self || frames_is_setprofile(callable)) return false;
    if (PyModule_Check(self)) return !strcmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "setprofile");
    PyTypeObject *type = Py_TYPE(self);
    while (type && strcmp(type->tp_name, "_lsprof.Profiler")) type = type->tp_base;
    return type != NULL;
}

/* The hook is about to be exchanged: the first event of a trace hook is where the thread comes back to us. */
static void regain_soon(PyObject *callable) {
    if (!exchanges_hook(callable)) return;
    PyThreadState *state = PyThreadState_Get();
    if (!state->c_tracefunc)
        PyEval_SetTrace(regain_by_trace, NULL);
    else if (!recording.lines && !lost_since_ns)
        lost_since_ns = now_ns();
}

/* In the place of sys.setprofile. */
static PyObject *frames_setprofile(PyObject *self, PyObject *function) {
    (void)self;
    bool ours = PyThreadState_Get()->c_profilefunc == profile_hook;
    PyObject *result = frames_call_setprofile(function);
    if (!result || !is_recording()) return result;
    thread_state *thread = threads_current();
    Py_tracefunc before = next_profile(thread);
    regain_hook();
    /* Without us a profiler does not see the end of the call that set it, unless there was one before it. */
    if (thread) thread->skips_return = ours && !before;
    return result;
}

/* A C function has ended: it may have started a thread, or set a tracer. */
static void c_function_ended(const cyp_function *function, bool raised) {
    frames_leave(function, raised);
    if (function && CYP_UNLIKELY(function->flags & CYP_STARTS_THREAD)) {
        hook_new_threads();
        thread_begins = false;
    }
    if (recording.lines && PyThreadState_Get()->c_tracefunc != trace_hook) CYP_STORE(recording.lines_lost, true);
}

static int own_event(PyFrameObject *frame, int what, PyObject *arg) {
    if (!threads_listening()) return 0;
    if (CYP_UNLIKELY(thread_begins)) hook_new_threads();
    /* A pending exception has been put aside by the interpreter (Python/ceval.c, call_trace_protected). */
    switch (what) {
    case PyTrace_CALL:
    case PyTrace_RETURN: frame_event(frame, what, arg); break;
    case PyTrace_C_CALL:
        frames_enter(callables_function(arg, NULL), false);
        regain_soon(arg);
        break;
    case PyTrace_C_RETURN: c_function_ended(callables_function(arg, NULL), false); break;
    case PyTrace_C_EXCEPTION: c_function_ended(callables_function(arg, NULL), true); break;
    default: break;
    }
    return PyErr_Occurred() && !functions_forgive_memory() ? -1 : 0;
}

static int profile_hook(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    if (own_event(frame, what, arg)) return -1;
    thread_state *thread = (thread_state *)current_thread;
    Py_tracefunc next = next_profile(thread);
    if (!next) return 0;
    if (thread->skips_return && what == PyTrace_C_RETURN) {
        thread->skips_return = false;
        return 0;
    }
    int failed = next(self, frame, what, arg);
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

/* ---- the threads' states */

/* Puts the hooks into a state that has none; those of the program's stay. An audit hook may refuse. */
static void hook_state(PyThreadState *state) {
    if (!state->c_profilefunc) {
        if (_PyEval_SetProfile(state, profile_hook, NULL)) PyErr_WriteUnraisable(NULL);
        else if (state->id > first_number) CYP_ADD(hooked, 1);
    }
    if (!recording.lines || state->c_tracefunc == trace_hook) return;
    if (state->c_tracefunc) CYP_STORE(recording.lines_lost, true);
    else if (_PyEval_SetTrace(state, trace_hook, NULL)) PyErr_WriteUnraisable(NULL);
}

/* The newest state, or the one before `state`. Threads made in C add theirs to the list without the GIL; none goes without it. */
static PyThreadState *next_state(const PyThreadState *state) {
    PyThread_acquire_lock(_PyRuntime.interpreters.mutex, WAIT_LOCK);
    PyThreadState *next = state ? state->next : PyInterpreterState_Main()->threads.head;
    PyThread_release_lock(_PyRuntime.interpreters.mutex);
    return next;
}

static void hook_new_threads(void) {
    PyThreadState *state = next_state(NULL);
    uint64_t newest = state->id;
    if (newest > newest_seen) thread_begins = false;
    for (; state && state->id > newest_seen; state = next_state(state)) hook_state(state);
    newest_seen = newest;
}

/* Cython code calls something: in a thread made in C, where none of its functions may have been entered by Python, this is where
   Python functions begin. */
const cyp_function *frames_called_from_cython(PyObject *callable, PyObject *self) {
    if (CYP_UNLIKELY(thread_begins)) hook_new_threads();
    PyThreadState *state = PyThreadState_Get();
    if (CYP_UNLIKELY(!state->c_profilefunc) && !lost_since_ns && threads_listening()) hook_state(state);
    const cyp_function *function = callables_function(callable, self);
    if (function && CYP_UNLIKELY(function->flags & CYP_STARTS_THREAD)) thread_begins = true;
    return function;
}

void frames_restart(void) {
    first_number = PyInterpreterState_Main()->threads.next_unique_id;
    CYP_STORE(hooked, 0);
}

/* How often a thread came into Python unseen. Each worker of a team may do so once, to have a place for exceptions. */
uint64_t frames_unseen(void) {
    uint64_t made = PyInterpreterState_Main()->threads.next_unique_id - first_number;
    uint64_t known = CYP_LOAD(hooked) + CYP_LOAD(recording.worker_entries);
    return made > known ? made - known : 0;
}

/* The trace hook reports the lines of every frame that does not decline them. */
int frames_ask_for_lines(const cyp_function *function, PyObject *code) {
    (void)function, (void)code;
    return 0;
}

int frames_init(PyObject *module) {
    (void)module;
    return frames_prepare_setprofile(frames_setprofile);
}

int frames_begin(void) {
    lost_since_ns = newest_seen = 0;
    thread_begins = false;
    if (frames_replace_setprofile()) return -1;
    hook_new_threads();
    regain_hook();      /* where a profiler of the program's is on */
    return 0;
}

void frames_end(void) {
    PyThreadState *state = PyThreadState_Get();
    thread_state *thread = (thread_state *)current_thread;
    if (lost_since_ns && state->c_profilefunc != profile_hook) CYP_STORE(recording.python_lost_ns, now_ns() - lost_since_ns);
    if (recording.lines && state->c_tracefunc != trace_hook) CYP_STORE(recording.lines_lost, true);
    /* A profiler or tracer of the program's stays. */
    if (state->c_profilefunc == profile_hook) {
        PyObject *object = Py_XNewRef(state->c_profileobj);
        PyEval_SetProfile(next_profile(thread), object);
        Py_XDECREF(object);
    }
    if (state->c_tracefunc == trace_hook) PyEval_SetTrace(NULL, NULL);
    frames_restore_setprofile();
}

#endif /* Python 3.11 */
