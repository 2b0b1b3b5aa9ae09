/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include <gpuc/dlpack.h>

#include "fake_device.h"

static int deleted;

static void on_delete(DLManagedTensor *t)
{
    (void)t;
    deleted++;
}

typedef struct foreign {
    DLManagedTensor tensor;
    int64_t shape[3], strides[3];
    float data[100];
} foreign;

static void foreign_init(foreign *x)
{
    memset(x, 0, sizeof *x);
    deleted = 0;
    x->shape[0] = 2;
    x->shape[1] = 1;
    x->shape[2] = 3;
    x->strides[0] = 3;
    x->strides[1] = 77; /* of one element: any will do */
    x->strides[2] = 1;
    for (int i = 0; i < 100; i++) x->data[i] = (float)i;
    x->tensor.dl_tensor = (DLTensor){.data = x->data,
                                     .device = {kDLCPU, 0},
                                     .ndim = 3,
                                     .dtype = {kDLFloat, 32, 1},
                                     .shape = x->shape,
                                     .strides = x->strides,
                                     .byte_offset = 40};
    x->tensor.deleter = on_delete;
}

static void cpu_memory_is_shared(void **state)
{
    (void)state;
    fixture f;
    foreign x;
    gpuc_ndarray *a;
    fixture_init(&f);
    foreign_init(&x);
    expect_success(gpuc_ndarray_from_dlpack(f.rt, &x.tensor, &a));
    assert_ptr_equal(gpuc_ndarray_host(a), &x.data[10]); /* byte_offset, and no copy */
    assert_int_equal(gpuc_ndarray_bytes(a), 24);
    assert_int_equal(deleted, 0);
    gpuc_ndarray_release(a);
    assert_int_equal(deleted, 1);
    x.tensor.dl_tensor.strides = NULL;
    x.tensor.deleter = NULL;
    expect_success(gpuc_ndarray_from_dlpack(f.rt, &x.tensor, &a));
    gpuc_ndarray_release(a);
    fixture_deinit(&f);
}

static void bad_tensors_stay_with_the_caller(void **state)
{
    (void)state;
    fixture f;
    foreign x;
    gpuc_ndarray *a;
    fixture_init(&f);
    DLTensor *t = &x.tensor.dl_tensor;
#define REFUSE(change, code, part)                                                                           \
    do {                                                                                                     \
        foreign_init(&x);                                                                                    \
        change;                                                                                              \
        expect_failure(gpuc_ndarray_from_dlpack(f.rt, &x.tensor, &a), code, part);                           \
        assert_int_equal(deleted, 0);                                                                        \
    } while (0)
    REFUSE(x.strides[0] = 6, GPUC_UNSUPPORTED, "stride 6 of dimension 0, where a compact array has 3");
    REFUSE(x.strides[2] = -1, GPUC_UNSUPPORTED, "stride -1 of dimension 2");
    REFUSE(x.shape[1] = -1, GPUC_INVALID_ARGUMENT, "dimension 1 of an array is -1");
    REFUSE(x.shape[1] = INT64_MAX, GPUC_INVALID_ARGUMENT, "address space");
    REFUSE(t->byte_offset = 41, GPUC_INVALID_ARGUMENT, "byte_offset 41");
    REFUSE(t->data = NULL, GPUC_INVALID_ARGUMENT, "data is NULL");
    REFUSE(t->shape = NULL, GPUC_INVALID_ARGUMENT, "shape is NULL");
    REFUSE(t->ndim = -3, GPUC_INVALID_ARGUMENT, "-3 dimensions");
    REFUSE(t->dtype.code = kDLComplex, GPUC_INVALID_ARGUMENT, "DLPack tensor: code5_32");
    REFUSE(t->device.device_type = kDLCUDA, GPUC_UNSUPPORTED, "device type 2");
    fixture_deinit(&f);
}

