/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"
#include "sample.h"

static gpuc_arena arena;

static int set_up(void **state)
{
    (void)state;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gpuc_arena_deinit(&arena);
    return 0;
}

static gpuc_status read_back(const gpuc_kernel *k, gpuc_kernel *out)
{
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_abi_kernel_write(&b, k);
    gpuc_reader r = {.data = (const uint8_t *)b.data, .size = b.size};
    gpuc_status status = gpuc_abi_kernel_read(&r, &arena, out);
    assert_true(status || r.pos == r.size);
    gpuc_buf_deinit(&b);
    return status;
}

static void round_trip(void **state)
{
    (void)state;
    gpuc_kernel k;
    expect_success(read_back(&sample_kernels[0], &k));
    assert_string_equal(k.name, "add_kernel0");
    assert_string_equal(k.label, "add");
    assert_int_equal(k.num_tensors, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const gpuc_kernel_tensor *a = &k.tensors[i], *b = &sample_tensors[i];
        assert_true(gpuc_dtype_equal(a->dtype, b->dtype) && a->access == b->access && a->texel == b->texel &&
                    a->image == b->image && a->alignment == b->alignment && a->binding == b->binding &&
                    a->texel_binding == b->texel_binding && a->windowed == b->windowed);
        assert_true(gpuc_dtype_equal(k.scalars[i], sample_scalars[i]));
    }
    int64_t end, symbols[9] = {[6] = 7};
    expect_success(gpuc_abi_xexpr_eval(k.tensors[2].end, symbols, 9, &end));
    assert_int_equal(end, 2048);
    assert_int_equal(k.local_size[0], 64);
    int64_t groups, n[3] = {1000, 0, 0};
    expect_success(gpuc_abi_xexpr_eval(k.launch[0], n, 3, &groups));
    assert_int_equal(groups, 63);
    int64_t iterations, scalars[3] = {0, 0, 70000};
    expect_success(gpuc_abi_xexpr_eval(k.iterations, scalars, 3, &iterations));
    assert_int_equal(iterations, 70001);
    assert_int_equal(k.features, GPUC_FEATURE_SUBGROUP | GPUC_FEATURE_INT64);
    assert_int_equal(k.subgroup_size, 32);
    assert_int_equal(k.shared_bytes, 1024);
    assert_true(k.params_in_buffer);
    assert_int_equal(k.cost_bytes, 48);
    assert_int_equal(k.cost_ops, -1);
}

static void parameter_layout(void **state)
{
    (void)state;
    uint32_t offsets[3];
    /* Three element offsets, then int32 at 12, float at 16, int64 at 24. */
    assert_int_equal(gpuc_abi_kernel_param_layout(&sample_kernels[0], offsets), 32);
    assert_int_equal(offsets[0], 12);
    assert_int_equal(offsets[1], 16);
    assert_int_equal(offsets[2], 24);
    assert_int_equal(gpuc_abi_kernel_param_layout(&sample_kernels[0], NULL), 32);
    gpuc_kernel none = {.num_tensors = 2};
    assert_int_equal(gpuc_abi_kernel_param_layout(&none, NULL), 8);
}

static void feature_names(void **state)
{
    (void)state;
    assert_string_equal(gpuc_feature_name(GPUC_FEATURE_FLOAT16), "float16");
    assert_string_equal(gpuc_feature_name(GPUC_FEATURE_STORAGE16), "storage16");
    assert_string_equal(gpuc_feature_name(GPUC_FEATURE_ATOMIC_FLOAT), "atomic_float");
    assert_string_equal(gpuc_feature_name(GPUC_FEATURE_FLOAT_CONTROLS), "float_controls");
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(gpuc_feature_name((gpuc_feature)(1 << i)),
                                    gpuc_feature_name((gpuc_feature)(1 << j)));
    assert_string_equal(gpuc_feature_name((gpuc_feature)(1 << GPUC_FEATURE_COUNT)), "unknown feature");
}

