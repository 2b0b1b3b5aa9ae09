/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of arithmetic with constants: what changes nothing goes, and constants are gathered. Exact but for rounding. */
#include <math.h>
#include <string.h>

#include "relay_pass/common/rules.h"
#include "tir/tir.h"

enum { MOST_ELEMENTS = 4096 }; /* of a constant that is looked at */

static bool is_number(const gpuc_rexpr *e)
{
    gpuc_dtype t = gpuc_relay_tensor_type(e)->dtype;
    return gpuc_is_float(t) || gpuc_is_integer(t);
}

static bool element(gpuc_ctx *ctx, const gpuc_rexpr *constant, double *value)
{
    gpuc_expr v = gpuc_relay_const_element(ctx, gpuc_as_rconstant((gpuc_rexpr *)constant), 0);
    int64_t i;
    if (gpuc_expr_is_int(v, &i)) return *value = (double)i, i > -(1LL << 53) && i < 1LL << 53;
    return v->kind == GPUC_EXPR_FLOAT && (*value = gpuc_as_float(v)->value, true);
}

/* Whether all elements of a constant are the same. */
static bool is_even(const gpuc_rexpr *constant)
{
    const gpuc_const_data *d = gpuc_as_rconstant((gpuc_rexpr *)constant)->data;
    size_t size = gpuc_dtype_bytes(gpuc_relay_tensor_type(constant)->dtype);
    if (d->size == 0 || d->size > size * MOST_ELEMENTS) return false;
    for (size_t i = size; i < d->size; i += size)
        if (memcmp(d->bytes, (const char *)d->bytes + i, size) != 0) return false;
    return true;
}

/* Whether e is an operator that fills a tensor with one number. */
static bool filled(gpuc_ctx *ctx, const gpuc_rexpr *e, double *value)
{
    bool full = gpuc_relay_is_op(e, "full"), like = gpuc_relay_is_op(e, "full_like");
    if (full || like) {
        const gpuc_rexpr *v = gpuc_as_rcall((gpuc_rexpr *)e)->args[like];
        if (v->kind != GPUC_REXPR_CONSTANT || !is_number(v) || !is_even(v) || !element(ctx, v, value))
            return false;
        return !gpuc_is_integer(gpuc_relay_tensor_type(e)->dtype) || floor(*value) == *value;
    }
    bool ones = gpuc_relay_is_op(e, "ones") || gpuc_relay_is_op(e, "ones_like");
    *value = ones;
    return ones || gpuc_relay_is_op(e, "zeros") || gpuc_relay_is_op(e, "zeros_like");
}

/* Whether all elements are one number. */
static bool uniform(gpuc_ctx *ctx, const gpuc_rexpr *e, double *value)
{
    if (!is_number(e)) return false;
    if (e->kind == GPUC_REXPR_CONSTANT) return is_even(e) && element(ctx, e, value);
    return filled(ctx, e, value);
}

/* x + 0, 1 * x, ... */
static gpuc_rexpr *neutral(gpuc_ctx *ctx, gpuc_rexpr *e, double number, bool either)
{
    gpuc_rexpr *const *args = gpuc_as_rcall(e)->args;
    double v;
    for (int i = 0; i < 1 + either; i++)
        if (gpuc_relay_rtype_equal(args[i]->type, e->type) && uniform(ctx, args[!i], &v) && v == number)
            return args[i];
    return NULL;
}

static gpuc_rexpr *add_nothing(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return neutral(ctx, e, 0, true);
}

static gpuc_rexpr *subtract_nothing(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return neutral(ctx, e, 0, false);
}

static gpuc_rexpr *multiply_by_one(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return neutral(ctx, e, 1, true);
}

static gpuc_rexpr *divide_by_one(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return neutral(ctx, e, 1, false);
}

/* A tensor that is filled with one number, where the number does. */
static gpuc_rexpr *unfilled(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *const *args = gpuc_as_rcall(e)->args, *both[2] = {args[0], args[1]};
    double v;
    for (int i = 0; i < 2; i++) {
        if (!gpuc_relay_rtype_equal(args[!i]->type, e->type) || !is_number(args[i]) ||
            !filled(ctx, args[i], &v))
            continue;
        both[i] = gpuc_relay_const_scalar(ctx, gpuc_relay_tensor_type(e)->dtype, v);
        return gpuc_relay_op(ctx, gpuc_relay_call_op(e)->name, gpuc_as_rcall(e)->attrs, 2, both);
    }
    return NULL;
}