static void empty_tensors(void **state)
{
    (void)state;
    fixture f;
    foreign x;
    gpuc_ndarray *a;
    fixture_init(&f);
    foreign_init(&x);
    x.shape[1] = 0;
    x.strides[0] = 99;
    x.tensor.dl_tensor.data = NULL;
    expect_success(gpuc_ndarray_from_dlpack(f.rt, &x.tensor, &a));
    assert_int_equal(gpuc_ndarray_bytes(a), 0);
    DLManagedTensor *out;
    expect_success(gpuc_ndarray_to_dlpack(a, &out));
    assert_int_equal(out->dl_tensor.shape[1], 0);
    out->deleter(out);
    gpuc_ndarray_release(a);
    fixture_deinit(&f);
}

static void export_retains(void **state)
{
    (void)state;
    fixture f;
    gpuc_ndarray *a, *b;
    DLManagedTensor *t;
    fixture_init(&f);
    const int64_t dims[] = {2, 3, 4};
    expect_success(gpuc_ndarray_create(f.rt, NULL, GPUC_BOOL, 3, dims, &a));
    expect_success(gpuc_ndarray_to_dlpack(a, &t));
    gpuc_ndarray_release(a);
    assert_int_equal(t->dl_tensor.dtype.code, 6);
    assert_int_equal(t->dl_tensor.device.device_type, kDLCPU);
    assert_int_equal(t->dl_tensor.ndim, 3);
    assert_memory_equal(t->dl_tensor.shape, dims, sizeof dims);
    const int64_t strides[] = {12, 4, 1};
    assert_memory_equal(t->dl_tensor.strides, strides, sizeof strides);
    ((uint8_t *)t->dl_tensor.data)[23] = 1;
    expect_success(gpuc_ndarray_from_dlpack(f.rt, t, &b)); /* and back in */
    assert_int_equal(((uint8_t *)gpuc_ndarray_host(b))[23], 1);
    gpuc_ndarray_release(b);
    fixture_deinit(&f);
}

static void device_arrays_pass_their_buffer(void **state)
{
    (void)state;
    fixture f, g;
    gpuc_ndarray *a, *b;
    DLManagedTensor *t;
    fixture_init(&f);
    fixture_init(&g);
    gpuc_device *dev = fixture_device(&f, GPUC_DEVICE_VULKAN, 1);
    const int64_t dims[] = {8}, half[] = {4};
    expect_success(gpuc_ndarray_create(f.rt, dev, GPUC_INT32, 1, dims, &a));
    const int32_t in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int32_t out[4];
    expect_success(gpuc_ndarray_write(a, in, sizeof in));
    expect_success(gpuc_ndarray_to_dlpack(a, &t));
    gpuc_ndarray_release(a);
    assert_int_equal(t->dl_tensor.device.device_type, kDLVulkan);
    assert_int_equal(t->dl_tensor.device.device_id, 1);
    expect_failure(gpuc_ndarray_from_dlpack(g.rt, t, &b), GPUC_INVALID_ARGUMENT, "another device or runtime");
    t->dl_tensor.byte_offset = 16;
    expect_failure(gpuc_ndarray_from_dlpack(f.rt, t, &b), GPUC_INVALID_ARGUMENT, "does not fit");
    t->dl_tensor.shape[0] = half[0];
    expect_success(gpuc_ndarray_from_dlpack(f.rt, t, &b));
    expect_success(gpuc_ndarray_read(b, out, sizeof out));
    assert_memory_equal(out, in + 4, sizeof out);
    gpuc_ndarray_release(b);

    /* The CPU device's memory is an address to others. */
    expect_success(
        gpuc_ndarray_create(f.rt, fixture_device(&f, GPUC_DEVICE_CPU, 0), GPUC_INT32, 1, dims, &a));
    expect_success(gpuc_ndarray_to_dlpack(a, &t));
    assert_int_equal(t->dl_tensor.device.device_type, kDLCPU);
    assert_ptr_equal(t->dl_tensor.data, gpuc_ndarray_host(a));
    t->deleter(t);
    gpuc_ndarray_release(a);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_memory_is_shared),
        cmocka_unit_test(bad_tensors_stay_with_the_caller),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(export_retains),
        cmocka_unit_test(device_arrays_pass_their_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
