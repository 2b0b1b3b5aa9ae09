/* SPDX-License-Identifier: Apache-2.0 */
/* Makes operations that are defined by an expression per element, and checks the expressions. */
#include "te/internal.h"

/* ---- Checks of a body --------------------------------------------------------------------------- */

typedef struct body_check {
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    gpuc_expr root;
    gpuc_iter *const *reduce;
    int num_reduce;
} body_check;

static bool is_own_axis(const body_check *c, gpuc_expr var)
{
    for (int i = 0; i < c->op->num_axes; i++)
        if (c->op->axes[i]->var == var) return true;
    for (int i = 0; i < c->num_reduce; i++)
        if (c->reduce[i]->var == var) return true;
    return false;
}

static bool check_node(gpuc_expr e, void *arg)
{
    const body_check *c = arg;
    if (e->dtype.lanes != 1)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "compute '%s': the body has a vector in it", c->op->name);
    if (e->kind == GPUC_EXPR_REDUCE && e != c->root)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                   "compute '%s': a reduction must be the whole body; give the rest a compute of its own",
                   c->op->name);
    if (e->kind == GPUC_EXPR_LOAD)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "compute '%s': the body loads from a buffer; read tensors",
                   c->op->name);
    return true;
}

static bool check_var(gpuc_expr e, void *arg)
{
    const body_check *c = arg;
    if (e->kind == GPUC_EXPR_VAR && !is_own_axis(c, e) && gpuc_te_axis_find(c->ctx, e))
        gpuc_raise(
            c->ctx, GPUC_INVALID_ARGUMENT,
            "compute '%s': the body uses the axis '%s', which is neither an axis of it nor reduced over",
            c->op->name, gpuc_as_var(e)->name);
    return true;
}

static void check_bodies(gpuc_ctx *ctx, const gpuc_te_op *op)
{
    const gpuc_tir_reduce_node *first = NULL;
    for (int i = 0; i < op->num_outputs; i++) {
        gpuc_expr body = op->bodies[i];
        body_check c = {.ctx = ctx, .op = op, .root = body};
        const gpuc_tir_reduce_node *r = NULL;
        if (body->kind == GPUC_EXPR_REDUCE) {
            r = gpuc_as_reduce(body);
            c.reduce = r->axes;
            c.num_reduce = r->num_axes;
            if (r->reducer->count != op->num_outputs || r->value_index != i)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                           "compute '%s': output %d must be part %d of a reduction of %d values", op->name, i,
                           i, op->num_outputs);
            for (int k = 0; k < r->num_axes; k++)
                for (int j = 0; j < op->num_axes; j++)
                    if (r->axes[k] == op->axes[j])
                        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                                   "compute '%s': '%s' is an axis and reduced over", op->name,
                                   gpuc_as_var(r->axes[k]->var)->name);
        }
        if (i == 0) {
            first = r;
        } else {
            bool same = !first == !r;
            if (r && first) {
                same = r->reducer == first->reducer && r->num_axes == first->num_axes &&
                       r->condition == first->condition;
                for (int k = 0; same && k < r->num_axes; k++) same = r->axes[k] == first->axes[k];
                for (int k = 0; same && k < r->reducer->count; k++) same = r->source[k] == first->source[k];
            }
            if (!same)
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                           "compute '%s': outputs 0 and %d are not parts of the same reduction", op->name, i);
        }
        gpuc_tir_visit(ctx, body, check_node, &c);
        gpuc_tir_visit(ctx, body, check_var, &c);
    }
}

/* ---- Axes that another operation has already, or that begin elsewhere: this one gets copies from 0 ---- */

static gpuc_iter *own_axis(gpuc_ctx *ctx, gpuc_iter *axis)
{
    gpuc_te_axis_info *info = gpuc_te_axis_find(ctx, axis->var);
    if (!info)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "'%s' is not an axis made by gpuc_te_axis or gpuc_te_reduce_axis",
                   gpuc_as_var(axis->var)->name);
    return info->owned || !gpuc_tir_is_const(axis->min, 0) ? gpuc_te_axis_copy(ctx, axis) : axis;
}

static gpuc_expr reduce_with(gpuc_ctx *ctx, const gpuc_tir_reduce_node *r, gpuc_iter *const *axes, int n,
                             const gpuc_expr *vars, const gpuc_expr *with)
{
    gpuc_expr *source = gpuc_new_array(ctx, gpuc_expr, r->reducer->count);
    for (int i = 0; i < r->reducer->count; i++)
        source[i] = gpuc_tir_substitute(ctx, r->source[i], n, vars, with);
    gpuc_expr cond = r->condition ? gpuc_tir_substitute(ctx, r->condition, n, vars, with) : NULL;
    return gpuc_tir_reduce(ctx, r->reducer, source, r->num_axes, axes, cond, r->value_index);
}

