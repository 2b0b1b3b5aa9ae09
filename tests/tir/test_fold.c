/* SPDX-License-Identifier: Apache-2.0 */
/* Folding against C: the operators on every type, the conversions, and random trees, built with their
 * variables unknown, that must have the values of the same trees without any rule applied. */
#include "tir_test.h"

#include <math.h>

#include "rule_totals.h"
#include "tir/fold.h"
#include "base/element.h"

typedef gpuc_tir_value value;

static value random_value(rng *r, gpuc_dtype t)
{
    static const double specials[] = {0.0, -0.0, 1.0,   -1.0, INFINITY, -INFINITY,
                                      NAN, 0.5,  1e-45, 3e38, 65504.0,  2.0};
    static const int64_t ints[] = {0, 1, -1, 2, 3, 7, INT64_MIN, INT64_MAX, 127, -128, 255, 1 << 16};
    value v;
    bool special = rng_below(r, 3) == 0;
    if (gpuc_is_float(t)) {
        v.f =
            special ? specials[rng_below(r, 12)] : ldexp((double)(int64_t)rng_next(r), rng_below(r, 20) - 66);
        v.f = gpuc_tir_round(t, v.f);
    } else {
        v.i = special ? ints[rng_below(r, 12)] : (int64_t)(rng_next(r) >> rng_below(r, 64));
        v.i = gpuc_tir_wrap(t, rng_below(r, 2) ? v.i : -(v.i >> 1));
    }
    return v;
}

static bool same_value(gpuc_dtype t, value a, value b)
{
    if (!gpuc_is_float(t)) return a.i == b.i;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    return a.f == b.f && signbit(a.f) == signbit(b.f);
}

/* ---- Operators against C's -------------------------------------------------------------------------- */

/* Arithmetic in the type itself: unsigned, so that it wraps; then back. */
#define CHECK_INTS(ctype, utype, bits_, dtype, is_signed)                                                    \
    static void check_##ctype(rng *r)                                                                        \
    {                                                                                                        \
        for (int k = 0; k < 4000; k++) {                                                                     \
            value v[2] = {random_value(r, dtype), random_value(r, dtype)};                                   \
            ctype a = (ctype)v[0].i, b = (ctype)v[1].i;                                                      \
            bool over = is_signed && b == (ctype)-1;                                                         \
            ctype q = b == 0 ? 0 : over ? (ctype)(0 - (uint64_t)a) : (ctype)(a / b);                         \
            ctype m = b == 0 || over ? 0 : (ctype)(a % b);                                                   \
            bool off = is_signed && m != 0 && (m < 0) != (b < 0);                                            \
            bool in = b >= 0 && (uint64_t)b < bits_;                                                         \
            CHECK_OP(ADD, ctype, (ctype)((uint64_t)a + (uint64_t)b));                                        \
            CHECK_OP(SUB, ctype, (ctype)((uint64_t)a - (uint64_t)b));                                        \
            CHECK_OP(MUL, ctype, (ctype)((uint64_t)a * (uint64_t)b));                                        \
            CHECK_OP(DIV, ctype, q);                                                                         \
            CHECK_OP(MOD, ctype, m);                                                                         \
            CHECK_OP(FLOORDIV, ctype, (ctype)(off ? q - 1 : q));                                             \
            CHECK_OP(FLOORMOD, ctype, (ctype)(off ? m + b : m));                                             \
            CHECK_OP(MIN, ctype, a < b ? a : b);                                                             \
            CHECK_OP(MAX, ctype, a > b ? a : b);                                                             \
            CHECK_OP(EQ, ctype, a == b);                                                                     \
            CHECK_OP(NE, ctype, a != b);                                                                     \
            CHECK_OP(LT, ctype, a < b);                                                                      \
            CHECK_OP(LE, ctype, a <= b);                                                                     \
            CHECK_OP(BITAND, ctype, (ctype)(a & b));                                                         \
            CHECK_OP(BITOR, ctype, (ctype)(a | b));                                                          \
            CHECK_OP(BITXOR, ctype, (ctype)(a ^ b));                                                         \
            CHECK_OP(BITNOT, ctype, (ctype)~a);                                                              \
            CHECK_OP(SHL, ctype, in ? (ctype)(utype)((uint64_t)(utype)a << b) : 0);                          \
            CHECK_OP(SHR, ctype, in ? (ctype)(a >> b) : a < 0 ? (ctype)-1 : 0);                              \
            CHECK_OP(ABS, ctype, is_signed &&a < 0 ? (ctype)(0 - (uint64_t)a) : a);                          \
        }                                                                                                    \
    }
