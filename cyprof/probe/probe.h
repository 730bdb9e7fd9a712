/* The probes of cyprof: the C code that every probed module carries.
 *
 * This text stands in the generated C of a module in place of the "Profile" utility code of Cython, so it may use the C
 * library and <Python.h>, never a header of ours. It compiles as C99 and as C++ with gcc and clang.
 *
 * A probe never takes the GIL, never calls Python and never fails. Without a runtime in the process (a probed module loaded by
 * a plain Python) each probe is one load and one branch.
 *
 * Ownership. A cyp_thread and its tree belong to one OS thread, which alone creates nodes, counts and moves `node`.
 * The watcher thread of the runtime reads `node`, `line`, `attention` and what is counted at any time; these are stored, and by
 * others than their owner loaded, as relaxed atomics, which is enough because nodes are complete before they are published and are
 * not freed while the watcher runs.
 */
#ifndef CYP_PROBE_H
#define CYP_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define CYP_MARK "cyprof-probes-1"
#define CYP_ABI 4

#define CYP_LIKELY(x) __builtin_expect(!!(x), 1)
#define CYP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CYP_UNUSED __attribute__((unused))
#define CYP_LOAD(where) __atomic_load_n(&(where), __ATOMIC_RELAXED)
#define CYP_STORE(where, value) __atomic_store_n(&(where), (value), __ATOMIC_RELAXED)
/* Adds to a counter that this thread alone changes, and others read. No locked instruction; but gcc makes three instructions and a
   register of an atomic load, an addition and an atomic store, so where there is one for it, it is written out. */
#if defined(__x86_64__)
  #define CYP_ADD(where, amount) __asm__("addq %1, %0" : "+m"(where) : "er"((uint64_t)(amount)) : "cc")
#else
  #define CYP_ADD(where, amount) CYP_STORE(where, (where) + (amount))
#endif
/* As CYP_LOAD of an int, for the quick path: gcc keeps the address for an atomic load in a register of its own, which is saved for
   it on the stack; for a volatile one it does not. */
#define CYP_PEEK(where) (*(const volatile int *)&(where))
/* For a thread's current node: who reads it there (the watcher) finds in it what was written before. */
#define CYP_PUBLISH(where, value) __atomic_store_n(&(where), (value), __ATOMIC_RELEASE)

enum { CYP_KIND_PYTHON, CYP_KIND_DEF, CYP_KIND_CPDEF, CYP_KIND_CDEF, CYP_KIND_BUILTIN, CYP_KIND_MODULE };
enum { CYP_LANGUAGE_PYTHON, CYP_LANGUAGE_CYTHON, CYP_LANGUAGE_C };

/* cyp_function.flags */
enum {
    CYP_NOGIL = 1,          /* declared nogil */
    CYP_PROPAGATES = 2,     /* an exception leaves it (false for noexcept: the error is printed and swallowed) */
    CYP_HIDDEN = 4,         /* a function of cyprof's own: never shown, its time is its caller's */
    CYP_IMPORT_SYSTEM = 8,  /* entry into the import system, which is always sampled */
    CYP_ENDS_PROCESS = 16,  /* nothing of this process is left after it: os._exit, os.execv */
    CYP_TAKES_TOOL = 32,    /* sys.monitoring.use_tool_id */
    CYP_NAMES_THREAD = 64,  /* threading.Thread.name: a thread may have another name now */
    CYP_STARTS_THREAD = 128 /* _thread.start_new_thread */
};

/* cyp_thread.attention: why the quick path of a probe must not be taken. */
enum { CYP_QUICK = 0, CYP_EXACT = 1, CYP_STOPPED = 2 };

typedef struct { int file; int line; } cyp_place;

/* A function. Static in its module (or made by the runtime for Python and C functions); constant but for `record`. */
typedef struct cyp_function {
    const char *module;
    const char *name;
    const char *const *files;   /* the module's source files */
    int file;                   /* index into files */
    int line;
    int kind;
    int language;
    int flags;
    int line_count;             /* entries of places */
    const cyp_place *places;    /* line i of the function, for i in 1 .. line_count, is places[i - 1] */
} cyp_function;

typedef struct { uint64_t hits; uint64_t self_ns; } cyp_line;

