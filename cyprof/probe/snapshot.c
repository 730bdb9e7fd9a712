/* The recording as Python values: what collect/probes.py makes a Profile of. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARENT, FUNCTION, THREAD, CALLS, EXACT_CALLS, RESUMES, RAISED, SELF_NS, WAIT_NS, CALL_LINE, NODE_COLUMNS };
enum { LINE_NODE, LINE_FILE, LINE_LINE, LINE_HITS, LINE_SELF_NS, LINE_COLUMNS };
static const char *const node_names[NODE_COLUMNS] = {"parent", "function", "thread", "calls", "exact_calls", "resumes",
                                                     "raised", "self_ns", "wait_ns", "call_line"};
static const char *const line_names[LINE_COLUMNS] = {"line_node", "line_file", "line_line", "line_hits", "line_self_ns"};
static const char *const kind_names[] = {"python", "def", "cpdef", "cdef", "builtin", "module"};
static const char *const language_names[] = {"python", "cython", "c"};

typedef struct {
    PyObject *nodes[NODE_COLUMNS], *lines[LINE_COLUMNS];
    PyObject *functions, *files, *threads;
    PyObject *function_numbers, *file_numbers;  /* dicts: address, or path -> index */
    uint32_t count;
} snapshot;

static int append_number(PyObject *list, long long value) {
    PyObject *number = PyLong_FromLongLong(value);
    int failed = !number || PyList_Append(list, number);
    Py_XDECREF(number);
    return failed ? -1 : 0;
}

/* The number of `key` in `numbers`, else -1 when it is new (it is then given the next one), -2 with an exception set. */
static Py_ssize_t number_of(PyObject *numbers, PyObject *key) {
    PyObject *found = PyDict_GetItemWithError(numbers, key);
    if (found) return PyLong_AsSsize_t(found);
    if (PyErr_Occurred()) return -2;
    PyObject *next = PyLong_FromSsize_t(PyDict_GET_SIZE(numbers));
    int failed = !next || PyDict_SetItem(numbers, key, next);
    Py_XDECREF(next);
    return failed ? -2 : -1;
}

static Py_ssize_t file_number(snapshot *shot, const char *file) {
    PyObject *text = PyUnicode_DecodeFSDefault(file);
    Py_ssize_t number = text ? number_of(shot->file_numbers, text) : -2;
    if (number == -1) {
        number = PyDict_GET_SIZE(shot->file_numbers) - 1;
        if (PyList_Append(shot->files, text)) number = -2;
    }
    Py_XDECREF(text);
    return number;
}

static Py_ssize_t function_number(snapshot *shot, const cyp_function *function) {
    PyObject *key = PyLong_FromVoidPtr((void *)function);
    Py_ssize_t number = key ? number_of(shot->function_numbers, key) : -2;
    Py_XDECREF(key);
    if (number != -1) return number;
    const char *file = function->language == CYP_LANGUAGE_C ? "" : function->files[function->file];
    PyObject *row = Py_BuildValue(
        "(NNNisOs)", PyUnicode_DecodeUTF8(function->module, (Py_ssize_t)strlen(function->module), "replace"),
        PyUnicode_DecodeUTF8(function->name, (Py_ssize_t)strlen(function->name), "replace"), PyUnicode_DecodeFSDefault(file),
        function->line, kind_names[function->kind], function->flags & CYP_NOGIL ? Py_True : Py_False,
        language_names[function->language]);
    int failed = !row || PyList_Append(shot->functions, row);
    Py_XDECREF(row);
    return failed ? -2 : PyDict_GET_SIZE(shot->function_numbers) - 1;
}

/* The source line of a place in a node's function; a place before the first line is the line of its definition. */
static cyp_place place_of(const cyp_function *function, uint32_t line) {
    if (line && line <= (uint32_t)function->line_count) return function->places[line - 1];
    return (cyp_place){function->file, function->line};
}

static int add_lines(snapshot *shot, const cyp_node *node) {
    const cyp_function *function = node->function;
    if (!node->lines) return 0;
    for (int i = 0; i <= function->line_count; i++) {
        const cyp_line *line = &node->lines[i];
        if (!line->hits && !line->self_ns) continue;
        cyp_place place = place_of(function, (uint32_t)i);
        Py_ssize_t file = file_number(shot, function->files[place.file]);
        if (file < 0 || append_number(shot->lines[LINE_NODE], node->number) || append_number(shot->lines[LINE_FILE], file) ||
            append_number(shot->lines[LINE_LINE], place.line) ||
            append_number(shot->lines[LINE_HITS], (long long)line->hits) ||
            append_number(shot->lines[LINE_SELF_NS], (long long)line->self_ns))
            return -1;
    }
    return 0;
}

/* The node it hangs below in the profile: a worker's hangs beside its owner's. -1 for none. */
static long long parent_number(const cyp_node *node) {
    const cyp_node *above = node->owner ? node->owner->parent : node->parent;
    return above && above->function ? (long long)above->number : -1;
}