#define CHECK_OP(op, ctype, expected)                                                                        \
    do {                                                                                                     \
        value got = gpuc_tir_apply(GPUC_TIR_##op, type_of_##ctype, v);                                       \
        if (got.i != (int64_t)(expected))                                                                    \
            fail_msg(#op " on " #ctype ": %lld, %lld gives %lld, not %lld", (long long)v[0].i,               \
                     (long long)v[1].i, (long long)got.i, (long long)(expected));                            \
    } while (0)
#define type_of_int8_t GPUC_INT8
#define type_of_int16_t GPUC_INT16
#define type_of_int32_t GPUC_INT32
#define type_of_int64_t GPUC_INT64
#define type_of_uint8_t GPUC_UINT8
#define type_of_uint16_t GPUC_UINT16
#define type_of_uint32_t GPUC_UINT32
#define type_of_uint64_t GPUC_UINT64
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
CHECK_INTS(int8_t, uint8_t, 8, GPUC_INT8, true)
CHECK_INTS(int16_t, uint16_t, 16, GPUC_INT16, true)
CHECK_INTS(int32_t, uint32_t, 32, GPUC_INT32, true)
CHECK_INTS(int64_t, uint64_t, 64, GPUC_INT64, true)
CHECK_INTS(uint8_t, uint8_t, 8, GPUC_UINT8, false)
CHECK_INTS(uint16_t, uint16_t, 16, GPUC_UINT16, false)
CHECK_INTS(uint32_t, uint32_t, 32, GPUC_UINT32, false)
CHECK_INTS(uint64_t, uint64_t, 64, GPUC_UINT64, false)
#pragma GCC diagnostic pop
#undef CHECK_OP

static void test_ints(void **state)
{
    (void)state;
    rng r = {1};
    check_int8_t(&r);
    check_int16_t(&r);
    check_int32_t(&r);
    check_int64_t(&r);
    check_uint8_t(&r);
    check_uint16_t(&r);
    check_uint32_t(&r);
    check_uint64_t(&r);
}

static void expect_float(const char *op, gpuc_dtype t, const value *v, value got, double expected)
{
    value e = {.f = expected};
    if (!same_value(t, got, e)) fail_msg("%s: %a, %a gives %a, not %a", op, v[0].f, v[1].f, got.f, expected);
}

#define CHECK_FLOAT(op, t, expected)                                                                         \
    expect_float(#op, t, v, gpuc_tir_apply(GPUC_TIR_##op, t, v), (double)(expected))
#define CHECK_FLOATS(ctype, t, suffix)                                                                       \
    do {                                                                                                     \
        for (int k = 0; k < 20000; k++) {                                                                    \
            value v[2] = {random_value(&r, t), random_value(&r, t)};                                         \
            ctype a = (ctype)v[0].f, b = (ctype)v[1].f;                                                      \
            bool nan = isnan(a) || isnan(b);                                                                 \
            CHECK_FLOAT(ADD, t, (ctype)(a + b));                                                             \
            CHECK_FLOAT(SUB, t, (ctype)(a - b));                                                             \
            CHECK_FLOAT(MUL, t, (ctype)(a * b));                                                             \
            CHECK_FLOAT(DIV, t, (ctype)(a / b));                                                             \
            CHECK_FLOAT(MOD, t, fmod##suffix(a, b));                                                         \
            CHECK_FLOAT(SQRT, t, sqrt##suffix(a));                                                           \
            CHECK_FLOAT(FLOOR, t, floor##suffix(a));                                                         \
            CHECK_FLOAT(CEIL, t, ceil##suffix(a));                                                           \
            CHECK_FLOAT(TRUNC, t, trunc##suffix(a));                                                         \
            CHECK_FLOAT(ROUND, t, rint##suffix(a));                                                          \
            CHECK_FLOAT(ABS, t, fabs##suffix(a));                                                            \
            if (a != b || nan) {                                                                             \
                CHECK_FLOAT(MIN, t, nan ? NAN : (double)(a < b ? a : b));                                    \
                CHECK_FLOAT(MAX, t, nan ? NAN : (double)(a > b ? a : b));                                    \
            }                                                                                                \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_LT, t, v).i, a < b);                                    \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_LE, t, v).i, a <= b);                                   \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_EQ, t, v).i, a == b);                                   \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_NE, t, v).i, a != b);                                   \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_ISNAN, t, v).i, isnan(a) != 0);                         \
            assert_int_equal(gpuc_tir_apply(GPUC_TIR_ISINF, t, v).i, isinf(a) != 0);                         \
        }                                                                                                    \
    } while (0)

