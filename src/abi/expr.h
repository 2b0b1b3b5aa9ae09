/* SPDX-License-Identifier: Apache-2.0 */
/* Size expressions: postfix over int64, checked for overflow. One form serves shapes, slot sizes,
 * launch sizes, scalar arguments and assertions. Division by zero and overflow are errors, except in the
 * operand that a select does not take, or right of an && or || that its left side decides. */
#ifndef GPUC_ABI_EXPR_H
#define GPUC_ABI_EXPR_H

#include "base/arena.h"
#include "base/buf.h"

typedef enum gpuc_xop {
    GPUC_XOP_CONST, /* push value */
    GPUC_XOP_DIM,   /* push symbol number value */
    GPUC_XOP_ADD,
    GPUC_XOP_SUB,
    GPUC_XOP_MUL,
    GPUC_XOP_FLOORDIV,
    GPUC_XOP_FLOORMOD,
    GPUC_XOP_MIN,
    GPUC_XOP_MAX,
    GPUC_XOP_EQ, /* 1 or 0 */
    GPUC_XOP_LT,
    GPUC_XOP_LE,
    GPUC_XOP_AND,
    GPUC_XOP_OR,
    GPUC_XOP_NOT,
    GPUC_XOP_SELECT, /* cond a b: a if cond != 0 else b */
    GPUC_XOP_COUNT
} gpuc_xop;

typedef struct gpuc_xinstr {
    gpuc_xop op;
    int64_t value; /* of CONST and DIM */
} gpuc_xinstr;

typedef struct gpuc_xexpr {
    const gpuc_xinstr *code; /* NULL and count 0: the constant 0 */
    uint32_t count;
} gpuc_xexpr;

#define GPUC_XEXPR_MAX_STACK 64

/* Checks stack discipline, depth and symbol numbers; evaluation of a verified expression can
 * fail by overflow or division only. */
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_verify(gpuc_xexpr e, uint32_t num_symbols);
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_eval(gpuc_xexpr e, const int64_t *symbols, uint32_t num_symbols,
                                               int64_t *out);
/* True if it has no DIM; then *out is its value. */
bool gpuc_abi_xexpr_is_const(gpuc_xexpr e, int64_t *out);

void gpuc_abi_xexpr_write(gpuc_buf *buf, gpuc_xexpr e);
/* Reads into the arena. Verifies. */
GPUC_NODISCARD gpuc_status gpuc_abi_xexpr_read(gpuc_reader *r, gpuc_arena *arena, uint32_t num_symbols,
                                               gpuc_xexpr *out);
/* Infix text such as "(n + 63) // 64"; names may be NULL, then "s0". */
void gpuc_abi_xexpr_print(gpuc_buf *buf, gpuc_xexpr e, const char *const *symbol_names);

#endif
