/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of one operand. */
#include "topi/elemwise/elemwise.h"

#include <math.h>

#include "tir/value.h"
#include "topi/accumulate.h"
#include "topi/families.h"

void gpuc_topi_unary(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs,
                     gpuc_topi_unary_fn fn, bool wide)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_te_read(ctx, ins[0], call->in[0].ndim, vars);
    if (wide) x = gpuc_topi_widen(ctx, x);
    gpuc_expr y = fn(call, x);
    if (wide) y = gpuc_cast(ctx, call->out[0].dtype, y);
    outs[0] = gpuc_topi_compute(ctx, "T", "elemwise", call->in[0].ndim, axes, y);
}

gpuc_expr gpuc_topi_sigmoid(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr one = gpuc_topi_imm(ctx, x, 1), minus = gpuc_sub(ctx, gpuc_topi_imm(ctx, x, 0), x);
    return gpuc_div(ctx, one, gpuc_add(ctx, one, gpuc_call1(ctx, "exp", minus)));
}

static gpuc_expr sign(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), one = gpuc_imm(ctx, t, 1);
    if (t.code == GPUC_DTYPE_UINT) return gpuc_select(ctx, gpuc_gt(ctx, x, zero), one, zero);
    gpuc_expr rest =
        gpuc_select(ctx, gpuc_lt(ctx, x, zero), gpuc_imm(ctx, t, -1), t.code == GPUC_DTYPE_INT ? zero : x);
    return gpuc_select(ctx, gpuc_gt(ctx, x, zero), one, rest); /* a NaN and both zeros stay */
}

static gpuc_expr clip(const gpuc_op_call *call, gpuc_expr x)
{
    gpuc_ctx *ctx = call->ctx;
    double lo = gpuc_attrs_get_float(call->attrs, "a_min", 0),
           hi = gpuc_attrs_get_float(call->attrs, "a_max", 0);
    if (lo != -INFINITY) x = gpuc_max(ctx, x, gpuc_topi_imm(ctx, x, lo));
    if (hi != INFINITY) x = gpuc_min(ctx, x, gpuc_topi_imm(ctx, x, hi));
    return x;
}

static gpuc_expr reinterpret(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr x)
{
    if (gpuc_dtype_equal(t, gpuc_expr_dtype(x))) return x;
    return gpuc_tir_call(ctx, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &x);
}

/* A target without halves computes with them as float32, which it rounds where they are stored. A cast that
 * was asked for rounds all the same. */
static gpuc_expr cast(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr x)
{
    gpuc_expr y = gpuc_cast(ctx, t, x);
    bool rounds = gpuc_is_float(t) && t.bits < 32 && !gpuc_tir_holds_all(t, gpuc_expr_dtype(x));
    return rounds ? gpuc_tir_call(ctx, t, GPUC_TIR_CALL_EXACT, NULL, NULL, 1, &y) : y;
}

/* ---- Approximations: a few operations, good to some 1e-6 of the result (the polynomials of Cephes and
 * Eigen) ---- */

static gpuc_expr polynomial(gpuc_ctx *ctx, gpuc_expr x, int n, const double *c)
{
    gpuc_expr y = gpuc_topi_imm(ctx, x, c[0]);
    for (int i = 1; i < n; i++) y = gpuc_add(ctx, gpuc_mul(ctx, y, x), gpuc_topi_imm(ctx, x, c[i]));
    return y;
}

static gpuc_expr clamped(gpuc_ctx *ctx, gpuc_expr x, double lo, double hi)
{
    return gpuc_max(ctx, gpuc_min(ctx, x, gpuc_topi_imm(ctx, x, hi)), gpuc_topi_imm(ctx, x, lo));
}

