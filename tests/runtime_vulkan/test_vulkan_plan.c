/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define N 1000

static int64_t float_bits(double v)
{
    int64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

static gpuc_step_tensor ref(uint32_t slot, uint8_t access, uint64_t offset, uint64_t size)
{
    return (gpuc_step_tensor){slot, access, offset, size, NULL};
}

static gpuc_binding whole(gpuc_buffer *b)
{
    return (gpuc_binding){b, 0, b->size};
}

static gpuc_plan *make_plan(vk_fixture *f, const gpuc_step *steps, uint32_t count)
{
    gpuc_plan *plan;
    vk_ok(f->api->plan_create(f->dev, steps, count, 0, &plan));
    return plan;
}

static void run(vk_fixture *f, gpuc_plan *plan, const gpuc_binding *slots, uint32_t count)
{
    vk_ok(f->api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = count}, NULL));
}

static gpuc_buffer *ramp(vk_fixture *f, size_t count, float scale)
{
    float *values = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) values[i] = scale * (float)i;
    gpuc_buffer *b = vk_buffer(f, count * sizeof(float));
    vk_write(f, b, 0, values, count * sizeof(float));
    free(values);
    return b;
}

/* a, b and c at element offsets of one buffer each; the last element is not in a full group. */
static void vector_add(vk_fixture *f, const gpuc_kernel *kernel)
{
    gpuc_code_module *m = vk_module(f, &kernel, 1);
    gpuc_buffer *a = ramp(f, N + 3, 1), *b = ramp(f, N + 10, 100), *c = ramp(f, N + 20, 0);
    gpuc_step_tensor tensors[] = {ref(0, 1, 12, 4 * N), ref(1, 1, 40, 4 * N), ref(2, 2, 68, 4 * N)};
    int64_t n = N;
    gpuc_step step = {m, 0, 3, 1, tensors, &n, {(N + 63) / 64, 1, 1}, NULL};
    gpuc_plan *plan = make_plan(f, &step, 1);
    gpuc_binding slots[] = {whole(a), whole(b), whole(c)};
    uint64_t before = f->dev->launches;
    for (int i = 0; i < 3; i++) run(f, plan, slots, 3);
    assert_int_equal(f->dev->launches - before, 3);
    float out[N + 20];
    vk_read(f, c, 0, out, sizeof out);
    for (int i = 0; i < N + 20; i++) {
        int k = i - 17;
        float want = k < 0 || k >= N ? 0 : (float)(k + 3) + 100 * (float)(k + 10);
        if (out[i] != want) fail_msg("element %d is %f, not %f", i, (double)out[i], (double)want);
    }
    f->api->plan_destroy(plan);
    f->api->free_data_space(f->dev, a);
    f->api->free_data_space(f->dev, b);
    f->api->free_data_space(f->dev, c);
    f->api->module_release(f->dev, m);
}

static void test_vector_add(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        vk_fixture f;
        vk_init(&f);
        vk_open(&f);
        gpuc_vk_set_push_descriptors(f.dev, mode & 1);
        gpuc_vk_set_force_staging(f.dev, mode & 2);
        vector_add(&f, &vk_vadd);
        vector_add(&f, &vk_vadd_uniform);
        vk_close(&f);
    }
}

static void test_scalars(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_scalars;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *out = ramp(&f, 16, 0);
    gpuc_step_tensor tensor = ref(0, 2, 4, 20);
    int64_t scalars[] = {-5, INT64_C(0x123456789abcdef0), float_bits(1.5), 9};
    gpuc_step step = {m, 0, 1, 4, &tensor, scalars, {1, 1, 1}, NULL};
    gpuc_plan *plan = make_plan(&f, &step, 1);
    gpuc_binding slot = whole(out);
    run(&f, plan, &slot, 1);
    int32_t got[7];
    vk_read(&f, out, 0, got, sizeof got);
    const int32_t want[7] = {0, -5, (int32_t)0x9abcdef0, 0x12345678, 0x3fc00000, 9, 0};
    assert_memory_equal(got, want, sizeof want);
    f.api->plan_destroy(plan);

    scalars[0] = INT64_C(1) << 40;
    plan = make_plan(&f, &step, 1);
    vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = &slot, .count = 1}, NULL), GPUC_INVALID_ARGUMENT,
             "step 0: kernel scalars: scalar 0 is 1099511627776");
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, out);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

