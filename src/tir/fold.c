/* SPDX-License-Identifier: Apache-2.0 */
/* Folds constants and trivial identities while expressions are built. */
#include "tir/fold.h"

#include <math.h>

#include "tir/rules.h"
#include "tir/tir.h"

bool gpuc_tir_const_get(gpuc_expr e, gpuc_tir_value *out)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = gpuc_as_broadcast(e)->a;
    if (e->kind == GPUC_EXPR_INT) {
        out->i = gpuc_as_int(e)->value;
        return true;
    }
    if (e->kind == GPUC_EXPR_FLOAT) {
        out->f = gpuc_as_float(e)->value;
        return true;
    }
    return false;
}

static bool is_const(gpuc_expr e)
{
    gpuc_tir_value v;
    return gpuc_tir_const_get(e, &v);
}

static inline bool const_int(gpuc_expr e, int64_t *out)
{
    gpuc_tir_value v;
    if (gpuc_is_float(e->dtype) || !gpuc_tir_const_get(e, &v)) return false;
    *out = v.i;
    return true;
}

static gpuc_expr int_of(gpuc_ctx *ctx, gpuc_dtype t, int64_t value)
{
    return gpuc_imm_int(ctx, t, value);
}

static gpuc_expr make(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, op, a, b, NULL);
}

static bool droppable(gpuc_expr e)
{
    return !(e->flags & GPUC_TIR_HAS_EFFECT);
}

static const gpuc_tir_opexpr_node *as_binary(gpuc_expr e, gpuc_tir_op op)
{
    return e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == op ? gpuc_as_op(e) : NULL;
}

static int64_t wrapped_sum(gpuc_dtype t, int64_t a, int64_t b)
{
    return gpuc_tir_wrap(t, (int64_t)((uint64_t)a + (uint64_t)b));
}

static int64_t wrapped_difference(gpuc_dtype t, int64_t a, int64_t b)
{
    return gpuc_tir_wrap(t, (int64_t)((uint64_t)a - (uint64_t)b));
}

static int64_t smallest(gpuc_dtype t)
{
    if (t.code != GPUC_DTYPE_INT) return 0;
    return (int64_t)(UINT64_MAX << (t.bits - 1));
}

static int64_t largest(gpuc_dtype t)
{
    if (gpuc_is_bool(t)) return 1;
    return t.code == GPUC_DTYPE_INT ? ~smallest(t) : gpuc_tir_wrap(t, -1);
}

/* ---- Names of what is no table below -------------------------------------------------------------- */

