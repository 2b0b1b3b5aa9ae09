/* SPDX-License-Identifier: Apache-2.0 */
/* Defines padding: constant, edge, reflect, symmetric and wrap. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

static void infer_pad(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr before[GPUC_TOPI_MAX_DIMS], after[GPUC_TOPI_MAX_DIMS], zero = gpuc_topi_num(call, 0);
    gpuc_topi_sizes(call, "pad_before", in->ndim, before);
    gpuc_topi_sizes(call, "pad_after", in->ndim, after);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "");
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap", "symmetric"};
    bool known = false;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) known |= !strcmp(mode, modes[i]);
    if (!known) gpuc_topi_fail(call, "mode '%s' is not constant, reflect, edge, symmetric or wrap", mode);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        dims[i] = in->dims[i] ? gpuc_add(ctx, in->dims[i], gpuc_add(ctx, before[i], after[i])) : NULL;
        if (!dims[i]) continue;
        gpuc_topi_require(call, gpuc_ge(ctx, dims[i], zero), "dimension %d would be %s", i,
                          gpuc_expr_text(ctx, dims[i]));
        if (!strcmp(mode, "constant")) continue;
        gpuc_expr keeps = gpuc_and(ctx, gpuc_le(ctx, before[i], zero), gpuc_le(ctx, after[i], zero));
        gpuc_topi_require(call, gpuc_or(ctx, gpuc_gt(ctx, in->dims[i], zero), keeps),
                          "mode '%s' has nothing to take from in dimension %d", mode, i);
    }
    if (call->num_in > 1 && call->in[1].ndim) gpuc_topi_fail(call, "the value must be a scalar");
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

/* The position in the input that output position p reads, in modes other than constant. */
static gpuc_expr pad_source(gpuc_ctx *ctx, const char *mode, gpuc_expr p, gpuc_expr extent)
{
    gpuc_expr zero = gpuc_int(ctx, 0), last = gpuc_sub(ctx, extent, gpuc_int(ctx, 1));
    if (!strcmp(mode, "edge")) return gpuc_max(ctx, zero, gpuc_min(ctx, p, last));
    if (!strcmp(mode, "wrap")) return gpuc_floormod_(ctx, p, extent);
    if (!strcmp(mode, "symmetric")) { /* as reflect, with the elements at the ends twice */
        gpuc_expr twice = gpuc_mul(ctx, extent, gpuc_int(ctx, 2)), q = gpuc_floormod_(ctx, p, twice);
        return gpuc_select(ctx, gpuc_lt(ctx, q, extent), q,
                           gpuc_sub(ctx, gpuc_sub(ctx, twice, gpuc_int(ctx, 1)), q));
    }
    gpuc_expr period = gpuc_max(ctx, gpuc_mul(ctx, last, gpuc_int(ctx, 2)), gpuc_int(ctx, 1));
    gpuc_expr m = gpuc_floormod_(ctx, p, period);
    return gpuc_select(ctx, gpuc_lt(ctx, m, extent), m, gpuc_sub(ctx, period, m));
}

static void pad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], inside = NULL, zero = gpuc_int(ctx, 0);
    gpuc_expr before[GPUC_TOPI_MAX_DIMS], after[GPUC_TOPI_MAX_DIMS];
    int ndim = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_sizes(call, "pad_before", ndim, before);
    gpuc_topi_sizes(call, "pad_after", ndim, after);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "constant");
    bool constant = !strcmp(mode, "constant");
    for (int i = 0; i < ndim; i++) {
        gpuc_expr p = gpuc_sub(ctx, vars[i], before[i]);
        bool leads = !gpuc_topi_proves(ctx, gpuc_le(ctx, before[i], zero)),
             trails = !gpuc_topi_proves(ctx, gpuc_le(ctx, after[i], zero)), grows = leads || trails;
        index[i] = constant || !grows ? p : pad_source(ctx, mode, p, call->in[0].dims[i]);
        if (!constant || !grows) continue;
        gpuc_expr ok = NULL;
        if (leads) ok = gpuc_ge(ctx, p, zero);
        if (trails) {
            gpuc_expr below = gpuc_lt(ctx, p, call->in[0].dims[i]);
            ok = ok ? gpuc_and(ctx, ok, below) : below;
        }
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, index);
    gpuc_expr fill = call->num_in > 1
                         ? gpuc_te_read(ctx, ins[1], 0, NULL)
                         : gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "value", 0));
    outs[0] =
        gpuc_topi_injective(call, 0, axes, inside ? gpuc_if_then_else(ctx, inside, value, fill) : value);
}

ATTRS(pad_attrs, SIZES_UP_TO("pad_before", INT64_MAX / 4), SIZES_UP_TO("pad_after", INT64_MAX / 4),
      STRING("mode", "constant"), FLOAT("value", 0),
      SPELLED("pad_width", INTS, gpuc_op_take_pairs, "pad_before,pad_after", "pairs of before and after"),
      SAME("pad_mode", STRING, "mode"), VALUES("mode", "mode|SYMMETRIC=symmetric,REFLECT=reflect"),
      SAME("pad_value", FLOAT, "value"))

const gpuc_op gpuc_topi_ops_pad[] = {
    /* Input 1, if there is one, is the value. */
    MOVES_OF("nn.pad", 1, 2, pad_attrs, infer_pad, pad_compute, "pad", "pad", "Pad", GPUC_T_ANY, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_pad_count = sizeof gpuc_topi_ops_pad / sizeof gpuc_topi_ops_pad[0];
