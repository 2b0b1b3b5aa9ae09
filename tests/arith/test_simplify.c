/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

static void sums(fixture *f)
{
    check(sub(f, add(f, f->x, f->y), f->x), "y");
    check(add(f, muli(f, f->x, 2), muli(f, f->x, 3)), "x * 5");
    check(sub(f, muli(f, add(f, f->x, f->y), 4), muli(f, f->y, 4)), "x * 4");
    check(sub(f, mul(f, f->n, addi(f, f->x, 1)), f->n), "x * n");
    check(add(f, add(f, f->x, I(f, 3)), add(f, f->y, I(f, -3))), "x + y");
    check(muli(f, add(f, f->x, f->y), 16), "(x + y) * 16");
    check(add(f, f->k, muli(f, f->x, 64)), "x * 64 + k");
    check(sub(f, I(f, 0), f->x), "-x");
}

static void division(fixture *f)
{
    check(divi(f, add(f, muli(f, f->x, 4), f->j), 4), "x");
    check(modi(f, add(f, muli(f, f->x, 4), f->j), 4), "j");
    check(divi(f, add(f, muli(f, f->x, 8), f->j), 4), "x * 2");
    check(add(f, muli(f, divi(f, f->x, 4), 4), modi(f, f->x, 4)), "x");
    check(divi(f, divi(f, f->x, 4), 8), "x // 32");
    check(divi(f, modi(f, f->x, 32), 8), "x // 8 %% 4");
    check(modi(f, modi(f, f->x, 32), 8), "x %% 8");
    check(divi(f, f->j, 4), "0");
    check(modi(f, f->j, 4), "j");
    check(modi(f, f->j, 8), "j");
    check(divi(f, add(f, add(f, muli(f, f->x, 64), muli(f, f->i, 4)), f->j), 16), "x * 4 + i // 4");
    check(modi(f, add(f, add(f, muli(f, f->x, 64), muli(f, f->i, 4)), f->j), 16), "i %% 4 * 4 + j");
    check(sub(f, f->x, muli(f, divi(f, f->x, 4), 4)), "x %% 4");
    check(divi(f, addi(f, muli(f, f->x, 64), 63), 64), "x");
    check(divi(f, addi(f, f->x, 64), 64), "x // 64 + 1");
    check(divi(f, muli(f, f->x, 6), 4), "x + x // 2");
    check(modi(f, muli(f, f->x, 6), 4), "x %% 2 * 2");
    /* digits: (x // 4 % 8) * 4 + x % 4 */
    check(add(f, muli(f, modi(f, divi(f, f->x, 4), 8), 4), modi(f, f->x, 4)), "x %% 32");
    check(add(f, add(f, muli(f, divi(f, f->x, 32), 32), muli(f, modi(f, divi(f, f->x, 4), 8), 4)),
              modi(f, f->x, 4)),
          "x");
    /* C's division of what is not negative */
    check(gpuc_div(f->ctx, add(f, muli(f, f->i, 4), f->j), I(f, 4)), "i");
    check(gpuc_mod(f->ctx, add(f, muli(f, f->i, 4), f->j), I(f, 4)), "j");
}

static void symbolic(fixture *f)
{
    gpuc_expr q = gpuc_var(f->ctx, "q", GPUC_INDEX);
    gpuc_arith_analyzer_bind(f->a, q, I(f, 0), f->n);
    /* (x * n + q) // n and % n */
    check(fdiv(f, add(f, mul(f, f->x, f->n), q), f->n), "x");
    check(fmod_(f, add(f, mul(f, f->x, f->n), q), f->n), "q");
    check(gpuc_lt(f->ctx, q, f->n), "true");
    check(gpuc_le(f->ctx, f->n, q), "false");
    check(gpuc_lt(f->ctx, add(f, mul(f, f->i, f->n), q), muli(f, f->n, 16)), "true");
    check(gpuc_min(f->ctx, q, f->n), "q");
    assert_true(gpuc_arith_prove(f->a, gpuc_ge(f->ctx, divi(f, addi(f, f->n, 63), 64), I(f, 1))));
    assert_false(gpuc_arith_prove(f->a, gpuc_ge(f->ctx, divi(f, addi(f, f->m, 63), 64), I(f, 1))));
    /* padding never shrinks */
    assert_true(gpuc_arith_prove(f->a, gpuc_le(f->ctx, f->m, muli(f, divi(f, addi(f, f->m, 63), 64), 64))));
    assert_true(gpuc_arith_prove(
        f->a, gpuc_lt(f->ctx, muli(f, divi(f, addi(f, f->m, 63), 64), 64), addi(f, f->m, 64))));
}

