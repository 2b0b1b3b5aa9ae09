/* SPDX-License-Identifier: Apache-2.0 */
/* Operators before and after they are replaced by expressions of the target, on edges and random values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lower/legalize_dtypes/legalize.h"
#include "tir/ops.h"

enum { COUNT = 4096 };

static uint64_t state;

static uint64_t next_random(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void in_ctx(void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (status)
        fail_msg("%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
                 gpuc_status_line(status));
    gpuc_ctx_destroy(ctx);
}

/* func f(A, B, C) { for i in 0..COUNT { C[i] = op(A[i], B[i]) } } */
static gpuc_tir_func *make_func(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_dtype t)
{
    char type[24];
    bool boolean = gpuc_tir_ops[op].result == GPUC_TIR_BOOL;
    gpuc_dtype_name(t, type);
    const char *text =
        gpuc_ctx_printf(ctx,
                        "func f(A: %s[%d] global, B: %s[%d] global, C: %s[%d] global) stage kernel {\n"
                        "  for i in 0..%d { C[i] = A[i] }\n}\n",
                        type, COUNT, type, COUNT, boolean ? "bool" : type, COUNT, COUNT);
    if (boolean) {
        char *at = strstr(text, "C[i] = A[i]");
        memcpy(at, "C[i] = true", 11);
    }
    gpuc_tir_func *f = gpuc_tir_parse(ctx, text, "test");
    const gpuc_tir_for_node *loop = gpuc_as_for(f->body);
    gpuc_expr a = gpuc_tir_load1(ctx, f->buffers[0], loop->var),
              b = gpuc_tir_load1(ctx, f->buffers[1], loop->var);
    gpuc_expr e = gpuc_tir_make(ctx, op, a, gpuc_tir_ops[op].arity > 1 ? b : NULL, NULL);
    f->body = gpuc_tir_for_(ctx, loop->var, loop->min, loop->extent, loop->loop, loop->tag,
                            gpuc_tir_store1(ctx, f->buffers[2], loop->var, e));
    return f;
}

static void run(gpuc_ctx *ctx, const gpuc_tir_func *f, void *a, void *b, void *c, size_t element)
{
    gpuc_tir_arg args[3] = {{a, COUNT * element}, {b, COUNT * element}, {c, COUNT * element}};
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, args, NULL, true));
}

/* ---- Floats ---------------------------------------------------------------------------------------------- */

typedef struct float_row {
    gpuc_tir_op op;
    double (*one)(double);
    double (*two)(double, double);
    double range; /* random values are in [-range, range] */
    double relative, absolute;
} float_row;

static double log_of(double x)
{
    return log(x);
}

#define ULP 1.2e-7 /* one unit of the last place, or two */

