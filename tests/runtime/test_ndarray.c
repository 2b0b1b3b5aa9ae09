/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include "fake_device.h"
#include "runtime/ndarray.h"

static void host_arrays(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a;
    fixture_init(&f);
    const int64_t dims[] = {2, 3, 5};
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_FLOAT32, 3, dims, &a));
    assert_int_equal(gpuc_ndarray_bytes(a), 120);
    assert_int_equal(gpuc_ndarray_ndim(a), 3);
    assert_memory_equal(gpuc_ndarray_dims(a), dims, sizeof dims);
    assert_true(gpuc_dtype_equal(gpuc_ndarray_dtype(a), GPUC_FLOAT32));
    assert_null(gpuc_ndarray_device(a));
    assert_null(gpuc_ndarray_binding(a).buffer);
    assert_int_equal((uintptr_t)gpuc_ndarray_host(a) % 256, 0);
    for (int i = 0; i < 30; i++) assert_true(((float *)gpuc_ndarray_host(a))[i] == 0);
    float in[30], out[30];
    for (int i = 0; i < 30; i++) in[i] = (float)i;
    expect_success(gpuc_ndarray_write(a, in, sizeof in));
    expect_success(gpuc_ndarray_read(a, out, sizeof out));
    assert_memory_equal(in, out, sizeof in);
    expect_failure(gpuc_ndarray_write(a, in, 119), GPUC_INVALID_ARGUMENT,
                   "cannot write 119 bytes: the array has 120");
    expect_failure(gpuc_ndarray_read(a, out, 0), GPUC_INVALID_ARGUMENT, "cannot read 0 bytes");
    gpuc_ndarray_release(gpuc_ndarray_retain(a));
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(NULL);
    fixture_deinit(&f);
}

static void scalars_and_empty_arrays(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a, *b;
    fixture_init(&f);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_INT64, 0, NULL, &a));
    assert_int_equal(gpuc_ndarray_bytes(a), 8);
    gpuc_ndarray_release(a);
    const int64_t empty[] = {3, 0, INT64_MAX};
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_INT64, 3, empty, &a));
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_INT64, 3, empty, &b));
    assert_int_equal(gpuc_ndarray_bytes(a), 0);
    expect_success(gpuc_ndarray_copy(a, b));
    expect_success(gpuc_ndarray_copy(b, a));
    expect_success(gpuc_ndarray_write(b, NULL, 0));
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    fixture_deinit(&f);
}

static void impossible_arrays(void **state)
{
    (void)state;
    fixture f, g;
    gpuc_ndarray *a = (gpuc_ndarray *)&f;
    fixture_init(&f);
    fixture_init(&g);
    const int64_t negative[] = {2, -1}, huge[] = {INT64_MAX, 2}, large[] = {INT64_MAX / 4, 1};
    expect_failure(gpuc_ndarray_create(f.rt, NULL, GPUC_INT8, 2, negative, &a), GPUC_INVALID_ARGUMENT,
                   "dimension 1 of an array is -1");
    assert_null(a);
    expect_failure(gpuc_ndarray_create(f.rt, NULL, GPUC_INT8, 2, huge, &a), GPUC_INVALID_ARGUMENT,
                   "address space");
    expect_failure(gpuc_ndarray_create(f.rt, NULL, GPUC_INT64, 2, large, &a), GPUC_INVALID_ARGUMENT,
                   "address space");
    expect_failure(gpuc_ndarray_create(f.rt, NULL, GPUC_INT8, -1, NULL, &a), GPUC_INVALID_ARGUMENT,
                   "-1 dimensions");
    expect_failure(gpuc_ndarray_create(f.rt, NULL, (gpuc_dtype){0, 3, 1}, 0, NULL, &a), GPUC_INVALID_ARGUMENT,
                   "int3");
    expect_failure(gpuc_ndarray_create(f.rt, NULL, (gpuc_dtype){0, 8, 0}, 0, NULL, &a), GPUC_INVALID_ARGUMENT,
                   "int8x0");
    expect_failure(
        gpuc_ndarray_create(f.rt, fixture_device(&g, GPUC_DEVICE_VULKAN, 0), GPUC_INT8, 0, NULL, &a),
        GPUC_INVALID_ARGUMENT, "another runtime");
    fixture_deinit(&f);
    fixture_deinit(&g);
}

