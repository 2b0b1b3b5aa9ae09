/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers over the projected inputs of all steps: what they take and make, by the definitions of
 * ONNX. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/parallel.h"
#include "topi/nn/rnn.h"
#include "topi/nn/rnn_functions.h"
#include "op/rows.h"
#include "autoschedule/rules.h"

/* ---- The layer ---- */

typedef struct cell {
    int gates, functions, inputs, outputs;
} cell;

static const cell cells[] = {{1, 1, 3, 2}, {3, 2, 4, 2}, {4, 3, 5, 3}}; /* rnn, gru, lstm */

static int kind_of(const gpuc_op_call *call)
{
    const char *name = call->op->name;
    return !strcmp(name, "nn.lstm") ? GPUC_LSTM : !strcmp(name, "nn.gru") ? GPUC_GRU : GPUC_RNN;
}

static void check_shape(const gpuc_op_call *call, int i, int ndim, const gpuc_expr *want, int batch)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->in[i];
    gpuc_expr fits = gpuc_imm_int(ctx, GPUC_BOOL, t->ndim == ndim);
    const char *shape = "";
    for (int k = 0; k < ndim; k++) {
        shape = gpuc_ctx_printf(ctx, "%s%s%s", shape, k ? ", " : "",
                                want[k] ? gpuc_expr_text(ctx, want[k]) : "?");
        if (t->ndim != ndim || !t->dims[k] || !want[k] || t->dims[k] == want[k]) continue;
        gpuc_expr same = gpuc_eq(ctx, t->dims[k], want[k]);
        if (k == batch) same = gpuc_or(ctx, same, gpuc_eq(ctx, t->dims[k], gpuc_int(ctx, 1)));
        fits = gpuc_and(ctx, fits, same);
    }
    gpuc_topi_require(call, fits, "input %d must have the shape [%s]", i, shape);
}

/* Recurrent weights [directions, units / b, units, gates, b], the last block filled up. */
static void check_packed(const gpuc_op_call *call, int gates, int64_t directions, int64_t units)
{
    int64_t block = gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, GPUC_RNN_PACKED_RANK - 1);
    if (block < 1) gpuc_topi_fail(call, "blocks of %lld units", (long long)block);
    int64_t dims[GPUC_RNN_PACKED_RANK] = {directions, (units - 1) / block + 1, units, gates, block};
    gpuc_expr want[GPUC_RNN_PACKED_RANK];
    for (int i = 0; i < GPUC_RNN_PACKED_RANK; i++) want[i] = gpuc_int(call->ctx, dims[i]);
    check_shape(call, GPUC_RNN_RECURRENT, GPUC_RNN_PACKED_RANK, want, -1);
}

static void infer_layer(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *x = &call->in[GPUC_RNN_PROJECTED], *r = &call->in[GPUC_RNN_RECURRENT];
    const cell *c = &cells[kind_of(call)];
    bool packed = r->ndim == GPUC_RNN_PACKED_RANK;
    if (x->ndim != 3 || (r->ndim != 3 && !packed))
        gpuc_topi_fail(call,
                       "projected inputs [length, batch, units] and weights [directions, units, units]");
    int64_t directions = gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, 0),
            units = gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, packed ? 2 : 1);
    if (directions < 1 || directions > GPUC_RNN_MAX_DIRECTIONS || units < 1 || units > INT32_MAX / 8)
        gpuc_topi_fail(call, "%lld directions of %lld units", (long long)directions, (long long)units);
    gpuc_expr d = gpuc_int(ctx, directions), h = gpuc_int(ctx, units);
    gpuc_expr projected[] = {x->dims[0], x->dims[1], gpuc_int(ctx, directions * c->gates * units)};
    gpuc_expr weights[] = {d, h, gpuc_int(ctx, c->gates * units)}, state[] = {d, x->dims[1], h};
    gpuc_expr bias[] = {d, h}, peepholes[] = {d, gpuc_int(ctx, 3 * units)};
    check_shape(call, GPUC_RNN_PROJECTED, 3, projected, -1);
    if (packed)
        check_packed(call, c->gates, directions, units);
    else
        check_shape(call, GPUC_RNN_RECURRENT, 3, weights, -1);
    if (call->num_in > c->inputs) check_shape(call, c->inputs, 1, &x->dims[1], -1);
    check_shape(call, GPUC_RNN_INITIAL, 3, state, 1);
    if (kind_of(call) == GPUC_GRU) check_shape(call, GPUC_RNN_RECURRENT_BIAS, 2, bias, -1);
    if (kind_of(call) == GPUC_LSTM) {
        check_shape(call, GPUC_RNN_INITIAL_CELL, 3, state, 1);
        check_shape(call, GPUC_RNN_PEEPHOLES, 2, peepholes, -1);
    }
    int functions = (int)directions * c->functions;
    for (int i = 0; i < functions; i++)
        if (!gpuc_topi_rnn_activation(call, i))
            gpuc_topi_fail(call, "activations names fewer than %d", functions);
    for (int i = 0; i < 2; i++)
        if (gpuc_attrs_find(call->attrs, i ? "beta" : "alpha")->n != functions)
            gpuc_topi_fail(call, "%s does not have %d numbers", i ? "beta" : "alpha", functions);
    gpuc_expr all[] = {x->dims[0], d, x->dims[1], h};
    call->num_out = c->outputs;
    gpuc_topi_set_out(call, 0, x->dtype, 4, all);
    for (int i = 1; i < c->outputs; i++) gpuc_topi_set_out(call, i, x->dtype, 3, state);
}