enum {
    ADD_ZERO,
    ADD_CONSTANTS,
    ADD_TO_DIFFERENCE,
    ADD_NEGATED,
    SUB_CONSTANT,
    SUB_SAME,
    SUB_SUM,
    SUB_DIFFERENCE,
    SUB_NEGATED,
    CHAIN,
    FLOAT_SAME,
    FLOAT_NEUTRAL,
    COMPARE_SAME,
    COMPARE_BOOL,
    COMPARE_SUM,
    COMPARE_END,
    LOGIC_NEUTRAL,
    LOGIC_DECIDED,
    NOT_NOT,
    NOT_COMPARE,
    SELECT_CONSTANT,
    SELECT_SAME,
    SELECT_NOT,
    SELECT_BOOL,
    OF_CONSTANTS,
    OF_BROADCASTS,
    OF_RAMPS,
    RAMP_SCALED,
    CAST_BROADCAST,
    CAST_CONSTANT,
    CAST_CAST,
    CAST_RAMP
};
static const struct {
    const char *name;
} steps[] = {
    [ADD_ZERO] = {"add_zero"},
    [ADD_CONSTANTS] = {"add_constants"},         /* (x + c) + d */
    [ADD_TO_DIFFERENCE] = {"add_to_difference"}, /* (c - x) + d */
    [ADD_NEGATED] = {"add_negated"},             /* x + (0 - y) */
    [SUB_CONSTANT] = {"sub_constant"},           /* x - c is x + -c */
    [SUB_SAME] = {"sub_same"},
    [SUB_SUM] = {"sub_sum"},               /* c - (x + d) */
    [SUB_DIFFERENCE] = {"sub_difference"}, /* c - (d - x) */
    [SUB_NEGATED] = {"sub_negated"},
    [CHAIN] = {"chain_of_constants"}, /* op(op(x, c), d) */
    [FLOAT_SAME] = {"float_same"},
    [FLOAT_NEUTRAL] = {"float_neutral"}, /* + -0, - 0, * 1, / 1, min with inf, max with -inf */
    [COMPARE_SAME] = {"compare_same"},
    [COMPARE_BOOL] = {"compare_bool"},   /* x == true */
    [COMPARE_SUM] = {"compare_sum"},     /* x + c == d */
    [COMPARE_END] = {"compare_end"},     /* with an end of the type's range */
    [LOGIC_NEUTRAL] = {"logic_neutral"}, /* x && true, x || false */
    [LOGIC_DECIDED] = {"logic_decided"}, /* x && false, x || true */
    [NOT_NOT] = {"not_not"},
    [NOT_COMPARE] = {"not_compare"},
    [SELECT_CONSTANT] = {"select_constant"},
    [SELECT_SAME] = {"select_same"},
    [SELECT_NOT] = {"select_not"},
    [SELECT_BOOL] = {"select_bool"}, /* select(c, true, false) */
    [OF_CONSTANTS] = {"of_constants"},
    [OF_BROADCASTS] = {"of_broadcasts"},
    [OF_RAMPS] = {"of_ramps"},
    [RAMP_SCALED] = {"ramp_scaled"},
    [CAST_BROADCAST] = {"cast_of_broadcast"},
    [CAST_CONSTANT] = {"cast_of_constant"},
    [CAST_CAST] = {"cast_of_cast"},
    [CAST_RAMP] = {"cast_of_ramp"},
};

static gpuc_expr did(gpuc_ctx *ctx, int step, gpuc_expr result)
{
    gpuc_rule_fired(ctx, steps[step].name);
    return result;
}

/* ---- Sums ------------------------------------------------------------------------------------- */

