/* What the code that Cython generates calls: its tracing macros, given our meaning.
 *
 * Stands after probe.h in a probed module. The names and arguments of the macros are those that Cython 3.1 to 3.3 write
 * (Cython/Compiler/Code.py, put_trace_*; stock meaning in Cython/Utility/Profile.c). Before it, the module defines
 *     static const char cyp_module[];            its dotted name
 *     static const char *const cyp_files[];      its source files, absolute
 *     CYP_MODULE_FUNCTION(file, line)            its body
 * and after the opening brace of each of its functions stands CYP_FUNCTION(...).
 */
#ifndef CYP_CYTHON_H
#define CYP_CYTHON_H

/* Describes the C function it stands in. Local names hide those of the module's body, which is the function meant where no
   CYP_FUNCTION stands. */
#define CYP_FUNCTION(name_, kind_, flags_, file_, line_)                                    \
    static const char cyp_name[] CYP_UNUSED = name_;                                        \
    enum { cyp_kind = (kind_), cyp_flags = (flags_), cyp_file = (file_), cyp_first_line = (line_) };
#define CYP_MODULE_FUNCTION(file_, line_) CYP_FUNCTION("<module>", CYP_KIND_MODULE, CYP_PROPAGATES, file_, line_)

#define CYP_DECLARE(line_count_, places_)                                                   \
    static const cyp_function cyp_function_here = {                                         \
        cyp_module, cyp_name, cyp_files, cyp_file, cyp_first_line, cyp_kind, CYP_LANGUAGE_CYTHON, cyp_flags,  \
        line_count_, places_};                                                              \
    __attribute__((cleanup(cyp_leave))) cyp_frame cyp_frame_here = CYP_FRAME(NULL, NULL, NULL);      \
    cyp_frame *const cyp_at CYP_UNUSED = &cyp_frame_here;

#define __Pyx_TraceDeclarationsFunc CYP_DECLARE(0, NULL)
#define __Pyx_TraceDeclarationsGen CYP_DECLARE(0, NULL)
#define __Pyx_TraceFrameInit(codeobj)
#define __Pyx_TraceStartFunc(funcname, srcfile, firstlineno, offset, nogil, skip_event, goto_error) \
    do {                                                                                    \
        if (cyp_kind == CYP_KIND_MODULE) cyp_attach();                                      \
        cyp_enter(cyp_at, &cyp_function_here, 0);                                           \
    } while (0)
/* A generator begins with None; closed, thrown into or sent something before its first step, it never does. */
#define __Pyx_TraceStartGen(funcname, srcfile, firstlineno, offset, nogil, skip_event, goto_error) \
    do {                                                                                    \
        if (__pyx_sent_value == Py_None) cyp_enter(cyp_at, &cyp_function_here, 0);                     \
    } while (0)
#define __Pyx_TraceResumeGen(funcname, srcfile, firstlineno, offset, goto_error)            \
    cyp_enter(cyp_at, &cyp_function_here, 1)
