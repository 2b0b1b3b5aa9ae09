/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref.h"

static double one(const ref_call *c, double x)
{
    const char *op = c->op;
    static const struct {
        const char *name;
        double (*fn)(double);
    } plain[] = {
        {"abs", fabs},     {"exp", exp},        {"log", log},      {"sqrt", sqrt},   {"sin", sin},
        {"cos", cos},      {"tan", tan},        {"asin", asin},    {"acos", acos},   {"atan", atan},
        {"sinh", sinh},    {"cosh", cosh},      {"tanh", tanh},    {"asinh", asinh}, {"acosh", acosh},
        {"atanh", atanh},  {"erf", erf},        {"expm1", expm1},  {"log1p", log1p}, {"floor", floor},
        {"ceil", ceil},    {"round", rint},     {"trunc", trunc},  {"log2", log2},   {"log10", log10},
        {"fast_exp", exp}, {"fast_tanh", tanh}, {"fast_erf", erf},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(plain[i].name, op)) return plain[i].fn(x);
    if (!strcmp(op, "negative")) return -x;
    if (!strcmp(op, "rsqrt")) return 1 / sqrt(x);
    if (!strcmp(op, "reciprocal")) return 1 / x;
    if (!strcmp(op, "sigmoid")) return 1 / (1 + exp(-x));
    if (!strcmp(op, "sign")) return isnan(x) ? x : (x > 0) - (x < 0);
    if (!strcmp(op, "logical_not")) return !x;
    if (!strcmp(op, "bitwise_not")) return c->in[0].dtype.code == GPUC_DTYPE_BOOL ? !x : -x - 1;
    if (!strcmp(op, "isnan")) return isnan(x);
    if (!strcmp(op, "isinf")) return isinf(x) != 0;
    if (!strcmp(op, "isfinite")) return isfinite(x) != 0;
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
    char text[24];
    gpuc_dtype t;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, " "), name);
    return gpuc_dtype_parse(text, &t) ? t : GPUC_FLOAT32;
}

static void cast(ref_call *c)
{
    gpuc_dtype to = dtype_named(strstr(c->attrs, "dtype=") + 6);
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, to, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++)
        y->v[i] = to.code == GPUC_DTYPE_BOOL ? x->v[i] != 0 : ref_is_float(to) ? x->v[i] : trunc(x->v[i]);
}

/* The same bits, through memory. */
static void reinterpret(ref_call *c)
{
    gpuc_dtype to = ref_dtype(c, "dtype", GPUC_FLOAT32), from = c->in[0].dtype;
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, to, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++) {
        if (gpuc_dtype_equal(from, to)) {
            y->v[i] = x->v[i];
            continue;
        }
        int64_t bits = ref_is_float(from) ? 0 : (int64_t)x->v[i];
        if (from.code == GPUC_DTYPE_FLOAT && from.bits == 64) memcpy(&bits, &x->v[i], 8);
        if (from.code == GPUC_DTYPE_FLOAT && from.bits == 32) {
            float f = (float)x->v[i];
            memcpy(&bits, &f, 4);
            bits = (int32_t)bits;
        }
        y->v[i] = (double)bits;
        if (to.code != GPUC_DTYPE_FLOAT) continue;
        float f;
        memcpy(&f, &bits, 4);
        if (to.bits == 32) y->v[i] = (double)f;
        if (to.bits == 64) memcpy(&y->v[i], &bits, 8);
    }
}

static void cast_like(ref_call *c)
{
    gpuc_dtype to = c->in[1].dtype;
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, to, x->ndim, x->dims);
    for (int64_t i = 0; i < x->count; i++)
        y->v[i] = to.code == GPUC_DTYPE_BOOL ? x->v[i] != 0 : ref_is_float(to) ? x->v[i] : trunc(x->v[i]);
}

const ref_row ref_rows_elemwise[] = {
    {"negative", unary},    {"abs", unary},           {"exp", unary},
    {"log", unary},         {"sqrt", unary},          {"sin", unary},
    {"cos", unary},         {"tan", unary},           {"asin", unary},
    {"acos", unary},        {"atan", unary},          {"sinh", unary},
    {"cosh", unary},        {"tanh", unary},          {"asinh", unary},
    {"acosh", unary},       {"atanh", unary},         {"erf", unary},
    {"expm1", unary},       {"log1p", unary},         {"floor", unary},
    {"ceil", unary},        {"round", unary},         {"trunc", unary},
    {"isnan", unary},       {"isinf", unary},         {"rsqrt", unary},
    {"reciprocal", unary},  {"sigmoid", unary},       {"sign", unary},
    {"logical_not", unary}, {"bitwise_not", unary},   {"identity", unary},
    {"nn.dropout", unary},  {"clip", unary},          {"cast", cast},
    {"log2", unary},        {"log10", unary},         {"fast_exp", unary},
    {"fast_tanh", unary},   {"fast_erf", unary},      {"reinterpret", reinterpret},
    {"isfinite", unary},    {"cast_like", cast_like}, {NULL, NULL},
};