static gpuc_stmt layer_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                            gpuc_knobs *knobs)
{
    (void)ctx, (void)op, (void)knobs;
    return gpuc_topi_rnn_emit(arg, target);
}

static void layer_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const cell *of = &cells[kind_of(call)];
    bool packed = call->in[GPUC_RNN_RECURRENT].ndim == GPUC_RNN_PACKED_RANK;
    gpuc_te_op *op = gpuc_topi_par_extern(call, "rnn", call->num_in, ins, call->num_out, call->out);
    gpuc_rnn *r = gpuc_new(ctx, gpuc_rnn);
    *r = (gpuc_rnn){.call = gpuc_topi_par_keep_call(call),
                    .ctx = ctx,
                    .op = op,
                    .kind = kind_of(call),
                    .gates = of->gates,
                    .functions = of->functions,
                    .lengths = of->inputs};
    r->work = gpuc_topi_accumulator(call->out[0].dtype);
    r->directions = (int)gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, 0);
    r->units = gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, packed ? 2 : 1);
    if (packed) r->block = gpuc_topi_static_dim(call, GPUC_RNN_RECURRENT, GPUC_RNN_PACKED_RANK - 1);
    gpuc_topi_par_set_body(ctx, op, layer_body, r);
    for (int i = 0; i < call->num_out; i++) outs[i] = op->outputs[i];
}

/* Inputs: what the inputs of all steps give each gate [length, batch, directions * gates * units]; recurrent
 * weights [directions, units, gates * units], or packed [directions, units / b, units, gates, b]; the first
 * state [directions, batch or 1, units]; of a GRU the recurrent bias of gate h [directions, units], of an
 * LSTM the first state of the cells and the peepholes [directions, 3 * units]; the lengths [batch] unless all
 * are full. Outputs: all states [length, directions, batch, units], the last one, that of the cells. */
#define LAYER                                                                                                \
    STRING("activations", ""), {.name = "alpha", .kind = GPUC_ATTR_FLOATS},                                  \
        {.name = "beta", .kind = GPUC_ATTR_FLOATS}, FLOAT("clip", 0), INT("reverse", 0)
ATTRS(rnn_attrs, LAYER)
ATTRS(gru_attrs, LAYER, INT("linear_before_reset", 0))
ATTRS(lstm_attrs, LAYER, INT("input_forget", 0))

#define LAYER_ROW                                                                                            \
    .infer = infer_layer, .compute = layer_compute, .schedule = gpuc_topi_par_schedule,                      \
    .pattern = GPUC_FUSE_OPAQUE

const gpuc_op gpuc_topi_ops_rnn[] = {
    {.name = "nn.rnn",
     .min_in = 3,
     .max_in = 4,
     .types = {GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_INT32 | GPUC_T_INT64},
     .attrs = rnn_attrs,
     LAYER_ROW,
     .topi = "rnn",
     .nnvm = "",
     .onnx = "RNN"},
    {.name = "nn.gru",
     .min_in = 4,
     .max_in = 5,
     .types = {GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_INT32 | GPUC_T_INT64},
     .attrs = gru_attrs,
     LAYER_ROW,
     .topi = "gru",
     .nnvm = "",
     .onnx = "GRU"},
    {.name = "nn.lstm",
     .min_in = 5,
     .max_in = 6,
     .types = {GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_LIKE, GPUC_T_LIKE,
               GPUC_T_INT32 | GPUC_T_INT64},
     .attrs = lstm_attrs,
     LAYER_ROW,
     .topi = "lstm",
     .nnvm = "",
     .onnx = "LSTM"},
};
const size_t gpuc_topi_ops_rnn_count = sizeof gpuc_topi_ops_rnn / sizeof gpuc_topi_ops_rnn[0];
