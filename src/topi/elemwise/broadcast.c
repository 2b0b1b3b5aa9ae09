/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operators of several operands, which numpy's rule broadcasts. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/elemwise/elemwise.h"
#include "topi/families.h"

/* Arithmetic on bools is that of 0 and 1. */
static gpuc_expr number(gpuc_ctx *ctx, gpuc_expr x)
{
    return gpuc_is_bool(gpuc_expr_dtype(x)) ? gpuc_cast(ctx, GPUC_UINT8, x) : x;
}

static void binary(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs,
                   gpuc_topi_binary_fn fn, bool logic)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    gpuc_expr a = gpuc_topi_read_broadcast(ctx, ins[0], &call->out[0], vars);
    gpuc_expr b = gpuc_topi_read_broadcast(ctx, ins[1], &call->out[0], vars);
    gpuc_expr y = logic ? fn(ctx, a, b) : fn(ctx, number(ctx, a), number(ctx, b));
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, y));
}

#define BINARY_AS(name, logic, fn)                                                                           \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)        \
    {                                                                                                        \
        binary(call, ins, outs, fn, logic);                                                                  \
    }
#define BINARY(name, fn) BINARY_AS(name, false, fn)
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

static gpuc_expr trunc_divide_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    gpuc_expr y = gpuc_div(ctx, a, b);
    return gpuc_is_float(gpuc_expr_dtype(a)) ? gpuc_call1(ctx, "trunc", y) : y;
}

static gpuc_expr floor_mod_of(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    if (!gpuc_is_float(gpuc_expr_dtype(a))) return gpuc_floormod_(ctx, a, b);
    gpuc_expr r = gpuc_mod(ctx, a, b), zero = gpuc_imm(ctx, gpuc_expr_dtype(a), 0);
    gpuc_expr other_sign = gpuc_ne(ctx, gpuc_lt(ctx, r, zero), gpuc_lt(ctx, b, zero));
    return gpuc_select(ctx, gpuc_and(ctx, gpuc_ne(ctx, r, zero), other_sign), gpuc_add(ctx, r, b), r);
}

/* x^n by repeated squaring, with one step for each bit that an exponent can have. */
gpuc_expr gpuc_topi_power_of(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr n)
{
    gpuc_dtype t = gpuc_expr_dtype(x);
    if (gpuc_is_float(t)) return gpuc_call2(ctx, "pow", x, n);
    int bits = t.code == GPUC_DTYPE_INT ? t.bits - 1 : t.bits;
    gpuc_expr zero = gpuc_imm_int(ctx, t, 0), one = gpuc_imm_int(ctx, t, 1), square = x, y = one;
    for (int i = 0; i < bits; i++) {
        gpuc_expr bit = gpuc_call2(ctx, "bitand", n, gpuc_imm_int(ctx, t, (int64_t)((uint64_t)1 << i)));
        y = gpuc_select(ctx, gpuc_ne(ctx, bit, zero), gpuc_mul(ctx, y, square), y);
        if (i + 1 < bits) square = gpuc_mul(ctx, square, square);
    }
    if (t.code == GPUC_DTYPE_UINT) return y;
    gpuc_expr unit = gpuc_eq(ctx, gpuc_call1(ctx, "abs", x), one);
    gpuc_expr odd = gpuc_ne(ctx, gpuc_call2(ctx, "bitand", n, one), zero);
    gpuc_expr inverse = gpuc_select(ctx, unit, gpuc_select(ctx, odd, x, one), zero);
    return gpuc_select(ctx, gpuc_lt(ctx, n, zero), inverse, y);
}

static gpuc_expr prelu_of(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr slope)
{
    return gpuc_select(ctx, gpuc_gt(ctx, x, gpuc_topi_imm(ctx, x, 0)), x, gpuc_mul(ctx, x, slope));
}

