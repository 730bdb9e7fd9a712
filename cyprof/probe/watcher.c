/* The watcher: a C thread that wakes about 1,000 times a second and books the time since it last looked on what each thread
 * is doing now. No signals, nothing to interrupt a system call, no GIL. */
#include "runtime.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INTERVAL_NS 1000000     /* on average; each wait is between half of it and one and a half */
#define LEAST_WAIT_PART 32      /* a thread that ran all but one part in so many is not asked what it waited for */

static pthread_t watcher;
static bool running;
static int asked_to_stop;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_over;

/* Time the thread has spent ready to run but without a processor, in ns (Documentation/scheduler/sched-stats.rst). */
static uint64_t run_queue_delay(const thread_state *thread) {
    char text[96];
    unsigned long long running_ns, delay_ns;
    if (!thread_owns_schedstat(thread)) return 0;
    ssize_t length = pread(thread->schedstat, text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = 0;
    return sscanf(text, "%llu %llu", &running_ns, &delay_ns) == 2 ? delay_ns : 0;
}

/* Books the part of the time since the last look that the thread neither ran nor stood in the queue for a processor. How long
   it stood there the kernel says only when the thread runs again, so what was booked since then is taken back as far as it
   turns out to have been queueing. */
static void book_waiting(thread_state *thread, uint64_t now) {
    uint64_t cpu = thread_cpu_ns(thread);
    if (!cpu) return;
    uint64_t elapsed = now - thread->seen_ns, ran = cpu - thread->seen_cpu_ns;
    uint64_t off = ran + elapsed / LEAST_WAIT_PART < elapsed ? elapsed - ran : 0;
    thread->seen_ns = now;
    thread->seen_cpu_ns = cpu;
    if (!off && !thread->waits_ns) return;
    uint64_t delay = run_queue_delay(thread);
    uint64_t queued = thread->seen_delay_ns && delay > thread->seen_delay_ns ? delay - thread->seen_delay_ns : 0;
    thread->seen_delay_ns = delay;
    uint64_t taken_back = queued < thread->waits_ns ? queued : thread->waits_ns;
    uint64_t waited = off > queued - taken_back ? off - (queued - taken_back) : 0;
    if (taken_back) thread->waits_at->wait_ns -= taken_back;
    cyp_node *node = thread_node(thread);
    node->wait_ns += waited;
    /* What the queueing that is not known yet can be of: all since the thread last ran. */
    thread->waits_ns = waited + (queued || node != thread->waits_at ? 0 : thread->waits_ns);
    thread->waits_at = node;
}

static void look_at(thread_state *thread) {
    if (thread->ended || thread->generation != recording.generation) return;
    thread_lock_booking(thread);
    int attention = __atomic_load_n(&thread->base.attention, __ATOMIC_ACQUIRE);
    if (attention != CYP_STOPPED) {
        uint64_t now = now_ns();
        book_waiting(thread, now);
        if (attention == CYP_QUICK) {
            thread_book(thread, now);
            recording.samples++;
        }
    }
    thread_unlock_booking(thread);
}

/* Sleeps for a random time, so that the looks cannot beat with a rhythm of the program; less when asked to stop. */
static void sleep_a_little(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += INTERVAL_NS / 2 + (long)(*random % INTERVAL_NS);
    until.tv_sec += until.tv_nsec / BILLION;
    until.tv_nsec %= BILLION;
    pthread_mutex_lock(&sleep_lock);
    if (!asked_to_stop) pthread_cond_timedwait(&sleep_over, &sleep_lock, &until);
    pthread_mutex_unlock(&sleep_lock);
}

static void *watch(void *unused) {
    (void)unused;
    uint64_t random = now_ns() | 1;
    while (!__atomic_load_n(&asked_to_stop, __ATOMIC_ACQUIRE)) {
        sleep_a_little(&random);
        pthread_mutex_lock(&registry_lock);
        for (thread_state *thread = all_threads; thread; thread = thread->next) look_at(thread);
        pthread_mutex_unlock(&registry_lock);
        deaths_answer();
        process_checkpoint_when_due();
    }
    return NULL;
}

/* 0, or -1 when the system gives no thread. Needs no GIL. */
int watcher_start(void) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
#if !defined(__APPLE__)
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&sleep_over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    asked_to_stop = 0;
    /* The program's signals are none of the watcher's business. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watcher, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    running = !failed;
    return failed ? -1 : 0;
}

bool watcher_runs(void) { return running; }

/* In a forked child there is no watcher any more. */
void watcher_gone(void) {
    running = false;
    pthread_mutex_init(&sleep_lock, NULL);
}

void watcher_stop(void) {
    if (!running) return;
    pthread_mutex_lock(&sleep_lock);
    __atomic_store_n(&asked_to_stop, 1, __ATOMIC_RELEASE);
    pthread_cond_signal(&sleep_over);
    pthread_mutex_unlock(&sleep_lock);
    Py_BEGIN_ALLOW_THREADS
    pthread_join(watcher, NULL);
    Py_END_ALLOW_THREADS
    pthread_cond_destroy(&sleep_over);
    running = false;
}
