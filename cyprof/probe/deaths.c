/* Signals that end the process: the watcher writes a last part before they do.
 *
 * Only signals that nobody handles are taken, and those of crashes, whose handler (Python's faulthandler, say) follows. The
 * handler holds its thread still and leaves the work to the watcher, which needs neither the GIL nor malloc. Then the signal
 * does what it would have done. */
#include "runtime.h"

#include <errno.h>
#include <unistd.h>

#define PATIENCE_MS 2000

static const int deadly[] = {SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGXCPU,
                             SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT};
enum { DEADLY = sizeof deadly / sizeof *deadly };
static struct sigaction before[DEADLY];
static bool taken[DEADLY];
static int asked, answered;     /* the signal the watcher is to write a last part for; whether it has */

static bool is_crash(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT;
}

static void on_death(int number, siginfo_t *about, void *context) {
    (void)context;
    int error = errno;
    if (process.pid == getpid() && !process_fork_pending()) {
        __atomic_store_n(&asked, number, __ATOMIC_RELEASE);
        for (int i = 0; i < PATIENCE_MS && !__atomic_load_n(&answered, __ATOMIC_ACQUIRE); i++) usleep(1000);
    }
    for (int i = 0; i < DEADLY; i++)
        if (deadly[i] == number) sigaction(number, &before[i], NULL);
    /* A fault comes again when its instruction does; everything else is sent again, and waits for this handler's end. */
    bool fault = about->si_code > 0 && is_crash(number) && number != SIGABRT;
    if (!fault) raise(number);
    errno = error;
}

/* The watcher's: writes the last part when somebody waits for it. */
void deaths_answer(void) {
    int number = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
    if (!number || __atomic_load_n(&answered, __ATOMIC_ACQUIRE)) return;
    process_checkpoint(number);
    __atomic_store_n(&answered, 1, __ATOMIC_RELEASE);
}

void deaths_begin(void) {
    struct sigaction ours = {.sa_sigaction = on_death, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&ours.sa_mask);
    __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&answered, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < DEADLY; i++) {
        struct sigaction now;
        if (taken[i] || sigaction(deadly[i], NULL, &now)) continue;
        bool by_default = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
        bool ignored = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN;
        if (ignored || !(by_default || is_crash(deadly[i]))) continue;
        taken[i] = !sigaction(deadly[i], &ours, &before[i]);
    }
}

/* The recording is over and written: who waits goes on, and the signals that are still ours are given back. */
void deaths_end(void) {
    __atomic_store_n(&answered, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < DEADLY; i++) {
        struct sigaction now;
        if (taken[i] && !sigaction(deadly[i], NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_death)
            sigaction(deadly[i], &before[i], NULL);
        taken[i] = false;
    }
}
