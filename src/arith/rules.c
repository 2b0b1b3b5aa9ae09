/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites that are exact for every value of the types named: wrapping integers, IEEE floats. A pattern
 * letter matches any operand (the same letter: the same operand); c and d match integer constants.
 * Operands of commutative operators are tried both ways. */
#include "arith/private.h"

enum { ANY_X = 1, ANY_Y, ANY_Z, CONST_C, CONST_D, LETTERS };

typedef struct pattern {
    int letter; /* or 0: an operator */
    gpuc_tir_op op;
    const struct pattern *arg[3];
    int64_t value; /* of letter == LETTERS: this constant */
} pattern;

typedef enum types { INTS = 1, FLOATS = 2, BOOLS = 4, NUMBERS = 3, ALL = 7 } types;

typedef struct rule {
    const char *name;
    const pattern *from, *to;
    types on; /* type of the result */
    bool (*when)(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound);
} rule;

#define L(n)                                                                                                 \
    &(const pattern)                                                                                         \
    {                                                                                                        \
        .letter = (n)                                                                                        \
    }
#define K(v)                                                                                                 \
    &(const pattern)                                                                                         \
    {                                                                                                        \
        .letter = LETTERS, .value = (v)                                                                      \
    }
#define P1(o, x)                                                                                             \
    &(const pattern)                                                                                         \
    {                                                                                                        \
        .op = GPUC_TIR_##o, .arg = { x }                                                                     \
    }
#define P2(o, x, y)                                                                                          \
    &(const pattern)                                                                                         \
    {                                                                                                        \
        .op = GPUC_TIR_##o, .arg = { x, y }                                                                  \
    }
#define P3(o, x, y, z)                                                                                       \
    &(const pattern)                                                                                         \
    {                                                                                                        \
        .op = GPUC_TIR_##o, .arg = { x, y, z }                                                               \
    }
#define x L(ANY_X)
#define y L(ANY_Y)
#define z L(ANY_Z)
#define c L(CONST_C)
#define d L(CONST_D)

static int64_t value_of(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = ((const gpuc_tir_broadcast_node *)e)->a;
    return ((const gpuc_tir_int_node *)e)->value;
}

static bool c_le_d(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound)
{
    (void)a;
    int64_t p = value_of(bound[CONST_C]), q = value_of(bound[CONST_D]);
    return t.code == GPUC_DTYPE_UINT ? (uint64_t)p <= (uint64_t)q : p <= q;
}

static bool counts_fit(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound)
{
    (void)a;
    int64_t p = value_of(bound[CONST_C]), q = value_of(bound[CONST_D]);
    return p >= 0 && q >= 0 && p < t.bits && q < t.bits && p + q < t.bits;
}

/* x is in [0, c] and c is one less than a power of two. */
static bool mask_covers(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound)
{
    (void)t;
    int64_t mask = value_of(bound[CONST_C]);
    gpuc_bounds b = gpuc_arith_bounds(a, bound[ANY_X]);
    bool ones = mask >= 0 && ((uint64_t)mask & ((uint64_t)mask + 1)) == 0;
    return arith_finite(b) && ones && b.min >= 0 && b.max <= mask;
}

static bool x_nonnegative(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound)
{
    (void)t;
    return gpuc_arith_bounds(a, bound[ANY_X]).min >= 0;
}

static bool safe_y(gpuc_analyzer *a, gpuc_dtype t, const gpuc_expr *bound)
{
    (void)a;
    (void)t;
    return !(bound[ANY_Y]->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_TE));
}

/* By the operator at the root of the pattern; the last of each has no name. Equal operands, and constants on
 * both levels, are the builder's (tir/fold.c). */
