/* The recording as bytes: what collect/part.py reads.
 *
 * Written without the GIL and without malloc, while the program runs or while it is dying: a thread may have been stopped
 * anywhere, in the middle of an allocation too. Numbers are int64 in the machine's order, texts a length and bytes:
 *     magic, nodes (NODE_COLUMNS numbers each), lines (LINE_COLUMNS each), functions, files, threads, foot, FOOT_COLUMNS counts
 * A node that is made while this is written is left out. */
#include "runtime.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODE_COLUMNS = 10, LINE_COLUMNS = 5 };
static const char magic[16] = "cyprof-part-1\n\n";

/* ---- memory that grows; from the system, page by page */

static bool grow(void **data, size_t *size, size_t used, size_t wanted) {
    if (wanted <= *size) return true;
    size_t more = *size ? *size : 1 << 16;
    while (more < wanted) more *= 2;
    void *fresh = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return false;
    if (*data) {
        memcpy(fresh, *data, used);
        munmap(*data, *size);
    }
    *data = fresh;
    *size = more;
    return true;
}

static void release(void *data, size_t size) {
    if (data) munmap(data, size);
}

/* Pointers in the order they were first met, and a hash of them. */
typedef struct {
    const void **order;
    size_t order_size, count;
    uint32_t *slots;                /* 0, or 1 + index into order */
    size_t slots_size, slot_count;
} numbers;

static size_t slot_for(const numbers *all, const void *key) {
    size_t mask = all->slot_count - 1;
    size_t slot = (size_t)(((uint64_t)(uintptr_t)key >> 3) * 0x9E3779B97F4A7C15ull >> 32) & mask;
    while (all->slots[slot] && all->order[all->slots[slot] - 1] != key) slot = (slot + 1) & mask;
    return slot;
}

static bool grow_slots(numbers *all) {
    size_t count = all->slot_count ? all->slot_count * 2 : 1 << 12;
    void *fresh = NULL;
    size_t size = 0;
    if (!grow(&fresh, &size, 0, count * sizeof *all->slots)) return false;
    release(all->slots, all->slots_size);
    all->slots = fresh;
    all->slots_size = size;
    all->slot_count = count;
    for (size_t i = 0; i < all->count; i++) all->slots[slot_for(all, all->order[i])] = (uint32_t)i + 1;
    return true;
}

/* The number of a pointer; -1 without memory. */
static long long number_of(numbers *all, const void *key) {
    if (all->count * 2 >= all->slot_count && !grow_slots(all)) return -1;
    size_t slot = slot_for(all, key);
    if (all->slots[slot]) return all->slots[slot] - 1;
    size_t used = all->count * sizeof *all->order;
    if (!grow((void **)&all->order, &all->order_size, used, used + sizeof *all->order)) return -1;
    all->order[all->count++] = key;
    all->slots[slot] = (uint32_t)all->count;
    return (long long)all->count - 1;
}

/* ---- writing */

typedef struct {
    snapshot out;
    bool failed;
    uint64_t now;
    numbers functions, files, threads;
    void *stack;
    size_t stack_size;
    long long node_count, line_count;
} writer;

static void put(writer *to, const void *data, size_t size) {
    if (to->failed || !grow((void **)&to->out.data, &to->out.room, to->out.size, to->out.size + size)) {
        to->failed = true;
        return;
    }
    memcpy(to->out.data + to->out.size, data, size);
    to->out.size += size;
}

static void put_numbers(writer *to, const long long *values, size_t count) { put(to, values, count * sizeof *values); }

static void put_text(writer *to, const char *text) {
    long long length = (long long)strlen(text);
    put_numbers(to, &length, 1);
    put(to, text, (size_t)length);
}

/* The source line of a place in a node's function; a place before the first line is the line of its definition. */
static cyp_place place_of(const cyp_function *function, uint32_t line) {
    if (line && line <= (uint32_t)function->line_count) return function->places[line - 1];
    return (cyp_place){function->file, function->line};
}

