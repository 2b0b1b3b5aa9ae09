/* SPDX-License-Identifier: Apache-2.0 */
/* Which floats are proven to be numbers of an integer type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "codegen/clike.h"

typedef struct fixture {
    gpuc_ctx *ctx;
    gpuc_clike p;
    gpuc_expr x;
} fixture;

static fixture begin(void)
{
    fixture f = {0};
    assert_null(gpuc_ctx_create(NULL, &f.ctx));
    gpuc_map_init(&f.p.data_vars, f.ctx);
    f.x = gpuc_var(f.ctx, "x", GPUC_FLOAT32);
    return f;
}

static gpuc_expr number(const fixture *f, double v)
{
    return gpuc_imm(f->ctx, GPUC_FLOAT32, v);
}

static gpuc_expr not_below(const fixture *f, double min, gpuc_expr x)
{
    return gpuc_select(f->ctx, gpuc_lt(f->ctx, number(f, min), x), x, number(f, min));
}

static gpuc_expr not_above(const fixture *f, double max, gpuc_expr x)
{
    return gpuc_select(f->ctx, gpuc_lt(f->ctx, x, number(f, max)), x, number(f, max));
}

static void both_bounds_are_needed(void **state)
{
    (void)state;
    fixture f = begin();
    gpuc_expr e = not_above(&f, 255, not_below(&f, 0, f.x));
    assert_true(gpuc_clike_fits(&f.p, GPUC_UINT8, e));
    assert_true(gpuc_clike_fits(&f.p, GPUC_INT16, e));
    assert_false(gpuc_clike_fits(&f.p, GPUC_INT8, e));
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, not_below(&f, 0, f.x)));
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, not_above(&f, 255, f.x)));
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, not_above(&f, 255.5, not_below(&f, 0, f.x))));
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, not_above(&f, 255, not_below(&f, -0.5, f.x))));
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, f.x));
    assert_false(gpuc_clike_fits(&f.p, GPUC_INT64, number(&f, 1)));
    gpuc_ctx_destroy(f.ctx);
}

static void nan_may_go_where_comparisons_fail(void **state)
{
    (void)state;
    fixture f = begin();
    gpuc_expr min = number(&f, -128), max = number(&f, 127);
    gpuc_expr low = gpuc_select(f.ctx, gpuc_lt(f.ctx, f.x, min), min, f.x);
    gpuc_expr e = gpuc_select(f.ctx, gpuc_lt(f.ctx, max, low), max, low);
    assert_false(gpuc_clike_fits(&f.p, GPUC_INT8, e)); /* NaN is what it is */
    assert_false(gpuc_clike_fits(&f.p, GPUC_INT8, number(&f, NAN)));
    gpuc_expr real = gpuc_select(f.ctx, gpuc_ne(f.ctx, f.x, f.x), number(&f, 0), f.x);
    assert_true(gpuc_clike_fits(&f.p, GPUC_INT8, not_above(&f, 127, not_below(&f, -128, real))));
    gpuc_ctx_destroy(f.ctx);
}

static void variables_are_their_values(void **state)
{
    (void)state;
    fixture f = begin();
    gpuc_expr low = gpuc_var(f.ctx, "low", GPUC_FLOAT32), e = not_above(&f, 255, low);
    assert_false(gpuc_clike_fits(&f.p, GPUC_UINT8, e));
    gpuc_map_set(&f.p.data_vars, low, (void *)not_below(&f, 0, f.x));
    assert_true(gpuc_clike_fits(&f.p, GPUC_UINT8, e));
    gpuc_ctx_destroy(f.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_bounds_are_needed),
        cmocka_unit_test(nan_may_go_where_comparisons_fail),
        cmocka_unit_test(variables_are_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