static void bad_metadata_is_refused(void **state)
{
    (void)state;
    gpuc_kernel k, back;
    gpuc_kernel_tensor t[3];
#define REFUSE(change, part)                                                                                 \
    do {                                                                                                     \
        k = sample_kernels[0];                                                                               \
        memcpy(t, sample_tensors, sizeof t);                                                                 \
        k.tensors = t;                                                                                       \
        change;                                                                                              \
        expect_failure(read_back(&k, &back), GPUC_INVALID_DATA, part);                                       \
    } while (0)
    REFUSE(k.name = "", "is not an identifier");
    REFUSE(k.name = "9a", "is not an identifier");
    REFUSE(k.name = "a-b", "'a-b' is not an identifier");
    REFUSE(t[0].dtype.lanes = 4, "kernel 'add_kernel0': tensor 0: float32x4 is not");
    REFUSE(t[1].dtype.code = 9, "tensor 1");
    REFUSE(t[2].access = 0, "tensor 2: access 0");
    REFUSE(t[2].access = 4, "tensor 2: access 4");
    static const gpuc_xinstr beyond[] = {{GPUC_XOP_DIM, 9}}, real[] = {{GPUC_XOP_DIM, 1}};
    REFUSE(t[2].begin = ((gpuc_xexpr){beyond, 1}), "window of tensor 2: size expression: symbol 9 of 9");
    REFUSE(t[2].end = ((gpuc_xexpr){real, 1}), "the end of a window uses scalar 1, which is a float");
    REFUSE(t[1].access = GPUC_ACCESS_READ_WRITE, "texel view");
    REFUSE(t[0].alignment = 0, "alignment 0");
    REFUSE(t[0].alignment = 12, "alignment 12");
    REFUSE(t[0].binding = 3, "binding 3 of 3");
    REFUSE(t[0].image = 3, "an image of 3 channels");
    REFUSE(t[1].image = 4, "read or written, and whole");
    REFUSE((t[0].image = 4, t[0].access = GPUC_ACCESS_READ_WRITE), "read or written, and whole");
    REFUSE((t[0].image = 4, t[0].dtype = GPUC_INT32), "uint8, float16 or float32");
    REFUSE(t[1].texel_binding = 9, "texel view is at binding 9");
    REFUSE(t[1].texel_binding = 2, "texel view is at binding 2");
    REFUSE(t[2].binding = 0, "binding 2 belongs to no tensor");
    REFUSE(k.num_bindings = 100, "100 bindings for 3 tensors");
    REFUSE(k.local_size[1] = 0, "local size 0");
    REFUSE((k.local_size[0] = 65536, k.local_size[1] = 2), "threads");
    REFUSE(k.subgroup_size = 33, "subgroup size 33");
    REFUSE(k.cost_ops = -2, "cost");
    REFUSE(k.scalars = ((gpuc_dtype[]){{2, 64, 1}, {0, 32, 1}, {0, 32, 1}}), "scalar 0 is float64");
    REFUSE(k.launch[1] = ((gpuc_xexpr)CODE(S(1))), "scalar 1, which is a float");
    REFUSE(k.launch[2] = ((gpuc_xexpr)CODE(S(3))), "launch size z: size expression: symbol 3 of 3");
    REFUSE(k.iterations = ((gpuc_xexpr)CODE(S(1))), "scalar 1, which is a float");
    REFUSE(k.iterations = ((gpuc_xexpr)CODE(S(3))), "loop iterations: size expression: symbol 3 of 3");
    k = sample_kernels[0];
    k.features = 1u << 31;
    expect_failure(read_back(&k, &back), GPUC_UNSUPPORTED, "unknown to this version");
}

static void truncation_is_refused(void **state)
{
    (void)state;
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_abi_kernel_write(&b, &sample_kernels[0]);
    for (size_t n = 0; n < b.size; n++) {
        gpuc_reader r = {.data = (const uint8_t *)b.data, .size = n};
        gpuc_kernel k;
        gpuc_status status = gpuc_abi_kernel_read(&r, &arena, &k);
        assert_int_equal(gpuc_status_code(status), GPUC_INVALID_DATA);
        assert_null(k.name);
        gpuc_status_release(status);
    }
    gpuc_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(parameter_layout),
        cmocka_unit_test(feature_names),
        cmocka_unit_test(bad_metadata_is_refused),
        cmocka_unit_test(truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
