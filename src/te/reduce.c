/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: the named ones, and reducers that users make. */
#include <math.h>

#include "te/internal.h"

static void check_axes(gpuc_ctx *ctx, const char *reducer, int num_axes, gpuc_iter *const *axes)
{
    if (num_axes < 1) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reduction '%s' has no axes", reducer);
    gpuc_te_need_axes(ctx, num_axes, axes, gpuc_ctx_printf(ctx, "reduction '%s'", reducer));
    for (int i = 0; i < num_axes; i++) {
        if (axes[i]->kind != GPUC_ITER_REDUCE)
            gpuc_raise(
                ctx, GPUC_INVALID_ARGUMENT,
                "reduction '%s' over '%s', which is not a reduce axis; make it with gpuc_te_reduce_axis",
                reducer, gpuc_as_var(axes[i]->var)->name);
        for (int j = 0; j < i; j++)
            if (axes[i] == axes[j])
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reduction '%s' names the axis '%s' twice", reducer,
                           gpuc_as_var(axes[i]->var)->name);
    }
}

gpuc_expr gpuc_te_reduce(gpuc_ctx *ctx, const char *reducer, gpuc_expr value, int num_axes,
                         gpuc_iter *const *axes)
{
    gpuc_te_need(ctx, reducer, "a reduction", "reducer's name");
    gpuc_te_need_expr(ctx, value, gpuc_ctx_printf(ctx, "reduction '%s'", reducer), "value");
    check_axes(ctx, reducer, num_axes, axes);
    const gpuc_tir_reducer *r = gpuc_tir_reducer_get(ctx, reducer, value->dtype);
    return gpuc_tir_reduce(ctx, r, &value, num_axes, axes, NULL, 0);
}

static void need_type(gpuc_ctx *ctx, gpuc_expr e, gpuc_dtype t, const char *who, const char *what)
{
    char have[24], want[24];
    gpuc_te_need_expr(ctx, e, who, what);
    if (!gpuc_dtype_equal(e->dtype, t))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the %s is of type %s; wanted is %s", who, what,
                   gpuc_dtype_name(e->dtype, have), gpuc_dtype_name(t, want));
}

void gpuc_te_reduce_n(gpuc_ctx *ctx, const gpuc_tir_reducer *reducer, const gpuc_expr *values, int num_axes,
                      gpuc_iter *const *axes, gpuc_expr condition, gpuc_expr *outs)
{
    gpuc_te_need(ctx, reducer, "a reduction", "reducer");
    const char *who = gpuc_ctx_printf(ctx, "reduction '%s'", reducer->name);
    gpuc_te_need_expr(ctx, reducer->lhs[0], who, "reducer");
    gpuc_te_need(ctx, values, who, "list of values");
    gpuc_te_need(ctx, outs, who, "place for the parts");
    for (int i = 0; i < reducer->count; i++)
        need_type(ctx, values[i], reducer->lhs[i]->dtype, who, gpuc_ctx_printf(ctx, "value %d", i));
    if (condition) need_type(ctx, condition, GPUC_BOOL, who, "condition");
    check_axes(ctx, reducer->name, num_axes, axes);
    const gpuc_expr *own = gpuc_ctx_memdup(ctx, values, (size_t)reducer->count * sizeof *values);
    gpuc_iter *const *over = gpuc_ctx_memdup(ctx, axes, (size_t)num_axes * sizeof *axes);
    for (int i = 0; i < reducer->count; i++)
        outs[i] = gpuc_tir_reduce(ctx, reducer, own, num_axes, over, condition, i);
}

/* ---- Reducers of users ------------------------------------------------------------------------------ */

typedef struct part_check {
    gpuc_ctx *ctx;
    const gpuc_tir_reducer *r;
    bool constant; /* no variables at all */
} part_check;

static bool check_node(gpuc_expr e, void *arg)
{
    const part_check *c = arg;
    bool own = false;
    for (int i = 0; i < c->r->count && !c->constant; i++) own |= e == c->r->lhs[i] || e == c->r->rhs[i];
    if (e->kind == GPUC_EXPR_VAR && !own)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "reducer '%s': %s uses the variable '%s'; %s", c->r->name,
                   c->constant ? "an identity" : "a result", gpuc_as_var(e)->name,
                   c->constant ? "identities are constants" : "results use lhs and rhs only");
    if (e->kind == GPUC_EXPR_READ || e->kind == GPUC_EXPR_REDUCE || e->kind == GPUC_EXPR_LOAD)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                   "reducer '%s': it reads memory; pass what it needs as a value", c->r->name);
    return true;
}

static void check_types(gpuc_ctx *ctx, const gpuc_tir_reducer *r)
{
    for (int i = 0; i < r->count; i++) {
        const gpuc_expr parts[] = {r->lhs[i], r->rhs[i], r->result[i], r->identity[i]};
        static const char *const names[] = {"lhs", "rhs", "result", "identity"};
        for (int k = 0; k < 4; k++) {
            gpuc_te_need_expr(ctx, parts[k], gpuc_ctx_printf(ctx, "reducer '%s'", r->name),
                              gpuc_ctx_printf(ctx, "%s %d", names[k], i));
            if (k < 2 && parts[k]->kind != GPUC_EXPR_VAR)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reducer '%s': %s %d is no variable of gpuc_var",
                           r->name, names[k], i);
            char a[24], b[24];
            if (!gpuc_dtype_equal(parts[k]->dtype, r->lhs[i]->dtype) || parts[k]->dtype.lanes != 1)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reducer '%s': %s %d is of type %s, lhs %d of %s",
                           r->name, names[k], i, gpuc_dtype_name(parts[k]->dtype, a), i,
                           gpuc_dtype_name(r->lhs[i]->dtype, b));
        }
    }
    for (int i = 0; i < 2 * r->count; i++)
        for (int k = 0; k < i; k++)
            if ((i < r->count ? r->lhs[i] : r->rhs[i - r->count]) ==
                (k < r->count ? r->lhs[k] : r->rhs[k - r->count]))
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reducer '%s': a variable is given twice", r->name);
}

