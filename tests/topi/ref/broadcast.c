/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

/* a^b, wrapping; an inverse is cut off. */
static double int_power(int64_t a, int64_t b)
{
    uint64_t y = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b > 0; b--) y *= (uint64_t)a;
    return (double)(int64_t)y;
}

static double two(const ref_call *c, const char *op, double a, double b)
{
    bool real = ref_is_float(c->in[0].dtype);
    int64_t x = real ? 0 : (int64_t)a, y = real ? 0 : (int64_t)b;
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
    if (!strcmp(op, "trunc_divide")) return real ? trunc(a / b) : y ? (double)(x / y) : 0;
    if (!strcmp(op, "trunc_mod")) return real ? fmod(a, b) : y ? (double)(x % y) : 0;
    if (!strcmp(op, "power")) return real ? pow(a, b) : int_power(x, y);
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
        y->v[i] = two(c, c->op, ref_broadcast(&c->in[0], ndim, index), ref_broadcast(&c->in[1], ndim, index));
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

static void sum(ref_call *c)
{
    int ndim;
    int64_t dims[REF_DIMS], index[REF_DIMS];
    broadcast_dims(c, &ndim, dims);
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, ndim, dims);
    for (int64_t i = 0; i < y->count; i++) {
        ref_index(y, i, index);
        for (int k = 0; k < c->num_in; k++) y->v[i] += ref_broadcast(&c->in[k], ndim, index);
    }
}

/* One operand and an attribute. */
static void scalar(ref_call *c)
{
    static const struct {
        const char *form, *op;
        bool reversed;
    } forms[] = {
        {"add_scalar", "add", false},           {"sub_scalar", "subtract", false},
        {"rsub_scalar", "subtract", true},      {"mul_scalar", "multiply", false},
        {"div_scalar", "divide", false},        {"rdiv_scalar", "divide", true},
        {"pow_scalar", "power", false},         {"rpow_scalar", "power", true},
        {"lshift_scalar", "left_shift", false}, {"rshift_scalar", "right_shift", false},
    };
    int f = 0;
    while (strcmp(forms[f].form, c->op)) f++;
    ref_tensor *x = &c->in[0], *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    double s = ref_float(c, "scalar", 0);
    for (int64_t i = 0; i < x->count; i++)
        y->v[i] = forms[f].reversed ? two(c, forms[f].op, s, x->v[i]) : two(c, forms[f].op, x->v[i], s);
}

const ref_row ref_rows_broadcast[] = {
    {"add", binary},           {"subtract", binary},     {"multiply", binary},    {"divide", binary},
    {"mod", binary},           {"floor_divide", binary}, {"floor_mod", binary},   {"power", binary},
    {"maximum", binary},       {"minimum", binary},      {"equal", binary},       {"not_equal", binary},
    {"less", binary},          {"less_equal", binary},   {"greater", binary},     {"greater_equal", binary},
    {"logical_and", binary},   {"logical_or", binary},   {"logical_xor", binary}, {"bitwise_and", binary},
    {"bitwise_or", binary},    {"bitwise_xor", binary},  {"left_shift", binary},  {"right_shift", binary},
    {"nn.prelu", binary},      {"where", where},         {"elemwise_sum", sum},   {"add_scalar", scalar},
    {"sub_scalar", scalar},    {"rsub_scalar", scalar},  {"mul_scalar", scalar},  {"div_scalar", scalar},
    {"rdiv_scalar", scalar},   {"pow_scalar", scalar},   {"rpow_scalar", scalar}, {"lshift_scalar", scalar},
    {"rshift_scalar", scalar}, {"trunc_divide", binary}, {"trunc_mod", binary},   {NULL, NULL},
};
