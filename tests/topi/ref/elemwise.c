/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

/* ---- One operand ---- */

static double gelu(const ref_call *c, double x)
{
    if (!ref_int(c, "approximate", 0)) return 0.5 * x * (1 + erf(x / sqrt(2)));
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double elu(double x, double alpha)
{
    return x > 0 ? x : alpha * (exp(x) - 1);
}

static double one(const ref_call *c, double x)
{
    const char *op = c->op;
    static const struct {
        const char *name;
        double (*fn)(double);
    } plain[] = {
        {"abs", fabs},    {"exp", exp},   {"log", log},     {"sqrt", sqrt},   {"sin", sin},
        {"cos", cos},     {"tan", tan},   {"asin", asin},   {"acos", acos},   {"atan", atan},
        {"sinh", sinh},   {"cosh", cosh}, {"tanh", tanh},   {"asinh", asinh}, {"acosh", acosh},
        {"atanh", atanh}, {"erf", erf},   {"floor", floor}, {"ceil", ceil},   {"round", rint},
        {"trunc", trunc},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(plain[i].name, op)) return plain[i].fn(x);
    if (!strcmp(op, "negative")) return -x;
    if (!strcmp(op, "rsqrt")) return 1 / sqrt(x);
    if (!strcmp(op, "reciprocal")) return 1 / x;
    if (!strcmp(op, "sigmoid")) return 1 / (1 + exp(-x));
    if (!strcmp(op, "sign")) return isnan(x) ? x : (x > 0) - (x < 0);
    if (!strcmp(op, "logical_not")) return !x;
    if (!strcmp(op, "bitwise_not")) return -x - 1;
    if (!strcmp(op, "isnan")) return isnan(x);
    if (!strcmp(op, "isinf")) return isinf(x) != 0;
    if (!strcmp(op, "nn.relu")) return x > 0 || isnan(x) ? x : 0;
    if (!strcmp(op, "nn.leaky_relu")) return x > 0 ? x : x * ref_float(c, "alpha", 0.01);
    if (!strcmp(op, "nn.elu")) return elu(x, ref_float(c, "alpha", 1));
    if (!strcmp(op, "nn.selu"))
        return ref_float(c, "gamma", 1.05070102214813232421875) *
               elu(x, ref_float(c, "alpha", 1.67326319217681884765625));
    if (!strcmp(op, "nn.softplus")) return log1p(exp(-fabs(x))) + (x > 0 ? x : 0);
    if (!strcmp(op, "nn.softsign")) return x / (1 + fabs(x));
    if (!strcmp(op, "nn.hard_sigmoid"))
        return fmax(0, fmin(1, ref_float(c, "alpha", 0.2) * x + ref_float(c, "beta", 0.5)));
    if (!strcmp(op, "nn.gelu")) return gelu(c, x);
    if (!strcmp(op, "clip")) {
        double lo = ref_float(c, "a_min", -INFINITY), hi = ref_float(c, "a_max", INFINITY);
        return x < lo ? lo : x > hi ? hi : x; /* NaN stays */
    }
    return x; /* identity, nn.dropout */
}

static void unary(ref_call *c)
{
    bool to_bool = !strncmp(c->op, "is", 2);
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, to_bool ? GPUC_BOOL : x->dtype, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++) y->v[i] = one(c, x->v[i]);
}

static gpuc_dtype dtype_named(const char *name)
{
    static const gpuc_dtype types[] = {GPUC_INT8,    GPUC_INT16,  GPUC_INT32,   GPUC_INT64,   GPUC_UINT8,
                                       GPUC_UINT16,  GPUC_UINT32, GPUC_UINT64,  GPUC_FLOAT16, GPUC_FLOAT32,
                                       GPUC_FLOAT64, GPUC_BOOL,   GPUC_BFLOAT16};
    static const char *const names[] = {"int8",    "int16",  "int32",   "int64",   "uint8",
                                        "uint16",  "uint32", "uint64",  "float16", "float32",
                                        "float64", "bool",   "bfloat16"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return types[i];
    return GPUC_FLOAT32;
}

static void cast(ref_call *c)
{
    gpuc_dtype to = dtype_named(strstr(c->attrs, "dtype=") + 6);
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, to, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++)
        y->v[i] = to.code == GPUC_DTYPE_BOOL ? x->v[i] != 0 : ref_is_float(to) ? x->v[i] : trunc(x->v[i]);
}

/* ---- Several operands ---- */