/* A distinct call path. */
typedef struct cyp_node {
    const cyp_function *function;   /* constant */
    struct cyp_node *parent;        /* constant; NULL for a root */
    struct cyp_node *last_child;    /* the child entered last, a guess that spares the search; never NULL */
    uint64_t calls;
    uint32_t line;                  /* where it is now: 0 before the first line, else an index as in cyp_function.places */
    uint32_t call_line;             /* constant: the line of the parent it is called from, as cyp_call_line says */
    uint32_t line_mask;             /* constant: 0 below a recursive call, where lines do not tell callees apart; else all ones */
    cyp_line *lines;                /* line_count + 1 entries, or NULL when the function has no line probes */
    /* Below: not used by the quick path. */
    uint64_t exact_calls;
    uint64_t resumes;
    uint64_t raised;
    uint64_t self_ns;               /* owner: the thread while attention is CYP_EXACT, else the watcher */
    uint64_t wait_ns;               /* owner: the watcher */
    struct cyp_node *first_child;
    struct cyp_node *next_sibling;
    struct cyp_node **child_index;  /* hash of the children once there are many */
    uint32_t child_count;
    uint32_t child_index_size;
    uint32_t depth;
    struct cyp_node *owner;         /* for an OpenMP worker: the node of the function it works for */
    uint32_t number;                /* of the runtime, while it writes the tree down */
} cyp_node;

typedef struct cyp_thread {
    cyp_node *node;         /* the current node */
    int attention;
} cyp_thread;

/* A call in progress: a local of the probed function, closed by the compiler on every way out. Its address is handed to no
   function that is not inlined, so that it can live in registers: what would be a load of a value just stored, twice a call,
   is what a probe can least afford. The gaps keep gcc from packing two of the pointers into a vector register, only to take
   them apart again (its SLP vectoriser, on at -O2 since gcc 12). */
typedef struct {
    cyp_thread *thread;
    void *gap_before_node;
    cyp_node *node;         /* NULL: not recorded */
    void *gap_before_parent;
    cyp_node *parent;
} cyp_frame;

#define CYP_FRAME(thread, node, parent) {thread, NULL, node, NULL, parent}

/* What the runtime offers its modules. */
typedef struct {
    int abi;
    ptrdiff_t thread_offset;                    /* of the current cyp_thread pointer from the thread pointer, or 0 */
    cyp_thread *(*this_thread)(void);           /* creates the thread's state; NULL when nothing is recorded */
    cyp_node *(*find_child)(cyp_thread *, cyp_node *, const cyp_function *);    /* NULL without memory: not recorded */
    cyp_frame (*enter_slow)(const cyp_function *, int resumed);
    void (*leave_slow)(cyp_frame);
    void (*line_slow)(cyp_frame, unsigned line, int count);
    cyp_frame (*enter_worker)(cyp_frame owner, const cyp_function *);
    const cyp_function *(*c_function)(PyObject *callable, PyObject *self);
    void (*attach_module)(const void *address);
} cyp_runtime;

static const cyp_runtime *cyp_rt = NULL;
/* Read by `strings` and by the builder: this extension carries probes. */
static const char cyp_mark[] CYP_UNUSED __attribute__((used)) = CYP_MARK;

#if defined(__linux__) && defined(__x86_64__)
  #define CYP_THREAD_POINTER(result) __asm__("mov %%fs:0, %0" : "=r"(result))
#elif defined(__linux__) && defined(__aarch64__)
  #define CYP_THREAD_POINTER(result) __asm__("mrs %0, tpidr_el0" : "=r"(result))
#endif

/* The calling thread's state, NULL when there is none yet. The runtime keeps the pointer in one thread-local slot for all
   modules, reached from here by its fixed distance from the thread pointer: a slot of our own would take static TLS
   space in every module, of which glibc has little to give to libraries loaded late. */
static inline cyp_thread *cyp_known_thread(void) {
#ifdef CYP_THREAD_POINTER
    char *base;
    CYP_THREAD_POINTER(base);
    return *(cyp_thread **)(base + cyp_rt->thread_offset);
#else
    return cyp_rt->this_thread();
#endif
}

/* The line a call is made from, as far as it tells the callees of `parent` apart. Below a recursive call it does not: each line
   that recurs would double the tree at every depth. */
static inline uint32_t cyp_call_line(const cyp_node *parent) { return parent->line & parent->line_mask; }

