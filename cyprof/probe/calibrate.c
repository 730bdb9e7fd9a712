/* What a probe costs on this machine: the probes of probe.h themselves, in loops with and without. */
#include "runtime.h"

#define CALLS 4000
#define ROUNDS 15

extern const cyp_runtime *runtime_modules_api(void);

static const char *const files[] = {""};
static const cyp_place places[] = {{0, 1}, {0, 2}};
static const cyp_function calibrated = {"", "calibrated", files, 0, 1, CYP_KIND_CDEF, CYP_LANGUAGE_CYTHON, 0, 2, places};

static __attribute__((noinline)) unsigned bare(unsigned x) {
    __asm__ volatile("");
    return x * 3 + 1;
}

static __attribute__((noinline)) unsigned with_call(unsigned x) {
    __attribute__((cleanup(cyp_leave))) cyp_frame frame = {NULL, NULL, NULL};
    cyp_enter(&frame, &calibrated, 0);
    __asm__ volatile("");
    return x * 3 + 1;
}

static __attribute__((noinline)) unsigned with_lines(unsigned x, unsigned rounds) {
    __attribute__((cleanup(cyp_leave))) cyp_frame frame = {NULL, NULL, NULL};
    cyp_enter(&frame, &calibrated, 0);
    for (unsigned i = 0; i < rounds; i++) {
        cyp_at_line(&frame, 1 + (i & 1), 1);
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static __attribute__((noinline)) unsigned without_lines(unsigned x, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static unsigned loop_bare(unsigned x) {
    for (int i = 0; i < CALLS; i++) x = bare(x);
    return x;
}

static unsigned loop_call(unsigned x) {
    for (int i = 0; i < CALLS; i++) x = with_call(x);
    return x;
}

static unsigned loop_lines(unsigned x) { return with_lines(x, CALLS); }
static unsigned loop_without_lines(unsigned x) { return without_lines(x, CALLS); }

static unsigned loop_clock(unsigned x) {
    for (int i = 0; i < CALLS / 16; i++) x += (unsigned)now_ns();
    return x;
}

/* ns per round of `loop`: the least of several tries, since all that disturbs a try makes it longer. */
static double least(unsigned (*loop)(unsigned), double rounds) {
    static volatile unsigned sink;
    double best = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = now_ns();
        sink = loop(sink);
        double each = (double)(now_ns() - start) / rounds;
        if (each < best) best = each;
    }
    return best;
}

double calibrate_clock(void) { return least(loop_clock, CALLS / 16.0); }

/* Fills in the cost of a call's probe and of a line's; a sampled recording is on. */
void calibrate_probes(double *call_ns, double *line_ns) {
    cyp_rt = runtime_modules_api();
    double call = least(loop_call, CALLS) - least(loop_bare, CALLS);
    double line = least(loop_lines, CALLS) - least(loop_without_lines, CALLS);
    *call_ns = call > 0 ? call : 0;
    *line_ns = line > 0 ? line : 0;
}
