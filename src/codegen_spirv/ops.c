/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar operators, lane by lane. */
#include "codegen_spirv/emit.h"

typedef struct operands {
    gpuc_dtype t; /* of the operands as written */
    gpuc_dtype held;
    uint32_t type, bool_type;
    uint32_t a, b;
} operands;

static uint32_t calc(gpuc_spv_kernel *k, SpvOp op, uint32_t type, uint32_t a, uint32_t b)
{
    return gpuc_spv_calc(&k->m, op, type, a, b);
}

static uint32_t int_const(gpuc_spv_kernel *k, const operands *o, int64_t v)
{
    return gpuc_spv_int_const(k, o->held, v);
}

static bool is_signed(const operands *o)
{
    return o->t.code == GPUC_DTYPE_INT;
}

static gpuc_expr scalar_of(gpuc_expr e)
{
    return e->kind == GPUC_EXPR_BROADCAST ? gpuc_as_broadcast(e)->a : e;
}

/* ---- Integer division -------------------------------------------------------------------------------- */

typedef struct divisor_facts {
    bool never_zero, positive, dividend_natural;
    int64_t power; /* log2 of a constant power of two, or -1 */
} divisor_facts;

static divisor_facts know_divisor(gpuc_spv_kernel *k, gpuc_expr a, gpuc_expr b)
{
    divisor_facts f = {.power = -1};
    int64_t v;
    bool is_unsigned = a->dtype.code == GPUC_DTYPE_UINT;
    gpuc_expr divisor = scalar_of(b);
    if (gpuc_expr_is_int(divisor, &v)) {
        f.never_zero = v != 0;
        f.positive = is_unsigned ? v != 0 : v > 0;
        if (v > 0 && (v & (v - 1)) == 0) f.power = __builtin_ctzll((uint64_t)v);
    } else if (!is_unsigned) {
        f.positive = f.never_zero = gpuc_analyzer_bounds(k->analyzer, divisor).min > 0;
    }
    f.dividend_natural = is_unsigned || gpuc_analyzer_bounds(k->analyzer, a).min >= 0;
    return f;
}

/* a / b towards zero, and b as it was divided by (made safe). */
static uint32_t quotient(gpuc_spv_kernel *k, const operands *o, const divisor_facts *f, uint32_t *out_b)
{
    uint32_t zero = int_const(k, o, 0), one = int_const(k, o, 1), b = o->b;
    bool natural = f->dividend_natural && f->positive;
    SpvOp op = natural || !is_signed(o) ? SpvOpUDiv : SpvOpSDiv;
    *out_b = b;
    if (f->positive) return calc(k, op, o->type, o->a, b);
    uint32_t is_zero = calc(k, SpvOpIEqual, o->bool_type, b, zero), odd = is_zero, minus = 0;
    if (is_signed(o)) {
        minus = calc(k, SpvOpIEqual, o->bool_type, b, int_const(k, o, -1));
        odd = calc(k, SpvOpLogicalOr, o->bool_type, is_zero, minus);
    }
    uint32_t safe = gpuc_spv_select(k, o->held, odd, one, b);
    uint32_t q = calc(k, op, o->type, o->a, safe);
    if (minus) {
        uint32_t negated = calc(k, SpvOpISub, o->type, zero, o->a);
        q = gpuc_spv_select(k, o->held, minus, negated, q);
    }
    q = gpuc_spv_select(k, o->held, is_zero, zero, q);
    *out_b = b;
    return q;
}

/* The remainder that belongs to q; 0 where b is 0, since q and b are then. */
static uint32_t remainder_of(gpuc_spv_kernel *k, const operands *o, const divisor_facts *f, uint32_t q,
                             uint32_t b)
{
    uint32_t r = calc(k, SpvOpISub, o->type, o->a, calc(k, SpvOpIMul, o->type, q, b));
    if (f->never_zero) return r;
    uint32_t is_zero = calc(k, SpvOpIEqual, o->bool_type, b, int_const(k, o, 0));
    return gpuc_spv_select(k, o->held, is_zero, int_const(k, o, 0), r);
}