static double two(const ref_call *c, double a, double b)
{
    const char *op = c->op;
    bool real = ref_is_float(c->in[0].dtype);
    int64_t x = (int64_t)a, y = (int64_t)b;
    if (!strcmp(op, "add")) return a + b;
    if (!strcmp(op, "subtract")) return a - b;
    if (!strcmp(op, "multiply")) return a * b;
    if (!strcmp(op, "divide")) return real ? a / b : y ? (double)(x / y) : 0;
    if (!strcmp(op, "mod")) return real ? fmod(a, b) : y ? (double)(x % y) : 0;
    if (!strcmp(op, "floor_divide")) return real || y ? floor(a / b) : 0;
    if (!strcmp(op, "floor_mod")) {
        if (!real && !y) return 0;
        double r = fmod(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    if (!strcmp(op, "power")) return pow(a, b);
    if (!strcmp(op, "maximum")) return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    if (!strcmp(op, "minimum")) return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    if (!strcmp(op, "equal")) return a == b;
    if (!strcmp(op, "not_equal")) return a != b;
    if (!strcmp(op, "less")) return a < b;
    if (!strcmp(op, "less_equal")) return a <= b;
    if (!strcmp(op, "greater")) return a > b;
    if (!strcmp(op, "greater_equal")) return a >= b;
    if (!strcmp(op, "logical_and")) return a && b;
    if (!strcmp(op, "logical_or")) return a || b;
    if (!strcmp(op, "logical_xor")) return !a != !b;
    if (!strcmp(op, "bitwise_and")) return (double)(x & y);
    if (!strcmp(op, "bitwise_or")) return (double)(x | y);
    if (!strcmp(op, "bitwise_xor")) return (double)(x ^ y);
    if (!strcmp(op, "left_shift")) return (double)((uint64_t)x << y);
    if (!strcmp(op, "right_shift")) return (double)(x >> y);
    return a > 0 ? a : a * b; /* nn.prelu */
}

static void broadcast_dims(const ref_call *c, int *ndim, int64_t *dims)
{
    *ndim = 0;
    for (int i = 0; i < c->num_in; i++) *ndim = c->in[i].ndim > *ndim ? c->in[i].ndim : *ndim;
    for (int k = 0; k < *ndim; k++) dims[k] = 1;
    for (int i = 0; i < c->num_in; i++)
        for (int k = 0; k < c->in[i].ndim; k++)
            if (c->in[i].dims[k] != 1) dims[k + *ndim - c->in[i].ndim] = c->in[i].dims[k];
}

static bool compares(const char *op)
{
    return strstr(op, "equal") || strstr(op, "less") || strstr(op, "greater");
}

static void binary(ref_call *c)
{
    int ndim;
    int64_t dims[REF_DIMS], index[REF_DIMS];
    broadcast_dims(c, &ndim, dims);
    ref_tensor *y = ref_make(c, 0, compares(c->op) ? GPUC_BOOL : c->in[0].dtype, ndim, dims);
    for (int64_t i = 0; i < y->count; i++) {
        ref_index(y, i, index);
        y->v[i] = two(c, ref_broadcast(&c->in[0], ndim, index), ref_broadcast(&c->in[1], ndim, index));
    }
}

static void where(ref_call *c)
{
    int ndim;
    int64_t dims[REF_DIMS], index[REF_DIMS];
    broadcast_dims(c, &ndim, dims);
    ref_tensor *y = ref_make(c, 0, c->in[1].dtype, ndim, dims);
    for (int64_t i = 0; i < y->count; i++) {
        ref_index(y, i, index);
        y->v[i] = ref_broadcast(&c->in[ref_broadcast(&c->in[0], ndim, index) ? 1 : 2], ndim, index);
    }
}

const ref_row ref_rows_elemwise[] = {
    {"negative", unary},
    {"abs", unary},
    {"exp", unary},
    {"log", unary},
    {"sqrt", unary},
    {"sin", unary},
    {"cos", unary},
    {"tan", unary},
    {"asin", unary},
    {"acos", unary},
    {"atan", unary},
    {"sinh", unary},
    {"cosh", unary},
    {"tanh", unary},
    {"asinh", unary},
    {"acosh", unary},
    {"atanh", unary},
    {"erf", unary},
    {"floor", unary},
    {"ceil", unary},
    {"round", unary},
    {"trunc", unary},
    {"isnan", unary},
    {"isinf", unary},
    {"rsqrt", unary},
    {"reciprocal", unary},
    {"sigmoid", unary},
    {"sign", unary},
    {"logical_not", unary},
    {"bitwise_not", unary},
    {"identity", unary},
    {"nn.dropout", unary},
    {"nn.relu", unary},
    {"nn.leaky_relu", unary},
    {"nn.elu", unary},
    {"nn.selu", unary},
    {"nn.softplus", unary},
    {"nn.softsign", unary},
    {"nn.hard_sigmoid", unary},
    {"nn.gelu", unary},
    {"clip", unary},
    {"cast", cast},
    {"add", binary},
    {"subtract", binary},
    {"multiply", binary},
    {"divide", binary},
    {"mod", binary},
    {"floor_divide", binary},
    {"floor_mod", binary},
    {"power", binary},
    {"maximum", binary},
    {"minimum", binary},
    {"equal", binary},
    {"not_equal", binary},
    {"less", binary},
    {"less_equal", binary},
    {"greater", binary},
    {"greater_equal", binary},
    {"logical_and", binary},
    {"logical_or", binary},
    {"logical_xor", binary},
    {"bitwise_and", binary},
    {"bitwise_or", binary},
    {"bitwise_xor", binary},
    {"left_shift", binary},
    {"right_shift", binary},
    {"nn.prelu", binary},
    {"where", where},
    {NULL, NULL},
};
