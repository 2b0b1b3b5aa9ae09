/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces operations that the target's language lacks by arithmetic: the pass; intrinsics/ has the
 * formulas. */
#include "lower/intrinsics/intrinsics.h"

typedef struct lowering {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    const gpuc_target *target;
    const gpuc_tir_func *func;
} lowering;

static gpuc_expr lower_int_op(gpuc_intrin *x, const gpuc_tir_opexpr_node *n, const gpuc_expr *a)
{
    switch ((int)n->op) {
    case GPUC_TIR_DIV:
    case GPUC_TIR_MOD:
    case GPUC_TIR_FLOORDIV:
    case GPUC_TIR_FLOORMOD: return gpuc_lower_intrin_divide(x, n->op, n->a[0], n->a[1], a[0], a[1]);
    case GPUC_TIR_SHL:
    case GPUC_TIR_SHR: return gpuc_lower_intrin_shift(x, n->op, n->a[1], a[0], a[1]);
    }
    return NULL;
}

static gpuc_expr lower_float_op(gpuc_intrin *x, const gpuc_tir_opexpr_node *n, const gpuc_expr *a)
{
    if (n->op == GPUC_TIR_MIN || n->op == GPUC_TIR_MAX) return gpuc_lower_intrin_minmax(x, n->op, a[0], a[1]);
    if (n->op == GPUC_TIR_ISNAN) return gpuc_lower_intrin_isnan(x, a[0]);
    if (n->op == GPUC_TIR_ISINF) return gpuc_lower_intrin_isinf(x, a[0]);
    if (gpuc_tir_ops[n->op].result != GPUC_TIR_SAME) return NULL;
    return gpuc_lower_intrin_float(x, n->op, a[0], a[1]);
}

/* Languages without functions have dot products of bytes only, if any. */
static bool has_dot(const gpuc_target *t, const gpuc_tir_dot *dot)
{
    return t->language->functions || (t->dot_product && dot->bits == 8);
}

static gpuc_expr lower_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    lowering *l = (lowering *)m;
    gpuc_intrin x = {.ctx = m->ctx, .a = l->a, .target = l->target, .func = l->func};
    if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr a = gpuc_tir_map(m, gpuc_as_cast(e)->a);
        x.t = a->dtype;
        if (gpuc_is_float(a->dtype) && gpuc_is_integer(e->dtype))
            return gpuc_lower_intrin_float_to_int(&x, e->dtype, a);
        return a == gpuc_as_cast(e)->a ? e : gpuc_cast(m->ctx, e->dtype, a);
    }
    const gpuc_tir_dot *dot = e->kind == GPUC_EXPR_CALL ? gpuc_tir_dot_of(gpuc_as_call(e)->fn) : NULL;
    if (dot && !has_dot(l->target, dot)) return gpuc_tir_map(m, gpuc_tir_expand(m->ctx, e));
    if (e->kind != GPUC_EXPR_OP) return gpuc_tir_map_children(m, e);
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr a[3] = {NULL}, r = NULL;
    bool same = true;
    for (int i = 0; i < gpuc_tir_ops[n->op].arity; i++) {
        a[i] = gpuc_tir_map(m, n->a[i]);
        same = same && a[i] == n->a[i];
    }
    x.t = n->a[0]->dtype;
    if (gpuc_is_integer(x.t)) r = lower_int_op(&x, n, a);
    if (gpuc_is_float(x.t)) r = lower_float_op(&x, n, a);
    if (r) return r;
    return same ? e : gpuc_tir_make(m->ctx, n->op, a[0], a[1], a[2]);
}

/* Forgets what was mapped inside of a scope, since what is proven there does not hold outside. */
static gpuc_stmt lower_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    lowering *l = (lowering *)m;
    size_t mark = gpuc_arith_analyzer_mark(l->a);
    if (s->kind == GPUC_STMT_IF) {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        bool fact = !(n->cond->flags & GPUC_TIR_HAS_LOAD);
        gpuc_expr cond = gpuc_tir_map(m, n->cond);
        if (fact) gpuc_arith_analyzer_assume(l->a, n->cond);
        gpuc_tir_mapper_forget(m);
        gpuc_stmt then_body = gpuc_tir_map_stmt(m, n->then_body);
        gpuc_arith_analyzer_rewind(l->a, mark);
        gpuc_tir_mapper_forget(m);
        gpuc_stmt else_body = gpuc_tir_map_stmt(m, n->else_body);
        if (cond == n->cond && then_body == n->then_body && else_body == n->else_body) return s;
        return gpuc_tir_if_(m->ctx, cond, then_body, else_body);
    }
    if (s->kind == GPUC_STMT_FOR) {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_expr min = gpuc_tir_map(m, n->min), extent = gpuc_tir_map(m, n->extent);
        gpuc_lower_bind(l->a, s);
        gpuc_tir_mapper_forget(m);
        gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
        gpuc_arith_analyzer_rewind(l->a, mark);
        gpuc_tir_mapper_forget(m);
        if (min == n->min && extent == n->extent && body == n->body) return s;
        return gpuc_tir_for_(m->ctx, n->var, min, extent, n->loop, n->tag, body);
    }
    gpuc_lower_bind(l->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(l->a, mark);
    return s;
}

gpuc_tir_func *gpuc_lower_intrinsics(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    lowering l = {.a = gpuc_lower_analyzer(p->ctx, f), .target = p->target, .func = f};
    gpuc_tir_mapper_init(&l.m, p->ctx, lower_expr, lower_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&l.m, f->body), f->stage);
}