static inline void cyp_enter(cyp_frame *frame, const cyp_function *function, int resumed) {
    cyp_thread *thread;
    cyp_node *parent, *child;
    if (CYP_UNLIKELY(!cyp_rt)) return;
    thread = cyp_known_thread();
    if (CYP_UNLIKELY(!thread || CYP_PEEK(thread->attention))) {
        *frame = cyp_rt->enter_slow(function, resumed);
        return;
    }
    parent = thread->node;
    child = parent->last_child;
    if (CYP_UNLIKELY(child->function != function || child->call_line != cyp_call_line(parent))) {
        child = cyp_rt->find_child(thread, parent, function);
        if (!child) return;
    }
    if (resumed) {
        CYP_ADD(child->resumes, 1);
    } else {
        CYP_ADD(child->calls, 1);
        if (function->line_count) CYP_STORE(child->line, 0);
    }
    frame->thread = thread;
    frame->node = child;
    frame->parent = parent;
    CYP_PUBLISH(thread->node, child);
}

static inline void cyp_leave(cyp_frame *frame) {
    cyp_thread *thread = frame->thread;
    if (CYP_UNLIKELY(!frame->node)) return;
    /* The current node differs from ours when someone left without saying so (a longjmp, a switched stack) or when
       another recording has begun meanwhile. */
    if (CYP_UNLIKELY(CYP_PEEK(thread->attention) || thread->node != frame->node)) {
        cyp_rt->leave_slow(*frame);
        return;
    }
    CYP_STORE(thread->node, frame->parent);
}

/* The function is being left by an exception that its caller will see. */
static inline void cyp_raised(cyp_frame *frame, int raised) {
    if (raised && frame->node) CYP_ADD(frame->node->raised, 1);
}

/* A cpdef function found itself overridden and hands the call on: as its author reads it, it was not called. */
static inline void cyp_dispatched(cyp_frame *frame) {
    if (!frame->node) return;
    CYP_ADD(frame->node->calls, -1);
    if (CYP_PEEK(frame->thread->attention) == CYP_EXACT) CYP_ADD(frame->node->exact_calls, -1);
    cyp_leave(frame);
    frame->node = NULL;
}

/* Line `line` of the function begins; `count` tells whether its author would say so (a loop comes back to its first
   line silently, to fetch the next item). */
static inline void cyp_at_line(cyp_frame *frame, unsigned line, int count) {
    cyp_node *node = frame->node;
    /* Hides from the compiler that this is the node of the line before. Knowing it, gcc makes one test of the tests of all
       lines, puts their stores together and the work of the lines before and after them, where no line gets its own. */
    __asm__ volatile("" : "+r"(node));
    if (CYP_UNLIKELY(!node)) return;
    if (CYP_UNLIKELY(CYP_PEEK(frame->thread->attention))) {
        cyp_rt->line_slow(*frame, line, count);
        return;
    }
    if (count) CYP_ADD(node->lines[line].hits, 1);
    CYP_STORE(node->line, line);
}

/* A worker of an OpenMP team enters the owner's function. */
static inline void cyp_enter_worker(cyp_frame *frame, const cyp_frame *owner, const cyp_function *function) {
    if (cyp_rt && owner->node) *frame = cyp_rt->enter_worker(*owner, function);
}

/* Finds the runtime when the module is initialised; the GIL is held. Not finding it is no error: the module then runs
   unprofiled. */
static CYP_UNUSED void cyp_attach(void) {
    PyObject *modules, *runtime, *capsule;
    const cyp_runtime *found;
    if (cyp_rt) return;
    modules = PyImport_GetModuleDict();
    runtime = modules ? PyDict_GetItemString(modules, "cyprof.probe._runtime") : NULL;
    if (!runtime) return;
    capsule = PyObject_GetAttrString(runtime, "_c_api");
    if (!capsule) {
        PyErr_Clear();
        return;
    }
    found = (const cyp_runtime *)PyCapsule_GetPointer(capsule, "cyprof.probe._runtime._c_api");
    Py_DECREF(capsule);
    if (!found || found->abi != CYP_ABI) {
        PyErr_Clear();
        return;
    }
    cyp_rt = found;
    found->attach_module((const void *)&cyp_rt);
}

#endif /* CYP_PROBE_H */