/* 2^n * exp(r) with x = n*ln 2 + r, the power made from its exponent bits. */
static gpuc_expr fast_exp(gpuc_ctx *ctx, gpuc_expr x)
{
    static const double c[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                               4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
    if (gpuc_expr_dtype(x).bits == 64) return gpuc_call1(ctx, "exp", x);
    gpuc_expr at = clamped(ctx, x, -88.3762626647950, 88.3762626647950), half = gpuc_topi_imm(ctx, x, 0.5);
    gpuc_expr n = gpuc_call1(
        ctx, "floor", gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_topi_imm(ctx, x, 1.44269504088896341)), half));
    gpuc_expr r = gpuc_sub(ctx, at, gpuc_mul(ctx, n, gpuc_topi_imm(ctx, x, 0.693359375)));
    r = gpuc_sub(ctx, r, gpuc_mul(ctx, n, gpuc_topi_imm(ctx, x, -2.12194440e-4)));
    gpuc_expr y = gpuc_mul(ctx, polynomial(ctx, r, 6, c), gpuc_mul(ctx, r, r));
    y = gpuc_add(ctx, y, gpuc_add(ctx, r, gpuc_topi_imm(ctx, x, 1)));
    gpuc_expr exponent = gpuc_cast(ctx, GPUC_INT32, gpuc_add(ctx, n, gpuc_topi_imm(ctx, x, 127)));
    gpuc_expr power =
        reinterpret(ctx, GPUC_FLOAT32, gpuc_call2(ctx, "shl", exponent, gpuc_imm_int(ctx, GPUC_INT32, 23)));
    return gpuc_mul(ctx, power, y);
}

static gpuc_expr ratio(gpuc_ctx *ctx, gpuc_expr x, int n, const double *p, int m, const double *q)
{
    gpuc_expr square = gpuc_mul(ctx, x, x);
    return gpuc_div(ctx, gpuc_mul(ctx, x, polynomial(ctx, square, n, p)), polynomial(ctx, square, m, q));
}

static gpuc_expr fast_tanh(gpuc_ctx *ctx, gpuc_expr x)
{
    static const double p[] = {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11,
                               5.12229709037114e-08,  1.48572235717979e-05, 6.37261928875436e-04,
                               4.89352455891786e-03},
                        q[] = {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03,
                               4.89352518554385e-03};
    if (gpuc_expr_dtype(x).bits == 64) return gpuc_call1(ctx, "tanh", x);
    return ratio(ctx, clamped(ctx, x, -9, 9), 7, p, 4, q);
}

static gpuc_expr fast_erf(gpuc_ctx *ctx, gpuc_expr x)
{
    static const double p[] = {-2.72614225801306e-10, 2.77068142495902e-08,  -2.10102402082508e-06,
                               -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03,
                               -1.60960333262415e-02},
                        q[] = {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                               -7.37332916720468e-03, -1.42647390514189e-02};
    if (gpuc_expr_dtype(x).bits == 64) return gpuc_call1(ctx, "erf", x);
    return ratio(ctx, clamped(ctx, x, -4, 4), 7, p, 5, q);
}

static gpuc_dtype dtype_attr(const gpuc_op_call *call)
{
    return gpuc_attrs_find(call->attrs, "dtype")->dtype;
}

UNARY(negative, gpuc_sub(ctx, gpuc_topi_imm(ctx, x, gpuc_is_float(gpuc_expr_dtype(x)) ? -0.0 : 0), x))
UNARY(reciprocal, gpuc_div(ctx, gpuc_topi_imm(ctx, x, 1), x))
UNARY_WIDE(rsqrt, gpuc_div(ctx, gpuc_topi_imm(ctx, x, 1), gpuc_call1(ctx, "sqrt", x)))
UNARY_WIDE(log2, gpuc_mul(ctx, gpuc_call1(ctx, "log", x), gpuc_topi_imm(ctx, x, M_LOG2E)))
UNARY_WIDE(log10, gpuc_mul(ctx, gpuc_call1(ctx, "log", x), gpuc_topi_imm(ctx, x, M_LOG10E)))
UNARY_WIDE(sigmoid, gpuc_topi_sigmoid(ctx, x))
UNARY_WIDE(fast_exp, fast_exp(ctx, x))
UNARY_WIDE(fast_tanh, fast_tanh(ctx, x))
UNARY_WIDE(fast_erf, fast_erf(ctx, x))
UNARY(sign, sign(ctx, x))
UNARY(clip, clip(call, x))
UNARY(identity, x)
UNARY(cast, cast(ctx, dtype_attr(call), x))
UNARY(reinterpret, reinterpret(ctx, dtype_attr(call), x))
UNARY(logical_not, gpuc_not(ctx, x))
UNARY(bitwise_not, gpuc_is_bool(gpuc_expr_dtype(x)) ? gpuc_not(ctx, x) : gpuc_call1(ctx, "bitnot", x))
UNARY(isfinite, gpuc_not(ctx, gpuc_or(ctx, gpuc_call1(ctx, "isnan", x), gpuc_call1(ctx, "isinf", x))))
/* The rest are rows of tir's operator table under their own name. */
UNARY(named, gpuc_call1(ctx, call->op->name, x))

