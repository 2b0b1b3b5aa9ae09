/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cts.h"

static void attributes_answer_or_say_that_they_do_not_know(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    for (int a = 0; a < GPUC_ATTR_COUNT; a++) {
        gpuc_attr_value v = {.known = true, .i = 77};
        cts_ok(c.api->get_attr(c.dev, (gpuc_device_attr)a, &v));
        if (!v.known) assert_int_equal(v.i, 0);
        if (v.known && v.s) assert_true(v.s[0] != 0);
    }
    assert_int_equal(gpuc_device_get_attr(c.dev, GPUC_ATTR_EXISTS).i, 1);
    assert_non_null(gpuc_device_get_attr(c.dev, GPUC_ATTR_NAME).s);
    assert_non_null(gpuc_device_get_attr(c.dev, GPUC_ATTR_DRIVER).s);
    gpuc_attr_value processors = gpuc_device_get_attr(c.dev, GPUC_ATTR_MULTI_PROCESSOR_COUNT);
    assert_true(!processors.known || processors.i >= 1);
    assert_true(gpuc_device_get_attr(c.dev, GPUC_ATTR_FEATURES).known);
    assert_int_equal(c.dev->type, cts_type);
    cts_close(&c);
}

/* Copies size bytes through every direction and looks at the neighbours. */
static void round_trip(cts *c, size_t size, size_t from, size_t to)
{
    size_t total = size + 64;
    uint8_t *data = malloc(total), *back = malloc(total);
    gpuc_buffer *a = cts_buffer(c, total), *b = cts_buffer(c, total);
    memset(data, 0xee, total);
    cts_write(c, a, 0, data, total);
    cts_write(c, b, 0, data, total);
    for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(i * 7 + size);
    cts_write(c, a, from, data, size);
    cts_ok(c->api->copy_data_from_to(c->dev, (gpuc_copy_end){.buffer = a, .offset = from},
                                     (gpuc_copy_end){.buffer = b, .offset = to}, size, NULL));
    memset(back, 0, total);
    cts_read(c, b, to, back, size);
    assert_memory_equal(back, data, size);
    cts_read(c, b, 0, back, total);
    for (size_t i = 0; i < total; i++)
        if ((i < to || i >= to + size) && back[i] != 0xee) fail_msg("byte %zu of %zu was touched", i, total);
    cts_free(c, a);
    cts_free(c, b);
    free(data);
    free(back);
}

static void copies_of_any_size_and_offset(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4, 15, 16, 17, 63, 255, 4096, 4099, (1 << 20) + 13};
    static const size_t offsets[] = {0, 1, 3, 4, 16, 37};
    cts c;
    cts_open(&c);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
            round_trip(&c, sizes[s], offsets[o], offsets[(o + s) % 6]);
    cts_close(&c);
}

static void copies_on_the_host_and_of_nothing(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    char from[] = "abcdef", to[8] = "";
    cts_ok(c.api->copy_data_from_to(c.dev, (gpuc_copy_end){.host = from, .offset = 1},
                                    (gpuc_copy_end){.host = to}, 3, NULL));
    assert_string_equal(to, "bcd");
    gpuc_buffer *b = cts_buffer(&c, 16);
    cts_ok(c.api->copy_data_from_to(c.dev, (gpuc_copy_end){.host = from},
                                    (gpuc_copy_end){.buffer = b, .offset = 16}, 0, NULL));
    cts_free(&c, b);
    cts_close(&c);
}

static void bad_copies_are_refused(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_buffer *b = cts_buffer(&c, 100);
    char host[128] = "";
    gpuc_copy_end h = {.host = host}, in = {.buffer = b, .offset = 90};
    cts_fails(c.api->copy_data_from_to(c.dev, h, in, 30, NULL), GPUC_INVALID_ARGUMENT, "buffer");
    cts_fails(c.api->copy_data_from_to(c.dev, in, h, 30, NULL), GPUC_INVALID_ARGUMENT, "buffer");
    in.offset = SIZE_MAX;
    cts_fails(c.api->copy_data_from_to(c.dev, in, h, 2, NULL), GPUC_INVALID_ARGUMENT, "buffer");
    in.offset = 0;
    cts_fails(c.api->copy_data_from_to(c.dev, in, (gpuc_copy_end){0}, 1, NULL), GPUC_INVALID_ARGUMENT, "");
    cts_free(&c, b);
    cts_close(&c);
}

