/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread puts what it has into shared memory; then half as many threads combine two each, until one
 * value is left, which all read. Where the target has subgroups, those do the first steps (or all) in
 * registers. Barriers are thread_sync's work. Guards around a reduction go inside: all threads take part. */
#include <math.h>
#include <string.h>

#include "lower/common/util.h"

typedef struct reduction {
    gpuc_ctx *ctx;
    const gpuc_tir_reducer *reducer;
    int count;
    int64_t n;            /* values to combine */
    gpuc_expr rank, base; /* number of the thread; where the values of its group are */
    gpuc_tir_buffer **shared;
} reduction;

typedef struct reducer_pass {
    gpuc_tir_mapper m;
    gpuc_pass_ctx *p;
    const gpuc_tir_func *f;
    uint32_t subgroup_size;
} reducer_pass;

/* ---- Which threads --------------------------------------------------------------------------------------- */

typedef struct group {
    int64_t reduced, others, extent_x; /* numbers of threads */
    gpuc_expr rank, other;             /* flat numbers among them, x fastest */
    bool has_x;                        /* x is reduced */
} group;

static void add_dimension(gpuc_ctx *ctx, gpuc_expr *flat, int64_t *size, const gpuc_tir_thread *t,
                          int64_t extent)
{
    gpuc_expr term = gpuc_mul(ctx, t->var, gpuc_imm_int(ctx, t->var->dtype, *size));
    *flat = *flat ? gpuc_add(ctx, *flat, term) : term;
    *size *= extent;
}

static group split_group(reducer_pass *r, const gpuc_tir_attr_node *n)
{
    group g = {.reduced = 1, .others = 1, .extent_x = 1};
    for (int tag = GPUC_THREAD_X; tag <= GPUC_THREAD_Z; tag++)
        for (int i = 0; i < r->f->num_threads; i++) {
            const gpuc_tir_thread *t = &r->f->threads[i];
            int64_t extent;
            if ((int)t->tag != tag || !gpuc_expr_is_int(t->extent, &extent)) continue;
            bool in = gpuc_lower_names_tag(n->text, t->tag);
            if (tag == GPUC_THREAD_X) {
                g.extent_x = extent;
                g.has_x = in;
            }
            add_dimension(r->m.ctx, in ? &g.rank : &g.other, in ? &g.reduced : &g.others, t, extent);
        }
    return g;
}

/* ---- Subgroups ------------------------------------------------------------------------------------------- */

static bool subgroup_intrin(const gpuc_tir_reducer *r, gpuc_tir_intrin *out)
{
    if (r->count != 1 || r->result[0]->kind != GPUC_EXPR_OP || r->result[0]->dtype.bits != 32) return false;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(r->result[0]);
    bool plain =
        (n->a[0] == r->lhs[0] && n->a[1] == r->rhs[0]) || (n->a[1] == r->lhs[0] && n->a[0] == r->rhs[0]);
    bool known = true;
    if (n->op == GPUC_TIR_ADD)
        *out = GPUC_TIR_CALL_SUBGROUP_ADD;
    else if (n->op == GPUC_TIR_MUL)
        *out = GPUC_TIR_CALL_SUBGROUP_MUL;
    else if (n->op == GPUC_TIR_MIN)
        *out = GPUC_TIR_CALL_SUBGROUP_MIN;
    else if (n->op == GPUC_TIR_MAX)
        *out = GPUC_TIR_CALL_SUBGROUP_MAX;
    else
        known = false;
    return known && plain;
}

/* The hardware's min and max may drop NaN, so that it is carried beside them. */
static gpuc_expr subgroup_total(reducer_pass *r, const gpuc_tir_reducer *red, gpuc_tir_intrin fn,
                                gpuc_expr value)
{
    gpuc_ctx *ctx = r->m.ctx;
    bool order = fn == GPUC_TIR_CALL_SUBGROUP_MIN || fn == GPUC_TIR_CALL_SUBGROUP_MAX;
    if (!order || !gpuc_is_float(value->dtype) || r->p->target->fast_math)
        return gpuc_tir_call(ctx, value->dtype, fn, NULL, NULL, 1, &value);
    gpuc_expr nan = gpuc_call1(ctx, "isnan", value), one = gpuc_cast(ctx, GPUC_INT32, nan);
    gpuc_expr number = gpuc_select(ctx, nan, red->identity[0], value);
    gpuc_expr any = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_SUBGROUP_MAX, NULL, NULL, 1, &one);
    gpuc_expr best = gpuc_tir_call(ctx, value->dtype, fn, NULL, NULL, 1, &number);
    return gpuc_select(ctx, gpuc_ne(ctx, any, gpuc_imm_int(ctx, GPUC_INT32, 0)),
                       gpuc_imm(ctx, value->dtype, NAN), best);
}