BINARY(add, gpuc_add)
BINARY(subtract, gpuc_sub)
BINARY(multiply, gpuc_mul)
BINARY(divide, gpuc_div)
BINARY(mod, gpuc_mod)
BINARY(floor_divide, floor_divide_of)
BINARY(floor_mod, floor_mod_of)
BINARY(trunc_divide, trunc_divide_of)
BINARY(trunc_mod, gpuc_mod)
BINARY(power, gpuc_topi_power_of)
BINARY(maximum, gpuc_max)
BINARY(minimum, gpuc_min)
BINARY_AS(equal, true, gpuc_eq)
BINARY_AS(not_equal, true, gpuc_ne)
BINARY(less, gpuc_lt)
BINARY(less_equal, gpuc_le)
BINARY(greater, gpuc_gt)
BINARY(greater_equal, gpuc_ge)
BINARY_AS(logical_and, true, gpuc_and)
BINARY_AS(logical_or, true, gpuc_or)
BINARY_AS(logical_xor, true, xor_of)
BINARY_CALL(bitwise_and, "bitand")
BINARY_CALL(bitwise_or, "bitor")
BINARY_CALL(bitwise_xor, "bitxor")
BINARY_CALL(left_shift, "shl")
BINARY_CALL(right_shift, "shr")
BINARY(prelu, prelu_of)

void gpuc_topi_infer_broadcast(gpuc_op_call *call)
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
static void follow_values(gpuc_op_call *call, gpuc_topi_binary_fn fn)
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
        gpuc_topi_infer_broadcast(call);                                                                     \
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
        gpuc_topi_infer_broadcast(call);                                                                     \
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
    gpuc_topi_infer_broadcast(call);
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
    for (int i = 0; i < 3; i++) v[i] = gpuc_topi_read_broadcast(call->ctx, ins[i], &call->out[0], vars);
    outs[0] =
        gpuc_topi_compute(call->ctx, "T", "broadcast", ndim, axes, gpuc_select(call->ctx, v[0], v[1], v[2]));
}

static void sum_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], y = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    int ndim = call->out[0].ndim;
    for (int i = 0; i < call->num_in; i++) {
        gpuc_expr x = gpuc_topi_widen(ctx, gpuc_topi_read_broadcast(ctx, ins[i], &call->out[0], vars));
        y = y ? gpuc_add(ctx, y, x) : x;
    }
    outs[0] = gpuc_topi_compute(ctx, "T", "broadcast", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, y));
}

static void infer_prelu(gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0], *slope = &call->in[1];
    int more = data->ndim - slope->ndim;
    if (more < 0) gpuc_topi_fail(call, "the slope has more dimensions than the data");
    for (int i = 0; i < slope->ndim; i++)
        gpuc_topi_require_expands(call, slope->dims[i], data->dims[more + i], "slope");
    call->out[0] = *data;
}

/* ---- One operand, and a number for the other ---- */

typedef struct scalar_form {
    const char *op;
    gpuc_topi_binary_fn fn;
    bool reversed; /* the number comes first */
} scalar_form;

static const scalar_form scalar_forms[] = {
    {"add_scalar", gpuc_add, false},           {"sub_scalar", gpuc_sub, false},
    {"rsub_scalar", gpuc_sub, true},           {"mul_scalar", gpuc_mul, false},
    {"div_scalar", gpuc_div, false},           {"rdiv_scalar", gpuc_div, true},
    {"pow_scalar", gpuc_topi_power_of, false}, {"rpow_scalar", gpuc_topi_power_of, true},
    {"lshift_scalar", left_shift_of, false},   {"rshift_scalar", right_shift_of, false},
};

static gpuc_expr scalar_of(const gpuc_op_call *call, gpuc_expr x)
{
    const scalar_form *f = scalar_forms;
    while (strcmp(f->op, call->op->name)) f++;
    gpuc_expr s = gpuc_topi_imm(call->ctx, x, gpuc_attrs_get_float(call->attrs, "scalar", 0));
    return f->reversed ? f->fn(call->ctx, s, x) : f->fn(call->ctx, x, s);
}

