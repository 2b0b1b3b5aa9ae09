/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on quantised numbers (op/quantized.h) as the operator on real numbers that they stand for, between
 * dequantize and quantize, which are fused with it. Products stay products of integers, without their zero points. */
#include "relay_pass/common/quantized.h"

#include "relay/infer.h"

static gpuc_rexpr *dequantized(gpuc_ctx *ctx, gpuc_rexpr *q, gpuc_rexpr *scale, gpuc_rexpr *zero,
                               int64_t axis)
{
    gpuc_rexpr *args[] = {q, scale, zero};
    return gpuc_relay_op(ctx, "qnn.dequantize", gpuc_attrs_int(ctx, NULL, "axis", axis), 3, args);
}

/* y with the scale and zero point in the last two arguments of c. */
static gpuc_rexpr *quantized(gpuc_ctx *ctx, const gpuc_rcall *c, gpuc_rexpr *y)
{
    gpuc_rexpr *args[] = {y, c->args[c->n - 2], c->args[c->n - 1]};
    const gpuc_attrs *a = gpuc_attrs_dtype(ctx, NULL, "out_dtype", gpuc_relay_tensor_type(c->args[0])->dtype);
    return gpuc_relay_op(ctx, "qnn.quantize", gpuc_attrs_int(ctx, a, "axis", 0), 3, args);
}

/* Whether a zero point is known to be of -max to max. */
static bool is_within(const gpuc_rexpr *zero, int64_t max)
{
    gpuc_dtype t = gpuc_relay_tensor_type(zero)->dtype;
    if (t.bits == 8 && max > UINT8_MAX) return true;
    if (zero->kind != GPUC_REXPR_CONSTANT) return false;
    const gpuc_const_data *data = gpuc_as_rconstant((gpuc_rexpr *)zero)->data;
    for (size_t i = 0; i < data->size; i += gpuc_dtype_bytes(t)) {
        int64_t v = gpuc_relay_read_integer((const char *)data->bytes + i, t);
        if (v < -max || v > max) return false;
    }
    return true;
}

/* x without its zero point, which is one, or a list along an axis. */
static gpuc_rexpr *centered(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr *zero, int axis)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x), *z = gpuc_relay_tensor_type(zero);
    gpuc_dtype wide = t->dtype.bits == 8 && is_within(zero, INT16_MAX - UINT8_MAX) ? GPUC_INT16 : GPUC_INT32;
    gpuc_expr dims[GPUC_OP_MAX_DIMS];
    if (is_within(zero, 0)) return x;
    zero = gpuc_relay_pass_cast(ctx, zero, wide);
    if (z->ndim && !gpuc_tir_is_const(z->dims[0], 1)) {
        for (int i = 0; i < t->ndim; i++) dims[i] = i == axis ? z->dims[0] : gpuc_int(ctx, 1);
        zero = gpuc_relay_pass_reshape(ctx, zero, t->ndim, dims);
    }
    return gpuc_relay_op2(ctx, "subtract", NULL, gpuc_relay_pass_cast(ctx, x, wide), zero);
}

static gpuc_rexpr *product(gpuc_ctx *ctx, const gpuc_rcall *c, const gpuc_op_quantized *q, gpuc_dtype out)
{
    int channel = !strcmp(q->of, "nn.conv2d_transpose");
    const gpuc_attrs *a = gpuc_attrs_dtype(ctx, c->attrs, "out_dtype", out);
    return gpuc_relay_op2(ctx, q->of, a, centered(ctx, c->args[0], c->args[2], -1),
                          centered(ctx, c->args[1], c->args[3], channel));
}

gpuc_rexpr *gpuc_relay_pass_write_quantized(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op_quantized *q = gpuc_op_quantized_find(gpuc_relay_call_op(e)->name);
    if (!q) return NULL;
    gpuc_rexpr *const *args = c->args, *y[2];
    switch (q->form) {
    case GPUC_QUANTIZED_MAP:
        y[0] = dequantized(ctx, args[0], args[1], args[2], 0);
        return quantized(ctx, c, gpuc_relay_op1(ctx, q->of, c->attrs, y[0]));
    case GPUC_QUANTIZED_PAIR:
        y[0] = dequantized(ctx, args[0], args[2], args[3], gpuc_attrs_get_int(c->attrs, "lhs_axis", -1));
        y[1] = dequantized(ctx, args[1], args[4], args[5], gpuc_attrs_get_int(c->attrs, "rhs_axis", -1));
        return quantized(ctx, c, gpuc_relay_op2(ctx, q->of, NULL, y[0], y[1]));
    case GPUC_QUANTIZED_JOIN: {
        int n = (c->n - 2) / 3;
        gpuc_rexpr **parts = gpuc_new_array(ctx, gpuc_rexpr *, n);
        for (int i = 0; i < n; i++) parts[i] = dequantized(ctx, args[i], args[n + i], args[2 * n + i], 0);
        return quantized(ctx, c, gpuc_relay_op(ctx, q->of, c->attrs, n, parts));
    }
    case GPUC_QUANTIZED_PRODUCT: return product(ctx, c, q, gpuc_relay_tensor_type(e)->dtype);
    }
    return NULL;
}
