/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise and broadcasting operators. Unary bodies are a table of functions of one expression. */
#include <math.h>
#include <string.h>

#include "topi/families.h"
#include "topi/util.h"

typedef gpuc_expr (*unary_fn)(const gpuc_op_call *call, gpuc_expr x);
typedef gpuc_expr (*binary_fn)(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);

static gpuc_expr imm(const gpuc_op_call *call, gpuc_expr like, double v)
{
    return gpuc_imm(call->ctx, gpuc_expr_dtype(like), v);
}

static void unary(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs, unary_fn fn)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_te_read(call->ctx, ins[0], call->in[0].ndim, vars);
    outs[0] = gpuc_topi_compute(call->ctx, "T", "elemwise", call->in[0].ndim, axes, fn(call, x));
}

#define UNARY(name, expr)                                                                        \
    static gpuc_expr name##_of(const gpuc_op_call *call, gpuc_expr x)                            \
    {                                                                                            \
        gpuc_ctx *ctx = call->ctx;                                                               \
        (void)ctx;                                                                               \
        return expr;                                                                             \
    }                                                                                            \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs) \
    {                                                                                            \
        unary(call, ins, outs, name##_of);                                                       \
    }

static gpuc_expr sigmoid(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr one = gpuc_imm(ctx, gpuc_expr_dtype(x), 1), minus = gpuc_sub(ctx, gpuc_imm(ctx, gpuc_expr_dtype(x), 0), x);
    return gpuc_div(ctx, one, gpuc_add(ctx, one, gpuc_call1(ctx, "exp", minus)));
}

static gpuc_expr sign(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), one = gpuc_imm(ctx, t, 1);
    if (t.code == GPUC_DTYPE_UINT) return gpuc_select(ctx, gpuc_gt(ctx, x, zero), one, zero);
    gpuc_expr rest = gpuc_select(ctx, gpuc_lt(ctx, x, zero), gpuc_imm(ctx, t, -1), t.code == GPUC_DTYPE_INT ? zero : x);
    return gpuc_select(ctx, gpuc_gt(ctx, x, zero), one, rest); /* a NaN and both zeros stay */
}

/* log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)). */
static gpuc_expr softplus(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), small = gpuc_call1(ctx, "exp", gpuc_sub(ctx, zero, gpuc_call1(ctx, "abs", x)));
    return gpuc_add(ctx, gpuc_max(ctx, x, zero), gpuc_call1(ctx, "log", gpuc_add(ctx, gpuc_imm(ctx, t, 1), small)));
}

static gpuc_expr elu(const gpuc_op_call *call, gpuc_expr x, double alpha, double gamma)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr e = gpuc_sub(ctx, gpuc_call1(ctx, "exp", gpuc_min(ctx, x, imm(call, x, 0))), imm(call, x, 1));
    gpuc_expr negative = gpuc_mul(ctx, imm(call, x, alpha), e);
    return gpuc_mul(ctx, imm(call, x, gamma), gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x, negative));
}

static gpuc_expr gelu(const gpuc_op_call *call, gpuc_expr x)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr half = gpuc_mul(ctx, imm(call, x, 0.5), x), t;
    if (gpuc_attrs_get_int(call->attrs, "approximate", 0)) {
        gpuc_expr cube = gpuc_mul(ctx, x, gpuc_mul(ctx, x, x));
        gpuc_expr inner = gpuc_add(ctx, x, gpuc_mul(ctx, imm(call, x, 0.044715), cube));
        t = gpuc_call1(ctx, "tanh", gpuc_mul(ctx, imm(call, x, 0.7978845608028654), inner));
    } else {
        t = gpuc_call1(ctx, "erf", gpuc_mul(ctx, imm(call, x, 0.70710678118654752), x));
    }
    return gpuc_mul(ctx, half, gpuc_add(ctx, imm(call, x, 1), t));
}

static double attr(const gpuc_op_call *call, const char *name)
{
    return gpuc_attrs_get_float(call->attrs, name, 0);
}

static gpuc_expr clip(const gpuc_op_call *call, gpuc_expr x)
{
    double lo = attr(call, "a_min"), hi = attr(call, "a_max");
    if (lo != -INFINITY) x = gpuc_max(call->ctx, x, imm(call, x, lo));
    if (hi != INFINITY) x = gpuc_min(call->ctx, x, imm(call, x, hi));
    return x;
}

