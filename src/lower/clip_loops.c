/* SPDX-License-Identifier: Apache-2.0 */
/* Ends loops where their guards leave nothing to do. A loop whose body is guarded by a * v + r >= 0 does
 * nothing in iterations in which the guard holds for no iteration of the inner loops. Where the guard is
 * about a size known only at run time, that may be most of the iterations: a row of 19 in a loop over pieces
 * of 1024. The loop then ends before them, and guards that its new end implies are dropped. Loops that are
 * shared by the threads of a group, or unrolled by the schedule, stay as they are. */
#include "lower/common/util.h"

typedef struct clipper {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    gpuc_map symbols; /* scalars of the function */
} clipper;

typedef struct guards {
    gpuc_ctx *ctx;
    gpuc_map inner;  /* variable of an inner loop -> gpuc_interval */
    gpuc_ptrs conds; /* guards around everything that the body does */
} guards;

/* Collects the loops and guards that all of the body is in. */
static void find_guards(guards *g, gpuc_stmt s)
{
    while (s) {
        if (s->kind == GPUC_STMT_FOR) {
            const gpuc_tir_for_node *n = gpuc_as_for(s);
            gpuc_interval *r = gpuc_new(g->ctx, gpuc_interval);
            gpuc_expr one = gpuc_imm_int(g->ctx, n->var->dtype, 1);
            *r = (gpuc_interval){n->min, gpuc_sub(g->ctx, gpuc_add(g->ctx, n->min, n->extent), one)};
            gpuc_map_set(&g->inner, n->var, r);
            s = n->body;
        } else if (s->kind == GPUC_STMT_IF && !gpuc_as_if(s)->else_body) {
            gpuc_lower_conjuncts(g->ctx, gpuc_as_if(s)->cond, &g->conds);
            s = gpuc_as_if(s)->then_body;
        } else {
            return;
        }
    }
}

static bool is_no_symbol(gpuc_expr e, void *arg)
{
    return !gpuc_map_has(arg, e);
}

static bool is_not_inner(gpuc_expr e, void *arg)
{
    return e->kind != GPUC_EXPR_VAR || !gpuc_map_has(arg, e);
}

/* The first iteration from which on x < y (or x <= y) holds for no iteration of the inner loops; NULL: there
 * is none, or it is not known. */
static gpuc_expr end_of(clipper *t, const guards *g, const gpuc_tir_for_node *n, gpuc_expr cond)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr coeff, rest, var = n->var;
    int64_t a;
    if (cond->kind != GPUC_EXPR_OP || !gpuc_lower_is_size(ctx, cond)) return NULL;
    const gpuc_tir_opexpr_node *o = gpuc_as_op(cond);
    if ((o->op != GPUC_TIR_LT && o->op != GPUC_TIR_LE) || !gpuc_dtype_equal(o->a[0]->dtype, var->dtype))
        return NULL;
    if (gpuc_tir_visit(ctx, cond, is_no_symbol, &t->symbols)) return NULL;
    gpuc_expr e = gpuc_sub(ctx, o->a[1], o->a[0]), one = gpuc_imm_int(ctx, var->dtype, 1);
    if (o->op == GPUC_TIR_LT) e = gpuc_sub(ctx, e, one);
    e = gpuc_arith_simplify(t->a, e);
    if (!gpuc_arith_linear(t->a, e, 1, &var, &coeff, &rest) || !gpuc_expr_is_int(coeff, &a) || a >= 0 ||
        a == INT64_MIN)
        return NULL;
    gpuc_expr max = gpuc_arith_eval_interval(t->a, rest, &g->inner).max;
    if (!max || !gpuc_tir_visit(ctx, max, is_not_inner, (void *)&g->inner) ||
        gpuc_tir_uses_var(ctx, max, var))
        return NULL;
    gpuc_expr last = gpuc_floordiv_(ctx, max, gpuc_imm_int(ctx, var->dtype, -a));
    return gpuc_arith_simplify(t->a, gpuc_add(ctx, last, one));
}

/* The body without the guards that now hold in all iterations. */
static gpuc_stmt without_guards(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_map *hold)
{
    if (!s) return s;
    if (s->kind == GPUC_STMT_FOR) {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_stmt body = without_guards(ctx, n->body, hold);
        return body == n->body ? s : gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    }
    if (s->kind != GPUC_STMT_IF || gpuc_as_if(s)->else_body) return s;
    gpuc_ptrs conds = {0};
    gpuc_expr left = NULL;
    gpuc_lower_conjuncts(ctx, gpuc_as_if(s)->cond, &conds);
    for (size_t i = 0; i < conds.count; i++)
        if (!gpuc_map_has(hold, conds.at[i]))
            left = left ? gpuc_and(ctx, left, (gpuc_expr)conds.at[i]) : (gpuc_expr)conds.at[i];
    gpuc_stmt body = without_guards(ctx, gpuc_as_if(s)->then_body, hold);
    return left ? gpuc_tir_if_(ctx, left, body, NULL) : body;
}

static gpuc_stmt clip(clipper *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    guards g = {.ctx = ctx};
    gpuc_map hold; /* guards that the end of the loop implies */
    gpuc_expr end = gpuc_arith_simplify(t->a, gpuc_add(ctx, n->min, n->extent)), all = end;
    gpuc_map_init(&g.inner, ctx);
    gpuc_map_init(&hold, ctx);
    find_guards(&g, n->body);
    for (size_t i = 0; i < g.conds.count; i++) {
        gpuc_expr cond = g.conds.at[i], own = end_of(t, &g, n, cond);
        if (!own || !gpuc_dtype_equal(own->dtype, end->dtype)) continue;
        end = gpuc_min(ctx, end, own);
        if (gpuc_tir_visit(ctx, cond, is_not_inner, &g.inner)) gpuc_map_set(&hold, cond, (void *)cond);
    }
    if (end == all) return NULL;
    gpuc_expr zero = gpuc_imm_int(ctx, n->extent->dtype, 0);
    gpuc_expr extent = gpuc_arith_simplify(t->a, gpuc_max(ctx, gpuc_sub(ctx, end, n->min), zero));
    if (extent == n->extent) return NULL;
    return gpuc_tir_for_(ctx, n->var, n->min, extent, n->loop, n->tag, without_guards(ctx, n->body, &hold));
}

static gpuc_stmt clip_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    clipper *t = (clipper *)m;
    gpuc_stmt clipped = NULL;
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->loop == GPUC_LOOP_SERIAL)
        clipped = clip(t, gpuc_as_for(s));
    if (clipped) s = clipped;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

gpuc_tir_func *gpuc_lower_clip_loops(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    if (f->num_scalars == 0 || gpuc_lower_is_teamwork(p->ctx, f->body)) return f;
    clipper t = {.a = gpuc_lower_analyzer(p->ctx, f)};
    gpuc_map_init(&t.symbols, p->ctx);
    for (int i = 0; i < f->num_scalars; i++) gpuc_map_set(&t.symbols, f->scalars[i], (void *)f->scalars[i]);
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, clip_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
