/* SPDX-License-Identifier: Apache-2.0 */
/* What operators give, as text: inference on fresh symbols. */
#include "../te/protect.h"

#include <string.h>

#include <gpuc/op.h>

static void check_texts(gpuc_ctx *ctx)
{
    static const char *const rows[][2] = {
        {"nn.relu", "float32[a0, a1] -> float32[a0, a1]"},
        {"add",
         "(float32[a0, a1], float32[b0, b1]) -> float32[select(a0 == 1, b0, a0), select(a1 == 1, b1, a1)]"
         " where a0 == b0 || (a0 == 1 || b0 == 1), a1 == b1 || (a1 == 1 || b1 == 1)"},
        {"nn.matmul", "(float32[a0, a1], float32[b0, b1]) -> float32[a0, b1] where a1 == b0"},
        {"nn.conv2d", "(float32[a0, 8, a2, a3], float32[8, 8, 3, 3]) -> float32[a0, 8, a2 - 2, a3 - 2]"
                      " where a2 - 3 >= 0, a3 - 3 >= 0"},
        {"nn.bias_add", "(float32[a0, a1], float32[b0]) -> float32[a0, a1] where b0 == a1"},
        {"transpose", "float32[a0, a1] -> float32[a1, a0]"},
        {"sum", "float32[a0, a1] -> float32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = gpuc_op_relation(ctx, gpuc_op_get(ctx, rows[i][0]));
        if (!text || strcmp(text, rows[i][1]))
            fail_msg("%s: %s, not %s", rows[i][0], text ? text : "none", rows[i][1]);
    }
    assert_null(gpuc_op_relation(ctx, gpuc_op_get(ctx, "einsum"))); /* its equation has no default */
}

static void texts(void **unused)
{
    (void)unused;
    run_ok(check_texts);
}

/* Most rows have one: what needs strings, or values of inputs, has none. */
static void count(gpuc_ctx *ctx)
{
    size_t have = 0;
    for (size_t i = 0; i < gpuc_op_count(); i++) have += gpuc_op_relation(ctx, gpuc_op_at(i)) != NULL;
    if (have * 100 < gpuc_op_count() * 80) fail_msg("%zu of %zu rows have a relation", have, gpuc_op_count());
}

static void most_have_one(void **unused)
{
    (void)unused;
    run_ok(count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(most_have_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
