/* cyprof.probe._runtime: starts and stops a recording, and is what probed modules find to record into. */
#include "runtime.h"

static const cyp_runtime runtime_api = {
    .abi = CYP_ABI,
    .this_thread = threads_current_base,
    .find_child = tree_find_child,
    .enter_slow = tree_enter_slow,
    .leave_slow = tree_leave_slow,
    .line_slow = tree_line_slow,
    .enter_worker = tree_enter_worker,
    .c_function = frames_called_from_cython,
    .attach_module = callables_attach_module,
};
/* The offset is known only at run time; a copy holds it, and that is what modules get. */
static cyp_runtime api;

const cyp_runtime *runtime_modules_api(void) { return &api; }

#define MOST_PATHS 500000

static int clock_named(const char *name) {
    static const char *const names[] = {"auto", "exact", "sampled"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, names[i])) return i;
    PyErr_Format(PyExc_ValueError, "clock is auto, exact or sampled, not %s", name);
    return -1;
}

/* Sets what is summed up over the process to zero. */
void recording_restart(void) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    recording.samples = 0;
    recording.python_lost_ns = 0;
    recording.stack_switched = recording.lines_lost = false;
    recording.memory_lost = recording.paths_shared = 0;
    recording.worker_entries = 0;
    frames_restart();
    recording.start_cpu_ns = (uint64_t)cpu.tv_sec * BILLION + (uint64_t)cpu.tv_nsec;
    recording.start_ns = now_ns();
}

static void set_recording(int clock, bool lines, PyObject *wants_lines) {
    recording.clock = clock;
    recording.lines = lines;
    recording.generation++;
    Py_XSETREF(recording.wants_lines, wants_lines == Py_None ? NULL : Py_XNewRef(wants_lines));
    if (!recording.clock_cost_ns) recording.clock_cost_ns = calibrate_clock();
    recording_restart();
}

PyDoc_STRVAR(start_doc, "start(clock='auto', lines=False, wants_lines=None, running=False, folder=None, children=False, "
"name='', most_paths=500000)\n\n"
"Begins a recording of all threads of this process. With a folder, what was recorded is written there from time to time, when "
"the process is ended by a signal, and at stop(); with children also for processes that this one forks.\n\n"
"wants_lines(filename) is asked once for each Python code object when lines are recorded. With running, the functions "
"that are running on the calling thread stand above what is recorded, uncounted. So many call paths are kept apart; calls along "
"further ones are counted without their callers.");
static PyObject *runtime_start(PyObject *self, PyObject *args, PyObject *keywords) {
    (void)self;
    static char *names[] = {"clock", "lines", "wants_lines", "running", "folder", "children", "name", "most_paths",
                            NULL};
    const char *clock_name = "auto", *folder = NULL, *name = "";
    int lines = 0, running = 0, children = 0;
    PyObject *wants_lines = NULL;
    unsigned long long most_paths = MOST_PATHS;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|spOpzpsK", names, &clock_name, &lines, &wants_lines, &running, &folder,
                                     &children, &name, &most_paths))
        return NULL;
    int clock = clock_named(clock_name);
    if (clock < 0) return NULL;
    if (recording.active) return PyErr_SetString(PyExc_RuntimeError, "a recording is in progress already"), NULL;
    if (!process_set_folder(folder, children)) return PyErr_SetString(PyExc_ValueError, "the folder's name is too long"), NULL;
    threads_forget_ended();
    greenlets_begin();
    set_recording(clock, lines, wants_lines);
    recording.most_nodes = most_paths;
    process_set_name(name);
    process_begin(false);
    if (watcher_start()) return PyErr_SetString(PyExc_RuntimeError, "the watcher thread could not be started"), NULL;
    if (folder) deaths_begin();
    __atomic_store_n(&recording.active, 1, __ATOMIC_RELEASE);
    threads_begin();
    if (frames_begin() || (running && frames_enter_running())) {
        __atomic_store_n(&recording.active, 0, __ATOMIC_RELEASE);
        watcher_stop();
        frames_end();
        return NULL;
    }
    Py_RETURN_NONE;
}

static void end_recording(void) {
    frames_end();
    greenlets_end();
    watcher_stop();
    threads_end();
    __atomic_store_n(&recording.active, 0, __ATOMIC_RELEASE);
}