static void scalar_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_topi_unary(call, ins, outs, scalar_of, false);
}

/* A slope of one dimension lies along an axis of the data, 1 where none is given; slopes of other ranks broadcast as
 * in numpy, and so does one that fits the last dimension only. What is along the last one gets two dimensions, so that the
 * call says by itself what it does. */
static void take_axis(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int64_t axis = value ? value->i : 1, have, want;
    (void)spec;
    if (!w->in || w->num_written != 2 || w->in[1].ndim != 1 || w->in[0].ndim < 2) return;
    int ndim = w->in[0].ndim;
    if (axis < -ndim || axis >= ndim)
        gpuc_op_written_fail(w, "axis=%lld is outside of the %d dimensions", (long long)axis, ndim);
    if (axis < 0) axis += ndim;
    bool known = gpuc_expr_is_int(w->in[1].dims[0], &have) && gpuc_expr_is_int(w->in[0].dims[axis], &want);
    if (known && (have == 1 || (have != want && !value))) return;
    if (known && have != want)
        gpuc_op_written_fail(w, "the slope has %lld elements, dimension %lld of the data %lld",
                             (long long)have, (long long)axis, (long long)want);
    gpuc_expr dims[GPUC_OP_MAX_DIMS] = {w->in[1].dims[0]}, one = gpuc_int(w->ctx, 1), last[] = {one, dims[0]};
    for (int i = 1; i < ndim - axis; i++) dims[i] = one;
    if (ndim - axis > 1)
        gpuc_op_reshape_input(w, 1, (int)(ndim - axis), dims);
    else if (ndim > 2)
        gpuc_op_reshape_input(w, 1, 2, last);
}

ATTRS(prelu_attrs, {.name = "axis",
                    .kind = GPUC_ATTR_INT,
                    .take = take_axis,
                    .always = true,
                    .about = "of a slope of one dimension; 1 where it is not given"})
ATTRS(scalar_attrs, {.name = "scalar", .kind = GPUC_ATTR_FLOAT, .required = true})

#define SCALAR(nm, set)                                                                                      \
    ROW1(nm "_scalar", scalar, gpuc_topi_infer_same, set, scalar_attrs, "", "__" nm "_scalar__", "")

