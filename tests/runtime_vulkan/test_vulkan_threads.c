/* SPDX-License-Identifier: Apache-2.0 */
/* One device used by several threads, each with plans and buffers of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define THREADS 4
#define ROUNDS 25
#define N 3000

typedef struct worker {
    vk_fixture *f;
    gpuc_code_module *module;
    int number;
    gpuc_status error;
    bool wrong;
} worker;

static gpuc_status round_of(worker *w, gpuc_plan *plan, int round)
{
    const gpuc_device_api *api = w->f->api;
    gpuc_device *dev = w->f->dev;
    gpuc_buffer *x = NULL, *y = NULL;
    float values[N];
    for (int i = 0; i < N; i++) values[i] = (float)(i + w->number + round);
    gpuc_status s = api->alloc_data_space(dev, sizeof values, 0, &x);
    if (!s) s = api->alloc_data_space(dev, sizeof values + (size_t)round * 1000, 0, &y);
    if (!s)
        s = api->copy_data_from_to(dev, (gpuc_copy_end){.host = values}, (gpuc_copy_end){.buffer = x},
                                   sizeof values, NULL);
    gpuc_binding slots[] = {{x, 0, sizeof values}, {y, 0, sizeof values}};
    for (int i = 0; i < 3 && !s; i++)
        s = api->plan_run(plan, &(gpuc_bindings){.slots = slots, .count = 2}, NULL);
    if (!s && round % 3 == 0) s = api->stream_sync(dev, NULL);
    if (!s)
        s = api->copy_data_from_to(dev, (gpuc_copy_end){.buffer = y}, (gpuc_copy_end){.host = values},
                                   sizeof values, NULL);
    for (int i = 0; i < N && !s; i++)
        if (values[i] != 2 * (float)(i + w->number + round) + 1) w->wrong = true;
    if (x) api->free_data_space(dev, x);
    if (y) api->free_data_space(dev, y);
    return s;
}

static void *work(void *arg)
{
    worker *w = arg;
    double two = 2.0;
    int64_t scalars[2] = {0, N};
    memcpy(&scalars[0], &two, 8);
    gpuc_step_tensor tensors[] = {{0, 1, 0, 4 * N, NULL}, {1, 2, 0, 4 * N, NULL}};
    gpuc_step step = {w->module, 0, 2, 2, tensors, scalars, {(N + 63) / 64, 1, 1}, NULL};
    gpuc_plan *plan;
    w->error = w->f->api->plan_create(w->f->dev, &step, 1, 0, &plan);
    for (int round = 0; round < ROUNDS && !w->error; round++) w->error = round_of(w, plan, round);
    w->f->api->plan_destroy(plan);
    return NULL;
}

static void run_threads(bool staging)
{
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_vk_set_force_staging(f.dev, staging);
    const gpuc_kernel *kernel = &vk_affine;
    gpuc_code_module *m = vk_module(&f, &kernel, 1);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t before = f.dev->launches;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.f = &f, .module = m, .number = i * 10};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        vk_ok(workers[i].error);
        assert_false(workers[i].wrong);
    }
    assert_int_equal(f.dev->launches - before, THREADS * ROUNDS * 3);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_threads(void **state)
{
    (void)state;
    run_threads(false);
    run_threads(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return vk_run_tests(argc, argv, tests);
}