static void infer_is(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out[0].dtype = GPUC_BOOL;
}

/* Whether every known value is in the type's range. */
static bool fits(gpuc_dtype t, const gpuc_tensor_type *in, const gpuc_expr *values)
{
    int64_t n = 1, d, v;
    if (t.code == GPUC_DTYPE_INT && t.bits == 64) return true;
    if (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT) return false;
    for (int i = 0; i < in->ndim; i++) n *= gpuc_expr_is_int(in->dims[i], &d) ? d : 0;
    int bits = t.code == GPUC_DTYPE_INT ? t.bits - 1 : t.bits < 63 ? t.bits : 63;
    int64_t max = (int64_t)(((uint64_t)1 << bits) - 1), min = t.code == GPUC_DTYPE_INT ? -max - 1 : 0;
    for (int64_t i = 0; i < n; i++)
        if (!gpuc_expr_is_int(values[i], &v) || v < min || v > max) return false;
    return true;
}

static void infer_cast(gpuc_op_call *call)
{
    gpuc_dtype from = call->in[0].dtype, to = dtype_attr(call);
    call->out[0] = call->in[0];
    call->out[0].dtype = to;
    if (!call->in_values[0] || (from.code == GPUC_DTYPE_UINT && from.bits == 64)) return;
    bool wider = gpuc_is_integer(to) && to.code == from.code && to.bits >= from.bits;
    if (wider || fits(to, &call->in[0], call->in_values[0])) call->out_values[0] = call->in_values[0];
}

static void infer_identity(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out_values[0] = call->in_values[0];
}

static void infer_reinterpret(gpuc_op_call *call)
{
    gpuc_dtype to = dtype_attr(call);
    char a[24], b[24];
    if (to.bits != call->in[0].dtype.bits || gpuc_is_bool(to))
        gpuc_topi_fail(call, "the bits of %s are none of %s", gpuc_dtype_name(call->in[0].dtype, a),
                       gpuc_dtype_name(to, b));
    call->out[0] = call->in[0];
    call->out[0].dtype = to;
}

/* To the element type of input 1, whose elements are not read. */
static void infer_cast_like(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out[0].dtype = call->in[1].dtype;
}

static void cast_like_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_te_read(call->ctx, ins[0], call->in[0].ndim, vars);
    outs[0] = gpuc_topi_compute(call->ctx, "T", "elemwise", call->in[0].ndim, axes,
                                cast(call->ctx, call->out[0].dtype, x));
}

ATTRS(clip_attrs, FLOAT("a_min", -INFINITY), FLOAT("a_max", INFINITY))
ATTRS(dtype_attrs, DTYPE("dtype"))

/* What is left of it is dropped where a model is trained: here all is kept. */
static void take_rate(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    double rate = value->kind == GPUC_ATTR_INT ? (double)value->i : value->f;
    if ((value->kind != GPUC_ATTR_INT && value->kind != GPUC_ATTR_FLOAT) || !(rate >= 0 && rate < 1))
        gpuc_op_written_fail(w, "%s must be a number in [0, 1)", spec->name);
}
ATTRS(dropout_attrs,
      SPELLED("rate", FLOAT, take_rate, NULL, "of training: nothing is dropped when a model runs"))

#define SAME1(nm, fn, set, tp, nn, on) ROW1(nm, fn, gpuc_topi_infer_same, set, NULL, tp, nn, on)
#define FLOAT1(nm, on) SAME1(nm, named, GPUC_T_FLOATS, nm, nm, on)

