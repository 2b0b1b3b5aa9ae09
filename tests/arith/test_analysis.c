/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <time.h>

static void expect_bounds(fixture *f, gpuc_expr e, int64_t min, int64_t max)
{
    gpuc_bounds b = gpuc_arith_analyzer_bounds(f->a, e);
    if (b.min != min || b.max != max)
        failures++, print_error("%s is in [%lld, %lld], not [%lld, %lld]\n", gpuc_expr_text(f->ctx, e),
                                (long long)b.min, (long long)b.max, (long long)min, (long long)max);
}

static void bounds(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    expect_bounds(f, f->i, 0, 15);
    expect_bounds(f, f->x, INT64_MIN, INT64_MAX);
    expect_bounds(f, add(f, muli(f, f->i, 4), f->j), 0, 63);
    expect_bounds(f, sub(f, f->i, f->j), -3, 15);
    expect_bounds(f, modi(f, f->x, 7), 0, 6);
    expect_bounds(f, divi(f, f->i, 4), 0, 3);
    expect_bounds(f, gpuc_min(c, f->x, I(f, 5)), INT64_MIN, 5);
    expect_bounds(f, gpuc_select(c, gpuc_lt(c, f->x, f->n), f->i, f->k), 0, 63);
    expect_bounds(f, sub(f, f->i, f->i), 0, 0);
    expect_bounds(f, mul(f, f->x, f->x), 0, INT64_MAX);
    expect_bounds(f, gpuc_var(c, "s", GPUC_INT32), INT32_MIN, INT32_MAX);
    gpuc_expr v = gpuc_var(c, "v", GPUC_INDEX);
    gpuc_arith_analyzer_bind(f->a, v, muli(f, f->i, 8), I(f, 8));
    expect_bounds(f, v, 0, 127);
    size_t mark = gpuc_arith_analyzer_assume(f->a, gpuc_lt(c, v, I(f, 100)));
    expect_bounds(f, v, 0, 99);
    gpuc_arith_analyzer_assume(f->a, gpuc_lt(c, add(f, muli(f, f->i, 4), f->j), I(f, 10)));
    expect_bounds(f, f->i, 0, 2);
    gpuc_arith_analyzer_rewind(f->a, mark);
    expect_bounds(f, v, 0, 127);
    expect_bounds(f, f->i, 0, 15);
}

/* Loops of unknown lengths that were fused: both parts end where their loops did. */
static void fused_rounds(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr rows = gpuc_var(c, "rows", GPUC_INDEX), columns = gpuc_var(c, "columns", GPUC_INDEX),
              v = gpuc_var(c, "fused", GPUC_INDEX), by = gpuc_max(c, columns, I(f, 1));
    gpuc_arith_analyzer_bind(f->a, rows, I(f, 0), I(f, 1 << 20));
    gpuc_arith_analyzer_bind(f->a, columns, I(f, 0), I(f, 1 << 20));
    gpuc_arith_analyzer_bind(f->a, v, I(f, 0), mul(f, rows, columns));
    gpuc_expr row = gpuc_floordiv_(c, v, by), column = gpuc_floormod_(c, v, by);
    assert_true(gpuc_arith_prove(f->a, gpuc_lt(c, row, rows)));
    assert_true(gpuc_arith_prove(f->a, gpuc_lt(c, column, columns)));
    assert_true(gpuc_arith_prove(f->a, gpuc_lt(c, addi(f, muli(f, row, 16), 15), muli(f, rows, 16))));
    assert_false(gpuc_arith_prove(f->a, gpuc_lt(c, addi(f, row, 1), rows)));
    assert_false(gpuc_arith_prove(f->a, gpuc_lt(c, column, rows)));
}

static void modular(fixture *f)
{
    gpuc_modular m =
        gpuc_arith_analyzer_modular(f->a, addi(f, add(f, muli(f, f->x, 8), muli(f, f->y, 12)), 7));
    assert_int_equal(m.coeff, 4);
    assert_int_equal(m.remainder, 3);
    m = gpuc_arith_analyzer_modular(f->a, divi(f, muli(f, f->x, 8), 2));
    assert_int_equal(m.coeff, 4);
    gpuc_arith_analyzer_assume(f->a, gpuc_eq(f->ctx, modi(f, f->n, 16), I(f, 5)));
    m = gpuc_arith_analyzer_modular(f->a, addi(f, f->n, 1));
    assert_int_equal(m.coeff, 16);
    assert_int_equal(m.remainder, 6);
}

