/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether two accesses of shared memory, x by thread t and y by thread t', can conflict: whether the
 * difference of their indices can be 0 with t != t'. The difference is a sum of c * d over the launch
 * dimensions (d = t' - t), and over the variables of loops inside of the region, which run independently on
 * both sides. They do not conflict if bounds or residue show that the difference is not 0, or if it is 0 only
 * where every d is 0 (each coefficient is larger than the max sum of all smaller terms), which means the same
 * thread. */
#include <stdlib.h>

#include "base/size.h"
#include "lower/thread_sync/sync.h"

enum { MAX_LIST = 512, MAX_TERMS = 64 };

void gpuc_lower_sync_push(gpuc_ctx *ctx, gpuc_sync_list *list, const gpuc_sync_access *access)
{
    for (size_t i = list->count; i-- > 0;) {
        const gpuc_sync_access *old = &list->at[i];
        bool covers =
            old->buffer == access->buffer && old->write >= access->write && old->atomic <= access->atomic;
        if (covers && (!old->index || (old->index == access->index && old->guards == access->guards &&
                                       old->num_guards == access->num_guards && old->store == access->store)))
            return;
    }
    gpuc_sync_access entry = *access;
    if (list->count >= MAX_LIST) entry.index = NULL; /* too many to tell apart */
    list->at = gpuc_ctx_grow(ctx, list->at, list->count, &list->capacity, sizeof *list->at);
    list->at[list->count++] = entry;
}

/* ---- The second thread's names ------------------------------------------------------------------------ */

typedef struct renaming {
    gpuc_sync_checker *c;
    gpuc_ptrs from, to;
    gpuc_expr carried;
    bool next;
} renaming;

static bool is_open(const gpuc_sync_checker *c, gpuc_expr var)
{
    for (size_t i = 0; i < c->open.count; i++)
        if (c->open.at[i] == var) return true;
    for (int i = 0; i < c->f->num_scalars; i++)
        if (c->f->scalars[i] == var) return true;
    return false;
}

static const gpuc_tir_thread *thread_of(const gpuc_sync_checker *c, gpuc_expr var)
{
    for (int i = 0; i < c->f->num_threads; i++)
        if (c->f->threads[i].var == var) return &c->f->threads[i];
    return NULL;
}

static void add_name(renaming *r, gpuc_expr var, gpuc_expr to)
{
    gpuc_ptrs_push(r->c->ctx, &r->from, var);
    gpuc_ptrs_push(r->c->ctx, &r->to, to);
}

static bool rename_var(gpuc_expr e, void *arg)
{
    renaming *r = arg;
    gpuc_sync_checker *c = r->c;
    if (e->kind != GPUC_EXPR_VAR) return true;
    for (size_t i = 0; i < r->from.count; i++)
        if (r->from.at[i] == e) return true;
    const gpuc_tir_thread *thread = thread_of(c, e);
    if (thread && gpuc_is_block_tag(thread->tag)) return true;
    if (e == r->carried && r->next) {
        add_name(r, e, gpuc_add(c->ctx, e, gpuc_imm_int(c->ctx, e->dtype, 1)));
        return true;
    }
    if (!thread && e != r->carried && is_open(c, e)) return true;
    gpuc_expr other = gpuc_lower_var_like(c->ctx, e);
    add_name(r, e, other);
    gpuc_dtype t = e->dtype;
    if (thread) {
        gpuc_arith_analyzer_bind(c->a, other, gpuc_imm_int(c->ctx, t, 0), thread->extent);
        return true;
    }
    const gpuc_bounds *b = gpuc_map_get(&c->bounds, e);
    int64_t extent;
    if (!b || b->min == INT64_MIN || b->max == INT64_MAX || !gpuc_i64_sub(b->max, b->min, &extent))
        return true;
    gpuc_arith_analyzer_bind(c->a, other, gpuc_imm_int(c->ctx, t, b->min),
                             gpuc_imm_int(c->ctx, t, extent + 1));
    return true;
}

static gpuc_expr expand_lets(gpuc_sync_checker *c, gpuc_expr e)
{
    return gpuc_tir_substitute_map(c->ctx, e, &c->lets);
}

void gpuc_lower_sync_let(gpuc_sync_checker *c, gpuc_expr var, gpuc_expr value)
{
    if (!(value->flags & GPUC_TIR_HAS_LOAD)) gpuc_map_set(&c->lets, var, (void *)expand_lets(c, value));
}

static gpuc_expr rename_expr(renaming *r, gpuc_expr e)
{
    gpuc_tir_visit(r->c->ctx, e, rename_var, r);
    return gpuc_tir_substitute(r->c->ctx, e, (int)r->from.count, (const gpuc_expr *)r->from.at,
                               (const gpuc_expr *)r->to.at);
}

/* ---- The difference ----------------------------------------------------------------------------------- */

static bool never_zero(gpuc_sync_checker *c, gpuc_expr diff)
{
    gpuc_bounds b = gpuc_arith_analyzer_bounds(c->a, diff);
    if (b.min > 0 || b.max < 0) return true;
    gpuc_modular m = gpuc_arith_analyzer_modular(c->a, diff);
    return m.coeff == 0 ? m.remainder != 0 : gpuc_floormod(m.remainder, llabs(m.coeff)) != 0;
}

/* coeff * factor; coeff > 0, the factor in [lo, hi]. */
typedef struct term {
    int64_t coeff, lo, hi;
    bool is_thread;
} term;
typedef struct term_list {
    term at[MAX_TERMS];
    int n, num_threads; /* differences of launch dimensions come first, and are never merged */
    bool open;          /* a launch dimension is not among them: only a sum that is never 0 will do */
} term_list;

typedef struct var_list {
    gpuc_ctx *ctx;
    gpuc_ptrs vars;
} var_list;

static bool list_vars(gpuc_expr e, void *arg)
{
    var_list *l = arg;
    if (e->kind == GPUC_EXPR_VAR) gpuc_ptrs_push(l->ctx, &l->vars, e);
    return true;
}

static bool add_term(term_list *l, int64_t coeff, int64_t lo, int64_t hi)
{
    if (coeff == INT64_MIN || lo < -INT32_MAX || hi > INT32_MAX) return false;
    term t = coeff > 0 ? (term){coeff, lo, hi, false} : (term){-coeff, -hi, -lo, false};
    for (int i = l->num_threads; i < l->n; i++)
        if (l->at[i].coeff == t.coeff) {
            l->at[i].lo += t.lo;
            l->at[i].hi += t.hi;
            return true;
        }
    if (l->n == MAX_TERMS) return false;
    l->at[l->n++] = t;
    return true;
}

static int by_coeff(const void *a, const void *b)
{
    int64_t x = ((const term *)a)->coeff, y = ((const term *)b)->coeff;
    return (x > y) - (x < y);
}

/* base + sum = 0, seen from the largest coefficient down: if the rest is smaller than one step of it, its
 * factor is 0. True if that shows that the sum is never 0, or that all factors of launch dimensions are 0. */
static bool only_same_thread_terms(term_list *l, int64_t base)
{
    int64_t lo[MAX_TERMS + 1], hi[MAX_TERMS + 1];
    int threads = l->num_threads;
    qsort(l->at, (size_t)l->n, sizeof l->at[0], by_coeff);
    lo[0] = hi[0] = base;
    for (int i = 0; i < l->n; i++) {
        int64_t x, y;
        if (!gpuc_i64_mul(l->at[i].coeff, l->at[i].lo, &x) ||
            !gpuc_i64_mul(l->at[i].coeff, l->at[i].hi, &y) || !gpuc_i64_add(lo[i], x, &lo[i + 1]) ||
            !gpuc_i64_add(hi[i], y, &hi[i + 1]))
            return false;
    }
    for (int i = l->n; threads > 0 || l->open; i--) {
        if (lo[i] > 0 || hi[i] < 0) return true;
        if (i == 0) return false;
        const term *t = &l->at[i - 1];
        if (hi[i - 1] >= t->coeff || lo[i - 1] <= -t->coeff) return false;
        threads -= t->is_thread;
    }
    return true;
}

static bool known_range(gpuc_bounds b)
{
    return b.min >= -INT32_MAX && b.max <= INT32_MAX;
}

/* cx * t + cy * t' is made c * (t' - t) and a number where one of the two is a number under the guards. */
static bool pair_up(gpuc_bounds x, gpuc_bounds y, int64_t *cx, int64_t *cy, int64_t *base)
{
    bool fixed = x.min == x.max;
    int64_t rest;
    if (*cx == -*cy || (!fixed && y.min != y.max)) return true;
    if (!gpuc_i64_add(*cx, *cy, &rest) || !gpuc_i64_mul(rest, fixed ? x.min : y.min, &rest) ||
        !gpuc_i64_add(*base, rest, base))
        return false;
    if (fixed)
        *cx = -*cy;
    else
        *cy = -*cx;
    return true;
}

/* Adds the terms of the launch dimensions; false: threads that differ may have difference 0. */
static bool thread_terms(gpuc_sync_checker *c, const renaming *r, const var_list *l, const gpuc_expr *coeffs,
                         bool *left, term_list *terms, int64_t *base)
{
    for (int i = 0; i < c->f->num_threads; i++) {
        const gpuc_tir_thread *th = &c->f->threads[i];
        int64_t cx = 0, cy = 0;
        if (!gpuc_is_thread_tag(th->tag)) continue;
        gpuc_expr other = NULL;
        for (size_t k = 0; k < r->from.count; k++)
            if (r->from.at[k] == th->var) other = r->to.at[k];
        if (!other) return false;
        for (size_t k = 0; k < l->vars.count; k++) {
            if (l->vars.at[k] == th->var && !gpuc_expr_is_int(coeffs[k], &cx)) return false;
            if (l->vars.at[k] == other && !gpuc_expr_is_int(coeffs[k], &cy)) return false;
        }
        gpuc_bounds x = gpuc_arith_analyzer_bounds(c->a, th->var),
                    y = gpuc_arith_analyzer_bounds(c->a, other);
        if (x.min == x.max && y.min == y.max && x.min == y.min) continue; /* the guards leave one thread */
        if (!pair_up(x, y, &cx, &cy, base)) return false;
        if (cx != -cy || cy == 0) { /* both stay variables of their own */
            terms->open = true;
            continue;
        }
        if (!known_range(x) || !known_range(y)) return false;
        for (size_t k = 0; k < l->vars.count; k++)
            if (l->vars.at[k] == th->var || l->vars.at[k] == other) left[k] = false;
        term t = {.coeff = llabs(cy), .lo = y.min - x.max, .hi = y.max - x.min, .is_thread = true};
        if (cy < 0) t = (term){.coeff = -cy, .lo = -t.hi, .hi = -t.lo, .is_thread = true};
        terms->at[terms->n++] = t;
        terms->num_threads = terms->n;
    }
    return true;
}

/* The variables of the difference that it is linear in: launch dimensions first, all of which must be. */
static bool linear_vars(gpuc_sync_checker *c, const renaming *r, gpuc_expr diff, var_list *out)
{
    var_list all = {.ctx = c->ctx};
    gpuc_tir_visit(c->ctx, diff, list_vars, &all);
    gpuc_expr *coeffs = gpuc_new_array(c->ctx, gpuc_expr, all.vars.count + 1), rest;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < all.vars.count; i++) {
            gpuc_expr var = all.vars.at[i], origin = var;
            for (size_t k = 0; k < r->from.count; k++)
                if (r->to.at[k] == var) origin = r->from.at[k];
            const gpuc_tir_thread *th = thread_of(c, origin);
            bool thread = th && gpuc_is_thread_tag(th->tag);
            if (thread != (pass == 0)) continue;
            gpuc_ptrs_push(c->ctx, &out->vars, var);
            if (gpuc_arith_linear(c->a, diff, (int)out->vars.count, (const gpuc_expr *)out->vars.at, coeffs,
                                  &rest))
                continue;
            if (thread) return false;
            out->vars.count--;
        }
    return true;
}