#define __Pyx_TraceYield(result, offset, goto_error) do {} while (0)
/* With no sys.monitoring, the error path of a function is told from its normal end by the word NULL alone. */
#define __Pyx_TraceReturnValue(result, offset, nogil, goto_error)                           \
    cyp_raised(cyp_at, sizeof(#result) == sizeof("NULL") && #result[0] == 'N' && (cyp_flags & CYP_PROPAGATES))
#define __Pyx_TraceReturnCValue(cresult, convert_function, offset, nogil, goto_error) do {} while (0)
#define __Pyx_TraceException(offset, reraised, fresh) do {} while (0)
#define __Pyx_TraceExceptionHandled(offset) do {} while (0)
#define __Pyx_TraceExceptionDone() do {} while (0)
#define __Pyx_TraceExceptionUnwind(offset, nogil) cyp_raised(cyp_at, (cyp_flags & CYP_PROPAGATES) != 0)
#define __Pyx_PyMonitoring_ExitScope(nogil) do {} while (0)
#define __Pyx_TurnOffSysMonitoringInParallel

#define CYP_LINE(line) cyp_at_line(cyp_at, (line), 1)
#define CYP_AT_LINE(line) cyp_at_line(cyp_at, (line), 0)

/* CYP_HOLD(variable): a number is computed here at the latest, and what is made of it not before. clang, which knows no other
   bound between arithmetic and the line probes around it, moves it from one line to another; gcc leaves it. */
#if !defined(__clang__)
#define CYP_HOLD(variable) ((void)0)
#else
#if defined(__x86_64__) || defined(__i386__)
#define CYP_FLOAT_REGISTER "+x"
#elif defined(__aarch64__)
#define CYP_FLOAT_REGISTER "+w"
#else
#define CYP_FLOAT_REGISTER "+m"
#endif
#define CYP_HOLDS(name, type, place) \
    static inline void cyp_hold##name(type *variable) { __asm__ volatile("" : place(*variable)); }
#ifdef __cplusplus
template <class T> static inline void cyp_hold(T *) {}
CYP_HOLDS(, int, "+r")
CYP_HOLDS(, unsigned, "+r")
CYP_HOLDS(, long, "+r")
CYP_HOLDS(, unsigned long, "+r")
CYP_HOLDS(, long long, "+r")
CYP_HOLDS(, unsigned long long, "+r")
CYP_HOLDS(, float, CYP_FLOAT_REGISTER)
CYP_HOLDS(, double, CYP_FLOAT_REGISTER)
#define CYP_HOLD(variable) cyp_hold(&(variable))
#else
CYP_HOLDS(_int, int, "+r")
CYP_HOLDS(_unsigned, unsigned, "+r")
CYP_HOLDS(_long, long, "+r")
CYP_HOLDS(_unsigned_long, unsigned long, "+r")
CYP_HOLDS(_long_long, long long, "+r")
CYP_HOLDS(_unsigned_long_long, unsigned long long, "+r")
CYP_HOLDS(_float, float, CYP_FLOAT_REGISTER)
CYP_HOLDS(_double, double, CYP_FLOAT_REGISTER)
static inline void cyp_hold_other(const volatile void *variable) { (void)variable; }
#define CYP_HOLD(variable)                                                                                    \
    _Generic(&(variable), int *: cyp_hold_int, unsigned *: cyp_hold_unsigned, long *: cyp_hold_long,          \
             unsigned long *: cyp_hold_unsigned_long, long long *: cyp_hold_long_long,                        \
             unsigned long long *: cyp_hold_unsigned_long_long, float *: cyp_hold_float,                      \
             double *: cyp_hold_double, default: cyp_hold_other)(&(variable))
#endif
#endif

#define CYP_DISPATCHED cyp_dispatched(cyp_at)
/* First in the block after "#pragma omp parallel": the frame of this worker, which hides its owner's. */
#define CYP_PARALLEL_WORKER                                                                 \
    __attribute__((cleanup(cyp_leave))) cyp_frame cyp_frame_worker = CYP_FRAME(NULL, NULL, NULL);    \
    cyp_enter_worker(&cyp_frame_worker, cyp_at, &cyp_function_here);                        \
    cyp_frame *const cyp_at CYP_UNUSED = &cyp_frame_worker;

#endif /* CYP_CYTHON_H */

/* Calls of C functions. Python has no event for a call made by C code, so the calls that Cython writes into a module's own
   functions go through these; calls of Python and probed functions have events of their own and pass through uncounted. */
#ifdef CYP_CALLS
static CYP_UNUSED void cyp_enter_callable(cyp_frame *frame, PyObject *callable, PyObject *self) {
    const cyp_function *function;
    cyp_thread *thread;
    frame->node = NULL;
    if (!cyp_rt) return;
    thread = cyp_known_thread();
    if (!thread || CYP_PEEK(thread->attention) == CYP_STOPPED) return;
    function = cyp_rt->c_function(callable, self);
    if (function) cyp_enter(frame, function, 0);
}

static CYP_UNUSED PyObject *cyp_leave_callable(cyp_frame *frame, PyObject *result) {
    cyp_raised(frame, result == NULL);
    cyp_leave(frame);
    return result;
}

#define CYP_CALL(callable, self, call)              \
    cyp_frame frame;                                \
    cyp_enter_callable(&frame, callable, self);     \
    return cyp_leave_callable(&frame, call);

#ifdef CYP_CALLS_FastCall
static CYP_UNUSED PyObject *cyp_PyObject_FastCall(PyObject *func, PyObject *const *args, size_t nargs) {
    CYP_CALL(func, NULL, __Pyx_PyObject_FastCall(func, args, nargs))
}
#endif
#ifdef CYP_CALLS_FastCallDict
static CYP_UNUSED PyObject *cyp_PyObject_FastCallDict(PyObject *func, PyObject *const *args, size_t nargs, PyObject *kw) {
    CYP_CALL(func, NULL, __Pyx_PyObject_FastCallDict(func, args, nargs, kw))
}
#endif
#ifdef CYP_CALLS_Call
static CYP_UNUSED PyObject *cyp_PyObject_Call(PyObject *func, PyObject *args, PyObject *kw) {
    CYP_CALL(func, NULL, __Pyx_PyObject_Call(func, args, kw))
}
#endif
#ifdef CYP_CALLS_FastCallMethod
static CYP_UNUSED PyObject *cyp_PyObject_FastCallMethod(PyObject *name, PyObject *const *args, size_t nargs) {
    CYP_CALL(name, args[0], __Pyx_PyObject_FastCallMethod(name, args, nargs))
}
#endif
#ifdef CYP_CALLS_VectorcallKwds
static CYP_UNUSED PyObject *cyp_Object_VectorcallKwds(PyObject *func, PyObject *const *args, size_t nargs, PyObject *names) {
    CYP_CALL(func, NULL, __Pyx_Object_VectorcallKwds(func, args, nargs, names))
}
#endif
#ifdef CYP_CALLS_VectorcallMethodKwds
static CYP_UNUSED PyObject *cyp_Object_VectorcallMethodKwds(
        PyObject *name, PyObject *const *args, size_t nargs, PyObject *names) {
    CYP_CALL(name, args[0], __Pyx_Object_VectorcallMethodKwds(name, args, nargs, names))
}
#endif
#ifdef CYP_CALLS_CallUnboundCMethod0
static CYP_UNUSED PyObject *cyp_CallUnboundCMethod0(__Pyx_CachedCFunction *cfunc, PyObject *self) {
    CYP_CALL(*cfunc->method_name, self, __Pyx_CallUnboundCMethod0(cfunc, self))
}
#endif
#ifdef CYP_CALLS_CallUnboundCMethod1
static CYP_UNUSED PyObject *cyp_CallUnboundCMethod1(__Pyx_CachedCFunction *cfunc, PyObject *self, PyObject *arg) {
    CYP_CALL(*cfunc->method_name, self, __Pyx_CallUnboundCMethod1(cfunc, self, arg))
}
#endif
#ifdef CYP_CALLS_CallUnboundCMethod2
static CYP_UNUSED PyObject *cyp_CallUnboundCMethod2(
        __Pyx_CachedCFunction *cfunc, PyObject *self, PyObject *arg1, PyObject *arg2) {
    CYP_CALL(*cfunc->method_name, self, __Pyx_CallUnboundCMethod2(cfunc, self, arg1, arg2))
}
#endif
#endif /* CYP_CALLS */