static gpuc_expr fold_add_const(gpuc_ctx *ctx, gpuc_expr x, int64_t c)
{
    gpuc_dtype t = x->dtype;
    const gpuc_tir_opexpr_node *n;
    int64_t c1;
    if (c == 0) return did(ctx, ADD_ZERO, x);
    if ((n = as_binary(x, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
        return did(ctx, ADD_CONSTANTS,
                   make(ctx, GPUC_TIR_ADD, n->a[0], int_of(ctx, t, wrapped_sum(t, c1, c))));
    if ((n = as_binary(x, GPUC_TIR_SUB)) && const_int(n->a[0], &c1))
        return did(ctx, ADD_TO_DIFFERENCE,
                   make(ctx, GPUC_TIR_SUB, int_of(ctx, t, wrapped_sum(t, c1, c)), n->a[1]));
    return NULL;
}

/* 0 - y, as y. */
static gpuc_expr negated(gpuc_expr e)
{
    int64_t zero;
    const gpuc_tir_opexpr_node *n = as_binary(e, GPUC_TIR_SUB);
    return n && const_int(n->a[0], &zero) && zero == 0 ? n->a[1] : NULL;
}

static gpuc_expr fold_int_add(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    if (const_int(y, &c)) return fold_add_const(ctx, x, c);
    if (negated(y)) return did(ctx, ADD_NEGATED, make(ctx, GPUC_TIR_SUB, x, negated(y)));
    return NULL;
}

static gpuc_expr fold_int_sub(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr y)
{
    gpuc_dtype t = x->dtype;
    const gpuc_tir_opexpr_node *n;
    int64_t c, c1;
    if (const_int(y, &c))
        return did(ctx, SUB_CONSTANT,
                   make(ctx, GPUC_TIR_ADD, x, int_of(ctx, t, wrapped_difference(t, 0, c))));
    if (x == y && droppable(x)) return did(ctx, SUB_SAME, int_of(ctx, t, 0));
    if (const_int(x, &c)) {
        if ((n = as_binary(y, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
            return did(ctx, SUB_SUM,
                       make(ctx, GPUC_TIR_SUB, int_of(ctx, t, wrapped_difference(t, c, c1)), n->a[0]));
        if ((n = as_binary(y, GPUC_TIR_SUB)) && const_int(n->a[0], &c1))
            return did(ctx, SUB_DIFFERENCE,
                       make(ctx, GPUC_TIR_ADD, n->a[1], int_of(ctx, t, wrapped_difference(t, c, c1))));
    }
    if (negated(y)) return did(ctx, SUB_NEGATED, make(ctx, GPUC_TIR_ADD, x, negated(y)));
    return NULL;
}

/* ---- Other integer operators -------------------------------------------------------------------- */

/* op(op(x, c1), c2) is op(x, op(c1, c2)) where op associates. */
static gpuc_expr fold_chain(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr c)
{
    const gpuc_tir_opexpr_node *n = as_binary(x, op);
    if (!n || !is_const(n->a[1])) return NULL;
    return did(ctx, CHAIN, make(ctx, op, n->a[0], make(ctx, op, n->a[1], c)));
}

typedef enum constant { ZERO, ONE, MINUS_ONE, ALL_ONES, SMALLEST, LARGEST, BEYOND_BITS } constant;
typedef enum outcome { KEEP_X, KEEP_CONSTANT, BECOME_ZERO } outcome; /* all but the first drop x */

/* op(x, constant), an operator's rules in their order. */
typedef struct constant_rule {
    const char *name;
    constant is;
    outcome then;
} constant_rule;
static const constant_rule right_rules[GPUC_TIR_OP_COUNT][4] = {
    /* the last of each has no name */
    [GPUC_TIR_MUL] = {{"mul_one", ONE, KEEP_X}, {"mul_zero", ZERO, KEEP_CONSTANT}},
    [GPUC_TIR_DIV] = {{"div_one", ONE, KEEP_X}, {"div_zero", ZERO, KEEP_CONSTANT}},
    [GPUC_TIR_FLOORDIV] = {{"floordiv_one", ONE, KEEP_X}, {"floordiv_zero", ZERO, KEEP_CONSTANT}},
    [GPUC_TIR_MOD] = {{"mod_zero", ZERO, BECOME_ZERO},
                      {"mod_one", ONE, BECOME_ZERO},
                      {"mod_minus_one", MINUS_ONE, BECOME_ZERO}},
    [GPUC_TIR_FLOORMOD] = {{"floormod_zero", ZERO, BECOME_ZERO},
                           {"floormod_one", ONE, BECOME_ZERO},
                           {"floormod_minus_one", MINUS_ONE, BECOME_ZERO}},
    [GPUC_TIR_MIN] = {{"min_largest", LARGEST, KEEP_X}, {"min_smallest", SMALLEST, KEEP_CONSTANT}},
    [GPUC_TIR_MAX] = {{"max_smallest", SMALLEST, KEEP_X}, {"max_largest", LARGEST, KEEP_CONSTANT}},
    [GPUC_TIR_BITAND] = {{"bitand_ones", ALL_ONES, KEEP_X}, {"bitand_zero", ZERO, KEEP_CONSTANT}},
    [GPUC_TIR_BITOR] = {{"bitor_zero", ZERO, KEEP_X}, {"bitor_ones", ALL_ONES, KEEP_CONSTANT}},
    [GPUC_TIR_BITXOR] = {{"bitxor_zero", ZERO, KEEP_X}},
    [GPUC_TIR_SHL] = {{"shl_zero", ZERO, KEEP_X}, {"shl_beyond", BEYOND_BITS, BECOME_ZERO}},
    [GPUC_TIR_SHR] = {{"shr_zero", ZERO, KEEP_X}},
};
/* op(0, y) is 0. */
static const struct {
    const char *name;
} left_rules[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_DIV] = {"zero_div"}, [GPUC_TIR_FLOORDIV] = {"zero_floordiv"},
    [GPUC_TIR_MOD] = {"zero_mod"}, [GPUC_TIR_FLOORMOD] = {"zero_floormod"},
    [GPUC_TIR_SHL] = {"zero_shl"}, [GPUC_TIR_SHR] = {"zero_shr"},
};
/* op(x, x) */
static const struct {
    const char *name;
    outcome then;
} same_rules[GPUC_TIR_OP_COUNT] = {
    [GPUC_TIR_MIN] = {"min_same", KEEP_X},
    [GPUC_TIR_MAX] = {"max_same", KEEP_X},
    [GPUC_TIR_BITAND] = {"bitand_same", KEEP_X},
    [GPUC_TIR_BITOR] = {"bitor_same", KEEP_X},
    [GPUC_TIR_AND] = {"and_same", KEEP_X},
    [GPUC_TIR_OR] = {"or_same", KEEP_X},
    [GPUC_TIR_BITXOR] = {"bitxor_same", BECOME_ZERO},
    [GPUC_TIR_MOD] = {"mod_same", BECOME_ZERO},
    [GPUC_TIR_FLOORMOD] = {"floormod_same", BECOME_ZERO},
};

const gpuc_rule_table *const *gpuc_tir_fold_rules(void)
{
    static const gpuc_rule_table step_table = GPUC_RULE_TABLE(steps), left = GPUC_RULE_TABLE(left_rules),
                                 same = GPUC_RULE_TABLE(same_rules),
                                 right = {right_rules, sizeof right_rules / sizeof right_rules[0][0],
                                          sizeof right_rules[0][0]};
    static const gpuc_rule_table *const tables[] = {&step_table, &right, &left, &same, NULL};
    return tables;
}

static bool is_that(constant is, gpuc_dtype t, int64_t c)
{
    switch (is) {
    case ZERO: return c == 0;
    case ONE: return c == 1;
    case MINUS_ONE: return c == gpuc_tir_wrap(t, -1) && t.code == GPUC_DTYPE_INT;
    case ALL_ONES: return c == gpuc_tir_wrap(t, -1);
    case SMALLEST: return c == smallest(t);
    case LARGEST: return c == largest(t);
    case BEYOND_BITS: return c < 0 || c >= t.bits;
    }
    return false;
}

static gpuc_expr fold_int_const_right(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, int64_t c, gpuc_expr y)
{
    gpuc_dtype t = x->dtype;
    bool drop = droppable(x);
    for (const constant_rule *r = right_rules[op]; r->name; r++) {
        if (!is_that(r->is, t, c) || (r->then != KEEP_X && !drop)) continue;
        gpuc_rule_fired(ctx, r->name);
        return r->then == KEEP_X ? x : r->then == KEEP_CONSTANT ? y : int_of(ctx, t, 0);
    }
    return NULL;
}

static gpuc_expr fold_int_const_left(gpuc_ctx *ctx, gpuc_tir_op op, int64_t c, gpuc_expr x, gpuc_expr y)
{
    if (c != 0 || !left_rules[op].name || !droppable(y)) return NULL;
    gpuc_rule_fired(ctx, left_rules[op].name);
    return x;
}

static gpuc_expr fold_int_same(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x)
{
    if (!droppable(x) || !same_rules[op].name) return NULL;
    gpuc_rule_fired(ctx, same_rules[op].name);
    return same_rules[op].then == KEEP_X ? x : int_of(ctx, x->dtype, 0);
}

static gpuc_expr fold_int(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    gpuc_expr r = NULL;
    if (op == GPUC_TIR_ADD) return fold_int_add(ctx, x, y);
    if (op == GPUC_TIR_SUB) return fold_int_sub(ctx, x, y);
    if (const_int(y, &c)) {
        r = fold_int_const_right(ctx, op, x, c, y);
        if (!r && gpuc_tir_ops[op].flags & GPUC_TIR_ASSOC) r = fold_chain(ctx, op, x, y);
    } else if (const_int(x, &c)) {
        r = fold_int_const_left(ctx, op, c, x, y);
    }
    return !r && x == y ? fold_int_same(ctx, op, x) : r;
}

/* ---- Floats -------------------------------------------------------------------------------------- */

/* op(x, c) is x. */
static bool is_neutral(gpuc_tir_op op, double c)
{
    if (op == GPUC_TIR_ADD) return c == 0 && signbit(c);
    if (op == GPUC_TIR_SUB) return c == 0 && !signbit(c);
    if (op == GPUC_TIR_MUL || op == GPUC_TIR_DIV) return c == 1;
    if (op == GPUC_TIR_MIN) return isinf(c) && c > 0;
    return op == GPUC_TIR_MAX && isinf(c) && c < 0;
}

static gpuc_expr fold_float(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_tir_value c;
    if (x == y && droppable(x) && (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX)) return did(ctx, FLOAT_SAME, x);
    return gpuc_tir_const_get(y, &c) && is_neutral(op, c.f) ? did(ctx, FLOAT_NEUTRAL, x) : NULL;
}

/* ---- Logic --------------------------------------------------------------------------------------- */

static gpuc_expr fold_compare(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_dtype t = x->dtype, result = gpuc_dtype_with_lanes(GPUC_BOOL, t.lanes);
    const gpuc_tir_opexpr_node *n;
    int64_t c, c1;
    if (gpuc_is_float(t)) return NULL;
    bool equality = op == GPUC_TIR_EQ || op == GPUC_TIR_NE;
    if (x == y && droppable(x))
        return did(ctx, COMPARE_SAME, int_of(ctx, result, op == GPUC_TIR_EQ || op == GPUC_TIR_LE));
    if (equality && const_int(y, &c)) {
        if (gpuc_is_bool(t))
            return did(ctx, COMPARE_BOOL, (op == GPUC_TIR_EQ) == (c != 0) ? x : gpuc_not(ctx, x));
        if ((n = as_binary(x, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
            return did(ctx, COMPARE_SUM,
                       make(ctx, op, n->a[0], int_of(ctx, t, wrapped_difference(t, c, c1))));
        return NULL;
    }
    if (equality) return NULL;
    if (const_int(y, &c) && droppable(x)) {
        if (op == GPUC_TIR_LT && c == smallest(t)) return did(ctx, COMPARE_END, int_of(ctx, result, 0));
        if (op == GPUC_TIR_LE && c == largest(t)) return did(ctx, COMPARE_END, int_of(ctx, result, 1));
    }
    if (const_int(x, &c) && droppable(y)) {
        if (op == GPUC_TIR_LT && c == largest(t)) return did(ctx, COMPARE_END, int_of(ctx, result, 0));
        if (op == GPUC_TIR_LE && c == smallest(t)) return did(ctx, COMPARE_END, int_of(ctx, result, 1));
    }
    return NULL;
}

static gpuc_expr fold_logic(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    if (const_int(y, &c)) {
        if ((c != 0) == (op == GPUC_TIR_AND)) return did(ctx, LOGIC_NEUTRAL, x);
        if (droppable(x)) return did(ctx, LOGIC_DECIDED, y);
    }
    return x == y ? fold_int_same(ctx, op, x) : NULL;
}

static gpuc_expr fold_not(gpuc_ctx *ctx, gpuc_expr x)
{
    if (x->kind != GPUC_EXPR_OP) return NULL;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(x);
    bool ints = n->a[0] && !gpuc_is_float(n->a[0]->dtype);
    if (n->op == GPUC_TIR_NOT) return did(ctx, NOT_NOT, n->a[0]);
    if (n->op == GPUC_TIR_EQ) return did(ctx, NOT_COMPARE, make(ctx, GPUC_TIR_NE, n->a[0], n->a[1]));
    if (n->op == GPUC_TIR_NE) return did(ctx, NOT_COMPARE, make(ctx, GPUC_TIR_EQ, n->a[0], n->a[1]));
    if (n->op == GPUC_TIR_LT && ints) return did(ctx, NOT_COMPARE, make(ctx, GPUC_TIR_LE, n->a[1], n->a[0]));
    if (n->op == GPUC_TIR_LE && ints) return did(ctx, NOT_COMPARE, make(ctx, GPUC_TIR_LT, n->a[1], n->a[0]));
    return NULL;
}

static gpuc_expr fold_select(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    int64_t c, x, y;
    bool lazy = gpuc_tir_ops[op].flags & GPUC_TIR_LAZY;
    if (const_int(a[0], &c) && (lazy || droppable(a[c ? 2 : 1])))
        return did(ctx, SELECT_CONSTANT, c ? a[1] : a[2]);
    if (a[1] == a[2] && droppable(a[0])) return did(ctx, SELECT_SAME, a[1]);
    const gpuc_tir_opexpr_node *n = as_binary(a[0], GPUC_TIR_NOT);
    if (n) return did(ctx, SELECT_NOT, gpuc_tir_make(ctx, op, n->a[0], a[2], a[1]));
    if (gpuc_is_bool(a[1]->dtype) && const_int(a[1], &x) && const_int(a[2], &y))
        return did(ctx, SELECT_BOOL, x ? a[0] : gpuc_not(ctx, a[0]));
    return NULL;
}

/* ---- Vectors ------------------------------------------------------------------------------------- */

static gpuc_expr lift_broadcast(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    gpuc_expr inner[3] = {NULL};
    for (int i = 0; i < gpuc_tir_ops[op].arity; i++) {
        if (a[i]->kind != GPUC_EXPR_BROADCAST) return NULL;
        inner[i] = gpuc_as_broadcast(a[i])->a;
    }
    return did(
        ctx, OF_BROADCASTS,
        gpuc_tir_broadcast(ctx, gpuc_tir_make(ctx, op, inner[0], inner[1], inner[2]), a[0]->dtype.lanes));
}

static gpuc_expr fold_ramp_sum(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool x_ramp = x->kind == GPUC_EXPR_RAMP, y_ramp = y->kind == GPUC_EXPR_RAMP;
    if (!x_ramp && x->kind != GPUC_EXPR_BROADCAST) return NULL;
    if (!y_ramp && y->kind != GPUC_EXPR_BROADCAST) return NULL;
    gpuc_expr x0 = x_ramp ? gpuc_as_ramp(x)->start : gpuc_as_broadcast(x)->a;
    gpuc_expr y0 = y_ramp ? gpuc_as_ramp(y)->start : gpuc_as_broadcast(y)->a;
    gpuc_expr zero = int_of(ctx, x0->dtype, 0);
    gpuc_expr xs = x_ramp ? gpuc_as_ramp(x)->stride : zero, ys = y_ramp ? gpuc_as_ramp(y)->stride : zero;
    return did(ctx, OF_RAMPS,
               gpuc_tir_ramp(ctx, make(ctx, op, x0, y0), make(ctx, op, xs, ys), x->dtype.lanes));
}

static gpuc_expr fold_ramps(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    if (x->dtype.lanes == 1) return NULL;
    if (op == GPUC_TIR_ADD || op == GPUC_TIR_SUB) return fold_ramp_sum(ctx, op, x, y);
    if (op != GPUC_TIR_MUL || x->kind != GPUC_EXPR_RAMP || !is_const(y)) return NULL;
    gpuc_expr c = gpuc_as_broadcast(y)->a;
    gpuc_expr start = gpuc_mul(ctx, gpuc_as_ramp(x)->start, c);
    return did(ctx, RAMP_SCALED,
               gpuc_tir_ramp(ctx, start, gpuc_mul(ctx, gpuc_as_ramp(x)->stride, c), x->dtype.lanes));
}

/* ---- All ------------------------------------------------------------------------------------------ */

static gpuc_expr fold_constants(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_tir_value v[3];
    for (int i = 0; i < info->arity; i++)
        if (a[i]->dtype.lanes != 1 || !gpuc_tir_const_get(a[i], &v[i])) return NULL;
    gpuc_dtype t = a[info->arity - 1]->dtype;
    gpuc_dtype result = info->result == GPUC_TIR_BOOL ? GPUC_BOOL : t;
    return did(ctx, OF_CONSTANTS, gpuc_tir_const(ctx, result, gpuc_tir_apply(op, t, v)));
}

gpuc_expr gpuc_tir_fold_op(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_expr r = fold_constants(ctx, op, a);
    if (!r && a[0]->dtype.lanes > 1) r = lift_broadcast(ctx, op, a);
    if (r) return r;
    if (info->result == GPUC_TIR_ARM) return fold_select(ctx, op, a);
    if (op == GPUC_TIR_NOT) return fold_not(ctx, a[0]);
    if (info->arity != 2) return NULL;
    if (info->flags & GPUC_TIR_COMM && is_const(a[0]) && !is_const(a[1])) {
        gpuc_expr swap = a[0];
        a[0] = a[1];
        a[1] = swap;
    }
    if (info->result == GPUC_TIR_BOOL) return fold_compare(ctx, op, a[0], a[1]);
    if (op == GPUC_TIR_AND || op == GPUC_TIR_OR) {
        r = fold_logic(ctx, op, a[0], a[1]);
        return r || !is_const(a[1]) ? r : fold_chain(ctx, op, a[0], a[1]);
    }
    if (gpuc_is_float(a[0]->dtype)) return fold_float(ctx, op, a[0], a[1]);
    r = fold_int(ctx, op, a[0], a[1]);
    return r ? r : fold_ramps(ctx, op, a[0], a[1]);
}

/* The inner cast of cast(to, cast(middle, x)) can go when it changes no value, or when only low bits of
 * integers survive anyway. */
static bool inner_cast_goes(gpuc_dtype to, gpuc_dtype middle, gpuc_dtype from)
{
    if (gpuc_tir_holds_all(middle, from))
        return !(gpuc_is_float(middle) && !gpuc_is_float(from) && !gpuc_is_float(to)) || gpuc_is_bool(to) ||
               gpuc_tir_holds_all(to, from);
    return gpuc_is_integer(to) && gpuc_is_integer(middle) && gpuc_is_integer(from) && to.bits <= middle.bits;
}

gpuc_expr gpuc_tir_fold_cast(gpuc_ctx *ctx, gpuc_dtype to, gpuc_expr a)
{
    gpuc_tir_value v;
    if (gpuc_dtype_equal(to, a->dtype)) return a;
    if (a->kind == GPUC_EXPR_BROADCAST)
        return did(ctx, CAST_BROADCAST,
                   gpuc_tir_broadcast(
                       ctx, gpuc_cast(ctx, gpuc_dtype_with_lanes(to, 1), gpuc_as_broadcast(a)->a), to.lanes));
    if (gpuc_tir_const_get(a, &v))
        return did(ctx, CAST_CONSTANT, gpuc_tir_const(ctx, to, gpuc_tir_convert(to, a->dtype, v)));
    if (a->kind == GPUC_EXPR_CAST && inner_cast_goes(to, a->dtype, gpuc_as_cast(a)->a->dtype))
        return did(ctx, CAST_CAST, gpuc_cast(ctx, to, gpuc_as_cast(a)->a));
    if (a->kind == GPUC_EXPR_RAMP && gpuc_is_integer(to) && to.bits <= a->dtype.bits) {
        gpuc_dtype t = gpuc_dtype_with_lanes(to, 1);
        const gpuc_tir_ramp_node *n = gpuc_as_ramp(a);
        return did(ctx, CAST_RAMP,
                   gpuc_tir_ramp(ctx, gpuc_cast(ctx, t, n->start), gpuc_cast(ctx, t, n->stride), to.lanes));
    }
    return NULL;
}
