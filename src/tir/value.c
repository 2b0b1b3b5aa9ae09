/* SPDX-License-Identifier: Apache-2.0 */
/* Computes operators on constants, with the semantics that node.h states. */
#include "tir/value.h"

#include <math.h>
#include <string.h>

#include "tir/half.h"
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
    if (isnan(v)) return (double)NAN;
    if (t.code == GPUC_DTYPE_BFLOAT) return gpuc_round_bfloat16(v);
    if (t.bits == 16) return gpuc_round_float16(v);
    return t.bits == 32 ? (double)(float)v : v;
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

static bool is_unsigned(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_UINT || t.code == GPUC_DTYPE_BOOL;
}

static int64_t divide(gpuc_dtype t, int64_t a, int64_t b, bool floor_it)
{
    if (b == 0) return 0;
    if (is_unsigned(t)) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return floor_it && a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

static int64_t remainder_of(gpuc_dtype t, int64_t a, int64_t b, bool floor_it)
{
    if (b == 0) return 0;
    if (is_unsigned(t)) return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1) return 0;
    int64_t r = a % b;
    return floor_it && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t shift_left(gpuc_dtype t, int64_t a, int64_t n)
{
    return (uint64_t)n >= t.bits ? 0 : (int64_t)((uint64_t)a << n);
}

static int64_t shift_right(gpuc_dtype t, int64_t a, int64_t n)
{
    bool negative = !is_unsigned(t) && a < 0;
    if ((uint64_t)n >= t.bits) return negative ? -1 : 0;
    if (negative) return (int64_t) ~(~(uint64_t)a >> n);
    return (int64_t)((uint64_t)a >> n);
}

static bool int_less(gpuc_dtype t, int64_t a, int64_t b)
{
    return is_unsigned(t) ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t apply_int(gpuc_tir_op op, gpuc_dtype t, const gpuc_tir_value *v)
{
    int64_t a = v[0].i, b = gpuc_tir_ops[op].arity > 1 ? v[1].i : 0;
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case GPUC_TIR_ADD: return (int64_t)(ua + ub);
    case GPUC_TIR_SUB: return (int64_t)(ua - ub);
    case GPUC_TIR_MUL: return (int64_t)(ua * ub);
    case GPUC_TIR_DIV: return divide(t, a, b, false);
    case GPUC_TIR_MOD: return remainder_of(t, a, b, false);
    case GPUC_TIR_FLOORDIV: return divide(t, a, b, true);
    case GPUC_TIR_FLOORMOD: return remainder_of(t, a, b, true);
    case GPUC_TIR_MIN: return int_less(t, b, a) ? b : a;
    case GPUC_TIR_MAX: return int_less(t, a, b) ? b : a;
    case GPUC_TIR_EQ: return a == b;
    case GPUC_TIR_NE: return a != b;
    case GPUC_TIR_LT: return int_less(t, a, b);
    case GPUC_TIR_LE: return !int_less(t, b, a);
    case GPUC_TIR_AND: return a && b;
    case GPUC_TIR_OR: return a || b;
    case GPUC_TIR_NOT: return !a;
    case GPUC_TIR_BITAND: return a & b;
    case GPUC_TIR_BITOR: return a | b;
    case GPUC_TIR_BITXOR: return a ^ b;
    case GPUC_TIR_BITNOT: return ~a;
    case GPUC_TIR_SHL: return shift_left(t, a, b);
    case GPUC_TIR_SHR: return shift_right(t, a, b);
    case GPUC_TIR_ABS: return !is_unsigned(t) && a < 0 ? (int64_t)(0 - ua) : a;
    case GPUC_TIR_SELECT:
    case GPUC_TIR_IF_THEN_ELSE: return a ? b : v[2].i;
    case GPUC_TIR_FLOOR:
    case GPUC_TIR_CEIL:
    case GPUC_TIR_TRUNC:
    case GPUC_TIR_ROUND:
    case GPUC_TIR_SQRT:
    case GPUC_TIR_EXP:
    case GPUC_TIR_EXPM1:
    case GPUC_TIR_LOG:
    case GPUC_TIR_LOG1P:
    case GPUC_TIR_POW:
    case GPUC_TIR_SIN:
    case GPUC_TIR_COS:
    case GPUC_TIR_TAN:
    case GPUC_TIR_ASIN:
    case GPUC_TIR_ACOS:
    case GPUC_TIR_ATAN:
    case GPUC_TIR_ATAN2:
    case GPUC_TIR_SINH:
    case GPUC_TIR_COSH:
    case GPUC_TIR_TANH:
    case GPUC_TIR_ASINH:
    case GPUC_TIR_ACOSH:
    case GPUC_TIR_ATANH:
    case GPUC_TIR_ERF:
    case GPUC_TIR_ISNAN:
    case GPUC_TIR_ISINF:
    case GPUC_TIR_OP_COUNT: break;
    }
    GPUC_CHECK(!"an operator of floats on integers");
    return 0;
}

static double float_min(double a, double b)
{
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double float_max(double a, double b)
{
    if (isnan(a) || isnan(b)) return (double)NAN;
    if (a == b) return signbit(a) ? b : a;
    return a < b ? b : a;
}

static double apply_float(gpuc_tir_op op, double a, double b)
{
    switch (op) {
    case GPUC_TIR_ADD: return a + b;
    case GPUC_TIR_SUB: return a - b;
    case GPUC_TIR_MUL: return a * b;
    case GPUC_TIR_DIV: return a / b;
    case GPUC_TIR_MOD: return fmod(a, b);
    case GPUC_TIR_MIN: return float_min(a, b);
    case GPUC_TIR_MAX: return float_max(a, b);
    case GPUC_TIR_ABS: return fabs(a);
    case GPUC_TIR_FLOOR: return floor(a);
    case GPUC_TIR_CEIL: return ceil(a);
    case GPUC_TIR_TRUNC: return trunc(a);
    case GPUC_TIR_ROUND: return rint(a);
    case GPUC_TIR_SQRT: return sqrt(a);
    case GPUC_TIR_EXP: return exp(a);
    case GPUC_TIR_EXPM1: return expm1(a);
    case GPUC_TIR_LOG: return log(a);
    case GPUC_TIR_LOG1P: return log1p(a);
    case GPUC_TIR_POW: return pow(a, b);
    case GPUC_TIR_SIN: return sin(a);
    case GPUC_TIR_COS: return cos(a);
    case GPUC_TIR_TAN: return tan(a);
    case GPUC_TIR_ASIN: return asin(a);
    case GPUC_TIR_ACOS: return acos(a);
    case GPUC_TIR_ATAN: return atan(a);
    case GPUC_TIR_ATAN2: return atan2(a, b);
    case GPUC_TIR_SINH: return sinh(a);
    case GPUC_TIR_COSH: return cosh(a);
    case GPUC_TIR_TANH: return tanh(a);
    case GPUC_TIR_ASINH: return asinh(a);
    case GPUC_TIR_ACOSH: return acosh(a);
    case GPUC_TIR_ATANH: return atanh(a);
    case GPUC_TIR_ERF: return erf(a);
    case GPUC_TIR_FLOORDIV:
    case GPUC_TIR_FLOORMOD:
    case GPUC_TIR_EQ:
    case GPUC_TIR_NE:
    case GPUC_TIR_LT:
    case GPUC_TIR_LE:
    case GPUC_TIR_AND:
    case GPUC_TIR_OR:
    case GPUC_TIR_NOT:
    case GPUC_TIR_SELECT:
    case GPUC_TIR_IF_THEN_ELSE:
    case GPUC_TIR_BITAND:
    case GPUC_TIR_BITOR:
    case GPUC_TIR_BITXOR:
    case GPUC_TIR_BITNOT:
    case GPUC_TIR_SHL:
    case GPUC_TIR_SHR:
    case GPUC_TIR_ISNAN:
    case GPUC_TIR_ISINF:
    case GPUC_TIR_OP_COUNT: break;
    }
    GPUC_CHECK(!"an operator of integers on floats");
    return 0;
}

static bool compare_float(gpuc_tir_op op, double a, double b)
{
    if (op == GPUC_TIR_ISNAN) return isnan(a);
    if (op == GPUC_TIR_ISINF) return isinf(a);
    if (op == GPUC_TIR_EQ) return a == b;
    if (op == GPUC_TIR_NE) return a != b;
    return op == GPUC_TIR_LT ? a < b : a <= b;
}

gpuc_tir_value gpuc_tir_apply(gpuc_tir_op op, gpuc_dtype t, const gpuc_tir_value *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_tir_value r = {0};
    if (info->result == GPUC_TIR_ARM) return a[0].i ? a[1] : a[2];
    if (!gpuc_is_float(t)) {
        r.i = apply_int(op, t, a);
        if (info->result == GPUC_TIR_SAME) r.i = gpuc_tir_wrap(t, r.i);
        return r;
    }
    double b = info->arity > 1 ? a[1].f : 0;
    if (info->result == GPUC_TIR_BOOL)
        r.i = compare_float(op, a[0].f, b);
    else
        r.f = gpuc_tir_round(t, apply_float(op, a[0].f, b));
    return r;
}

static uint64_t to_bits(gpuc_dtype t, gpuc_tir_value v)
{
    if (!gpuc_is_float(t)) return (uint64_t)v.i;
    if (t.code == GPUC_DTYPE_BFLOAT) return gpuc_bfloat16_bits(v.f);
    if (t.bits == 16) return gpuc_float16_bits(v.f);
    if (t.bits == 32) {
        float f = (float)v.f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &v.f, sizeof bits);
    return bits;
}

gpuc_tir_value gpuc_tir_reinterpret(gpuc_dtype to, gpuc_dtype from, gpuc_tir_value v)
{
    uint64_t bits = to_bits(from, v);
    gpuc_tir_value r = {0};
    if (!gpuc_is_float(to)) {
        r.i = gpuc_tir_wrap(to, (int64_t)bits);
    } else if (to.code == GPUC_DTYPE_BFLOAT) {
        r.f = gpuc_bfloat16_value((uint16_t)bits);
    } else if (to.bits == 16) {
        r.f = gpuc_float16_value((uint16_t)bits);
    } else if (to.bits == 32) {
        uint32_t narrow = (uint32_t)bits;
        float f;
        memcpy(&f, &narrow, sizeof f);
        r.f = f;
    } else {
        memcpy(&r.f, &bits, sizeof bits);
    }
    return r;
}

static int significand_bits(gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_BFLOAT) return 8;
    return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
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
    if (gpuc_is_float(to)) return magnitude <= significand_bits(to);
    if (from.code == GPUC_DTYPE_INT && to.code == GPUC_DTYPE_UINT) return false;
    return magnitude <= (to.code == GPUC_DTYPE_INT ? to.bits - 1 : to.bits);
}
