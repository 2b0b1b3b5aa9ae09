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

#define UNARY(name, expr)                                                                                    \
    static gpuc_expr name##_of(const gpuc_op_call *call, gpuc_expr x)                                        \
    {                                                                                                        \
        gpuc_ctx *ctx = call->ctx;                                                                           \
        (void)ctx;                                                                                           \
        return expr;                                                                                         \
    }                                                                                                        \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)        \
    {                                                                                                        \
        unary(call, ins, outs, name##_of);                                                                   \
    }

static gpuc_expr sigmoid(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_expr one = gpuc_imm(ctx, gpuc_expr_dtype(x), 1),
              minus = gpuc_sub(ctx, gpuc_imm(ctx, gpuc_expr_dtype(x), 0), x);
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

/* log(1 + exp(x)) without overflow: max(x, 0) + log(1 + exp(-|x|)). */
static gpuc_expr softplus(gpuc_ctx *ctx, gpuc_expr x)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    gpuc_expr zero = gpuc_imm(ctx, t, 0),
              small = gpuc_call1(ctx, "exp", gpuc_sub(ctx, zero, gpuc_call1(ctx, "abs", x)));
    return gpuc_add(ctx, gpuc_max(ctx, x, zero),
                    gpuc_call1(ctx, "log", gpuc_add(ctx, gpuc_imm(ctx, t, 1), small)));
}

static gpuc_expr elu(const gpuc_op_call *call, gpuc_expr x, double alpha, double gamma)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr e = gpuc_sub(ctx, gpuc_call1(ctx, "exp", gpuc_min(ctx, x, imm(call, x, 0))), imm(call, x, 1));
    gpuc_expr negative = gpuc_mul(ctx, imm(call, x, alpha), e);
    return gpuc_mul(ctx, imm(call, x, gamma),
                    gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x, negative));
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

UNARY(negative, gpuc_sub(ctx, imm(call, x, gpuc_is_float(gpuc_expr_dtype(x)) ? -0.0 : 0), x))
UNARY(reciprocal, gpuc_div(ctx, imm(call, x, 1), x))
UNARY(rsqrt, gpuc_div(ctx, imm(call, x, 1), gpuc_call1(ctx, "sqrt", x)))
UNARY(sigmoid, sigmoid(ctx, x))
UNARY(sign, sign(ctx, x))
UNARY(relu, gpuc_max(ctx, x, imm(call, x, 0)))
UNARY(leaky_relu, gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x,
                              gpuc_mul(ctx, x, imm(call, x, attr(call, "alpha")))))
UNARY(clip, clip(call, x))
UNARY(elu, elu(call, x, attr(call, "alpha"), 1))
UNARY(selu, elu(call, x, attr(call, "alpha"), attr(call, "gamma")))
UNARY(softplus, softplus(ctx, x))
UNARY(softsign, gpuc_div(ctx, x, gpuc_add(ctx, imm(call, x, 1), gpuc_call1(ctx, "abs", x))))
UNARY(gelu, gelu(call, x))
UNARY(hard_sigmoid, gpuc_max(ctx, imm(call, x, 0),
                             gpuc_min(ctx, imm(call, x, 1),
                                      gpuc_add(ctx, gpuc_mul(ctx, x, imm(call, x, attr(call, "alpha"))),
                                               imm(call, x, attr(call, "beta"))))))
UNARY(identity, x)
UNARY(cast, gpuc_cast(ctx, call->out[0].dtype, x))
UNARY(logical_not, gpuc_not(ctx, gpuc_cast(ctx, GPUC_BOOL, x)))
/* The rest are rows of tir's operator table under their own name. */
UNARY(named, gpuc_call1(ctx, call->op->name, x))
UNARY(bitwise_not, gpuc_call1(ctx, "bitnot", x))

static void infer_is(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
    call->out[0].dtype = GPUC_BOOL;
}