static int add_node(snapshot *shot, cyp_node *node, int thread) {
    Py_ssize_t function = function_number(shot, node->function);
    const cyp_node *above = node->owner ? node->owner->parent : node->parent;
    long long call_line = above->lines && above->line_mask ? place_of(above->function, node->call_line).line : 0;
    node->number = shot->count++;
    const long long values[NODE_COLUMNS] = {parent_number(node), function, thread, (long long)node->calls,
                                            (long long)node->exact_calls, (long long)node->resumes, (long long)node->raised,
                                            (long long)node->self_ns, (long long)node->wait_ns, call_line};
    if (function < 0) return -1;
    for (int i = 0; i < NODE_COLUMNS; i++)
        if (append_number(shot->nodes[i], values[i])) return -1;
    return add_lines(shot, node);
}

/* Adds all below `root`, parents first, children in the order they were made. Without recursion: call paths may be deep. */
static int add_tree(snapshot *shot, cyp_node *root, int thread) {
    size_t size = 1024, used = 0;
    cyp_node **stack = malloc(size * sizeof *stack);
    int failed = 0;
    if (!stack) return PyErr_NoMemory(), -1;
    stack[used++] = root;
    while (used && !failed) {
        cyp_node *node = stack[--used];
        if (node != root) failed = add_node(shot, node, thread);
        for (cyp_node *child = node->first_child; child && !failed; child = child->next_sibling) {
            if (used == size) {
                cyp_node **more = realloc(stack, 2 * size * sizeof *stack);
                if (!more) failed = (PyErr_NoMemory(), -1);
                if (!more) break;
                stack = more;
                size *= 2;
            }
            stack[used++] = child;
        }
    }
    free(stack);
    return failed;
}

static int add_thread(snapshot *shot, thread_state *thread) {
    char name[160];
    if (thread->name[0])
        snprintf(name, sizeof name, "%s", thread->name);
    else if (thread->tid == (long)getpid())
        snprintf(name, sizeof name, "MainThread");
    else
        snprintf(name, sizeof name, thread->worker ? "OpenMP worker %d" : "thread %d", thread->id);
    uint64_t end = thread->end_ns ? thread->end_ns : thread->booked_until_ns;
    PyObject *row = Py_BuildValue("(isLL)", thread->id, name, (long long)thread->cpu_ns, (long long)(end - thread->start_ns));
    int failed = !row || PyList_Append(shot->threads, row);
    Py_XDECREF(row);
    return failed;
}

/* OpenMP workers come last: their nodes name nodes of their owners as parents. */
static int add_threads(snapshot *shot) {
    for (int workers = 0; workers < 2; workers++) {
        size_t count = 0;
        for (thread_state *t = all_threads; t; t = t->next) count++;
        /* The list holds the newest thread first; the profile lists the oldest first. */
        while (count--) {
            thread_state *thread = all_threads;
            for (size_t i = 0; i < count; i++) thread = thread->next;
            if (thread->generation != recording.generation || thread->worker != (workers == 1)) continue;
            if (add_thread(shot, thread) || add_tree(shot, &thread->root, thread->id)) return -1;
        }
    }
    return 0;
}

static int make_lists(snapshot *shot) {
    for (int i = 0; i < NODE_COLUMNS; i++)
        if (!(shot->nodes[i] = PyList_New(0))) return -1;
    for (int i = 0; i < LINE_COLUMNS; i++)
        if (!(shot->lines[i] = PyList_New(0))) return -1;
    return (shot->functions = PyList_New(0)) && (shot->files = PyList_New(0)) && (shot->threads = PyList_New(0)) &&
                   (shot->function_numbers = PyDict_New()) && (shot->file_numbers = PyDict_New())
               ? 0
               : -1;
}

static PyObject *as_dict(snapshot *shot, uint64_t end_ns) {
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    uint64_t cpu_ns = (uint64_t)cpu.tv_sec * BILLION + (uint64_t)cpu.tv_nsec;
    PyObject *dict = Py_BuildValue("{sOsOsOsLsLsL}", "functions", shot->functions, "files", shot->files, "threads",
                                   shot->threads, "wall_ns", (long long)(end_ns - recording.start_ns), "cpu_ns",
                                   (long long)(cpu_ns - recording.start_cpu_ns), "samples", (long long)recording.samples);
    for (int i = 0; dict && i < NODE_COLUMNS; i++)
        if (PyDict_SetItemString(dict, node_names[i], shot->nodes[i])) Py_CLEAR(dict);
    for (int i = 0; dict && i < LINE_COLUMNS; i++)
        if (PyDict_SetItemString(dict, line_names[i], shot->lines[i])) Py_CLEAR(dict);
    return dict;
}

/* The recording as a dict; NULL with an exception set. The recording has ended: no thread changes what it reads, but for
   the counters of calls that are still on their way out. */
PyObject *snapshot_take(uint64_t end_ns) {
    snapshot shot = {0};
    PyObject *dict = NULL;
    pthread_mutex_lock(&registry_lock);
    if (!make_lists(&shot) && !add_threads(&shot)) dict = as_dict(&shot, end_ns);
    pthread_mutex_unlock(&registry_lock);
    for (int i = 0; i < NODE_COLUMNS; i++) Py_XDECREF(shot.nodes[i]);
    for (int i = 0; i < LINE_COLUMNS; i++) Py_XDECREF(shot.lines[i]);
    Py_XDECREF(shot.functions);
    Py_XDECREF(shot.files);
    Py_XDECREF(shot.threads);
    Py_XDECREF(shot.function_numbers);
    Py_XDECREF(shot.file_numbers);
    return dict;
}
