/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include "base/arena.h"
#include "base/size.h"

static bool is_zero(const void *p, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((const char *)p)[i]) return false;
    return true;
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_arena a;
    gpuc_arena_init(&a, test_heap_allocator(&heap));
    unsigned char *last = NULL;
    size_t last_size = 0;
    for (size_t i = 0; i < 3000; i++) {
        size_t size = i % 97 == 0 ? i * 31 : i % 61;
        unsigned char *p = gpuc_arena_alloc(&a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(is_zero(p, size));
        memset(p, 0xff, size);
        assert_true(!last || p >= last + last_size || p < last);
        last = p;
        last_size = size;
    }
    assert_int_equal(heap.live, a.total);
    gpuc_arena_deinit(&a);
    assert_int_equal(heap.live, 0);
    assert_int_equal(a.total, 0);
}

static void restore_reuses_and_frees(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_arena a;
    gpuc_arena_init(&a, test_heap_allocator(&heap));
    gpuc_arena_mark empty = gpuc_arena_save(&a);
    gpuc_arena_alloc(&a, 100);
    gpuc_arena_mark m = gpuc_arena_save(&a);
    size_t live = heap.live;
    void *first = gpuc_arena_alloc(&a, 24);
    memset(first, 1, 24);
    for (int i = 0; i < 100; i++) gpuc_arena_alloc(&a, 1000);
    gpuc_arena_alloc(&a, (size_t)5 << 20);
    assert_true(heap.live > live);
    gpuc_arena_restore(&a, m);
    assert_int_equal(heap.live, live);
    void *again = gpuc_arena_alloc(&a, 24);
    assert_ptr_equal(again, first);
    assert_true(is_zero(again, 24));
    gpuc_arena_restore(&a, empty);
    assert_int_equal(heap.live, 0);
    assert_non_null(gpuc_arena_alloc(&a, 1));
    gpuc_arena_deinit(&a);
}

static void large_requests_do_not_waste_the_open_block(void **state)
{
    (void)state;
    gpuc_arena a;
    gpuc_arena_init(&a, (gpuc_allocator){0});
    char *before = gpuc_arena_alloc(&a, 16);
    gpuc_arena_alloc(&a, (size_t)1 << 20);
    char *after = gpuc_arena_alloc(&a, 16);
    assert_true(after > before && after - before <= 64);
    gpuc_arena_deinit(&a);
}

static void blocks_grow_up_to_a_mebibyte(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_arena a;
    gpuc_arena_init(&a, test_heap_allocator(&heap));
    for (int i = 0; i < 64 << 10; i++) assert_non_null(gpuc_arena_alloc(&a, 256));
    assert_true(heap.calls < 40);
    assert_true(a.total < (size_t)20 << 20);
    gpuc_arena_deinit(&a);
    assert_int_equal(heap.live, 0);
}

static void out_of_memory_gives_null_and_keeps_the_arena(void **state)
{
    (void)state;
    test_heap heap = {.fail_at = 2};
    gpuc_arena a;
    gpuc_arena_init(&a, test_heap_allocator(&heap));
    assert_non_null(gpuc_arena_alloc(&a, 4000));
    assert_null(gpuc_arena_alloc(&a, 4000));
    assert_non_null(gpuc_arena_alloc(&a, 4000));
    assert_null(gpuc_arena_alloc(&a, SIZE_MAX));
    assert_null(gpuc_arena_alloc(&a, SIZE_MAX - 40));
    assert_null(gpuc_arena_alloc_array(&a, SIZE_MAX / 2, 3));
    gpuc_arena_deinit(&a);
    assert_int_equal(heap.live, 0);
}

static void sizes_of_zero_are_memory(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_allocator h = test_heap_allocator(&heap);
    void *p = gpuc_mem_alloc(h, 0);
    assert_non_null(p);
    p = gpuc_mem_resize(h, p, 0, 10);
    assert_non_null(p);
    assert_null(gpuc_mem_resize(h, p, 10, 0));
    gpuc_mem_free(h, NULL, 5);
    assert_int_equal(heap.live, 0);
    gpuc_arena a;
    gpuc_arena_init(&a, h);
    assert_ptr_not_equal(gpuc_arena_alloc(&a, 0), gpuc_arena_alloc(&a, 0));
    gpuc_arena_deinit(&a);
}

static void floor_division_rounds_down(void **state)
{
    (void)state;
    for (int a = -20; a <= 20; a++)
        for (int b = -7; b <= 7; b++) {
            if (b == 0) continue;
            int64_t q = gpuc_floordiv(a, b), r = gpuc_floormod(a, b);
            assert_int_equal(q * b + r, a);
            assert_true(b > 0 ? r >= 0 && r < b : r <= 0 && r > b);
        }
}

/* Where it begins and how large it is does not matter; what lies there stays. */
static void huge_pages_are_asked_for_any_block(void **state)
{
    (void)state;
    size_t size = 3 * GPUC_HUGE_PAGE + 5;
    unsigned char *block = malloc(size);
    assert_non_null(block);
    memset(block, 7, size);
    gpuc_mem_ask_huge_pages(NULL, 0);
    gpuc_mem_ask_huge_pages(block + 1, 100);
    gpuc_mem_ask_huge_pages(block + 1, 2 * GPUC_HUGE_PAGE);
    gpuc_mem_ask_huge_pages(block + 3, size - 3);
    for (size_t i = 0; i < size; i += 4095) assert_int_equal(block[i], 7);
    free(block);
}

static void the_first_block_can_be_the_callers(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_arena arena;
    alignas(16) unsigned char memory[256];
    memset(memory, 0xff, sizeof memory);
    gpuc_arena_init_at(&arena, test_heap_allocator(&heap), memory, sizeof memory);
    unsigned char *a = gpuc_arena_alloc(&arena, 64);
    assert_true(a > memory && a + 64 <= memory + sizeof memory && (uintptr_t)a % 16 == 0);
    for (int i = 0; i < 64; i++) assert_int_equal(a[i], 0);
    assert_int_equal(heap.calls, 0);
    gpuc_arena_mark mark = gpuc_arena_save(&arena);
    assert_non_null(gpuc_arena_alloc(&arena, 300));
    assert_non_null(gpuc_arena_alloc(&arena, 100000));
    assert_int_equal(heap.calls, 2);
    gpuc_arena_restore(&arena, mark);
    assert_int_equal(heap.live, 0);
    unsigned char *b = gpuc_arena_alloc(&arena, 16);
    assert_true(b > a && b < memory + sizeof memory);
    gpuc_arena_deinit(&arena);
    memset(memory, 1, sizeof memory); /* the caller's again */
    gpuc_arena_deinit(&arena);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(restore_reuses_and_frees),
        cmocka_unit_test(large_requests_do_not_waste_the_open_block),
        cmocka_unit_test(blocks_grow_up_to_a_mebibyte),
        cmocka_unit_test(out_of_memory_gives_null_and_keeps_the_arena),
        cmocka_unit_test(sizes_of_zero_are_memory),
        cmocka_unit_test(huge_pages_are_asked_for_any_block),
        cmocka_unit_test(the_first_block_can_be_the_callers),
        cmocka_unit_test(floor_division_rounds_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
