/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include "base/ctx.h"

typedef struct trace {
    char text[64];
    size_t n;
    gpuc_status inner;
} trace;

static trace t;

static void note(void *data)
{
    t.text[t.n++] = *(const char *)data;
    t.text[t.n] = 0;
}

static void raise_deep(gpuc_ctx *ctx, int depth)
{
    if (depth == 0) gpuc_raise(ctx, GPUC_UNSUPPORTED, "operator %s at depth %d", "x", depth);
    if (depth > 0) raise_deep(ctx, depth - 1);
}

static void body_raise(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_ctx_push_cleanup(ctx, note, "a");
    gpuc_ctx_push_cleanup(ctx, note, "b");
    gpuc_ctx_push_cleanup(ctx, note, "c");
    gpuc_ctx_pop_cleanup(ctx, false);
    gpuc_ctx_push_cleanup(ctx, note, "d");
    raise_deep(ctx, 100);
}

static void body_outer(gpuc_ctx *ctx, void *arg)
{
    gpuc_ctx_push_cleanup(ctx, note, "1");
    t.inner = gpuc_ctx_protect(ctx, body_raise, arg);
    note("-");
    gpuc_ctx_push_cleanup(ctx, note, "2");
    gpuc_ctx_raise_status(ctx, gpuc_fail(GPUC_NOT_FOUND, "outer"));
}

static gpuc_ctx *make_ctx(test_heap *heap)
{
    gpuc_allocator a = test_heap_allocator(heap);
    gpuc_ctx *ctx;
    expect_success(gpuc_ctx_create(&a, &ctx));
    t = (trace){0};
    return ctx;
}

static void errors_unwind_to_the_innermost_trap(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    gpuc_ctx_push_cleanup(ctx, note, "z");
    expect_failure(gpuc_ctx_protect(ctx, body_outer, NULL), GPUC_NOT_FOUND, "outer");
    expect_failure(t.inner, GPUC_UNSUPPORTED, "operator x at depth 0");
    assert_string_equal(t.text, "dba-21");
    assert_null(ctx->trap);
    expect_failure(gpuc_ctx_protect(ctx, body_raise, NULL), GPUC_UNSUPPORTED, "operator");
    gpuc_ctx_destroy(ctx); /* what was never taken away runs now */
    assert_string_equal(t.text, "dba-21dbaz");
    assert_int_equal(heap.live, 0);
}

static void body_keep(gpuc_ctx *ctx, void *arg)
{
    gpuc_ctx_push_cleanup(ctx, note, arg);
}

static void body_keep_then_raise(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_success(gpuc_ctx_protect(ctx, body_keep, "k"));
    assert_string_equal(t.text, "");
    gpuc_raise(ctx, GPUC_IO, "later");
}

static void cleanups_outlive_a_trap_that_ends_well(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    expect_failure(gpuc_ctx_protect(ctx, body_keep_then_raise, NULL), GPUC_IO, "later");
    assert_string_equal(t.text, "k");
    gpuc_ctx_destroy(ctx);
    assert_string_equal(t.text, "k");
}

static void body_pop_and_run(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (int i = 0; i < 10000; i++) {
        gpuc_ctx_push_cleanup(ctx, note, "r");
        gpuc_ctx_pop_cleanup(ctx, i == 0);
    }
}

static void cleanup_records_are_used_again(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    expect_success(gpuc_ctx_protect(ctx, body_pop_and_run, NULL));
    assert_string_equal(t.text, "r");
    assert_true(ctx->arena.total <= 8192);
    gpuc_ctx_destroy(ctx);
}

