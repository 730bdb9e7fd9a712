/* The descriptions of functions that carry no probe: Python functions by their code object. The GIL is held throughout. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030C0000
#define code_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define get_code_extra PyUnstable_Code_GetExtra
#define set_code_extra PyUnstable_Code_SetExtra
#else
#define code_extra_index _PyEval_RequestCodeExtraIndex
#define get_code_extra _PyCode_GetExtra
#define set_code_extra _PyCode_SetExtra
#endif

/* Where a code object keeps its function: its description lives as long as the process, the code object may not. */
static Py_ssize_t extra = -1;
static PyObject *hidden_prefixes;

/* A description of its own, with copies of its texts. NULL with MemoryError set. */
cyp_function *functions_new(const char *module, const char *name, const char *file, int line, int kind, int language) {
    python_function *function = calloc(1, sizeof *function);
    const char **files = calloc(1, sizeof *files);
    char *module_copy = strdup(module), *name_copy = strdup(name), *file_copy = strdup(file);
    if (!function || !files || !module_copy || !name_copy || !file_copy) {
        free(function), free(files), free(module_copy), free(name_copy), free(file_copy);
        PyErr_NoMemory();
        return NULL;
    }
    files[0] = file_copy;
    function->base = (cyp_function){
        .module = module_copy, .name = name_copy, .files = files, .line = line, .kind = kind, .language = language,
    };
    return &function->base;
}

/* Of a description that nobody has been given yet. */
void functions_free(cyp_function *function) {
    if (!function) return;
    free((void *)function->module), free((void *)function->name), free((void *)function->files[0]);
    free((void *)function->files), free((void *)function->places);
    free(((python_function *)function)->silent), free(((python_function *)function)->loops);
    free(function);
}

/* Drops a pending MemoryError: the program shall not get one for what only the recording wanted. True when there was one. */
bool functions_forgive_memory(void) {
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
    PyErr_Clear();
    CYP_STORE(recording.memory_lost, 1);
    return true;
}

int functions_init(void) {
    extra = code_extra_index(NULL);
    hidden_prefixes = PyList_New(0);
    if (!hidden_prefixes) return -1;
    if (extra < 0) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no room for a profiler's data on code objects");
        return -1;
    }
    return 0;
}

int functions_hide(PyObject *prefix) { return PyList_Append(hidden_prefixes, prefix); }

static int is_hidden(PyObject *file) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hidden_prefixes); i++) {
        PyObject *prefix = PyList_GET_ITEM(hidden_prefixes, i);
        Py_ssize_t found = PyUnicode_Tailmatch(file, prefix, 0, PY_SSIZE_T_MAX, -1);
        if (found) return (int)found;
    }
    return 0;
}

static int wants_lines(PyObject *file) {
    if (!recording.lines || !recording.wants_lines) return 0;
    bool before = threads_mute(true);
    PyObject *answer = PyObject_CallOneArg(recording.wants_lines, file);
    (void)threads_mute(before);
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
}

static cyp_function *describe_code(PyCodeObject *code, PyObject *globals) {
    PyObject *module = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    const char *module_text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    const char *name = PyUnicode_AsUTF8(code->co_qualname), *file = PyUnicode_AsUTF8(code->co_filename);
    if (!module_text || !name || !file) {
        /* A name that is no valid text (lone surrogates): shown as a question mark. */
        PyErr_Clear();
        module_text = module_text ? module_text : "?", name = name ? name : "?", file = file ? file : "?";
    }
    int kind = strcmp(name, "<module>") ? CYP_KIND_PYTHON : CYP_KIND_MODULE;
    cyp_function *function = functions_new(module_text, name, file, code->co_firstlineno, kind, CYP_LANGUAGE_PYTHON);
    if (!function) return NULL;
    int hidden = is_hidden(code->co_filename);
    int lines = hidden ? 0 : wants_lines(code->co_filename);
    if (hidden < 0 || lines < 0 || (lines && code_lines_add((python_function *)function, code))) {
        functions_free(function);
        return NULL;
    }
    if (hidden) function->flags |= CYP_HIDDEN;
    if (!strcmp(file, "<frozen importlib._bootstrap>") && !strcmp(name, "_find_and_load"))
        function->flags |= CYP_IMPORT_SYSTEM;
    if (!strcmp(module_text, "threading") && !strcmp(name, "Thread.name")) function->flags |= CYP_NAMES_THREAD;
    return function;
}

/* ---- descriptions of code, by what they say: a program that compiles the same again and again has it described once */

static cyp_function **kept;         /* open addressing; never freed: nodes of the tree name them */
static size_t kept_size, kept_count;

static size_t add_to_hash(size_t hash, const char *text) {
    while (*text) hash = (hash ^ (unsigned char)*text++) * 1099511628211u;     /* FNV-1a */
    return hash * 31;
}

/* Two functions with line tables never say the same: their code may differ. */
static bool says_same(const cyp_function *one, const cyp_function *other) {
    return one->line == other->line && one->kind == other->kind && !one->line_count && !other->line_count &&
           !strcmp(one->name, other->name) && !strcmp(one->module, other->module) && !strcmp(one->files[0], other->files[0]);
}

static size_t kept_slot(const cyp_function *function) {
    size_t hash = add_to_hash(add_to_hash(add_to_hash((size_t)function->line, function->name), function->module), function->files[0]);
    size_t slot = (hash ^ hash >> 20) & (kept_size - 1);
    while (kept[slot] && !says_same(kept[slot], function)) slot = (slot + 1) & (kept_size - 1);
    return slot;
}

static bool grow_kept(void) {
    cyp_function **old = kept;
    size_t old_size = kept_size, size = old_size ? old_size * 2 : 1024;
    cyp_function **bigger = calloc(size, sizeof *bigger);
    if (!bigger) return false;
    kept = bigger;
    kept_size = size;
    for (size_t i = 0; i < old_size; i++)
        if (old[i]) kept[kept_slot(old[i])] = old[i];
    free(old);
    return true;
}

/* The description that stands for a new one: itself, or an older one that says the same. NULL with MemoryError set. */
static cyp_function *keep(cyp_function *fresh) {
    if (kept_count * 2 >= kept_size && !grow_kept()) {
        functions_free(fresh);
        PyErr_NoMemory();
        return NULL;
    }
    size_t slot = kept_slot(fresh);
    if (kept[slot]) {
        functions_free(fresh);
        return kept[slot];
    }
    kept_count++;
    return kept[slot] = fresh;
}

/* The function of a code object, NULL when it is met for the first time. */
const cyp_function *functions_known(PyCodeObject *code) {
    void *found = NULL;
    return get_code_extra((PyObject *)code, extra, &found) ? NULL : found;
}

/* The function of a code object; described when first met. NULL without memory, or with an exception set. */
const cyp_function *functions_of_code(PyCodeObject *code, PyObject *globals) {
    const cyp_function *found = functions_known(code);
    if (found || PyErr_Occurred()) return found;
    cyp_function *described = describe_code(code, globals);
    if (described) described = keep(described);
    if (described && !set_code_extra((PyObject *)code, extra, described)) return described;
    if (described) PyErr_NoMemory();    /* the interpreter sets none (Objects/codeobject.c, _PyCode_SetExtra) */
    functions_forgive_memory();
    return NULL;
}
