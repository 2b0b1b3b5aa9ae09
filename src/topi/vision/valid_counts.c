/* SPDX-License-Identifier: Apache-2.0 */
/* get_valid_counts: of each row of boxes, those that score above a threshold and have a class, in order, with -1 behind
 * them; and how many they are, and where they were. */
#include "op/rows.h"
#include "topi/families.h"
#include "topi/parallel.h"

static int column(const gpuc_op_call *call, const char *attr)
{
    int64_t i = gpuc_attrs_get_int(call->attrs, attr, 0), n = gpuc_topi_static_dim(call, 0, 2);
    if (i >= n)
        gpuc_topi_fail(call, "%s=%lld is outside of the %lld numbers of a box", attr, (long long)i,
                       (long long)n);
    return (int)i;
}

static void infer_valid(gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0];
    if (data->ndim != 3) gpuc_topi_fail(call, "input 0 has %d dimensions, needs 3", data->ndim);
    if (call->in[1].ndim != 0)
        gpuc_topi_fail(call, "input 1, the threshold, has %d dimensions, must be one number",
                       call->in[1].ndim);
    if (column(call, "score_index") < 0) gpuc_topi_fail(call, "score_index is negative");
    column(call, "id_index");
    gpuc_topi_par_countable(call, data->dims[1]);
    gpuc_topi_set_out(call, 0, GPUC_INT32, 1, data->dims);
    gpuc_topi_set_out(call, 1, data->dtype, 3, data->dims);
    gpuc_topi_set_out(call, 2, GPUC_INT32, 2, data->dims);
    call->num_out = 3;
}

typedef struct boxes {
    const gpuc_op_call *call;
    const gpuc_te_op *op;
} boxes;

static gpuc_expr is_valid(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    const boxes *b = c->arg;
    int id = column(b->call, "id_index");
    gpuc_expr at[] = {row, gpuc_topi_par_index(c->ctx, i), gpuc_int(c->ctx, column(b->call, "score_index"))};
    gpuc_expr score = gpuc_tir_load(c->ctx, b->op->input_buffers[0], 3, at);
    gpuc_expr ok = gpuc_lt(c->ctx, gpuc_tir_load(c->ctx, b->op->input_buffers[1], 0, NULL), score);
    if (id < 0) return ok;
    at[2] = gpuc_int(c->ctx, id);
    gpuc_expr class = gpuc_tir_load(c->ctx, b->op->input_buffers[0], 3, at);
    return gpuc_and(c->ctx, ok, gpuc_ge(c->ctx, class, gpuc_imm(c->ctx, gpuc_expr_dtype(class), 0)));
}

/* Where box k of a row was, if there are so many; else -1. */
static gpuc_expr place(gpuc_ctx *ctx, const gpuc_te_op *op, gpuc_expr n, const gpuc_expr *vars,
                       gpuc_expr *there)
{
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[0], n), vars[1]);
    gpuc_expr count = gpuc_te_read(ctx, op->outputs[1], 1, vars);
    *there = gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, vars[1]), count);
    return gpuc_if_then_else(ctx, *there, gpuc_te_read(ctx, op->outputs[0], 1, &at),
                             gpuc_topi_par_i32(ctx, -1));
}

static void valid_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr rows = call->in[0].dims[0], n = call->in[0].dims[1], size = gpuc_mul(ctx, rows, n), vars[3], ok;
    gpuc_tensor_type types[] = {gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size),
                                gpuc_topi_par_type(ctx, GPUC_INT32, 1, &rows)};
    gpuc_te_op *op = gpuc_topi_par_extern(call, "valid", 2, ins, 2, types);
    boxes b = {call, op};
    gpuc_compact c = {.ctx = ctx, .rows = rows, .n = n, .flag = is_valid, .arg = &b};
    op->extern_body = gpuc_topi_compact_emit(&c, op->output_buffers[0], op->output_buffers[1], NULL);

    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, op->outputs[1], 1, vars));
    axes = gpuc_topi_axes(ctx, &call->out[1], vars);
    gpuc_expr from = gpuc_topi_par_index(ctx, place(ctx, op, n, vars, &ok)), zero = gpuc_int(ctx, 0);
    gpuc_expr at[] = {vars[0], gpuc_topi_par_clamp(ctx, from, zero, gpuc_sub(ctx, n, gpuc_int(ctx, 1))),
                      vars[2]};
    gpuc_expr value = gpuc_te_read(ctx, ins[0], 3, at);
    value = gpuc_if_then_else(ctx, ok, value, gpuc_imm(ctx, gpuc_expr_dtype(value), -1));
    outs[1] = gpuc_topi_injective(call, 1, axes, value);
    axes = gpuc_topi_axes(ctx, &call->out[2], vars);
    outs[2] = gpuc_topi_injective(call, 2, axes, place(ctx, op, n, vars, &ok));
}

/* The threshold where it is no input. */
static void take_threshold(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (w->num_in > 1) gpuc_op_written_fail(w, "both %s and input 1 say the threshold", spec->name);
    if (!w->in || w->num_in < 1) return;
    w->num_in = 2;
    gpuc_op_constant_input(w, 1, (gpuc_tensor_type){.dtype = w->in[0].dtype}, value->f);
}

ATTRS(valid_attrs, INT_UP_TO("id_index", 0, GPUC_OP_MAX_WINDOW),
      INT_UP_TO("score_index", 1, GPUC_OP_MAX_WINDOW),
      SPELLED("score_threshold", FLOAT, take_threshold, NULL, "where it is no input"))

const gpuc_op gpuc_topi_ops_valid_counts[] = {
    ALONE("vision.get_valid_counts", 2, 2, valid_attrs, infer_valid, valid_compute, "", "", "", GPUC_T_FLOATS,
          GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_valid_counts_count =
    sizeof gpuc_topi_ops_valid_counts / sizeof gpuc_topi_ops_valid_counts[0];
