/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts calls that read more buffers, or larger weights, than one kernel can bind. */
#include <string.h>

#include "relay_pass/common/layout.h"
#include "relay_pass/common/split_call.h"

static gpuc_rexpr *slice(gpuc_ctx *ctx, gpuc_rexpr *e, int axis, int64_t from, int64_t size)
{
    int64_t begin[64] = {0}, sizes[64], steps[64]; /* of a constant */
    int ndim = gpuc_relay_tensor_type(e)->ndim;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(e), sizes);
    for (int i = 0; i < ndim; i++) steps[i] = 1;
    begin[axis] = from;
    sizes[axis] = size;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", ndim, begin);
    a = gpuc_attrs_ints(ctx, a, "sizes", ndim, sizes);
    return gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", ndim, steps), e);
}

/* The axis along which a weight that is too large may be cut, and the axis of the output that is cut with
 * it. */
static bool cut_axes(const gpuc_rexpr *e, int *weight_axis, int *out_axis)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int out_rank = gpuc_relay_tensor_type(e)->ndim;
    if (gpuc_relay_is_op(e, "nn.dense")) {
        *weight_axis = 0;
        *out_axis = out_rank - 1;
        return true;
    }
    if (gpuc_relay_is_op(e, "nn.matmul")) {
        int rank = gpuc_relay_tensor_type(c->args[1])->ndim;
        if (rank < 2) return false;
        *weight_axis = rank - (gpuc_attrs_get_int(c->attrs, "transpose_b", 0) ? 2 : 1);
        *out_axis = out_rank - 1;
        return true;
    }
    if (!strncmp(gpuc_relay_call_op(e)->name, "nn.conv", 7) &&
        gpuc_attrs_get_int(c->attrs, "groups", 1) == 1) {
        if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", "OIHW"), "OIHW")) return false;
        *weight_axis = strstr(gpuc_relay_call_op(e)->name, "_transpose") ? 1 : 0;
        *out_axis = gpuc_relay_pass_channel_of(c);
        return *out_axis > 0;
    }
    return false;
}

static gpuc_rexpr *cut_weight(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int weight_axis, out_axis;
    if (c->n < 2 || c->args[1]->kind != GPUC_REXPR_CONSTANT) return e;
    int64_t bytes = gpuc_relay_tensor_type_bytes(ctx, gpuc_relay_tensor_type(c->args[1])), extent;
    int64_t limit = p->target->max_buffer_range;
    if (!limit || bytes <= limit || !cut_axes(e, &weight_axis, &out_axis)) return e;
    gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[1])->dims[weight_axis], &extent);
    int64_t row = bytes / extent, max = limit / row;
    if (max < 1) return e;
    int64_t parts = (extent + max - 1) / max, size = (extent + parts - 1) / parts;
    gpuc_rexpr **outs = gpuc_new_array(ctx, gpuc_rexpr *, parts);
    for (int64_t i = 0; i < parts; i++) {
        int64_t from = i * size, count = extent - from < size ? extent - from : size;
        gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
        args[1] = slice(ctx, c->args[1], weight_axis, from, count);
        outs[i] = gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, c->attrs, c->n, args);
    }
    int max_inputs = (int)p->target->max_storage_buffers - 1;
    return gpuc_relay_pass_concat(ctx, gpuc_attrs_int(ctx, NULL, "axis", out_axis), max_inputs, (int)parts,
                                  outs);
}

static gpuc_rexpr *limit(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    gpuc_relay_pass_ctx *p = arg;
    if (!gpuc_relay_call_op(e)) return e;
    gpuc_rexpr *split = gpuc_relay_pass_split_call(ctx, e, (int)p->target->max_storage_buffers - 1);
    if (split != e) return split;
    return cut_weight(p, e);
}

void gpuc_relay_pass_limit_arguments(gpuc_relay_pass_ctx *p)
{
    if (p->target->max_storage_buffers < 3)
        gpuc_raise(p->ctx, GPUC_INVALID_ARGUMENT,
                   "max_storage_buffers=%lld of the target: kernels need at least 3",
                   (long long)p->target->max_storage_buffers);
    gpuc_relay_pass_rewrite_module(p, limit, p);
}
