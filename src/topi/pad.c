/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topi/families.h"
#include "topi/rows.h"
#include "topi/util.h"

static void infer_pad(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *before = gpuc_topi_ints(call, "pad_before", in->ndim),
                  *after = gpuc_topi_ints(call, "pad_after", in->ndim);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "");
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    bool known = false;
    for (size_t i = 0; i < 4; i++) known |= !strcmp(mode, modes[i]);
    if (!known) gpuc_topi_fail(call, "mode '%s' is not constant, reflect, edge or wrap", mode);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < in->ndim; i++) {
        int64_t d;
        dims[i] =
            in->dims[i] ? gpuc_add(call->ctx, in->dims[i], gpuc_topi_num(call, before[i] + after[i])) : NULL;
        if (!dims[i]) continue;
        if (gpuc_expr_is_int(dims[i], &d) && d < 0)
            gpuc_topi_fail(call, "dimension %d would be %lld", i, (long long)d);
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)),
                          "dimension %d would be %s", i, gpuc_expr_text(call->ctx, dims[i]));
        if (strcmp(mode, "constant") && (before[i] > 0 || after[i] > 0))
            gpuc_topi_require(call, gpuc_gt(call->ctx, in->dims[i], gpuc_topi_num(call, 0)),
                              "mode '%s' has nothing to take from in dimension %d", mode, i);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

/* The source position of p under a mode other than constant. */
static gpuc_expr pad_source(gpuc_ctx *ctx, const char *mode, gpuc_expr p, gpuc_expr extent)
{
    gpuc_expr zero = gpuc_int(ctx, 0), last = gpuc_sub(ctx, extent, gpuc_int(ctx, 1));
    if (!strcmp(mode, "edge")) return gpuc_max(ctx, zero, gpuc_min(ctx, p, last));
    if (!strcmp(mode, "wrap")) return gpuc_floormod_(ctx, p, extent);
    gpuc_expr period = gpuc_max(ctx, gpuc_mul(ctx, last, gpuc_int(ctx, 2)), gpuc_int(ctx, 1));
    gpuc_expr m = gpuc_floormod_(ctx, p, period);
    return gpuc_select(ctx, gpuc_lt(ctx, m, extent), m, gpuc_sub(ctx, period, m));
}

static void pad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], inside = NULL;
    int ndim = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    const int64_t *before = gpuc_topi_ints(call, "pad_before", ndim),
                  *after = gpuc_topi_ints(call, "pad_after", ndim);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "constant");
    bool constant = !strcmp(mode, "constant");
    for (int i = 0; i < ndim; i++) {
        gpuc_expr p = gpuc_sub(ctx, vars[i], gpuc_topi_num(call, before[i]));
        bool grows = before[i] > 0 || after[i] > 0;
        index[i] = constant || !grows ? p : pad_source(ctx, mode, p, call->in[0].dims[i]);
        if (!constant || !grows) continue;
        gpuc_expr ok = NULL;
        if (before[i] > 0) ok = gpuc_ge(ctx, p, gpuc_topi_num(call, 0));
        if (after[i] > 0) {
            gpuc_expr below = gpuc_lt(ctx, p, call->in[0].dims[i]);
            ok = ok ? gpuc_and(ctx, ok, below) : below;
        }
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, index);
    gpuc_expr fill = gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "value", 0));
    outs[0] =
        gpuc_topi_injective(call, 0, axes, inside ? gpuc_if_then_else(ctx, inside, value, fill) : value);
}

ATTRS(pad_attrs, INTS_UP_TO("pad_before", INT64_MAX / 4), INTS_UP_TO("pad_after", INT64_MAX / 4),
      STRING("mode", "constant"), FLOAT("value", 0))

const gpuc_op gpuc_ops_pad[] = {
    MOVES("nn.pad", 1, 1, pad_attrs, infer_pad, pad_compute, "pad", "pad", "Pad"),
};
const size_t gpuc_ops_pad_count = sizeof gpuc_ops_pad / sizeof gpuc_ops_pad[0];
