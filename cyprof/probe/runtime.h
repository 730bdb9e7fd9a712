/* What the files of the runtime share. The runtime owns the threads' states, the watcher and the hooks on Python frames. */
#ifndef CYP_RUNTIME_H
#define CYP_RUNTIME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "probe.h"

#define BILLION 1000000000LL

/* A block of memory that nodes and counters are cut from; freed as a whole. */
typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    char data[];
} chunk;

#define THREAD_NATIVE_NAME 16   /* of Linux: prctl(2), PR_SET_NAME */
/* A call of a Python or C function under way whose node is not below its caller's: one that shares its node with other paths, or
   that got none (`node` is the caller's then). */
typedef struct {
    const cyp_function *function;
    cyp_node *node, *caller;
} aside;

/* The state of one OS thread. `base` comes first: a probe's cyp_thread is this. */
typedef struct thread_state {
    cyp_thread base;
    /* Written once when the thread is first seen. */
    struct thread_state *next;      /* list of all states; under registry_lock */
    int id;
    unsigned long ident;            /* as Python's threading.get_ident() */
    long tid;                       /* of the kernel */
    unsigned serial;                /* of no other thread of this process, nor of those it was forked from */
    bool worker;                    /* an OpenMP worker */
    bool has_workers;               /* nodes of OpenMP workers name nodes of its tree */
    int merged;                     /* how many ended threads share this state */
    /* Owner: the thread. */
    unsigned generation;            /* the recording its tree belongs to */
    chunk *memory;
    uint64_t node_count;
    aside *asides;                  /* the innermost last */
    size_t aside_count, aside_room;
    cyp_node root;
    uint64_t clock_reads;
    const cyp_node *paused_at;      /* exact timing is off until this node is left: the import system */
    bool exact_allowed;
    bool muted;                     /* Python events are of cyprof's own work: see threads_mute() */
    Py_tracefunc next_profile;      /* the program's own profiler, to which events are handed on: on 3.11 all, later the first */
    uint64_t next_profile_state;    /* the number of the Python thread state that it belongs to, on 3.11 */
    bool skips_return;              /* of Python 3.11: the next return of a C function is not handed on */
    int name_tries;
    unsigned news_seen;             /* thread_news when it last took notice of them */
    bool greenlets_joined;          /* its switches of greenlets are reported, or cannot be */
    char name[128];                 /* changed under registry_lock */
    char native_name[THREAD_NATIVE_NAME];   /* as the system has it; taken when the thread ends */
    /* Under booking: who books time on the current node (the owner while it reads the clock, else the watcher). */
    int booking;
    uint64_t booked_until_ns;
    uint64_t start_ns, end_ns;
    /* Owner: the watcher; read by the owner when it ends, under registry_lock. */
    uint64_t seen_ns, seen_cpu_ns, seen_delay_ns;
    cyp_node *waits_at;             /* where the thread was last seen waiting, */
    uint64_t waits_ns;              /* and what was booked there since it last got a processor */
    int schedstat;                  /* descriptor, -1 when not open */
    ino_t schedstat_inode;          /* of the file it is of: the program may have closed it and opened another */
    uint64_t start_cpu_ns, cpu_ns;
    bool ended;
} thread_state;

/* The recording in progress. Written under the GIL by start() and stop(). */
typedef struct {
    int active;                     /* atomic: read by every thread */
    unsigned generation;
    bool lines;
    int clock;                      /* one of CLOCK_* below */
    uint64_t most_nodes;            /* of the process; a function called along a further path shares one node for all such */
    uint64_t start_ns, start_cpu_ns;
    double clock_cost_ns;           /* of one clock read */
    uint64_t samples;               /* owner: the watcher */
    PyObject *wants_lines;          /* callable or NULL */
    uint64_t python_lost_ns;        /* time in which Python frames could not be seen */
    bool lines_lost;                /* a tracer of the program's own has or took the place of ours (3.11); under the GIL */
    bool stack_switched;            /* a function was left that was not the current one */
    int memory_lost;                /* atomic, set by any thread: a call was not recorded for want of memory */
    uint64_t worker_entries;        /* atomic, counted by any thread: how often one joined a team of OpenMP's */
    int paths_shared;               /* atomic, set by any thread: there were too many call paths to keep each apart */
} recording_state;

enum { CLOCK_AUTO, CLOCK_EXACT_ONLY, CLOCK_SAMPLED_ONLY };