static void test_floats(void **state)
{
    (void)state;
    rng r = {2};
    CHECK_FLOATS(float, GPUC_FLOAT32, f);
    CHECK_FLOATS(double, GPUC_FLOAT64, );
}

/* Functions that libm may round differently: within one unit of the last place of C's float version. */
static void test_functions(void **state)
{
    (void)state;
    static const struct {
        gpuc_tir_op op;
        float (*fn)(float);
    } rows[] = {{GPUC_TIR_EXP, expf},     {GPUC_TIR_LOG, logf},     {GPUC_TIR_SIN, sinf},
                {GPUC_TIR_COS, cosf},     {GPUC_TIR_TAN, tanf},     {GPUC_TIR_ASIN, asinf},
                {GPUC_TIR_ACOS, acosf},   {GPUC_TIR_ATAN, atanf},   {GPUC_TIR_SINH, sinhf},
                {GPUC_TIR_COSH, coshf},   {GPUC_TIR_TANH, tanhf},   {GPUC_TIR_ASINH, asinhf},
                {GPUC_TIR_ACOSH, acoshf}, {GPUC_TIR_ATANH, atanhf}, {GPUC_TIR_ERF, erff},
                {GPUC_TIR_EXPM1, expm1f}, {GPUC_TIR_LOG1P, log1pf}};
    rng r = {3};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 500; k++) {
            value v[1] = {random_value(&r, GPUC_FLOAT32)};
            float got = (float)gpuc_tir_apply(rows[i].op, GPUC_FLOAT32, v).f, c = rows[i].fn((float)v[0].f);
            bool close = got == c || (isnan(got) && isnan(c)) || nextafterf(c, got) == got ||
                         nextafterf(nextafterf(c, got), got) == got;
            if (!close)
                fail_msg("%s(%a) gives %a, C gives %a", gpuc_tir_ops[rows[i].op].text, v[0].f, got, c);
        }
}

