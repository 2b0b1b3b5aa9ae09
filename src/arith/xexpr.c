/* SPDX-License-Identifier: Apache-2.0 */
/* Loop IR to the size expressions of the ABI. */
#include "arith/private.h"

enum { MAX_INSTRUCTIONS = 4096, MAX_NESTING = GPUC_XEXPR_MAX_STACK };

typedef struct emitter {
    gpuc_ctx *ctx;
    gpuc_expr whole;
    int num_symbols;
    const gpuc_expr *symbols;
    gpuc_xinstr *code;
    size_t count, capacity;
    int stack, deepest, depth;
} emitter;

GPUC_NORETURN static void refuse(emitter *m, gpuc_expr e, const char *why)
{
    gpuc_raise(m->ctx, GPUC_UNSUPPORTED, "the size %s cannot be computed at run time: %s in %s",
               gpuc_expr_text(m->ctx, m->whole), why, gpuc_expr_text(m->ctx, e));
}

static void put(emitter *m, gpuc_xop op, int64_t value, int pops)
{
    if (m->count >= MAX_INSTRUCTIONS) refuse(m, m->whole, "too many operations");
    m->code = gpuc_ctx_grow(m->ctx, m->code, m->count, &m->capacity, sizeof *m->code);
    m->code[m->count++] = (gpuc_xinstr){.op = op, .value = value};
    m->stack += 1 - pops;
    if (m->stack > m->deepest) m->deepest = m->stack;
    if (m->deepest > GPUC_XEXPR_MAX_STACK) refuse(m, m->whole, "too deep a nesting");
}

static void emit(emitter *m, gpuc_expr e);

static void emit2(emitter *m, gpuc_xop op, gpuc_expr x, gpuc_expr y)
{
    emit(m, x);
    emit(m, y);
    put(m, op, 0, 2);
}

/* Towards zero by a positive constant: of -x where x is negative. */
static void emit_truncated(emitter *m, gpuc_expr x, gpuc_expr y, bool mod)
{
    int64_t c;
    if (!arith_const(y, &c) || c <= 0)
        refuse(m, y, "a division towards zero by what is no positive constant");
    gpuc_xop op = mod ? GPUC_XOP_FLOORMOD : GPUC_XOP_FLOORDIV;
    emit(m, x);
    put(m, GPUC_XOP_CONST, 0, 0);
    put(m, GPUC_XOP_LT, 0, 2);
    put(m, GPUC_XOP_CONST, 0, 0);
    put(m, GPUC_XOP_CONST, 0, 0);
    emit(m, x);
    put(m, GPUC_XOP_SUB, 0, 2);
    put(m, GPUC_XOP_CONST, c, 0);
    put(m, op, 0, 2);
    put(m, GPUC_XOP_SUB, 0, 2);
    emit(m, x);
    put(m, GPUC_XOP_CONST, c, 0);
    put(m, op, 0, 2);
    put(m, GPUC_XOP_SELECT, 0, 3);
}

static const struct {
    gpuc_xop op;
    bool has;
} direct[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_ADD] = {GPUC_XOP_ADD, true},
    [GPUC_TIR_SUB] = {GPUC_XOP_SUB, true},
    [GPUC_TIR_MUL] = {GPUC_XOP_MUL, true},
    [GPUC_TIR_FLOORDIV] = {GPUC_XOP_FLOORDIV, true},
    [GPUC_TIR_FLOORMOD] = {GPUC_XOP_FLOORMOD, true},
    [GPUC_TIR_MIN] = {GPUC_XOP_MIN, true},
    [GPUC_TIR_MAX] = {GPUC_XOP_MAX, true},
    [GPUC_TIR_EQ] = {GPUC_XOP_EQ, true},
    [GPUC_TIR_LT] = {GPUC_XOP_LT, true},
    [GPUC_TIR_LE] = {GPUC_XOP_LE, true},
    [GPUC_TIR_AND] = {GPUC_XOP_AND, true},
    [GPUC_TIR_OR] = {GPUC_XOP_OR, true},
};

static void emit_operator(emitter *m, gpuc_expr e)
{
    gpuc_tir_op op = arith_op_of(e);
    gpuc_expr x = arith_arg(e, 0), y = arith_arg(e, 1);
    int64_t c;
    if (op == GPUC_TIR_ADD && arith_const(y, &c) && c < 0 && c != INT64_MIN) {
        emit(m, x);
        put(m, GPUC_XOP_CONST, -c, 0);
        put(m, GPUC_XOP_SUB, 0, 2);
    } else if (direct[op].has) {
        emit2(m, direct[op].op, x, y);
    } else if (op == GPUC_TIR_NE) {
        emit2(m, GPUC_XOP_EQ, x, y);
        put(m, GPUC_XOP_NOT, 0, 1);
    } else if (op == GPUC_TIR_NOT) {
        emit(m, x);
        put(m, GPUC_XOP_NOT, 0, 1);
    } else if (op == GPUC_TIR_SELECT || op == GPUC_TIR_IF_THEN_ELSE) {
        emit(m, x);
        emit(m, y);
        emit(m, arith_arg(e, 2));
        put(m, GPUC_XOP_SELECT, 0, 3);
    } else if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) {
        emit_truncated(m, x, y, op == GPUC_TIR_MOD);
    } else if (op == GPUC_TIR_ABS) {
        emit(m, x);
        put(m, GPUC_XOP_CONST, 0, 0);
        emit(m, x);
        put(m, GPUC_XOP_SUB, 0, 2);
        put(m, GPUC_XOP_MAX, 0, 2);
    } else if (op == GPUC_TIR_SHL && arith_const(y, &c) && c >= 0 && c < 62) {
        emit(m, x);
        put(m, GPUC_XOP_CONST, INT64_C(1) << c, 0);
        put(m, GPUC_XOP_MUL, 0, 2);
    } else if (op == GPUC_TIR_SHR && arith_const(y, &c) && c >= 0 && c < 62) {
        emit(m, x);
        put(m, GPUC_XOP_CONST, INT64_C(1) << c, 0);
        put(m, GPUC_XOP_FLOORDIV, 0, 2);
    } else if (op == GPUC_TIR_BITAND && arith_const(y, &c) && c > 0 && (c & (c + 1)) == 0 && c < INT64_MAX) {
        emit(m, x);
        put(m, GPUC_XOP_CONST, c + 1, 0);
        put(m, GPUC_XOP_FLOORMOD, 0, 2);
    } else {
        refuse(m, e, "an operator that size expressions lack");
    }
}