UNARY(negative, gpuc_sub(ctx, imm(call, x, gpuc_expr_dtype(x).code == GPUC_DTYPE_FLOAT ? -0.0 : 0), x))
UNARY(reciprocal, gpuc_div(ctx, imm(call, x, 1), x))
UNARY(rsqrt, gpuc_div(ctx, imm(call, x, 1), gpuc_call1(ctx, "sqrt", x)))
UNARY(sigmoid, sigmoid(ctx, x))
UNARY(sign, sign(ctx, x))
UNARY(relu, gpuc_max(ctx, x, imm(call, x, 0)))
UNARY(leaky_relu, gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x, gpuc_mul(ctx, x, imm(call, x, attr(call, "alpha")))))
UNARY(clip, clip(call, x))
UNARY(elu, elu(call, x, attr(call, "alpha"), 1))
UNARY(selu, elu(call, x, attr(call, "alpha"), attr(call, "gamma")))
UNARY(softplus, softplus(ctx, x))
UNARY(softsign, gpuc_div(ctx, x, gpuc_add(ctx, imm(call, x, 1), gpuc_call1(ctx, "abs", x))))
UNARY(gelu, gelu(call, x))
UNARY(hard_sigmoid, gpuc_max(ctx, imm(call, x, 0), gpuc_min(ctx, imm(call, x, 1),
      gpuc_add(ctx, gpuc_mul(ctx, x, imm(call, x, attr(call, "alpha"))), imm(call, x, attr(call, "beta"))))))
UNARY(identity, x)
UNARY(cast, gpuc_cast(ctx, call->out[0].dtype, x))
UNARY(logical_not, gpuc_not(ctx, gpuc_cast(ctx, GPUC_BOOL, x)))
/* The rest are rows of tir's operator table under their own name. */
UNARY(named, gpuc_call1(ctx, call->op->name, x))
UNARY(bitwise_not, gpuc_call1(ctx, "bitnot", x))

static void infer_bool(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out[0].dtype = GPUC_BOOL;
}

static void infer_float(gpuc_op_call *call)
{
    gpuc_dtype t = call->in[0].dtype;
    char name[24];
    if (t.code != GPUC_DTYPE_FLOAT && t.code != GPUC_DTYPE_BFLOAT)
        gpuc_topi_fail(call, "takes floats, not %s", gpuc_dtype_name(t, name));
    call->out[0] = call->in[0];
}

static void infer_cast(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out[0].dtype = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    gpuc_dtype from = call->in[0].dtype, to = call->out[0].dtype;
    bool exact = (from.code == GPUC_DTYPE_INT || from.code == GPUC_DTYPE_BOOL) && to.code == GPUC_DTYPE_INT;
    if (exact && to.bits >= from.bits) call->out_values[0] = call->in_values[0];
}

/* ---- Two operands ---- */

static void binary(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs, binary_fn fn)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr a = gpuc_topi_read_broadcast(call->ctx, ins[0], ndim, vars);
    gpuc_expr b = gpuc_topi_read_broadcast(call->ctx, ins[1], ndim, vars);
    outs[0] = gpuc_topi_compute(call->ctx, "T", "broadcast", ndim, axes, fn(call->ctx, a, b));
}

#define BINARY(name, fn)                                                                              \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs) \
    {                                                                                                 \
        binary(call, ins, outs, fn);                                                                  \
    }
#define BINARY_CALL(name, text)                                              \
    static gpuc_expr name##_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)      \
    {                                                                        \
        return gpuc_call2(ctx, text, a, b);                                  \
    }                                                                        \
    BINARY(name, name##_of)

static gpuc_expr xor_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_ne(ctx, a, b);
}

static gpuc_expr floor_divide_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (gpuc_expr_dtype(a).code == GPUC_DTYPE_FLOAT) return gpuc_call1(ctx, "floor", gpuc_div(ctx, a, b));
    return gpuc_floordiv_(ctx, a, b);
}