/* Does every known value have the type's range? */
static bool fits(gpuc_dtype t, const gpuc_tensor_type *in, const gpuc_expr *values)
{
    int64_t n = 1, d, v;
    if (t.code == GPUC_DTYPE_INT && t.bits == 64) return true;
    if (t.code != GPUC_DTYPE_INT && t.code != GPUC_DTYPE_UINT) return false;
    for (int i = 0; i < in->ndim; i++) n *= gpuc_expr_is_int(in->dims[i], &d) ? d : 0;
    int bits = t.code == GPUC_DTYPE_INT ? t.bits - 1 : t.bits < 63 ? t.bits : 63;
    int64_t most = (int64_t)(((uint64_t)1 << bits) - 1), least = t.code == GPUC_DTYPE_INT ? -most - 1 : 0;
    for (int64_t i = 0; i < n; i++)
        if (!gpuc_expr_is_int(values[i], &v) || v < least || v > most) return false;
    return true;
}

static void infer_cast(gpuc_op_call *call)
{
    gpuc_dtype from = call->in[0].dtype, to = gpuc_attrs_find(call->attrs, "dtype")->dtype;
    call->out[0] = call->in[0];
    call->out[0].dtype = to;
    if (!call->in_values[0] || (from.code == GPUC_DTYPE_UINT && from.bits == 64)) return;
    bool wider = gpuc_is_integer(to) && to.code == from.code && to.bits >= from.bits;
    if (wider || fits(to, &call->in[0], call->in_values[0])) call->out_values[0] = call->in_values[0];
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

#define BINARY(name, fn)                                                                                     \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)        \
    {                                                                                                        \
        binary(call, ins, outs, fn);                                                                         \
    }
#define BINARY_CALL(name, text)                                                                              \
    static gpuc_expr name##_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)                                      \
    {                                                                                                        \
        return gpuc_call2(ctx, text, a, b);                                                                  \
    }                                                                                                        \
    BINARY(name, name##_of)

static gpuc_expr xor_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_ne(ctx, a, b);
}

static gpuc_expr floor_divide_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (gpuc_is_float(gpuc_expr_dtype(a))) return gpuc_call1(ctx, "floor", gpuc_div(ctx, a, b));
    return gpuc_floordiv_(ctx, a, b);
}

static gpuc_expr floor_mod_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (!gpuc_is_float(gpuc_expr_dtype(a))) return gpuc_floormod_(ctx, a, b);
    gpuc_expr r = gpuc_mod(ctx, a, b), zero = gpuc_imm(ctx, gpuc_expr_dtype(a), 0);
    gpuc_expr other_sign = gpuc_ne(ctx, gpuc_lt(ctx, r, zero), gpuc_lt(ctx, b, zero));
    return gpuc_select(ctx, gpuc_and(ctx, gpuc_ne(ctx, r, zero), other_sign), gpuc_add(ctx, r, b), r);
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

static void infer_broadcast(gpuc_op_call *call)
{
    gpuc_topi_broadcast_types(call, 0, call->num_in, &call->out[0]);
}

/* Elements of a small result, or -1. */
static int64_t value_count(const gpuc_tensor_type *t)
{
    int64_t n = 1;
    if (t->ndim > 1 || (t->ndim == 1 && (!t->dims[0] || !gpuc_expr_is_int(t->dims[0], &n)))) return -1;
    return n <= GPUC_OP_MAX_VALUES ? n : -1;
}

/* Value i of an input as it is broadcast; NULL: not known. */
static gpuc_expr value_at(const gpuc_op_call *call, int input, int64_t i)
{
    int64_t n = value_count(&call->in[input]);
    if (!call->in_values[input] || n < 1) return NULL;
    return call->in_values[input][n == 1 ? 0 : i];
}

/* Arithmetic on known sizes stays known, so that shapes computed in the graph reach Reshape. */
static void follow_values(gpuc_op_call *call, binary_fn fn)
{
    int64_t n = value_count(&call->out[0]);
    if (!gpuc_dtype_equal(call->in[0].dtype, GPUC_INT64) || n < 0) return; /* other widths wrap */
    gpuc_expr *v = gpuc_new_array(call->ctx, gpuc_expr, n + 1);
    for (int64_t i = 0; i < n; i++) {
        gpuc_expr a = value_at(call, 0, i), b = value_at(call, 1, i);
        if (!a || !b) return;
        v[i] = fn(call->ctx, a, b);
        if (gpuc_is_bool(gpuc_expr_dtype(v[i]))) v[i] = gpuc_cast(call->ctx, GPUC_INDEX, v[i]);
    }
    call->out_values[0] = v;
}