/* rest = base + g * q. */
static bool add_rest(gpuc_sync_checker *c, gpuc_expr rest, term_list *terms, int64_t *base)
{
    if (gpuc_expr_is_int(rest, base)) return true;
    gpuc_bounds b = gpuc_arith_analyzer_bounds(c->a, rest);
    gpuc_modular m = gpuc_arith_analyzer_modular(c->a, rest);
    int64_t g = llabs(m.coeff);
    if (!known_range(b) || g == 0) return false;
    *base = gpuc_floormod(m.remainder, g);
    return add_term(terms, g, gpuc_floordiv(b.min - *base, g), gpuc_floordiv(b.max - *base, g));
}

static bool only_same_thread(gpuc_sync_checker *c, const renaming *r, gpuc_expr diff)
{
    gpuc_ctx *ctx = c->ctx;
    var_list l = {.ctx = ctx};
    term_list terms = {0};
    if (!linear_vars(c, r, diff, &l)) return false;
    int count = (int)l.vars.count;
    gpuc_expr *coeffs = gpuc_new_array(ctx, gpuc_expr, count + 1), rest;
    bool *left = gpuc_new_array(ctx, bool, count + 1);
    int64_t base, coeff, fixed = 0;
    if (!gpuc_arith_linear(c->a, diff, count, (const gpuc_expr *)l.vars.at, coeffs, &rest)) return false;
    for (int k = 0; k < count; k++) left[k] = true;
    if (!thread_terms(c, r, &l, coeffs, left, &terms, &fixed) || !add_rest(c, rest, &terms, &base) ||
        !gpuc_i64_add(base, fixed, &base))
        return false;
    for (int k = 0; k < count; k++) {
        gpuc_bounds b = gpuc_arith_analyzer_bounds(c->a, l.vars.at[k]);
        if (!left[k]) continue;
        if (!gpuc_expr_is_int(coeffs[k], &coeff)) return false;
        if (coeff != 0 && (!known_range(b) || !add_term(&terms, coeff, b.min, b.max))) return false;
    }
    return only_same_thread_terms(&terms, base);
}

