/* SPDX-License-Identifier: Apache-2.0 */
/* Expands virtual threads. The loop is moved down to the statements that depend on its variable, and each of
 * these is copied once per virtual thread. Statements that do not depend on it run once, and so does storage
 * that only such statements fill. Other storage inside of the loop is extended to hold the values of all
 * virtual threads. */
#include "lower/common/util.h"

enum { MAX_COPIES = 1024 };

typedef struct expander {
    gpuc_tir_mapper m;
    gpuc_expr var, min;
    int64_t extent;
    gpuc_map own;  /* variables and buffers whose values may differ between virtual threads */
    gpuc_map wide; /* buffer of one virtual thread -> buffer of all */
    bool changed, common;
} expander;

/* ---- What differs between virtual threads ---- */

static bool look_for_own(gpuc_expr e, void *arg)
{
    expander *t = arg;
    const void *what = e->kind == GPUC_EXPR_VAR    ? (const void *)e
                       : e->kind == GPUC_EXPR_LOAD ? (const void *)gpuc_as_load(e)->buffer
                                                   : NULL;
    if (what && gpuc_map_has(&t->own, what)) t->changed = true;
    return !t->changed;
}

static bool differs(expander *t, gpuc_expr e)
{
    bool before = t->changed;
    t->changed = false;
    gpuc_tir_visit(t->m.ctx, e, look_for_own, t);
    bool found = t->changed;
    t->changed = before;
    return found;
}

static void set_own(expander *t, const void *what)
{
    if (gpuc_map_has(&t->own, what)) return;
    gpuc_map_set(&t->own, what, (void *)what);
    t->changed = true;
}

/* differ: whether s runs at all differs between virtual threads. */
static void find_own(expander *t, gpuc_stmt s, bool differ)
{
    if (!s) return;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        bool from = differs(t, n->min);
        if (from) set_own(t, n->var);
        find_own(t, n->body, differ || from || differs(t, n->extent));
        return;
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        differ = differ || differs(t, n->cond);
        find_own(t, n->then_body, differ);
        find_own(t, n->else_body, differ);
        return;
    }
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) find_own(t, gpuc_as_seq(s)->at[i], differ);
        return;
    case GPUC_STMT_ALLOC: find_own(t, gpuc_as_alloc(s)->body, differ); return;
    case GPUC_STMT_ATTR: find_own(t, gpuc_as_attr(s)->body, differ); return;
    case GPUC_STMT_LET:
        if (differs(t, gpuc_as_let(s)->value)) set_own(t, gpuc_as_let(s)->var);
        find_own(t, gpuc_as_let(s)->body, differ);
        return;
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        if (differ || differs(t, n->index[0]) || differs(t, n->value)) set_own(t, n->buffer);
        return;
    }
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* ---- Storage of each virtual thread: element i of number k is at k * size + i -------------------------- */

static gpuc_expr slot(expander *t, const gpuc_tir_buffer *b, gpuc_expr index)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr number = gpuc_sub(ctx, t->var, t->min);
    gpuc_expr base = gpuc_mul(ctx, number, gpuc_cast(ctx, number->dtype, b->shape[0]));
    base = gpuc_cast(ctx, gpuc_dtype_with_lanes(index->dtype, 1), base);
    return gpuc_add(ctx, gpuc_tir_broadcast(ctx, base, index->dtype.lanes), index);
}

static gpuc_expr widen_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    expander *t = (expander *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    const gpuc_tir_buffer *wide;
    if (e->kind == GPUC_EXPR_LOAD && (wide = gpuc_map_get(&t->wide, gpuc_as_load(e)->buffer)))
        return gpuc_tir_load1(m->ctx, wide, slot(t, gpuc_as_load(e)->buffer, gpuc_as_load(e)->index[0]));
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer &&
        (wide = gpuc_map_get(&t->wide, gpuc_as_call(e)->buffer)))
        return gpuc_lower_call_on(m->ctx, e, wide,
                                  slot(t, gpuc_as_call(e)->buffer, gpuc_lower_call_index(m->ctx, e)));
    return e;
}

static gpuc_stmt widen_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    expander *t = (expander *)m;
    gpuc_ctx *ctx = m->ctx;
    if (s->kind == GPUC_STMT_ALLOC && gpuc_map_has(&t->own, gpuc_as_alloc(s)->buffer)) {
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        gpuc_expr size = gpuc_mul(ctx, b->shape[0], gpuc_imm_int(ctx, b->shape[0]->dtype, t->extent));
        gpuc_tir_buffer *wide = gpuc_lower_buffer_like(ctx, b, b->dtype, size, b->scope);
        gpuc_map_set(&t->wide, b, wide);
        gpuc_tir_mapper_forget(m);
        return gpuc_tir_alloc(ctx, wide, gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body));
    }
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    const gpuc_tir_buffer *wide = gpuc_map_get(&t->wide, n->buffer);
    return wide ? gpuc_tir_store1(ctx, wide, slot(t, n->buffer, n->index[0]), n->value) : s;
}

/* ---- Copies ---------------------------------------------------------------------------------------------- */

static gpuc_stmt copies(expander *t, gpuc_stmt s)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, t->extent);
    for (int64_t i = 0; i < t->extent; i++) {
        gpuc_expr value = gpuc_add(ctx, t->min, gpuc_imm_int(ctx, t->var->dtype, i));
        at[i] = gpuc_lower_clone(ctx, s, 1, &t->var, &value);
    }
    return gpuc_tir_seq(ctx, (int)t->extent, at);
}