#define INFER_ARITHMETIC(name, fn)                                                                           \
    static void infer_##name(gpuc_op_call *call)                                                             \
    {                                                                                                        \
        infer_broadcast(call);                                                                               \
        follow_values(call, fn);                                                                             \
    }
INFER_ARITHMETIC(add, gpuc_add)
INFER_ARITHMETIC(subtract, gpuc_sub)
INFER_ARITHMETIC(multiply, gpuc_mul)
INFER_ARITHMETIC(divide, gpuc_div)
INFER_ARITHMETIC(mod, gpuc_mod)
INFER_ARITHMETIC(floor_divide, gpuc_floordiv_)
INFER_ARITHMETIC(floor_mod, gpuc_floormod_)
INFER_ARITHMETIC(maximum, gpuc_max)
INFER_ARITHMETIC(minimum, gpuc_min)

#define INFER_COMPARE(name, fn)                                                                              \
    static void infer_##name(gpuc_op_call *call)                                                             \
    {                                                                                                        \
        infer_broadcast(call);                                                                               \
        call->out[0].dtype = GPUC_BOOL;                                                                      \
        follow_values(call, fn);                                                                             \
    }
INFER_COMPARE(equal, gpuc_eq)
INFER_COMPARE(not_equal, gpuc_ne)
INFER_COMPARE(less, gpuc_lt)
INFER_COMPARE(less_equal, gpuc_le)
INFER_COMPARE(greater, gpuc_gt)
INFER_COMPARE(greater_equal, gpuc_ge)

static void infer_where(gpuc_op_call *call)
{
    infer_broadcast(call);
    call->out[0].dtype = call->in[1].dtype;
    int64_t n = value_count(&call->out[0]);
    if (n < 0) return;
    gpuc_expr *v = gpuc_new_array(call->ctx, gpuc_expr, n + 1);
    for (int64_t i = 0; i < n; i++) {
        gpuc_expr c = value_at(call, 0, i), a = value_at(call, 1, i), b = value_at(call, 2, i);
        if (!c || !a || !b) return;
        v[i] = gpuc_select(call->ctx, gpuc_ne(call->ctx, c, gpuc_int(call->ctx, 0)), a, b);
    }
    call->out_values[0] = v;
}

static void where_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], v[3];
    gpuc_iter **axes = gpuc_topi_axes(call->ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    for (int i = 0; i < 3; i++) v[i] = gpuc_topi_read_broadcast(call->ctx, ins[i], ndim, vars);
    outs[0] =
        gpuc_topi_compute(call->ctx, "T", "broadcast", ndim, axes, gpuc_select(call->ctx, v[0], v[1], v[2]));
}

static void infer_prelu(gpuc_op_call *call)
{
    infer_broadcast(call);
    for (int i = 0; i < call->out[0].ndim; i++)
        if (call->in[0].ndim != call->out[0].ndim || call->out[0].dims[i] != call->in[0].dims[i])
            gpuc_topi_fail(call, "the slope does not broadcast to the data");
}

static void prelu_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr x = gpuc_topi_read_broadcast(ctx, ins[0], ndim, vars),
              s = gpuc_topi_read_broadcast(ctx, ins[1], ndim, vars);
    gpuc_expr y = gpuc_select(ctx, gpuc_gt(ctx, x, imm(call, x, 0)), x, gpuc_mul(ctx, x, s));
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, axes, y);
}

#define ATTRS(id, ...) static const gpuc_attr_spec id[] = {__VA_ARGS__, {0}};
#define F(nm, def)                                                                                           \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_FLOAT, .f = def                                                        \
    }
ATTRS(alpha_001, F("alpha", 0.01))
ATTRS(alpha_1, F("alpha", 1))
ATTRS(selu_attrs, F("alpha", 1.67326319217681884765625), F("gamma", 1.05070102214813232421875))
ATTRS(hard_sigmoid_attrs, F("alpha", 0.2), F("beta", 0.5))
ATTRS(clip_attrs, F("a_min", -INFINITY), F("a_max", INFINITY))
ATTRS(gelu_attrs, {.name = "approximate", .kind = GPUC_ATTR_INT})
ATTRS(cast_attrs, {.name = "dtype", .kind = GPUC_ATTR_DTYPE, .required = true})

