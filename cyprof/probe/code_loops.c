/* The loops that a Python function has on one line each. The GIL is held.
 *
 * The compiler writes the test of a `while` twice, before the first round and behind each (CPython, Python/compile.c,
 * compiler_while; from 3.14 once, before). From Python 3.12 on a line event comes when the line changes: the rounds of a loop on
 * one line bring none. They are counted by its jumps back, and the last test of a `while` by the branch that leaves it. On 3.11 a
 * line event comes with every jump back, and none with the last test: there the tests behind the rounds are counted, by the
 * opcode event of their first instruction, and the jumps are not. */
#include "runtime.h"

#include <stdlib.h>

#include "opcode.h"

typedef struct {
    const unsigned char *code;
    int offset;                     /* of the instruction at hand */
    int argument, next_argument;
} reader;

static int next_opcode(reader *at) {
    at->offset += 2;
    int opcode = at->code[at->offset];
    at->argument = at->next_argument | at->code[at->offset + 1];
    at->next_argument = opcode == EXTENDED_ARG ? at->argument << 8 : 0;
    return opcode;
}

static reader reader_of(const unsigned char *code, int start) { return (reader){code, start - 2, 0, 0}; }

/* The loop that the instruction at `offset` is part of (on 3.11: whose test behind the rounds begins there); NULL for none. */
const code_loop *code_loops_at(const python_function *function, int offset) {
    for (int i = 0; i < function->loop_count; i++)
        if (offset >= function->loops[i].start && offset < function->loops[i].end) return &function->loops[i];
    return NULL;
}

#if PY_VERSION_HEX >= 0x030C0000

/* Bytes from a JUMP_BACKWARD to what it counts from: itself, and from 3.13 on its inline cache. */
#if PY_VERSION_HEX >= 0x030D0000
#define JUMP_SIZE 4
#else
#define JUMP_SIZE 2
#endif

static code_loop *loop_from(python_function *function, int first, int start) {
    for (int i = first; i < function->loop_count; i++)
        if (function->loops[i].start == start) return &function->loops[i];
    return NULL;
}

/* The rounds of a comprehension within a function (PEP 709) are no loop of its author's: the `depth` innermost around `offset`. */
static void drop_expression(python_function *function, int first, int offset, int depth) {
    for (; depth > 0; depth--) {
        int innermost = -1;
        for (int i = first; i < function->loop_count; i++) {
            const code_loop *loop = &function->loops[i];
            if (loop->expression || offset < loop->start || offset >= loop->end) continue;
            if (innermost < 0 || loop->start > function->loops[innermost].start) innermost = i;
        }
        if (innermost < 0) return;
        function->loops[innermost].expression = true;
    }
}

/* How many loops of a comprehension an instruction adds an item within: the list lies below one iterator for each. */
static int depth_of_append(int opcode, int argument) {
    return opcode == LIST_APPEND || opcode == SET_ADD || opcode == MAP_ADD ? argument - 1 : 0;
}

static void find_jumps(python_function *function, int first, const unsigned char *code, code_range range, int line) {
    reader at = reader_of(code, range.start);
    while (at.offset + 2 < range.end) {
        if (next_opcode(&at) != JUMP_BACKWARD) continue;
        int start = at.offset + JUMP_SIZE - 2 * at.argument, end = at.offset + 2;
        code_loop *loop = loop_from(function, first, start);
        if (loop)
            loop->end = end;
        else if (start >= range.start)
            function->loops[function->loop_count++] = (code_loop){start, end, line, false, false};
    }
}

static bool fetches_next(const unsigned char *code, int start) {
    reader at = reader_of(code, start);
    int opcode = next_opcode(&at);
    while (opcode == EXTENDED_ARG) opcode = next_opcode(&at);
    return opcode == FOR_ITER || opcode == GET_ANEXT;
}

/* Adds the loops within a range of bytecode of one line. `function->loops` has room for one in every two bytes. */
void code_loops_add(python_function *function, const unsigned char *code, code_range range, int line) {
    int first = function->loop_count;
    find_jumps(function, first, code, range, line);
    if (function->loop_count == first) return;
    reader at = reader_of(code, range.start);
    while (at.offset + 2 < range.end) {
        int opcode = next_opcode(&at);
        drop_expression(function, first, at.offset, depth_of_append(opcode, at.argument));
    }
    int kept = first;
    for (int i = first; i < function->loop_count; i++) {
        code_loop loop = function->loops[i];
        loop.tests_below = loop.start != range.start && !fetches_next(code, loop.start);
        if (!loop.expression) function->loops[kept++] = loop;
    }
    function->loop_count = kept;
}

#else

static bool jumps_back_on_test(int opcode) {
    return opcode == POP_JUMP_BACKWARD_IF_TRUE || opcode == POP_JUMP_BACKWARD_IF_FALSE || opcode == POP_JUMP_BACKWARD_IF_NONE ||
           opcode == POP_JUMP_BACKWARD_IF_NOT_NONE;
}

/* The first test ends with the jump before `first_round`, and the test behind the rounds with the one at `last_jump`: both have as
   many instructions, but for the prefixes of long arguments. Where the second begins; -1 if they are not alike. */
static int second_test(const unsigned char *code, int start, int first_round, int last_jump) {
    int length = 0, at = last_jump, begin = start;
    for (int offset = start; offset < first_round - 2; offset += 2) length += code[offset] != EXTENDED_ARG;
    while (length > 0 && (at -= 2) >= first_round) length -= code[at] != EXTENDED_ARG;
    while (code[begin] == EXTENDED_ARG) begin += 2;
    if (length || code[at] != code[begin] || code[at + 1] != code[begin + 1]) return -1;
    while (code[at - 2] == EXTENDED_ARG) at -= 2;
    return at;
}

/* Adds the `while` within a range of bytecode of one line. `function->silent` has room for one range more. */
void code_loops_add(python_function *function, const unsigned char *code, code_range range, int line) {
    int first_round = -1, last_jump = -1;
    reader at = reader_of(code, range.start);
    while (at.offset + 2 < range.end) {
        if (!jumps_back_on_test(next_opcode(&at))) continue;
        int target = at.offset + 2 - 2 * at.argument;
        if (target > range.start) first_round = target, last_jump = at.offset;
    }
    int begin = last_jump < 0 ? -1 : second_test(code, range.start, first_round, last_jump);
    if (begin < 0) return;
    function->loops[function->loop_count++] = (code_loop){begin, begin + 2, line, false, true};
    function->silent[function->silent_count++] = (code_range){first_round, first_round + 2};
}

#endif
