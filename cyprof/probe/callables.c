/* Functions written in C, as they are called: which to show, under which name. The GIL is held throughout.
 *
 * A callable that is a Python function, or whose C code lies in a probed module, is left out: it has events of its own. */
#include "runtime.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const void *key;
    const cyp_function *function;   /* NULL: not shown */
} entry;

static entry *table;            /* open addressing; keys are addresses that stay taken */
static size_t table_size, table_used;
static const void **probed;     /* load addresses of probed modules */
static size_t probed_count;
static destructor python_dealloc;   /* of instances of classes written in Python, and of nothing else */

static size_t slot_of(const void *key) {
    size_t slot = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15ull & (table_size - 1);
    while (table[slot].key && table[slot].key != key) slot = (slot + 1) & (table_size - 1);
    return slot;
}

static int grow_table(void) {
    entry *old = table;
    size_t old_size = table_size;
    entry *bigger = calloc(old_size ? old_size * 2 : 256, sizeof *bigger);
    if (!bigger) return -1;
    table = bigger;
    table_size = old_size ? old_size * 2 : 256;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].key) table[slot_of(old[i].key)] = old[i];
    free(old);
    return 0;
}

int callables_init(void) {
    PyObject *sample = PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "sample");
    if (!sample) return -1;
    python_dealloc = ((PyTypeObject *)sample)->tp_dealloc;
    Py_DECREF(sample);
    return grow_table() ? (PyErr_NoMemory(), -1) : 0;
}

static const void *load_address(const void *address) {
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

void callables_attach_module(const void *address) {
    const void *base = load_address(address);
    const void **more = realloc(probed, (probed_count + 1) * sizeof *more);
    if (!more) return;
    probed = more;
    probed[probed_count++] = base;
}

static bool is_probed(const void *address) {
    const void *base = load_address(address);
    for (size_t i = 0; i < probed_count; i++)
        if (probed[i] == base) return true;
    return false;
}

static bool is_python_class(PyTypeObject *type) { return type->tp_dealloc == python_dealloc; }

/* Splits "numpy.ndarray" and makes a function numpy:ndarray.method; `method` may be NULL. */
static const cyp_function *describe_in_type(PyTypeObject *type, const char *method) {
    const char *dot = strrchr(type->tp_name, '.');
    const char *type_name = dot ? dot + 1 : type->tp_name;
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *module_text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    PyObject *name = PyUnicode_FromFormat(method ? "%s.%s" : "%s", type_name, method);
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    const cyp_function *function = NULL;
    PyErr_Clear();
    if (text) function = functions_new(module_text ? module_text : "", text, "", 0, CYP_KIND_BUILTIN, CYP_LANGUAGE_C);
    Py_XDECREF(name);
    Py_XDECREF(module);
    return function;
}

/* An object with a name of its own: a ufunc, a dispatcher of numpy's, a function of an unprobed Cython module. */
static const cyp_function *describe_object(PyObject *callable) {
    PyObject *name = PyObject_GetAttrString(callable, "__qualname__");
    if (!name || !PyUnicode_Check(name)) {
        PyErr_Clear();
        Py_XDECREF(name);
        name = PyObject_GetAttrString(callable, "__name__");
    }
    PyErr_Clear();
    PyObject *module = PyObject_GetAttrString(callable, "__module__");
    PyErr_Clear();
    const char *name_text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const char *module_text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    /* ufuncs have no module; their type's is the one that matters to a reader. */
    const char *type_name = Py_TYPE(callable)->tp_name;
    const char *dot = strchr(type_name, '.');
    char type_module[64] = "";
    if (!module_text && dot && (size_t)(dot - type_name) < sizeof type_module)
        memcpy(type_module, type_name, (size_t)(dot - type_name));
    const cyp_function *function = NULL;
    if (name_text)
        function = functions_new(module_text ? module_text : type_module, name_text, "", 0, CYP_KIND_BUILTIN, CYP_LANGUAGE_C);
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(module);
    return function;
}

/* The type that defines a bound built-in method: a subclass of it may have been asked. */
static PyTypeObject *defining_type(PyTypeObject *type, PyMethodDef *method) {
    PyObject *order = type->tp_mro;
    for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(order, i);
        for (PyMethodDef *each = base->tp_methods; each && each->ml_name; each++)
            if (each == method) return base;
    }
    return type;
}

static bool ends_process(const char *module, const char *name) {
    static const char *const names[] = {"_exit", "execv", "execve", "abort"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(module, "posix") && !strcmp(name, names[i])) return true;
    return false;
}

static const cyp_function *describe_c_function(PyCFunctionObject *callable) {
    PyObject *self = callable->m_self;
    if (self && PyType_Check(self)) return describe_in_type((PyTypeObject *)self, callable->m_ml->ml_name);
    if (self && !PyModule_Check(self))
        return describe_in_type(defining_type(Py_TYPE(self), callable->m_ml), callable->m_ml->ml_name);
    PyObject *module = callable->m_module;
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    PyErr_Clear();
    if (text && !strcmp(text, "cyprof.probe._runtime")) return NULL;
    cyp_function *function = functions_new(text ? text : "", callable->m_ml->ml_name, "", 0, CYP_KIND_BUILTIN, CYP_LANGUAGE_C);
    if (function && text && ends_process(text, function->name)) function->flags |= CYP_ENDS_PROCESS;
    if (function && !strcmp(function->name, "use_tool_id")) function->flags |= CYP_TAKES_TOOL;
    if (function && !strncmp(function->name, "start_new", strlen("start_new"))) function->flags |= CYP_STARTS_THREAD;
    return function;
}