static const rule rules[GPUC_TIR_OP_COUNT][5] = {
    [GPUC_TIR_MIN] = {{"min_of_min", P2(MIN, x, P2(MIN, x, y)), P2(MIN, x, y), INTS | FLOATS, NULL},
                      {"min_of_max", P2(MIN, x, P2(MAX, x, y)), x, INTS, NULL},
                      {"clamp_low", P2(MIN, P2(MAX, x, d), c), c, INTS, c_le_d},
                      {"min_of_maxes", P2(MIN, P2(MAX, x, y), P2(MAX, x, z)), P2(MAX, P2(MIN, y, z), x), INTS,
                       NULL}},
    [GPUC_TIR_MAX] = {{"max_of_max", P2(MAX, x, P2(MAX, x, y)), P2(MAX, x, y), INTS | FLOATS, NULL},
                      {"max_of_min", P2(MAX, x, P2(MIN, x, y)), x, INTS, NULL},
                      {"clamp_high", P2(MAX, P2(MIN, x, c), d), d, INTS, c_le_d},
                      {"max_of_mins", P2(MAX, P2(MIN, x, y), P2(MIN, x, z)), P2(MIN, P2(MAX, y, z), x), INTS,
                       NULL}},
    [GPUC_TIR_BITAND] = {{"bitand_covers", P2(BITAND, x, c), x, INTS, mask_covers},
                         {"bitand_of_bitor", P2(BITAND, x, P2(BITOR, x, y)), x, INTS, NULL}},
    [GPUC_TIR_BITOR] = {{"bitor_of_bitand", P2(BITOR, x, P2(BITAND, x, y)), x, INTS, NULL}},
    [GPUC_TIR_BITNOT] = {{"bitnot_twice", P1(BITNOT, P1(BITNOT, x)), x, INTS, NULL}},
    [GPUC_TIR_SHL] = {{"shl_of_shl", P2(SHL, P2(SHL, x, c), d), P2(SHL, x, P2(ADD, c, d)), INTS, counts_fit}},
    [GPUC_TIR_SHR] = {{"shr_of_shr", P2(SHR, P2(SHR, x, c), d), P2(SHR, x, P2(ADD, c, d)), INTS, counts_fit}},
    [GPUC_TIR_ABS] = {{"abs_of_nonnegative", P1(ABS, x), x, INTS, x_nonnegative},
                      {"abs_of_abs", P1(ABS, P1(ABS, x)), P1(ABS, x), NUMBERS, NULL}},
    [GPUC_TIR_FLOOR] = {{"floor_of_floor", P1(FLOOR, P1(FLOOR, x)), P1(FLOOR, x), FLOATS, NULL}},
    [GPUC_TIR_CEIL] = {{"ceil_of_ceil", P1(CEIL, P1(CEIL, x)), P1(CEIL, x), FLOATS, NULL}},
    [GPUC_TIR_TRUNC] = {{"trunc_of_trunc", P1(TRUNC, P1(TRUNC, x)), P1(TRUNC, x), FLOATS, NULL}},
    [GPUC_TIR_ROUND] = {{"round_of_round", P1(ROUND, P1(ROUND, x)), P1(ROUND, x), FLOATS, NULL}},
    [GPUC_TIR_AND] = {{"and_of_not", P2(AND, x, P1(NOT, x)), K(0), BOOLS, NULL},
                      {"and_of_or", P2(AND, x, P2(OR, x, y)), x, BOOLS, NULL},
                      {"and_of_and", P2(AND, x, P2(AND, x, y)), P2(AND, x, y), BOOLS, NULL}},
    [GPUC_TIR_OR] = {{"or_of_not", P2(OR, x, P1(NOT, x)), K(1), BOOLS, NULL},
                     {"or_of_and", P2(OR, x, P2(AND, x, y)), x, BOOLS, NULL},
                     {"or_of_or", P2(OR, x, P2(OR, x, y)), P2(OR, x, y), BOOLS, NULL},
                     {"or_of_ands", P2(OR, P2(AND, x, y), P2(AND, x, z)), P2(AND, x, P2(OR, y, z)), BOOLS,
                      NULL}},
    [GPUC_TIR_SELECT] = {{"select_is_and", P3(SELECT, x, y, K(0)), P2(AND, x, y), BOOLS, NULL},
                         {"select_is_or", P3(SELECT, x, K(1), y), P2(OR, x, y), BOOLS, NULL},
                         {"select_in_then", P3(SELECT, x, P3(SELECT, x, y, z), z), P3(SELECT, x, y, z), ALL,
                          NULL},
                         {"select_in_else", P3(SELECT, x, y, P3(SELECT, x, y, z)), P3(SELECT, x, y, z), ALL,
                          NULL}},
    [GPUC_TIR_IF_THEN_ELSE] = {{"choice_is_and", P3(IF_THEN_ELSE, x, y, K(0)), P2(AND, x, y), BOOLS, safe_y},
                               {"choice_is_or", P3(IF_THEN_ELSE, x, K(1), y), P2(OR, x, y), BOOLS, safe_y},
                               {"choice_of_choice", P3(IF_THEN_ELSE, x, P3(IF_THEN_ELSE, y, z, c), c),
                                P3(IF_THEN_ELSE, P2(AND, x, y), z, c), INTS, safe_y}},
};