static const float_row float_rows[] = {
    {GPUC_TIR_SIN, sin, NULL, 100, 4 * ULP, 0},      {GPUC_TIR_SIN, sin, NULL, 1e6, 4 * ULP, 0},
    {GPUC_TIR_SIN, sin, NULL, 3e38, 4 * ULP, 0},     {GPUC_TIR_COS, cos, NULL, 100, 4 * ULP, 0},
    {GPUC_TIR_COS, cos, NULL, 1e6, 4 * ULP, 0},      {GPUC_TIR_COS, cos, NULL, 3e38, 4 * ULP, 0},
    {GPUC_TIR_TAN, tan, NULL, 1.5, 5 * ULP, 0},      {GPUC_TIR_TAN, tan, NULL, 3e38, 5 * ULP, 0},
    {GPUC_TIR_ASIN, asin, NULL, 1, 4 * ULP, 0},      {GPUC_TIR_ACOS, acos, NULL, 1, 4 * ULP, 0},
    {GPUC_TIR_ATAN, atan, NULL, 50, 5 * ULP, 0},     {GPUC_TIR_ATAN2, NULL, atan2, 10, 6 * ULP, 0},
    {GPUC_TIR_SINH, sinh, NULL, 89, 4 * ULP, 0},     {GPUC_TIR_COSH, cosh, NULL, 89, 4 * ULP, 0},
    {GPUC_TIR_TANH, tanh, NULL, 20, 5 * ULP, 0},     {GPUC_TIR_ASINH, asinh, NULL, 1e4, 4 * ULP, 0},
    {GPUC_TIR_ASINH, asinh, NULL, 2, 4 * ULP, 0},    {GPUC_TIR_ACOSH, acosh, NULL, 1e4, 4 * ULP, 0},
    {GPUC_TIR_ACOSH, acosh, NULL, 2, 4 * ULP, 0},    {GPUC_TIR_ATANH, atanh, NULL, 1, 5 * ULP, 0},
    {GPUC_TIR_ERF, erf, NULL, 5, 16 * ULP, 0},       {GPUC_TIR_LOG, log_of, NULL, 1e4, 3 * ULP, 0},
    {GPUC_TIR_LOG, log_of, NULL, 1.5, 3 * ULP, 0},   {GPUC_TIR_LOG, log_of, NULL, 1e-38, 3 * ULP, 0},
    {GPUC_TIR_LOG1P, log1p, NULL, 1, 4 * ULP, 0},    {GPUC_TIR_LOG1P, log1p, NULL, 1e-6, 4 * ULP, 0},
    {GPUC_TIR_LOG1P, log1p, NULL, 1e9, 4 * ULP, 0},  {GPUC_TIR_EXPM1, expm1, NULL, 1, 3 * ULP, 0},
    {GPUC_TIR_EXPM1, expm1, NULL, 88.7, 3 * ULP, 0}, {GPUC_TIR_EXPM1, expm1, NULL, 1e-6, 3 * ULP, 0},
    {GPUC_TIR_SQRT, sqrt, NULL, 1e4, ULP, 0},        {GPUC_TIR_POW, NULL, pow, 6, 16 * ULP, 1e-44},
    {GPUC_TIR_POW, NULL, pow, 30, 16 * ULP, 1e-44},  {GPUC_TIR_MOD, NULL, fmod, 100, 0, 0},
};

static const float edges[] = {0.0f,    -0.0f, 1,      -1,          2,       -2,         0.5f,     -0.5f,
                              3,       -3,    1e-30f, -1e-30f,     1e30f,   -1e30f,     INFINITY, -INFINITY,
                              NAN,     88,    -88,    100,         -100,    1e-5f,      2.5f,     1e-45f,
                              -1e-45f, 1e9f,  -1e9f,  33554431.0f, 3.4e38f, 0.99999994f};
enum { NUM_EDGES = sizeof edges / sizeof edges[0] };

static bool fits(const float_row *r, float a, float b, float got)
{
    double want = r->one ? r->one(a) : r->two(a, b);
    if (want == 0 && got == 0) return !signbit(want) == !signbit(got);
    if (isnan(want)) return isnan(got);
    if (fabs(want) > 3.4028235e38) return isinf(got) && (got > 0) == (want > 0);
    return fabs(got - want) <= r->relative * fabs(want) + r->absolute + 0x1p-149;
}

static void check_float(gpuc_ctx *ctx, void *arg)
{
    const float_row *r = arg;
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, "vulkan", NULL)};
    float *a = gpuc_new_array(ctx, float, COUNT), *b = gpuc_new_array(ctx, float, COUNT),
          *c = gpuc_new_array(ctx, float, COUNT);
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(((double)(next_random() % 2000001) / 1e6 - 1) * r->range);
        b[i] = (float)(((double)(next_random() % 2000001) / 1e6 - 1) * r->range);
        if (i < NUM_EDGES * NUM_EDGES) {
            a[i] = edges[i % NUM_EDGES];
            b[i] = edges[i / NUM_EDGES];
        } else if (i % 4 == 0) {
            b[i] = roundf(b[i]);
        }
    }
    gpuc_tir_func *f = gpuc_lower_intrinsics(&p, make_func(ctx, r->op, GPUC_FLOAT32));
    gpuc_tir_validate(ctx, f, "intrinsics");
    run(ctx, f, a, b, c, 4);
    int shown = 0;
    for (int i = 0; i < COUNT; i++)
        if (!fits(r, a[i], b[i], c[i]) && shown++ < 8)
            print_error("%s(%.9g, %.9g) is %.9g, not %.9g\n", gpuc_tir_ops[r->op].text, a[i], b[i], c[i],
                        r->one ? r->one(a[i]) : r->two(a[i], b[i]));
    assert_int_equal(shown, 0);
}