/* The types of Cython's function objects, one for each version of Cython in the process. They live as long as it does. */
#define MOST_CYTHON_TYPES 16
static PyTypeObject *cython_types[MOST_CYTHON_TYPES];
static int cython_type_count;
static PyTypeObject *last_other_type;

static bool looks_like_cython_function(PyTypeObject *type) {
    if (!strstr(type->tp_name, "cython_function")) return false;
    /* Under the limited API it is laid out differently; its type's module tells. */
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    bool limited = text && strstr(text, "limited");
    PyErr_Clear();
    Py_XDECREF(module);
    return !limited;
}

/* A function object of Cython's: laid out as a PyCMethodObject. */
static bool is_cython_function(PyObject *callable) {
    PyTypeObject *type = Py_TYPE(callable);
    for (int i = 0; i < cython_type_count; i++)
        if (cython_types[i] == type) return true;
    if (type == last_other_type) return false;
    if (cython_type_count == MOST_CYTHON_TYPES || !looks_like_cython_function(type)) {
        last_other_type = type;
        return false;
    }
    cython_types[cython_type_count++] = type;
    return true;
}

/* What is known of a callable: `key` stands for it in the table, `code` is the C code a call of it ends in; `keep` says that
   the key may be freed and used again, and must be held. */
typedef struct {
    const void *key;
    const void *code;
    bool keep;
} identity;

static bool identify(PyObject *callable, identity *found) {
    PyTypeObject *type = Py_TYPE(callable);
    *found = (identity){0};
    if (type == &PyFunction_Type) return false;
    if (PyCFunction_Check(callable) || is_cython_function(callable)) {
        PyMethodDef *method = ((PyCFunctionObject *)callable)->m_ml;
        *found = (identity){method, (const void *)method->ml_meth, false};
    } else if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type) {
        PyMethodDef *method = ((PyMethodDescrObject *)callable)->d_method;
        *found = (identity){method, (const void *)method->ml_meth, false};
    } else if (type == &PyWrapperDescr_Type) {
        *found = (identity){callable, ((PyWrapperDescrObject *)callable)->d_wrapped, true};
    } else if (PyType_Check(callable)) {
        if (is_python_class((PyTypeObject *)callable)) return false;
        *found = (identity){callable, (const void *)((PyTypeObject *)callable)->tp_new, true};
    } else {
        if (is_python_class(type) || !type->tp_call) return false;
        bool named = strstr(type->tp_name, "ufunc") || strstr(type->tp_name, "Dispatcher");
        *found = (identity){named ? (const void *)callable : (const void *)type, (const void *)type->tp_call, true};
    }
    return true;
}

static const cyp_function *describe(PyObject *callable, const identity *found) {
    PyTypeObject *type = Py_TYPE(callable);
    if (is_probed(found->code)) return NULL;
    if (is_cython_function(callable)) return describe_object(callable);
    if (PyCFunction_Check(callable)) return describe_c_function((PyCFunctionObject *)callable);
    if (type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type || type == &PyWrapperDescr_Type) {
        const char *name = PyUnicode_AsUTF8(((PyDescrObject *)callable)->d_name);
        PyErr_Clear();
        return describe_in_type(((PyDescrObject *)callable)->d_type, name ? name : "?");
    }
    if (PyType_Check(callable)) return describe_in_type((PyTypeObject *)callable, NULL);
    return found->key == (const void *)callable ? describe_object(callable) : describe_in_type(type, NULL);
}

/* The callable that the attribute `name` of `self` gives, borrowed, without running any code of the program's; NULL when only
   running it would tell. */
static PyObject *look_up_method(PyObject *self, PyObject *name) {
    PyTypeObject *type = Py_TYPE(self);
    if (PyModule_Check(self)) return PyDict_GetItem(PyModule_GetDict(self), name);
    if (PyType_Check(self)) return _PyType_Lookup((PyTypeObject *)self, name);
    return type->tp_getattro == PyObject_GenericGetAttr ? _PyType_Lookup(type, name) : NULL;
}

/* Writes down what was recorded when the function is one that leaves no time to. */
static const cyp_function *before_end(const cyp_function *function) {
    if (function && CYP_UNLIKELY(function->flags & CYP_ENDS_PROCESS)) process_checkpoint(ENDED_BY_EXIT);
    return function;
}

/* The function to show for a call of `callable`, or of the attribute `callable` (a str) of `self` when that is given. NULL
   for none. Leaves a pending exception alone. */
const cyp_function *callables_function(PyObject *callable, PyObject *self) {
    identity found;
    if (self) callable = look_up_method(self, callable);
    if (callable && PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (callable && PyStaticMethod_Type.tp_dealloc == Py_TYPE(callable)->tp_dealloc) return NULL;
    if (!callable || !identify(callable, &found)) return NULL;
    size_t slot = slot_of(found.key);
    if (table[slot].key) return before_end(table[slot].function);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    /* What cannot be remembered is not shown: its end would not be known again. */
    const cyp_function *function = table_used * 2 < table_size || !grow_table() ? describe(callable, &found) : NULL;
    PyErr_Restore(type, value, traceback);
    if (table_used * 2 >= table_size) {
        CYP_STORE(recording.memory_lost, 1);
        return NULL;
    }
    slot = slot_of(found.key);
    if (found.keep) Py_INCREF((PyObject *)(uintptr_t)found.key);
    table[slot] = (entry){found.key, function};
    table_used++;
    return before_end(function);
}
