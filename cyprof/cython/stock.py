"""Cython's own tracing, as `profile=True` and `linetrace=True` give it, for profilers that know nothing of cyprof.

Its code generator and its C stay what they are, except where they would harm the program or the profiler that watches it:

* `raise StopIteration` in a `__next__` returns NULL without an exception, and tracing then fires an event that needs one:
  ValueError in the user's program from Python 3.13 on. The shortcut is switched off.
* A cpdef function entered past its dispatch (from its Python wrapper, by a subclass) fires a return without a call, on which
  profilers drop the wrong frame. The call is fired, and the wrapper, which is no function of the author's, is silent.
* Cython marks frames with `f_trace = None` for tracers written in C; those of `sys.settrace` call it: TypeError in the user's
  program. It is hidden from them.
* A generator that is closed or thrown into fires its start or resume with the exception set: SystemError in the user's
  program from Python 3.13 on. The exception is put aside meanwhile.
* `linetrace` goes on tracing a function that `@cython.profile(False)` excludes. Here it is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .hook import ProbeOptions, force_directives, report_modules
from .nodes import NodePatches, wrap_method

STOCK_MARK = b"cyprof-stock-1"

# Nogil functions are traced too, whatever macros the user's own settings hold. Which of Python's interfaces is used stays
# with Cython: the profilers follow the version of Python as it does.
_CONFIG = """
#undef CYTHON_PROFILE
#define CYTHON_PROFILE 1
#undef CYTHON_TRACE
#define CYTHON_TRACE 1
#undef CYTHON_TRACE_NOGIL
#define CYTHON_TRACE_NOGIL 1
"""
_MARK = f"""
#if CYTHON_PROFILE || CYTHON_TRACE
__attribute__((used)) static const char cyp_stock_mark[] = "{STOCK_MARK.decode()}";
#if !CYTHON_USE_SYS_MONITORING
#include "frameobject.h"
#if PY_VERSION_HEX >= 0x030b00a6
  #ifndef Py_BUILD_CORE
    #define Py_BUILD_CORE 1
  #endif
  #include "internal/pycore_frame.h"
#endif
/* Calls a tracer with the None that Cython put into f_trace out of its sight. */
CYTHON_UNUSED static int cyp_call_tracer(PyThreadState *tstate, PyFrameObject *frame, int what, PyObject *arg) {{
    int marked = frame->f_trace == Py_None, answer;
    if (marked) frame->f_trace = NULL;
    answer = tstate->c_tracefunc(tstate->c_traceobj, frame, what, arg);
    if (marked) {{
        if (frame->f_trace == NULL) frame->f_trace = Py_None;
        else Py_DECREF(Py_None);
    }}
    return answer;
}}
#else
/* Fires an event with the exception out of sight that a generator is resumed with. */
CYTHON_UNUSED static int cyp_fire_aside(int (*fire)(PyMonitoringState *, PyObject *, int32_t), PyMonitoringState *state,
                                        PyObject *code, int32_t offset) {{
    PyObject *thrown = PyErr_GetRaisedException();
    int answer = fire(state, code, offset);
    if (answer == -1) Py_XDECREF(thrown);
    else if (thrown) PyErr_SetRaisedException(thrown);
    return answer;
}}
#endif
#endif
"""

# Text of Profile.c, what stands in its place, and how often it is there.
_EDITS = (
    ("tstate->c_tracefunc(tstate->c_traceobj, frame, ", "cyp_call_tracer(tstate, frame, ", 2),
    ("tstate->c_tracefunc(tstate->c_traceobj, *frame, ", "cyp_call_tracer(tstate, *frame, ", 1),
    ("if (!skip_event) {", "(void) skip_event; {", 1),
    ("    return PyMonitoring_FirePyStartEvent(", "    return cyp_fire_aside(PyMonitoring_FirePyStartEvent, ", 1),
    ("    return PyMonitoring_FirePyResumeEvent(", "    return cyp_fire_aside(PyMonitoring_FirePyResumeEvent, ", 1),
    ("return skip_event ? 0 : ", "(void) skip_event; return ", 1),
)
_PROTO_TITLE = "/////////////// Profile.proto ///////////////"
_CONFIG_END = "#if CYTHON_PROFILE || CYTHON_TRACE\n#if CYTHON_USE_SYS_MONITORING\n"


def install(lines: bool, report_dir: Path) -> None:
    """Patches Cython in this process, once: each module compiled afterwards carries Cython's own tracing, line events too
    with `lines`, and writes a ModuleReport into `report_dir`."""
    # What watches lines knows no cdef function, which is no Python object, and every event in one would cost microseconds.
    passed_over = ("cdef",) if lines else ()
    patches = NodePatches(_every_function, _every_function, marked=False, passed_over=passed_over)
    patches.install()
    _replace_utility_code()
    options = ProbeOptions(lines=lines, stock=True)
    force_directives(options)
    report_modules(patches, report_dir, options, lambda text: text)
    _raise_stop_iteration()


def _every_function(_module: str, _name: str) -> bool:
    return True


def edited(profile_c: str) -> str:
    """Cython's Profile.c with the edits in it. ValueError when it is not the one they were made for."""
    text = profile_c
    for old, new, count in _EDITS:
        if text.count(old) != count:
            raise ValueError(f"{count} times {old!r} expected, {text.count(old)} found")
        text = text.replace(old, new)
    for place in (_CONFIG_END, _PROTO_TITLE):
        if text.count(place) != 1:
            raise ValueError(f"{place!r} expected once")
    text = text.replace(_CONFIG_END, _CONFIG + _CONFIG_END)
    head, title, rest = text.partition(_PROTO_TITLE)
    requirements, blank, code = rest.partition("\n\n")
    return head + title + requirements + blank + _MARK + code


def _replace_utility_code() -> None:
    from Cython.Compiler import Code

    original: Callable[[str], Any] = Code.read_utilities_hook

    def read(path: str) -> Any:
        lines = original(path)
        if path != "Profile.c":
            return lines
        return edited("".join(lines)).splitlines(keepends=True)

    Code.read_utilities_hook = read
    Code.UtilityCodeBase._utility_cache.pop("Profile.c", None)


def _raise_stop_iteration() -> None:
    from Cython.Compiler import Nodes

    def analyse(original: Any, node: Any, env: Any) -> Any:
        name = getattr(env, "name", None)
        if name != "__next__":
            return original(node, env)
        env.name = "next"
        try:
            return original(node, env)
        finally:
            env.name = name

    wrap_method(Nodes.RaiseStatNode, "analyse_expressions", analyse)
