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
        f.positive = f.never_zero = gpuc_arith_analyzer_bounds(k->analyzer, divisor).min > 0;
    }
    f.dividend_natural = is_unsigned || gpuc_arith_analyzer_bounds(k->analyzer, a).min >= 0;
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

/* Whether the floor of the quotient differs from its truncation. */
static uint32_t rounds_down(gpuc_spv_kernel *k, const operands *o, uint32_t r, uint32_t b)
{
    uint32_t zero = int_const(k, o, 0);
    uint32_t inexact = calc(k, SpvOpINotEqual, o->bool_type, r, zero);
    uint32_t signs = calc(k, SpvOpBitwiseXor, o->type, r, b);
    uint32_t differ = calc(k, SpvOpSLessThan, o->bool_type, signs, zero);
    return calc(k, SpvOpLogicalAnd, o->bool_type, inexact, differ);
}

static uint32_t emit_divide(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    gpuc_tir_op op = gpuc_as_op(e)->op;
    const divisor_facts facts = know_divisor(k, gpuc_as_op(e)->a[0], gpuc_as_op(e)->a[1]), *f = &facts;
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

static uint32_t emit_isnan(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    (void)e;
    return classify(k, o, true);
}

static uint32_t emit_isinf(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    (void)e;
    return classify(k, o, false);
}

/* ---- Minimum, shifts, absolute value ------------------------------------------------------------------ */

static bool is_number(gpuc_expr e)
{
    e = scalar_of(e);
    return e->kind == GPUC_EXPR_FLOAT && gpuc_as_float(e)->value == gpuc_as_float(e)->value;
}

static uint32_t emit_min_max(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
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

static uint32_t emit_shift(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
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

static uint32_t emit_abs(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    (void)e;
    if (gpuc_is_float(o->t)) return gpuc_spv_glsl(&k->m, GLSLstd450FAbs, o->type, 1, &o->a);
    if (!is_signed(o)) return o->a;
    uint32_t zero = int_const(k, o, 0), negated = calc(k, SpvOpISub, o->type, zero, o->a);
    uint32_t below = calc(k, SpvOpSLessThan, o->bool_type, o->a, zero);
    return gpuc_spv_select(k, o->held, below, negated, o->a);
}

/* Rounds a float64 by floors, since some drivers truncate RoundEven of float64. */
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

static uint32_t emit_round(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    (void)e;
    if (o->held.bits == 64) return round_double(k, o);
    return gpuc_spv_glsl(&k->m, GLSLstd450RoundEven, o->type, 1, &o->a);
}

/* ---- All ------------------------------------------------------------------------------------------------ */

#define OPS(f, s, u, b)                                                                                      \
    {                                                                                                        \
        .on_float = SpvOp##f, .on_signed = SpvOp##s, .on_unsigned = SpvOp##u, .on_bool = SpvOp##b            \
    }
#define GLSL(name, with_double)                                                                              \
    {                                                                                                        \
        .glsl = GLSLstd450##name, .on_double = with_double                                                   \
    }
#define BY(function, f)                                                                                      \
    {                                                                                                        \
        .emit = emit_##function, .on_float = SpvOp##f                                                        \
    }
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, arith, clike, spirv)                  \
    [GPUC_TIR_##e] = spirv,
static const struct {
    SpvOp on_float, on_signed, on_unsigned, on_bool;
    enum GLSLstd450 glsl;
    bool on_double; /* has glsl float64? */
    uint32_t (*emit)(gpuc_spv_kernel *k, gpuc_expr e, const operands *o);
} rows[GPUC_TIR_OP_COUNT] = {
#include "tir/ops.def"
};
#undef GPUC_TIR_OP
#undef OPS
#undef GLSL
#undef BY

/* Float16 without its arithmetic is computed in float32 and rounded, bfloat16 always; so are remainders,
 * whose intermediate values are large, and functions that drivers may compute to a few bits only. */
static gpuc_expr promoted(gpuc_spv_kernel *k, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_dtype t = n->a[0]->dtype;
    if (!gpuc_is_float(t) || t.bits != 16) return e;
    bool coarse = n->op == GPUC_TIR_MOD || (rows[n->op].glsl && !rows[n->op].on_double);
    if (gpuc_dtype_equal(gpuc_spv_held(k, t), t) && !coarse) return e;
    gpuc_expr a[3] = {NULL, NULL, NULL};
    for (int i = 0; i < gpuc_tir_ops[n->op].arity; i++) a[i] = gpuc_cast(k->ctx, GPUC_FLOAT32, n->a[i]);
    gpuc_expr r = gpuc_tir_make(k->ctx, n->op, a[0], a[1], a[2]);
    return gpuc_is_bool(e->dtype) ? r : gpuc_cast(k->ctx, gpuc_dtype_with_lanes(e->dtype, 1), r);
}

static uint32_t apply(gpuc_spv_kernel *k, gpuc_expr e, const operands *o)
{
    gpuc_tir_op op = gpuc_as_op(e)->op;
    int arity = gpuc_tir_ops[op].arity;
    uint32_t type = gpuc_is_bool(e->dtype) ? o->bool_type : o->type, args[2] = {o->a, o->b};
    SpvOp instruction = gpuc_is_float(o->t)  ? rows[op].on_float
                        : gpuc_is_bool(o->t) ? rows[op].on_bool
                        : is_signed(o)       ? rows[op].on_signed
                                             : rows[op].on_unsigned;
    if (instruction != SpvOpNop) return gpuc_spv_value(&k->m, instruction, type, arity, args);
    if (rows[op].emit) return rows[op].emit(k, e, o);
    char name[24];
    if (rows[op].glsl == GLSLstd450Bad || (o->held.bits == 64 && !rows[op].on_double))
        gpuc_raise(k->ctx, GPUC_UNSUPPORTED, "kernel '%s': SPIR-V has no %s on %s; it must be lowered before",
                   k->func->name, gpuc_tir_ops[op].text, gpuc_dtype_name(o->t, name));
    return gpuc_spv_glsl(&k->m, rows[op].glsl, o->type, arity, args);
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
    return gpuc_is_integer(e->dtype) && gpuc_tir_ops[n->op].flags & GPUC_TIR_WRAPS
               ? gpuc_spv_wrap(k, e->dtype, id)
               : id;
}