/* Loops over sizes that became one. */
static void fused(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr n = gpuc_var(c, "n", GPUC_INDEX), m = gpuc_var(c, "m", GPUC_INDEX),
              v = gpuc_var(c, "v", GPUC_INDEX), a = gpuc_var(c, "a", GPUC_INDEX), zero = I(f, 0);
    gpuc_expr sizes[] = {a, m, n}, all = mul(f, mul(f, a, m), n), rows = fdiv(f, v, n);
    for (int i = 0; i < 3; i++) gpuc_arith_analyzer_bind(f->a, sizes[i], zero, I(f, 1 << 20));
    gpuc_expr row = add(f, mul(f, fdiv(f, rows, m), m), fmod_(f, rows, m)),
              back = add(f, mul(f, row, n), fmod_(f, v, n)), inside = gpuc_lt(c, fdiv(f, rows, m), a);
    size_t mark = gpuc_arith_analyzer_mark(f->a);
    gpuc_arith_analyzer_bind(f->a, v, zero, all);
    check(back, "v");
    check(inside, "true");
    gpuc_arith_analyzer_rewind(f->a, mark);
    gpuc_arith_analyzer_bind(f->a, v, zero, muli(f, divi(f, addi(f, all, 63), 64), 64));
    check(back, "v");
    check(inside, "v < n * m * a");
    /* A quotient by what may be 0 is 0 there. */
    gpuc_arith_analyzer_rewind(f->a, mark);
    gpuc_arith_analyzer_bind(f->a, v, zero, I(f, 100));
    assert_true(gpuc_arith_prove(f->a, gpuc_ge(c, rows, zero)));
}

static void guards(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr bx = gpuc_var(c, "bx", GPUC_INDEX), tx = gpuc_var(c, "tx", GPUC_INDEX);
    gpuc_arith_analyzer_bind(f->a, tx, I(f, 0), I(f, 64));
    size_t mark = gpuc_arith_analyzer_mark(f->a);
    gpuc_arith_analyzer_bind(f->a, bx, I(f, 0), I(f, 1024 / 64));
    check(gpuc_lt(c, add(f, muli(f, bx, 64), tx), I(f, 1024)), "true");
    gpuc_arith_analyzer_rewind(f->a, mark);

    gpuc_arith_analyzer_bind(f->a, bx, I(f, 0), I(f, (1000 + 63) / 64));
    gpuc_expr guard = gpuc_lt(c, add(f, muli(f, bx, 64), tx), I(f, 1000));
    check(guard, "bx * 64 + tx < 1000");
    gpuc_arith_analyzer_rewind(f->a, mark);

    /* symbolic n: unknown, then assumed */
    gpuc_arith_analyzer_bind(f->a, bx, I(f, 0), divi(f, addi(f, f->n, 63), 64));
    assert_true(gpuc_arith_prove(f->a, gpuc_le(c, I(f, 1), f->n))); /* else there were no bx */
    guard = gpuc_lt(c, add(f, muli(f, bx, 64), tx), f->n);
    check(guard, "bx * 64 + tx < n");
    size_t inner = gpuc_arith_analyzer_assume(f->a, guard);
    check(guard, "true");
    check(gpuc_lt(c, add(f, tx, muli(f, bx, 64)), addi(f, f->n, 1)), "true");
    check(gpuc_not(c, guard), "false");
    check(gpuc_min(c, add(f, muli(f, bx, 64), tx), f->n), "bx * 64 + tx");
    gpuc_arith_analyzer_rewind(f->a, inner);
    check(guard, "bx * 64 + tx < n");
    gpuc_arith_analyzer_rewind(f->a, mark);

    /* n = 64 m */
    gpuc_expr n64 = muli(f, f->m, 64);
    gpuc_arith_analyzer_bind(f->a, bx, I(f, 0), divi(f, addi(f, n64, 63), 64));
    check(gpuc_lt(c, add(f, muli(f, bx, 64), tx), n64), "true");
    gpuc_arith_analyzer_rewind(f->a, mark);

    /* n with n % 64 == 0 assumed */
    gpuc_arith_analyzer_assume(f->a, gpuc_eq(c, modi(f, f->n, 64), I(f, 0)));
    gpuc_arith_analyzer_bind(f->a, bx, I(f, 0), divi(f, addi(f, f->n, 63), 64));
    check(gpuc_lt(c, add(f, muli(f, bx, 64), tx), f->n), "true");
    gpuc_arith_analyzer_rewind(f->a, mark);
}