const gpuc_op gpuc_topi_ops_broadcast[] = {
    ROW2("add", add, infer_add, GPUC_T_ANY, "add", "elemwise_add,broadcast_add", "Add"),
    ROW2("subtract", subtract, infer_subtract, GPUC_T_NUMBERS, "subtract", "elemwise_sub,broadcast_sub",
         "Sub"),
    ROW2("multiply", multiply, infer_multiply, GPUC_T_ANY, "multiply", "elemwise_mul,broadcast_mul", "Mul"),
    ROW2("divide", divide, infer_divide, GPUC_T_NUMBERS, "divide", "elemwise_div,broadcast_div", "Div"),
    ROW2("mod", mod, infer_mod, GPUC_T_NUMBERS, "mod", "elemwise_mod,broadcast_mod", "Mod"),
    ROW2("floor_divide", floor_divide, infer_floor_divide, GPUC_T_NUMBERS, "floor_divide", "", ""),
    ROW2("floor_mod", floor_mod, infer_floor_mod, GPUC_T_NUMBERS, "floor_mod", "", "Mod"),
    ROW2("trunc_divide", trunc_divide, gpuc_topi_infer_broadcast, GPUC_T_NUMBERS, "trunc_divide", "", ""),
    ROW2("trunc_mod", trunc_mod, gpuc_topi_infer_broadcast, GPUC_T_NUMBERS, "trunc_mod", "", ""),
    ROW2("power", power, gpuc_topi_infer_broadcast, GPUC_T_NUMBERS, "power", "elemwise_pow,broadcast_pow",
         "Pow"),
    ROW2("maximum", maximum, infer_maximum, GPUC_T_ANY, "maximum", "broadcast_max", "Max"),
    ROW2("minimum", minimum, infer_minimum, GPUC_T_ANY, "minimum", "broadcast_min", "Min"),
    ROW2("equal", equal, infer_equal, GPUC_T_ANY, "equal", "broadcast_equal", "Equal"),
    ROW2("not_equal", not_equal, infer_not_equal, GPUC_T_ANY, "not_equal", "broadcast_not_equal", ""),
    ROW2("less", less, infer_less, GPUC_T_ANY, "less", "less,broadcast_less", "Less"),
    ROW2("less_equal", less_equal, infer_less_equal, GPUC_T_ANY, "less_equal", "broadcast_less_equal",
         "LessOrEqual"),
    ROW2("greater", greater, infer_greater, GPUC_T_ANY, "greater", "greater,broadcast_greater", "Greater"),
    ROW2("greater_equal", greater_equal, infer_greater_equal, GPUC_T_ANY, "greater_equal",
         "broadcast_greater_equal", "GreaterOrEqual"),
    ROW2("logical_and", logical_and, gpuc_topi_infer_broadcast, GPUC_T_BOOL, "logical_and", "", "And"),
    ROW2("logical_or", logical_or, gpuc_topi_infer_broadcast, GPUC_T_BOOL, "logical_or", "", "Or"),
    ROW2("logical_xor", logical_xor, gpuc_topi_infer_broadcast, GPUC_T_BOOL, "logical_xor", "", "Xor"),
    ROW2("bitwise_and", bitwise_and, gpuc_topi_infer_broadcast, GPUC_T_INTS | GPUC_T_BOOL, "bitwise_and", "",
         "BitwiseAnd"),
    ROW2("bitwise_or", bitwise_or, gpuc_topi_infer_broadcast, GPUC_T_INTS | GPUC_T_BOOL, "bitwise_or", "",
         "BitwiseOr"),
    ROW2("bitwise_xor", bitwise_xor, gpuc_topi_infer_broadcast, GPUC_T_INTS | GPUC_T_BOOL, "bitwise_xor", "",
         "BitwiseXor"),
    ROW2("left_shift", left_shift, gpuc_topi_infer_broadcast, GPUC_T_INTS, "left_shift",
         "broadcast_left_shift", "BitShift"),
    ROW2("right_shift", right_shift, gpuc_topi_infer_broadcast, GPUC_T_INTS, "right_shift",
         "broadcast_right_shift", "BitShift"),
    {.name = "nn.prelu",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = prelu_attrs,
     .infer = infer_prelu,
     .compute = prelu_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "prelu",
     .nnvm = "prelu",
     .onnx = "PRelu"},
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
    {.name = "elemwise_sum",
     .min_in = 1,
     .max_in = -1,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .infer = gpuc_topi_infer_broadcast,
     .compute = sum_compute,
     .pattern = GPUC_FUSE_BROADCAST,
     .topi = "elemwise_sum",
     .nnvm = "elemwise_sum",
     .onnx = "Sum,Mean"},
    SCALAR("add", GPUC_T_NUMBERS),
    SCALAR("sub", GPUC_T_NUMBERS),
    SCALAR("rsub", GPUC_T_NUMBERS),
    SCALAR("mul", GPUC_T_NUMBERS),
    SCALAR("div", GPUC_T_NUMBERS),
    SCALAR("rdiv", GPUC_T_NUMBERS),
    SCALAR("pow", GPUC_T_NUMBERS),
    SCALAR("rpow", GPUC_T_NUMBERS),
    SCALAR("lshift", GPUC_T_INTS),
    SCALAR("rshift", GPUC_T_INTS),
};
const size_t gpuc_topi_ops_broadcast_count =
    sizeof gpuc_topi_ops_broadcast / sizeof gpuc_topi_ops_broadcast[0];
