/* The calling-context tree of a thread: making nodes, finding them, and the events that the quick path of a probe leaves
 * to us (a first call, exact timing, a stack that changed unseen). Runs on the owning thread, with or without the GIL. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256 * 1024)
#define FIRST_CHUNK_BYTES (8 * 1024)    /* most threads are short */
#define INDEX_FROM 8        /* so many children make a hash index worth its memory */
#define FOLD_DEPTH 4096     /* deeper recursion shares the nodes of the recursion above it */
#define FOLD_SEARCH 64
#define FIRST_ASIDES 64
#define BUDGET_NS 50000000.0    /* what exact timing may cost a run, or BUDGET_SHARE of it */
#define BUDGET_SHARE 0.02
#define BUDGET_CHECK 256        /* look at the budget once in so many clock reads */

static uint64_t node_count;     /* atomic: of all threads */
static cyp_node no_child;       /* what last_child points to before there is one; never matches */

static void *tree_alloc(thread_state *thread, size_t size) {
    size = (size + 15) & ~(size_t)15;
    chunk *memory = thread->memory;
    if (!memory || memory->size - memory->used < size) {
        size_t usual = memory ? CHUNK_BYTES : FIRST_CHUNK_BYTES;
        size_t room = size > usual ? size : usual;
        memory = calloc(1, sizeof(chunk) + room);
        if (!memory) {
            CYP_STORE(recording.memory_lost, 1);
            return NULL;
        }
        memory->size = room;
        memory->next = thread->memory;
        thread->memory = memory;
    }
    void *found = memory->data + memory->used;
    memory->used += size;
    return found;
}

void tree_init(thread_state *thread) {
    memset(&thread->root, 0, sizeof thread->root);
    thread->root.last_child = &no_child;
    CYP_PUBLISH(thread->base.node, &thread->root);
}

void tree_free(thread_state *thread) {
    for (chunk *memory = thread->memory; memory;) {
        chunk *next = memory->next;
        free(memory);
        memory = next;
    }
    thread->memory = NULL;
    free(thread->asides);
    thread->asides = NULL;
    thread->aside_count = thread->aside_room = 0;
    __atomic_fetch_sub(&node_count, thread->node_count, __ATOMIC_RELAXED);
    thread->node_count = 0;
}

/* The node after `node` when all below `root` are visited, parents first; NULL after the last. */
static cyp_node *next_node(cyp_node *node, const cyp_node *root) {
    if (node->first_child) return node->first_child;
    while (node != root && !node->next_sibling) node = node->parent;
    return node == root ? NULL : node->next_sibling;
}

/* Sets all that was counted and timed to zero; the nodes stay, for calls that are still on their way. */
void tree_forget_counts(thread_state *thread) {
    for (cyp_node *node = &thread->root; node; node = next_node(node, &thread->root)) {
        node->calls = node->exact_calls = node->resumes = node->raised = node->self_ns = node->wait_ns = 0;
        if (node->lines) memset(node->lines, 0, ((size_t)node->function->line_count + 1) * sizeof *node->lines);
    }
}

static void add_counts(cyp_node *to, const cyp_node *from) {
    to->calls += from->calls;
    to->exact_calls += from->exact_calls;
    to->resumes += from->resumes;
    to->raised += from->raised;
    to->self_ns += from->self_ns;
    to->wait_ns += from->wait_ns;
    for (int i = 0; from->lines && to->lines && i <= from->function->line_count; i++) {
        to->lines[i].hits += from->lines[i].hits;
        to->lines[i].self_ns += from->lines[i].self_ns;
    }
}

/* Adds the tree of a thread that has ended to another's; what is left of it can only be freed. A node's last child, no guess
   any more, names the node it went into. */
void tree_merge(thread_state *into, thread_state *ended) {
    ended->root.last_child = &into->root;
    for (cyp_node *node = next_node(&ended->root, &ended->root); node; node = next_node(node, &ended->root)) {
        cyp_node *parent = node->parent->last_child;
        parent->line = node->call_line;
        cyp_node *same = tree_find_child(&into->base, parent, node->function);
        if (same) add_counts(same, node);
        node->last_child = same ? same : parent;
    }
}