static PyObject *recorded(uint64_t end) {
    snapshot taken = {0};
    pthread_mutex_lock(&registry_lock);
    bool done = snapshot_take(&taken, end, ENDED_WHOLE);
    pthread_mutex_unlock(&registry_lock);
    if (!done) return PyErr_NoMemory();
    PyObject *bytes = PyBytes_FromStringAndSize(taken.data, (Py_ssize_t)taken.size);
    snapshot_release(&taken);
    return bytes;
}

PyDoc_STRVAR(stop_doc, "stop()\n\nEnds the recording and returns it as bytes, which cyprof.collect.part reads; when it was begun "
"with a folder, it is written there, and whether that went well is returned.");
static PyObject *runtime_stop(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    if (!is_recording()) return PyErr_SetString(PyExc_RuntimeError, "no recording is in progress"), NULL;
    (void)threads_current();    /* in a forked child with nothing recorded yet, it begins here */
    if (!process_keeps_parts()) {
        uint64_t end = now_ns();
        end_recording();
        return recorded(end);
    }
    /* A signal that comes meanwhile waits, on every thread, until all is written. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    end_recording();
    bool written = process_checkpoint(ENDED_WHOLE);
    deaths_end();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return PyBool_FromLong(written);
}

PyDoc_STRVAR(recording_doc, "recording()\n\nWhether a recording is in progress in this process.");
static PyObject *runtime_recording(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return PyBool_FromLong(is_recording());
}

/* Where a thread keeps its innermost frame, and how many more may be put on it. */
#if PY_VERSION_HEX >= 0x030D0000
#define INNERMOST_FRAME(thread) ((thread)->current_frame)
#else
#define INNERMOST_FRAME(thread) ((thread)->cframe->current_frame)
#endif
#if PY_VERSION_HEX >= 0x030C0000
#define FRAMES_LEFT(thread) ((thread)->py_recursion_remaining)
#define FRAME_LIMIT(thread) ((thread)->py_recursion_limit)
#else
#define FRAMES_LEFT(thread) ((thread)->recursion_remaining)
#define FRAME_LIMIT(thread) ((thread)->recursion_limit)
#endif

PyDoc_STRVAR(run_doc, "run(code, globals)\n\nEvaluates a code object as a program's first: there is no frame above its own, and "
"none of ours counts towards the recursion limit.");
static PyObject *runtime_run(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *code, *globals;
    if (!PyArg_ParseTuple(args, "O!O!", &PyCode_Type, &code, &PyDict_Type, &globals)) return NULL;
    PyThreadState *thread = PyThreadState_Get();
    struct _PyInterpreterFrame *ours = INNERMOST_FRAME(thread);
    int used = FRAME_LIMIT(thread) - FRAMES_LEFT(thread);
    INNERMOST_FRAME(thread) = NULL;
    FRAMES_LEFT(thread) += used;
    PyObject *result = PyEval_EvalCode(code, globals, globals);
    INNERMOST_FRAME(thread) = ours;
    FRAMES_LEFT(thread) -= used;
    return result;
}

PyDoc_STRVAR(hide_doc, "hide(prefix)\n\nPython functions of files that start with prefix are not shown.");
static PyObject *runtime_hide(PyObject *self, PyObject *prefix) {
    (void)self;
    if (!PyUnicode_Check(prefix)) return PyErr_SetString(PyExc_TypeError, "prefix must be a str"), NULL;
    return functions_hide(prefix) ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(name_process_doc, "name_process(name)\n\nSays what the process is called.");
static PyObject *runtime_name_process(PyObject *self, PyObject *name) {
    (void)self;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return NULL;
    process_change_name(text);
    process.name_looks = 0;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(quietly_doc, "quietly(function, *args)\n\nReturns function(*args), which is work of cyprof's own: what it calls on this "
"thread, and is no probed function, is none of the program's calls.");
static PyObject *runtime_quietly(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "quietly() takes a function");
        return NULL;
    }
    (void)threads_current();
    bool before = threads_mute(true);
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, NULL);
    (void)threads_mute(before);
    return result;
}

PyDoc_STRVAR(expect_doc, "expect_greenlets()\n\nThe program is about to import greenlet, or has it already.");

static double above(double with, double without) { return with > without ? with - without : 0; }