static void fill(gpuc_ndarray *a, uint8_t first)
{
    size_t n = gpuc_ndarray_bytes(a);
    uint8_t *bytes = malloc(n);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(first + i * 7);
    expect_success(gpuc_ndarray_write(a, bytes, n));
    free(bytes);
}

static void expect_filled(const gpuc_ndarray *a, uint8_t first)
{
    size_t n = gpuc_ndarray_bytes(a);
    uint8_t *bytes = malloc(n);
    expect_success(gpuc_ndarray_read(a, bytes, n));
    for (size_t i = 0; i < n; i++) assert_int_equal(bytes[i], (uint8_t)(first + i * 7));
    free(bytes);
}

static void copies_between_all_places(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_device *places[] = {NULL, fixture_device(&f, GPUC_DEVICE_VULKAN, 0),
                             fixture_device(&f, GPUC_DEVICE_VULKAN, 1),
                             fixture_device(&f, GPUC_DEVICE_CPU, 0)};
    const int64_t dims[] = {(int64_t)9 << 20},
                  other[] = {3, (int64_t)3 << 20}; /* more than one stage buffer */
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            gpuc_ndarray *a, *b;
            expect_success(gpuc_ndarray_create(f.rt, places[i], GPUC_UINT8, 1, dims, &a));
            expect_success(gpuc_ndarray_create(f.rt, places[j], GPUC_UINT8, 2, other, &b));
            fill(a, (uint8_t)(i * 4 + j));
            expect_success(gpuc_ndarray_copy(a, b));
            expect_filled(b, (uint8_t)(i * 4 + j));
            gpuc_ndarray_release(a);
            gpuc_ndarray_release(b);
        }
    fixture_deinit(&f);
}

static void device_arrays_are_zero(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a;
    fixture_init(&f);
    const int64_t dims[] = {100003};
    for (int i = 0; i < 2; i++) {
        gpuc_device *dev = fixture_device(&f, i ? GPUC_DEVICE_CPU : GPUC_DEVICE_VULKAN, 0);
        expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_UINT8, 1, dims, &a));
        assert_ptr_equal(gpuc_ndarray_device(a), dev);
        gpuc_binding b = gpuc_ndarray_binding(a);
        assert_int_equal(b.size, 100003);
        assert_int_equal(b.buffer->size, 100016); /* room for a vector read of the last element */
        assert_int_equal(gpuc_ndarray_host(a) != NULL, i);
        uint8_t *bytes = malloc(100003);
        expect_success(gpuc_ndarray_read(a, bytes, 100003));
        for (int k = 0; k < 100003; k++) assert_int_equal(bytes[k], 0);
        free(bytes);
        gpuc_ndarray_release(a);
    }
    fixture_deinit(&f);
}

static void mismatched_copies(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a, *b, *c;
    fixture_init(&f);
    const int64_t four[] = {4}, five[] = {5};
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_FLOAT32, 1, four, &a));
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_INT32, 1, four, &b));
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_FLOAT32, 1, five, &c));
    expect_failure(gpuc_ndarray_copy(a, b), GPUC_INVALID_ARGUMENT, "array of float32 to one of int32");
    expect_failure(gpuc_ndarray_copy(a, c), GPUC_INVALID_ARGUMENT, "array of 4 elements to one of 5");
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    gpuc_ndarray_release(c);
    fixture_deinit(&f);
}

static void count_up(void *owner)
{
    ++*(int *)owner;
}

