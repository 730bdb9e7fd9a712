/* What threads are called: in Python, else by the system, else by what they are. */
#include "runtime.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_TRIES 64

unsigned thread_news = 1;

/* The first line of a file of /proc; "" without one. No malloc: a process that dies asks too. */
static void read_line(const char *path, char *line, size_t size) {
    line[0] = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t length = read(file, line, size - 1);
    close(file);
    line[length > 0 ? length : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

/* The name that the system has for a running thread; "" where it is the process's own, which threads begin with. `name` has
   room for THREAD_NATIVE_NAME bytes. */
void thread_read_native_name(const thread_state *thread, char *name) {
    char path[64], of_process[THREAD_NATIVE_NAME];
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", thread->tid);
    read_line(path, name, THREAD_NATIVE_NAME);
    read_line("/proc/self/comm", of_process, sizeof of_process);
    if (!strcmp(name, of_process)) name[0] = 0;
}

/* What the profile calls the thread. A name of Python's that says nothing gives way to the system's. */
void thread_shown_name(const thread_state *thread, char *name, size_t size) {
    char native[THREAD_NATIVE_NAME] = "";
    bool named = thread->name[0] && (thread->merged || strncmp(thread->name, "Dummy-", 6));
    if (!named && !thread->worker) {
        if (thread->ended) snprintf(native, sizeof native, "%s", thread->native_name);
        else thread_read_native_name(thread, native);
    }
    if (named) snprintf(name, size, "%s", thread->name);
    else if (thread->tid == (long)getpid()) snprintf(name, size, "MainThread");
    else if (native[0]) snprintf(name, size, "%s", native);
    else if (thread->name[0]) snprintf(name, size, "%s", thread->name);
    else snprintf(name, size, thread->worker ? "OpenMP worker %d" : "thread %d", thread->id);
}

/* Takes the thread's name from the threading module without running any Python code; false where it is not there. */
static bool find_name(thread_state *thread) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(thread->ident);
    PyObject *found = active && ident && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL;
    PyObject *name = found ? PyObject_GetAttrString(found, "_name") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text && strcmp(text, thread->name)) {
        sigset_t signals;
        registry_enter(&signals);   /* the watcher may be writing it down */
        snprintf(thread->name, sizeof thread->name, "%s", text);
        registry_leave(&signals);
    }
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(ident);
    Py_XDECREF(active);
    return text != NULL;
}

/* Finds out what has changed for the calling thread, at an event of its own. A thread enters itself in the threading module a
   few calls after its start. The GIL is held. */
void thread_take_notice(thread_state *thread) {
    unsigned news = thread_news;
    bool named = find_name(thread) || ++thread->name_tries >= NAME_TRIES;
    if (!greenlets_join(thread) || !named) return;
    thread->news_seen = news;
    thread->name_tries = 0;
}