static void comparisons(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    check(gpuc_lt(c, addi(f, f->x, 3), addi(f, f->y, 3)), "x < y");
    check(gpuc_lt(c, muli(f, f->x, 4), muli(f, f->y, 4)), "x < y");
    check(gpuc_lt(c, muli(f, f->x, 4), I(f, 7)), "x < 2");
    check(gpuc_le(c, muli(f, f->x, 4), I(f, 7)), "x < 2");
    check(gpuc_lt(c, add(f, muli(f, f->x, 4), f->j), I(f, 16)), "x < 4");
    check(gpuc_le(c, I(f, 1), sub(f, f->x, f->y)), "y < x");
    check(gpuc_eq(c, muli(f, f->x, 2), I(f, 3)), "false");
    check(gpuc_eq(c, add(f, f->x, f->y), add(f, f->y, f->x)), "true");
    check(gpuc_eq(c, f->i, I(f, 16)), "false");
    check(gpuc_ne(c, f->i, I(f, 16)), "true");
    check(gpuc_and(c, gpuc_lt(c, f->i, I(f, 8)), gpuc_lt(c, f->i, I(f, 12))), "i < 8");
    check(gpuc_or(c, gpuc_lt(c, f->i, I(f, 8)), gpuc_lt(c, f->i, I(f, 12))), "i < 12");
    check(gpuc_and(c, gpuc_lt(c, f->i, I(f, 8)), gpuc_le(c, I(f, 8), f->i)), "false");
    check(gpuc_and(c, gpuc_le(c, I(f, 0), f->i), gpuc_lt(c, f->i, f->n)), "i < n");
}

static void extremes(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    check(gpuc_min(c, f->i, I(f, 20)), "i");
    check(gpuc_max(c, f->i, I(f, 20)), "20");
    check(gpuc_max(c, gpuc_min(c, f->i, I(f, 15)), I(f, 0)), "i");
    check(sub(f, gpuc_min(c, addi(f, muli(f, f->x, 8), 8), f->n), muli(f, f->x, 8)), "min(n - x * 8, 8)");
    check(gpuc_min(c, f->x, gpuc_max(c, f->x, f->y)), "x");
    check(gpuc_lt(c, gpuc_min(c, f->x, I(f, 61)), I(f, 59)), "x < 59");
    check(gpuc_le(c, I(f, 5), gpuc_min(c, f->x, I(f, 61))), "x >= 5");
    check(gpuc_lt(c, gpuc_max(c, f->x, I(f, 3)), I(f, 8)), "x < 8");
    check(gpuc_le(c, I(f, 8), gpuc_max(c, f->x, I(f, 3))), "x >= 8");
    check(gpuc_lt(c, gpuc_min(c, f->x, f->y), I(f, 59)), "min(x, y) < 59");
    check(gpuc_min(c, add(f, f->x, f->y), add(f, f->x, f->z)), "x + min(y, z)");
    check(gpuc_min(c, addi(f, f->x, 5), addi(f, f->x, 3)), "x + 3");
}

static void choices(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr cond = gpuc_lt(c, f->x, f->n);
    check(gpuc_select(c, gpuc_lt(c, f->i, I(f, 16)), f->x, f->y), "x");
    check(gpuc_if_then_else(c, cond, gpuc_select(c, cond, f->x, f->y), f->z), "if_then_else(x < n, x, z)");
    check(gpuc_if_then_else(c, gpuc_lt(c, f->x, I(f, 8)), gpuc_min(c, f->x, I(f, 9)), f->x), "x");
    check(gpuc_select(c, gpuc_le(c, f->n, f->x), gpuc_min(c, f->x, f->n), f->y), "select(n <= x, n, y)");
}

static gpuc_expr load_of(fixture *f, gpuc_dtype t, gpuc_expr at)
{
    gpuc_expr shape = I(f, 1024);
    return gpuc_tir_load1(f->ctx, gpuc_tir_buffer_make(f->ctx, "A", t, 1, &shape, GPUC_SCOPE_GLOBAL), at);
}