static void wrapped_memory(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_ndarray *whole, *part;
    int freed = 0;
    const int64_t ten[] = {10}, four[] = {4}, many[] = {100};
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_INT32, 1, ten, &whole));
    const int32_t in[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    int32_t out[4];
    expect_success(gpuc_ndarray_write(whole, in, sizeof in));
    gpuc_binding b = gpuc_ndarray_binding(whole);
    b.offset = 8;
    b.size = 16;
    expect_success(gpuc_ndarray_wrap(f.rt, b, NULL, GPUC_INT32, 1, four, count_up, &freed, &part));
    assert_int_equal(gpuc_ndarray_binding(part).offset, 8);
    expect_success(gpuc_ndarray_read(part, out, sizeof out));
    assert_memory_equal(out, in + 2, sizeof out);
    gpuc_ndarray_release(part);
    assert_int_equal(freed, 1);
    expect_failure(gpuc_ndarray_wrap(f.rt, b, NULL, GPUC_INT32, 1, ten, count_up, &freed, &part),
                   GPUC_INVALID_ARGUMENT, "40 bytes does not fit the 16");
    b.offset = 1000;
    b.size = 0;
    expect_failure(gpuc_ndarray_wrap(f.rt, b, NULL, GPUC_INT32, 1, four, count_up, &freed, &part),
                   GPUC_INVALID_ARGUMENT, "16 bytes does not fit the 0");
    assert_int_equal(freed, 1);
    gpuc_ndarray_release(whole);

    int32_t memory[4] = {1, 2, 3, 4};
    expect_success(
        gpuc_ndarray_wrap(f.rt, (gpuc_binding){0}, memory, GPUC_INT32, 1, four, NULL, NULL, &part));
    assert_ptr_equal(gpuc_ndarray_host(part), memory);
    gpuc_ndarray_release(part);
    expect_failure(
        gpuc_ndarray_wrap(f.rt, (gpuc_binding){.size = 16}, memory, GPUC_INT32, 1, many, NULL, NULL, &part),
        GPUC_INVALID_ARGUMENT, "does not fit");
    expect_failure(gpuc_ndarray_wrap(f.rt, (gpuc_binding){0}, NULL, GPUC_INT32, 1, many, NULL, NULL, &part),
                   GPUC_INVALID_ARGUMENT, "null address");
    fixture_deinit(&f);
}

static void overlap(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    gpuc_ndarray *whole, *other, *part[4];
    const int64_t ten[] = {10}, extents[] = {4, 4, 2, 0}, starts[] = {0, 12, 16, 20};
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 0);
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_INT32, 1, ten, &whole));
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_INT32, 1, ten, &other));
    for (int i = 0; i < 4; i++) {
        gpuc_binding b = gpuc_ndarray_binding(whole);
        b.offset = (size_t)starts[i];
        b.size = 0;
        expect_success(gpuc_ndarray_wrap(f.rt, b, NULL, GPUC_INT32, 1, &extents[i], NULL, NULL, &part[i]));
    }
    assert_true(gpuc_ndarray_overlap(whole, whole) && gpuc_ndarray_overlap(whole, part[2]));
    assert_true(gpuc_ndarray_overlap(part[0], part[1]) && gpuc_ndarray_overlap(part[2], part[1]));
    assert_false(gpuc_ndarray_overlap(part[0], part[2]));
    assert_false(gpuc_ndarray_overlap(whole, part[3]) || gpuc_ndarray_overlap(whole, other));
    for (int i = 0; i < 4; i++) gpuc_ndarray_release(part[i]);
    gpuc_ndarray_release(other);
    gpuc_ndarray_release(whole);
    fixture_deinit(&f);
}

static void arrays_outlive_the_runtime(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a;
    fixture_init(&f);
    const int64_t dims[] = {4};
    expect_success(
        gpuc_ndarray_create(f.rt, fixture_device(&f, GPUC_DEVICE_VULKAN, 0), GPUC_INT8, 1, dims, &a));
    gpuc_runtime_release(f.rt);
    assert_int_equal(f.vulkan.destroyed, 0);
    int32_t v = 7;
    expect_success(gpuc_ndarray_write(a, &v, 4));
    gpuc_ndarray_release(a);
    assert_int_equal(f.vulkan.destroyed, 1);
    assert_int_equal(f.vulkan.freed, 1);
    assert_int_equal(f.heap.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_arrays),
        cmocka_unit_test(scalars_and_empty_arrays),
        cmocka_unit_test(impossible_arrays),
        cmocka_unit_test(copies_between_all_places),
        cmocka_unit_test(device_arrays_are_zero),
        cmocka_unit_test(mismatched_copies),
        cmocka_unit_test(wrapped_memory),
        cmocka_unit_test(overlap),
        cmocka_unit_test(arrays_outlive_the_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