static void floats_are_close(void **unused)
{
    (void)unused;
    state = 1;
    for (size_t i = 0; i < sizeof float_rows / sizeof float_rows[0]; i++)
        in_ctx(check_float, (void *)&float_rows[i]);
}

/* ---- float64, of which a Vulkan device has little ---- */

static const float_row double_rows[] = {
    {GPUC_TIR_SIN, sin, NULL, 100, 4e-16, 2e-16},
    {GPUC_TIR_SIN, sin, NULL, 1e6, 1e-15, 1e-15},
    {GPUC_TIR_COS, cos, NULL, 100, 4e-16, 2e-16},
    {GPUC_TIR_COS, cos, NULL, 1e6, 1e-15, 1e-15},
    {GPUC_TIR_SIN, sin, NULL, 1e10, 4e-16, 2e-16},
    {GPUC_TIR_SIN, sin, NULL, 1e18, 4e-16, 2e-16},
    {GPUC_TIR_SIN, sin, NULL, 1e80, 4e-16, 2e-16},
    {GPUC_TIR_SIN, sin, NULL, 1.7e308, 4e-16, 2e-16},
    {GPUC_TIR_COS, cos, NULL, 1e10, 4e-16, 2e-16},
    {GPUC_TIR_COS, cos, NULL, 1.7e308, 4e-16, 2e-16},
    {GPUC_TIR_TAN, tan, NULL, 1e22, 1e-14, 1e-15},
    {GPUC_TIR_TAN, tan, NULL, 1.5, 1e-14, 1e-15},
    {GPUC_TIR_ASIN, asin, NULL, 1, 1e-15, 0},
    {GPUC_TIR_ACOS, acos, NULL, 1, 1e-15, 0},
    {GPUC_TIR_ATAN, atan, NULL, 50, 1e-15, 0},
    {GPUC_TIR_ATAN2, NULL, atan2, 10, 1e-15, 4e-16},
    {GPUC_TIR_SINH, sinh, NULL, 700, 1e-15, 0},
    {GPUC_TIR_COSH, cosh, NULL, 700, 1e-15, 0},
    {GPUC_TIR_TANH, tanh, NULL, 20, 1e-15, 0},
    {GPUC_TIR_ASINH, asinh, NULL, 1e4, 1e-15, 0},
    {GPUC_TIR_ACOSH, acosh, NULL, 1e4, 1e-15, 0},
    {GPUC_TIR_ATANH, atanh, NULL, 1, 1e-15, 0},
    {GPUC_TIR_ERF, erf, NULL, 5, 1e-15, 0},
    {GPUC_TIR_LOG, log_of, NULL, 1e4, 1e-15, 1e-16},
    {GPUC_TIR_LOG, log_of, NULL, 1e-310, 1e-15, 1e-16},
    {GPUC_TIR_EXP, exp, NULL, 720, 1e-15, 1e-323},
    {GPUC_TIR_SQRT, sqrt, NULL, 1e4, 0, 0},
    {GPUC_TIR_POW, NULL, pow, 6, 1e-14, 1e-18},
    {GPUC_TIR_MOD, NULL, fmod, 1e9, 0, 0},
    {GPUC_TIR_EXPM1, expm1, NULL, 2, 1e-15, 0},
    {GPUC_TIR_LOG1P, log1p, NULL, 1, 1e-15, 0},
    {GPUC_TIR_EXPM1, expm1, NULL, 1e-9, 1e-15, 0},
};

