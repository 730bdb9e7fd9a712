/* The states of the threads: made on a thread's first event, kept until it ends and the recording is written down. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#endif

#define NAME_TRIES 64

recording_state recording;
pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
thread_state *all_threads;
static int last_id;
static pthread_key_t end_of_thread;

__thread cyp_thread *current_thread;

ptrdiff_t threads_offset(void) {
#ifdef CYP_THREAD_POINTER
    char *base;
    CYP_THREAD_POINTER(base);
    return (char *)&current_thread - base;
#else
    return 0;
#endif
}

void thread_lock_booking(thread_state *thread) {
    while (__atomic_exchange_n(&thread->booking, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

void thread_unlock_booking(thread_state *thread) { __atomic_store_n(&thread->booking, 0, __ATOMIC_RELEASE); }

/* Books the time since the last booking on the current node and line. The caller is the one whose turn it is (see
   thread_state.booking). */
void thread_book(thread_state *thread, uint64_t now) {
    cyp_node *node = CYP_LOAD(thread->base.node);
    uint64_t elapsed = now > thread->booked_until_ns ? now - thread->booked_until_ns : 0;
    thread->booked_until_ns = now;
    node->self_ns += elapsed;
    if (node->lines) node->lines[CYP_LOAD(node->line)].self_ns += elapsed;
}

uint64_t thread_cpu_ns(const thread_state *thread) {
#if defined(__linux__)
    /* The clock of a thread is named by its kernel id, not by its pthread_t, which may be gone: clock_getcpuclockid(3),
       and the kernel's include/linux/posix-timers.h for the encoding. */
    struct timespec t;
    clockid_t clock = (clockid_t)((~(unsigned)thread->tid << 3) | 6);
    if (clock_gettime(clock, &t)) return 0;
    return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
#else
    (void)thread;
    return 0;
#endif
}

/* Whether the descriptor still is of our file: a program that becomes a daemon closes all it finds, and opens others. */
bool thread_owns_schedstat(const thread_state *thread) {
    struct stat file;
    return thread->schedstat >= 0 && !fstat(thread->schedstat, &file) && file.st_ino == thread->schedstat_inode;
}

static void end_thread(void *state) {
    thread_state *thread = state;
    pthread_mutex_lock(&registry_lock);
    if (is_recording() && thread->generation == recording.generation && thread->base.attention != CYP_STOPPED) {
        thread_lock_booking(thread);
        thread_book(thread, now_ns());
        thread->base.attention = CYP_STOPPED;
        thread_unlock_booking(thread);
        thread->end_ns = thread->booked_until_ns;
        thread->cpu_ns = thread_cpu_ns(thread) - thread->start_cpu_ns;
    }
    thread->ended = true;
    if (thread_owns_schedstat(thread)) close(thread->schedstat);
    thread->schedstat = -1;
    pthread_mutex_unlock(&registry_lock);
    current_thread = NULL;
}

static void begin_tree(thread_state *thread) {
    tree_free(thread);
    tree_init(thread);
    thread->generation = recording.generation;
    thread->worker = false;
    thread->paused_at = NULL;
    thread->clock_reads = 0;
    thread->start_ns = thread->booked_until_ns = thread->seen_ns = now_ns();
    thread->end_ns = 0;
    thread->start_cpu_ns = thread->seen_cpu_ns = thread_cpu_ns(thread);
    thread->seen_delay_ns = 0;
    thread->exact_allowed = recording.clock != CLOCK_SAMPLED_ONLY;
    __atomic_store_n(&thread->base.attention, thread->exact_allowed ? CYP_EXACT : CYP_QUICK, __ATOMIC_RELEASE);
}

#if defined(__linux__)
/* A descriptor moved to a high number: the program's own files shall get the numbers they always got. */
static int out_of_the_way(int descriptor) {
    int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 200);
    if (high < 0) return descriptor;
    close(descriptor);
    return high;
}
#endif

