/* The process: what it is called, what a fork of it does, and the parts it writes to disk so that nothing that ends it takes
 * more than the last moments along. */
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

process_state process;

#define FIRST_LOOK_NS 100000000ull      /* the first part is written after this time, */
#define INTERVAL_NS 1000000000ull       /* later ones about so often, */
#define COST_PART 100                   /* and never for more than one part in so many of the time */
#define NAME_LOOKS (1 << 20)

static char folder[512];
static char part[600], draft[608];      /* the file this process writes, and its name until it is whole */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_ns;
static int last_state;
static bool fork_pending, follows_forks;

bool process_keeps_parts(void) { return folder[0] != 0; }

/* Where the parts go, NULL for nowhere, and whether forked children are recorded. False when the name is too long. */
bool process_set_folder(const char *path, bool children) {
    folder[0] = 0;
    follows_forks = path && children;
    if (!path) return true;
    return snprintf(folder, sizeof folder, "%s", path) < (int)sizeof folder ? true : (folder[0] = 0, false);
}

void process_set_name(const char *name) {
    snprintf(process.name, sizeof process.name, "%s", name);
    if (*name) process.name_looks = 0;
}

/* The same during a recording: the watcher may be writing the name down. */
void process_change_name(const char *name) {
    sigset_t signals;
    registry_enter(&signals);
    process_set_name(name);
    registry_leave(&signals);
}

/* A recording begins in this process. */
void process_begin(bool forked) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    process.pid = getpid();
    process.parent = getppid();
    process.started_ns = (uint64_t)now.tv_sec * BILLION + (uint64_t)now.tv_nsec;
    process.forked = forked;
    last_state = ENDED_UNKNOWN;
    next_ns = now_ns() + FIRST_LOOK_NS;
    snprintf(part, sizeof part, "%s/%lld-%llu.part", folder, process.pid, (unsigned long long)process.started_ns);
    snprintf(draft, sizeof draft, "%s.draft", part);
}

/* ---- parts */