static const double double_edges[] = {0.0, -0.0,  1,      -1,      2,      -2,     0.5,      -0.5,
                                      3,   -3,    1e-300, -1e-300, 1e300,  -1e300, INFINITY, -INFINITY,
                                      NAN, 709.7, -745,   1e-9,    5e-324, 0x1p53};
enum { NUM_DOUBLE_EDGES = sizeof double_edges / sizeof double_edges[0] };

static bool double_fits(const float_row *r, double a, double b, double got)
{
    double want = r->one ? r->one(a) : r->two(a, b);
    if (r->op == GPUC_TIR_TAN && fabs(want) > 1e9) return true;     /* as good as its argument */
    if (r->op == GPUC_TIR_MOD && fabs(a / b) > 0x1p63) return true; /* the quotient has no fraction */
    if (r->op == GPUC_TIR_SQRT && a < 0) return true;               /* the device's own */
    if (r->op != GPUC_TIR_MOD && r->op != GPUC_TIR_POW && want == 0 && got == 0)
        return !signbit(want) == !signbit(got);
    if (isnan(want) || isinf(want) || got == want) return isnan(want) ? isnan(got) : got == want;
    double limit = r->relative * fabs(want);
    if (r->op == GPUC_TIR_POW) limit *= 1 + fabs(b * log(fabs(a) + 1e-300));
    return fabs(got - want) <= limit + r->absolute;
}

static void check_double(gpuc_ctx *ctx, void *arg)
{
    const float_row *r = arg;
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, "vulkan -float64=1", NULL)};
    double *a = gpuc_new_array(ctx, double, COUNT), *b = gpuc_new_array(ctx, double, COUNT),
           *c = gpuc_new_array(ctx, double, COUNT);
    for (int i = 0; i < COUNT; i++) {
        a[i] = ((double)(next_random() >> 11) / 0x1p52 - 1) * r->range;
        b[i] = ((double)(next_random() >> 11) / 0x1p52 - 1) * r->range;
        if (i < NUM_DOUBLE_EDGES * NUM_DOUBLE_EDGES) {
            a[i] = double_edges[i % NUM_DOUBLE_EDGES];
            b[i] = double_edges[i / NUM_DOUBLE_EDGES];
        } else if (i % 4 == 0) {
            b[i] = round(b[i]);
        } else if (i % 4 == 1) {
            b[i] /= 1e7;
        }
    }
    gpuc_tir_func *f = gpuc_lower_intrinsics(&p, make_func(ctx, r->op, GPUC_FLOAT64));
    gpuc_tir_validate(ctx, f, "intrinsics");
    run(ctx, f, a, b, c, 8);
    int shown = 0;
    for (int i = 0; i < COUNT; i++)
        if (!double_fits(r, a[i], b[i], c[i]) && shown++ < 8)
            print_error("%s(%.17g, %.17g) is %.17g, not %.17g\n", gpuc_tir_ops[r->op].text, a[i], b[i], c[i],
                        r->one ? r->one(a[i]) : r->two(a[i], b[i]));
    assert_int_equal(shown, 0);
}

static void doubles_are_close(void **unused)
{
    (void)unused;
    state = 2;
    for (size_t i = 0; i < sizeof double_rows / sizeof double_rows[0]; i++)
        in_ctx(check_double, (void *)&double_rows[i]);
}

/* ---- What must be exact ---------------------------------------------------------------------------------- */

typedef struct exact_row {
    gpuc_tir_op op;
    gpuc_dtype type;
    const char *target, *pass;
} exact_row;

