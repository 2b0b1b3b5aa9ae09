/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the threads of a group can be lanes of vectors: what a stretch between barriers loads and stores
 * lies side by side for neighbouring threads, and they all take the same way through it. */
#include "lower/common/util.h"

typedef struct lanes {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    gpuc_expr var;
    gpuc_ptrs varying; /* let variables whose values differ between threads */
    gpuc_ptrs own;     /* buffers of one thread */
    bool fit;
} lanes;

static bool varies(const lanes *l, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_VAR)) return false;
    if (gpuc_tir_uses_var(l->ctx, e, l->var)) return true;
    for (size_t i = 0; i < l->varying.count; i++)
        if (gpuc_tir_uses_var(l->ctx, e, l->varying.at[i])) return true;
    return false;
}

/* The distance between the elements of neighbouring threads; -1: not known. */
static int64_t stride(const lanes *l, gpuc_expr index)
{
    gpuc_expr coeff, rest;
    int64_t step;
    if (!varies(l, index)) return 0;
    bool linear = gpuc_arith_linear(l->a, index, 1, &l->var, &coeff, &rest) && !varies(l, rest);
    return linear && gpuc_expr_is_int(coeff, &step) ? step : -1;
}

static bool is_word(gpuc_dtype t)
{
    return t.bits == 32 && t.lanes == 1;
}

static bool check_node(gpuc_expr e, void *arg)
{
    lanes *l = arg;
    bool good = e->dtype.lanes == 1 && !(e->flags & GPUC_TIR_HAS_EFFECT);
    if (good && e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        int64_t step = stride(l, n->index[0]);
        good = step == 0 || (step == 1 && is_word(n->buffer->dtype));
    }
    if (good && e->kind == GPUC_EXPR_CALL)
        good = !varies(l, e) || gpuc_as_call(e)->fn == GPUC_TIR_CALL_REINTERPRET;
    if (good && e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == GPUC_TIR_IF_THEN_ELSE)
        good = !varies(l, gpuc_as_op(e)->a[0]);
    l->fit = l->fit && good;
    return l->fit;
}

static bool check(lanes *l, gpuc_expr e)
{
    gpuc_tir_visit(l->ctx, e, check_node, l);
    return l->fit;
}

static bool walk(lanes *l, gpuc_stmt s);

static bool walk_for(lanes *l, const gpuc_tir_for_node *n)
{
    bool plain = n->loop == GPUC_LOOP_SERIAL || n->loop == GPUC_LOOP_UNROLLED;
    if (!plain || varies(l, n->min) || varies(l, n->extent)) return false;
    if (!check(l, n->min) || !check(l, n->extent)) return false;
    size_t mark = gpuc_arith_analyzer_mark(l->a);
    gpuc_arith_analyzer_bind(l->a, n->var, n->min, n->extent);
    bool good = walk(l, n->body);
    gpuc_arith_analyzer_rewind(l->a, mark);
    return good;
}

static bool walk_store(lanes *l, const gpuc_tir_store_node *n)
{
    bool own = false;
    for (size_t i = 0; i < l->own.count; i++) own = own || l->own.at[i] == n->buffer;
    return is_word(n->buffer->dtype) && check(l, n->value) && check(l, n->index[0]) &&
           stride(l, n->index[0]) == (own ? 0 : 1);
}

static bool walk(lanes *l, gpuc_stmt s)
{
    if (!s) return true;
    switch (s->kind) {
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++)
            if (!walk(l, gpuc_as_seq(s)->at[i])) return false;
        return true;
    case GPUC_STMT_FOR: return walk_for(l, gpuc_as_for(s));
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        return !varies(l, n->cond) && check(l, n->cond) && walk(l, n->then_body) && walk(l, n->else_body);
    }
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        if (!check(l, n->value)) return false;
        if (varies(l, n->value)) gpuc_ptrs_push(l->ctx, &l->varying, n->var);
        return walk(l, n->body);
    }
    case GPUC_STMT_ALLOC:
        gpuc_ptrs_push(l->ctx, &l->own, gpuc_as_alloc(s)->buffer);
        return walk(l, gpuc_as_alloc(s)->body);
    case GPUC_STMT_STORE: return walk_store(l, gpuc_as_store(s));
    case GPUC_STMT_EVAL:
    case GPUC_STMT_ATTR:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return false;
}

bool gpuc_lower_fits_lanes(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_stmt s, gpuc_expr thread)
{
    lanes l = {.ctx = ctx, .a = a, .var = thread, .fit = true};
    return walk(&l, s) && l.fit;
}