#define ROW1(nm, fn, inf, set, at, tp, nn, on)                                                               \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .types = {set}, .attrs = at, .infer = inf,                     \
        .compute = fn##_compute, .pattern = GPUC_FUSE_ELEMWISE, .topi = tp, .nnvm = nn, .onnx = on           \
    }
#define FLOAT1(nm, on) ROW1(nm, named, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, nm, nm, on)
#define ROW2(nm, fn, inf, set, tp, nn, on)                                                                   \
    {                                                                                                        \
        .name = nm, .min_in = 2, .max_in = 2, .types = {set, GPUC_T_LIKE}, .infer = inf,                     \
        .compute = fn##_compute, .pattern = GPUC_FUSE_BROADCAST, .topi = tp, .nnvm = nn, .onnx = on          \
    }

const gpuc_op gpuc_ops_elemwise[] = {
    ROW1("negative", negative, gpuc_topi_infer_same, GPUC_T_NUMBERS, NULL, "negative", "negative", "Neg"),
    ROW1("abs", named, gpuc_topi_infer_same, GPUC_T_NUMBERS, NULL, "abs", "abs", "Abs"),
    FLOAT1("exp", "Exp"),
    FLOAT1("log", "Log"),
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
    ROW1("isnan", named, infer_is, GPUC_T_FLOATS, NULL, "isnan", "", "IsNaN"),
    ROW1("isinf", named, infer_is, GPUC_T_FLOATS, NULL, "isinf", "", "IsInf"),
    ROW1("rsqrt", rsqrt, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, "rsqrt", "", ""),
    ROW1("reciprocal", reciprocal, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, "", "", "Reciprocal"),
    ROW1("sigmoid", sigmoid, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, "sigmoid", "sigmoid", "Sigmoid"),
    ROW1("sign", sign, gpuc_topi_infer_same, GPUC_T_NUMBERS, NULL, "sign", "", "Sign"),
    ROW1("logical_not", logical_not, gpuc_topi_infer_same, GPUC_T_BOOL, NULL, "logical_not", "", "Not"),
    ROW1("bitwise_not", bitwise_not, gpuc_topi_infer_same, GPUC_T_INTS, NULL, "bitwise_not", "",
         "BitwiseNot"),
    ROW1("identity", identity, gpuc_topi_infer_same, GPUC_T_ANY, NULL, "identity", "copy", "Identity"),
    ROW1("nn.dropout", identity, gpuc_topi_infer_same, GPUC_T_ANY, NULL, "", "dropout", "Dropout"),
    ROW1("nn.relu", relu, gpuc_topi_infer_same, GPUC_T_NUMBERS, NULL, "relu", "relu", "Relu"),
    ROW1("nn.leaky_relu", leaky_relu, gpuc_topi_infer_same, GPUC_T_FLOATS, alpha_001, "leaky_relu",
         "leaky_relu", "LeakyRelu"),
    ROW1("nn.elu", elu, gpuc_topi_infer_same, GPUC_T_FLOATS, alpha_1, "", "", "Elu"),
    ROW1("nn.selu", selu, gpuc_topi_infer_same, GPUC_T_FLOATS, selu_attrs, "", "", "Selu"),
    ROW1("nn.softplus", softplus, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, "", "", "Softplus"),
    ROW1("nn.softsign", softsign, gpuc_topi_infer_same, GPUC_T_FLOATS, NULL, "", "", "Softsign"),
    ROW1("nn.hard_sigmoid", hard_sigmoid, gpuc_topi_infer_same, GPUC_T_FLOATS, hard_sigmoid_attrs, "", "",
         "HardSigmoid"),
    ROW1("nn.gelu", gelu, gpuc_topi_infer_same, GPUC_T_FLOATS, gelu_attrs, "", "", "Gelu"),
    ROW1("clip", clip, gpuc_topi_infer_same, GPUC_T_NUMBERS, clip_attrs, "clip", "clip", "Clip"),
    ROW1("cast", cast, infer_cast, GPUC_T_ANY, cast_attrs, "cast", "", "Cast"),
    ROW2("add", add, infer_add, GPUC_T_NUMBERS, "add", "elemwise_add,broadcast_add", "Add"),
    ROW2("subtract", subtract, infer_subtract, GPUC_T_NUMBERS, "subtract", "elemwise_sub,broadcast_sub",
         "Sub"),
    ROW2("multiply", multiply, infer_multiply, GPUC_T_NUMBERS, "multiply", "elemwise_mul,broadcast_mul",
         "Mul"),
    ROW2("divide", divide, infer_divide, GPUC_T_NUMBERS, "divide", "elemwise_div,broadcast_div", "Div"),
    ROW2("mod", mod, infer_mod, GPUC_T_NUMBERS, "mod", "elemwise_mod,broadcast_mod", "Mod"),
    ROW2("floor_divide", floor_divide, infer_floor_divide, GPUC_T_NUMBERS, "floor_divide", "", ""),
    ROW2("floor_mod", floor_mod, infer_floor_mod, GPUC_T_NUMBERS, "floor_mod", "", "Mod"),
    ROW2("power", power, infer_broadcast, GPUC_T_FLOATS, "power", "elemwise_pow,broadcast_pow", "Pow"),
    ROW2("maximum", maximum, infer_maximum, GPUC_T_NUMBERS, "maximum", "broadcast_max", "Max"),
    ROW2("minimum", minimum, infer_minimum, GPUC_T_NUMBERS, "minimum", "broadcast_min", "Min"),
    ROW2("equal", equal, infer_equal, GPUC_T_ANY, "equal", "broadcast_equal", "Equal"),
    ROW2("not_equal", not_equal, infer_not_equal, GPUC_T_ANY, "not_equal", "broadcast_not_equal", ""),
    ROW2("less", less, infer_less, GPUC_T_NUMBERS, "less", "less,broadcast_less", "Less"),
    ROW2("less_equal", less_equal, infer_less_equal, GPUC_T_NUMBERS, "less_equal", "broadcast_less_equal",
         "LessOrEqual"),
    ROW2("greater", greater, infer_greater, GPUC_T_NUMBERS, "greater", "greater,broadcast_greater",
         "Greater"),
    ROW2("greater_equal", greater_equal, infer_greater_equal, GPUC_T_NUMBERS, "greater_equal",
         "broadcast_greater_equal", "GreaterOrEqual"),
    ROW2("logical_and", logical_and, infer_broadcast, GPUC_T_BOOL, "logical_and", "", "And"),
    ROW2("logical_or", logical_or, infer_broadcast, GPUC_T_BOOL, "logical_or", "", "Or"),
    ROW2("logical_xor", logical_xor, infer_broadcast, GPUC_T_BOOL, "logical_xor", "", "Xor"),
    ROW2("bitwise_and", bitwise_and, infer_broadcast, GPUC_T_INTS, "bitwise_and", "", "BitwiseAnd"),
    ROW2("bitwise_or", bitwise_or, infer_broadcast, GPUC_T_INTS, "bitwise_or", "", "BitwiseOr"),
    ROW2("bitwise_xor", bitwise_xor, infer_broadcast, GPUC_T_INTS, "bitwise_xor", "", "BitwiseXor"),
    ROW2("left_shift", left_shift, infer_broadcast, GPUC_T_INTS, "left_shift", "broadcast_left_shift",
         "BitShift"),
    ROW2("right_shift", right_shift, infer_broadcast, GPUC_T_INTS, "right_shift", "broadcast_right_shift",
         "BitShift"),
    ROW2("nn.prelu", prelu, infer_prelu, GPUC_T_NUMBERS, "prelu", "prelu", "PRelu"),
    {.name = "where",
     .min_in = 3,
     .max_in = 3,
     .types = {GPUC_T_BOOL, GPUC_T_ANY, GPUC_T_LIKE_1},
     .infer = infer_where,
     .compute = where_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "where",
     .nnvm = "where",
     .onnx = "Where"},
};
const size_t gpuc_ops_elemwise_count = sizeof gpuc_ops_elemwise / sizeof gpuc_ops_elemwise[0];