static void random_bits(gpuc_dtype t, uint8_t *data)
{
    static const int64_t few[] = {
        0,      1,         -1,        2,         -2,        3,          7,          8,          31,
        32,     33,        63,        64,        65,        127,        -128,       255,        32767,
        -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 0x7f800000, 0x7fc00000, 0x3f800000, 0xff800000};
    size_t bytes = gpuc_dtype_bytes(t);
    for (int i = 0; i < COUNT; i++) {
        uint64_t r = next_random();
        int64_t v = r % 3 == 0 ? (int64_t)next_random() : few[r / 3 % (sizeof few / sizeof few[0])];
        if (r % 5 == 0) v >>= r / 5 % 64;
        /* digits of 16 bits at their ends */
        if (r % 7 == 0)
            for (int k = 0; k < 64; k += 16) {
                int64_t digit = r >> (k / 8 + 8) & 3;
                digit = digit == 0 ? 0 : digit == 1 ? 1 : digit == 2 ? 0x8000 : 0xffff;
                v = (int64_t)(((uint64_t)v & ~((uint64_t)0xffff << k)) | (uint64_t)digit << k);
            }
        memcpy(data + (size_t)i * bytes, &v, bytes);
    }
}

/* NaN is NaN, and the sign of a zero is free. */
static bool same_number(gpuc_dtype t, const uint8_t *x, const uint8_t *y)
{
    float f, g;
    double a, b;
    if (t.bits == 64) {
        memcpy(&a, x, 8);
        memcpy(&b, y, 8);
    } else {
        memcpy(&f, x, 4);
        memcpy(&g, y, 4);
        a = f;
        b = g;
    }
    return a == b || (isnan(a) && isnan(b));
}

static void check_exact(gpuc_ctx *ctx, void *arg)
{
    const exact_row *r = arg;
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, r->target, NULL)};
    size_t bytes = gpuc_dtype_bytes(r->type);
    uint8_t *a = gpuc_ctx_alloc(ctx, COUNT * bytes + 16), *b = gpuc_ctx_alloc(ctx, COUNT * bytes + 16);
    uint8_t *want = gpuc_ctx_alloc(ctx, COUNT * bytes + 16), *got = gpuc_ctx_alloc(ctx, COUNT * bytes + 16);
    gpuc_tir_func *f = make_func(ctx, r->op, r->type), *g;
    gpuc_ptrs out = {0};
    bool boolean = gpuc_tir_ops[r->op].result == GPUC_TIR_BOOL;
    random_bits(r->type, a);
    random_bits(r->type, b);
    run(ctx, f, a, b, want, bytes);
    gpuc_lower_run(&p, f, r->pass, &out);
    g = out.at[0];
    run(ctx, g, a, b, got, bytes);
    size_t step = boolean ? 1 : bytes;
    for (int i = 0; i < COUNT; i++) {
        const uint8_t *x = want + (size_t)i * step, *y = got + (size_t)i * step;
        if (memcmp(x, y, step) == 0) continue;
        if (!boolean && gpuc_is_float(r->type) && same_number(r->type, x, y)) continue;
        uint64_t v[4] = {0};
        memcpy(&v[0], a + (size_t)i * bytes, bytes);
        memcpy(&v[1], b + (size_t)i * bytes, bytes);
        memcpy(&v[2], y, step);
        memcpy(&v[3], x, step);
        char name[24];
        fail_msg("%s on %s for %s (%s): of %llx and %llx gives %llx, not %llx\n%s", gpuc_tir_ops[r->op].text,
                 gpuc_dtype_name(r->type, name), r->target, r->pass, (unsigned long long)v[0],
                 (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)v[3],
                 gpuc_tir_text(ctx, g));
    }
}

static void integers_are_exact(void **unused)
{
    (void)unused;
    static const gpuc_tir_op ops[] = {GPUC_TIR_DIV,      GPUC_TIR_MOD, GPUC_TIR_FLOORDIV,
                                      GPUC_TIR_FLOORMOD, GPUC_TIR_SHL, GPUC_TIR_SHR};
    static const char *const targets[] = {"c", "opencl", "vulkan"};
    const gpuc_dtype types[] = {GPUC_INT8,  GPUC_UINT8,  GPUC_INT16, GPUC_UINT16,
                                GPUC_INT32, GPUC_UINT32, GPUC_INT64, GPUC_UINT64};
    state = 2;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (int k = 0; k < 3; k++) {
                exact_row r = {ops[o], types[t], targets[k], "intrinsics"};
                in_ctx(check_exact, &r);
            }
}

