/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of quantised numbers in units of the result: round(x * scale) + zero point, or, with TVM's inputs,
 * round((x - zero point) * scale / the result's) + the result's zero point. The parameters broadcast. */
#include <string.h>

#include "op/rows.h"
#include "topi/families.h"
#include "topi/nn/quantize.h"

typedef enum rounding { TO_EVEN, UPWARD, AWAY_FROM_ZERO } rounding; /* of halves */

static bool has_both_sides(const gpuc_op_call *call)
{
    return call->num_in == 5;
}

/* Without a word on it, ONNX's way for ONNX's inputs, and what TVM 0.13 does for its own. */
static rounding rounding_of(const gpuc_op_call *call)
{
    const char *name = gpuc_attrs_get_string(call->attrs, "rounding", "None");
    if (!strcmp(name, "TOEVEN")) return TO_EVEN;
    if (!strcmp(name, "UPWARD")) return UPWARD;
    if (!strcmp(name, "TONEAREST")) return AWAY_FROM_ZERO;
    if (strcmp(name, "None"))
        gpuc_topi_fail(call, "rounding is '%s'; known are None, TOEVEN, UPWARD and TONEAREST", name);
    return has_both_sides(call) ? UPWARD : TO_EVEN;
}

/* The type of products: a float, or int64 for those of fixed point. */
static gpuc_dtype compute_type_of(const gpuc_op_call *call)
{
    const char *name = gpuc_attrs_get_string(call->attrs, "compute_dtype", "None");
    if (!strcmp(name, "float32")) return GPUC_FLOAT32;
    if (!strcmp(name, "float64")) return GPUC_FLOAT64;
    if (!strcmp(name, "int64")) return GPUC_INT64;
    if (strcmp(name, "None"))
        gpuc_topi_fail(call, "compute_dtype is '%s'; known are None, float32, float64 and int64", name);
    return has_both_sides(call) ? GPUC_INT64 : gpuc_topi_quantize_work(call->in[1].dtype);
}

static void infer_requantize(gpuc_op_call *call)
{
    if (call->num_in == 4)
        gpuc_topi_fail(
            call, "has 4 inputs: the data, a scale and the result's zero point, or the data, its scale and "
                  "zero point, and the result's");
    gpuc_dtype out = gpuc_topi_quantized_type(call, has_both_sides(call) ? 4 : 2);
    gpuc_topi_broadcast_types(call, 0, call->num_in, &call->out[0]);
    call->out[0].dtype = out;
    rounding_of(call);
    compute_type_of(call);
}

static gpuc_expr rounded(gpuc_ctx *ctx, gpuc_expr x, rounding how)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), size = x;
    if (how == TO_EVEN) return gpuc_call1(ctx, "round", x);
    if (how == AWAY_FROM_ZERO) size = gpuc_call1(ctx, "abs", x);
    gpuc_expr whole = gpuc_call1(ctx, "floor", size), over = gpuc_sub(ctx, size, whole);
    whole = gpuc_add(ctx, whole,
                     gpuc_select(ctx, gpuc_ge(ctx, over, gpuc_imm(ctx, t, 0.5)), gpuc_imm(ctx, t, 1), zero));
    return how == UPWARD ? whole : gpuc_select(ctx, gpuc_lt(ctx, x, zero), gpuc_sub(ctx, zero, whole), whole);
}

/* ---- Fixed point: x times the 31 leading bits of the scale, shifted ---- */

enum { LEADING = 31 };

static gpuc_expr long_of(gpuc_ctx *ctx, int64_t v)
{
    return gpuc_imm_int(ctx, GPUC_INT64, v);
}

static gpuc_expr shift(gpuc_ctx *ctx, const char *how, gpuc_expr x, gpuc_expr by)
{
    return gpuc_call2(ctx, how, x, gpuc_cast(ctx, GPUC_INT64, by));
}

/* What is not of 32 bits becomes the nearest number that is. Only halves are compared: llvmpipe 22.3 gets comparisons
 * of 64 bits wrong. */
