/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools say of tensors: elements as numbers, and whether two agree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static void test_halves(void **state)
{
    (void)state;
    static const uint16_t bits[] = {0x3c00, 0xc000, 0x0001, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x8000};
    static const double values[] = {1,         -2,  5.9604644775390625e-8, 6.103515625e-5, 65504, INFINITY,
                                    -INFINITY, -0.0};
    static const int64_t dims[] = {8};
    gpuc_host_tensor t;
    ok(gpuc_host_tensor_init(GPUC_FLOAT16, 1, dims, "test", &t));
    memcpy(t.data, bits, sizeof bits);
    for (size_t i = 0; i < 8; i++) assert_true(cli_tensor_get(&t, i) == values[i]);
    ((uint16_t *)t.data)[0] = 0x7e01;
    assert_true(isnan(cli_tensor_get(&t, 0)));
    gpuc_host_tensor_deinit(&t);
}

static cli_difference compare(int n, const float *got, const float *want, cli_tolerance tolerance)
{
    int64_t dims[] = {n};
    gpuc_host_tensor a = {
        .dtype = GPUC_FLOAT32, .ndim = 1, .count = (size_t)n, .size = 4 * (size_t)n, .data = (void *)got};
    a.dims[0] = dims[0];
    gpuc_host_tensor b = a;
    b.data = (void *)want;
    cli_difference d;
    cli_compare(&a, &b, tolerance, &d);
    return d;
}

static void test_compare(void **state)
{
    (void)state;
    cli_tolerance strict = {.rtol = 1e-3, .atol = 1e-5, .rel_l2 = -1},
                  l2 = {.rtol = 0, .atol = 0, .rel_l2 = 0.1};
    assert_true(compare(2, (float[]){1, NAN}, (float[]){1.0005f, NAN}, strict).match);
    assert_false(compare(2, (float[]){1, NAN}, (float[]){1.0005f, 0}, strict).match);
    assert_false(compare(2, (float[]){1, 0}, (float[]){1.0005f, NAN}, strict).match);
    /* An infinite reference allows nothing but itself. */
    assert_true(compare(1, (float[]){INFINITY}, (float[]){INFINITY}, strict).match);
    assert_false(compare(1, (float[]){5}, (float[]){INFINITY}, strict).match);
    assert_false(compare(1, (float[]){-INFINITY}, (float[]){INFINITY}, strict).match);
    assert_false(compare(1, (float[]){INFINITY}, (float[]){5}, strict).match);
    assert_false(compare(2, (float[]){1, INFINITY}, (float[]){1, 5}, l2).match);
    assert_false(compare(2, (float[]){1, NAN}, (float[]){1, 5}, l2).match);
    assert_true(compare(3, (float[]){0, 10, 20.5f}, (float[]){0, 10, 20}, l2).match);
    assert_false(compare(3, (float[]){0, 10, 25}, (float[]){0, 10, 20}, l2).match);
    assert_false(compare(2, (float[]){1, 1.1f}, (float[]){1, 1}, l2).match); /* a constant has no spread */
    cli_difference d = compare(3, (float[]){1, 2.5f, 3}, (float[]){1, 2, 3.1f}, strict);
    assert_int_equal(d.wrong, 2);
    assert_int_equal(d.worst, 1);
    assert_true(fabs(d.max_abs - 0.5) < 1e-6);
    assert_true(compare(0, NULL, NULL, strict).match);

    int64_t dims[] = {2};
    gpuc_host_tensor a, b;
    ok(gpuc_host_tensor_init(GPUC_INT64, 1, dims, "test", &a));
    ok(gpuc_host_tensor_init(GPUC_INT64, 1, dims, "test", &b));
    ((int64_t *)a.data)[0] = (INT64_C(1) << 60) + 1; /* doubles cannot tell these apart */
    ((int64_t *)b.data)[0] = INT64_C(1) << 60;
    cli_compare(&a, &b, (cli_tolerance){.rtol = 1, .atol = 1e9, .rel_l2 = 1e9}, &d);
    assert_false(d.match);
    b.dtype = GPUC_UINT64;
    cli_compare(&a, &b, strict, &d);
    assert_false(d.match || d.same_type);
    gpuc_host_tensor_deinit(&a);
    gpuc_host_tensor_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