static bool check_harmless(gpuc_expr e, void *arg)
{
    expander *t = arg;
    if (e == t->var || e->kind == GPUC_EXPR_LOAD) t->common = false;
    if (e->kind == GPUC_EXPR_OP && !gpuc_is_float(e->dtype)) {
        gpuc_tir_op op = gpuc_as_op(e)->op;
        bool divides =
            op == GPUC_TIR_DIV || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
        if (divides && gpuc_as_op(e)->a[1]->kind != GPUC_EXPR_INT) t->common = false;
    }
    return t->common;
}

/* Whether e is the same for all virtual threads, and harmless where a condition around it does not hold. */
static bool is_common(expander *t, gpuc_expr e)
{
    t->common = true;
    gpuc_tir_visit(t->m.ctx, e, check_harmless, t);
    return t->common;
}

/* Whether s has a loop that is the same in all virtual threads and can be moved out of a condition around
 * s. */
static bool has_common_loop(expander *t, gpuc_stmt s)
{
    if (!s) return false;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        if (!is_common(t, n->min) || !is_common(t, n->extent)) return false;
        return n->loop == GPUC_LOOP_SERIAL || has_common_loop(t, n->body);
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        return !n->else_body && is_common(t, n->cond) && has_common_loop(t, n->then_body);
    }
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++)
            if (has_common_loop(t, gpuc_as_seq(s)->at[i])) return true;
        return false;
    case GPUC_STMT_LET:
        return is_common(t, gpuc_as_let(s)->value) && has_common_loop(t, gpuc_as_let(s)->body);
    case GPUC_STMT_ALLOC: return has_common_loop(t, gpuc_as_alloc(s)->body);
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        return !gpuc_lower_is_allreduce(s) && (!n->value || is_common(t, n->value)) &&
               has_common_loop(t, n->body);
    }
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return false;
}

/* guard, if not NULL: a condition around s that differs between virtual threads. It goes into the loops that
 * they have in common: 64 loops, one for each, take llvmpipe a minute to compile, and read memory in short
 * runs. */
static gpuc_stmt expand(expander *t, gpuc_stmt s, gpuc_expr guard)
{
    gpuc_ctx *ctx = t->m.ctx;
    if (!s || (!guard && !gpuc_tir_stmt_uses_var(ctx, s, t->var))) return s;
    if (guard && !has_common_loop(t, s)) return copies(t, gpuc_tir_if_(ctx, guard, s, NULL));
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        if (gpuc_tir_uses_var(ctx, n->min, t->var) || gpuc_tir_uses_var(ctx, n->extent, t->var)) break;
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, expand(t, n->body, guard));
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        if (n->cond->flags & GPUC_TIR_HAS_LOAD) break;
        if (!gpuc_tir_uses_var(ctx, n->cond, t->var))
            return gpuc_tir_if_(ctx, n->cond, expand(t, n->then_body, guard), expand(t, n->else_body, guard));
        if (n->else_body || !has_common_loop(t, n->then_body)) break;
        return expand(t, n->then_body, n->cond);
    }
    case GPUC_STMT_SEQ: {
        const gpuc_tir_seq_node *n = gpuc_as_seq(s);
        gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, n->n);
        for (int i = 0; i < n->n; i++) at[i] = expand(t, n->at[i], guard);
        return gpuc_tir_seq(ctx, n->n, at);
    }
    case GPUC_STMT_ALLOC:
        return gpuc_tir_alloc(ctx, gpuc_as_alloc(s)->buffer, expand(t, gpuc_as_alloc(s)->body, guard));
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        if (gpuc_tir_uses_var(ctx, n->value, t->var)) break;
        return gpuc_tir_let(ctx, n->var, n->value, expand(t, n->body, guard));
    }
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        if (gpuc_lower_is_allreduce(s) || (n->value && gpuc_tir_uses_var(ctx, n->value, t->var))) break;
        return gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, expand(t, n->body, guard));
    }
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return copies(t, s);
}

static gpuc_stmt vthread_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    gpuc_ctx *ctx = m->ctx;
    s = gpuc_tir_map_stmt_children(m, s); /* inner ones first */
    if (!s || s->kind != GPUC_STMT_FOR || gpuc_as_for(s)->tag != GPUC_VTHREAD) return s;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    expander t = {.var = n->var, .min = n->min};
    if (!gpuc_expr_is_int(n->extent, &t.extent) || t.extent > MAX_COPIES)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "the virtual thread loop over '%s' runs %s times: it must be a constant of at most %d",
                   gpuc_as_var(n->var)->name, gpuc_expr_text(ctx, n->extent), MAX_COPIES);
    gpuc_tir_mapper_init(&t.m, ctx, widen_expr, widen_stmt);
    gpuc_map_init(&t.wide, ctx);
    gpuc_map_init(&t.own, ctx);
    set_own(&t, n->var);
    while (t.changed) {
        t.changed = false;
        find_own(&t, n->body, false);
    }
    return expand(&t, gpuc_tir_map_stmt(&t.m, n->body), NULL);
}

gpuc_tir_func *gpuc_lower_vthread(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_tir_mapper m;
    gpuc_tir_mapper_init(&m, p->ctx, NULL, vthread_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&m, f->body), f->stage);
}