static gpuc_expr narrowed(gpuc_ctx *ctx, gpuc_expr v)
{
    gpuc_expr none = gpuc_imm_int(ctx, GPUC_INT32, 0), low = gpuc_cast(ctx, GPUC_INT32, v),
              high = gpuc_cast(ctx, GPUC_INT32,
                               shift(ctx, "shr", v, long_of(ctx, LEADING))); /* 0, -1: it fits */
    gpuc_expr fits =
        gpuc_or(ctx, gpuc_eq(ctx, high, none), gpuc_eq(ctx, high, gpuc_imm_int(ctx, GPUC_INT32, -1)));
    gpuc_expr nearest = gpuc_select(ctx, gpuc_lt(ctx, high, none), gpuc_imm_int(ctx, GPUC_INT32, INT32_MIN),
                                    gpuc_imm_int(ctx, GPUC_INT32, INT32_MAX));
    return gpuc_select(ctx, fits, low, nearest);
}

/* A float32 that is not negative: significand * 2^(exponent - 150). */
typedef struct parts {
    gpuc_expr significand, exponent; /* int32, of 24 bits */
} parts;

static parts parts_of(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr hidden = gpuc_imm_int(ctx, GPUC_INT32, 1 << 23),
              mask = gpuc_imm_int(ctx, GPUC_INT32, (1 << 23) - 1);
    x = gpuc_cast(ctx, GPUC_FLOAT32, x);
    x = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &x);
    gpuc_expr exponent = gpuc_call2(ctx, "shr", x, gpuc_imm_int(ctx, GPUC_INT32, 23));
    return (parts){gpuc_add(ctx, gpuc_call2(ctx, "bitand", x, mask), hidden),
                   gpuc_call2(ctx, "bitand", exponent, gpuc_imm_int(ctx, GPUC_INT32, 255))};
}

/* leading * 2^(exponent - 30), rounded to 31 bits */
typedef struct fixed {
    gpuc_expr leading, exponent; /* int64, int32 */
} fixed;

/* The scale, or the ratio of two, which no float64 is needed for. */
static fixed fixed_of(gpuc_ctx *ctx, gpuc_expr scale, gpuc_expr of)
{
    parts a = parts_of(ctx, scale);
    gpuc_expr one = gpuc_imm_int(ctx, GPUC_INT32, 1), none = gpuc_imm_int(ctx, GPUC_INT32, 0),
              leading = gpuc_cast(ctx, GPUC_INT64, a.significand);
    if (!of)
        return (fixed){shift(ctx, "shl", leading, long_of(ctx, LEADING - 24)),
                       gpuc_sub(ctx, a.exponent, gpuc_imm_int(ctx, GPUC_INT32, 127))};
    parts b = parts_of(ctx, of);
    gpuc_expr less = gpuc_select(ctx, gpuc_lt(ctx, a.significand, b.significand), one, none);
    gpuc_expr by = gpuc_cast(ctx, GPUC_INT64, b.significand);
    leading = shift(ctx, "shl", leading, gpuc_add(ctx, less, gpuc_imm_int(ctx, GPUC_INT32, LEADING)));
    leading = gpuc_div(ctx, gpuc_add(ctx, leading, by), gpuc_add(ctx, by, by));
    return (fixed){leading, gpuc_sub(ctx, gpuc_sub(ctx, a.exponent, b.exponent), less)};
}

/* An int64 that sums of it with an int32 fit into, of a difference x of 32 bits. */
static gpuc_expr fixed_product(gpuc_ctx *ctx, gpuc_expr x, const fixed *scale, rounding how)
{
    gpuc_expr one = long_of(ctx, 1), none = gpuc_imm_int(ctx, GPUC_INT32, 0);
    gpuc_expr total = gpuc_sub(ctx, gpuc_imm_int(ctx, GPUC_INT32, LEADING - 1), scale->exponent);
    gpuc_expr by = gpuc_max(ctx, gpuc_imm_int(ctx, GPUC_INT32, 1),
                            gpuc_min(ctx, total, gpuc_imm_int(ctx, GPUC_INT32, 62)));
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, GPUC_INT64, x), scale->leading),
              half = shift(ctx, "shl", one, gpuc_sub(ctx, by, gpuc_imm_int(ctx, GPUC_INT32, 1)));
    if (how == AWAY_FROM_ZERO)
        half = gpuc_sub(ctx, half, gpuc_cast(ctx, GPUC_INT64, gpuc_lt(ctx, x, none)));
    else if (how == TO_EVEN)
        half = gpuc_add(ctx, gpuc_sub(ctx, half, one),
                        gpuc_call2(ctx, "bitand", shift(ctx, "shr", product, by), one));
    gpuc_expr value = shift(ctx, "shr", gpuc_add(ctx, product, half), by);
    /* Scales of 2^30 and more take every number beyond what results hold. */
    return gpuc_select(ctx, gpuc_gt(ctx, total, gpuc_imm_int(ctx, GPUC_INT32, 62)), long_of(ctx, 0), value);
}