extern recording_state recording;
extern pthread_mutex_t registry_lock;
extern thread_state *all_threads;

static inline uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * BILLION + (uint64_t)t.tv_nsec;
}

/* ThreadSanitizer does not see what modules do, which are built without it: it is told that a node was complete before a module
   published it, and that who finds it as a thread's current one knows that. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define NODE_COMPLETE(node) __tsan_release(node)
#define NODE_FOUND(node) __tsan_acquire(node)
#else
#define NODE_COMPLETE(node) ((void)(node))
#define NODE_FOUND(node) ((void)(node))
#endif

/* The current node of a thread, for others than its owner. */
static inline cyp_node *thread_node(const thread_state *thread) {
    cyp_node *node = __atomic_load_n(&thread->base.node, __ATOMIC_ACQUIRE);
    NODE_FOUND(node);
    return node;
}

static inline bool is_recording(void) { return __atomic_load_n(&recording.active, __ATOMIC_ACQUIRE); }

/* tree.c */
void tree_init(thread_state *thread);
void tree_free(thread_state *thread);
cyp_node *tree_find_child(cyp_thread *thread, cyp_node *parent, const cyp_function *function);      /* NULL without memory */
cyp_node *tree_enter(thread_state *thread, const cyp_function *function, bool resumed);     /* NULL without memory */
void tree_put_aside(thread_state *thread, const cyp_function *function, cyp_node *node, cyp_node *caller);
cyp_node *tree_innermost(thread_state *thread, const cyp_function *function, cyp_node **caller);
void tree_leave(thread_state *thread, cyp_node *node, cyp_node *parent);
void tree_switch(thread_state *thread, cyp_node *to);
void tree_forget_counts(thread_state *thread);
void tree_merge(thread_state *into, thread_state *ended);
cyp_frame tree_enter_slow(const cyp_function *function, int resumed);
void tree_leave_slow(cyp_frame frame);
void tree_line_slow(cyp_frame frame, unsigned line, int count);
cyp_frame tree_enter_worker(cyp_frame owner, const cyp_function *function);

/* threads.c */
/* The one thread-local slot of all probes (see cyp_known_thread in probe.h). Initial-exec, so that its distance from the
   thread pointer is the same in every thread. */
extern __thread cyp_thread *current_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

thread_state *threads_attach(void);     /* creates the thread's state; NULL when nothing is recorded */

/* The state of the calling thread; NULL when nothing is recorded. */
static inline thread_state *threads_current(void) {
    thread_state *thread = (thread_state *)current_thread;
    if (thread && thread->generation == recording.generation && CYP_LIKELY(CYP_LOAD(thread->base.attention) != CYP_STOPPED))
        return thread;
    return threads_attach();
}
cyp_thread *threads_current_base(void);
ptrdiff_t threads_offset(void);
int threads_init(void);
void registry_enter(sigset_t *before);
void registry_leave(const sigset_t *before);
void threads_begin(void);               /* a recording begins: sets up the calling thread */
void threads_end(void);                 /* it ends: every thread stops counting, its time booked */
void threads_begin_fork(void);
void threads_forget_ended(void);
int descriptor_out_of_the_way(int descriptor);
void thread_book(thread_state *thread, uint64_t now);
void thread_lock_booking(thread_state *thread);
void thread_unlock_booking(thread_state *thread);
bool thread_owns_schedstat(const thread_state *thread);
uint64_t thread_cpu_ns(const thread_state *thread);

/* Says whether what this thread does from now on is cyprof's own work, and returns what held before. */
static inline bool threads_mute(bool muted) {
    thread_state *thread = (thread_state *)current_thread;
    bool before = thread && thread->muted;
    if (thread) thread->muted = muted;
    return before;
}

/* Whether the events of this thread are a program's. */
static inline bool threads_listening(void) {
    const thread_state *thread = (const thread_state *)current_thread;
    return is_recording() && !(thread && thread->muted);
}

/* thread_names.c */
/* Changes whenever a thread may have got another name in Python, or the program begins to use greenlets. Under the GIL; 1 at
   first. */
extern unsigned thread_news;
void thread_take_notice(thread_state *thread);
void thread_read_native_name(const thread_state *thread, char *name);
void thread_shown_name(const thread_state *thread, char *name, size_t size);

/* greenlets.c */
int greenlets_init(PyObject *module);
void greenlets_begin(void);
void greenlets_end(void);
bool greenlets_join(thread_state *thread);
PyObject *greenlets_expect(PyObject *self, PyObject *unused);
PyObject *greenlets_switched(PyObject *self, PyObject *args);