static gpuc_expr floor_mod_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (gpuc_expr_dtype(a).code != GPUC_DTYPE_FLOAT) return gpuc_floormod_(ctx, a, b);
    return gpuc_sub(ctx, a, gpuc_mul(ctx, b, gpuc_call1(ctx, "floor", gpuc_div(ctx, a, b))));
}

BINARY(add, gpuc_add)
BINARY(subtract, gpuc_sub)
BINARY(multiply, gpuc_mul)
BINARY(divide, gpuc_div)
BINARY(mod, gpuc_mod)
BINARY(floor_divide, floor_divide_of)
BINARY(floor_mod, floor_mod_of)
BINARY(maximum, gpuc_max)
BINARY(minimum, gpuc_min)
BINARY(equal, gpuc_eq)
BINARY(not_equal, gpuc_ne)
BINARY(less, gpuc_lt)
BINARY(less_equal, gpuc_le)
BINARY(greater, gpuc_gt)
BINARY(greater_equal, gpuc_ge)
BINARY(logical_and, gpuc_and)
BINARY(logical_or, gpuc_or)
BINARY(logical_xor, xor_of)
BINARY_CALL(power, "pow")
BINARY_CALL(bitwise_and, "bitand")
BINARY_CALL(bitwise_or, "bitor")
BINARY_CALL(bitwise_xor, "bitxor")
BINARY_CALL(left_shift, "shl")
BINARY_CALL(right_shift, "shr")

static void check_same_dtype(gpuc_op_call *call, int i, int k)
{
    char a[24], b[24];
    if (!gpuc_dtype_equal(call->in[i].dtype, call->in[k].dtype))
        gpuc_topi_fail(call, "input %d is %s, input %d is %s; cast one of them", i,
                       gpuc_dtype_name(call->in[i].dtype, a), k, gpuc_dtype_name(call->in[k].dtype, b));
}

static void infer_binary(gpuc_op_call *call)
{
    check_same_dtype(call, 0, 1);
    gpuc_topi_broadcast_types(call, 0, 2, &call->out[0]);
}

static void infer_compare(gpuc_op_call *call)
{
    infer_binary(call);
    call->out[0].dtype = GPUC_BOOL;
}

static int64_t value_count(const gpuc_tensor_type *t)
{
    int64_t n = 1, d = 0;
    for (int i = 0; i < t->ndim; i++) {
        if (!gpuc_expr_is_int(t->dims[i], &d)) return -1;
        n *= d;
    }
    return n;
}

/* Arithmetic on known sizes stays known, so that shapes computed in the graph reach Reshape. */
static void infer_known(gpuc_op_call *call, binary_fn fn)
{
    infer_binary(call);
    int64_t n = value_count(&call->out[0]), na = value_count(&call->in[0]), nb = value_count(&call->in[1]);
    if (!call->in_values[0] || !call->in_values[1] || call->out[0].ndim > 1 || n < 0) return;
    if (!gpuc_dtype_equal(call->in[0].dtype, GPUC_INT64)) return; /* other widths wrap */
    gpuc_expr *v = gpuc_new_array(call->ctx, gpuc_expr, n + 1);
    for (int64_t i = 0; i < n; i++)
        v[i] = fn(call->ctx, call->in_values[0][na == 1 ? 0 : i], call->in_values[1][nb == 1 ? 0 : i]);
    call->out_values[0] = v;
}

static void infer_add(gpuc_op_call *call)
{
    infer_known(call, gpuc_add);
}

static void infer_subtract(gpuc_op_call *call)
{
    infer_known(call, gpuc_sub);
}

static void infer_multiply(gpuc_op_call *call)
{
    infer_known(call, gpuc_mul);
}

static void infer_divide(gpuc_op_call *call)
{
    infer_known(call, gpuc_div);
}

static void infer_where(gpuc_op_call *call)
{
    check_same_dtype(call, 1, 2);
    gpuc_topi_broadcast_types(call, 0, 3, &call->out[0]);
    call->out[0].dtype = call->in[1].dtype;
}

static void where_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], v[3];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    for (int i = 0; i < 3; i++) v[i] = gpuc_topi_read_broadcast(call->ctx, ins[i], ndim, vars);
    outs[0] = gpuc_topi_compute(call->ctx, "T", "broadcast", ndim, axes, gpuc_select(call->ctx, v[0], v[1], v[2]));
}