/* The number of the node it hangs below in the profile: a worker's hangs beside its owner's. -1 for none. */
static long long parent_number(const cyp_node *node) {
    const cyp_node *above = node->owner ? node->owner->parent : node->parent;
    return above && above->function ? (long long)above->number - 1 : -1;
}

/* What a thread that reads the clock itself has not booked yet. */
static long long unbooked(const writer *to, thread_state *thread, const cyp_node *node) {
    if (CYP_LOAD(thread->base.attention) == CYP_STOPPED || CYP_LOAD(thread->base.node) != node) return 0;
    uint64_t booked_until = CYP_LOAD(thread->booked_until_ns);
    return to->now > booked_until ? (long long)(to->now - booked_until) : 0;
}

static void put_node(writer *to, cyp_node *node, thread_state *thread) {
    const cyp_node *above = node->owner ? node->owner->parent : node->parent;
    long long call_line = above->lines && above->line_mask ? place_of(above->function, node->call_line).line : 0;
    node->number = (uint32_t)++to->node_count;
    const long long values[NODE_COLUMNS] = {
        parent_number(node), number_of(&to->functions, node->function), thread->id, (long long)CYP_LOAD(node->calls),
        (long long)CYP_LOAD(node->exact_calls), (long long)CYP_LOAD(node->resumes), (long long)CYP_LOAD(node->raised),
        (long long)CYP_LOAD(node->self_ns) + unbooked(to, thread, node), (long long)node->wait_ns, call_line};
    if (values[1] < 0) to->failed = true;
    put_numbers(to, values, NODE_COLUMNS);
}

static void put_lines(writer *to, cyp_node *node, thread_state *thread) {
    const cyp_function *function = node->function;
    long long open = unbooked(to, thread, node);
    if (!node->lines || !node->number) return;
    for (int i = 0; i <= function->line_count; i++) {
        long long hits = (long long)CYP_LOAD(node->lines[i].hits);
        long long own = (long long)CYP_LOAD(node->lines[i].self_ns) + (CYP_LOAD(node->line) == (uint32_t)i ? open : 0);
        if (!hits && !own) continue;
        cyp_place place = place_of(function, (uint32_t)i);
        const long long values[LINE_COLUMNS] = {(long long)node->number - 1, number_of(&to->files, function->files[place.file]),
                                                place.line, hits, own};
        if (values[1] < 0) to->failed = true;
        put_numbers(to, values, LINE_COLUMNS);
        to->line_count++;
    }
}

typedef void node_visitor(writer *, cyp_node *, thread_state *);

/* Visits all below the thread's root, parents first, children in the order they were made. Without recursion: call paths may
   be deep. */
static void visit_tree(writer *to, thread_state *thread, node_visitor *visit) {
    size_t used = 0;
    cyp_node *node = &thread->root;
    for (;;) {
        for (cyp_node *child = __atomic_load_n(&node->first_child, __ATOMIC_ACQUIRE); child; child = child->next_sibling) {
            if (!grow(&to->stack, &to->stack_size, used * sizeof node, (used + 1) * sizeof node)) to->failed = true;
            if (to->failed) return;
            ((cyp_node **)to->stack)[used++] = child;
        }
        if (!used) return;
        node = ((cyp_node **)to->stack)[--used];
        visit(to, node, thread);
    }
}

/* The threads of the recording, oldest first; OpenMP workers last: their nodes name nodes of their owners as parents. */
static void list_threads(writer *to) {
    size_t count = 0;
    for (thread_state *t = all_threads; t; t = t->next) count++;
    void *newest_first = NULL;
    size_t size = 0, found = 0;
    if (!grow(&newest_first, &size, 0, (count + 1) * sizeof(thread_state *))) to->failed = true;
    thread_state **list = newest_first;
    for (thread_state *t = all_threads; t && !to->failed && found < count; t = t->next) list[found++] = t;
    for (int workers = 0; workers < 2; workers++)
        for (size_t i = found; i-- > 0;)
            if (list[i]->generation == recording.generation && CYP_LOAD(list[i]->worker) == (workers == 1))
                if (number_of(&to->threads, list[i]) < 0) to->failed = true;
    release(newest_first, size);
}