static thread_state *new_thread(void) {
    thread_state *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->ident = PyThread_get_thread_ident();
    thread->base.attention = CYP_STOPPED;
    thread->schedstat = -1;
#if defined(__linux__)
    thread->tid = syscall(SYS_gettid);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", thread->tid);
    thread->schedstat = out_of_the_way(open(path, O_RDONLY | O_CLOEXEC));
    struct stat file;
    if (thread->schedstat >= 0 && !fstat(thread->schedstat, &file)) thread->schedstat_inode = file.st_ino;
#endif
    tree_init(thread);
    return thread;
}

thread_state *threads_attach(void) {
    thread_state *thread = (thread_state *)current_thread;
    if (!is_recording()) return NULL;
    if (thread && thread->generation == recording.generation)
        return thread->base.attention == CYP_STOPPED ? NULL : thread;
    pthread_mutex_lock(&registry_lock);
    if (!thread) {
        thread = new_thread();
        if (thread) {
            thread->id = ++last_id;
            thread->next = all_threads;
            all_threads = thread;
        }
    }
    if (thread) begin_tree(thread);
    pthread_mutex_unlock(&registry_lock);
    if (thread) {
        current_thread = &thread->base;
        pthread_setspecific(end_of_thread, thread);
    }
    return thread;
}

cyp_thread *threads_current_base(void) {
    thread_state *thread = threads_current();
    return thread ? &thread->base : NULL;
}

void threads_begin(void) { (void)threads_current(); }

void threads_end(void) {
    uint64_t now = now_ns();
    pthread_mutex_lock(&registry_lock);
    for (thread_state *thread = all_threads; thread; thread = thread->next) {
        if (thread->generation != recording.generation || thread->base.attention == CYP_STOPPED) continue;
        thread_lock_booking(thread);
        __atomic_store_n(&thread->base.attention, CYP_STOPPED, __ATOMIC_RELEASE);
        thread_book(thread, now);
        thread_unlock_booking(thread);
        thread->end_ns = now;
        thread->cpu_ns = thread_cpu_ns(thread) - thread->start_cpu_ns;
    }
    pthread_mutex_unlock(&registry_lock);
}

/* Frees what ended threads have left. A running thread's tree stays until the thread begins another or ends: it may be on
   its way through it. */
void threads_forget_ended(void) {
    pthread_mutex_lock(&registry_lock);
    for (thread_state **link = &all_threads; *link;) {
        thread_state *thread = *link;
        if (!thread->ended) {
            link = &thread->next;
            continue;
        }
        *link = thread->next;
        tree_free(thread);
        free(thread);
    }
    pthread_mutex_unlock(&registry_lock);
}

/* Takes the thread's name from the threading module without running any Python code. A thread enters itself there a few
   calls after its start. The GIL is held. */
void thread_find_name(thread_state *thread) {
    if (thread->name[0] || thread->name_tries >= NAME_TRIES) return;
    thread->name_tries++;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(thread->ident);
    PyObject *found = active && ident && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL;
    PyObject *name = found ? PyObject_GetAttrString(found, "_name") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text) snprintf(thread->name, sizeof thread->name, "%s", text);
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(ident);
    Py_XDECREF(active);
}

/* A forked child has no watcher, and its counts are its parent's: it records nothing. */
static void after_fork_in_child(void) {
    recording.active = 0;
    pthread_mutex_init(&registry_lock, NULL);
    for (thread_state *thread = all_threads; thread; thread = thread->next) {
        thread->base.attention = CYP_STOPPED;
        thread->booking = 0;
    }
}

int threads_init(void) {
    if (pthread_key_create(&end_of_thread, end_thread) || pthread_atfork(NULL, NULL, after_fork_in_child)) {
        PyErr_SetString(PyExc_RuntimeError, "no thread-specific data left in this process");
        return -1;
    }
    return 0;
}
