/* SPDX-License-Identifier: Apache-2.0 */
/* Launches without a plan under the validation layer: descriptors, texel views and parameter blocks of a batch. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define N 1000

static gpuc_step_tensor ref(uint32_t slot, uint8_t access)
{
    return (gpuc_step_tensor){slot, access, 0, 4 * N, NULL};
}

static gpuc_buffer *ramp(vk_fixture *f, float scale)
{
    float values[N];
    for (int i = 0; i < N; i++) values[i] = scale * (float)i;
    gpuc_buffer *b = vk_buffer(f, sizeof values);
    vk_write(f, b, 0, values, sizeof values);
    return b;
}

/* x = 2 (x + 1): through fixed and y. */
static void round_trip(vk_fixture *f, gpuc_code_module *m, gpuc_stream *s, gpuc_buffer *x, gpuc_buffer *fixed,
                       gpuc_buffer *y)
{
    double one = 1.0;
    int64_t affine_args[2] = {0, N}, n = N;
    memcpy(&affine_args[0], &one, sizeof one);
    gpuc_step_tensor first[] = {ref(0, 1), ref(1, 2)}, second[] = {ref(1, 1), ref(2, 2)};
    gpuc_step_tensor third[] = {ref(1, 1), ref(2, 1), ref(0, 2)}, copy[] = {ref(0, 1), ref(2, 2)};
    const gpuc_step steps[] = {{m, 0, 2, 2, first, affine_args, {16, 1, 1}, NULL},
                               {m, 1, 2, 1, second, &n, {16, 1, 1}, NULL},
                               {m, 2, 3, 1, third, &n, {16, 1, 1}, NULL},
                               {NULL, 0, 2, 0, copy, NULL, {0}, NULL},
                               {m, 2, 3, 1, third, &n, {0, 1, 1}, NULL}};
    gpuc_binding slots[] = {{x, 0, 4 * N}, {fixed, 0, 4 * N}, {y, 0, 4 * N}};
    for (int i = 0; i < 5; i++)
        vk_ok(f->api->launch(f->dev, s, &steps[i], &(gpuc_bindings){.slots = slots, .count = 3}));
}

static void launch_all(vk_fixture *f, bool push, double cut_cost)
{
    gpuc_vk_set_push_descriptors(f->dev, push);
    gpuc_vk_set_cut_cost(f->dev, cut_cost);
    const gpuc_kernel *kernels[] = {&vk_affine, &vk_texel_copy, &vk_vadd_uniform};
    gpuc_code_module *m = vk_module(f, kernels, 3);
    gpuc_buffer *fixed = ramp(f, 0);
    gpuc_stream *streams[2] = {NULL};
    vk_ok(f->api->create_stream(f->dev, &streams[1]));
    for (int round = 0; round < 60; round++) {
        float out[N], later[N];
        gpuc_buffer *x = ramp(f, 1), *y = ramp(f, 0);
        gpuc_stream *s = streams[round % 2];
        uint64_t ticket;
        bool done;
        round_trip(f, m, s, x, fixed, y);
        vk_ok(f->api->read_later(f->dev, (gpuc_copy_end){.buffer = y}, later, sizeof later, s));
        bool look = round % 7 == 6; /* the others are freed while in use */
        if (look) vk_read(f, x, 0, out, sizeof out);
        f->api->free_data_space(f->dev, x);
        f->api->free_data_space(f->dev, y);
        vk_ok(f->api->stream_signal(f->dev, s, &ticket));
        vk_ok(f->api->stream_wait(f->dev, streams[1 - round % 2], ticket));
        vk_ok(f->api->ticket_wait(f->dev, ticket, GPUC_FOREVER, &done));
        for (int k = 0; k < N; k++)
            if (later[k] != 2 * (float)(k + 1) || (look && out[k] != later[k]))
                fail_msg("round %d: element %d is %f", round, k, (double)later[k]);
    }
    gpuc_buffer *x = ramp(f, 1), *y = ramp(f, 0);
    for (int i = 0; i < 200; i++) round_trip(f, m, streams[i % 2], x, fixed, y); /* several pools */
    f->api->module_release(f->dev, m);
    f->api->free_stream(f->dev, streams[1]);
    f->api->free_data_space(f->dev, x);
    f->api->free_data_space(f->dev, y);
    f->api->free_data_space(f->dev, fixed);
}

static void test_launches(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        vk_fixture f;
        vk_init(&f);
        vk_open(&f);
        gpuc_vk_set_force_staging(f.dev, mode & 2);
        launch_all(&f, mode & 1, 2e9);
        launch_all(&f, mode & 1, 30000);
        vk_close(&f);
    }
}

static void test_bad_launches(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernel = &vk_vadd;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    gpuc_buffer *x = ramp(&f, 1);
    gpuc_step_tensor tensors[] = {ref(0, 1), ref(0, 1), ref(0, 2)};
    gpuc_step_tensor copy[] = {ref(0, 1), {0, 2, 4, 4 * N - 4, NULL}};
    copy[0].size -= 4;
    int64_t n = INT64_C(1) << 40;
    gpuc_step step = {m, 0, 3, 1, tensors, &n, {16, 1, 1}, NULL};
    gpuc_binding slot = {x, 0, 4 * N};
    const gpuc_bindings bindings = {.slots = &slot, .count = 1};
    vk_fails(f.api->launch(f.dev, NULL, &step, &bindings), GPUC_INVALID_ARGUMENT,
             "launch: kernel vadd: scalar 0 is 1099511627776");
    step.launch[1] = 1 << 30;
    vk_fails(f.api->launch(f.dev, NULL, &step, &bindings), GPUC_INVALID_ARGUMENT,
             "1073741824 work-groups in y");
    tensors[1].slot = UINT32_MAX;
    vk_fails(f.api->launch(f.dev, NULL, &step, &bindings), GPUC_INVALID_ARGUMENT, "tensor 1: slot or offset");
    gpuc_step overlapping = {NULL, 0, 2, 0, copy, NULL, {0}, NULL};
    vk_fails(f.api->launch(f.dev, NULL, &overlapping, &bindings), GPUC_INVALID_ARGUMENT,
             "source and target of the copy overlap");
    f.api->free_data_space(f.dev, x);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_bad_launches),
    };
    return vk_run_tests(argc, argv, tests);
}