PyDoc_STRVAR(calibrate_doc, "calibrate()\n\nWhat looking costs here, in ns, as a dict: a call and a line of a probed "
"module (call_ns, line_ns), a call and a line of Python (python_ns, python_line_ns), a call of a C function (builtin_ns), a "
"clock read (clock_ns). Takes some 20 ms; not during a recording.");
static PyObject *runtime_calibrate(PyObject *self, PyObject *unused) {
    (void)unused;
    double without[CALIBRATED_LOOPS], with[CALIBRATED_LOOPS], call_ns, line_ns;
    PyObject *namespace = calibrate_namespace();
    PyObject *started = NULL, *stopped = NULL, *always = NULL;
    int failed = !namespace || calibrate_python(namespace, without);
    if (!failed) always = PyObject_GetAttrString(self, "_always");
    if (always) started = PyObject_CallMethod(self, "start", "sOO", "sampled", Py_True, always);
    if (started) {
        failed = calibrate_python(namespace, with);
        calibrate_probes(&call_ns, &line_ns);
        stopped = PyObject_CallMethod(self, "stop", NULL);
    }
    Py_XDECREF(namespace);
    Py_XDECREF(always);
    Py_XDECREF(started);
    Py_XDECREF(stopped);
    if (failed || !stopped) return NULL;
    /* Calls of f cost two lines less than they seem: the loop's own and f's. */
    double python_line = above(with[3] - with[0], without[3] - without[0]);
    double loop = above(with[0], without[0]);
    return Py_BuildValue("{sdsdsdsdsdsd}", "call_ns", call_ns, "line_ns", line_ns, "clock_ns", recording.clock_cost_ns,
                         "python_ns", above(with[1], without[1] + loop + python_line), "builtin_ns",
                         above(with[2], without[2] + loop), "python_line_ns", python_line);
}

static PyObject *runtime_always(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    Py_RETURN_TRUE;
}

typedef PyObject *fast_function(PyObject *, PyObject *const *, Py_ssize_t);
#define FAST(name, function) {name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, NULL}
#if PY_VERSION_HEX >= 0x030C0000
extern fast_function frames_py_start, frames_py_resume, frames_py_return, frames_py_unwind, frames_c_call, frames_c_return,
    frames_c_raise, frames_line_event, frames_jump, frames_branch;
#endif

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))runtime_start, METH_VARARGS | METH_KEYWORDS, start_doc},
    {"stop", runtime_stop, METH_NOARGS, stop_doc},
    {"recording", runtime_recording, METH_NOARGS, recording_doc},
    {"name_process", runtime_name_process, METH_O, name_process_doc},
    {"adapted", process_adapted, METH_VARARGS, process_adapted_doc},
    {"run", runtime_run, METH_VARARGS, run_doc},
    {"hide", runtime_hide, METH_O, hide_doc},
    {"calibrate", runtime_calibrate, METH_NOARGS, calibrate_doc},
    {"expect_greenlets", greenlets_expect, METH_NOARGS, expect_doc},
    {"_greenlet_switched", greenlets_switched, METH_VARARGS, NULL},
    {"_always", runtime_always, METH_O, NULL},
    {"quietly", (PyCFunction)(void (*)(void))runtime_quietly, METH_FASTCALL, quietly_doc},
#if PY_VERSION_HEX >= 0x030C0000
    FAST("_py_start", frames_py_start),
    FAST("_py_resume", frames_py_resume),
    FAST("_py_return", frames_py_return),
    FAST("_py_unwind", frames_py_unwind),
    FAST("_c_call", frames_c_call),
    FAST("_c_return", frames_c_return),
    FAST("_c_raise", frames_c_raise),
    FAST("_line", frames_line_event),
    FAST("_jump", frames_jump),
    FAST("_branch", frames_branch),
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "cyprof.probe._runtime", "Records what probed modules and Python frames do.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__runtime(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    api = runtime_api;
    api.thread_offset = threads_offset();
    PyObject *capsule = PyCapsule_New(&api, "cyprof.probe._runtime._c_api", NULL);
    int failed = !capsule || PyModule_AddObjectRef(module, "_c_api", capsule) || threads_init() || functions_init() ||
                 callables_init() || frames_init(module) || greenlets_init(module);
    Py_XDECREF(capsule);
    if (failed) Py_CLEAR(module);
    return module;
}