/* True where a floor differs from truncation. */
static uint32_t rounds_down(gpuc_spv_kernel *k, const operands *o, uint32_t r, uint32_t b)
{
    uint32_t zero = int_const(k, o, 0);
    uint32_t inexact = calc(k, SpvOpINotEqual, o->bool_type, r, zero);
    uint32_t signs = calc(k, SpvOpBitwiseXor, o->type, r, b);
    uint32_t differ = calc(k, SpvOpSLessThan, o->bool_type, signs, zero);
    return calc(k, SpvOpLogicalAnd, o->bool_type, inexact, differ);
}

static uint32_t divide(gpuc_spv_kernel *k, const operands *o, gpuc_tir_op op, const divisor_facts *f)
{
    bool wants_floor = op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
    bool wants_quotient = op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV;
    bool natural = f->dividend_natural && f->positive;
    if (f->power >= 0 && (wants_floor || natural)) {
        if (!wants_quotient)
            return calc(k, SpvOpBitwiseAnd, o->type, o->a, int_const(k, o, (INT64_C(1) << f->power) - 1));
        SpvOp shift = is_signed(o) && !natural ? SpvOpShiftRightArithmetic : SpvOpShiftRightLogical;
        return f->power == 0 ? o->a : calc(k, shift, o->type, o->a, int_const(k, o, f->power));
    }
    if (natural && !wants_quotient) return calc(k, SpvOpUMod, o->type, o->a, o->b);
    uint32_t b, q = quotient(k, o, f, &b);
    if (op == GPUC_TIR_DIV || (op == GPUC_TIR_FLOORDIV && (natural || !is_signed(o)))) return q;
    uint32_t r = remainder_of(k, o, f, q, b);
    if (op == GPUC_TIR_MOD || !is_signed(o)) return r;
    uint32_t down = rounds_down(k, o, r, b);
    if (wants_quotient)
        return gpuc_spv_select(k, o->held, down, calc(k, SpvOpISub, o->type, q, int_const(k, o, 1)), q);
    return gpuc_spv_select(k, o->held, down, calc(k, SpvOpIAdd, o->type, r, b), r);
}

/* ---- Classes of floats, by their bits ------------------------------------------------------------------ */

static uint32_t classify(gpuc_spv_kernel *k, const operands *o, bool nan)
{
    gpuc_dtype bits = o->held;
    if (bits.bits == 64 && !k->target->int64) { /* comparisons see NaN, and 2x - x does what infinities do */
        if (nan) return calc(k, SpvOpFUnordNotEqual, o->bool_type, o->a, o->a);
        uint32_t size = gpuc_spv_glsl(&k->m, GLSLstd450FAbs, o->type, 1, &o->a);
        return calc(k, SpvOpFOrdGreaterThan, o->bool_type, size,
                    gpuc_spv_float_const(k, o->held, 0x1.fffffffffffffp1023));
    }
    bits.code = GPUC_DTYPE_UINT;
    int64_t infinity = bits.bits == 16 ? 0x7c00 : bits.bits == 32 ? 0x7f800000 : INT64_C(0x7ff0000000000000);
    int64_t all = bits.bits == 64 ? INT64_MAX : (INT64_C(1) << (bits.bits - 1)) - 1;
    uint32_t type = gpuc_spv_type(k, bits), x = gpuc_spv_calc(&k->m, SpvOpBitcast, type, o->a);
    x = calc(k, SpvOpBitwiseAnd, type, x, gpuc_spv_int_const(k, bits, all));
    return calc(k, nan ? SpvOpUGreaterThan : SpvOpIEqual, o->bool_type, x,
                gpuc_spv_int_const(k, bits, infinity));
}

/* ---- Minimum, shifts, absolute value ------------------------------------------------------------------ */

static bool is_number(gpuc_expr e)
{
    e = scalar_of(e);
    return e->kind == GPUC_EXPR_FLOAT && gpuc_as_float(e)->value == gpuc_as_float(e)->value;
}