/* ---- Chains ---------------------------------------------------------------------------------- */

#define CHAIN 40

/* x, y, x, y, ...: every step reads what the last one wrote, and overwrites what it read. */
static gpuc_plan *chain_plan(vk_fixture *f, gpuc_code_module *m, bool copies, uint32_t flags)
{
    gpuc_step steps[CHAIN];
    gpuc_step_tensor tensors[CHAIN][2];
    int64_t scalars[2] = {float_bits(1.0), N};
    for (uint32_t i = 0; i < CHAIN; i++) {
        tensors[i][0] = ref(i % 2, 1, 0, 4 * N);
        tensors[i][1] = ref((i + 1) % 2, 2, 0, 4 * N);
        bool copy = copies && i % 4 >= 2;
        steps[i] = copy ? (gpuc_step){NULL, 0, 2, 0, tensors[i], NULL, {0}, NULL}
                        : (gpuc_step){m, 0, 2, 2, tensors[i], scalars, {(N + 63) / 64, 1, 1}, NULL};
    }
    gpuc_plan *plan;
    vk_ok(f->api->plan_create(f->dev, steps, CHAIN, flags, &plan));
    return plan;
}

static void check_ramp(vk_fixture *f, gpuc_buffer *b, float first)
{
    float out[N];
    vk_read(f, b, 0, out, sizeof out);
    for (int i = 0; i < N; i++)
        if (out[i] != (float)i + first)
            fail_msg("element %d is %f, not %f", i, (double)out[i], (double)i + first);
}

static void chain(bool copies, double cut_cost, bool staging)
{
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    if (cut_cost > 0) gpuc_vk_set_cut_cost(f.dev, cut_cost);
    gpuc_vk_set_force_staging(f.dev, staging);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 0);
    gpuc_plan *plan = chain_plan(&f, m, copies, 0);
    gpuc_binding slots[] = {whole(x), whole(y)};
    /* Runs follow each other without a sync: the recorded commands are pending twice. */
    for (int r = 0; r < 5; r++) run(&f, plan, slots, 2);
    vk_ok(f.api->stream_sync(f.dev, NULL));
    check_ramp(&f, x, 5.0f * (copies ? CHAIN / 2 : CHAIN));
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_chain(void **state)
{
    (void)state;
    chain(false, 0, false);
    chain(true, 0, false);
}

static void test_chain_cut(void **state)
{
    (void)state;
    chain(false, 1, false);    /* a submission per kernel */
    chain(true, 250000, true); /* a few per submission */
}