static void buffers_without_bytes(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_buffer *b = cts_buffer(&c, 0);
    assert_int_equal(b->size, 0);
    cts_free(&c, b);
    cts_free(&c, NULL);
    cts_close(&c);
}

static void buffers_that_are_too_large(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 100, (size_t)1 << 62, (size_t)1 << 52};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gpuc_buffer *b = (gpuc_buffer *)&c;
        gpuc_status s = c.api->alloc_data_space(c.dev, sizes[i], 256, &b);
        assert_null(b);
        gpuc_code code = gpuc_status_code(s);
        assert_true(code == GPUC_OUT_OF_DEVICE_MEMORY || code == GPUC_OUT_OF_MEMORY);
        gpuc_status_release(s);
    }
    round_trip(&c, 100, 0, 0);
    cts_close(&c);
}

static void many_buffers(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    cts c;
    cts_open(&c);
    gpuc_buffer *buffers[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        buffers[i] = cts_buffer(&c, 4 + i * 13);
        cts_write(&c, buffers[i], i, &i, sizeof i);
    }
    for (uint32_t i = 0; i < COUNT; i += 2) cts_free(&c, buffers[i]);
    for (uint32_t i = 1; i < COUNT; i += 2) {
        uint32_t back;
        cts_read(&c, buffers[i], i, &back, sizeof back);
        assert_int_equal(back, i);
        cts_free(&c, buffers[i]);
    }
    cts_close(&c);
}

static void arrays_start_zeroed_and_copy(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    const int64_t dims[] = {3, 5, 7};
    gpuc_ndarray *a, *b;
    float values[105], back[105];
    cts_ok(gpuc_ndarray_create(c.rt, c.dev, GPUC_FLOAT32, 3, dims, &a));
    cts_ok(gpuc_ndarray_create(c.rt, NULL, GPUC_FLOAT32, 3, dims, &b));
    memset(back, 1, sizeof back);
    cts_ok(gpuc_ndarray_read(a, back, sizeof back));
    for (int i = 0; i < 105; i++) assert_true(back[i] == 0);
    cts_fill(values, 105, 1);
    cts_ok(gpuc_ndarray_write(b, values, sizeof values));
    cts_ok(gpuc_ndarray_copy(b, a));
    cts_ok(gpuc_ndarray_read(a, back, sizeof back));
    assert_memory_equal(back, values, sizeof values);
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    cts_close(&c);
}

static void devices_open_once_and_count(void **state)
{
    (void)state;
    cts c;
    cts_open(&c);
    gpuc_device *again;
    cts_ok(gpuc_device_open(c.rt, cts_type, c.dev->index, &again));
    assert_ptr_equal(again, c.dev);
    assert_true(gpuc_device_count(c.rt, cts_type) >= 1);
    cts_fails(gpuc_device_open(c.rt, cts_type, 1000, &again), GPUC_NOT_FOUND, "1000");
    assert_null(again);
    cts_close(&c);
    cts_open(&c); /* a driver survives being left and entered again */
    cts_close(&c);
}

static void two_runtimes_live_side_by_side(void **state)
{
    (void)state;
    cts a, b;
    cts_open(&a);
    cts_open(&b);
    assert_ptr_not_equal(a.dev, b.dev);
    gpuc_buffer *in_b = cts_buffer(&b, 16);
    char byte;
    cts_fails(a.api->copy_data_from_to(a.dev, (gpuc_copy_end){.buffer = in_b}, (gpuc_copy_end){.host = &byte},
                                       1, NULL),
              GPUC_INVALID_ARGUMENT, "device");
    cts_free(&b, in_b);
    cts_close(&a);
    round_trip(&b, 33, 1, 2);
    cts_close(&b);
}

const struct CMUnitTest cts_memory_tests[] = {
    cmocka_unit_test(attributes_answer_or_say_that_they_do_not_know),
    cmocka_unit_test(copies_of_any_size_and_offset),
    cmocka_unit_test(copies_on_the_host_and_of_nothing),
    cmocka_unit_test(bad_copies_are_refused),
    cmocka_unit_test(buffers_without_bytes),
    cmocka_unit_test(buffers_that_are_too_large),
    cmocka_unit_test(many_buffers),
    cmocka_unit_test(arrays_start_zeroed_and_copy),
    cmocka_unit_test(devices_open_once_and_count),
    cmocka_unit_test(two_runtimes_live_side_by_side),
};
const size_t cts_num_memory_tests = sizeof cts_memory_tests / sizeof *cts_memory_tests;