static uint32_t child_hash(const cyp_function *function, uint32_t line) {
    uint64_t mixed = ((uint64_t)(uintptr_t)function >> 4) * 0x9E3779B97F4A7C15ull + line * 0x85EBCA6Bull;
    return (uint32_t)(mixed >> 32);
}

static void index_child(cyp_node *parent, cyp_node *child) {
    uint32_t mask = parent->child_index_size - 1;
    uint32_t slot = child_hash(child->function, child->call_line) & mask;
    while (parent->child_index[slot]) slot = (slot + 1) & mask;
    parent->child_index[slot] = child;
}

/* Keeps the index at most half full. Without memory for it the children stay a list. */
static void grow_index(thread_state *thread, cyp_node *parent) {
    uint32_t size = parent->child_index_size ? parent->child_index_size * 2 : INDEX_FROM * 4;
    cyp_node **index = tree_alloc(thread, size * sizeof *index);
    if (!index) return;
    memset(index, 0, size * sizeof *index);
    parent->child_index = index;
    parent->child_index_size = size;
    for (cyp_node *child = parent->first_child; child; child = child->next_sibling) index_child(parent, child);
}

static cyp_node *look_up_child(const cyp_node *parent, const cyp_function *function) {
    uint32_t line = cyp_call_line(parent);
    if (!parent->child_index) {
        for (cyp_node *child = parent->first_child; child; child = child->next_sibling)
            if (child->function == function && child->call_line == line) return child;
        return NULL;
    }
    uint32_t mask = parent->child_index_size - 1;
    uint32_t slot = child_hash(function, line) & mask;
    for (cyp_node *child; (child = parent->child_index[slot]); slot = (slot + 1) & mask)
        if (child->function == function && child->call_line == line) return child;
    return NULL;
}

static bool is_called_in(const cyp_node *node, const cyp_function *function) {
    while (node && node->function != function) node = node->parent;
    return node != NULL;
}

static cyp_node *new_child(thread_state *thread, cyp_node *parent, const cyp_function *function) {
    cyp_node *child = tree_alloc(thread, sizeof *child);
    if (!child) return NULL;
    if (function->line_count > 0) {
        child->lines = tree_alloc(thread, ((size_t)function->line_count + 1) * sizeof(cyp_line));
        if (!child->lines) return NULL;
    }
    child->function = function;
    child->parent = parent;
    child->call_line = cyp_call_line(parent);
    child->line_mask = is_called_in(parent, function) ? 0 : UINT32_MAX;
    child->depth = parent->depth + 1;
    child->last_child = &no_child;
    child->next_sibling = parent->first_child;
    NODE_COMPLETE(child);
    /* Published complete: stop() may read the children of a running thread. */
    __atomic_store_n(&parent->first_child, child, __ATOMIC_RELEASE);
    parent->child_count++;
    thread->node_count++;
    __atomic_fetch_add(&node_count, 1, __ATOMIC_RELAXED);
    if (parent->child_index && parent->child_count * 2 <= parent->child_index_size)
        index_child(parent, child);
    else if (parent->child_count >= INDEX_FROM)
        grow_index(thread, parent);
    return child;
}

/* An ancestor with the same function, for recursion too deep to keep apart. */
static cyp_node *fold_into(cyp_node *parent, const cyp_function *function) {
    if (parent->depth < FOLD_DEPTH || function->language != CYP_LANGUAGE_CYTHON) return NULL;
    for (int i = 0; i < FOLD_SEARCH && parent; i++, parent = parent->parent)
        if (parent->function == function) return parent;
    return NULL;
}

/* The node for a call of `function` along a path that is one too many: one of the thread's for all of them. It stands below no
   caller, for where it was called from is what there are too many of. */
static cyp_node *shared_node(thread_state *thread, const cyp_function *function) {
    CYP_STORE(recording.paths_shared, 1);
    cyp_node *shared = look_up_child(&thread->root, function);
    return shared ? shared : new_child(thread, &thread->root, function);
}

/* The node for a call of `function` from the current line of `parent`, most often a child of it. NULL without memory: a profile
   with a gap is better than a program that ends. */