/* Whatever the quotient. */
static void remainders_are_exact(void **unused)
{
    (void)unused;
    static const gpuc_dtype types[] = {GPUC_FLOAT32, GPUC_FLOAT64};
    state = 6;
    for (int t = 0; t < 2; t++) {
        exact_row r = {GPUC_TIR_MOD, types[t], "vulkan -int64=1 -float64=1", "intrinsics"};
        in_ctx(check_exact, &r);
    }
}

static void order_carries_nan(void **unused)
{
    (void)unused;
    static const gpuc_tir_op ops[] = {GPUC_TIR_MIN, GPUC_TIR_MAX, GPUC_TIR_ISNAN, GPUC_TIR_ISINF};
    static const char *const targets[] = {"c", "opencl", "vulkan -int64=1"};
    const gpuc_dtype types[] = {GPUC_FLOAT32, GPUC_FLOAT64};
    state = 3;
    for (size_t o = 0; o < 4; o++)
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < 3; k++) {
                exact_row r = {ops[o], types[t], targets[k], "intrinsics"};
                in_ctx(check_exact, &r);
            }
}

/* Types that the bare vulkan target lacks altogether. */
static void replaced_types_are_exact(void **unused)
{
    (void)unused;
    static const gpuc_tir_op ops[] = {GPUC_TIR_ADD,    GPUC_TIR_SUB,      GPUC_TIR_MUL,      GPUC_TIR_DIV,
                                      GPUC_TIR_MOD,    GPUC_TIR_FLOORDIV, GPUC_TIR_FLOORMOD, GPUC_TIR_MIN,
                                      GPUC_TIR_MAX,    GPUC_TIR_LT,       GPUC_TIR_LE,       GPUC_TIR_EQ,
                                      GPUC_TIR_NE,     GPUC_TIR_SHL,      GPUC_TIR_SHR,      GPUC_TIR_BITAND,
                                      GPUC_TIR_BITNOT, GPUC_TIR_BITXOR,   GPUC_TIR_ABS};
    const gpuc_dtype types[] = {GPUC_INT8, GPUC_UINT8, GPUC_INT16, GPUC_UINT16, GPUC_INT64, GPUC_UINT64};
    state = 4;
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            exact_row r = {ops[o], types[t], "vulkan",
                           "legalize_dtypes,narrow_index,legalize_int64,intrinsics"};
            in_ctx(check_exact, &r);
        }
}

/* Quotients of all sizes, and those that Knuth's digits guess too high. */
static void quotients_of_pairs_are_exact(void **unused)
{
    (void)unused;
    static const gpuc_tir_op ops[] = {GPUC_TIR_DIV, GPUC_TIR_MOD, GPUC_TIR_FLOORDIV, GPUC_TIR_FLOORMOD};
    for (state = 100; state < 103; state++)
        for (int o = 0; o < 4; o++)
            for (int t = 0; t < 2; t++) {
                uint64_t seed = state;
                exact_row r = {ops[o], t ? GPUC_INT64 : GPUC_UINT64, "vulkan",
                               "narrow_index,legalize_int64,simplify,intrinsics"};
                in_ctx(check_exact, &r);
                state = seed;
            }
}

/* ---- Casts ----------------------------------------------------------------------------------------------- */

typedef struct cast_row {
    gpuc_dtype from, to;
    const char *target;
} cast_row;