static void take_axes(gpuc_ctx *ctx, gpuc_te_op *op, gpuc_expr *bodies)
{
    const gpuc_tir_reduce_node *r =
        op->num_outputs && bodies[0]->kind == GPUC_EXPR_REDUCE ? gpuc_as_reduce(bodies[0]) : NULL;
    int max = op->num_axes + (r ? r->num_axes : 0), n = 0;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, max), *with = gpuc_new_array(ctx, gpuc_expr, max);
    for (int i = 0; i < op->num_axes; i++) {
        gpuc_iter *mine = own_axis(ctx, op->axes[i]);
        if (mine != op->axes[i]) {
            vars[n] = op->axes[i]->var;
            with[n++] = gpuc_add(ctx, mine->var, op->axes[i]->min);
            op->axes[i] = mine;
        }
    }
    if (r) {
        op->num_reduce = r->num_axes;
        op->reduce = gpuc_new_array(ctx, gpuc_iter *, r->num_axes);
        for (int i = 0; i < r->num_axes; i++) {
            gpuc_iter *mine = own_axis(ctx, r->axes[i]);
            if (mine != r->axes[i]) {
                vars[n] = r->axes[i]->var;
                with[n++] = gpuc_add(ctx, mine->var, r->axes[i]->min);
            }
            op->reduce[i] = mine;
        }
    }
    if (n == 0) return;
    for (int i = 0; i < op->num_outputs; i++) {
        if (bodies[i]->kind == GPUC_EXPR_REDUCE)
            bodies[i] = reduce_with(ctx, gpuc_as_reduce(bodies[i]), op->reduce, n, vars, with);
        else
            bodies[i] = gpuc_tir_substitute(ctx, bodies[i], n, vars, with);
    }
}

void gpuc_te_compute_n(gpuc_ctx *ctx, const char *name, int ndim, gpuc_iter *const *axes, int count,
                       const gpuc_expr *bodies, gpuc_tensor **outs)
{
    const char *who = gpuc_ctx_printf(ctx, "compute '%s'", name ? name : "");
    if (count < 1) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has no outputs", who);
    if (ndim < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has %d dimensions", who, ndim);
    gpuc_te_need_axes(ctx, ndim, axes, who);
    gpuc_te_need(ctx, bodies, who, "list of bodies");
    gpuc_te_need(ctx, outs, who, "place for the outputs");
    for (int i = 0; i < count; i++) gpuc_te_need_expr(ctx, bodies[i], who, "body");
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_COMPUTE, name, count);
    op->num_axes = ndim;
    op->axes = gpuc_ctx_memdup(ctx, axes, (size_t)ndim * sizeof(*axes));
    for (int i = 0; i < ndim; i++) {
        if (axes[i]->kind != GPUC_ITER_DATA)
            gpuc_raise(
                ctx, GPUC_INVALID_ARGUMENT,
                "compute '%s': '%s' is a reduce axis; the axes of a compute are made with gpuc_te_axis",
                op->name, gpuc_as_var(axes[i]->var)->name);
        for (int j = 0; j < i; j++)
            if (axes[i] == axes[j])
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "compute '%s' names the axis '%s' twice", op->name,
                           gpuc_as_var(axes[i]->var)->name);
    }
    gpuc_expr *own = gpuc_ctx_memdup(ctx, bodies, (size_t)count * sizeof(*bodies));
    op->bodies = own;
    check_bodies(ctx, op);
    take_axes(ctx, op, own);
    op = gpuc_te_op_of(ctx, op->name, ndim, op->axes, op->num_reduce, op->reduce, count, own);
    gpuc_te_check_reads(ctx, op);
    for (int i = 0; i < ndim; i++) gpuc_te_axis_find(ctx, op->axes[i]->var)->owned = true;
    for (int i = 0; i < op->num_reduce; i++) gpuc_te_axis_find(ctx, op->reduce[i]->var)->owned = true;
    for (int i = 0; i < count; i++) outs[i] = op->outputs[i];
}

gpuc_te_op *gpuc_te_op_of(gpuc_ctx *ctx, const char *name, int num_axes, gpuc_iter *const *axes,
                          int num_reduce, gpuc_iter *const *reduce, int count, const gpuc_expr *bodies)
{
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_COMPUTE, name, count);
    op->num_axes = num_axes;
    op->num_reduce = num_reduce;
    op->axes = gpuc_ctx_memdup(ctx, axes, (size_t)num_axes * sizeof(*axes));
    op->reduce = gpuc_ctx_memdup(ctx, reduce, (size_t)num_reduce * sizeof(*reduce));
    op->bodies = gpuc_ctx_memdup(ctx, bodies, (size_t)count * sizeof(*bodies));
    gpuc_te_collect_inputs(ctx, op);
    gpuc_expr *shape = gpuc_new_array(ctx, gpuc_expr, num_axes);
    for (int i = 0; i < num_axes; i++) shape[i] = axes[i]->extent;
    for (int i = 0; i < count; i++) gpuc_te_output_make(ctx, op, i, num_axes, shape, bodies[i]->dtype);
    return op;
}

gpuc_te_op *gpuc_te_op_with_bodies(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_expr *bodies)
{
    gpuc_te_op *copy = gpuc_ctx_memdup(ctx, op, sizeof(*op));
    copy->bodies = gpuc_ctx_memdup(ctx, bodies, (size_t)op->num_outputs * sizeof(*bodies));
    gpuc_te_collect_inputs(ctx, copy);
    return copy;
}

gpuc_tensor *gpuc_te_compute(gpuc_ctx *ctx, const char *name, int ndim, gpuc_iter *const *axes,
                             gpuc_expr body)
{
    gpuc_tensor *out = NULL;
    gpuc_te_compute_n(ctx, name, ndim, axes, 1, &body, &out);
    return out;
}

gpuc_tensor *gpuc_te_const(gpuc_ctx *ctx, gpuc_dtype dtype, double value)
{
    gpuc_te_check_dtype(ctx, dtype, "a constant");
    return gpuc_te_compute(ctx, "constant", 0, NULL, gpuc_imm(ctx, dtype, value));
}