static uint32_t min_max(gpuc_spv_kernel *k, gpuc_expr e, operands *o)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool is_min = n->op == GPUC_TIR_MIN;
    if (!gpuc_is_float(o->t)) {
        uint32_t args[2] = {o->a, o->b};
        if (o->held.bits == 32) {
            int fn = is_signed(o) ? (is_min ? GLSLstd450SMin : GLSLstd450SMax)
                     : is_min     ? GLSLstd450UMin
                                  : GLSLstd450UMax;
            return gpuc_spv_glsl(&k->m, fn, o->type, 2, args);
        }
        uint32_t less = calc(k, is_signed(o) ? SpvOpSLessThan : SpvOpULessThan, o->bool_type, o->a, o->b);
        return gpuc_spv_select(k, o->held, less, is_min ? o->a : o->b, is_min ? o->b : o->a);
    }
    uint32_t a = o->a, b = o->b;
    if (is_number(n->a[0])) {
        a = o->b;
        b = o->a;
    }
    SpvOp better = is_min ? SpvOpFOrdLessThan : SpvOpFOrdGreaterThan;
    if (is_number(n->a[0]) || is_number(n->a[1])) /* b is a number: NaN of a stays by failing to compare */
        return gpuc_spv_select(k, o->held, calc(k, better, o->bool_type, b, a), b, a);
    uint32_t first = calc(k, better, o->bool_type, a, b),
             nan = classify(k, &(operands){.t = o->t, .held = o->held, .bool_type = o->bool_type, .a = a},
                            true);
    return gpuc_spv_select(k, o->held, calc(k, SpvOpLogicalOr, o->bool_type, first, nan), a, b);
}

/* Constant, or masked. */
static bool is_count(gpuc_expr e, int bits)
{
    int64_t c;
    e = scalar_of(e);
    if (e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == GPUC_TIR_BITAND) e = scalar_of(gpuc_as_op(e)->a[1]);
    return gpuc_expr_is_int(e, &c) && c >= 0 && c < bits;
}

static uint32_t shift(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool left = n->op == GPUC_TIR_SHL;
    SpvOp op = left           ? SpvOpShiftLeftLogical
               : is_signed(o) ? SpvOpShiftRightArithmetic
                              : SpvOpShiftRightLogical;
    if (is_count(n->a[1], o->t.bits)) return calc(k, op, o->type, o->a, o->b);
    uint32_t limit = int_const(k, o, o->t.bits - 1);
    uint32_t beyond = calc(k, SpvOpUGreaterThan, o->bool_type, o->b, limit);
    uint32_t safe = gpuc_spv_select(k, o->held, beyond, limit, o->b);
    uint32_t r = calc(k, op, o->type, o->a, safe);
    return op == SpvOpShiftRightArithmetic ? r : gpuc_spv_select(k, o->held, beyond, int_const(k, o, 0), r);
}

static uint32_t absolute(gpuc_spv_kernel *k, const operands *o)
{
    if (gpuc_is_float(o->t)) return gpuc_spv_glsl(&k->m, GLSLstd450FAbs, o->type, 1, &o->a);
    if (!is_signed(o)) return o->a;
    uint32_t zero = int_const(k, o, 0), negated = calc(k, SpvOpISub, o->type, zero, o->a);
    uint32_t below = calc(k, SpvOpSLessThan, o->bool_type, o->a, zero);
    return gpuc_spv_select(k, o->held, below, negated, o->a);
}

/* ---- Tables -------------------------------------------------------------------------------------------- */

static const struct {
    SpvOp on_float, on_signed, on_unsigned, on_bool;
} plain[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_ADD] = {SpvOpFAdd, SpvOpIAdd, SpvOpIAdd, 0},
    [GPUC_TIR_SUB] = {SpvOpFSub, SpvOpISub, SpvOpISub, 0},
    [GPUC_TIR_MUL] = {SpvOpFMul, SpvOpIMul, SpvOpIMul, 0},
    [GPUC_TIR_DIV] = {SpvOpFDiv, 0, 0, 0},
    [GPUC_TIR_MOD] = {SpvOpFRem, 0, 0, 0},
    [GPUC_TIR_EQ] = {SpvOpFOrdEqual, SpvOpIEqual, SpvOpIEqual, SpvOpLogicalEqual},
    [GPUC_TIR_NE] = {SpvOpFUnordNotEqual, SpvOpINotEqual, SpvOpINotEqual, SpvOpLogicalNotEqual},
    [GPUC_TIR_LT] = {SpvOpFOrdLessThan, SpvOpSLessThan, SpvOpULessThan, 0},
    [GPUC_TIR_LE] = {SpvOpFOrdLessThanEqual, SpvOpSLessThanEqual, SpvOpULessThanEqual, 0},
    [GPUC_TIR_AND] = {0, 0, 0, SpvOpLogicalAnd},
    [GPUC_TIR_OR] = {0, 0, 0, SpvOpLogicalOr},
    [GPUC_TIR_BITAND] = {0, SpvOpBitwiseAnd, SpvOpBitwiseAnd, 0},
    [GPUC_TIR_BITOR] = {0, SpvOpBitwiseOr, SpvOpBitwiseOr, 0},
    [GPUC_TIR_BITXOR] = {0, SpvOpBitwiseXor, SpvOpBitwiseXor, 0},
};