static void prelu_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr x = gpuc_topi_read_broadcast(ctx, ins[0], ndim, vars), s = gpuc_topi_read_broadcast(ctx, ins[1], ndim, vars);
    gpuc_expr y = gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x, gpuc_mul(ctx, x, s));
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, axes, y);
}

#define ATTRS(id, ...) static const gpuc_attr_spec id[] = {__VA_ARGS__, {0}};
#define F(nm, def) {.name = nm, .kind = GPUC_ATTR_FLOAT, .f = def}
ATTRS(alpha_001, F("alpha", 0.01))
ATTRS(alpha_1, F("alpha", 1))
ATTRS(selu_attrs, F("alpha", 1.67326319217681884765625), F("gamma", 1.05070102214813232421875))
ATTRS(hard_sigmoid_attrs, F("alpha", 0.2), F("beta", 0.5))
ATTRS(clip_attrs, F("a_min", -INFINITY), F("a_max", INFINITY))
ATTRS(gelu_attrs, {.name = "approximate", .kind = GPUC_ATTR_INT})
ATTRS(cast_attrs, {.name = "dtype", .kind = GPUC_ATTR_DTYPE, .required = true})

#define ROW1(nm, fn, inf, at, tp, nn, on) \
    {.name = nm, .min_in = 1, .max_in = 1, .attrs = at, .infer = inf, .compute = fn##_compute, \
     .pattern = GPUC_FUSE_ELEMWISE, .topi = tp, .nnvm = nn, .onnx = on}
#define FLOAT1(nm, on) ROW1(nm, named, infer_float, NULL, nm, nm, on)
#define ROW2(nm, fn, inf, tp, nn, on) \
    {.name = nm, .min_in = 2, .max_in = 2, .infer = inf, .compute = fn##_compute, .pattern = GPUC_FUSE_BROADCAST, \
     .topi = tp, .nnvm = nn, .onnx = on}

