/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on constants when building. */
#include "fixture.h"

static gpuc_relay_budget plenty(void)
{
    return (gpuc_relay_budget){.bytes = 1 << 20, .work = 1 << 20};
}

static void results(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_relay_budget b = plenty();
    gpuc_rexpr *x = fx_floats(ctx, FX_DIMS(3), (float[]){1, 2, 3}), *sum = fx_op2(ctx, "add", x, x);
    gpuc_rexpr *y = gpuc_relay_evaluate_call(ctx, sum, &b);
    assert_true(y->kind == GPUC_REXPR_CONSTANT && fx_element(ctx, y, 2) == 6);
    assert_int_equal(b.bytes, (1 << 20) - 12);
    assert_int_equal(b.work, (1 << 20) - 3);
    gpuc_rexpr *alias = gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "expand_dims", "axis=[0]", x), &b);
    assert_ptr_equal(gpuc_as_rconstant(alias)->data, gpuc_as_rconstant(x)->data);
    assert_int_equal(gpuc_as_rconstant(x)->data->refs, 2);
    gpuc_rexpr *split = gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "split", "sizes=[1, 2]", x), &b);
    assert_true(split->kind == GPUC_REXPR_TUPLE);
    assert_true(fx_element(ctx, gpuc_relay_get(ctx, split, 1), 1) == 3);
    /* inference knows shapes of what is not constant */
    gpuc_rexpr *v = fx_var(ctx, "v", FX_DIMS(4, 5));
    gpuc_rexpr *shape = gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "shape_of", NULL, v), &b);
    assert_true(fx_element(ctx, shape, 1) == 5);
    assert_null(gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "exp", NULL, v), &b));
    assert_null(gpuc_relay_evaluate_call(ctx, v, &b));
    gpuc_rexpr *norm = fx_op2(ctx, "nn.bias_add", fx_floats(ctx, FX_DIMS(1, 1), (float[]){1}),
                              fx_floats(ctx, FX_DIMS(1), (float[]){1}));
    assert_null(gpuc_relay_evaluate_call(ctx, norm, &b)); /* has no definition of its own */
}

static void limits(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_relay_budget b = {.bytes = 100, .work = 1000};
    gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1);
    assert_null(gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "broadcast_to", "shape=[26]", one), &b));
    assert_int_equal(b.exceeded, 104);
    b.exceeded = 0;
    gpuc_rexpr *fits = gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "broadcast_to", "shape=[25]", one), &b);
    assert_non_null(fits);
    assert_int_equal(b.bytes, 0);
    assert_null(gpuc_relay_evaluate_call(ctx, fx_op2(ctx, "add", one, one), &b));
    assert_int_equal(b.exceeded, 4);
    b = (gpuc_relay_budget){.bytes = 100, .work = 24};
    assert_null(gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "sum", NULL, fits), &b)); /* 25 additions */
    assert_int_equal(b.exceeded, 0);
    assert_int_equal(b.work, 24);
    b.work = 25;
    assert_true(fx_element(ctx, gpuc_relay_evaluate_call(ctx, fx_op1(ctx, "sum", NULL, fits), &b), 0) == 25);
    /* more than 63 bits of work, or of memory, before any is done */
    b = (gpuc_relay_budget){.bytes = INT64_MAX, .work = INT64_MAX - 1};
    gpuc_rexpr *wide = fx_op1(ctx, "broadcast_to", "shape=[2305843009213693951]", one);
    b.bytes = 1 << 20;
    assert_null(gpuc_relay_evaluate_call(ctx, wide, &b));
    assert_int_equal(b.exceeded, 9223372036854775804);
}

static void element_types(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_relay_budget b = plenty();
    static const gpuc_dtype types[] = {GPUC_INT8,    GPUC_INT16,   GPUC_INT32,   GPUC_INT64,
                                       GPUC_UINT8,   GPUC_UINT16,  GPUC_UINT32,  GPUC_UINT64,
                                       GPUC_FLOAT16, GPUC_FLOAT32, GPUC_FLOAT64, GPUC_BFLOAT16};
    fx_rng r = {5};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        gpuc_rexpr *x = fx_random(ctx, fx_type(ctx, types[i], FX_DIMS(70)), &r),
                   *z = fx_op2(ctx, "subtract", x, x);
        gpuc_rexpr *y = gpuc_relay_evaluate_call(ctx, z, &b);
        for (int k = 0; k < 70; k++) assert_true(fx_element(ctx, y, k) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(results), fx_test(limits), fx_test(element_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
