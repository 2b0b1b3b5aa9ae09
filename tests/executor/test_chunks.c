/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "executor/chunks.h"

static int64_t range, largest;

static gpuc_status get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    (void)dev;
    int64_t v = attr == GPUC_ATTR_MAX_BUFFER_RANGE ? range : attr == GPUC_ATTR_MAX_ALLOC_BYTES ? largest : 0;
    *out = (gpuc_attr_value){.known = v > 0, .i = v};
    return NULL;
}

static const gpuc_device_api api = {.struct_size = sizeof api, .name = "paper", .get_attr = get_attr};
static gpuc_device device = {.api = &api};

typedef struct fixture {
    gpuc_arena arena;
    gpuc_chunks chunks;
} fixture;

static void set_up(fixture *f, int64_t max_range, int64_t max_alloc)
{
    range = max_range;
    largest = max_alloc;
    gpuc_arena_init(&f->arena, (gpuc_allocator){0});
    gpuc_executor_chunks_init(&f->chunks, &f->arena, &device);
}

static void expect(fixture *f, uint64_t size, uint32_t chunk, uint64_t offset)
{
    gpuc_place p;
    assert_null(gpuc_executor_chunks_add(&f->chunks, size, &p));
    assert_int_equal(p.chunk, chunk);
    assert_int_equal(p.offset, offset);
    assert_int_equal(p.size, size);
    assert_true(f->chunks.sizes[chunk] >= offset + size);
}

static void a_running_sum(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, 1 << 20, 1 << 20);
    expect(&f, 100, 0, 0);
    expect(&f, 256, 0, 256);
    expect(&f, 1, 0, 512);
    expect(&f, 0, 0, 768);
    expect(&f, 0, 0, 1024);
    assert_int_equal(f.chunks.count, 1);
    assert_int_equal(f.chunks.sizes[0], 1040);
    assert_int_equal(gpuc_executor_chunks_total(&f.chunks), 1040);
    gpuc_arena_deinit(&f.arena);
}

static void chunks_end_at_the_limit(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, 1024, 4096);
    expect(&f, 1024, 0, 0);
    expect(&f, 512, 1, 0);
    expect(&f, 513, 2, 0);
    expect(&f, 512, 1, 512);
    expect(&f, 16, 2, 768);
    expect(&f, 4096, 3, 0); /* larger than a binding, but it can be allocated: windows are for that */
    expect(&f, 16, 4, 0);
    gpuc_place p;
    gpuc_status s = gpuc_executor_chunks_add(&f.chunks, 4097, &p);
    assert_int_equal(gpuc_status_code(s), GPUC_OUT_OF_DEVICE_MEMORY);
    assert_non_null(
        strstr(gpuc_status_message(s), "4097 bytes exceed the device's largest allocation of 4096"));
    gpuc_status_release(s);
    for (uint32_t i = 5; i < 40; i++) expect(&f, 1000, i, 0);
    gpuc_arena_deinit(&f.arena);
}

static void no_limit_is_still_less_than_2_to_31(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, 0, 0);
    expect(&f, (uint64_t)1 << 30, 0, 0);
    expect(&f, (uint64_t)1 << 30, 1, 0);
    expect(&f, (uint64_t)1 << 29, 0, (uint64_t)1 << 30);
    expect(&f, (uint64_t)5 << 30, 2, 0);
    gpuc_place p;
    gpuc_status s = gpuc_executor_chunks_add(&f.chunks, UINT64_MAX, &p);
    assert_int_equal(gpuc_status_code(s), GPUC_OUT_OF_DEVICE_MEMORY);
    gpuc_status_release(s);
    gpuc_arena_deinit(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_sum),
        cmocka_unit_test(chunks_end_at_the_limit),
        cmocka_unit_test(no_limit_is_still_less_than_2_to_31),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
