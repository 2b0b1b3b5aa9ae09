/* SPDX-License-Identifier: Apache-2.0 */
/* The operator example.add2(a, b) scale=1: a + scale * b, under numpy's broadcasting. */
#include "add2.h"

/* Type relation: what comes out for what goes in. That both inputs have one type, and which, says the row. */
static void infer(gpuc_op_call *call)
{
    if (gpuc_attrs_get_float(call->attrs, "scale", 1) == 0)
        gpuc_topi_fail(call, "scale=0 makes input 1 useless; leave the operator out");
    gpuc_topi_broadcast_types(call, 0, 2, &call->out[0]);
}

/* Definition: one output element from the elements that it is made of. */
static void compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], index);
    gpuc_expr a = gpuc_topi_read_broadcast(ctx, ins[0], &call->out[0], index),
              b = gpuc_topi_read_broadcast(ctx, ins[1], &call->out[0], index);
    gpuc_expr scale = gpuc_imm(ctx, gpuc_expr_dtype(b), gpuc_attrs_get_float(call->attrs, "scale", 1));
    gpuc_expr sum = gpuc_add(ctx, a, gpuc_mul(ctx, scale, b));
    outs[0] = gpuc_topi_compute(ctx, "add2", "broadcast", ndim, axes, sum);
}

/* Schedule: on a GPU, one thread per element in groups of a size that suits most; elsewhere what gpuc does by
 * itself. */
static gpuc_schedule *schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs, int num_outputs,
                               gpuc_tensor *const *outputs)
{
    if (gpuc_target_device_type(target) == GPUC_DEVICE_CPU || gpuc_te_ndim(outputs[0]) == 0)
        return gpuc_topi_schedule(ctx, target, knobs, num_outputs, outputs);
    static const int64_t sizes[] = {32, 64, 128};
    gpuc_schedule *s = gpuc_schedule_create(ctx, num_outputs, outputs);
    gpuc_stage *stage = gpuc_schedule_stage(s, outputs[0]);
    gpuc_iter *all = gpuc_stage_axis(stage, 0), *group, *thread;
    for (int i = 1; i < gpuc_te_ndim(outputs[0]); i++)
        all = gpuc_stage_fuse(stage, all, gpuc_stage_axis(stage, i));
    gpuc_stage_split(stage, all, gpuc_knob(knobs, "threads", 128, 3, sizes), &group, &thread);
    gpuc_stage_bind(stage, group, "blockIdx.x");
    gpuc_stage_bind(stage, thread, "threadIdx.x");
    return s;
}

static const gpuc_attr_spec attrs[] = {{.name = "scale", .kind = GPUC_ATTR_FLOAT, .f = 1}, {0}};

const gpuc_op add2_op = {
    .name = "example.add2",
    .min_in = 2,
    .max_in = 2,
    .types = {GPUC_T_FLOATS, GPUC_T_LIKE},
    .attrs = attrs,
    .infer = infer,
    .compute = compute,
    .pattern = GPUC_FUSE_BROADCAST,
    .topi = "",
    .nnvm = "",
    .onnx = "com.example:Add2",
    .schedule = schedule,
};

/* ---- Another implementation: input 1 is scaled once, not for each row of the output ---- */

static bool is_smaller(const gpuc_op_call *call, const gpuc_target *target)
{
    (void)target;
    return call->in[1].ndim < call->out[0].ndim;
}

static void compute_by_row(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->in[1], index);
    gpuc_expr scale = gpuc_imm(ctx, call->in[1].dtype, gpuc_attrs_get_float(call->attrs, "scale", 1));
    gpuc_expr element = gpuc_te_read(ctx, ins[1], call->in[1].ndim, index);
    gpuc_tensor *scaled =
        gpuc_topi_compute(ctx, "scaled", "elemwise", call->in[1].ndim, axes, gpuc_mul(ctx, scale, element));
    axes = gpuc_topi_axes(ctx, &call->out[0], index);
    gpuc_expr a = gpuc_topi_read_broadcast(ctx, ins[0], &call->out[0], index),
              b = gpuc_topi_read_broadcast(ctx, scaled, &call->out[0], index);
    outs[0] = gpuc_topi_compute(ctx, "add2", "broadcast", call->out[0].ndim, axes, gpuc_add(ctx, a, b));
}

/* As it is: a loop for the scaled input, which the default schedule would put into the other one. */
static gpuc_schedule *two_loops(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs, int num_outputs,
                                gpuc_tensor *const *outputs)
{
    (void)target;
    (void)knobs;
    return gpuc_schedule_create(ctx, num_outputs, outputs);
}

const gpuc_op_implementation add2_by_row = {
    .name = "example.add2_by_row",
    .op = "example.add2",
    .targets = "c",
    .priority = 20,
    .applies = is_smaller,
    .compute = compute_by_row,
    .schedule = two_loops,
};
