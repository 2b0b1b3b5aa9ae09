/* SPDX-License-Identifier: Apache-2.0 */
/* Random expressions, evaluated before and after simplification at random points. */
#include "test.h"

#include "../tir/rule_totals.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "tir/value.h"

enum { MAX_VARS = 6, POINTS = 12, LANES = 4 };

typedef struct fuzz {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    uint64_t state;
    int num_vars;
    gpuc_expr vars[MAX_VARS];
    int64_t value[MAX_VARS];
    gpuc_expr min[MAX_VARS], extent[MAX_VARS]; /* may be symbolic in earlier variables */
    const gpuc_tir_buffer *buffers[8];
    gpuc_dtype type;
    int lane; /* that is evaluated */
    int changed, proven, facts;
} fuzz;

static uint64_t next(fuzz *z)
{
    z->state ^= z->state << 13;
    z->state ^= z->state >> 7;
    z->state ^= z->state << 17;
    return z->state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

static int below(fuzz *z, int n)
{
    return (int)(next(z) % (uint64_t)n);
}

/* ---- Evaluation ---- */

static const gpuc_dtype data_types[] = {GPUC_INT8,  GPUC_INT16,  GPUC_INT32,  GPUC_INT64,
                                        GPUC_UINT8, GPUC_UINT16, GPUC_UINT32, GPUC_UINT64};

static const double floats[] = {0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 3.0, 7.25, -1e10};

/* A value that depends on where it is loaded from; often near the ends of the type. */
static int64_t memory(gpuc_dtype t, int64_t at, uint64_t salt)
{
    uint64_t h = ((uint64_t)at + salt) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    h ^= h >> 32;
    int64_t v = (int64_t)h;
    if (h % 5 == 0) v = (int64_t)(h % 7) - 3;
    if (h % 5 == 1) v = (int64_t)((UINT64_C(1) << (t.bits - 1)) + h % 3 - 1);
    return gpuc_tir_wrap(t, v);
}

static gpuc_tir_value eval(fuzz *z, gpuc_expr e, uint64_t salt);

static gpuc_tir_value eval_op(fuzz *z, gpuc_expr e, uint64_t salt)
{
    const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
    gpuc_tir_value v[3];
    int arity = gpuc_tir_ops[o->op].arity;
    for (int i = 0; i < arity; i++) v[i] = eval(z, o->a[i], salt);
    return gpuc_tir_apply(o->op, gpuc_dtype_with_lanes(o->a[arity - 1]->dtype, 1), v);
}

static gpuc_tir_value eval(fuzz *z, gpuc_expr e, uint64_t salt)
{
    gpuc_tir_value v = {0};
    switch (e->kind) {
    case GPUC_EXPR_INT: v.i = gpuc_as_int(e)->value; return v;
    case GPUC_EXPR_VAR:
        for (int i = 0; i < z->num_vars; i++)
            if (z->vars[i] == e) v.i = z->value[i];
        return v;
    case GPUC_EXPR_CAST:
        return gpuc_tir_convert(e->dtype, gpuc_as_cast(e)->a->dtype, eval(z, gpuc_as_cast(e)->a, salt));
    case GPUC_EXPR_OP: return eval_op(z, e, salt);
    case GPUC_EXPR_LOAD: {
        const gpuc_tir_load_node *l = gpuc_as_load(e);
        v.i = memory(e->dtype, eval(z, l->index[0], salt).i * 31 + l->buffer->id, salt);
        if (e->dtype.code == GPUC_DTYPE_BOOL) v.i &= 1;
        if (gpuc_is_float(e->dtype)) v.f = floats[(uint64_t)v.i % (sizeof floats / sizeof floats[0])];
        return v;
    }
    case GPUC_EXPR_RAMP:
        v.i = eval(z, gpuc_as_ramp(e)->start, salt).i + z->lane * eval(z, gpuc_as_ramp(e)->stride, salt).i;
        return v;
    case GPUC_EXPR_BROADCAST: return eval(z, gpuc_as_broadcast(e)->a, salt);
    case GPUC_EXPR_FLOAT: v.f = gpuc_as_float(e)->value; return v;
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    fail_msg("an expression of a kind that was not put in: %s", gpuc_expr_text(z->ctx, e));
    return v;
}

/* Draws the variables; false if a range is empty. */
static bool draw(fuzz *z)
{
    for (int i = 0; i < z->num_vars; i++) {
        int64_t min = eval(z, z->min[i], 0).i, extent = eval(z, z->extent[i], 0).i;
        if (extent <= 0) return false;
        int64_t at = below(z, 3) ? (int64_t)(next(z) % (uint64_t)extent) : below(z, 2) ? 0 : extent - 1;
        z->value[i] = min + at;
    }
    return true;
}

/* ---- Generation ---- */

static const int64_t factors[] = {1, 2, 3, 4, 4, 5, 8, 8, 16, 32, 64};
static int64_t factor(fuzz *z)
{
    return factors[below(z, (int)(sizeof factors / sizeof factors[0]))];
}

static gpuc_expr constant(fuzz *z, int64_t v)
{
    return gpuc_imm_int(z->ctx, z->type, v);
}

static gpuc_expr condition(fuzz *z, int depth);

/* Two digits of numbers that are apart by a multiple of the place of the upper one, or by something else. */
static gpuc_expr digits(fuzz *z, gpuc_expr x)
{
    gpuc_ctx *c = z->ctx;
    int64_t low = factor(z), high = factor(z), apart = (below(z, 9) - 4) * (below(z, 4) ? low : 1);
    gpuc_expr upper = gpuc_floordiv_(c, gpuc_add(c, x, constant(z, apart)), constant(z, low));
    upper = gpuc_add(c, upper, constant(z, below(z, 2) ? below(z, 9) - 4 : 0));
    if (below(z, 3)) upper = gpuc_floormod_(c, upper, constant(z, high));
    return gpuc_add(c, gpuc_mul(c, upper, constant(z, low)), gpuc_floormod_(c, x, constant(z, low)));
}

/* An index expression; products stay small enough not to overflow int32. */
static gpuc_expr index_expr(fuzz *z, int depth)
{
    gpuc_ctx *c = z->ctx;
    if (depth == 0 || below(z, 8) == 0)
        return below(z, 4) ? z->vars[below(z, z->num_vars)] : constant(z, below(z, 40) - 8);
    gpuc_expr x = index_expr(z, depth - 1);
    switch (below(z, 15)) {
    case 0:
    case 1:
    case 2: return gpuc_add(c, x, index_expr(z, depth - 1));
    case 3:
    case 4: return gpuc_sub(c, x, index_expr(z, depth - 1));
    case 5:
    case 6: return gpuc_mul(c, x, constant(z, factor(z) * (below(z, 5) ? 1 : -1)));
    case 7:
    case 8: return gpuc_floordiv_(c, x, constant(z, factor(z)));
    case 9:
    case 10: return gpuc_floormod_(c, x, constant(z, factor(z)));
    case 11:
        return below(z, 2) ? gpuc_min(c, x, index_expr(z, depth - 1))
                           : gpuc_max(c, x, index_expr(z, depth - 1));
    case 12:
        if (below(z, 2)) return gpuc_select(c, condition(z, depth - 1), x, index_expr(z, depth - 1));
        return gpuc_if_then_else(c, condition(z, depth - 1), x, index_expr(z, depth - 1));
    case 13: {
        gpuc_expr v = z->vars[below(z, z->num_vars)];
        int how = below(z, 6);
        if (how == 5) return gpuc_add(c, gpuc_mul(c, gpuc_floordiv_(c, x, v), v), gpuc_floormod_(c, x, v));
        if (how == 0) return gpuc_floordiv_(c, x, v);
        if (how == 1) return gpuc_floormod_(c, x, v);
        if (how == 2) return gpuc_div(c, x, constant(z, factor(z)));
        if (how == 3) return gpuc_mod(c, x, constant(z, factor(z)));
        return depth <= 2 ? gpuc_mul(c, x, v) : x;
    }
    case 14: return digits(z, x);
    }
    return x;
}

static gpuc_expr condition(fuzz *z, int depth)
{
    gpuc_ctx *c = z->ctx;
    int kind = below(z, depth > 1 ? 9 : 6);
    if (below(z, 12) == 0)
        return gpuc_eq(c, gpuc_floormod_(c, z->vars[below(z, z->num_vars)], constant(z, 4 << below(z, 3))),
                       constant(z, below(z, 4)));
    if (kind >= 8) return gpuc_not(c, condition(z, depth - 1));
    if (kind == 7) return gpuc_and(c, condition(z, depth - 1), condition(z, depth - 1));
    if (kind == 6) return gpuc_or(c, condition(z, depth - 1), condition(z, depth - 1));
    gpuc_expr x = index_expr(z, depth > 2 ? 2 : depth), y = index_expr(z, depth > 2 ? 2 : depth);
    if (kind == 0) return gpuc_eq(c, x, y);
    if (kind == 1) return gpuc_ne(c, x, y);
    return kind < 4 ? gpuc_lt(c, x, y) : gpuc_le(c, x, y);
}

static const char *const binary_ops[] = {"+",  "-",   "*",   "+",      "-",     "*",      "/",   "%",  "//",
                                         "%%", "min", "max", "bitand", "bitor", "bitxor", "shl", "shr"};

static gpuc_expr data_expr(fuzz *z, gpuc_dtype t, int depth)
{
    gpuc_ctx *c = z->ctx;
    if (depth == 0 || below(z, 9) == 0) {
        int kind = below(z, 4);
        if (kind == 0) return gpuc_imm_int(c, t, memory(t, below(z, 64), 99));
        if (kind == 1) return gpuc_imm_int(c, t, below(z, 17));
        for (int i = 0; i < 8; i++)
            if (gpuc_dtype_equal(data_types[i], t))
                return gpuc_tir_load1(c, z->buffers[i],
                                      below(z, 3) ? z->vars[below(z, 2)] : gpuc_int(c, below(z, 2)));
    }
    int kind = below(z, 20);
    if (kind == 0) {
        gpuc_expr p = data_expr(z, t, depth - 1), q = data_expr(z, t, depth - 1);
        gpuc_expr cond = below(z, 3) ? gpuc_lt(c, p, q) : gpuc_eq(c, p, q);
        return gpuc_select(c, cond, data_expr(z, t, depth - 1), data_expr(z, t, depth - 1));
    }
    if (kind <= 3) return gpuc_cast(c, t, data_expr(z, data_types[below(z, 8)], depth - 1));
    if (kind == 4) return gpuc_call1(c, below(z, 2) ? "bitnot" : "abs", data_expr(z, t, depth - 1));
    const char *op = binary_ops[below(z, (int)(sizeof binary_ops / sizeof binary_ops[0]))];
    return gpuc_call2(c, op, data_expr(z, t, depth - 1), data_expr(z, t, depth - 1));
}

/* An expression of lanes that move evenly, or all alike. */
static gpuc_expr lanes_of(fuzz *z, int depth)
{
    gpuc_ctx *c = z->ctx;
    if (depth == 0) {
        gpuc_expr start = index_expr(z, 1 + below(z, 2));
        if (below(z, 3) == 0) return gpuc_tir_broadcast(c, start, LANES);
        return gpuc_tir_ramp(c, start, below(z, 4) ? constant(z, factor(z)) : z->vars[below(z, 2)], LANES);
    }
    gpuc_expr x = lanes_of(z, depth - 1), by = gpuc_tir_broadcast(c, constant(z, factor(z)), LANES);
    switch (below(z, 9)) {
    case 0: return gpuc_add(c, x, lanes_of(z, depth - 1));
    case 1: return gpuc_mul(c, x, gpuc_tir_broadcast(c, z->vars[below(z, 2)], LANES));
    case 2: return gpuc_mul(c, gpuc_tir_broadcast(c, z->vars[below(z, 2)], LANES), x);
    case 3: return gpuc_min(c, x, lanes_of(z, depth - 1));
    case 4: return gpuc_max(c, x, lanes_of(z, depth - 1));
    case 5: return gpuc_floordiv_(c, x, by);
    case 6: return gpuc_floormod_(c, x, by);
    case 7: return gpuc_div(c, x, by);
    default: return gpuc_mod(c, x, by);
    }
}

static gpuc_expr compare_lanes(fuzz *z)
{
    gpuc_ctx *c = z->ctx;
    gpuc_expr x = lanes_of(z, below(z, 2)), y = lanes_of(z, below(z, 2));
    if (below(z, 3) == 0) /* both move together */
        y = gpuc_add(c, x, gpuc_tir_broadcast(c, index_expr(z, 1), LANES));
    int kind = below(z, 4);
    return kind == 0   ? gpuc_eq(c, x, y)
           : kind == 1 ? gpuc_ne(c, x, y)
           : kind == 2 ? gpuc_lt(c, x, y)
                       : gpuc_le(c, x, y);
}

/* Of few leaves, so that operands are alike. */
static gpuc_expr leaf(fuzz *z, gpuc_dtype t)
{
    gpuc_expr at = gpuc_int(z->ctx, below(z, 3));
    if (t.lanes > 1) at = gpuc_tir_ramp(z->ctx, at, gpuc_int(z->ctx, 1), t.lanes);
    int buffer = gpuc_is_float(t) ? 1 : gpuc_is_integer(t) ? 2 : 0;
    return gpuc_tir_load1(z->ctx, z->buffers[buffer], at);
}

static gpuc_expr truth(fuzz *z, int lanes, int depth)
{
    gpuc_ctx *c = z->ctx;
    gpuc_dtype t = gpuc_dtype_with_lanes(GPUC_BOOL, lanes);
    if (depth == 0 || below(z, 6) == 0) return leaf(z, t);
    gpuc_expr x = truth(z, lanes, depth - 1), y = truth(z, lanes, depth - 1),
              constant = gpuc_imm_int(c, t, below(z, 2));
    switch (below(z, 7)) {
    case 0:
    case 1: return gpuc_and(c, x, y);
    case 2:
    case 3: return gpuc_or(c, x, y);
    case 4: return gpuc_not(c, x);
    case 5: return below(z, 2) ? gpuc_select(c, x, y, constant) : gpuc_select(c, x, constant, y);
    default: /* of which nothing is loaded that is not chosen */
        y = gpuc_lt(c, z->vars[0], z->vars[1]);
        if (lanes > 1) return gpuc_or(c, x, gpuc_tir_broadcast(c, y, lanes));
        return below(z, 2) ? gpuc_if_then_else(c, x, y, constant) : gpuc_if_then_else(c, x, constant, y);
    }
}

static gpuc_expr word(fuzz *z, int depth)
{
    gpuc_ctx *c = z->ctx;
    if (depth == 0) return leaf(z, GPUC_INT32);
    gpuc_expr x = word(z, depth - 1), y = word(z, depth - 1), few = gpuc_imm_int(c, GPUC_INT32, below(z, 9));
    static const char *const binary[] = {"min", "max", "bitand", "bitor"};
    const char *op = binary[below(z, 4)];
    switch (below(z, 5)) {
    case 0: return gpuc_call2(c, below(z, 2) ? "shl" : "shr", x, few);
    case 1: return gpuc_call1(c, below(z, 2) ? "bitnot" : "abs", x);
    case 2: return gpuc_call2(c, op, x, few);
    case 3:
        return gpuc_if_then_else(c, gpuc_lt(c, z->vars[below(z, 2)], z->vars[2]), x, below(z, 2) ? few : y);
    default: return gpuc_call2(c, op, x, y);
    }
}

static gpuc_expr real(fuzz *z, int depth)
{
    gpuc_ctx *c = z->ctx;
    if (depth == 0) return leaf(z, GPUC_FLOAT32);
    gpuc_expr x = real(z, depth - 1), y = real(z, depth - 1), cond = truth(z, 1, below(z, 2));
    static const char *const unary[] = {"floor", "ceil", "trunc", "round", "abs"};
    switch (below(z, 5)) {
    case 0: return gpuc_min(c, x, y);
    case 1: return gpuc_max(c, x, y);
    case 2: return gpuc_select(c, cond, x, y);
    default: return gpuc_call1(c, unary[below(z, 5)], x);
    }
}

/* ---- Checks ---- */

static rule_totals totals;

/* What is counted from now on fired for this expression. */
static gpuc_expr simplify(fuzz *z, gpuc_expr e)
{
    rule_totals_add(&totals, z->ctx);
    return gpuc_arith_simplify(z->a, e);
}

static void report(fuzz *z, const char *what, gpuc_expr e, gpuc_expr s, int64_t before, int64_t after)
{
    print_error("%s: %s\n   became %s\n   %lld, then %lld, at", what, gpuc_expr_text(z->ctx, e),
                gpuc_expr_text(z->ctx, s), (long long)before, (long long)after);
    for (int i = 0; i < z->num_vars; i++)
        print_error(" %s=%lld in [%s, +%s)", gpuc_expr_text(z->ctx, z->vars[i]), (long long)z->value[i],
                    gpuc_expr_text(z->ctx, z->min[i]), gpuc_expr_text(z->ctx, z->extent[i]));
    print_error("\nafter:");
    const gpuc_rule_count *fired;
    int n = gpuc_tir_rule_counts(z->ctx, &fired);
    for (int i = 0; i < n; i++) print_error(" %s %lld", fired[i].name, (long long)fired[i].times);
    print_error("\n");
    fail();
}

static void check_expression(fuzz *z, gpuc_expr e, gpuc_expr fact)
{
    size_t mark = gpuc_arith_analyzer_mark(z->a);
    if (fact) gpuc_arith_analyzer_assume(z->a, fact);
    gpuc_expr s = simplify(z, e);
    gpuc_bounds b = gpuc_arith_analyzer_bounds(z->a, e);
    gpuc_modular m = gpuc_arith_analyzer_modular(z->a, e);
    z->changed += s != e;
    for (int k = 0; k < POINTS; k++) {
        if (!draw(z)) continue;
        uint64_t salt = next(z);
        if (fact && !eval(z, fact, salt).i) continue;
        z->facts += fact != NULL;
        int64_t before = eval(z, e, salt).i, after = eval(z, s, salt).i;
        if (before != after) report(z, fact ? gpuc_expr_text(z->ctx, fact) : "simplify", e, s, before, after);
        bool beyond = e->dtype.code == GPUC_DTYPE_UINT && before < 0; /* of int64, in a uint64 */
        if (beyond ? b.max != INT64_MAX : before < b.min || before > b.max)
            report(z, "bounds", e, s, b.min, b.max);
        if (e->dtype.code == GPUC_DTYPE_BOOL || beyond) continue;
        if (m.coeff == 0 ? before != m.remainder : gpuc_floormod(before, m.coeff) != m.remainder)
            report(z, "modular", e, s, m.coeff, m.remainder);
    }
    gpuc_arith_analyzer_rewind(z->a, mark);
}

static void check_proof(fuzz *z, gpuc_expr cond)
{
    bool yes = gpuc_arith_prove(z->a, cond), no = gpuc_arith_prove(z->a, gpuc_not(z->ctx, cond));
    z->proven += yes || no;
    for (int k = 0; k < POINTS && (yes || no); k++) {
        if (!draw(z)) continue;
        if (eval(z, cond, 0).i != yes) report(z, "prove", cond, cond, yes, no);
    }
}

static void check_interval(fuzz *z, gpuc_expr e)
{
    gpuc_map relax;
    gpuc_interval ranges[MAX_VARS];
    gpuc_map_init(&relax, z->ctx);
    for (int i = z->num_vars - 1; i >= z->num_vars / 2;
         i--) { /* the later ones: ranges have the earlier ones */
        ranges[i].min = z->min[i];
        ranges[i].max = gpuc_sub(z->ctx, gpuc_add(z->ctx, z->min[i], z->extent[i]), constant(z, 1));
        gpuc_map_set(&relax, z->vars[i], &ranges[i]);
    }
    gpuc_interval r = gpuc_arith_eval_interval(z->a, e, &relax);
    for (int k = 0; k < POINTS; k++) {
        if (!draw(z)) continue;
        int64_t v = eval(z, e, 0).i;
        if (r.min && eval(z, r.min, 0).i > v) report(z, "interval min", e, r.min, v, eval(z, r.min, 0).i);
        if (r.max && eval(z, r.max, 0).i < v) report(z, "interval max", e, r.max, v, eval(z, r.max, 0).i);
    }
}

/* A linear form put together again is the expression. */
static void check_linear(fuzz *z, gpuc_expr e)
{
    gpuc_expr coeff[2], rest;
    if (z->num_vars < 2 || !gpuc_arith_linear(z->a, e, 2, z->vars, coeff, &rest)) return;
    for (int k = 0; k < POINTS; k++) {
        if (!draw(z)) continue;
        int64_t v =
            eval(z, coeff[0], 0).i * z->value[0] + eval(z, coeff[1], 0).i * z->value[1] + eval(z, rest, 0).i;
        if (v != eval(z, e, 0).i) report(z, "linear", e, rest, eval(z, e, 0).i, v);
    }
}

static void declare(fuzz *z, gpuc_dtype t)
{
    z->type = t;
    z->num_vars = 0;
    z->a = gpuc_arith_analyzer_create(z->ctx);
    int n = 3 + below(z, MAX_VARS - 3);
    for (int i = 0; i < n; i++) {
        static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
        z->vars[i] = gpuc_var(z->ctx, names[i], t);
        z->min[i] = constant(z, below(z, 3) ? 0 : below(z, 20) - 10);
        z->extent[i] = constant(z, below(z, 2) ? factor(z) : 1 + below(z, 40));
        if (i > 0 && below(z, 4) == 0) { /* symbolic */
            gpuc_expr x = z->vars[below(z, i)];
            if (below(z, 2)) x = gpuc_floordiv_(z->ctx, gpuc_add(z->ctx, x, constant(z, 7)), constant(z, 8));
            z->extent[i] = x;
        }
        z->num_vars++;
        gpuc_arith_analyzer_bind(z->a, z->vars[i], z->min[i], z->extent[i]);
    }
}

typedef struct job {
    uint64_t seed;
    void (*round)(fuzz *z);
    fuzz z;
} job;

static void index_round(fuzz *z)
{
    declare(z, below(z, 2) ? GPUC_INT64 : GPUC_INT32);
    for (int k = 0; k < 40; k++) {
        gpuc_expr e = index_expr(z, 1 + below(z, 5));
        check_expression(z, e, NULL);
        check_interval(z, e);
        check_linear(z, e);
        gpuc_expr cond = condition(z, 1 + below(z, 3));
        check_expression(z, cond, NULL);
        check_proof(z, cond);
        check_expression(z, e, cond);
        check_expression(z, condition(z, 2), cond);
    }
}

static void data_round(fuzz *z)
{
    declare(z, GPUC_INT64);
    gpuc_expr shape = gpuc_int(z->ctx, 4096);
    for (int i = 0; i < 8; i++)
        z->buffers[i] = gpuc_tir_buffer_make(z->ctx, "A", data_types[i], 1, &shape, GPUC_SCOPE_GLOBAL);
    for (int k = 0; k < 100; k++)
        check_expression(z, data_expr(z, data_types[below(z, 8)], 1 + below(z, 4)), NULL);
}

/* Equal bits: there is no NaN. */
static bool same_value(gpuc_dtype t, gpuc_tir_value x, gpuc_tir_value y)
{
    return gpuc_is_float(t) ? memcmp(&x.f, &y.f, sizeof x.f) == 0 : x.i == y.i;
}

static void check_lanes(fuzz *z, gpuc_expr e)
{
    gpuc_expr s = simplify(z, e);
    z->changed += s != e;
    for (int k = 0; k < POINTS; k++) {
        if (!draw(z)) continue;
        uint64_t salt = next(z);
        for (z->lane = 0; z->lane < e->dtype.lanes; z->lane++) {
            gpuc_tir_value before = eval(z, e, salt), after = eval(z, s, salt);
            if (!same_value(e->dtype, before, after)) report(z, "simplify", e, s, before.i, after.i);
        }
    }
    z->lane = 0;
}

static void vector_round(fuzz *z)
{
    declare(z, GPUC_INT64);
    for (int k = 0; k < 60; k++) {
        check_lanes(z, lanes_of(z, 1 + below(z, 2)));
        check_lanes(z, compare_lanes(z));
    }
}

static void few_operands_round(fuzz *z)
{
    declare(z, GPUC_INT64);
    gpuc_expr shape = gpuc_int(z->ctx, 64);
    z->buffers[0] = gpuc_tir_buffer_make(z->ctx, "A", GPUC_BOOL, 1, &shape, GPUC_SCOPE_GLOBAL);
    z->buffers[1] = gpuc_tir_buffer_make(z->ctx, "B", GPUC_FLOAT32, 1, &shape, GPUC_SCOPE_GLOBAL);
    z->buffers[2] = gpuc_tir_buffer_make(z->ctx, "C", GPUC_INT32, 1, &shape, GPUC_SCOPE_GLOBAL);
    for (int k = 0; k < 60; k++) {
        gpuc_expr x = word(z, 1 + below(z, 4));
        check_lanes(z, x);
        check_lanes(z, gpuc_eq(z->ctx, gpuc_add(z->ctx, x, word(z, 1)), gpuc_add(z->ctx, word(z, 1), x)));
        check_lanes(z, truth(z, below(z, 2) ? LANES : 1, 1 + below(z, 4)));
        check_lanes(z, real(z, 1 + below(z, 3)));
    }
}

static void body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    j->z.ctx = ctx;
    j->z.state = j->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    j->round(&j->z);
}

typedef struct family {
    const char *name;
    int cases;
    void (*round)(fuzz *);
    uint64_t seed; /* of the next case */
} family;

static family indices = {"index expressions", 400, index_round, 1},
              data = {"data expressions", 250, data_round, 1}, vectors = {"vectors", 200, vector_round, 1},
              few = {"few operands", 300, few_operands_round, 1};

/* GPUC_FUZZ_ROUNDS multiplies the work. */
static void run(family *f)
{
    const char *more = getenv("GPUC_FUZZ_ROUNDS");
    int cases = f->cases * (more ? atoi(more) : 1), changed = 0, proven = 0, facts = 0;
    clock_t start = clock();
    for (int i = 0; i < cases; i++) {
        gpuc_ctx *ctx;
        job j = {.seed = f->seed++, .round = f->round};
        assert_null(gpuc_ctx_create(NULL, &ctx));
        rule_totals_watch(ctx);
        gpuc_status status = gpuc_ctx_protect(ctx, body, &j);
        if (status) print_error("%s\n", gpuc_status_message(status));
        assert_null(status);
        rule_totals_add(&totals, ctx);
        gpuc_ctx_destroy(ctx);
        changed += j.z.changed;
        proven += j.z.proven;
        facts += j.z.facts;
    }
    print_message("cases: %d (%s: %d changed, %d decided, %d points under a fact, %.2f s)\n", cases, f->name,
                  changed, proven, facts, (double)(clock() - start) / CLOCKS_PER_SEC);
}

static void test_index(void **state)
{
    (void)state;
    run(&indices);
}

static void test_data(void **state)
{
    (void)state;
    run(&data);
}

static void test_vectors(void **state)
{
    (void)state;
    run(&vectors);
}

static void test_few_operands(void **state)
{
    (void)state;
    run(&few);
}

/* A rule that no expression reaches is one that no expression needs. The expressions of a seed are others with
 * another compiler (it chooses the order in which arguments are drawn), so that the rarest rules, which fire
 * twice in the tests above, may need more of them. */
static void every_rule_fires(void **state)
{
    (void)state;
    for (int i = 0; i < 20 && rule_totals_missing(&totals) > 0; i++) {
        run(&indices);
        run(&data);
        run(&vectors);
        run(&few);
    }
    assert_int_equal(rule_totals_print(&totals, "random expressions"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),       cmocka_unit_test(test_data),
        cmocka_unit_test(test_vectors),     cmocka_unit_test(test_few_operands),
        cmocka_unit_test(every_rule_fires),
    };
    rule_totals_of(&totals, gpuc_arith_rules());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