/* Functions of GLSL.std.450; those marked 64 are defined on float64 too. */
static const struct {
    int fn;
    bool on_double;
} functions[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_FLOOR] = {GLSLstd450Floor, true},  [GPUC_TIR_CEIL] = {GLSLstd450Ceil, true},
    [GPUC_TIR_TRUNC] = {GLSLstd450Trunc, true},  [GPUC_TIR_ROUND] = {GLSLstd450RoundEven, true},
    [GPUC_TIR_SQRT] = {GLSLstd450Sqrt, true},    [GPUC_TIR_EXP] = {GLSLstd450Exp, false},
    [GPUC_TIR_LOG] = {GLSLstd450Log, false},     [GPUC_TIR_POW] = {GLSLstd450Pow, false},
    [GPUC_TIR_SIN] = {GLSLstd450Sin, false},     [GPUC_TIR_COS] = {GLSLstd450Cos, false},
    [GPUC_TIR_TAN] = {GLSLstd450Tan, false},     [GPUC_TIR_ASIN] = {GLSLstd450Asin, false},
    [GPUC_TIR_ACOS] = {GLSLstd450Acos, false},   [GPUC_TIR_ATAN] = {GLSLstd450Atan, false},
    [GPUC_TIR_ATAN2] = {GLSLstd450Atan2, false}, [GPUC_TIR_SINH] = {GLSLstd450Sinh, false},
    [GPUC_TIR_COSH] = {GLSLstd450Cosh, false},   [GPUC_TIR_TANH] = {GLSLstd450Tanh, false},
    [GPUC_TIR_ASINH] = {GLSLstd450Asinh, false}, [GPUC_TIR_ACOSH] = {GLSLstd450Acosh, false},
    [GPUC_TIR_ATANH] = {GLSLstd450Atanh, false},
};

/* From floors: drivers have been seen to truncate RoundEven of float64. */
static uint32_t round_double(gpuc_spv_kernel *k, const operands *o)
{
    gpuc_spv *m = &k->m;
    uint32_t one = gpuc_spv_float_const(k, o->held, 1), half = gpuc_spv_float_const(k, o->held, 0.5);
    uint32_t below = gpuc_spv_glsl(m, GLSLstd450Floor, o->type, 1, &o->a);
    uint32_t above = calc(k, SpvOpFAdd, o->type, below, one), rest = calc(k, SpvOpFSub, o->type, o->a, below);
    uint32_t scaled = calc(k, SpvOpFMul, o->type, below, half),
             pairs = gpuc_spv_glsl(m, GLSLstd450Floor, o->type, 1, &scaled);
    uint32_t even = calc(k, SpvOpFOrdEqual, o->bool_type, scaled, pairs);
    uint32_t less = calc(k, SpvOpFOrdLessThan, o->bool_type, rest, half);
    uint32_t tie = calc(k, SpvOpFOrdEqual, o->bool_type, rest, half);
    uint32_t down =
        calc(k, SpvOpLogicalOr, o->bool_type, less, calc(k, SpvOpLogicalAnd, o->bool_type, tie, even));
    return gpuc_spv_select(k, o->held, down, below, above);
}

static uint32_t function(gpuc_spv_kernel *k, gpuc_tir_op op, const operands *o)
{
    char name[24];
    if (op == GPUC_TIR_ROUND && o->held.bits == 64) return round_double(k, o);
    if (!functions[op].fn || (o->held.bits == 64 && !functions[op].on_double))
        gpuc_raise(k->ctx, GPUC_UNSUPPORTED, "kernel '%s': SPIR-V has no %s on %s; it must be lowered before",
                   k->func->name, gpuc_tir_ops[op].text, gpuc_dtype_name(o->t, name));
    uint32_t args[2] = {o->a, o->b};
    return gpuc_spv_glsl(&k->m, (enum GLSLstd450)functions[op].fn, o->type, gpuc_tir_ops[op].arity, args);
}