/* Values to try a reducer on: different for each part and operand. */
static void sample(gpuc_ctx *ctx, const gpuc_tir_reducer *r, int which, gpuc_expr *out)
{
    static const int start[] = {2, 5, 11}, step[] = {1, 3, 2};
    for (int i = 0; i < r->count; i++) {
        gpuc_dtype t = r->lhs[i]->dtype;
        out[i] = gpuc_is_bool(t) ? gpuc_imm_int(ctx, t, which == 0)
                                 : gpuc_imm(ctx, t, start[which] + step[which] * i);
    }
}

/* Not known where a value does not fold to a constant. */
static bool differ(gpuc_expr a, gpuc_expr b)
{
    if (a->kind == GPUC_EXPR_INT && b->kind == GPUC_EXPR_INT) return a != b;
    if (a->kind != GPUC_EXPR_FLOAT || b->kind != GPUC_EXPR_FLOAT || a == b) return false;
    double x = gpuc_as_float(a)->value, y = gpuc_as_float(b)->value;
    double near = a->dtype.bits == 64 ? 1e-12 : a->dtype.bits == 32 ? 1e-4 : 5e-2;
    return !(fabs(x - y) <= near * (1 + fabs(y)));
}

static void need_same(gpuc_ctx *ctx, const gpuc_tir_reducer *r, const gpuc_expr *a, const gpuc_expr *b,
                      const char *law)
{
    for (int i = 0; i < r->count; i++)
        if (differ(a[i], b[i]))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "reducer '%s': %s: value %d is %s, and not %s", r->name,
                       law, i, gpuc_expr_text(ctx, a[i]), gpuc_expr_text(ctx, b[i]));
}

/* Tries the laws that let parts be joined in any order. */
static void check_laws(gpuc_ctx *ctx, const gpuc_tir_reducer *r)
{
    enum { A, B, C, AB, BA, BC, LEFT, RIGHT, SAMPLES };
    gpuc_expr *v[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) v[i] = gpuc_new_array(ctx, gpuc_expr, r->count);
    for (int i = A; i <= C; i++) sample(ctx, r, i, v[i]);
    gpuc_te_combine(ctx, r, v[A], v[B], v[AB]);
    gpuc_te_combine(ctx, r, v[B], v[A], v[BA]);
    need_same(ctx, r, v[AB], v[BA], "it is not commutative");
    gpuc_te_combine(ctx, r, v[B], v[C], v[BC]);
    gpuc_te_combine(ctx, r, v[AB], v[C], v[LEFT]);
    gpuc_te_combine(ctx, r, v[A], v[BC], v[RIGHT]);
    need_same(ctx, r, v[LEFT], v[RIGHT], "it is not associative");
    for (int i = A; i <= C; i++) {
        gpuc_te_combine(ctx, r, r->identity, v[i], v[LEFT]);
        need_same(ctx, r, v[LEFT], v[i], "the identity changes what it is joined with");
        gpuc_te_combine(ctx, r, v[i], r->identity, v[RIGHT]);
        need_same(ctx, r, v[RIGHT], v[i], "the identity changes what it is joined with");
    }
    gpuc_te_combine(ctx, r, r->identity, r->identity, v[LEFT]);
    need_same(ctx, r, v[LEFT], r->identity, "the identity joined with itself is another");
}

const gpuc_tir_reducer *gpuc_te_comm_reducer(gpuc_ctx *ctx, const char *name, int count, const gpuc_expr *lhs,
                                             const gpuc_expr *rhs, const gpuc_expr *result,
                                             const gpuc_expr *identity)
{
    gpuc_te_need(ctx, name, "a reducer", "name");
    const char *who = gpuc_ctx_printf(ctx, "reducer '%s'", name);
    if (count < 1) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: it has %d values", who, count);
    gpuc_te_need(ctx, lhs, who, "list of lhs");
    gpuc_te_need(ctx, rhs, who, "list of rhs");
    gpuc_te_need(ctx, result, who, "list of results");
    gpuc_te_need(ctx, identity, who, "list of identities");
    size_t size = (size_t)count * sizeof *lhs;
    gpuc_tir_reducer *r = gpuc_new(ctx, gpuc_tir_reducer);
    *r = (gpuc_tir_reducer){.name = gpuc_ctx_strdup(ctx, name),
                            .count = count,
                            .lhs = gpuc_ctx_memdup(ctx, lhs, size),
                            .rhs = gpuc_ctx_memdup(ctx, rhs, size),
                            .result = gpuc_ctx_memdup(ctx, result, size),
                            .identity = gpuc_ctx_memdup(ctx, identity, size)};
    check_types(ctx, r);
    part_check c = {.ctx = ctx, .r = r};
    for (int i = 0; i < count; i++) gpuc_tir_visit(ctx, result[i], check_node, &c);
    c.constant = true;
    for (int i = 0; i < count; i++) gpuc_tir_visit(ctx, identity[i], check_node, &c);
    check_laws(ctx, r);
    return r;
}
