/* The states of the threads: made on a thread's first event, kept until it ends and the recording is written down. */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#define KEPT_APART 200      /* so many ended threads keep a tree of their own; later ones share one for each kind of name, */
#define MOST_KINDS 64       /* and beyond so many kinds, one for all */

recording_state recording;
pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
thread_state *all_threads;
static unsigned last_serial;
static int last_id, ended_apart, kinds;
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

/* A signal that ends the process waits until the lock is free: its handler waits for the watcher, which takes it. */
void registry_enter(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    pthread_mutex_lock(&registry_lock);
}

void registry_leave(const sigset_t *before) {
    pthread_mutex_unlock(&registry_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void thread_lock_booking(thread_state *thread) {
    while (__atomic_exchange_n(&thread->booking, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

void thread_unlock_booking(thread_state *thread) { __atomic_store_n(&thread->booking, 0, __ATOMIC_RELEASE); }

/* Books the time since the last booking on the current node and line. The caller is the one whose turn it is (see
   thread_state.booking). */
void thread_book(thread_state *thread, uint64_t now) {
    cyp_node *node = thread_node(thread);
    uint64_t elapsed = now > thread->booked_until_ns ? now - thread->booked_until_ns : 0;
    CYP_STORE(thread->booked_until_ns, now);
    CYP_ADD(node->self_ns, elapsed);
    if (node->lines) CYP_ADD(node->lines[CYP_LOAD(node->line)].self_ns, elapsed);
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

static void enlist(thread_state *thread) {
    thread->id = ++last_id;
    thread->next = all_threads;
    all_threads = thread;
}

/* The name with its numbers left out: what threads that do the same work have in common. */
static void kind_of_name(const thread_state *thread, char *kind, size_t size) {
    char name[sizeof thread->name + 32];
    thread_shown_name(thread, name, sizeof name);
    size_t used = 0;
    for (const char *from = name; *from && used + 2 < size; from++) {
        bool digit = *from >= '0' && *from <= '9';
        if (!digit) kind[used++] = *from;
        else if (from == name || from[-1] < '0' || from[-1] > '9') kind[used++] = '*';
    }
    kind[used] = 0;
}

/* The shared state of ended threads of a kind; NULL without memory. */
static thread_state *shared_state(const char *kind) {
    if (kinds >= MOST_KINDS) kind = "other ended threads";
    for (thread_state *each = all_threads; each; each = each->next)
        if (each->merged && each->generation == recording.generation && !strcmp(each->name, kind)) return each;
    thread_state *shared = calloc(1, sizeof *shared);
    if (!shared) return NULL;
    snprintf(shared->name, sizeof shared->name, "%s", kind);
    shared->base.attention = CYP_STOPPED;
    shared->schedstat = -1;
    shared->generation = recording.generation;
    shared->ended = true;
    tree_init(shared);
    enlist(shared);
    kinds++;
    return shared;
}

static void forget(thread_state *thread) {
    for (thread_state **link = &all_threads; *link; link = &(*link)->next)
        if (*link == thread) {
            *link = thread->next;
            break;
        }
    tree_free(thread);
    free(thread);
}

/* Keeps the memory of a program with very many short threads bounded: what one of them did is added to the tree that ended
   threads of its kind share. Not where an OpenMP worker's nodes name nodes of this thread. registry_lock is held. */
static void merge_ended(thread_state *thread) {
    char kind[sizeof thread->name];
    if (thread->worker || thread->has_workers || ++ended_apart <= KEPT_APART) return;
    kind_of_name(thread, kind, sizeof kind);
    thread_state *shared = shared_state(kind);
    if (!shared) return;
    tree_merge(shared, thread);
    shared->cpu_ns += thread->cpu_ns;
    shared->end_ns += thread->end_ns - thread->start_ns;
    shared->merged++;
    forget(thread);
}

static void end_thread(void *state) {
    thread_state *thread = state;
    sigset_t signals;
    registry_enter(&signals);
    if (is_recording() && thread->generation == recording.generation && thread->base.attention != CYP_STOPPED) {
        thread_lock_booking(thread);
        thread_book(thread, now_ns());
        CYP_STORE(thread->base.attention, CYP_STOPPED);
        thread_unlock_booking(thread);
        thread->end_ns = thread->booked_until_ns;
        thread->cpu_ns = thread_cpu_ns(thread) - thread->start_cpu_ns;
    }
    thread->ended = true;
    if (!thread->worker) thread_read_native_name(thread, thread->native_name);
    if (thread_owns_schedstat(thread)) close(thread->schedstat);
    thread->schedstat = -1;
    current_thread = NULL;
    if (is_recording() && thread->generation == recording.generation) merge_ended(thread);
    registry_leave(&signals);
}

/* A descriptor moved to a high number: the program's own files shall get the numbers they always got. */
int descriptor_out_of_the_way(int descriptor) {
    int high = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 200);
    if (high < 0) return descriptor;
    close(descriptor);
    return high;
}

static void identify(thread_state *thread) {
    thread->ident = PyThread_get_thread_ident();
    thread->schedstat = -1;
#if defined(__linux__)
    thread->tid = syscall(SYS_gettid);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", thread->tid);
    thread->schedstat = descriptor_out_of_the_way(open(path, O_RDONLY | O_CLOEXEC));
    struct stat file;
    if (thread->schedstat >= 0 && !fstat(thread->schedstat, &file)) thread->schedstat_inode = file.st_ino;
#endif
}

static void begin_counting(thread_state *thread) {
    thread->worker = thread->has_workers = false;
    thread->clock_reads = 0;
    thread->start_ns = thread->booked_until_ns = thread->seen_ns = now_ns();
    thread->end_ns = 0;
    thread->start_cpu_ns = thread->seen_cpu_ns = thread_cpu_ns(thread);
    thread->seen_delay_ns = thread->waits_ns = 0;
    thread->waits_at = NULL;
    thread->exact_allowed = recording.clock != CLOCK_SAMPLED_ONLY;
    bool exact = thread->exact_allowed && !thread->paused_at;
    __atomic_store_n(&thread->base.attention, exact ? CYP_EXACT : CYP_QUICK, __ATOMIC_RELEASE);
}

static void begin_tree(thread_state *thread) {
    tree_free(thread);
    tree_init(thread);
    thread->generation = recording.generation;
    thread->paused_at = NULL;
    thread->greenlets_joined = false;
    thread->news_seen = 0;
    begin_counting(thread);
}

/* In a forked child: the other threads are gone, and the one that is left keeps its stack, with nothing counted on it. */
void threads_begin_fork(void) {
    thread_state *left = (thread_state *)current_thread;
    while (all_threads) {
        thread_state *thread = all_threads;
        all_threads = thread->next;
        if (thread_owns_schedstat(thread)) close(thread->schedstat);
        if (thread != left) {
            tree_free(thread);
            free(thread);
        }
    }
    last_id = ended_apart = kinds = 0;
    recording_restart();
    if (!left) return;
    enlist(left);
    identify(left);
    left->name[0] = 0;
    left->name_tries = left->news_seen = 0;
    if (left->generation != recording.generation) return;
    tree_forget_counts(left);
    begin_counting(left);
}

static thread_state *new_thread(void) {
    thread_state *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->base.attention = CYP_STOPPED;
    thread->serial = ++last_serial;
    identify(thread);
    tree_init(thread);
    return thread;
}

thread_state *threads_attach(void) {
    thread_state *thread = (thread_state *)current_thread;
    if (!is_recording()) return NULL;
    if (CYP_UNLIKELY(process_fork_pending())) {
        process_begin_fork();
        if (!is_recording()) return NULL;
    }
    if (thread && thread->generation == recording.generation)
        return thread->base.attention == CYP_STOPPED ? NULL : thread;
    sigset_t signals;
    registry_enter(&signals);
    if (!thread) {
        thread = new_thread();
        if (thread) enlist(thread);
    }
    if (thread) begin_tree(thread);
    registry_leave(&signals);
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
    ended_apart = kinds = 0;
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

int threads_init(void) {
    if (pthread_key_create(&end_of_thread, end_thread) || process_init()) {
        PyErr_SetString(PyExc_RuntimeError, "no thread-specific data left in this process");
        return -1;
    }
    return 0;
}
