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

typedef struct padding {
    const gpuc_op_call *call;
    gpuc_tensor *from;
    const char *mode;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], before[GPUC_TOPI_MAX_DIMS], after[GPUC_TOPI_MAX_DIMS];
} padding;

/* The condition that axis i's position p is on the input; NULL: it always is. */
static gpuc_expr inside_of(const padding *x, int i, gpuc_expr p)
{
    gpuc_ctx *ctx = x->call->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0), ok = NULL;
    if (!gpuc_topi_proves(ctx, gpuc_le(ctx, x->before[i], zero))) ok = gpuc_ge(ctx, p, zero);
    if (!gpuc_topi_proves(ctx, gpuc_le(ctx, x->after[i], zero))) {
        gpuc_expr below = gpuc_lt(ctx, p, x->call->in[0].dims[i]);
        ok = ok ? gpuc_and(ctx, ok, below) : below;
    }
    return ok;
}

/* The position in the input that a position p beyond it reads, in modes other than constant; near: p is no farther
 * away than the input is long. */
static gpuc_expr source(const padding *x, int i, gpuc_expr p, bool near)
{
    gpuc_ctx *ctx = x->call->ctx;
    gpuc_expr extent = x->call->in[0].dims[i], zero = gpuc_int(ctx, 0), one = gpuc_int(ctx, 1),
              last = gpuc_sub(ctx, extent, one), before = gpuc_lt(ctx, p, zero);
    if (!strcmp(x->mode, "edge")) return gpuc_max(ctx, zero, gpuc_min(ctx, p, last));
    if (!strcmp(x->mode, "wrap")) {
        if (!near) return gpuc_floormod_(ctx, p, extent);
        return gpuc_select(ctx, before, gpuc_add(ctx, p, extent), gpuc_sub(ctx, p, extent));
    }
    if (!strcmp(x->mode, "symmetric")) { /* as reflect, with the elements at the ends twice */
        gpuc_expr both = gpuc_mul(ctx, extent, gpuc_int(ctx, 2)), end = gpuc_sub(ctx, both, one);
        if (near) return gpuc_select(ctx, before, gpuc_sub(ctx, gpuc_int(ctx, -1), p), gpuc_sub(ctx, end, p));
        gpuc_expr q = gpuc_floormod_(ctx, p, both);
        return gpuc_select(ctx, gpuc_lt(ctx, q, extent), q, gpuc_sub(ctx, end, q));
    }
    gpuc_expr twice = gpuc_mul(ctx, last, gpuc_int(ctx, 2));
    if (near) return gpuc_select(ctx, before, gpuc_sub(ctx, zero, p), gpuc_sub(ctx, twice, p));
    gpuc_expr period = gpuc_max(ctx, twice, one), m = gpuc_floormod_(ctx, p, period);
    return gpuc_select(ctx, gpuc_lt(ctx, m, extent), m, gpuc_sub(ctx, period, m));
}

/* Are both margins of an axis known to need no division? */
static bool is_near(const padding *x, int i)
{
    gpuc_ctx *ctx = x->call->ctx;
    gpuc_expr most = x->call->in[0].dims[i];
    if (!strcmp(x->mode, "edge")) return true;
    if (!strcmp(x->mode, "reflect")) most = gpuc_sub(ctx, most, gpuc_int(ctx, 1));
    return gpuc_topi_proves(ctx, gpuc_le(ctx, x->before[i], most)) &&
           gpuc_topi_proves(ctx, gpuc_le(ctx, x->after[i], most));
}

/* The same, for the output's position along the axis. Where that needs division, a table has it. */
static gpuc_expr beyond(const padding *x, int i, gpuc_expr p)
{
    gpuc_ctx *ctx = x->call->ctx;
    if (is_near(x, i)) return source(x, i, p, true);
    gpuc_tensor_type type = {.ndim = 1, .dims = &x->call->out[0].dims[i]};
    gpuc_expr v;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, &v);
    gpuc_expr at = source(x, i, gpuc_sub(ctx, v, x->before[i]), false);
    return gpuc_te_read(ctx, gpuc_topi_compute(ctx, "source", "shared_table", 1, axes, at), 1, &x->vars[i]);
}

static void pad_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    padding x = {
        .call = call, .from = ins[0], .mode = gpuc_attrs_get_string(call->attrs, "mode", "constant")};
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], all = NULL, value;
    int ndim = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], x.vars);
    gpuc_topi_sizes(call, "pad_before", ndim, x.before);
    gpuc_topi_sizes(call, "pad_after", ndim, x.after);
    bool constant = !strcmp(x.mode, "constant");
    for (int i = 0; i < ndim; i++) {
        gpuc_expr p = index[i] = gpuc_sub(ctx, x.vars[i], x.before[i]), inside = inside_of(&x, i, p);
        if (inside && constant) all = all ? gpuc_and(ctx, all, inside) : inside;
        if (inside && !constant) index[i] = gpuc_if_then_else(ctx, inside, p, beyond(&x, i, p));
    }
    value = gpuc_te_read(ctx, ins[0], ndim, index);
    gpuc_expr fill = call->num_in > 1
                         ? gpuc_te_read(ctx, ins[1], 0, NULL)
                         : gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "value", 0));
    if (all) value = gpuc_if_then_else(ctx, all, value, fill);
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
}

/* A value that is an input is one of the data's type. */
static void take_fill(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr_spec same = {.name = spec->name, .to = "value"};
    if (value) gpuc_op_take_same(w, &same, value);
    if (!w->in || w->num_written < 2 || gpuc_dtype_equal(w->in[0].dtype, w->in[1].dtype)) return;
    w->inputs[1].cast = w->in[0].dtype;
    w->changed = true;
}

ATTRS(
    pad_attrs, SIZES_UP_TO("pad_before", INT64_MAX / 4), SIZES_UP_TO("pad_after", INT64_MAX / 4),
    STRING("mode", "constant"), FLOAT("value", 0),
    SPELLED("pad_width", INTS, gpuc_op_take_pairs, "pad_before,pad_after", "pairs of before and after"),
    SAME("pad_mode", STRING, "mode"), VALUES("mode", "mode|SYMMETRIC=symmetric,REFLECT=reflect"),
    {.name = "pad_value", .kind = GPUC_ATTR_FLOAT, .take = take_fill, .always = true, .about = "as `value`"})

const gpuc_op gpuc_topi_ops_pad[] = {
    /* Input 1, if there is one, is the value; calls may have it of another type. */
    MOVES_OF("nn.pad", 1, 2, pad_attrs, infer_pad, pad_compute, "pad", "pad", "Pad", GPUC_T_ANY, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_pad_count = sizeof gpuc_topi_ops_pad / sizeof gpuc_topi_ops_pad[0];
