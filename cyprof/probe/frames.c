/* Python frames and C functions on the shadow stack, whichever way this Python reports them. The GIL is held. */
#include "runtime.h"

/* `function` begins, or goes on after a suspension, on this thread. */
void frames_enter(const cyp_function *function, bool resumed) {
    if (!function || function->flags & CYP_HIDDEN) return;
    thread_state *thread = threads_current();
    if (!thread) return;
    if (CYP_UNLIKELY(thread->news_seen != thread_news)) thread_take_notice(thread);
    if (process.name_looks) process_look_for_name();
    cyp_node *caller = thread->base.node, *node = tree_enter(thread, function, resumed);
    if (CYP_UNLIKELY(!node || node->parent != caller)) tree_put_aside(thread, function, node ? node : caller, caller);
}

/* `function` ends or is suspended. Its node is the current one, unless something below it was left without a word; a
   function entered before the recording began has none. */
void frames_leave(const cyp_function *function, bool raised) {
    if (!function || function->flags & CYP_HIDDEN) return;
    thread_state *thread = threads_current();
    if (!thread) return;
    cyp_node *caller;
    const cyp_node *skipped = thread->base.node;
    cyp_node *node = tree_innermost(thread, function, &caller);
    /* At the root `function` began before the thread's recording; the end of a C function may go unreported on 3.11. */
    for (; skipped && skipped != node; skipped = skipped->parent)
        if (skipped->function && skipped->function->language != CYP_LANGUAGE_C) CYP_STORE(recording.stack_switched, true);
    if (!node) return;
    if (raised && node != caller) CYP_ADD(node->raised, 1);
    if (CYP_UNLIKELY(function->flags & CYP_NAMES_THREAD)) thread_news++;
    tree_leave(thread, node, caller);
}

/* The Python function reaches a line; `frame` is its own, or NULL for the current one. */
void frames_line(const cyp_function *function, PyFrameObject *frame, int line) {
    if (!function || !function->line_count) return;
    thread_state *thread = threads_current();
    int index = line - function->line + 1;
    if (!thread || index < 1 || index > function->line_count) return;
    cyp_node *node = thread->base.node;
    if (node->function != function) return;
    cyp_frame here = CYP_FRAME(&thread->base, node, node->parent);
    tree_line_slow(here, (unsigned)index, code_lines_count(function, frame));
}

/* Puts the functions that are running on this thread onto its stack, uncounted: a recording that begins in the middle of a
   program belongs below them. 0, or -1 with an exception set. */
int frames_enter_running(void) {
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *frames = PyList_New(0);
    int failed = !frames;
    Py_XINCREF(frame);
    while (frame && !failed) {
        failed = PyList_Append(frames, (PyObject *)frame);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    thread_state *thread = failed ? NULL : threads_current();
    for (Py_ssize_t i = thread ? PyList_GET_SIZE(frames) : 0; i-- > 0 && !failed;) {
        PyFrameObject *running = (PyFrameObject *)PyList_GET_ITEM(frames, i);
        PyCodeObject *code = PyFrame_GetCode(running);
        PyObject *globals = PyFrame_GetGlobals(running);
        const cyp_function *function = functions_of_code(code, globals);
        failed = function ? frames_ask_for_lines(function, (PyObject *)code) : PyErr_Occurred() ? -1 : 0;
        cyp_node *node = function && !(function->flags & CYP_HIDDEN)
                             ? tree_find_child(&thread->base, thread->base.node, function) : NULL;
        if (node) CYP_PUBLISH(thread->base.node, node);
        Py_DECREF(globals);
        Py_DECREF(code);
    }
    Py_XDECREF(frames);
    return failed;
}

/* ---- sys.setprofile, in the place of which a function of ours stands during a recording */

static PyObject *original, *stand_in;

/* `function` gets the same name, text and module. A program, or what Python runs before one, may have put a function of its own
   there, which then stays. */
int frames_prepare_setprofile(PyCFunction function) {
    PyObject *found = PySys_GetObject("setprofile");
    if (!found || !PyCFunction_CheckExact(found)) return 0;
    original = Py_NewRef(found);
    static PyMethodDef method;
    const PyCFunctionObject *described = (PyCFunctionObject *)found;
    method = (PyMethodDef){"setprofile", function, METH_O, described->m_ml->ml_doc};
    stand_in = PyCFunction_NewEx(&method, described->m_self, described->m_module);
    return stand_in ? 0 : -1;
}

int frames_replace_setprofile(void) {
    return stand_in && PySys_GetObject("setprofile") == original ? PySys_SetObject("setprofile", stand_in) : 0;
}

void frames_restore_setprofile(void) {
    if (stand_in && PySys_GetObject("setprofile") == stand_in && PySys_SetObject("setprofile", original))
        PyErr_WriteUnraisable(original);
}

bool frames_is_setprofile(const PyObject *callable) { return callable == stand_in; }

PyObject *frames_call_setprofile(PyObject *profiler) { return PyObject_CallOneArg(original, profiler); }
