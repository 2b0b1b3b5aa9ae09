/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static uint8_t pattern(size_t i)
{
    return (uint8_t)(i * 2654435761u >> 13);
}

static void *make_bytes(size_t size)
{
    uint8_t *p = malloc(size ? size : 1);
    for (size_t i = 0; i < size; i++) p[i] = pattern(i);
    return p;
}

static void round_trip(vk_fixture *f, size_t size, size_t offset)
{
    uint8_t *in = make_bytes(size), *kept = malloc(size + 1), *out = calloc(1, size + 2);
    memcpy(kept, in, size);
    gpuc_buffer *a = vk_buffer(f, offset + size), *b = vk_buffer(f, size + 7);
    vk_write(f, a, offset, in, size);
    vk_ok(f->api->copy_data_from_to(f->dev, (gpuc_copy_end){.buffer = a, .offset = offset},
                                    (gpuc_copy_end){.buffer = b, .offset = 5}, size, NULL));
    memset(in, 0xee, size); /* reusable on return */
    vk_read(f, b, 5, out + 1, size);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[size + 1], 0);
    if (memcmp(out + 1, kept, size) != 0) fail_msg("%zu bytes at offset %zu come back changed", size, offset);
    f->api->free_data_space(f->dev, a);
    f->api->free_data_space(f->dev, b);
    free(in);
    free(kept);
    free(out);
}

static void round_trips(bool staging)
{
    static const size_t sizes[] = {0, 1, 3, 16, 17, 4095, 4097, 1 << 20, (9 << 20) + 3, (21 << 20) + 1};
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_vk_set_force_staging(f.dev, staging);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t offset = 0; offset<8; offset += sizes[i]> 1 << 20 ? 7 : 3)
            round_trip(&f, sizes[i], offset);
    vk_close(&f);
}

static void test_round_trips(void **state)
{
    (void)state;
    round_trips(false);
}

static void test_round_trips_staged(void **state)
{
    (void)state;
    round_trips(true);
}

static void test_host_address(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_buffer *b = vk_buffer(&f, 100);
    if (gpuc_device_get_attr(f.dev, GPUC_ATTR_UNIFIED_MEMORY).i) {
        uint8_t bytes[100];
        assert_non_null(b->host);
        memset(b->host, 42, 100);
        vk_read(&f, b, 0, bytes, 100);
        assert_int_equal(bytes[99], 42);
    }
    gpuc_vk_set_force_staging(f.dev, true);
    gpuc_buffer *hidden = vk_buffer(&f, 100);
    assert_null(hidden->host);
    assert_int_equal(gpuc_device_get_attr(f.dev, GPUC_ATTR_UNIFIED_MEMORY).i, 0);
    f.api->free_data_space(f.dev, b);
    f.api->free_data_space(f.dev, hidden);
    vk_close(&f);
}

/* A card all of whose memory the host can map, without a cache: the host writes there, but reads from a copy, and is not
 * given the address. */
static void test_resizable_bar(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    f.strict = true;
    f.options.resizable_bar = true;
    vk_open(&f);
    assert_int_equal(gpuc_device_get_attr(f.dev, GPUC_ATTR_UNIFIED_MEMORY).i, 0);
    gpuc_buffer *b = vk_buffer(&f, 100);
    assert_null(b->host);
    f.api->free_data_space(f.dev, b);
    round_trip(&f, 17, 3);
    round_trip(&f, (9 << 20) + 3, 7);
    vk_close(&f);
}

/* Many small writes gather in one submission and keep their order. */
static void test_order_of_writes(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_vk_set_force_staging(f.dev, true);
    gpuc_buffer *a = vk_buffer(&f, 4096), *b = vk_buffer(&f, 4096);
    for (int round = 0; round < 50; round++) {
        uint8_t value = (uint8_t)round, bytes[64];
        memset(bytes, value, sizeof bytes);
        vk_write(&f, a, 0, bytes, 64);
        vk_ok(f.api->copy_data_from_to(f.dev, (gpuc_copy_end){.buffer = a},
                                       (gpuc_copy_end){.buffer = b, .offset = (size_t)round * 64}, 64, NULL));
    }
    uint8_t all[50 * 64];
    vk_read(&f, b, 0, all, sizeof all);
    for (int i = 0; i < 50 * 64; i++) assert_int_equal(all[i], i / 64);
    f.api->free_data_space(f.dev, a);
    f.api->free_data_space(f.dev, b);
    vk_close(&f);
}

static void test_bad_copies(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_buffer *b = vk_buffer(&f, 64);
    uint8_t bytes[64] = {0};
    vk_fails(f.api->copy_data_from_to(f.dev, (gpuc_copy_end){.host = bytes},
                                      (gpuc_copy_end){.buffer = b, .offset = 60}, 8, NULL),
             GPUC_INVALID_ARGUMENT, "bytes 60 to 68 of the destination, but its buffer has 64");
    vk_fails(f.api->copy_data_from_to(f.dev, (gpuc_copy_end){.buffer = b},
                                      (gpuc_copy_end){.buffer = b, .offset = 8}, 16, NULL),
             GPUC_INVALID_ARGUMENT, "overlap");
    vk_fails(f.api->copy_data_from_to(f.dev, (gpuc_copy_end){0}, (gpuc_copy_end){.buffer = b}, 16, NULL),
             GPUC_INVALID_ARGUMENT, "the source has neither buffer nor host address");
    f.api->free_data_space(f.dev, b);
    vk_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),  cmocka_unit_test(test_round_trips_staged),
        cmocka_unit_test(test_host_address), cmocka_unit_test(test_order_of_writes),
        cmocka_unit_test(test_bad_copies),   cmocka_unit_test(test_resizable_bar),
    };
    return vk_run_tests(argc, argv, tests);
}
