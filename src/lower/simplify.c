/* SPDX-License-Identifier: Apache-2.0 */
/* Simplifies expressions and statements; drops empty loops, decided branches and lets of trivial values. */
#include "lower/common/util.h"

typedef struct simplifier {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    bool together; /* a reduction over threads: its condition says which threads store */
} simplifier;

static gpuc_expr simple(simplifier *t, gpuc_expr e)
{
    return gpuc_simplify(t->a, e);
}

static gpuc_stmt simplify_for(simplifier *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr min = simple(t, n->min), extent = simple(t, n->extent);
    int64_t count;
    bool known = gpuc_expr_is_int(extent, &count);
    if (known && count <= 0) return NULL;
    if (known && count == 1 && n->loop != GPUC_LOOP_THREAD)
        return gpuc_tir_map_stmt(&t->m, gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &min));
    size_t mark = gpuc_analyzer_mark(t->a);
    gpuc_analyzer_bind(t->a, n->var, min, extent);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_analyzer_rewind(t->a, mark);
    if (min == n->min && extent == n->extent && body == n->body) return &n->base;
    return gpuc_tir_for_(ctx, n->var, min, extent, n->loop, n->tag, body);
}

static gpuc_stmt simplify_if(simplifier *t, const gpuc_tir_if_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr cond = simple(t, n->cond);
    if (gpuc_tir_is_const(cond, 1)) return gpuc_tir_map_stmt(&t->m, n->then_body);
    if (gpuc_tir_is_const(cond, 0)) return gpuc_tir_map_stmt(&t->m, n->else_body);
    bool fact = !(cond->flags & GPUC_TIR_HAS_LOAD) && !t->together;
    size_t mark = gpuc_analyzer_mark(t->a);
    if (fact) gpuc_analyzer_assume(t->a, cond);
    gpuc_stmt then_body = gpuc_tir_map_stmt(&t->m, n->then_body);
    gpuc_analyzer_rewind(t->a, mark);
    if (fact && n->else_body) gpuc_analyzer_assume(t->a, gpuc_not(ctx, cond));
    gpuc_stmt else_body = gpuc_tir_map_stmt(&t->m, n->else_body);
    gpuc_analyzer_rewind(t->a, mark);
    if (cond == n->cond && then_body == n->then_body && else_body == n->else_body) return &n->base;
    return gpuc_tir_if_(ctx, cond, then_body, else_body);
}

/* if (c) x; if (c) y; is if (c) { x; y } when c reads no memory. */
static gpuc_stmt join_ifs(gpuc_ctx *ctx, gpuc_stmt s)
{
    if (!s || s->kind != GPUC_STMT_SEQ) return s;
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, n->n);
    int filled = 0;
    for (int i = 0; i < n->n; i++) {
        gpuc_stmt last = filled ? at[filled - 1] : NULL, next = n->at[i];
        bool both = last && last->kind == GPUC_STMT_IF && next->kind == GPUC_STMT_IF;
        if (both && gpuc_as_if(last)->cond == gpuc_as_if(next)->cond &&
            !(gpuc_as_if(last)->cond->flags & GPUC_TIR_HAS_LOAD)) {
            const gpuc_tir_if_node *x = gpuc_as_if(last), *y = gpuc_as_if(next);
            at[filled - 1] = gpuc_tir_if_(ctx, x->cond, gpuc_tir_seq2(ctx, x->then_body, y->then_body),
                                          gpuc_tir_seq2(ctx, x->else_body, y->else_body));
        } else {
            at[filled++] = next;
        }
    }
    return filled == n->n ? s : gpuc_tir_seq(ctx, filled, at);
}

static gpuc_stmt simplify_let(simplifier *t, const gpuc_tir_let_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr value = simple(t, n->value);
    bool trivial =
        value->kind == GPUC_EXPR_VAR || value->kind == GPUC_EXPR_INT || value->kind == GPUC_EXPR_FLOAT;
    if (trivial) return gpuc_tir_map_stmt(&t->m, gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &value));
    if (!gpuc_tir_stmt_uses_var(ctx, n->body, n->var))
        return gpuc_tir_seq2(ctx, gpuc_tir_eval(ctx, value), gpuc_tir_map_stmt(&t->m, n->body));
    size_t mark = gpuc_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, &n->base);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_analyzer_rewind(t->a, mark);
    return value == n->value && body == n->body ? &n->base : gpuc_tir_let(ctx, n->var, value, body);
}

static gpuc_stmt simplify_store(simplifier *t, const gpuc_tir_store_node *n)
{
    gpuc_expr few[GPUC_LOWER_FEW], *index = gpuc_lower_indices(t->m.ctx, n->n, few);
    gpuc_expr value = simple(t, n->value);
    bool same = value == n->value;
    for (int i = 0; i < n->n; i++) {
        index[i] = simple(t, n->index[i]);
        same = same && index[i] == n->index[i];
    }
    return same ? &n->base : gpuc_tir_store(t->m.ctx, n->buffer, n->n, index, value);
}

static gpuc_stmt simplify_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    simplifier *t = (simplifier *)m;
    switch (s->kind) {
    case GPUC_STMT_FOR: return simplify_for(t, gpuc_as_for(s));
    case GPUC_STMT_STORE: return simplify_store(t, gpuc_as_store(s));
    case GPUC_STMT_IF: return simplify_if(t, gpuc_as_if(s));
    case GPUC_STMT_LET: return simplify_let(t, gpuc_as_let(s));
    case GPUC_STMT_EVAL: {
        gpuc_expr value = simple(t, gpuc_as_eval(s)->value);
        return value == gpuc_as_eval(s)->value ? s : gpuc_tir_eval(m->ctx, value);
    }
    case GPUC_STMT_SEQ: return join_ifs(m->ctx, gpuc_tir_map_stmt_children(m, s));
    case GPUC_STMT_ALLOC: return gpuc_tir_map_stmt_children(m, s);
    case GPUC_STMT_ATTR:
        t->together = gpuc_lower_is_allreduce(s);
        s = gpuc_tir_map_stmt_children(m, s);
        t->together = false;
        return s;
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

gpuc_tir_func *gpuc_lower_simplify(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    simplifier t = {.a = gpuc_lower_analyzer(p->ctx, f)};
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, simplify_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