static void check_cast(gpuc_ctx *ctx, void *arg)
{
    const cast_row *r = arg;
    char from[24], to[24];
    gpuc_pass_ctx p = {.ctx = ctx, .target = gpuc_target_parse(ctx, r->target, NULL)};
    gpuc_dtype_name(r->from, from);
    gpuc_dtype_name(r->to, to);
    const char *text = gpuc_ctx_printf(ctx,
                                       "func f(A: %s[%d] global, C: %s[%d] global) stage kernel {\n  for i "
                                       "in 0..%d { C[i] = %s(A[i]) }\n}\n",
                                       from, COUNT, to, COUNT, COUNT, to);
    gpuc_tir_func *f = gpuc_tir_parse(ctx, text, "cast");
    size_t in = gpuc_dtype_bytes(r->from), out = gpuc_dtype_bytes(r->to);
    uint8_t *a = gpuc_ctx_alloc(ctx, COUNT * in + 16);
    uint8_t *want = gpuc_ctx_alloc(ctx, COUNT * out + 16), *got = gpuc_ctx_alloc(ctx, COUNT * out + 16);
    random_bits(r->from, a);
    if (gpuc_is_bool(r->from))
        for (int i = 0; i < COUNT; i++) a[i] &= 1;
    gpuc_tir_arg args[2] = {{a, COUNT * in}, {want, COUNT * out}};
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, args, NULL, true));
    gpuc_ptrs funcs = {0};
    gpuc_lower_run(&p, f, "legalize_dtypes,narrow_index,legalize_int64,intrinsics", &funcs);
    args[1].data = got;
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, funcs.at[0], args, NULL, true));
    for (int i = 0; i < COUNT; i++) {
        uint64_t x = 0, y = 0, v = 0;
        memcpy(&x, want + (size_t)i * out, out);
        memcpy(&y, got + (size_t)i * out, out);
        memcpy(&v, a + (size_t)i * in, in);
        if (x == y) continue;
        bool nan = false;
        if (r->to.code == GPUC_DTYPE_FLOAT && r->to.bits == 16)
            nan = (x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00;
        if (r->to.code == GPUC_DTYPE_FLOAT && r->to.bits == 32)
            nan = (x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000;
        if (r->to.code == GPUC_DTYPE_BFLOAT) nan = (x & 0x7fff) > 0x7f80 && (y & 0x7fff) > 0x7f80;
        /* an int64 rounded in two steps */
        bool near =
            gpuc_is_integer(r->from) && r->from.bits == 64 && gpuc_is_float(r->to) && (x - y + 1) <= 2;
        if (!nan && !near)
            fail_msg("cast of %s %llx to %s for %s gives %llx, not %llx\n%s", from, (unsigned long long)v, to,
                     r->target, (unsigned long long)y, (unsigned long long)x,
                     gpuc_tir_text(ctx, funcs.at[0]));
    }
}

static void casts_are_exact(void **unused)
{
    (void)unused;
    static const char *const targets[] = {"c", "opencl", "vulkan", "vulkan -storage8=1 -storage16=1",
                                          "vulkan -int8=1 -int16=1 -storage8=1 -storage16=1"};
    const gpuc_dtype types[] = {GPUC_INT8,    GPUC_UINT8,    GPUC_INT16,   GPUC_UINT16,
                                GPUC_INT32,   GPUC_UINT32,   GPUC_INT64,   GPUC_UINT64,
                                GPUC_FLOAT16, GPUC_BFLOAT16, GPUC_FLOAT32, GPUC_BOOL};
    enum { NUM = sizeof types / sizeof types[0] };
    state = 5;
    for (int i = 0; i < NUM; i++)
        for (int j = 0; j < NUM; j++)
            for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
                cast_row r = {types[i], types[j], targets[t]};
                if (i != j) in_ctx(check_cast, &r);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_close),
        cmocka_unit_test(doubles_are_close),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(remainders_are_exact),
        cmocka_unit_test(order_carries_nan),
        cmocka_unit_test(replaced_types_are_exact),
        cmocka_unit_test(quotients_of_pairs_are_exact),
        cmocka_unit_test(casts_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