/* ---- The tree -------------------------------------------------------------------------------------------- */

static gpuc_stmt put(reduction *d, gpuc_expr at, const gpuc_expr *values)
{
    gpuc_ctx *ctx = d->ctx;
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, d->count);
    for (int k = 0; k < d->count; k++) stores[k] = gpuc_tir_store1(ctx, d->shared[k], at, values[k]);
    return gpuc_tir_seq(ctx, d->count, stores);
}

static gpuc_stmt combine(reduction *d, gpuc_expr at, gpuc_expr other)
{
    gpuc_ctx *ctx = d->ctx;
    int n = d->count;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, 2 * n), *with = gpuc_new_array(ctx, gpuc_expr, 2 * n);
    gpuc_expr *sum = gpuc_new_array(ctx, gpuc_expr, n), *names = gpuc_new_array(ctx, gpuc_expr, n);
    for (int k = 0; k < n; k++) {
        vars[k] = d->reducer->lhs[k];
        with[k] = gpuc_tir_load1(ctx, d->shared[k], at);
        vars[n + k] = d->reducer->rhs[k];
        with[n + k] = gpuc_tir_load1(ctx, d->shared[k], other);
    }
    for (int k = 0; k < n; k++) sum[k] = gpuc_tir_substitute(ctx, d->reducer->result[k], 2 * n, vars, with);
    if (n == 1) return put(d, at, sum);
    for (int k = 0; k < n; k++) names[k] = gpuc_var(ctx, "r", sum[k]->dtype);
    gpuc_stmt s = put(d, at, names);
    for (int k = n; k-- > 0;) s = gpuc_tir_let(ctx, names[k], sum[k], s);
    return s;
}

static gpuc_stmt tree(reduction *d)
{
    gpuc_ctx *ctx = d->ctx;
    gpuc_stmt s = NULL;
    gpuc_expr at = gpuc_add(ctx, d->base, d->rank);
    for (int64_t left = d->n; left > 1;) {
        int64_t half = 1;
        while (half * 2 < left) half *= 2;
        gpuc_expr other = gpuc_add(ctx, at, gpuc_imm_int(ctx, at->dtype, half));
        gpuc_expr active = gpuc_lt(ctx, d->rank, gpuc_imm_int(ctx, d->rank->dtype, left - half));
        s = gpuc_tir_seq2(ctx, s, gpuc_tir_if_(ctx, active, combine(d, at, other), NULL));
        left = half;
    }
    return s;
}

/* ---- The statement --------------------------------------------------------------------------------------- */

/* The stores of the results: to local memory by every thread, elsewhere by the first of those reduced over. */
static gpuc_stmt store_results(reducer_pass *r, const gpuc_lower_allreduce *a, const gpuc_expr *values)
{
    gpuc_ctx *ctx = r->m.ctx;
    gpuc_expr first = NULL;
    for (int i = 0; i < r->f->num_threads; i++) {
        const gpuc_tir_thread *t = &r->f->threads[i];
        if (!gpuc_lower_names_tag(a->attr->text, t->tag)) continue;
        gpuc_expr is_first = gpuc_eq(ctx, t->var, gpuc_imm_int(ctx, t->var->dtype, 0));
        first = first ? gpuc_and(ctx, first, is_first) : is_first;
    }
    gpuc_stmt s = NULL;
    for (int i = 0; i < a->attr->reducer->count; i++) {
        const gpuc_tir_store_node *st = gpuc_lower_allreduce_store(a, i);
        gpuc_stmt one = gpuc_tir_store1(ctx, st->buffer, st->index[0], values[i]);
        if (first && st->buffer->scope != GPUC_SCOPE_LOCAL) one = gpuc_tir_if_(ctx, first, one, NULL);
        s = gpuc_tir_seq2(ctx, s, one);
    }
    return a->cond ? gpuc_tir_if_(ctx, a->cond, s, NULL) : s;
}

