/* SPDX-License-Identifier: Apache-2.0 */
/* Computes operators on constants, with the semantics that node.h states. */
#include "tir/value.h"

#include "tir/op_values.h"
#include "tir/tir.h"

int64_t gpuc_tir_wrap(gpuc_dtype t, int64_t v)
{
    if (t.code == GPUC_DTYPE_BOOL) return v != 0;
    if (t.bits >= 64) return v;
    uint64_t mask = (UINT64_C(1) << t.bits) - 1, u = (uint64_t)v & mask;
    if (t.code == GPUC_DTYPE_INT && u >> (t.bits - 1)) u |= ~mask;
    return (int64_t)u;
}

double gpuc_tir_round(gpuc_dtype t, double v)
{
    return isnan(v) ? (double)NAN : gpuc_float_round(t, v);
}

/* Integers of more than 53 bits keep a sticky last bit, so that rounding once more to a narrower type
 * gives what rounding once would have given. */
static double int_to_float(gpuc_dtype to, bool negative, uint64_t magnitude)
{
    double d;
    if (to.bits < 64 && magnitude >> 53)
        d = ldexp((double)(magnitude >> 11 | ((magnitude & 2047) != 0)), 11);
    else
        d = (double)magnitude;
    return gpuc_tir_round(to, negative ? -d : d);
}

static int64_t float_to_int(gpuc_dtype to, double v)
{
    if (isnan(v)) return 0;
    v = trunc(v);
    if (to.code == GPUC_DTYPE_UINT) {
        if (v <= 0) return 0;
        if (v >= ldexp(1, to.bits)) return gpuc_tir_wrap(to, -1);
        return (int64_t)(uint64_t)v;
    }
    double limit = ldexp(1, to.bits - 1);
    if (v >= limit) return (int64_t)((UINT64_C(1) << (to.bits - 1)) - 1);
    if (v < -limit) v = -limit;
    return (int64_t)v;
}

gpuc_tir_value gpuc_tir_convert(gpuc_dtype to, gpuc_dtype from, gpuc_tir_value v)
{
    gpuc_tir_value r = {0};
    if (gpuc_is_float(from)) {
        if (gpuc_is_float(to))
            r.f = gpuc_tir_round(to, v.f);
        else if (gpuc_is_bool(to))
            r.i = v.f != 0;
        else
            r.i = float_to_int(to, v.f);
    } else if (gpuc_is_float(to)) {
        bool negative = from.code == GPUC_DTYPE_INT && v.i < 0;
        r.f = int_to_float(to, negative, negative ? 0 - (uint64_t)v.i : (uint64_t)v.i);
    } else {
        r.i = gpuc_tir_wrap(to, v.i);
    }
    return r;
}

/* ---- Operators: the columns ints and floats of ops.def, at the widest type ---- */

#define T int64_t
#define U uint64_t
#define SIGNED 1
#define BITS bits
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, ...)                                          \
    case GPUC_TIR_##e: return (int64_t)(ints);

static int64_t apply_signed(gpuc_tir_op op, int bits, T a, T b)
{
    switch (op) {
#include "tir/ops.def"
    case GPUC_TIR_OP_COUNT: break;
    }
    return 0;
}

#undef T
#undef SIGNED
#define T uint64_t
#define SIGNED 0

static int64_t apply_unsigned(gpuc_tir_op op, int bits, T a, T b)
{
    switch (op) {
#include "tir/ops.def"
    case GPUC_TIR_OP_COUNT: break;
    }
    return 0;
}

#undef T
#undef U
#undef SIGNED
#undef BITS
#undef GPUC_TIR_OP

#define T double
#define NARROW(value) (value)
#define WIDE(value) (value)
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, ...)                                  \
    case GPUC_TIR_##e: return (double)(floats);

static double apply_float(gpuc_tir_op op, double a, double b)
{
    switch (op) {
#include "tir/ops.def"
    case GPUC_TIR_OP_COUNT: break;
    }
    return 0;
}

#undef T
#undef NARROW
#undef WIDE
#undef GPUC_TIR_OP

gpuc_tir_value gpuc_tir_apply(gpuc_tir_op op, gpuc_dtype t, const gpuc_tir_value *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    bool two = info->arity > 1, truth = info->result == GPUC_TIR_BOOL;
    gpuc_tir_value r = {0};
    GPUC_CHECK(info->flags & (gpuc_is_float(t)  ? GPUC_TIR_FLT
                              : gpuc_is_bool(t) ? GPUC_TIR_LOGIC
                                                : GPUC_TIR_INT));
    if (info->result == GPUC_TIR_ARM) return a[0].i ? a[1] : a[2];
    if (gpuc_is_float(t)) {
        double v = apply_float(op, a[0].f, two ? a[1].f : 0);
        if (truth)
            r.i = v != 0;
        else
            r.f = gpuc_tir_round(t, v);
        return r;
    }
    int64_t b = two ? a[1].i : 0;
    r.i = t.code == GPUC_DTYPE_INT ? apply_signed(op, t.bits, a[0].i, b)
                                   : apply_unsigned(op, t.bits, (uint64_t)a[0].i, (uint64_t)b);
    if (!truth) r.i = gpuc_tir_wrap(t, r.i);
    return r;
}

gpuc_tir_value gpuc_tir_reinterpret(gpuc_dtype to, gpuc_dtype from, gpuc_tir_value v)
{
    uint64_t bits = gpuc_is_float(from) ? gpuc_float_bits(from, v.f) : (uint64_t)v.i;
    gpuc_tir_value r = {0};
    if (gpuc_is_float(to))
        r.f = gpuc_float_value(to, bits);
    else
        r.i = gpuc_tir_wrap(to, (int64_t)bits);
    return r;
}

bool gpuc_tir_holds_all(gpuc_dtype to, gpuc_dtype from)
{
    if (gpuc_is_bool(to)) return gpuc_is_bool(from);
    if (gpuc_is_bool(from)) return true;
    if (gpuc_is_float(from)) {
        if (!gpuc_is_float(to)) return false;
        if (from.bits == 16 && to.bits == 16) return to.code == from.code;
        return to.bits >= from.bits;
    }
    int magnitude = from.code == GPUC_DTYPE_INT ? from.bits - 1 : from.bits;
    if (gpuc_is_float(to)) return magnitude <= gpuc_element_of(to)->significand;
    if (from.code == GPUC_DTYPE_INT && to.code == GPUC_DTYPE_UINT) return false;
    return magnitude <= (to.code == GPUC_DTYPE_INT ? to.bits - 1 : to.bits);
}