/* Nothing here is read after it was written: only overwritten after a read, and after a write. */
static void test_overwriting(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 0), *z = ramp(&f, N, 10);
    int64_t scalars[2] = {float_bits(1.0), N};
    gpuc_step_tensor x_to_y[] = {ref(0, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    gpuc_step_tensor z_to_x[] = {ref(2, 1, 0, 4 * N), ref(0, 2, 0, 4 * N)};
    gpuc_step_tensor z_to_y[] = {ref(2, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    gpuc_step steps[] = {{m, 0, 2, 2, x_to_y, scalars, {16, 1, 1}, NULL},
                         {m, 0, 2, 2, z_to_x, scalars, {16, 1, 1}, NULL},
                         {NULL, 0, 2, 0, z_to_x, NULL, {0}, NULL},
                         {m, 0, 2, 2, z_to_y, scalars, {16, 1, 1}, NULL}};
    gpuc_plan *plan = make_plan(&f, steps, 4);
    gpuc_binding slots[] = {whole(x), whole(y), whole(z)};
    run(&f, plan, slots, 3);
    float out[N];
    vk_read(&f, x, 0, out, sizeof out);
    for (int i = 0; i < N; i++) assert_true(out[i] == 10 * (float)i);
    vk_read(&f, y, 0, out, sizeof out);
    for (int i = 0; i < N; i++) assert_true(out[i] == 10 * (float)i + 1);
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->free_data_space(f.dev, z);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

/* The layer must see a dependence without a barrier: else its silence says nothing. */
static void test_planted_hazard(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    f.quiet = true;
    vk_open(&f);
    gpuc_vk_set_barriers(f.dev, false);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 0);
    gpuc_plan *plan = chain_plan(&f, m, false, 0);
    gpuc_binding slots[] = {whole(x), whole(y)};
    run(&f, plan, slots, 2);
    vk_ok(f.api->stream_sync(f.dev, NULL));
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->module_release(f.dev, m);
    vk_close(&f);
    assert_true(f.hazard_reported);
}

/* ---- Bindings -------------------------------------------------------------------------------- */

/* More sets of bindings than a plan keeps, in turn, with buffers that die between. */
static void test_changing_bindings(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernels[] = {&vk_affine, &vk_texel_copy, &vk_vadd_uniform};
    gpuc_code_module *m = vk_module(&f, kernels, 3);
    int64_t affine_args[2] = {float_bits(1.0), N}, n = N;
    gpuc_step_tensor first[] = {ref(0, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    gpuc_step_tensor second[] = {ref(1, 1, 0, 4 * N), ref(2, 2, 0, 4 * N)};
    gpuc_step_tensor third[] = {ref(1, 1, 0, 4 * N), ref(2, 1, 0, 4 * N), ref(0, 2, 0, 4 * N)};
    gpuc_step steps[] = {{m, 0, 2, 2, first, affine_args, {16, 1, 1}, NULL},
                         {m, 1, 2, 1, second, &n, {16, 1, 1}, NULL},
                         {m, 2, 3, 1, third, &n, {16, 1, 1}, NULL}};
    for (int push = 0; push < 2; push++) {
        gpuc_plan *plan = make_plan(&f, steps, 3);
        gpuc_buffer *fixed = ramp(&f, N, 0);
        for (int round = 0; round < 12; round++) {
            gpuc_buffer *x[6], *y[6];
            for (int i = 0; i < 6; i++) {
                x[i] = ramp(&f, N, 1);
                y[i] = ramp(&f, N, 0);
                gpuc_binding slots[] = {whole(x[i]), whole(fixed), whole(y[i])};
                run(&f, plan, slots, 3);
            }
            for (int i = 0; i < 6; i++) {
                float out[N];
                bool look = round % 2 && i % 2; /* the others are freed while in use */
                if (look) vk_read(&f, x[i], 0, out, sizeof out);
                for (int k = 0; look && k < N; k++)
                    if (out[k] != 2 * (float)(k + 1))
                        fail_msg("round %d: element %d is %f", round, k, (double)out[k]);
                f.api->free_data_space(f.dev, x[i]);
                f.api->free_data_space(f.dev, y[i]);
            }
        }
        f.api->plan_destroy(plan);
        f.api->free_data_space(f.dev, fixed);
        f.api->module_release(f.dev, m);
        gpuc_vk_set_push_descriptors(f.dev, false);
        m = steps[0].module = steps[1].module = steps[2].module = vk_module(&f, kernels, 3);
    }
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

/* An input that is written while the last run still reads it: the write waits its turn. */
static void test_write_behind_a_run(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_vadd;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *a = ramp(&f, N, 0), *sum = ramp(&f, N, 0);
    gpuc_step_tensor add[] = {ref(0, 1, 0, 4 * N), ref(1, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    int64_t n = N;
    gpuc_step step = {m, 0, 3, 1, add, &n, {16, 1, 1}, NULL};
    gpuc_plan *plan = make_plan(&f, &step, 1);
    gpuc_binding slots[] = {whole(a), whole(sum)};
    float values[N], total = 0;
    for (int r = 1; r <= 30; r++) {
        for (int i = 0; i < N; i++) values[i] = (float)r;
        vk_write(&f, a, 0, values, sizeof values);
        run(&f, plan, slots, 2);
        total += (float)r;
    }
    vk_read(&f, sum, 0, values, sizeof values);
    for (int i = 0; i < N; i++) assert_true(values[i] == total);
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, a);
    f.api->free_data_space(f.dev, sum);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_shared_binding(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_shift;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *arena = ramp(&f, 4 * N, 1), *other = ramp(&f, N, 1);
    gpuc_step_tensor one[] = {ref(0, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    gpuc_step_tensor two[] = {ref(1, 1, 0, 4 * N), ref(0, 2, 8 * N, 4 * N)};
    int64_t n = N;
    gpuc_step steps[] = {{m, 0, 2, 1, one, &n, {16, 1, 1}, NULL}, {m, 0, 2, 1, two, &n, {16, 1, 1}, NULL}};
    gpuc_plan *plan = make_plan(&f, steps, 2);
    gpuc_binding slots[] = {{arena, 0, 12 * N}, {arena, 12 * N, 4 * N}};
    run(&f, plan, slots, 2);
    float out[4 * N];
    vk_read(&f, arena, 0, out, sizeof out);
    for (int i = 0; i < N; i++) {
        assert_true(out[i] == (float)i);
        assert_true(out[N + i] == (float)(N + i));
        assert_true(out[2 * N + i] == (float)(i + 2));
        assert_true(out[3 * N + i] == (float)(i + 1));
    }
    gpuc_binding apart[] = {{arena, 0, 12 * N}, {other, 0, 4 * N}};
    vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = apart, .count = 2}, NULL), GPUC_INVALID_ARGUMENT,
             "plan: step 0: kernel shift: tensor 1 shares binding 0 with one of another buffer");
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, arena);
    f.api->free_data_space(f.dev, other);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_texels(void **state)
{
    (void)state;
    for (int push = 0; push < 2; push++) {
        vk_fixture f;
        vk_init(&f);
        vk_open(&f);
        gpuc_vk_set_push_descriptors(f.dev, push);
        const gpuc_kernel *kernel = &vk_texel_copy;
        gpuc_code_module *m = vk_module(&f, &kernel, 1);
        gpuc_buffer *in = ramp(&f, N + 8, 1), *out = ramp(&f, N, 0);
        gpuc_step_tensor tensors[] = {ref(0, 1, 32, 4 * (N - 1)), ref(1, 2, 4, 4 * (N - 1))};
        int64_t n = N - 1; /* the last texel is cut off by the end of the tensor */
        gpuc_step step = {m, 0, 2, 1, tensors, &n, {16, 1, 1}, NULL};
        gpuc_plan *plan = make_plan(&f, &step, 1);
        gpuc_binding slots[] = {whole(in), whole(out)};
        run(&f, plan, slots, 2);
        float got[N];
        vk_read(&f, out, 0, got, sizeof got);
        for (int i = 1; i < N; i++) assert_true(got[i] == (float)(i + 7));
        f.api->plan_destroy(plan);

        tensors[0].offset = 20; /* no texel starts there */
        plan = make_plan(&f, &step, 1);
        vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL),
                 GPUC_INVALID_ARGUMENT, "tensor 0 is at byte 20 of its buffer, no multiple of 16");
        f.api->plan_destroy(plan);
        f.api->free_data_space(f.dev, in);
        f.api->free_data_space(f.dev, out);
        f.api->module_release(f.dev, m);
        vk_close(&f);
    }
}

static void test_subgroup_size(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    int64_t size = gpuc_device_get_attr(f.dev, GPUC_ATTR_WARP_SIZE).i;
    bool usable = (gpuc_device_get_attr(f.dev, GPUC_ATTR_FEATURES).i & GPUC_FEATURE_SUBGROUP) &&
                  gpuc_device_get_attr(f.dev, GPUC_ATTR_SUBGROUP_SIZE_CONTROL).i;
    if (usable) {
        const gpuc_kernel *kernel = &vk_subgroup_sum;
        vk_subgroup_sum.subgroup_size = (uint32_t)size;
        gpuc_code_module *m = vk_module(&f, &kernel, 1);
        gpuc_buffer *in = ramp(&f, 64, 1), *out = ramp(&f, 64, 0);
        gpuc_step_tensor tensors[] = {ref(0, 1, 0, 256), ref(1, 2, 0, 256)};
        int64_t n = 64;
        gpuc_step step = {m, 0, 2, 1, tensors, &n, {1, 1, 1}, NULL};
        gpuc_plan *plan = make_plan(&f, &step, 1);
        gpuc_binding slots[] = {whole(in), whole(out)};
        run(&f, plan, slots, 2);
        float got[64];
        vk_read(&f, out, 0, got, sizeof got);
        for (int64_t i = 0; i < 64; i++) {
            int64_t first = i / size * size;
            assert_true(got[i] == (float)(first * size + size * (size - 1) / 2));
        }
        f.api->plan_destroy(plan);
        f.api->free_data_space(f.dev, in);
        f.api->free_data_space(f.dev, out);
        f.api->module_release(f.dev, m);

        size_t bytes;
        void *blob = vk_blob(&kernel, 1, &bytes);
        vk_subgroup_sum.subgroup_size = 3;
        vk_fails(f.api->module_load(f.dev, "spirv", blob, bytes, &kernel, 1, &m), GPUC_DEVICE_UNAVAILABLE,
                 "subgroups of 3 are needed");
        vk_subgroup_sum.subgroup_size = (uint32_t)size;
        vk_subgroup_sum.local_size[0] = (uint32_t)size + 1;
        vk_fails(f.api->module_load(f.dev, "spirv", blob, bytes, &kernel, 1, &m), GPUC_DEVICE_UNAVAILABLE,
                 "full subgroups");
        vk_subgroup_sum.local_size[0] = 64;
        free(blob);
    }
    vk_close(&f);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void test_empty_steps(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_plan *none = make_plan(&f, NULL, 0);
    run(&f, none, NULL, 0);
    f.api->plan_destroy(none);

    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 0);
    gpuc_step_tensor empty[] = {ref(0, 1, 4 * N, 0), ref(1, 2, 4 * N, 0)};
    gpuc_step_tensor full[] = {ref(0, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    int64_t scalars[] = {float_bits(1), N}, nothing[] = {float_bits(1), 0};
    gpuc_step steps[] = {{m, 0, 2, 2, empty, nothing, {0, 1, 1}, NULL},
                         {NULL, 0, 2, 0, empty, NULL, {0}, NULL},
                         {m, 0, 2, 2, empty, nothing, {1, 1, 1}, NULL}, /* launched on empty tensors */
                         {m, 0, 2, 2, full, scalars, {16, 1, 1}, NULL}};
    gpuc_plan *plan = make_plan(&f, steps, 4);
    gpuc_binding slots[] = {whole(x), whole(y)};
    uint64_t before = f.dev->launches;
    run(&f, plan, slots, 2);
    assert_int_equal(f.dev->launches - before, 2);
    check_ramp(&f, y, 1);
    f.api->plan_destroy(plan);
    plan = make_plan(&f, steps, 2); /* all of it empty: no buffer is needed */
    run(&f, plan, NULL, 0);
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_bad_plans(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_step_tensor tensors[] = {ref(0, 1, 0, 4 * N), ref(1, 2, 0, 4 * N)};
    int64_t scalars[] = {float_bits(1), N};
    gpuc_step step = {m, 0, 1, 2, tensors, scalars, {16, 1, 1}, NULL};
    gpuc_plan *plan;
    vk_fails(f.api->plan_create(f.dev, &step, 1, 0, &plan), GPUC_INVALID_ARGUMENT,
             "step 0: kernel affine: it gives 1 tensors and 2 scalars, not 2 and 2");
    step.num_tensors = 2;
    step.kernel = 7;
    vk_fails(f.api->plan_create(f.dev, &step, 1, 0, &plan), GPUC_INVALID_ARGUMENT, "names no kernel");
    step.kernel = 0;
    step.launch[1] = 1u << 30;
    vk_fails(f.api->plan_create(f.dev, &step, 1, 0, &plan), GPUC_INVALID_ARGUMENT,
             "1073741824 work-groups in y");
    step.launch[1] = 1;
    gpuc_step copy = {NULL, 0, 2, 0, (gpuc_step_tensor[]){ref(0, 1, 0, 4), ref(1, 2, 0, 8)}, NULL, {0}, NULL};
    vk_fails(f.api->plan_create(f.dev, &copy, 1, 0, &plan), GPUC_INVALID_ARGUMENT, "step 0: it is a copy");

    plan = make_plan(&f, &step, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *small = ramp(&f, N / 2, 1);
    vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = (gpuc_binding[]){whole(x)}, .count = 1}, NULL),
             GPUC_INVALID_ARGUMENT, "slot 1 is not bound");
    vk_fails(f.api->plan_run(
                 plan, &(gpuc_bindings){.slots = (gpuc_binding[]){whole(x), whole(small)}, .count = 2}, NULL),
             GPUC_INVALID_ARGUMENT, "slot 1: 4000 bytes at 0 exceed the 2000 bytes that are bound");
    vk_fails(
        f.api->plan_run(
            plan, &(gpuc_bindings){.slots = (gpuc_binding[]){whole(x), {small, 0, 4 * N}}, .count = 2}, NULL),
        GPUC_INVALID_ARGUMENT, "slot 1: the binding exceeds its buffer of 2000 bytes");
    vk_fails(
        f.api->plan_run(
            plan, &(gpuc_bindings){.slots = (gpuc_binding[]){{x, 2, 4 * N - 2}, whole(x)}, .count = 2}, NULL),
        GPUC_INVALID_ARGUMENT, "slot 0");
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, small);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

/* A tensor above the largest range of a storage binding is an error by name, unless texels read it. */
static void test_large_range(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernels[] = {&vk_affine, &vk_texel_copy};
    gpuc_code_module *m = vk_module(&f, kernels, 2);
    int64_t range = gpuc_device_get_attr(f.dev, GPUC_ATTR_MAX_BUFFER_RANGE).i;
    int64_t max = gpuc_device_get_attr(f.dev, GPUC_ATTR_MAX_ALLOC_BYTES).i;
    uint64_t size = (uint64_t)range + 4096;
    if (size <= (uint64_t)max && size < (UINT64_C(1) << 30)) {
        gpuc_buffer *big = vk_buffer(&f, size), *y = ramp(&f, N, 0);
        gpuc_step_tensor tensors[] = {ref(0, 1, 0, size), ref(1, 2, 0, 4 * N)};
        tensors[0].name = "big";
        int64_t scalars[] = {float_bits(1), N}, n = N;
        gpuc_step step = {m, 0, 2, 2, tensors, scalars, {16, 1, 1}, NULL};
        gpuc_binding slots[] = {whole(big), whole(y)};
        gpuc_plan *plan = make_plan(&f, &step, 1);
        vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL), GPUC_UNSUPPORTED,
                 "'big') covers");
        f.api->plan_destroy(plan);
        float values[N];
        for (int i = 0; i < N; i++) values[i] = (float)i;
        vk_write(&f, big, 0, values, sizeof values);
        step = (gpuc_step){m, 1, 2, 1, tensors, &n, {16, 1, 1}, NULL};
        plan = make_plan(&f, &step, 1);
        if (size / 16 <= (uint64_t)gpuc_device_get_attr(f.dev, GPUC_ATTR_MAX_TEXELS).i) {
            run(&f, plan, slots, 2);
            check_ramp(&f, y, 0);
        } else {
            vk_fails(f.api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL),
                     GPUC_UNSUPPORTED, "texels");
        }
        f.api->plan_destroy(plan);
        f.api->free_data_space(f.dev, big);
        f.api->free_data_space(f.dev, y);
    }
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

/* ---- A lost device --------------------------------------------------------------------------- */

static void lose(strict_options options)
{
    vk_fixture f;
    vk_init(&f);
    f.strict = true;
    f.options = options;
    f.quiet = true; /* objects are destroyed while the layer thinks that they are in use */
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 1);
    gpuc_plan *plan = chain_plan(&f, m, true, 0);
    gpuc_binding slots[] = {whole(x), whole(y)};
    gpuc_bindings bindings = {.slots = slots, .count = 2};
    gpuc_status s = f.api->plan_run(plan, &bindings, NULL);
    if (!s) s = f.api->stream_sync(f.dev, NULL);
    vk_fails(s, GPUC_DEVICE_LOST, "VK_ERROR_DEVICE_LOST");
    /* From now on everything says so, and closing does not hang. */
    float one;
    vk_fails(f.api->plan_run(plan, &bindings, NULL), GPUC_DEVICE_LOST, "lost");
    vk_fails(f.api->stream_sync(f.dev, NULL), GPUC_DEVICE_LOST, "lost");
    const gpuc_step copy = {.num_tensors = 2,
                            .tensors = (gpuc_step_tensor[]){ref(0, 1, 0, 4), ref(1, 2, 0, 4)}};
    bool done;
    vk_fails(f.api->launch(f.dev, NULL, &copy, &bindings), GPUC_DEVICE_LOST, "lost");
    vk_fails(f.api->ticket_wait(f.dev, 0, GPUC_FOREVER, &done), GPUC_DEVICE_LOST, "lost");
    vk_fails(
        f.api->copy_data_from_to(f.dev, (gpuc_copy_end){.buffer = x}, (gpuc_copy_end){.host = &one}, 4, NULL),
        GPUC_DEVICE_LOST, "lost");
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_lost_device(void **state)
{
    (void)state;
    lose((strict_options){.lose_at_submit = 1});
    lose((strict_options){.lose_at_wait = 1});
}

static void test_profile(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, N, 1), *y = ramp(&f, N, 0);
    gpuc_plan *plain = chain_plan(&f, m, true, 0);
    double ns[CHAIN + 1];
    vk_fails(f.api->plan_profile(plain, ns, CHAIN), GPUC_INVALID_ARGUMENT, "without profiling");
    f.api->plan_destroy(plain);
    gpuc_vk_set_cut_cost(f.dev, 250000);
    gpuc_plan *plan = chain_plan(&f, m, true, GPUC_PLAN_PROFILING);
    vk_fails(f.api->plan_profile(plan, ns, CHAIN), GPUC_INVALID_ARGUMENT, "has not run");
    gpuc_binding slots[] = {whole(x), whole(y)};
    run(&f, plan, slots, 2);
    run(&f, plan, slots, 2);
    vk_ok(f.api->stream_sync(f.dev, NULL));
    vk_ok(f.api->plan_profile(plan, ns, CHAIN + 1));
    double total = 0;
    for (int i = 0; i < CHAIN; i++) {
        assert_true(ns[i] >= 0 && ns[i] < 1e10);
        total += ns[i];
    }
    assert_true(total > 0);
    assert_true(ns[CHAIN] == 0);
    check_ramp(&f, x, CHAIN);
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest planted[] = {cmocka_unit_test(test_planted_hazard)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_add),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_chain_cut),
        cmocka_unit_test(test_overwriting),
        cmocka_unit_test(test_changing_bindings),
        cmocka_unit_test(test_write_behind_a_run),
        cmocka_unit_test(test_shared_binding),
        cmocka_unit_test(test_texels),
        cmocka_unit_test(test_subgroup_size),
        cmocka_unit_test(test_empty_steps),
        cmocka_unit_test(test_bad_plans),
        cmocka_unit_test(test_large_range),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_lost_device),
    };
    if (argc > 1 && strcmp(argv[argc - 1], "hazard") == 0) return vk_run_tests(argc, argv, planted);
    return vk_run_tests(argc, argv, tests);
}