static void emit(emitter *m, gpuc_expr e)
{
    int64_t c;
    if (e->dtype.lanes != 1 || (!arith_is_int_type(e->dtype) && e->dtype.code != GPUC_DTYPE_BOOL))
        refuse(m, e, "something that is no integer");
    if (++m->depth > MAX_NESTING * 4) refuse(m, m->whole, "too deep a nesting");
    if (arith_const(e, &c)) {
        put(m, GPUC_XOP_CONST, c, 0);
    } else if (e->kind == GPUC_EXPR_VAR) {
        int i = 0;
        while (i < m->num_symbols && m->symbols[i] != e) i++;
        if (i == m->num_symbols) refuse(m, e, "a variable that is no symbol of the program");
        put(m, GPUC_XOP_DIM, i, 0);
    } else if (e->kind == GPUC_EXPR_CAST &&
               ((const gpuc_tir_cast_node *)e)->a->dtype.code != GPUC_DTYPE_UINT &&
               (e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits >= 32)) {
        emit(m, ((const gpuc_tir_cast_node *)e)->a);
    } else if (e->kind == GPUC_EXPR_OP) {
        emit_operator(m, e);
    } else {
        refuse(m, e, "something that is no arithmetic");
    }
    m->depth--;
}

gpuc_xexpr gpuc_arith_to_xexpr(gpuc_ctx *ctx, gpuc_expr e, int num_symbols, const gpuc_expr *symbols)
{
    emitter m = {.ctx = ctx, .whole = e, .num_symbols = num_symbols, .symbols = symbols};
    emit(&m, e);
    return (gpuc_xexpr){.code = m.code, .count = (uint32_t)m.count};
}

static gpuc_expr apply(gpuc_ctx *ctx, gpuc_xop op, const gpuc_expr *a)
{
    switch (op) {
    case GPUC_XOP_ADD: return gpuc_add(ctx, a[0], a[1]);
    case GPUC_XOP_SUB: return gpuc_sub(ctx, a[0], a[1]);
    case GPUC_XOP_MUL: return gpuc_mul(ctx, a[0], a[1]);
    case GPUC_XOP_FLOORDIV: return gpuc_floordiv_(ctx, a[0], a[1]);
    case GPUC_XOP_FLOORMOD: return gpuc_floormod_(ctx, a[0], a[1]);
    case GPUC_XOP_MIN: return gpuc_min(ctx, a[0], a[1]);
    case GPUC_XOP_MAX: return gpuc_max(ctx, a[0], a[1]);
    case GPUC_XOP_EQ: return gpuc_eq(ctx, a[0], a[1]);
    case GPUC_XOP_LT: return gpuc_lt(ctx, a[0], a[1]);
    case GPUC_XOP_LE: return gpuc_le(ctx, a[0], a[1]);
    case GPUC_XOP_AND: return gpuc_and(ctx, a[0], a[1]);
    case GPUC_XOP_OR: return gpuc_or(ctx, a[0], a[1]);
    case GPUC_XOP_NOT: return gpuc_not(ctx, a[0]);
    case GPUC_XOP_SELECT: return gpuc_select(ctx, a[0], a[1], a[2]);
    case GPUC_XOP_CONST:
    case GPUC_XOP_DIM:
    case GPUC_XOP_COUNT: break;
    }
    return NULL;
}

static int operands(gpuc_xop op)
{
    return op == GPUC_XOP_CONST || op == GPUC_XOP_DIM ? 0
           : op == GPUC_XOP_NOT                       ? 1
           : op == GPUC_XOP_SELECT                    ? 3
                                                      : 2;
}

gpuc_expr gpuc_arith_from_xexpr(gpuc_ctx *ctx, gpuc_xexpr e, const gpuc_expr *symbols)
{
    gpuc_expr stack[GPUC_XEXPR_MAX_STACK] = {gpuc_int(ctx, 0)};
    int top = 0;
    for (uint32_t i = 0; i < e.count; i++) {
        const gpuc_xinstr *x = &e.code[i];
        top -= operands(x->op);
        GPUC_CHECK(top >= 0 && top < GPUC_XEXPR_MAX_STACK);
        if (x->op == GPUC_XOP_CONST)
            stack[top] = gpuc_int(ctx, x->value);
        else if (x->op == GPUC_XOP_DIM)
            stack[top] = symbols[x->value];
        else
            stack[top] = apply(ctx, x->op, stack + top);
        top++;
    }
    return stack[0];
}
