/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include <stdio.h>

#include "base/map.h"

#define N 5000

static void body_pointer_map(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_map m;
    gpuc_map_init(&m, ctx);
    assert_null(gpuc_map_get(&m, NULL));
    for (uintptr_t i = 0; i < N; i++) gpuc_map_set(&m, (void *)(i * 4096), (void *)(i + 1));
    for (uintptr_t i = 0; i < N; i += 3) gpuc_map_set(&m, (void *)(i * 4096), (void *)(i + 2));
    assert_int_equal(m.count, N);
    for (uintptr_t i = 0; i < N; i++) {
        assert_true(gpuc_map_has(&m, (void *)(i * 4096)));
        assert_int_equal((uintptr_t)gpuc_map_get(&m, (void *)(i * 4096)), i % 3 ? i + 1 : i + 2);
        assert_int_equal((uintptr_t)m.entries[i].key, i * 4096); /* insertion order */
    }
    assert_false(gpuc_map_has(&m, (void *)17));
    gpuc_map_set(&m, (void *)17, NULL);
    assert_true(gpuc_map_has(&m, (void *)17));
    assert_null(gpuc_map_get(&m, (void *)17));
}

static void body_string_map(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_strmap m;
    gpuc_strmap_init(&m, ctx);
    char key[32];
    for (uintptr_t i = 0; i < N; i++) {
        snprintf(key, sizeof key, "key%zu", (size_t)i);
        gpuc_strmap_set(&m, key, (void *)(i + 1)); /* the key is copied */
    }
    gpuc_strmap_set(&m, "key0", (void *)7);
    assert_int_equal(m.map.count, N);
    for (uintptr_t i = 1; i < N; i++) {
        snprintf(key, sizeof key, "key%zu", (size_t)i);
        assert_int_equal((uintptr_t)gpuc_strmap_get(&m, key), i + 1);
        assert_string_equal((const char *)m.map.entries[i].key, key);
    }
    assert_int_equal((uintptr_t)gpuc_strmap_get(&m, "key0"), 7);
    assert_false(gpuc_strmap_has(&m, "other"));
}

static bool equal_ints(const void *a, const void *b)
{
    return *(const int *)a == *(const int *)b;
}

static void body_intern(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_intern t;
    gpuc_intern_init(&t, ctx, equal_ints);
    const int *nodes[N];
    for (int i = 0; i < N; i++) {
        uint32_t hash =
            (i % 2 ? (uint32_t)i << 20 : (uint32_t)i); /* also hashes that differ in high bits only */
        assert_null(gpuc_intern_find(&t, &i, hash));
        nodes[i] = gpuc_ctx_memdup(ctx, &i, sizeof i);
        gpuc_intern_add(&t, nodes[i], hash);
    }
    for (int i = 0; i < N; i++)
        assert_ptr_equal(gpuc_intern_find(&t, &i, (i % 2 ? (uint32_t)i << 20 : (uint32_t)i)), nodes[i]);
    int absent = N + 1;
    assert_null(gpuc_intern_find(&t, &absent, 0));
}

static void run(void (*body)(gpuc_ctx *, void *))
{
    test_heap heap = {0};
    gpuc_allocator a = test_heap_allocator(&heap);
    gpuc_ctx *ctx;
    expect_success(gpuc_ctx_create(&a, &ctx));
    expect_success(gpuc_ctx_protect(ctx, body, NULL));
    gpuc_ctx_destroy(ctx);
    assert_int_equal(heap.live, 0);
}

static void pointer_map(void **state)
{
    (void)state;
    run(body_pointer_map);
}

static void string_map(void **state)
{
    (void)state;
    run(body_string_map);
}

static void interning(void **state)
{
    (void)state;
    run(body_intern);
}

static void body_fill(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_map *m = arg;
    for (uintptr_t i = 0; i < N; i++) gpuc_map_set(m, (void *)i, (void *)(i + 1));
}

static void map_survives_out_of_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 3; fail_at < 9; fail_at++) {
        test_heap heap = {.fail_at = fail_at};
        gpuc_allocator a = test_heap_allocator(&heap);
        gpuc_ctx *ctx;
        gpuc_map m;
        expect_success(gpuc_ctx_create(&a, &ctx));
        gpuc_map_init(&m, ctx);
        gpuc_status status = gpuc_ctx_protect(ctx, body_fill, &m);
        if (!status) fail_msg("call %zu did not fail", fail_at);
        gpuc_status_release(status);
        for (uintptr_t i = 0; i < m.count; i++)
            assert_int_equal((uintptr_t)gpuc_map_get(&m, (void *)i), i + 1);
        expect_success(gpuc_ctx_protect(ctx, body_fill, &m));
        assert_int_equal(m.count, N);
        gpuc_ctx_destroy(ctx);
        assert_int_equal(heap.live, 0);
    }
}

static void hashes_are_fixed(void **state)
{
    (void)state;
    /* By the library of xxHash 0.8.1. */
    static const struct {
        size_t size;
        uint64_t plain, seeded;
    } rows[] = {
        {0, 0xef46db3751d8e999, 0xc4349fc93c010000},   {1, 0x1f25c8d0bc1f4bb6, 0x79826bcd749d267a},
        {3, 0x31d2363f52e564c9, 0x78efd77575e26575},   {4, 0x9bb64b7d66ee9fda, 0x6f0a6c97d68bf353},
        {7, 0x9a7b149959ce60d8, 0xd97ede93c9d66a0d},   {8, 0xdab99d95c6f90092, 0xa2f1e28437a78a1b},
        {15, 0x1b47cb8243cc8e32, 0xe2ec50a544faec61},  {31, 0xa2aa5f33cc4a6119, 0x755437271d1d0a84},
        {32, 0x23c3c17ef790fd97, 0xbf624b932c090428},  {33, 0x50a7cfc7ba588784, 0x7aceaf1e9d34ea35},
        {63, 0x5e3e54b431c7493c, 0x2c8ddce5c85d0d9d},  {64, 0x0eb64b3ef6eeb01f, 0x4af341f14e3a6fc9},
        {100, 0xa61f8d4c170fe531, 0xf6d8f65c625abb4f}, {300, 0x240004dbee0ba6dc, 0x4724ccb36f2aee62},
    };
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7 + 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(gpuc_hash_bytes(bytes, rows[i].size, 0) == rows[i].plain);
        assert_true(gpuc_hash_bytes(bytes, rows[i].size, 0x9e3779b97f4a7c15) == rows[i].seeded);
        for (size_t part = 1; part <= 40; part++) { /* the same in parts */
            gpuc_hasher h;
            gpuc_hasher_init(&h);
            for (size_t at = 0; at < rows[i].size; at += part)
                gpuc_hasher_add(&h, bytes + at, at + part < rows[i].size ? part : rows[i].size - at);
            assert_true(gpuc_hasher_get(&h) == rows[i].plain);
        }
    }
    assert_int_equal(gpuc_hash_mix(1, 2), gpuc_hash_mix(1, 2));
    assert_int_not_equal(gpuc_hash_mix(1, 2), gpuc_hash_mix(2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointer_map),      cmocka_unit_test(string_map),
        cmocka_unit_test(interning),        cmocka_unit_test(map_survives_out_of_memory),
        cmocka_unit_test(hashes_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
