/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include "base/buf.h"

static void what_is_written_reads_back(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_buf b;
    gpuc_buf_init(&b, test_heap_allocator(&heap));
    gpuc_buf_u8(&b, 0xfe);
    gpuc_buf_u16(&b, 0x1234);
    gpuc_buf_u32(&b, 0x89abcdefu);
    gpuc_buf_u64(&b, UINT64_C(0x0123456789abcdef));
    gpuc_buf_i64(&b, INT64_MIN);
    gpuc_buf_lstr(&b, "");
    gpuc_buf_lstr(&b, "abc");
    gpuc_buf_lstr(&b, "abcd");
    gpuc_buf_bytes(&b, "xyz", 3);
    gpuc_buf_u32(&b, 2);
    gpuc_buf_u16(&b, 1);
    gpuc_buf_u16(&b, 2);
    assert_null(gpuc_buf_status(&b));
    assert_int_equal((uint8_t)b.data[1], 0x34); /* little-endian */

    gpuc_reader r = {.data = (const uint8_t *)b.data, .size = b.size};
    assert_int_equal(gpuc_read_u8(&r), 0xfe);
    assert_int_equal(gpuc_read_u16(&r), 0x1234);
    assert_int_equal(gpuc_read_u32(&r), 0x89abcdefu);
    assert_true(gpuc_read_u64(&r) == UINT64_C(0x0123456789abcdef));
    assert_true(gpuc_read_i64(&r) == INT64_MIN);
    assert_string_equal(gpuc_read_lstr(&r), "");
    assert_string_equal(gpuc_read_lstr(&r), "abc");
    assert_string_equal(gpuc_read_lstr(&r), "abcd");
    assert_memory_equal(gpuc_read_bytes(&r, 3), "xyz", 3);
    assert_int_equal(gpuc_read_count(&r, 2), 2);
    gpuc_read_u32(&r);
    assert_false(r.failed);
    assert_int_equal(r.pos, r.size);
    assert_int_equal(gpuc_read_u8(&r), 0);
    assert_true(r.failed);
    gpuc_buf_deinit(&b);
    assert_int_equal(heap.live, 0);
}

static void every_truncation_fails(void **state)
{
    (void)state;
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_buf_lstr(&b, "some text");
    gpuc_buf_u64(&b, 1);
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        memcpy(copy, b.data, n);
        gpuc_reader r = {.data = n ? copy : NULL, .size = n};
        assert_non_null(gpuc_read_lstr(&r));
        gpuc_read_u64(&r);
        assert_true(r.failed);
        assert_true(r.pos <= r.size);
        free(copy);
    }
    gpuc_buf_deinit(&b);
}

static void hostile_lengths_fail(void **state)
{
    (void)state;
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 'a', 0, 0, 0};
    gpuc_reader r = {.data = huge, .size = sizeof huge};
    assert_string_equal(gpuc_read_lstr(&r), "");
    assert_true(r.failed);
    r = (gpuc_reader){.data = huge, .size = sizeof huge};
    assert_int_equal(gpuc_read_count(&r, SIZE_MAX), 0);
    assert_true(r.failed);
    r = (gpuc_reader){.data = huge, .size = sizeof huge};
    assert_int_equal(gpuc_read_count(&r, 0), 0);
    assert_true(r.failed);
    r = (gpuc_reader){.data = huge, .size = sizeof huge};
    assert_null(gpuc_read_bytes(&r, SIZE_MAX));
    assert_true(r.failed);

    static const uint8_t inner_zero[] = {3, 0, 0, 0, 'a', 0, 'b', 0};
    r = (gpuc_reader){.data = inner_zero, .size = sizeof inner_zero};
    assert_string_equal(gpuc_read_lstr(&r), "");
    assert_true(r.failed);
    static const uint8_t bad_padding[] = {1, 0, 0, 0, 'a', 0, 'b', 0};
    r = (gpuc_reader){.data = bad_padding, .size = sizeof bad_padding};
    assert_string_equal(gpuc_read_lstr(&r), "");
    assert_true(r.failed);
}

static void empty_reads_succeed(void **state)
{
    (void)state;
    gpuc_reader r = {0};
    assert_non_null(gpuc_read_bytes(&r, 0));
    assert_false(r.failed);
}

static void text_grows_and_aligns(void **state)
{
    (void)state;
    test_heap heap = {0};
    gpuc_buf b;
    gpuc_buf_init(&b, test_heap_allocator(&heap));
    assert_string_equal(gpuc_buf_cstr(&b), "");
    gpuc_buf_printf(&b, "%d-%s", 5, "five");
    gpuc_buf_printf(&b, "%*d", 1000, 1);
    assert_int_equal(b.size, 1006);
    assert_int_equal(strlen(b.data), 1006);
    gpuc_buf_align(&b, 16);
    assert_int_equal(b.size % 16, 0);
    size_t size = b.size;
    gpuc_buf_align(&b, 16);
    assert_int_equal(b.size, size);
    gpuc_buf_clear(&b);
    assert_string_equal(gpuc_buf_cstr(&b), "");
    gpuc_buf_deinit(&b);
    assert_int_equal(heap.live, 0);
}

static void words_of_a_shell(void **state)
{
    (void)state;
    static const char *const words[][2] = {{"x=1,3", "x=1,3"},
                                           {"in put:0", "'in put:0'"},
                                           {"a'b", "'a'\\''b'"},
                                           {"$x;\n", "'$x;\n'"},
                                           {"", "''"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        gpuc_buf b;
        gpuc_buf_init(&b, (gpuc_allocator){0});
        gpuc_buf_word(&b, words[i][0]);
        assert_string_equal(gpuc_buf_cstr(&b), words[i][1]);
        gpuc_buf_deinit(&b);
    }
}

static void out_of_memory_sticks(void **state)
{
    (void)state;
    test_heap heap = {.fail_at = 2};
    gpuc_buf b;
    gpuc_buf_init(&b, test_heap_allocator(&heap));
    gpuc_buf_str(&b, "kept");
    gpuc_buf_printf(&b, "%*d", 500, 1);
    gpuc_buf_str(&b, "not kept");
    assert_string_equal(gpuc_buf_cstr(&b), "kept");
    expect_failure(gpuc_buf_status(&b), GPUC_OUT_OF_MEMORY, "out of memory");
    gpuc_buf_deinit(&b);
    assert_int_equal(heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back), cmocka_unit_test(every_truncation_fails),
        cmocka_unit_test(hostile_lengths_fail),       cmocka_unit_test(empty_reads_succeed),
        cmocka_unit_test(text_grows_and_aligns),      cmocka_unit_test(out_of_memory_sticks),
        cmocka_unit_test(words_of_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