static void test_half(void **state)
{
    (void)state;
    for (int bits = 0; bits < 65536; bits++) {
        double h = gpuc_float_value(GPUC_FLOAT16, (uint16_t)bits),
               b = gpuc_float_value(GPUC_BFLOAT16, (uint16_t)bits);
        if (!isnan(h)) assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, h), bits);
        if (!isnan(b)) assert_int_equal(gpuc_float_bits(GPUC_BFLOAT16, b), bits);
        if (!isnan(h)) assert_true(gpuc_float_round(GPUC_FLOAT16, h) == h);
        if (!isnan(b)) assert_true(gpuc_float_round(GPUC_BFLOAT16, b) == b);
    }
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, NAN), 0x7e00);
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 65519.999), 0x7bff);
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 65520), 0x7c00);
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 0x1p-25), 0);
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 0x1.000002p-25), 1);
    /* 1 + 2^-11 is halfway: to even; anything above it is up, also where float32 in between would lose it. */
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 1 + 0x1p-11), 0x3c00);
    assert_int_equal(gpuc_float_bits(GPUC_FLOAT16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
    assert_int_equal(gpuc_float_bits(GPUC_BFLOAT16, 1 + 0x1p-8), 0x3f80);
    assert_int_equal(gpuc_float_bits(GPUC_BFLOAT16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
#ifdef __FLT16_MAX__
    rng r = {4};
    for (int k = 0; k < 100000; k++) {
        double x = ldexp((double)(int64_t)rng_next(&r), rng_below(&r, 45) - 90);
        assert_true(gpuc_float_round(GPUC_FLOAT16, x) == (double)(_Float16)x);
    }
#endif
}

/* ---- Conversions ------------------------------------------------------------------------------------- */

static void test_convert(void **state)
{
    (void)state;
    rng r = {5};
    for (int k = 0; k < 20000; k++) {
        int64_t i = (int64_t)(rng_next(&r) >> rng_below(&r, 64));
        value s = {.i = i};
        assert_true(gpuc_tir_convert(GPUC_FLOAT32, GPUC_INT64, s).f == (double)(float)i);
        assert_true(gpuc_tir_convert(GPUC_FLOAT32, GPUC_UINT64, s).f == (double)(float)(uint64_t)i);
        assert_true(gpuc_tir_convert(GPUC_FLOAT64, GPUC_INT64, s).f == (double)i);
        assert_true(gpuc_tir_convert(GPUC_FLOAT64, GPUC_UINT64, s).f == (double)(uint64_t)i);
        assert_int_equal(gpuc_tir_convert(GPUC_INT8, GPUC_INT64, s).i, (int8_t)i);
        assert_int_equal(gpuc_tir_convert(GPUC_UINT16, GPUC_INT64, s).i, (uint16_t)i);
        assert_int_equal(gpuc_tir_convert(GPUC_BOOL, GPUC_INT64, s).i, i != 0);
    }
    /* Rounding twice would give the even neighbour. */
    value tie = {.i = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1};
    assert_true(gpuc_tir_convert(GPUC_BFLOAT16, GPUC_INT64, tie).f == 0x1.02p62);
    static const struct {
        gpuc_dtype to;
        double from;
        int64_t expected;
    } rows[] = {
        {GPUC_INT8, 127.9, 127},
        {GPUC_INT8, 128, 127},
        {GPUC_INT8, -129, -128},
        {GPUC_UINT8, -1, 0},
        {GPUC_UINT8, 255.9, 255},
        {GPUC_UINT8, 1e9, 255},
        {GPUC_INT64, 1e19, INT64_MAX},
        {GPUC_INT64, -1e19, INT64_MIN},
        {GPUC_UINT64, 1e30, -1},
        {GPUC_INT32, NAN, 0},
        {GPUC_INT32, -0.9, 0},
        {GPUC_UINT64, 0x1p63, INT64_MIN},
        {GPUC_UINT32, INFINITY, 0xffffffff},
        {GPUC_BOOL, 0.1, 1},
        {GPUC_BOOL, -0.0, 0},
        {GPUC_BOOL, NAN, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        value v = {.f = rows[i].from};
        assert_int_equal(gpuc_tir_convert(rows[i].to, GPUC_FLOAT64, v).i, rows[i].expected);
    }
}

static void test_holds_all(void **state)
{
    (void)state;
    rng r = {6};
    for (int a = 0; a < NUM_TYPES; a++)
        for (int b = 0; b < NUM_TYPES; b++) {
            gpuc_dtype from = all_types(a), to = all_types(b);
            bool all = true;
            for (int k = 0; k < 3000; k++) {
                value v = random_value(&r, from);
                value back = gpuc_tir_convert(from, to, gpuc_tir_convert(to, from, v));
                all = all && same_value(from, v, back);
            }
            char x[24], y[24];
            if (gpuc_tir_holds_all(to, from) && !all)
                fail_msg("%s does not hold all of %s", gpuc_dtype_name(to, x), gpuc_dtype_name(from, y));
        }
    assert_true(gpuc_tir_holds_all(GPUC_BFLOAT16, GPUC_UINT8));
    assert_false(gpuc_tir_holds_all(GPUC_FLOAT32, GPUC_INT32));
    assert_false(gpuc_tir_holds_all(GPUC_FLOAT16, GPUC_BFLOAT16));
    assert_false(gpuc_tir_holds_all(GPUC_FLOAT32, GPUC_FLOAT64));
}

/* ---- Random trees -------------------------------------------------------------------------------------- */

#define NUM_VARS 3
#define LANES 4

typedef struct tree {
    gpuc_expr e;
    value v[LANES];
} tree;

typedef struct trees {
    gpuc_ctx *ctx;
    rng r;
    int lanes;
    gpuc_expr vars[NUM_TYPES][NUM_VARS];
    value env[NUM_TYPES][NUM_VARS];
} trees;

static tree leaf(trees *g, int type)
{
    tree t;
    gpuc_dtype dtype = all_types(type);
    value v;
    if (rng_below(&g->r, 2)) {
        int k = rng_below(&g->r, NUM_VARS);
        t.e = g->vars[type][k];
        v = g->env[type][k];
    } else {
        v = random_value(&g->r, dtype);
        t.e = gpuc_tir_const(g->ctx, dtype, v);
    }
    for (int l = 0; l < LANES; l++) t.v[l] = v;
    if (g->lanes == 1) return t;
    if (gpuc_is_integer(dtype) && rng_below(&g->r, 2)) {
        value s = random_value(&g->r, dtype);
        t.e = gpuc_tir_ramp(g->ctx, t.e, gpuc_tir_const(g->ctx, dtype, s), LANES);
        for (int l = 1; l < LANES; l++)
            t.v[l].i = gpuc_tir_wrap(dtype, (int64_t)((uint64_t)t.v[l - 1].i + (uint64_t)s.i));
    } else {
        t.e = gpuc_tir_broadcast(g->ctx, t.e, LANES);
    }
    return t;
}

static tree make_tree(trees *g, int type, int depth);

static tree make_cast(trees *g, int type, int depth)
{
    int from = rng_below(&g->r, NUM_TYPES);
    tree a = make_tree(g, from, depth - 1), t;
    t.e = gpuc_cast(g->ctx, all_types(type), a.e);
    for (int l = 0; l < g->lanes; l++) t.v[l] = gpuc_tir_convert(all_types(type), all_types(from), a.v[l]);
    return t;
}

static bool accepts(gpuc_tir_op op, gpuc_dtype t)
{
    int flags = gpuc_tir_ops[op].flags;
    return gpuc_is_integer(t) ? flags & GPUC_TIR_INT
           : gpuc_is_float(t) ? flags & GPUC_TIR_FLT
                              : flags & GPUC_TIR_LOGIC;
}

static tree make_tree(trees *g, int type, int depth)
{
    if (depth == 0) return leaf(g, type);
    int kind = rng_below(&g->r, 8);
    if (kind == 0) return leaf(g, type);
    if (kind == 1) return make_cast(g, type, depth);
    gpuc_dtype t = all_types(type);
    bool compare = gpuc_is_bool(t) && rng_below(&g->r, 2);
    int of = compare ? rng_below(&g->r, NUM_TYPES) : type;
    gpuc_tir_op op;
    do {
        op = (gpuc_tir_op)rng_below(&g->r, GPUC_TIR_SQRT);
    } while (!accepts(op, all_types(of)) || (gpuc_tir_ops[op].result == GPUC_TIR_BOOL) != compare);
    tree a[3], r;
    int arity = gpuc_tir_ops[op].arity;
    for (int i = 0; i < arity; i++)
        a[i] =
            make_tree(g, gpuc_tir_ops[op].result == GPUC_TIR_ARM && i == 0 ? NUM_TYPES - 1 : of, depth - 1);
    if (arity > 1 && rng_below(&g->r, 6) == 0) a[arity - 1] = a[arity - 2];
    if (gpuc_tir_ops[op].result == GPUC_TIR_ARM && !gpuc_dtype_equal(a[1].e->dtype, a[2].e->dtype))
        a[2] = a[1];
    r.e = gpuc_tir_make(g->ctx, op, a[0].e, arity > 1 ? a[1].e : NULL, arity > 2 ? a[2].e : NULL);
    for (int l = 0; l < g->lanes; l++) {
        value v[3] = {a[0].v[l], arity > 1 ? a[1].v[l] : a[0].v[l], arity > 2 ? a[2].v[l] : a[0].v[l]};
        r.v[l] = gpuc_tir_apply(op, all_types(of), v);
    }
    return r;
}

/* The value of a lane, without any rule. */
static value evaluate(trees *g, gpuc_expr e, int lane)
{
    value v = {0}, a[3];
    if (gpuc_tir_const_get(e, &v)) return v;
    if (e->kind == GPUC_EXPR_VAR) {
        for (int t = 0; t < NUM_TYPES; t++)
            for (int k = 0; k < NUM_VARS; k++)
                if (g->vars[t][k] == e) return g->env[t][k];
    } else if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr x = gpuc_as_cast(e)->a;
        return gpuc_tir_convert(e->dtype, x->dtype, evaluate(g, x, lane));
    } else if (e->kind == GPUC_EXPR_BROADCAST) {
        return evaluate(g, gpuc_as_broadcast(e)->a, 0);
    } else if (e->kind == GPUC_EXPR_RAMP) {
        uint64_t start = (uint64_t)evaluate(g, gpuc_as_ramp(e)->start, 0).i;
        uint64_t stride = (uint64_t)evaluate(g, gpuc_as_ramp(e)->stride, 0).i;
        v.i = gpuc_tir_wrap(e->dtype, (int64_t)(start + (uint64_t)lane * stride));
        return v;
    } else if (e->kind == GPUC_EXPR_OP) {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        int arity = gpuc_tir_ops[n->op].arity;
        for (int i = 0; i < arity; i++) a[i] = evaluate(g, n->a[i], lane);
        return gpuc_tir_apply(n->op, n->a[arity - 1]->dtype, a);
    }
    fail_msg("an unexpected node: %s", gpuc_expr_text(g->ctx, e));
    return v;
}

static void check_tree(trees *g, const tree *t)
{
    gpuc_expr flat_vars[NUM_TYPES * NUM_VARS], consts[NUM_TYPES * NUM_VARS];
    int n = 0;
    gpuc_dtype type = gpuc_dtype_with_lanes(t->e->dtype, 1);
    for (int l = 0; l < g->lanes; l++) {
        value got = evaluate(g, t->e, l);
        if (!same_value(type, got, t->v[l]))
            fail_msg("lane %d of %s is %lld, not %lld", l, gpuc_expr_text(g->ctx, t->e), (long long)got.i,
                     (long long)t->v[l].i);
    }
    for (int a = 0; a < NUM_TYPES; a++)
        for (int k = 0; k < NUM_VARS; k++, n++) {
            flat_vars[n] = g->vars[a][k];
            consts[n] = gpuc_tir_const(g->ctx, all_types(a), g->env[a][k]);
        }
    gpuc_expr r = gpuc_tir_substitute(g->ctx, t->e, n, flat_vars, consts);
    if (g->lanes > 1) return;
    value got;
    if (!gpuc_tir_const_get(r, &got) || !same_value(type, got, t->v[0]))
        fail_msg("%s becomes %s", gpuc_expr_text(g->ctx, t->e), gpuc_expr_text(g->ctx, r));
}

static rule_totals totals;

static void random_trees(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    rule_totals_watch(ctx);
    trees g = {.ctx = ctx, .r = {7}};
    for (int t = 0; t < NUM_TYPES; t++)
        for (int k = 0; k < NUM_VARS; k++) g.vars[t][k] = gpuc_var(ctx, "x", all_types(t));
    for (int k = 0; k < 20000; k++) {
        for (int t = 0; t < NUM_TYPES; t++)
            for (int i = 0; i < NUM_VARS; i++) g.env[t][i] = random_value(&g.r, all_types(t));
        g.lanes = k % 4 == 0 ? LANES : 1;
        tree t = make_tree(&g, rng_below(&g.r, NUM_TYPES), 1 + rng_below(&g.r, 5));
        check_tree(&g, &t);
    }
    rule_totals_add(&totals, ctx);
}

/* ---- Two operators on edges ---------------------------------------------------------------------------- */

#define NUM_EDGES 8

static value edge_value(gpuc_dtype t, int k)
{
    static const double floats[NUM_EDGES] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 2.0};
    static const int64_t ints[NUM_EDGES] = {0, 1, -1, 2, 3, INT64_MIN, INT64_MAX, 8};
    value v = {0};
    if (gpuc_is_float(t))
        v.f = floats[k];
    else if (t.bits < 64 && (k == 5 || k == 6))
        v.i = gpuc_tir_convert(t, GPUC_FLOAT64, (value){.f = k == 5 ? -1e30 : 1e30}).i;
    else
        v.i = gpuc_tir_wrap(t, ints[k]);
    return v;
}

static tree edge_leaf(trees *g, int type, int var, int k)
{
    tree t;
    t.v[0] = edge_value(all_types(type), k);
    if (var >= 0) g->env[type][var] = t.v[0];
    t.e = var >= 0 ? g->vars[type][var] : gpuc_tir_const(g->ctx, all_types(type), t.v[0]);
    return t;
}

static tree apply_pair(trees *g, gpuc_tir_op op, int type, const tree *a, const tree *b)
{
    value v[2] = {a->v[0], b->v[0]};
    tree t;
    t.e = gpuc_tir_make(g->ctx, op, a->e, gpuc_tir_ops[op].arity > 1 ? b->e : NULL, NULL);
    t.v[0] = gpuc_tir_apply(op, all_types(type), v);
    return t;
}

/* outer(inner(p, q), r) or outer(r, inner(p, q)), where one or two of p, q and r are constants. */
static void check_edges(trees *g, int type, gpuc_tir_op outer, gpuc_tir_op inner)
{
    for (int shape = 0; shape < 10; shape++) {
        int k[3];
        for (int i = 0; i < 3; i++) k[i] = rng_below(&g->r, NUM_EDGES);
        bool two = shape >= 6; /* variables: r, and p or q */
        tree p = edge_leaf(g, type, (two ? shape % 2 == 0 : shape % 3 == 0) ? 0 : -1, k[0]),
             q = edge_leaf(g, type, (two ? shape % 2 == 1 : shape % 3 == 1) ? 1 : -1, k[1]);
        tree r = edge_leaf(g, type, two || shape % 3 == 2 ? 2 : -1, k[2]);
        tree t = apply_pair(g, inner, type, &p, &q);
        if (gpuc_tir_ops[outer].arity == 1)
            t = apply_pair(g, outer, type, &t, &t);
        else
            t = shape < 3 || shape == 6 || shape == 7 ? apply_pair(g, outer, type, &t, &r)
                                                      : apply_pair(g, outer, type, &r, &t);
        check_tree(g, &t);
    }
}

static void edges(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    rule_totals_watch(ctx);
    trees g = {.ctx = ctx, .r = {8}, .lanes = 1};
    for (int t = 0; t < NUM_TYPES; t++)
        for (int k = 0; k < NUM_VARS; k++) g.vars[t][k] = gpuc_var(ctx, "x", all_types(t));
    for (int type = 0; type < NUM_TYPES; type++)
        for (int a = 0; a < GPUC_TIR_SQRT; a++)
            for (int b = 0; b < GPUC_TIR_SQRT; b++) {
                gpuc_tir_op outer = (gpuc_tir_op)a, inner = (gpuc_tir_op)b;
                if (gpuc_tir_ops[outer].result == GPUC_TIR_ARM || gpuc_tir_ops[inner].result != GPUC_TIR_SAME)
                    continue;
                if (!accepts(outer, all_types(type)) || !accepts(inner, all_types(type))) continue;
                for (int n = 0; n < 8; n++) check_edges(&g, type, outer, inner);
            }
    rule_totals_add(&totals, ctx);
}

static void every_rule_fires(void **state)
{
    (void)state;
    assert_int_equal(rule_totals_print(&totals, "trees"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ints),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_half),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_holds_all),
        ctx_test(random_trees),
        ctx_test(edges),
        cmocka_unit_test(every_rule_fires),
    };
    rule_totals_of(&totals, gpuc_tir_fold_rules());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
