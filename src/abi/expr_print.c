/* SPDX-License-Identifier: Apache-2.0 */
/* Postfix to infix without recursion: the texts of the open operands lie one after the other at the
 * end of the buffer, and an operation is written in between and around them. */
#include <string.h>

#include "abi/expr.h"

#define LONGEST_PRINTED 4096

typedef enum level {
    LEVEL_OR = 1,
    LEVEL_AND,
    LEVEL_COMPARE,
    LEVEL_ADD,
    LEVEL_MUL,
    LEVEL_UNARY,
    LEVEL_ATOM
} level;

typedef struct spelling {
    const char *text;
    level level; /* LEVEL_ATOM: a call */
    int operands;
} spelling;

static const spelling spellings[GPUC_XOP_COUNT] = {
    [GPUC_XOP_ADD] = {" + ", LEVEL_ADD, 2},      [GPUC_XOP_SUB] = {" - ", LEVEL_ADD, 2},
    [GPUC_XOP_MUL] = {" * ", LEVEL_MUL, 2},      [GPUC_XOP_FLOORDIV] = {" // ", LEVEL_MUL, 2},
    [GPUC_XOP_FLOORMOD] = {" % ", LEVEL_MUL, 2}, [GPUC_XOP_MIN] = {"min", LEVEL_ATOM, 2},
    [GPUC_XOP_MAX] = {"max", LEVEL_ATOM, 2},     [GPUC_XOP_EQ] = {" == ", LEVEL_COMPARE, 2},
    [GPUC_XOP_LT] = {" < ", LEVEL_COMPARE, 2},   [GPUC_XOP_LE] = {" <= ", LEVEL_COMPARE, 2},
    [GPUC_XOP_AND] = {" && ", LEVEL_AND, 2},     [GPUC_XOP_OR] = {" || ", LEVEL_OR, 2},
    [GPUC_XOP_NOT] = {"!", LEVEL_UNARY, 1},      [GPUC_XOP_SELECT] = {"select", LEVEL_ATOM, 3},
};

typedef struct operand {
    size_t start;
    level level;
} operand;

static void insert(gpuc_buf *buf, size_t at, const char *text)
{
    size_t n = strlen(text), end = buf->size;
    gpuc_buf_bytes(buf, text, n);
    if (buf->failed) return;
    memmove(buf->data + at + n, buf->data + at, end - at);
    memcpy(buf->data + at, text, n);
}

/* Puts the operand that ends the buffer in parentheses. */
static void parenthesize(gpuc_buf *buf, size_t start)
{
    insert(buf, start, "(");
    gpuc_buf_str(buf, ")");
}

static void write_call(gpuc_buf *buf, const spelling *s, const operand *args)
{
    for (int i = s->operands - 1; i > 0; i--) insert(buf, args[i].start, ", ");
    insert(buf, args[0].start, "(");
    insert(buf, args[0].start, s->text);
    gpuc_buf_str(buf, ")");
}

static void write_infix(gpuc_buf *buf, const spelling *s, const operand *args)
{
    size_t right = args[1].start;
    if (args[1].level <= s->level) parenthesize(buf, right);
    if (args[0].level < s->level || (s->level == LEVEL_COMPARE && args[0].level == LEVEL_COMPARE)) {
        insert(buf, right, ")");
        insert(buf, args[0].start, "(");
        right += 2;
    }
    insert(buf, right, s->text);
}

void gpuc_abi_xexpr_print(gpuc_buf *buf, gpuc_xexpr e, const char *const *symbol_names)
{
    if (e.count == 0) {
        gpuc_buf_str(buf, "0");
        return;
    }
    gpuc_status unsound = gpuc_abi_xexpr_verify(e, UINT32_MAX);
    if (unsound || e.count > LONGEST_PRINTED) {
        gpuc_buf_printf(buf, "<%s expression of %u instructions>", unsound ? "unsound" : "long", e.count);
        gpuc_status_release(unsound);
        return;
    }
    operand stack[GPUC_XEXPR_MAX_STACK];
    size_t depth = 0;
    for (uint32_t i = 0; i < e.count && !buf->failed; i++) {
        const gpuc_xinstr *x = &e.code[i];
        const spelling *s = &spellings[x->op];
        depth -= (size_t)s->operands;
        operand *top = &stack[depth++];
        if (x->op == GPUC_XOP_CONST) {
            *top = (operand){.start = buf->size, .level = x->value < 0 ? LEVEL_UNARY : LEVEL_ATOM};
            gpuc_buf_printf(buf, "%lld", (long long)x->value);
        } else if (x->op == GPUC_XOP_DIM) {
            *top = (operand){.start = buf->size, .level = LEVEL_ATOM};
            if (symbol_names)
                gpuc_buf_str(buf, symbol_names[x->value]);
            else
                gpuc_buf_printf(buf, "s%lld", (long long)x->value);
        } else if (s->level == LEVEL_ATOM) {
            write_call(buf, s, top);
            top->level = LEVEL_ATOM;
        } else if (x->op == GPUC_XOP_NOT) {
            if (top->level < LEVEL_UNARY) parenthesize(buf, top->start);
            insert(buf, top->start, "!");
            top->level = LEVEL_UNARY;
        } else {
            write_infix(buf, s, top);
            top->level = s->level;
        }
    }
}