static bool bind_inner(gpuc_expr e, void *arg)
{
    gpuc_sync_checker *c = arg;
    if (e->kind != GPUC_EXPR_VAR || is_open(c, e) || thread_of(c, e)) return true;
    const gpuc_bounds *b = gpuc_map_get(&c->bounds, e);
    int64_t extent;
    if (b && b->min != INT64_MIN && b->max != INT64_MAX && gpuc_i64_sub(b->max, b->min, &extent))
        gpuc_arith_analyzer_bind(c->a, e, gpuc_imm_int(c->ctx, e->dtype, b->min),
                                 gpuc_imm_int(c->ctx, e->dtype, extent + 1));
    return true;
}

bool gpuc_lower_sync_conflict(gpuc_sync_checker *c, const gpuc_sync_access *x, const gpuc_sync_access *y,
                              gpuc_expr carried, bool next)
{
    gpuc_ctx *ctx = c->ctx;
    if (x->buffer != y->buffer || (!x->write && !y->write) || (x->atomic && y->atomic)) return false;
    if (x->store && x->store == y->store) return false; /* a store gives each element to one thread */
    if (!x->index || !y->index || x->index->dtype.lanes > 1 || y->index->dtype.lanes > 1) return true;
    size_t mark = gpuc_arith_analyzer_mark(c->a);
    renaming r = {.c = c, .carried = carried, .next = next};
    for (int i = 0; i < c->f->num_threads; i++)
        if (gpuc_is_thread_tag(c->f->threads[i].tag)) rename_var(c->f->threads[i].var, &r);
    gpuc_expr xi = expand_lets(c, x->index), yi = rename_expr(&r, expand_lets(c, y->index));
    gpuc_tir_visit(ctx, xi, bind_inner, c);
    for (int i = 0; i < x->num_guards; i++) gpuc_arith_analyzer_assume(c->a, expand_lets(c, x->guards[i]));
    for (int i = 0; i < y->num_guards; i++)
        gpuc_arith_analyzer_assume(c->a, rename_expr(&r, expand_lets(c, y->guards[i])));
    bool meet = true;
    if (!((xi->flags | yi->flags) & GPUC_TIR_HAS_LOAD) && gpuc_dtype_equal(xi->dtype, yi->dtype)) {
        gpuc_expr diff = gpuc_arith_simplify(c->a, gpuc_sub(ctx, yi, xi));
        meet = !never_zero(c, diff) && !only_same_thread(c, &r, diff);
    }
    gpuc_arith_analyzer_rewind(c->a, mark);
    return meet;
}

bool gpuc_lower_sync_conflict_lists(gpuc_sync_checker *c, const gpuc_sync_list *x, const gpuc_sync_list *y,
                                    gpuc_expr carried, bool next)
{
    for (size_t i = 0; i < x->count; i++)
        for (size_t j = 0; j < y->count; j++)
            if (gpuc_lower_sync_conflict(c, &x->at[i], &y->at[j], carried, next)) return true;
    return false;
}