cyp_node *tree_find_child(cyp_thread *base, cyp_node *parent, const cyp_function *function) {
    thread_state *thread = (thread_state *)base;
    cyp_node *child = look_up_child(parent, function);
    if (!child) child = fold_into(parent, function);
    if (!child && CYP_LOAD(node_count) >= recording.most_nodes) child = shared_node(thread, function);
    if (!child) child = new_child(thread, parent, function);
    if (child) parent->last_child = child;
    return child;
}

/* ---- exact timing */

static void exact_to_sampled(thread_state *thread) {
    thread_lock_booking(thread);
    __atomic_store_n(&thread->base.attention, CYP_QUICK, __ATOMIC_RELEASE);
    thread_unlock_booking(thread);
}

static void sampled_to_exact(thread_state *thread) {
    thread_lock_booking(thread);
    thread_book(thread, now_ns());
    __atomic_store_n(&thread->base.attention, CYP_EXACT, __ATOMIC_RELEASE);
    thread_unlock_booking(thread);
}

/* Reads the clock and books the time since the last reading on the current node; gives exact timing up when its reads
   have used up their budget. */
static void book_exactly(thread_state *thread) {
    uint64_t now = now_ns();
    thread_book(thread, now);
    if (++thread->clock_reads % BUDGET_CHECK || recording.clock == CLOCK_EXACT_ONLY) return;
    double budget = BUDGET_SHARE * (double)(now - recording.start_ns);
    if (budget < BUDGET_NS) budget = BUDGET_NS;
    if ((double)thread->clock_reads * recording.clock_cost_ns > budget) {
        thread->exact_allowed = false;
        exact_to_sampled(thread);
    }
}

static cyp_node *count_call(thread_state *thread, const cyp_function *function, bool resumed, bool exact) {
    cyp_node *parent = thread->base.node;
    cyp_node *child = parent->last_child;
    if (child->function != function || child->call_line != cyp_call_line(parent))
        child = tree_find_child(&thread->base, parent, function);
    if (!child) return NULL;
    if (resumed) {
        CYP_ADD(child->resumes, 1);
    } else {
        CYP_ADD(child->calls, 1);
        CYP_STORE(child->line, 0);
    }
    if (exact) CYP_ADD(child->exact_calls, 1);
    CYP_PUBLISH(thread->base.node, child);
    return child;
}

/* Enters `function` on the current thread, timed as the thread is timed now. */
cyp_node *tree_enter(thread_state *thread, const cyp_function *function, bool resumed) {
    if (CYP_LOAD(thread->base.attention) != CYP_EXACT) return count_call(thread, function, resumed, false);
    book_exactly(thread);
    cyp_node *node = count_call(thread, function, resumed, CYP_LOAD(thread->base.attention) == CYP_EXACT);
    if (node && function->flags & CYP_IMPORT_SYSTEM && CYP_LOAD(thread->base.attention) == CYP_EXACT && recording.clock != CLOCK_EXACT_ONLY) {
        thread->paused_at = node;
        exact_to_sampled(thread);
    }
    return node;
}

static bool is_above(const cyp_node *node, const cyp_node *wanted) {
    while (node && node != wanted) node = node->parent;
    return node != NULL;
}

/* Leaves `node` for `parent`, and with it all that was left unseen below it. */
void tree_leave(thread_state *thread, cyp_node *node, cyp_node *parent) {
    if (CYP_LOAD(thread->base.attention) == CYP_EXACT) book_exactly(thread);
    CYP_STORE(thread->base.node, parent);
    if (thread->paused_at == node) {
        thread->paused_at = NULL;
        if (thread->exact_allowed) sampled_to_exact(thread);
    }
}

/* Another stack goes on on this thread, at `to`. */
void tree_switch(thread_state *thread, cyp_node *to) {
    if (CYP_LOAD(thread->base.attention) == CYP_EXACT) book_exactly(thread);
    CYP_PUBLISH(thread->base.node, to);
}

/* ---- Python and C functions whose node is not a child of their caller's */

/* Remembers the caller of a call that has just been entered. Without memory for it the way back is lost, and found again when the
   caller's own caller is left. */
