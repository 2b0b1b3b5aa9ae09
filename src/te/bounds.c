/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that are out of bounds, whatever the symbols are. */
#include "arith/arith.h"
#include "te/internal.h"

typedef struct read_check {
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    gpuc_analyzer *a;
    gpuc_map seen;
    int n; /* axes and reduce axes */
    gpuc_expr *vars, *coeff;
    gpuc_iter **axes;
} read_check;

/* The min or the max of an index that is linear in the axes. Both are reached. */
static gpuc_expr extreme(const read_check *c, gpuc_expr rest, bool max)
{
    gpuc_ctx *ctx = c->ctx;
    for (int i = 0; i < c->n; i++) {
        int64_t by;
        if (!gpuc_expr_is_int(c->coeff[i], &by)) return NULL;
        if (by == 0 || (by > 0) != max) continue;
        gpuc_expr last = gpuc_sub(ctx, c->axes[i]->extent, gpuc_int(ctx, 1));
        rest = gpuc_add(ctx, rest, gpuc_mul(ctx, last, c->coeff[i]));
    }
    return gpuc_arith_simplify(c->a, rest);
}

/* Whether there may be no element to compute. */
static bool may_be_empty(const read_check *c)
{
    int64_t extent;
    for (int i = 0; i < c->n; i++)
        if (!gpuc_expr_is_int(c->axes[i]->extent, &extent) || extent < 1) return true;
    return false;
}

static void check_index(read_check *c, const gpuc_tir_read_node *r, int d)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_expr rest, index = r->index[d], dim = r->tensor->shape[d];
    if (gpuc_tir_is_const(dim, 0) && may_be_empty(c)) return;
    for (int i = 0; i < c->n; i++)
        if (index == c->vars[i] && dim == c->axes[i]->extent) return;
    if (index->flags & (GPUC_TIR_HAS_TE | GPUC_TIR_HAS_LOAD)) return;
    if (!gpuc_arith_linear(c->a, index, c->n, c->vars, c->coeff, &rest)) return;
    gpuc_expr low = extreme(c, rest, false), high = extreme(c, rest, true);
    if (!low || !high) return;
    bool below = gpuc_arith_prove(c->a, gpuc_lt(ctx, low, gpuc_int(ctx, 0)));
    if (!below && !gpuc_arith_prove(c->a, gpuc_ge(ctx, high, dim))) return;
    gpuc_raise(
        ctx, GPUC_INVALID_ARGUMENT,
        "compute '%s' reads '%s' out of bounds: index %d is %s, which %s %s, and the extent is %s; guard "
        "the read with gpuc_if_then_else",
        c->op->name, r->tensor->name, d, gpuc_expr_text(ctx, index), below ? "begins at" : "goes to",
        gpuc_expr_text(ctx, below ? low : high), gpuc_expr_text(ctx, dim));
}

static void check_expr(read_check *c, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_TE) || gpuc_map_has(&c->seen, e)) return;
    gpuc_map_set(&c->seen, e, c);
    if (e->kind == GPUC_EXPR_READ) {
        const gpuc_tir_read_node *r = gpuc_as_read(e);
        for (int d = 0; d < r->n; d++) {
            check_expr(c, r->index[d]);
            check_index(c, r, d);
        }
    } else if (e->kind == GPUC_EXPR_OP) {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        const gpuc_tir_op_info *info = &gpuc_tir_ops[n->op];
        int evaluated = info->flags & GPUC_TIR_LAZY ? 1 : info->arity; /* in any case */
        for (int i = 0; i < evaluated; i++) check_expr(c, n->a[i]);
    } else if (e->kind == GPUC_EXPR_CAST) {
        check_expr(c, gpuc_as_cast(e)->a);
    } else if (e->kind == GPUC_EXPR_REDUCE && !gpuc_as_reduce(e)->condition) {
        const gpuc_tir_reduce_node *r = gpuc_as_reduce(e);
        for (int i = 0; i < r->reducer->count; i++) check_expr(c, r->source[i]);
    }
}

void gpuc_te_check_reads(gpuc_ctx *ctx, const gpuc_te_op *op)
{
    int n = op->num_axes + op->num_reduce;
    read_check c = {.ctx = ctx, .op = op, .n = n};
    gpuc_map_init(&c.seen, ctx);
    c.vars = gpuc_new_array(ctx, gpuc_expr, n);
    c.coeff = gpuc_new_array(ctx, gpuc_expr, n);
    c.axes = gpuc_new_array(ctx, gpuc_iter *, n);
    for (int i = 0; i < n; i++) {
        c.axes[i] = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        c.vars[i] = c.axes[i]->var;
        if (gpuc_tir_is_const(c.axes[i]->extent, 0)) return; /* nothing is read */
    }
    c.a = gpuc_arith_analyzer_create(ctx);
    for (int i = 0; i < op->num_outputs; i++) check_expr(&c, op->bodies[i]);
}