const gpuc_op gpuc_topi_ops_elemwise[] = {
    SAME1("negative", negative, GPUC_T_NUMBERS, "negative", "negative", "Neg"),
    SAME1("abs", named, GPUC_T_NUMBERS, "abs", "abs", "Abs"),
    FLOAT1("exp", "Exp"),
    FLOAT1("expm1", ""),
    FLOAT1("log", "Log"),
    FLOAT1("log1p", ""),
    FLOAT1("sqrt", "Sqrt"),
    FLOAT1("sin", "Sin"),
    FLOAT1("cos", "Cos"),
    FLOAT1("tan", "Tan"),
    FLOAT1("asin", "Asin"),
    FLOAT1("acos", "Acos"),
    FLOAT1("atan", "Atan"),
    FLOAT1("sinh", "Sinh"),
    FLOAT1("cosh", "Cosh"),
    FLOAT1("tanh", "Tanh"),
    FLOAT1("asinh", "Asinh"),
    FLOAT1("acosh", "Acosh"),
    FLOAT1("atanh", "Atanh"),
    FLOAT1("erf", "Erf"),
    FLOAT1("floor", "Floor"),
    FLOAT1("ceil", "Ceil"),
    FLOAT1("round", "Round"),
    FLOAT1("trunc", ""),
    SAME1("log2", log2, GPUC_T_FLOATS, "log2", "log2", ""),
    SAME1("log10", log10, GPUC_T_FLOATS, "log10", "log10", ""),
    SAME1("rsqrt", rsqrt, GPUC_T_FLOATS, "rsqrt", "rsqrt", ""),
    SAME1("reciprocal", reciprocal, GPUC_T_FLOATS, "", "", "Reciprocal"),
    SAME1("sigmoid", sigmoid, GPUC_T_FLOATS, "sigmoid", "sigmoid", "Sigmoid"),
    SAME1("fast_exp", fast_exp, GPUC_T_FLOATS, "fast_exp", "", ""),
    SAME1("fast_tanh", fast_tanh, GPUC_T_FLOATS, "fast_tanh", "", ""),
    SAME1("fast_erf", fast_erf, GPUC_T_FLOATS, "fast_erf", "", ""),
    SAME1("sign", sign, GPUC_T_NUMBERS, "sign", "sign", "Sign"),
    SAME1("logical_not", logical_not, GPUC_T_BOOL, "logical_not", "logical_not", "Not"),
    SAME1("bitwise_not", bitwise_not, GPUC_T_INTS | GPUC_T_BOOL, "bitwise_not", "", "BitwiseNot"),
    ROW1("nn.dropout", identity, gpuc_topi_infer_same, GPUC_T_ANY, dropout_attrs, "", "dropout", "Dropout"),
    ROW1("identity", identity, infer_identity, GPUC_T_ANY, NULL, "identity", "copy,block_grad", "Identity"),
    ROW1("isnan", named, infer_is, GPUC_T_FLOATS, NULL, "isnan", "", "IsNaN"),
    ROW1("isinf", named, infer_is, GPUC_T_FLOATS, NULL, "isinf", "", "IsInf"),
    ROW1("isfinite", isfinite, infer_is, GPUC_T_FLOATS, NULL, "isfinite", "", ""),
    ROW1("clip", clip, gpuc_topi_infer_same, GPUC_T_NUMBERS, clip_attrs, "clip", "clip", "Clip"),
    ROW1("cast", cast, infer_cast, GPUC_T_ANY, dtype_attrs, "cast", "cast", "Cast,CastLike"),
    MOVES("cast_like", 2, 2, NULL, infer_cast_like, cast_like_compute, "cast_like", "", ""),
    ROW1("reinterpret", reinterpret, infer_reinterpret, GPUC_T_NUMBERS, dtype_attrs, "reinterpret", "", ""),
};
const size_t gpuc_topi_ops_elemwise_count = sizeof gpuc_topi_ops_elemwise / sizeof gpuc_topi_ops_elemwise[0];
