/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation in turn fails: the error is out of memory, nothing leaks, and the context works on. */
#include "random_ir.h"

#include "../base/test_heap.h"

static void work(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func *f = random_func(ctx, 12);
    const char *text = gpuc_tir_text(ctx, f);
    gpuc_tir_func *g = gpuc_tir_parse(ctx, text, "text");
    gpuc_tir_validate(ctx, g, NULL);
    assert_string_equal(gpuc_tir_text(ctx, g), text);
    gpuc_expr one = gpuc_var(ctx, "q", f->scalars[0]->dtype);
    gpuc_tir_substitute_stmt(ctx, f->body, 1, f->scalars, &one);
    gpuc_tir_stmt_uses_var(ctx, f->body, one);
    gpuc_expr sum = gpuc_var(ctx, "x", GPUC_INT64);
    for (int i = 0; i < 300; i++) sum = gpuc_add(ctx, gpuc_mul(ctx, sum, sum), sum);
    assert_false(gpuc_tir_uses_var(ctx, sum, one));
}

static void test_failing_allocations(void **state)
{
    (void)state;
    size_t fail_at = 0;
    bool done = false;
    while (!done) {
        test_heap heap = {.fail_at = ++fail_at};
        gpuc_allocator allocator = test_heap_allocator(&heap);
        gpuc_ctx *ctx;
        gpuc_status status = gpuc_ctx_create(&allocator, &ctx);
        if (!status) status = gpuc_ctx_protect(ctx, work, NULL);
        done = !status;
        if (status) assert_int_equal(gpuc_status_code(status), GPUC_OUT_OF_MEMORY);
        gpuc_status_release(status);
        heap.fail_at = 0;
        if (ctx) expect_success(gpuc_ctx_protect(ctx, work, NULL));
        gpuc_ctx_destroy(ctx);
        assert_int_equal(heap.live, 0);
    }
    assert_true(fail_at > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