const gpuc_op gpuc_ops_elemwise[] = {
    ROW1("negative", negative, gpuc_topi_infer_same, NULL, "negative", "negative", "Neg"),
    ROW1("abs", named, gpuc_topi_infer_same, NULL, "abs", "abs", "Abs"),
    FLOAT1("exp", "Exp"), FLOAT1("log", "Log"), FLOAT1("sqrt", "Sqrt"), FLOAT1("sin", "Sin"), FLOAT1("cos", "Cos"),
    FLOAT1("tan", "Tan"), FLOAT1("asin", "Asin"), FLOAT1("acos", "Acos"), FLOAT1("atan", "Atan"),
    FLOAT1("sinh", "Sinh"), FLOAT1("cosh", "Cosh"), FLOAT1("tanh", "Tanh"), FLOAT1("asinh", "Asinh"),
    FLOAT1("acosh", "Acosh"), FLOAT1("atanh", "Atanh"), FLOAT1("erf", "Erf"), FLOAT1("floor", "Floor"),
    FLOAT1("ceil", "Ceil"), FLOAT1("round", "Round"), FLOAT1("trunc", ""),
    ROW1("isnan", named, infer_bool, NULL, "isnan", "", "IsNaN"),
    ROW1("isinf", named, infer_bool, NULL, "isinf", "", "IsInf"),
    ROW1("rsqrt", rsqrt, infer_float, NULL, "rsqrt", "", ""),
    ROW1("reciprocal", reciprocal, gpuc_topi_infer_same, NULL, "", "", "Reciprocal"),
    ROW1("sigmoid", sigmoid, infer_float, NULL, "sigmoid", "sigmoid", "Sigmoid"),
    ROW1("sign", sign, gpuc_topi_infer_same, NULL, "sign", "", "Sign"),
    ROW1("logical_not", logical_not, infer_bool, NULL, "logical_not", "", "Not"),
    ROW1("bitwise_not", bitwise_not, gpuc_topi_infer_same, NULL, "bitwise_not", "", "BitwiseNot"),
    ROW1("identity", identity, gpuc_topi_infer_same, NULL, "identity", "copy", "Identity"),
    ROW1("nn.dropout", identity, gpuc_topi_infer_same, NULL, "", "dropout", "Dropout"),
    ROW1("nn.relu", relu, gpuc_topi_infer_same, NULL, "relu", "relu", "Relu"),
    ROW1("nn.leaky_relu", leaky_relu, infer_float, alpha_001, "leaky_relu", "leaky_relu", "LeakyRelu"),
    ROW1("nn.elu", elu, infer_float, alpha_1, "", "", "Elu"),
    ROW1("nn.selu", selu, infer_float, selu_attrs, "", "", "Selu"),
    ROW1("nn.softplus", softplus, infer_float, NULL, "", "", "Softplus"),
    ROW1("nn.softsign", softsign, infer_float, NULL, "", "", "Softsign"),
    ROW1("nn.hard_sigmoid", hard_sigmoid, infer_float, hard_sigmoid_attrs, "", "", "HardSigmoid"),
    ROW1("nn.gelu", gelu, infer_float, gelu_attrs, "", "", "Gelu"),
    ROW1("clip", clip, gpuc_topi_infer_same, clip_attrs, "clip", "clip", "Clip"),
    ROW1("cast", cast, infer_cast, cast_attrs, "cast", "", "Cast"),
    ROW2("add", add, infer_add, "add", "elemwise_add,broadcast_add", "Add"),
    ROW2("subtract", subtract, infer_subtract, "subtract", "elemwise_sub,broadcast_sub", "Sub"),
    ROW2("multiply", multiply, infer_multiply, "multiply", "elemwise_mul,broadcast_mul", "Mul"),
    ROW2("divide", divide, infer_divide, "divide", "elemwise_div,broadcast_div", "Div"),
    ROW2("mod", mod, infer_binary, "mod", "elemwise_mod,broadcast_mod", "Mod"),
    ROW2("floor_divide", floor_divide, infer_binary, "floor_divide", "", ""),
    ROW2("floor_mod", floor_mod, infer_binary, "floor_mod", "", "Mod"),
    ROW2("power", power, infer_binary, "power", "elemwise_pow,broadcast_pow", "Pow"),
    ROW2("maximum", maximum, infer_binary, "maximum", "broadcast_max", "Max"),
    ROW2("minimum", minimum, infer_binary, "minimum", "broadcast_min", "Min"),
    ROW2("equal", equal, infer_compare, "equal", "broadcast_equal", "Equal"),
    ROW2("not_equal", not_equal, infer_compare, "not_equal", "broadcast_not_equal", ""),
    ROW2("less", less, infer_compare, "less", "less,broadcast_less", "Less"),
    ROW2("less_equal", less_equal, infer_compare, "less_equal", "broadcast_less_equal", "LessOrEqual"),
    ROW2("greater", greater, infer_compare, "greater", "greater,broadcast_greater", "Greater"),
    ROW2("greater_equal", greater_equal, infer_compare, "greater_equal", "broadcast_greater_equal", "GreaterOrEqual"),
    ROW2("logical_and", logical_and, infer_compare, "logical_and", "", "And"),
    ROW2("logical_or", logical_or, infer_compare, "logical_or", "", "Or"),
    ROW2("logical_xor", logical_xor, infer_compare, "logical_xor", "", "Xor"),
    ROW2("bitwise_and", bitwise_and, infer_binary, "bitwise_and", "", "BitwiseAnd"),
    ROW2("bitwise_or", bitwise_or, infer_binary, "bitwise_or", "", "BitwiseOr"),
    ROW2("bitwise_xor", bitwise_xor, infer_binary, "bitwise_xor", "", "BitwiseXor"),
    ROW2("left_shift", left_shift, infer_binary, "left_shift", "broadcast_left_shift", "BitShift"),
    ROW2("right_shift", right_shift, infer_binary, "right_shift", "broadcast_right_shift", "BitShift"),
    ROW2("nn.prelu", prelu, infer_binary, "prelu", "prelu", "PRelu"),
    {.name = "where", .min_in = 3, .max_in = 3, .infer = infer_where, .compute = where_compute,
     .pattern = GPUC_FUSE_BROADCAST, .topi = "where", .nnvm = "where", .onnx = "Where"},
};
const size_t gpuc_ops_elemwise_count = sizeof gpuc_ops_elemwise / sizeof gpuc_ops_elemwise[0];
