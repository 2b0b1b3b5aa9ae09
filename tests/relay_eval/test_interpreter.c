/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the interpreter: what they give, and what is wrong with them. */
#include "../relay/fixture.h"

/* The int32 or float32 that @main gives. */
static double number(gpuc_ctx *ctx, const char *text)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    gpuc_relay_value *v = gpuc_relay_interpret(gpuc_relay_interpreter_create(ctx, m, NULL), "main", 0, NULL);
    assert_int_equal(gpuc_relay_value_get_kind(v), GPUC_RELAY_TENSOR);
    const void *at = gpuc_relay_value_data(v);
    double out = gpuc_relay_value_dtype(v).code == GPUC_DTYPE_FLOAT ? (double)*(const float *)at
                                                                    : (double)*(const int32_t *)at;
    gpuc_relay_value_release(v);
    return out;
}

static void scalars(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(number(ctx, "def @main() { 1 + 2 * 3 }") == 7);
    assert_true(number(ctx, "def @main() { if (1f < 2f) { 3f } else { 4f } }") == 3);
    assert_true(number(ctx, "def @f(%n: int32) -> int32 { if (%n < 1) { 1 } else { %n * @f(%n - 1) } }\n"
                            "def @main() { @f(10) }") == 3628800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(scalars)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