static void linear(fixture *f)
{
    gpuc_expr vars[] = {f->x, f->y}, coeff[2], rest;
    gpuc_expr e = addi(f, add(f, mul(f, f->x, f->n), sub(f, muli(f, f->y, 3), f->m)), 2);
    assert_true(gpuc_arith_linear(f->a, e, 2, vars, coeff, &rest));
    assert_ptr_equal(coeff[0], f->n);
    assert_ptr_equal(coeff[1], I(f, 3));
    assert_true(gpuc_arith_prove_equal(f->a, rest, sub(f, I(f, 2), f->m)));
    assert_false(gpuc_arith_linear(f->a, mul(f, f->x, f->y), 2, vars, coeff, &rest));
    assert_false(gpuc_arith_linear(f->a, divi(f, f->x, 3), 2, vars, coeff, &rest));
    assert_true(gpuc_arith_linear(f->a, divi(f, muli(f, f->x, 6), 3), 2, vars, coeff, &rest));
    assert_ptr_equal(coeff[0], I(f, 2));
}

static void values(fixture *f)
{
    gpuc_expr v = gpuc_var(f->ctx, "v", GPUC_INDEX);
    size_t mark = gpuc_arith_analyzer_mark(f->a);
    gpuc_arith_analyzer_bind_value(f->a, v, I(f, 7));
    check(addi(f, v, 1), "8");
    gpuc_arith_analyzer_rewind(f->a, mark);
    check(addi(f, v, 1), "v + 1");
    gpuc_arith_analyzer_bind_value(f->a, v, add(f, muli(f, f->i, 4), f->j));
    expect_bounds(f, v, 0, 63);
    assert_true(gpuc_arith_prove(f->a, gpuc_le(f->ctx, muli(f, f->i, 4), v)));
}

/* A pass over a large function: facts come and go, what they took is used again. */
static void memory(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    gpuc_expr v = gpuc_var(c, "v", GPUC_INDEX), w = gpuc_var(c, "w", GPUC_INDEX);
    gpuc_expr e = divi(f, add(f, muli(f, v, 64), add(f, muli(f, w, 4), f->j)), 16);
    gpuc_expr guard = gpuc_lt(c, add(f, muli(f, v, 64), w), f->n);
    size_t before = 0;
    for (int round = 0; round < 5000; round++) {
        size_t mark = gpuc_arith_analyzer_mark(f->a);
        gpuc_arith_analyzer_bind(f->a, v, I(f, 0), divi(f, addi(f, f->n, 63), 64));
        gpuc_arith_analyzer_bind(f->a, w, I(f, 0), I(f, 16));
        gpuc_arith_analyzer_assume(f->a, guard);
        gpuc_arith_simplify(f->a, e);
        assert_true(gpuc_arith_prove(f->a, guard));
        gpuc_arith_analyzer_rewind(f->a, mark);
        if (round == 100) before = c->arena.total;
    }
    assert_true(c->arena.total - before < 100000);
}

/* Deep and wide expressions take linear time and do not overflow the stack. */
static void effort(fixture *f)
{
    clock_t start = clock();
    gpuc_expr deep = f->x, wide = f->x, doubling = f->x;
    for (int i = 0; i < 600; i++) deep = gpuc_max(f->ctx, addi(f, mul(f, deep, f->y), i), f->n);
    for (int i = 0; i < 1500; i++) wide = add(f, wide, gpuc_var(f->ctx, "w", GPUC_INDEX));
    for (int i = 0; i < 60; i++)
        doubling = gpuc_select(f->ctx, gpuc_lt(f->ctx, doubling, I(f, i)), addi(f, doubling, 1),
                               muli(f, doubling, 3));
    gpuc_arith_simplify(f->a, deep);
    gpuc_arith_simplify(f->a, wide);
    gpuc_arith_simplify(f->a, doubling);
    gpuc_arith_analyzer_bounds(f->a, deep);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("effort: %.3f s\n", seconds);
    assert_true(seconds < 20);
}

const test_case analysis_cases[] = {
    {"bounds", bounds},   {"fused_rounds", fused_rounds},
    {"modular", modular}, {"linear", linear},
    {"values", values},   {"memory", memory},
    {"effort", effort},   {NULL, NULL},
};