/* Float16 without its arithmetic is computed in float32 and rounded, bfloat16 always; so are remainders,
 * whose intermediate values are large, and functions that drivers may compute to a few bits only. */
static gpuc_expr promoted(gpuc_spv_kernel *k, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_dtype t = n->a[0]->dtype;
    if (!gpuc_is_float(t) || t.bits != 16) return e;
    bool coarse = n->op == GPUC_TIR_MOD || (functions[n->op].fn && !functions[n->op].on_double);
    if (gpuc_dtype_equal(gpuc_spv_held(k, t), t) && !coarse) return e;
    gpuc_expr a[3] = {NULL, NULL, NULL};
    for (int i = 0; i < gpuc_tir_ops[n->op].arity; i++) a[i] = gpuc_cast(k->ctx, GPUC_FLOAT32, n->a[i]);
    gpuc_expr r = gpuc_tir_make(k->ctx, n->op, a[0], a[1], a[2]);
    return gpuc_is_bool(e->dtype) ? r : gpuc_cast(k->ctx, gpuc_dtype_with_lanes(e->dtype, 1), r);
}

static bool needs_wrap(gpuc_tir_op op)
{
    return op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL || op == GPUC_TIR_SHL ||
           op == GPUC_TIR_BITNOT || op == GPUC_TIR_ABS || op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV;
}

static uint32_t apply(gpuc_spv_kernel *k, gpuc_expr e, operands *o)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    SpvOp op = gpuc_is_float(o->t)  ? plain[n->op].on_float
               : gpuc_is_bool(o->t) ? plain[n->op].on_bool
               : is_signed(o)       ? plain[n->op].on_signed
                                    : plain[n->op].on_unsigned;
    if (op) return calc(k, op, gpuc_is_bool(e->dtype) ? o->bool_type : o->type, o->a, o->b);
    switch (n->op) {
    case GPUC_TIR_DIV:
    case GPUC_TIR_MOD:
    case GPUC_TIR_FLOORDIV:
    case GPUC_TIR_FLOORMOD: {
        divisor_facts f = know_divisor(k, n->a[0], n->a[1]);
        return divide(k, o, n->op, &f);
    }
    case GPUC_TIR_MIN:
    case GPUC_TIR_MAX: return min_max(k, e, o);
    case GPUC_TIR_SHL:
    case GPUC_TIR_SHR: return shift(k, e, o);
    case GPUC_TIR_ABS: return absolute(k, o);
    case GPUC_TIR_NOT: return gpuc_spv_calc(&k->m, SpvOpLogicalNot, o->bool_type, o->a);
    case GPUC_TIR_BITNOT: return gpuc_spv_calc(&k->m, SpvOpNot, o->type, o->a);
    case GPUC_TIR_ISNAN:
    case GPUC_TIR_ISINF: return classify(k, o, n->op == GPUC_TIR_ISNAN);
    case GPUC_TIR_ADD:
    case GPUC_TIR_SUB:
    case GPUC_TIR_MUL:
    case GPUC_TIR_EQ:
    case GPUC_TIR_NE:
    case GPUC_TIR_LT:
    case GPUC_TIR_LE:
    case GPUC_TIR_AND:
    case GPUC_TIR_OR:
    case GPUC_TIR_SELECT:
    case GPUC_TIR_IF_THEN_ELSE:
    case GPUC_TIR_BITAND:
    case GPUC_TIR_BITOR:
    case GPUC_TIR_BITXOR:
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
    case GPUC_TIR_OP_COUNT: break;
    }
    return function(k, n->op, o);
}

uint32_t gpuc_spv_operator(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_expr wide = promoted(k, e);
    if (wide != e) return gpuc_spv_expr(k, wide);
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    operands o = {.t = n->a[0]->dtype, .held = gpuc_spv_held(k, n->a[0]->dtype)};
    o.a = gpuc_spv_expr(k, n->a[0]);
    o.b = n->a[1] ? gpuc_spv_expr(k, n->a[1]) : 0;
    o.type = gpuc_spv_type(k, o.held);
    o.bool_type = gpuc_spv_type(k, gpuc_dtype_with_lanes(GPUC_BOOL, o.t.lanes));
    uint32_t id = apply(k, e, &o);
    return gpuc_is_integer(e->dtype) && needs_wrap(n->op) ? gpuc_spv_wrap(k, e->dtype, id) : id;
}
