/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of casts, of clips around them, and of order, which dequantizing keeps. */
#include <math.h>

#include "relay_pass/common/rules.h"

/* Bits of the whole numbers that a type of floats holds without gaps. */
static int whole_bits(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_BFLOAT ? 8 : t.bits == 16 ? 11 : t.bits == 32 ? 24 : t.bits == 64 ? 53 : 0;
}

/* Whether a type holds all values of another one. */
static bool holds(gpuc_dtype wide, gpuc_dtype t)
{
    if (gpuc_dtype_equal(wide, t)) return true;
    if (t.code == GPUC_DTYPE_BOOL) return gpuc_is_integer(wide) || gpuc_is_float(wide);
    int bits = t.bits - (t.code == GPUC_DTYPE_INT); /* without the sign */
    if (gpuc_is_integer(t) && gpuc_is_float(wide)) return bits <= whole_bits(wide);
    if (gpuc_is_integer(t) && gpuc_is_integer(wide))
        return bits <= wide.bits - (wide.code == GPUC_DTYPE_INT) &&
               (t.code == GPUC_DTYPE_UINT || wide.code == GPUC_DTYPE_INT);
    return gpuc_is_float(t) && gpuc_is_float(wide) && wide.bits > t.bits && wide.code == GPUC_DTYPE_FLOAT &&
           t.bits >= 16 && wide.bits >= 32;
}

static double least(gpuc_dtype integers)
{
    return integers.code == GPUC_DTYPE_UINT ? 0 : -ldexp(1, integers.bits - 1);
}

static double greatest(gpuc_dtype integers)
{
    return ldexp(1, integers.bits - (integers.code == GPUC_DTYPE_INT)) - 1;
}

static gpuc_dtype type_of(const gpuc_rexpr *e)
{
    return gpuc_relay_tensor_type(e)->dtype;
}

static gpuc_rexpr *operand(gpuc_rexpr *e)
{
    return gpuc_as_rcall(e)->args[0];
}

/* Through a type that holds all values. */
static gpuc_rexpr *cast_of_cast(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *inner = operand(e);
    if (!gpuc_relay_is_op(inner, "cast") || !holds(type_of(inner), type_of(operand(inner)))) return NULL;
    return gpuc_relay_pass_cast(ctx, operand(inner), type_of(e));
}

static bool bounds(const gpuc_rexpr *clip, double *low, double *high)
{
    if (!gpuc_relay_is_op(clip, "clip") || gpuc_as_rcall((gpuc_rexpr *)clip)->n != 1) return false;
    const gpuc_attrs *a = gpuc_as_rcall((gpuc_rexpr *)clip)->attrs;
    *low = gpuc_attrs_get_float(a, "a_min", -INFINITY);
    *high = gpuc_attrs_get_float(a, "a_max", INFINITY);
    return true;
}

/* Through integers that hold what a clip left. */
static gpuc_rexpr *cast_of_clipped(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *inner = operand(e), *clip;
    double low, high;
    if (!gpuc_relay_is_op(inner, "cast") || !bounds(clip = operand(inner), &low, &high)) return NULL;
    gpuc_dtype t = type_of(inner), out = type_of(e);
    if (!gpuc_is_integer(t) || low < least(t) || high > greatest(t)) return NULL;
    /* of floats the fraction goes, to integers only */
    if (gpuc_is_float(type_of(clip)) && (!gpuc_is_integer(out) || low < least(out) || high > greatest(out)))
        return NULL;
    return gpuc_relay_pass_cast(ctx, clip, out);
}

static gpuc_rexpr *clip_nothing(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_dtype t = type_of(e);
    double low, high;
    (void)ctx;
    if (!gpuc_is_integer(t) || t.bits > 32 || !bounds(e, &low, &high)) return NULL;
    return low <= least(t) && high >= greatest(t) ? operand(e) : NULL;
}

static gpuc_rexpr *order_of_dequantized(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *real = operand(e);
    if (!gpuc_relay_is_op(real, "qnn.dequantize") || type_of(operand(real)).bits > 16) return NULL;
    const gpuc_rcall *c = gpuc_as_rcall(real);
    for (int i = 1; i < c->n; i++)
        if (c->args[i]->kind != GPUC_REXPR_CONSTANT || gpuc_relay_tensor_type(c->args[i])->ndim != 0)
            return NULL;
    gpuc_expr scale = gpuc_relay_const_element(ctx, gpuc_as_rconstant(c->args[1]), 0);
    double v = scale->kind == GPUC_EXPR_FLOAT ? gpuc_as_float(scale)->value : 0;
    if (!(v > 1e-30 && v < 1e30)) return NULL; /* beyond, numbers that differ may not after it */
    gpuc_rexpr *out = gpuc_relay_op1(ctx, gpuc_relay_call_op(e)->name, gpuc_as_rcall(e)->attrs, c->args[0]);
    return gpuc_relay_rtype_equal(out->type, e->type) ? out : NULL;
}

static const gpuc_relay_pass_rule rules[] = {
    {"cast_of_cast", "cast", cast_of_cast},
    {"cast_of_clipped", "cast", cast_of_clipped},
    {"clip_nothing", "clip", clip_nothing},
    {"greatest_of_dequantized", "argmax", order_of_dequantized},
    {"least_of_dequantized", "argmin", order_of_dequantized},
    {"order_of_dequantized", "argsort", order_of_dequantized},
};

const gpuc_rule_table gpuc_relay_pass_rules_of_casts = GPUC_RULE_TABLE(rules);