/* watcher.c */
int watcher_start(void);
void watcher_stop(void);
bool watcher_runs(void);
void watcher_gone(void);

/* process.c */
/* How a process ended; else the number of the signal it was ended by. */
enum { ENDED_UNKNOWN = 0, ENDED_WHOLE = -1, ENDED_BY_EXIT = -2 };

typedef struct {
    long long pid, parent;
    uint64_t started_ns;            /* since the epoch */
    bool forked;
    unsigned name_looks;            /* how often its name was looked for, plus one; 0: no more */
    char name[128];
} process_state;
extern process_state process;

int process_init(void);
bool process_set_folder(const char *path, bool children);
bool process_keeps_parts(void);
void process_set_name(const char *name);
void process_change_name(const char *name);
void process_begin(bool forked);
bool process_checkpoint(int state);
void process_checkpoint_when_due(void);
bool process_fork_pending(void);
void process_begin_fork(void);
void process_look_for_name(void);
PyObject *process_adapted(PyObject *self, PyObject *args);
extern const char process_adapted_doc[];

/* deaths.c */
void deaths_begin(void);
void deaths_answer(void);
void deaths_end(void);

/* callables.c */
int callables_init(void);
const cyp_function *callables_function(PyObject *callable, PyObject *self);
void callables_attach_module(const void *address);

/* A stretch of bytecode, in bytes. */
typedef struct { int start, end; } code_range;

/* A loop on one line: where its rounds begin, and the end of its last jump back there. On 3.11, a `while`: where its test behind
   the rounds begins, and two bytes more. */
typedef struct {
    int start, end, line;
    bool expression;                /* while they are looked for: of a comprehension */
    bool tests_below;               /* a `while` that is left by a branch behind its rounds */
} code_loop;

/* What functions_new() makes: the description of a Python function or C callable. `base` comes first. */
typedef struct {
    cyp_function base;
    code_range *silent;             /* where a line event is no hit */
    int silent_count;
    code_loop *loops;               /* on one line each */
    int loop_count;
} python_function;

/* code_lines.c */
int code_lines_add(python_function *function, PyCodeObject *code);
bool code_lines_count(const cyp_function *function, PyFrameObject *frame);

/* code_loops.c */
void code_loops_add(python_function *function, const unsigned char *code, code_range range, int line);
const code_loop *code_loops_at(const python_function *function, int offset);

/* functions.c */
int functions_init(void);
int functions_hide(PyObject *prefix);
const cyp_function *functions_known(PyCodeObject *code);
const cyp_function *functions_of_code(PyCodeObject *code, PyObject *globals);
void functions_free(cyp_function *function);
bool functions_forgive_memory(void);
cyp_function *functions_new(const char *module, const char *name, const char *file, int line, int kind, int language);

/* frames_monitoring.c and frames_profile.c: the Python frames, by what this Python offers. */
int frames_init(PyObject *module);
int frames_begin(void);
void frames_end(void);
void frames_enter(const cyp_function *function, bool resumed);
void frames_leave(const cyp_function *function, bool raised);
void frames_line(const cyp_function *function, PyFrameObject *frame, int line);
int frames_enter_running(void);
int frames_prepare_setprofile(PyCFunction function);
int frames_replace_setprofile(void);
void frames_restore_setprofile(void);
bool frames_is_setprofile(const PyObject *callable);
PyObject *frames_call_setprofile(PyObject *profiler);
const cyp_function *frames_called_from_cython(PyObject *callable, PyObject *self);
void frames_restart(void);              /* what is counted here begins anew */
uint64_t frames_unseen(void);
int frames_ask_for_lines(const cyp_function *function, PyObject *code);

/* calibrate.c */
enum { CALIBRATED_LOOPS = 4 };          /* of Python: an empty one, calls of Python, calls of C, lines */
double calibrate_clock(void);
void calibrate_probes(double *call_ns, double *line_ns);
PyObject *calibrate_namespace(void);
int calibrate_python(PyObject *namespace, double *each);

/* runtime.c */
const cyp_runtime *runtime_modules_api(void);
void recording_restart(void);

/* snapshot.c */
typedef struct {
    char *data;
    size_t size, room;
} snapshot;
bool snapshot_take(snapshot *taken, uint64_t end_ns, int state);
void snapshot_release(snapshot *taken);

#endif /* CYP_RUNTIME_H */