static void visit_all(writer *to, node_visitor *visit) {
    for (size_t i = 0; i < to->threads.count && !to->failed; i++) {
        thread_state *thread = (thread_state *)(uintptr_t)to->threads.order[i];
        visit_tree(to, thread, visit);
    }
}

static void put_functions(writer *to) {
    for (size_t i = 0; i < to->functions.count; i++) {
        const cyp_function *function = to->functions.order[i];
        const long long values[] = {function->line, function->kind, (function->flags & CYP_NOGIL) != 0, function->language};
        put_text(to, function->module);
        put_text(to, function->name);
        put_text(to, function->language == CYP_LANGUAGE_C ? "" : function->files[function->file]);
        put_numbers(to, values, sizeof values / sizeof *values);
    }
}

static void put_threads(writer *to) {
    for (size_t i = 0; i < to->threads.count; i++) {
        thread_state *thread = (thread_state *)(uintptr_t)to->threads.order[i];
        char name[sizeof thread->name + 32];
        thread_shown_name(thread, name, sizeof name);
        bool over = thread->end_ns != 0;
        uint64_t end = over ? thread->end_ns : to->now > thread->start_ns ? to->now : thread->start_ns;
        uint64_t cpu = over ? thread->cpu_ns : thread_cpu_ns(thread) - thread->start_cpu_ns;
        const long long values[] = {thread->id, (long long)cpu, (long long)(end - thread->start_ns), thread->merged};
        put_text(to, name);
        put_numbers(to, values, sizeof values / sizeof *values);
    }
}

static void put_foot(writer *to, uint64_t end_ns, int state) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    uint64_t cpu_ns = (uint64_t)cpu.tv_sec * BILLION + (uint64_t)cpu.tv_nsec;
    const long long values[] = {
        to->node_count, to->line_count, (long long)to->functions.count, (long long)to->files.count,
        (long long)to->threads.count, (long long)(end_ns - recording.start_ns), (long long)(cpu_ns - recording.start_cpu_ns),
        (long long)recording.samples, process.pid, process.parent, (long long)process.started_ns, process.forked, state,
        (long long)CYP_LOAD(recording.python_lost_ns), CYP_LOAD(recording.stack_switched), CYP_LOAD(recording.lines_lost),
        CYP_LOAD(recording.memory_lost), CYP_LOAD(recording.paths_shared), (long long)frames_unseen()};
    put_text(to, process.name);
    put_numbers(to, values, sizeof values / sizeof *values);
}

/* The recording as it is now; its memory goes back by snapshot_release. `state` tells how the process ended, as in
   runtime.h. False without memory. The caller holds registry_lock. */
bool snapshot_take(snapshot *taken, uint64_t end_ns, int state) {
    writer to = {.now = end_ns};
    put(&to, magic, sizeof magic);
    list_threads(&to);
    visit_all(&to, put_node);
    visit_all(&to, put_lines);
    put_functions(&to);
    for (size_t i = 0; i < to.files.count; i++) put_text(&to, to.files.order[i]);
    put_threads(&to);
    put_foot(&to, end_ns, state);
    release(to.stack, to.stack_size);
    numbers *all[] = {&to.functions, &to.files, &to.threads};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        release(all[i]->order, all[i]->order_size);
        release(all[i]->slots, all[i]->slots_size);
    }
    *taken = to.out;
    if (to.failed) snapshot_release(taken);
    return !to.failed;
}

void snapshot_release(snapshot *taken) {
    release(taken->data, taken->room);
    *taken = (snapshot){0};
}