static void body_alloc(gpuc_ctx *ctx, void *arg)
{
    size_t *capacity = arg;
    int *list = NULL;
    for (size_t i = 0; i < 1000; i++) {
        list = gpuc_ctx_grow(ctx, list, i, capacity, sizeof *list);
        list[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(list[i], (int)i);
    gpuc_ptrs ptrs = {0};
    for (size_t i = 0; i < 100; i++) gpuc_ptrs_push(ctx, &ptrs, &list[i]);
    assert_int_equal(ptrs.count, 100);
    assert_ptr_equal(ptrs.at[99], &list[99]);
    assert_string_equal(gpuc_ctx_strdup(ctx, "copy"), "copy");
    assert_string_equal(gpuc_ctx_printf(ctx, "%d", 42), "42");
    assert_int_equal(strlen(gpuc_ctx_printf(ctx, "%*d", 700, 1)), 700);
}

static void allocation_in_the_context(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    size_t capacity = 0;
    expect_success(gpuc_ctx_protect(ctx, body_alloc, &capacity));
    assert_true(capacity >= 1000);
    gpuc_ctx_destroy(ctx);
    assert_int_equal(heap.live, 0);
}

static void body_too_large(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_ctx_alloc_array(ctx, SIZE_MAX / 4, 8);
}

static void body_push(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (;;) gpuc_ctx_push_cleanup(ctx, note, "p");
}

static void out_of_memory_raises(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    expect_failure(gpuc_ctx_protect(ctx, body_too_large, NULL), GPUC_OUT_OF_MEMORY, "address space");
    heap.fail_at = heap.calls + 1;
    expect_failure(gpuc_ctx_protect(ctx, body_push, NULL), GPUC_OUT_OF_MEMORY, "cleanup");
    assert_string_equal(t.text, "p"); /* the one that could not be registered ran */
    gpuc_ctx_destroy(ctx);
    for (size_t n = 1;; n++) {
        heap = (test_heap){.fail_at = n};
        gpuc_allocator a = test_heap_allocator(&heap);
        gpuc_status status = gpuc_ctx_create(&a, &ctx);
        size_t capacity = 0;
        if (!status) {
            status = gpuc_ctx_protect(ctx, body_alloc, &capacity);
            gpuc_ctx_destroy(ctx);
        }
        assert_int_equal(heap.live, 0);
        if (!status) break;
        expect_failure(status, GPUC_OUT_OF_MEMORY, "out of memory");
    }
}

static void note_end(gpuc_ctx *ctx, void *data)
{
    (void)ctx;
    note(data);
}

static void body_register_then_raise(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_ctx_at_destroy(ctx, note_end, "1");
    gpuc_ctx_at_destroy(ctx, note_end, "2");
    gpuc_raise(ctx, GPUC_IO, "an error does not run them");
}

static void the_end_of_a_context(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    gpuc_status_release(gpuc_ctx_protect(ctx, body_register_then_raise, NULL));
    assert_string_equal(t.text, "");
    gpuc_ctx_destroy(ctx);
    assert_string_equal(t.text, "21");
    assert_int_equal(heap.live, 0);
    gpuc_ctx_destroy(NULL);
}

static void debug_flags(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_ctx *ctx = make_ctx(&heap);
    expect_success(gpuc_ctx_set_debug(ctx, "print,time"));
    assert_true((ctx->debug & GPUC_DEBUG_PRINT) && (ctx->debug & GPUC_DEBUG_TIME) &&
                !(ctx->debug & GPUC_DEBUG_SOURCE));
    expect_success(gpuc_ctx_set_debug(ctx, ""));
    char folder[300] = "/var/tmp";
    expect_success(gpuc_ctx_set_temporary(ctx, folder));
    memset(folder, '/', sizeof folder - 1);
    expect_failure(gpuc_ctx_set_temporary(ctx, folder), GPUC_INVALID_ARGUMENT, "at most 200 characters");
    expect_failure(gpuc_ctx_set_temporary(ctx, "tmp"), GPUC_INVALID_ARGUMENT,
                   "'tmp' must be an absolute path");
    assert_string_equal(ctx->temporary, "/var/tmp");
    expect_failure(gpuc_ctx_set_debug(ctx, "source,prnt"), GPUC_INVALID_ARGUMENT,
                   "unknown debug flag 'prnt'");
    assert_false(ctx->debug & GPUC_DEBUG_SOURCE);
    expect_failure(gpuc_ctx_set_debug(ctx, "help"), GPUC_INVALID_ARGUMENT, "time per pass");
    expect_success(gpuc_ctx_set_debug(ctx, "rules"));
    assert_true(ctx->debug & GPUC_DEBUG_RULES);
    gpuc_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_unwind_to_the_innermost_trap),
        cmocka_unit_test(cleanups_outlive_a_trap_that_ends_well),
        cmocka_unit_test(cleanup_records_are_used_again),
        cmocka_unit_test(allocation_in_the_context),
        cmocka_unit_test(out_of_memory_raises),
        cmocka_unit_test(the_end_of_a_context),
        cmocka_unit_test(debug_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
