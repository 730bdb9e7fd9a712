/* Greenlets: each has a stack of its own on one thread. greenlet.settrace tells of each switch; the thread's place in its tree
 * is kept with the greenlet that is left, and the place of the one that goes on is taken up again. A greenlet that begins stands
 * below the call that first switched to it. The GIL is held throughout. */
#include "runtime.h"

#include <string.h>

#define PATIENCE 100000     /* so many events of the program after it began to import greenlet, that has failed */

/* Where a greenlet was when it was left. Thread and generation say whether the node is still there. */
typedef struct {
    unsigned serial, generation;
    cyp_node *node;
} place;

static PyObject *tracer;        /* our function, as the module has it */
static PyObject *places;        /* the address of a greenlet -> the bytes of its place */
static int expected;            /* how many more events greenlet is looked for; 0: not at all */

int greenlets_init(PyObject *module) {
    places = PyDict_New();
    tracer = PyObject_GetAttrString(module, "_greenlet_switched");
    return places && tracer ? 0 : -1;
}

PyObject *greenlets_expect(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    expected = PATIENCE;
    thread_news++;
    Py_RETURN_NONE;
}

/* A recording begins: places of an earlier one are worth nothing. */
void greenlets_begin(void) {
    PyObject *modules = PyImport_GetModuleDict();
    PyDict_Clear(places);
    if (modules && PyDict_GetItemString(modules, "greenlet")) expected = PATIENCE;
}

/* The function of greenlet with this name; NULL, without an exception, before it is there. */
static PyObject *function_of_greenlet(const char *name) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet") : NULL;
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyErr_Clear();
    return function;
}

/* Has the switches of the calling thread reported. False when that is to be tried again. A tracer of the program's own stays;
   what it hides is then noticed where functions are left. */
bool greenlets_join(thread_state *thread) {
    if (!expected || thread->greenlets_joined) return true;
    PyObject *set = function_of_greenlet("settrace");
    if (!set) return --expected == 0;
    thread->greenlets_joined = true;
    PyObject *before = PyObject_CallOneArg(set, tracer);
    if (before && before != Py_None && before != tracer) Py_XDECREF(PyObject_CallOneArg(set, before));
    PyErr_Clear();
    Py_XDECREF(before);
    Py_DECREF(set);
    return true;
}

/* The recording ends. On other threads our tracer stays, and does nothing. */
void greenlets_end(void) {
    PyObject *get = expected ? function_of_greenlet("gettrace") : NULL;
    PyObject *set = get ? function_of_greenlet("settrace") : NULL;
    PyObject *now = set ? PyObject_CallNoArgs(get) : NULL;
    if (now == tracer) Py_XDECREF(PyObject_CallOneArg(set, Py_None));
    PyErr_Clear();
    Py_XDECREF(now);
    Py_XDECREF(set);
    Py_XDECREF(get);
}

/* Whether the greenlet will never go on; as its base class says, whatever a class of the program's makes of it. */
static bool is_dead(PyObject *greenlet) {
    PyTypeObject *type = Py_TYPE(greenlet);
    while (type && strcmp(type->tp_name, "greenlet.greenlet")) type = type->tp_base;
    PyObject *dead = type && type->tp_dict ? PyDict_GetItemString(type->tp_dict, "dead") : NULL;
    descrgetfunc get = dead ? Py_TYPE(dead)->tp_descr_get : NULL;
    PyObject *answer = get ? get(dead, greenlet, (PyObject *)type) : NULL;
    bool is = answer == Py_True;
    Py_XDECREF(answer);
    return is;
}

static void keep_place(const thread_state *thread, PyObject *greenlet) {
    PyObject *key = PyLong_FromVoidPtr(greenlet);
    if (key && is_dead(greenlet)) {
        if (PyDict_Contains(places, key) == 1) PyDict_DelItem(places, key);
    } else if (key) {
        place here = {thread->serial, thread->generation, thread->base.node};
        PyObject *kept = PyBytes_FromStringAndSize((const char *)&here, sizeof here);
        if (kept) PyDict_SetItem(places, key, kept);
        Py_XDECREF(kept);
    }
    Py_XDECREF(key);
}

/* Where the greenlet was left; NULL when it begins. */
static cyp_node *kept_place(const thread_state *thread, PyObject *greenlet) {
    PyObject *key = PyLong_FromVoidPtr(greenlet);
    PyObject *kept = key ? PyDict_GetItem(places, key) : NULL;
    place there = {0, 0, NULL};
    if (kept) memcpy(&there, PyBytes_AS_STRING(kept), sizeof there);
    Py_XDECREF(key);
    return there.serial == thread->serial && there.generation == thread->generation ? there.node : NULL;
}

/* greenlet's tracer, called as (event, (origin, target)) on the stack of the target. One that raises would be taken away. */
PyObject *greenlets_switched(PyObject *self, PyObject *args) {
    (void)self;
    const char *event;
    PyObject *origin, *target;
    thread_state *thread = is_recording() ? threads_current() : NULL;
    if (thread && PyArg_ParseTuple(args, "s(OO)", &event, &origin, &target) && origin != target) {
        keep_place(thread, origin);
        cyp_node *goes_on = kept_place(thread, target);
        if (goes_on) tree_switch(thread, goes_on);
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}