static gpuc_rexpr *twice(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *const *args = gpuc_as_rcall(e)->args;
    if (args[0] != args[1] || !is_number(e)) return NULL;
    return gpuc_relay_op2(ctx, "multiply", NULL, args[0],
                          gpuc_relay_const_scalar(ctx, gpuc_relay_tensor_type(e)->dtype, 2));
}

static gpuc_rexpr *by_root(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *const *args = gpuc_as_rcall(e)->args;
    double v;
    if (!gpuc_relay_is_op(args[1], "sqrt") || !gpuc_is_float(gpuc_relay_tensor_type(e)->dtype) ||
        !gpuc_relay_rtype_equal(args[1]->type, e->type) || !uniform(ctx, args[0], &v))
        return NULL;
    gpuc_rexpr *root = gpuc_relay_op1(ctx, "rsqrt", NULL, gpuc_as_rcall(args[1])->args[0]);
    return v == 1 ? root : gpuc_relay_op2(ctx, "multiply", NULL, args[0], root);
}

/* ---- Constants are gathered ---- */

/* What a commutative operator combines with a constant, which does not widen it. */
static bool split(gpuc_rexpr *e, const char *op, gpuc_rexpr **x, gpuc_rexpr **constant)
{
    if (!gpuc_relay_is_op(e, op) || !is_number(e)) return false;
    gpuc_rexpr *const *args = gpuc_as_rcall(e)->args;
    for (int i = 0; i < 2; i++) {
        *x = args[i];
        *constant = args[!i];
        if ((*constant)->kind == GPUC_REXPR_CONSTANT && (*x)->kind != GPUC_REXPR_CONSTANT &&
            gpuc_relay_rtype_equal((*x)->type, e->type))
            return true;
    }
    return false;
}

/* NULL: it has too many elements. */
static gpuc_rexpr *computed(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_relay_budget budget = {.bytes = 8 * MOST_ELEMENTS, .work = 8 * MOST_ELEMENTS};
    return a && b ? gpuc_relay_evaluate_call(ctx, gpuc_relay_op2(ctx, op, NULL, a, b), &budget) : NULL;
}

static gpuc_rexpr *op_of(gpuc_ctx *ctx, const char *op, gpuc_rexpr *x, gpuc_rexpr *constant)
{
    return x && constant ? gpuc_relay_op2(ctx, op, NULL, x, constant) : NULL;
}

/* (x + a) + b, (x * a) * b */
static gpuc_rexpr *same_again(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const char *op = gpuc_relay_call_op(e)->name;
    gpuc_rexpr *y, *x, *a, *b;
    if (!split(e, op, &y, &b) || !split(y, op, &x, &a)) return NULL;
    return op_of(ctx, op, x, computed(ctx, op, a, b));
}

/* (x * a + b) * c */
static gpuc_rexpr *product_of_sum(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *x, *y, *z, *a, *b, *c;
    if (!split(e, "multiply", &z, &c) || !split(z, "add", &y, &b) || !split(y, "multiply", &x, &a))
        return NULL;
    gpuc_rexpr *sum = computed(ctx, "multiply", b, c),
               *product = sum ? op_of(ctx, "multiply", x, computed(ctx, "multiply", a, c)) : NULL;
    return op_of(ctx, "add", product, sum);
}

/* (x + a) * b + c */
static gpuc_rexpr *sum_of_product(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *x, *y, *z, *a, *b, *c;
    if (!split(e, "add", &z, &c) || !split(z, "multiply", &y, &b) || !split(y, "add", &x, &a)) return NULL;
    gpuc_rexpr *sum = computed(ctx, "add", computed(ctx, "multiply", a, b), c);
    return op_of(ctx, "add", sum ? op_of(ctx, "multiply", x, b) : NULL, sum);
}

static const gpuc_relay_pass_rule rules[] = {
    {"add_nothing", "add", add_nothing},
    {"subtract_nothing", "subtract", subtract_nothing},
    {"multiply_by_one", "multiply", multiply_by_one},
    {"divide_by_one", "divide", divide_by_one},
    {"unfilled_sum", "add", unfilled},
    {"unfilled_difference", "subtract", unfilled},
    {"unfilled_product", "multiply", unfilled},
    {"unfilled_quotient", "divide", unfilled},
    {"twice", "add", twice},
    {"divide_by_root", "divide", by_root},
    {"sum_of_sum", "add", same_again},
    {"product_of_product", "multiply", same_again},
    {"product_of_sum", "multiply", product_of_sum},
    {"sum_of_product", "add", sum_of_product},
};

const gpuc_rule_table gpuc_relay_pass_rules_of_arithmetic = GPUC_RULE_TABLE(rules);
