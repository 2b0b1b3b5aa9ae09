/* SPDX-License-Identifier: Apache-2.0 */
/* Two accesses c * v + r and c * v' + r' of one buffer meet in different iterations only if
 * r' - r = c * k for some k with 0 < |k| < span. Variables of loops inside of the body are
 * independent on the two sides; those around the loop are the same. */
#include <stdlib.h>

#include "base/size.h"
#include "lower/vectorize/vectorize.h"

typedef struct dependence {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    gpuc_expr var;
    int64_t span;
    gpuc_lower_access *at;
    size_t count, capacity;
    gpuc_ptrs inner, renamed; /* variables bound in the body, and their second names */
    bool unknown;
} dependence;

static void collect(const gpuc_lower_access *access, void *arg)
{
    dependence *d = arg;
    d->at = gpuc_ctx_grow(d->ctx, d->at, d->count, &d->capacity, sizeof *d->at);
    d->at[d->count++] = *access;
}

static void collect_bound(gpuc_stmt s, void *arg)
{
    dependence *d = arg;
    if (s->kind == GPUC_STMT_EVAL) d->unknown = true;
    if (s->kind == GPUC_STMT_LET) {
        gpuc_expr var = gpuc_as_let(s)->var;
        gpuc_ptrs_push(d->ctx, &d->inner, var);
        gpuc_ptrs_push(d->ctx, &d->renamed, gpuc_lower_var_like(d->ctx, var));
    }
    if (s->kind != GPUC_STMT_FOR) return;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_expr other = gpuc_lower_var_like(d->ctx, n->var);
    gpuc_ptrs_push(d->ctx, &d->inner, n->var);
    gpuc_ptrs_push(d->ctx, &d->renamed, other);
    gpuc_bounds first = gpuc_arith_analyzer_bounds(d->a, n->min);
    gpuc_arith_analyzer_bind(d->a, n->var, n->min, n->extent);
    gpuc_bounds all = gpuc_arith_analyzer_bounds(d->a, n->var);
    int64_t extent;
    if (first.min == INT64_MIN || all.max == INT64_MAX || !gpuc_i64_sub(all.max, first.min, &extent)) return;
    gpuc_arith_analyzer_bind(d->a, other, gpuc_imm_int(d->ctx, other->dtype, first.min),
                             gpuc_imm_int(d->ctx, other->dtype, extent + 1));
}

static bool has_effect(gpuc_expr e, void *arg)
{
    dependence *d = arg;
    if (e->flags & GPUC_TIR_HAS_EFFECT) d->unknown = true;
    return !d->unknown;
}

static bool linear(dependence *d, gpuc_expr index, int64_t *coeff, gpuc_expr *rest)
{
    gpuc_expr c;
    return index && index->dtype.lanes == 1 && gpuc_arith_linear(d->a, index, 1, &d->var, &c, rest) &&
           gpuc_expr_is_int(c, coeff) && *coeff != 0;
}

static bool never_meet(dependence *d, const gpuc_lower_access *x, const gpuc_lower_access *y)
{
    int64_t c, cy;
    gpuc_expr r, ry;
    if (!linear(d, x->index, &c, &r) || !linear(d, y->index, &cy, &ry) || c != cy) return false;
    if (!gpuc_dtype_equal(r->dtype, ry->dtype)) return false;
    ry = gpuc_tir_substitute(d->ctx, ry, (int)d->inner.count, (const gpuc_expr *)d->inner.at,
                             (const gpuc_expr *)d->renamed.at);
    gpuc_expr diff = gpuc_arith_simplify(d->a, gpuc_sub(d->ctx, ry, r));
    if (diff->flags & GPUC_TIR_HAS_LOAD) return false;
    gpuc_bounds b = gpuc_arith_analyzer_bounds(d->a, diff);
    gpuc_modular m = gpuc_arith_analyzer_modular(d->a, diff);
    for (int64_t k = 1; k < d->span; k++) {
        int64_t step;
        if (!gpuc_i64_mul(c, k, &step)) return false;
        for (int sign = 0; sign < 2; sign++, step = -step) {
            bool outside = step < b.min || step > b.max;
            bool off =
                m.coeff == 0 ? step != m.remainder : gpuc_floormod(step - m.remainder, llabs(m.coeff)) != 0;
            if (!outside && !off) return false;
        }
    }
    return true;
}

bool gpuc_lower_vectorize_independent(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_stmt body, gpuc_expr var,
                                      int64_t span)
{
    dependence d = {.ctx = ctx, .a = a, .var = var, .span = span};
    size_t mark = gpuc_arith_analyzer_mark(a);
    gpuc_tir_visit_stmt(ctx, body, collect_bound, has_effect, &d);
    bool good = !d.unknown;
    if (good) gpuc_lower_accesses(ctx, body, collect, &d);
    for (size_t i = 0; good && i < d.count; i++)
        for (size_t j = 0; good && j < d.count; j++)
            if (d.at[i].write && d.at[j].buffer == d.at[i].buffer && (j >= i || !d.at[j].write))
                good = never_meet(&d, &d.at[i], &d.at[j]);
    gpuc_arith_analyzer_rewind(a, mark);
    return good;
}