static gpuc_stmt reduce_stmt(reducer_pass *r, const gpuc_tir_attr_node *n)
{
    gpuc_ctx *ctx = r->m.ctx;
    const gpuc_target *target = r->p->target;
    int count = n->reducer->count;
    gpuc_expr *values = gpuc_new_array(ctx, gpuc_expr, count), zero = gpuc_int(ctx, 0), name = NULL;
    group g = split_group(r, n);
    gpuc_lower_allreduce a = gpuc_lower_allreduce_of(n);
    for (int k = 0; k < count; k++) values[k] = gpuc_lower_allreduce_store(&a, k)->value;
    if (g.reduced == 1) return n->body;
    reduction d = {.ctx = ctx, .reducer = n->reducer, .count = count, .n = g.reduced, .rank = g.rank};
    int64_t warp = target->thread_warp_size;
    gpuc_tir_intrin fn;
    gpuc_expr partial = NULL, leads = NULL, slot = g.rank;
    if (target->subgroup && warp > 1 && g.has_x && g.extent_x % warp == 0 &&
        subgroup_intrin(n->reducer, &fn)) {
        partial = subgroup_total(r, n->reducer, fn, values[0]);
        name = gpuc_var(ctx, "sum", partial->dtype);
        values[0] = name;
        r->subgroup_size = (uint32_t)warp;
        gpuc_expr size = gpuc_imm_int(ctx, g.rank->dtype, warp);
        leads = gpuc_eq(ctx, gpuc_floormod_(ctx, g.rank, size), gpuc_imm_int(ctx, g.rank->dtype, 0));
        slot = gpuc_floordiv_(ctx, g.rank, size);
        d.n /= warp;
    }
    if (d.n == 1) return gpuc_tir_let(ctx, name, partial, store_results(r, &a, values));
    d.base = g.other ? gpuc_mul(ctx, g.other, gpuc_imm_int(ctx, g.other->dtype, d.n)) : zero;
    d.shared = gpuc_new_array(ctx, gpuc_tir_buffer *, count);
    gpuc_expr size = gpuc_int(ctx, d.n * g.others);
    for (int k = 0; k < count; k++) {
        d.shared[k] = gpuc_tir_buffer_make(ctx, "red", values[k]->dtype, 1, &size, GPUC_SCOPE_SHARED);
    }
    gpuc_stmt first = put(&d, gpuc_add(ctx, d.base, slot), values);
    if (leads) first = gpuc_tir_if_(ctx, leads, first, NULL);
    gpuc_stmt s = gpuc_tir_seq2(ctx, first, tree(&d));
    if (name) s = gpuc_tir_let(ctx, name, partial, s);
    for (int k = 0; k < count; k++) values[k] = gpuc_tir_load1(ctx, d.shared[k], d.base);
    s = gpuc_tir_seq2(ctx, s, store_results(r, &a, values));
    for (int k = count; k-- > 0;) s = gpuc_tir_alloc(ctx, d.shared[k], s);
    return s;
}

static void find_allreduce(gpuc_stmt s, void *arg)
{
    if (gpuc_lower_is_allreduce(s)) *(bool *)arg = true;
}

static bool has_allreduce(gpuc_ctx *ctx, gpuc_stmt s)
{
    bool found = false;
    if (s) gpuc_tir_visit_stmt(ctx, s, find_allreduce, NULL, &found);
    return found;
}

static gpuc_lower_guard choose(gpuc_expr cond, gpuc_stmt s, void *arg)
{
    (void)cond;
    return has_allreduce(arg, s) ? GPUC_LOWER_GUARD_BELOW : GPUC_LOWER_GUARD_HERE;
}

static gpuc_stmt reducer_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    reducer_pass *r = (reducer_pass *)m;
    if (gpuc_lower_is_allreduce(s)) return reduce_stmt(r, gpuc_as_attr(s));
    if (s->kind == GPUC_STMT_IF && has_allreduce(m->ctx, s)) {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        gpuc_expr p = gpuc_var(m->ctx, "active", GPUC_BOOL);
        gpuc_stmt then_body =
            n->then_body ? gpuc_lower_sink_guard(m->ctx, p, n->then_body, choose, m->ctx) : NULL;
        gpuc_stmt else_body =
            n->else_body ? gpuc_lower_sink_guard(m->ctx, gpuc_not(m->ctx, p), n->else_body, choose, m->ctx)
                         : NULL;
        s = gpuc_tir_let(m->ctx, p, n->cond, gpuc_tir_seq2(m->ctx, then_body, else_body));
    }
    return gpuc_tir_map_stmt_children(m, s);
}

gpuc_tir_func *gpuc_lower_thread_allreduce(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    reducer_pass r = {.p = p, .f = f};
    if (!has_allreduce(p->ctx, f->body)) return f;
    gpuc_tir_mapper_init(&r.m, p->ctx, NULL, reducer_stmt);
    gpuc_tir_func *out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    out->body = gpuc_tir_map_stmt(&r.m, f->body);
    if (r.subgroup_size) out->subgroup_size = r.subgroup_size;
    return out;
}