static void data(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr v = load_of(f, GPUC_INT32, f->x), one = gpuc_imm_int(c, GPUC_INT32, 1);
    /* wraps: neither folds */
    gpuc_expr e = gpuc_lt(c, v, gpuc_add(c, v, one));
    check_expr(e, e);
    e = gpuc_floordiv_(c, gpuc_mul(c, v, gpuc_imm_int(c, GPUC_INT32, 4)), gpuc_imm_int(c, GPUC_INT32, 4));
    check_expr(e, e);
    /* a ring, though */
    check_expr(gpuc_sub(c, gpuc_add(c, v, one), v), one);
    /* bounded data are like indices */
    gpuc_expr u = gpuc_cast(c, GPUC_INT32, load_of(f, GPUC_UINT8, f->x)),
              four = gpuc_imm_int(c, GPUC_INT32, 4);
    check_expr(gpuc_floordiv_(c, gpuc_mul(c, u, four), four), u);
    check_expr(gpuc_lt(c, u, gpuc_imm_int(c, GPUC_INT32, 256)), gpuc_imm_int(c, GPUC_BOOL, 1));
    /* indices of loads are simplified */
    gpuc_expr shape = I(f, 64);
    const gpuc_tir_buffer *b = gpuc_tir_buffer_make(c, "B", GPUC_FLOAT32, 1, &shape, GPUC_SCOPE_GLOBAL);
    check_expr(gpuc_tir_load1(c, b, modi(f, add(f, muli(f, f->x, 4), f->j), 4)), gpuc_tir_load1(c, b, f->j));
}

static void vectors(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr one = I(f, 1), base = muli(f, f->x, 4);
    gpuc_expr r = gpuc_tir_ramp(c, add(f, base, sub(f, f->y, f->y)), one, 4);
    check_expr(r, gpuc_tir_ramp(c, base, one, 4));
    gpuc_expr four = gpuc_tir_broadcast(c, I(f, 4), 4);
    check_expr(gpuc_floordiv_(c, r, four), gpuc_tir_broadcast(c, f->x, 4));
    check_expr(gpuc_floormod_(c, r, four), gpuc_tir_ramp(c, I(f, 0), one, 4));
    gpuc_expr t = gpuc_tir_ramp(c, muli(f, f->i, 4), one, 4);
    check_expr(gpuc_lt(c, t, gpuc_tir_broadcast(c, I(f, 64), 4)),
               gpuc_tir_broadcast(c, gpuc_imm_int(c, GPUC_BOOL, 1), 4));
    gpuc_bounds b = gpuc_arith_analyzer_bounds(f->a, t);
    assert_int_equal(b.min, 0);
    assert_int_equal(b.max, 63);
    check_expr(gpuc_mul(c, t, gpuc_tir_broadcast(c, I(f, 2), 4)),
               gpuc_tir_ramp(c, muli(f, f->i, 8), I(f, 2), 4));
}

/* What has an effect is done as often as it is written. */
static void effects(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr shape = I(f, 64), args[] = {f->i, gpuc_imm_int(c, GPUC_INT32, 1)};
    const gpuc_tir_buffer *b = gpuc_tir_buffer_make(c, "B", GPUC_INT32, 1, &shape, GPUC_SCOPE_GLOBAL);
    gpuc_expr old = gpuc_tir_intrinsic(c, GPUC_INT32, "atomic_add", NULL, b, 2, args);
    check_expr(gpuc_sub(c, old, old), gpuc_sub(c, old, old));
    check_expr(gpuc_add(c, old, old), gpuc_add(c, old, old));
    gpuc_expr wide = gpuc_cast(c, GPUC_INDEX, old), once = muli(f, add(f, wide, f->x), 2);
    check_expr(once, once);
    check_expr(sub(f, add(f, f->x, wide), wide), sub(f, add(f, f->x, wide), wide));
}

const test_case simplify_cases[] = {
    {"sums", sums},     {"division", division},       {"symbolic", symbolic}, {"fused", fused},
    {"guards", guards}, {"comparisons", comparisons}, {"extremes", extremes}, {"choices", choices},
    {"data", data},     {"vectors", vectors},         {"effects", effects},   {NULL, NULL},
};