void tree_put_aside(thread_state *thread, const cyp_function *function, cyp_node *node, cyp_node *caller) {
    if (thread->aside_count == thread->aside_room) {
        size_t room = thread->aside_room ? thread->aside_room * 2 : FIRST_ASIDES;
        aside *more = realloc(thread->asides, room * sizeof *more);
        if (!more) return;
        thread->asides = more;
        thread->aside_room = room;
    }
    thread->asides[thread->aside_count++] = (aside){function, node, caller};
}

/* The node of the innermost call of `function` that is under way, and where it was called from; NULL for none. All that was put
   aside within that call, and it itself, is forgotten. */
cyp_node *tree_innermost(thread_state *thread, const cyp_function *function, cyp_node **caller) {
    size_t left = thread->aside_count;
    cyp_node *node = thread->base.node;
    while (node) {
        const aside *last = left ? &thread->asides[left - 1] : NULL;
        bool at_last = last && last->node == node;
        if (at_last) left--;
        if ((at_last ? last->function : node->function) == function) {
            *caller = at_last ? last->caller : node->parent;
            thread->aside_count = left;
            return node;
        }
        node = at_last ? last->caller : node->parent;
    }
    return NULL;
}

/* ---- the slow halves of the probes */

cyp_frame tree_enter_slow(const cyp_function *function, int resumed) {
    thread_state *thread = threads_current();
    cyp_frame frame = CYP_FRAME(NULL, NULL, NULL);
    if (!thread) return frame;
    frame.thread = &thread->base;
    frame.parent = thread->base.node;
    frame.node = tree_enter(thread, function, resumed);
    return frame;
}

/* Whether nothing is recorded of the thread. In a forked child this is where the recording may begin anew. */
static bool is_stopped(const thread_state *thread) {
    return CYP_LOAD(thread->base.attention) == CYP_STOPPED && !(process_fork_pending() && threads_current());
}

void tree_leave_slow(cyp_frame frame) {
    thread_state *thread = (thread_state *)frame.thread;
    if (is_stopped(thread) || thread->generation != recording.generation) return;
    /* A frame of an earlier recording, or one whose stack was switched away, is not on the path to the current node;
       its node must not be looked at, it may be gone. */
    bool found = is_above(thread->base.node, frame.node);
    if (thread->base.node != frame.node) CYP_STORE(recording.stack_switched, true);
    if (!found) return;
    tree_leave(thread, frame.node, frame.parent);
}

void tree_line_slow(cyp_frame frame, unsigned line, int count) {
    thread_state *thread = (thread_state *)frame.thread;
    if (is_stopped(thread) || !is_above(thread->base.node, frame.node)) return;
    if (CYP_LOAD(thread->base.attention) == CYP_EXACT) book_exactly(thread);
    if (count) CYP_ADD(frame.node->lines[line].hits, 1);
    CYP_STORE(frame.node->line, line);
}

/* ---- OpenMP workers */

/* The node of a worker stands at the root of its own tree and names its owner's node, beside which snapshot.c hangs it. */
static cyp_node *node_of_worker(thread_state *thread, cyp_node *owner, const cyp_function *function) {
    cyp_node *parent = thread->base.node;
    for (cyp_node *child = parent->first_child; child; child = child->next_sibling)
        if (child->function == function && child->owner == owner) return child;
    cyp_node *child = new_child(thread, parent, function);
    if (child) child->owner = owner;
    return child;
}

cyp_frame tree_enter_worker(cyp_frame owner, const cyp_function *function) {
    thread_state *thread = threads_current();
    /* The owner works too; leaving this frame then leaves its own where it is. */
    cyp_frame frame = CYP_FRAME(owner.thread, owner.node, owner.node);
    if (!thread || &thread->base == owner.thread) return frame;
    if (thread->base.node == &thread->root) CYP_STORE(thread->worker, true);
    CYP_STORE(((thread_state *)owner.thread)->has_workers, true);
    __atomic_fetch_add(&recording.worker_entries, 1, __ATOMIC_RELAXED);
    frame = (cyp_frame)CYP_FRAME(&thread->base, node_of_worker(thread, owner.node, function), thread->base.node);
    if (!frame.node) return frame;
    thread_lock_booking(thread);
    thread_book(thread, now_ns());
    thread_unlock_booking(thread);
    CYP_STORE(frame.node->line, CYP_LOAD(owner.node->line));
    CYP_PUBLISH(thread->base.node, frame.node);
    return frame;
}