/* The sum of a product and a zero point, in the type of the result. */
static gpuc_expr shifted(const gpuc_op_call *call, gpuc_expr x, gpuc_expr zero)
{
    gpuc_ctx *ctx = call->ctx;
    if (zero) x = gpuc_add(ctx, x, gpuc_cast(ctx, GPUC_INT64, zero));
    x = narrowed(ctx, x);
    gpuc_dtype out = call->out[0].dtype;
    bool is_signed = out.code == GPUC_DTYPE_INT;
    int64_t most = ((int64_t)1 << (out.bits - is_signed)) - 1;
    x = gpuc_max(ctx, gpuc_imm_int(ctx, GPUC_INT32, is_signed ? -most - 1 : 0),
                 gpuc_min(ctx, x, gpuc_imm_int(ctx, GPUC_INT32, most)));
    return gpuc_cast(ctx, out, x);
}

static void requantize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], in[5] = {NULL};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < call->num_in; i++) in[i] = gpuc_topi_read_broadcast(ctx, ins[i], &call->out[0], vars);
    gpuc_dtype work = compute_type_of(call);
    bool both = has_both_sides(call), floats = gpuc_is_float(work);
    rounding how = rounding_of(call);
    gpuc_expr x = gpuc_cast(ctx, floats ? work : GPUC_INT32, in[0]), zero = both ? in[4] : in[2], value;
    if (both) x = gpuc_sub(ctx, x, gpuc_cast(ctx, gpuc_expr_dtype(x), in[2]));
    if (floats) {
        gpuc_expr scale = gpuc_cast(ctx, work, in[1]);
        if (both) scale = gpuc_div(ctx, scale, gpuc_cast(ctx, work, in[3]));
        value = rounded(ctx, gpuc_mul(ctx, x, scale), how);
        if (zero) value = gpuc_add(ctx, value, gpuc_cast(ctx, work, zero));
        value = gpuc_cast(ctx, call->out[0].dtype, value); /* saturates */
    } else {
        fixed scale = fixed_of(ctx, in[1], both ? in[3] : NULL);
        value = shifted(call, fixed_product(ctx, x, &scale, how), zero);
    }
    outs[0] = gpuc_topi_compute(ctx, "requantize", "broadcast", ndim, axes, value);
}

/* TVM: of the data's scale and zero point, where these are lists. */
static void take_axis(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int64_t axis = value ? value->i : -1, n;
    if (!w->in || w->num_written != 5) return;
    int ndim = w->in[0].ndim;
    if (axis < 0) axis += ndim;
    if (ndim && (axis < 0 || axis >= ndim))
        gpuc_op_written_fail(w, "%s is outside of the %d dimensions", spec->name, ndim);
    for (int i = 1; i < 3; i++) {
        gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
        if (w->in[i].ndim != 1 || axis == ndim - 1) continue;
        if (gpuc_expr_is_int(w->in[i].dims[0], &n) && n == 1) continue;
        for (int64_t k = axis; k < ndim; k++)
            dims[k - axis] = k == axis ? w->in[i].dims[0] : gpuc_int(w->ctx, 1);
        gpuc_op_reshape_input(w, i, ndim - (int)axis, dims);
    }
}

ATTRS(requantize_attrs, DTYPE_OR("out_dtype", {0}), STRING("rounding", "None"),
      STRING("compute_dtype", "None"),
      {.name = "axis",
       .kind = GPUC_ATTR_INT,
       .take = take_axis,
       .always = true,
       .about = "of five inputs: that of scales and zero points of the data"})

const gpuc_op gpuc_topi_ops_requantize[] = {
    {.name = "qnn.requantize",
     .min_in = 2,
     .max_in = 5,
     .types = {GPUC_T_INTS, GPUC_T_FLOATS, GPUC_TOPI_QUANTIZED | GPUC_T_INT32, GPUC_T_FLOATS,
               GPUC_TOPI_QUANTIZED | GPUC_T_INT32},
     .attrs = requantize_attrs,
     .infer = infer_requantize,
     .compute = requantize_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "requantize",
     .nnvm = "",
     .onnx = "QLinearConv,QLinearMatMul"},
};
const size_t gpuc_topi_ops_requantize_count =
    sizeof gpuc_topi_ops_requantize / sizeof gpuc_topi_ops_requantize[0];