static bool write_whole(int file, const char *data, size_t size) {
    while (size) {
        ssize_t written = write(file, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_part(const snapshot *taken) {
    int file = descriptor_out_of_the_way(open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file < 0) return false;
    bool whole = write_whole(file, taken->data, taken->size);
    whole = !close(file) && whole;
    if (whole && !rename(draft, part)) return true;
    unlink(draft);
    return false;
}

/* Takes a lock, but not for ever: whoever holds it may have been stopped by what ends the process. */
static bool lock_soon(pthread_mutex_t *lock) {
    for (int i = 0; i < 200; i++) {
        if (!pthread_mutex_trylock(lock)) return true;
        usleep(1000);
    }
    return false;
}

/* Writes the recording as it is now. Nothing is lost when that fails: the part before it stays. */
bool process_checkpoint(int state) {
    snapshot taken = {0};
    sigset_t all, before;
    if (!folder[0] || fork_pending) return false;
    /* After os._exit there is still a moment for the watcher. */
    last_state = state == ENDED_UNKNOWN ? last_state : state;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);    /* as in registry_enter */
    bool done = lock_soon(&writing);
    if (!done) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return false;
    }
    done = lock_soon(&registry_lock);
    if (done) {
        done = snapshot_take(&taken, now_ns(), last_state);
        pthread_mutex_unlock(&registry_lock);
    }
    done = done && write_part(&taken);
    snapshot_release(&taken);
    pthread_mutex_unlock(&writing);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

/* Processor time of the calling thread. */
static uint64_t own_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
}

/* The watcher's: writes a part when it is time to. */
void process_checkpoint_when_due(void) {
    uint64_t before = now_ns();
    if (!folder[0] || before < next_ns) return;
    /* What it costs the program is the processor, not how long it stood in the queue for one or waited for the disk. */
    uint64_t spent = own_cpu_ns();
    process_checkpoint(ENDED_UNKNOWN);
    uint64_t pause = (own_cpu_ns() - spent) * COST_PART;
    uint64_t wanted = before - recording.start_ns < INTERVAL_NS ? FIRST_LOOK_NS : INTERVAL_NS;
    next_ns = now_ns() + (pause > wanted ? pause : wanted);
}

/* ---- forks: the child counts from zero */

static void before_fork(void) {
    pthread_mutex_lock(&writing);
    pthread_mutex_lock(&registry_lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&registry_lock);
    pthread_mutex_unlock(&writing);
}

/* Only this thread is left. It may be about to become another program, so the new recording begins with its next event. */
static void after_fork_in_child(void) {
    pthread_mutex_init(&registry_lock, NULL);
    pthread_mutex_init(&writing, NULL);
    if (!is_recording()) return;
    for (thread_state *thread = all_threads; thread; thread = thread->next) {
        thread->base.attention = CYP_STOPPED;
        thread->booking = 0;
    }
    watcher_gone();
    fork_pending = follows_forks;
    recording.active = follows_forks;
}

bool process_fork_pending(void) { return fork_pending; }

/* Begins the recording of a forked child, on its only thread. With or without the GIL. */
void process_begin_fork(void) {
    fork_pending = false;
    threads_begin_fork();
    process_begin(true);
    process_set_name("fork");
    process.name_looks = 1;
    if (watcher_start()) recording.active = 0;
}

int process_init(void) { return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

/* ---- its name */

/* Takes the name that multiprocessing gave this process, without running any Python code. It is set at some time after the
   process began, so it is looked for at the 1st, 2nd, 4th, ... event. The GIL is held. */
void process_look_for_name(void) {
    unsigned looks = process.name_looks++;
    if (looks & (looks - 1)) return;
    if (looks >= NAME_LOOKS) process.name_looks = 0;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "multiprocessing.process") : NULL;
    PyObject *current = module ? PyDict_GetItemString(PyModule_GetDict(module), "_current_process") : NULL;
    PyObject *name = current ? PyObject_GetAttrString(current, "_name") : NULL;
    PyObject *parent = current ? PyObject_GetAttrString(current, "_parent_pid") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    /* A process that has only just been forked still has its parent's object. */
    bool own = parent && PyLong_Check(parent) && PyLong_AsLongLong(parent) == process.parent;
    if (text && own) process_change_name(text);
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(parent);
}

/* ---- processes it starts */

/* A function that stands in the place of another, with its name, and gives it changed arguments. What it is called with does
   not tell which of them it is: a function of C's with an object bound to it would show as a method. */
enum { MOST_ADAPTED = 4 };
static struct {
    PyObject *original, *adapt;
    PyMethodDef method;
} adapted[MOST_ADAPTED];
static int adapted_count;

/* The program sees none of what is done to the arguments. */
static PyObject *call_adapted(int which, PyObject *args, PyObject *keywords) {
    bool before = threads_mute(true);
    PyObject *changed = PyObject_CallOneArg(adapted[which].adapt, args);
    (void)threads_mute(before);
    PyObject *result = changed ? PyObject_Call(adapted[which].original, changed, keywords) : NULL;
    Py_XDECREF(changed);
    return result;
}

#define ADAPTED(which)                                                                      \
    static PyObject *adapted_##which(PyObject *self, PyObject *args, PyObject *keywords) {  \
        (void)self;                                                                         \
        return call_adapted(which, args, keywords);                                         \
    }
ADAPTED(0)
ADAPTED(1)
ADAPTED(2)
ADAPTED(3)
static const PyCFunctionWithKeywords adapted_calls[MOST_ADAPTED] = {adapted_0, adapted_1, adapted_2, adapted_3};

const char process_adapted_doc[] = "adapted(function, adapt)\n\nA function that calls `function`, a C function of a module, with what "
                                   "adapt(arguments) makes of its arguments. There can be four.";
PyObject *process_adapted(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *original, *adapt;
    if (!PyArg_ParseTuple(args, "O!O", &PyCFunction_Type, &original, &adapt)) return NULL;
    if (adapted_count == MOST_ADAPTED) return PyErr_SetString(PyExc_RuntimeError, "four functions are adapted already"), NULL;
    const PyCFunctionObject *function = (PyCFunctionObject *)original;
    int which = adapted_count++;
    adapted[which].original = Py_NewRef(original);
    adapted[which].adapt = Py_NewRef(adapt);
    adapted[which].method = (PyMethodDef){function->m_ml->ml_name, (PyCFunction)(void (*)(void))adapted_calls[which],
                                          METH_VARARGS | METH_KEYWORDS, function->m_ml->ml_doc};
    return PyCFunction_NewEx(&adapted[which].method, function->m_self, function->m_module);
}