#undef x
#undef y
#undef z
#undef c
#undef d

const gpuc_rule_table gpuc_arith_patterns = {rules, sizeof rules / sizeof rules[0][0], sizeof rules[0][0]};

typedef struct match {
    gpuc_expr bound[LETTERS + 1];
    gpuc_dtype type;
} match;

static bool is_int_const(gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = ((const gpuc_tir_broadcast_node *)e)->a;
    return e->kind == GPUC_EXPR_INT;
}

static bool fits(const pattern *p, gpuc_expr e, match *m)
{
    if (p->letter == LETTERS) return is_int_const(e) && value_of(e) == p->value;
    if (p->letter) {
        if ((p->letter == CONST_C || p->letter == CONST_D) && !is_int_const(e)) return false;
        if (m->bound[p->letter]) return m->bound[p->letter] == e;
        m->bound[p->letter] = e;
        return true;
    }
    if (arith_op_of(e) != p->op) return false;
    int arity = gpuc_tir_ops[p->op].arity;
    match saved = *m;
    bool ok = true;
    for (int i = 0; i < arity && ok; i++) ok = fits(p->arg[i], arith_arg(e, i), m);
    if (ok || !(gpuc_tir_ops[p->op].flags & GPUC_TIR_COMM)) return ok;
    *m = saved;
    return fits(p->arg[0], arith_arg(e, 1), m) && fits(p->arg[1], arith_arg(e, 0), m);
}

static gpuc_expr build(gpuc_analyzer *a, const pattern *p, const match *m)
{
    if (p->letter == LETTERS) return gpuc_imm_int(a->ctx, m->type, p->value);
    if (p->letter) return m->bound[p->letter];
    gpuc_expr arg[3] = {NULL};
    for (int i = 0; i < gpuc_tir_ops[p->op].arity; i++) arg[i] = build(a, p->arg[i], m);
    return gpuc_tir_make(a->ctx, p->op, arg[0], arg[1], arg[2]);
}

gpuc_expr gpuc_arith_apply_rules(gpuc_analyzer *a, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP || (e->flags & GPUC_TIR_HAS_EFFECT)) return e;
    gpuc_tir_op op = arith_op_of(e);
    types type = e->dtype.code == GPUC_DTYPE_BOOL ? BOOLS : arith_is_int_type(e->dtype) ? INTS : FLOATS;
    for (const rule *r = rules[op]; r->name; r++) {
        if (!(r->on & type)) continue;
        match m = {.type = e->dtype};
        if (!fits(r->from, e, &m) || (r->when && !r->when(a, e->dtype, m.bound))) continue;
        gpuc_rule_fired(a->ctx, r->name);
        return build(a, r->to, &m);
    }
    return e;
}

const gpuc_rule_table *const *gpuc_arith_rules(void)
{
    static const gpuc_rule_table *const tables[] = {
        &gpuc_arith_patterns,           &gpuc_arith_recombinations,  &gpuc_arith_quotients,
        &gpuc_arith_rest_quotients,     &gpuc_arith_remainders,      &gpuc_arith_rest_remainders,
        &gpuc_arith_symbolic_divisions, &gpuc_arith_order_decisions, &gpuc_arith_order_forms,
        &gpuc_arith_equal_decisions,    &gpuc_arith_logic_steps,     &gpuc_arith_simplify_steps,
        &gpuc_arith_canon_steps,        &gpuc_arith_vector_rules,    NULL};
    return tables;
}
