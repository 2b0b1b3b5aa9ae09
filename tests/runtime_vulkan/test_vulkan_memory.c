/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define LIVE 200

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Random sizes and order; each buffer keeps its own bytes, so that no two overlap. */
static void test_suballocation(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_buffer *live[LIVE] = {0};
    uint32_t seed = 1, blocks;
    for (int i = 0; i < 4000; i++) {
        uint32_t k = next_random(&seed) % LIVE;
        if (live[k]) {
            uint32_t got = 0;
            size_t last = (live[k]->size - 4) / 4 * 4;
            vk_read(&f, live[k], 0, &got, 4);
            assert_int_equal(got, k);
            vk_read(&f, live[k], last, &got, 4);
            assert_int_equal(got, k);
            f.api->free_data_space(f.dev, live[k]);
            live[k] = NULL;
        } else {
            size_t size = 4 + next_random(&seed) % (i % 50 == 0 ? 3000000 : 20000);
            vk_ok(f.api->alloc_data_space(f.dev, size, i % 3 ? 0 : 1024, &live[k]));
            vk_write(&f, live[k], (size - 4) / 4 * 4, &k, 4);
            vk_write(&f, live[k], 0, &k, 4);
        }
    }
    uint64_t bytes = gpuc_vk_memory_in_use(f.dev, &blocks);
    assert_true(blocks < 12);
    vk_ok(f.api->stream_sync(f.dev, NULL));
    for (int k = 0; k < LIVE; k++)
        if (live[k]) f.api->free_data_space(f.dev, live[k]);
    assert_true(gpuc_vk_memory_in_use(f.dev, &blocks) < bytes);
    assert_true(blocks <= 4); /* staging, and an empty block of each type */
    vk_close(&f);
}

static void test_own_block(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    uint32_t before, with, after;
    uint64_t bytes = gpuc_vk_memory_in_use(f.dev, &before);
    gpuc_buffer *big = vk_buffer(&f, (size_t)100 << 20);
    assert_true(gpuc_vk_memory_in_use(f.dev, &with) - bytes < (size_t)101 << 20);
    assert_int_equal(with, before + 1);
    f.api->free_data_space(f.dev, big);
    assert_int_equal(gpuc_vk_memory_in_use(f.dev, &after), bytes);
    assert_int_equal(after, before);
    vk_close(&f);
}

/* More than the heap: the message says how much there is, and the device goes on. */
static void test_out_of_memory(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    f.strict = true;
    f.options.heap_bytes = (uint64_t)64 << 20;
    vk_open(&f);
    assert_int_equal(gpuc_device_get_attr(f.dev, GPUC_ATTR_TOTAL_GLOBAL_BYTES).i, 64 << 20);
    gpuc_buffer *held[64], *one;
    int count = 0;
    gpuc_status s;
    while (!(s = f.api->alloc_data_space(f.dev, 5 << 20, 0, &held[count]))) count++;
    assert_true(count >= 10);
    vk_fails(s, GPUC_OUT_OF_DEVICE_MEMORY, "5242880 bytes of device memory asked for");
    s = f.api->alloc_data_space(f.dev, 65 << 20, 0, &one);
    vk_fails(s, GPUC_OUT_OF_DEVICE_MEMORY, "67108864 in the heap");

    /* A buffer that the device still uses is waited for before the allocation fails. */
    char bytes[4096] = {0};
    for (int i = 0; i < 3; i++) vk_write(&f, held[i], 0, bytes, sizeof bytes);
    for (int i = 0; i < 3; i++) f.api->free_data_space(f.dev, held[i]);
    vk_ok(f.api->alloc_data_space(f.dev, 5 << 20, 0, &held[0]));
    f.api->free_data_space(f.dev, held[0]);
    while (count > 3) f.api->free_data_space(f.dev, held[--count]);
    vk_close(&f);
}

typedef struct failing {
    int64_t left; /* allocations that still succeed; negative: all */
    int64_t live;
} failing;

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    failing *a = user;
    if (!new_size) {
        free(ptr);
        a->live -= (int64_t)old_size;
        return NULL;
    }
    if (a->left == 0) return NULL;
    if (a->left > 0) a->left--;
    void *p = realloc(ptr, new_size);
    if (p) a->live += (int64_t)new_size - (int64_t)old_size;
    return p;
}

/* One pass through everything; returns the first failure, with all that was made given back. */
static gpuc_status pass(failing *a, const void *blob, size_t size)
{
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.allocator = (gpuc_allocator){failing_resize, a};
    desc.num_threads = 1;
    const gpuc_kernel *kernel = &vk_vadd;
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_buffer *b = NULL;
    gpuc_code_module *m = NULL;
    gpuc_plan *plan = NULL;
    const gpuc_device_api *api = NULL;
    gpuc_step_tensor tensors[] = {{0, 1, 0, 256}, {1, 1, 0, 256}, {2, 2, 0, 256}};
    int64_t n = 64;
    gpuc_step step = {NULL, 0, 3, 1, tensors, &n, {1, 1, 1}};
    gpuc_status s = gpuc_runtime_create(&desc, &rt);
    if (!s) s = gpuc_vulkan_register(rt);
    if (!s) s = gpuc_device_open(rt, GPUC_DEVICE_VULKAN, 0, &dev);
    if (!s) {
        api = dev->api;
        gpuc_vk_set_push_descriptors(dev, false);
        gpuc_vk_set_force_staging(dev, true);
        s = api->alloc_data_space(dev, 1024, 0, &b);
    }
    float zeros[64] = {0};
    if (!s)
        s = api->copy_data_from_to(dev, (gpuc_copy_end){.host = zeros}, (gpuc_copy_end){.buffer = b},
                                   sizeof zeros, NULL);
    if (!s) s = api->module_load(dev, "spirv", blob, size, &kernel, 1, &m);
    step.module = m;
    if (!s) s = api->plan_create(dev, &step, 1, &plan);
    gpuc_binding slots[] = {{b, 0, 256}, {b, 0, 256}, {b, 256, 256}};
    if (!s) s = api->plan_run(plan, &(gpuc_bindings){slots, 3}, NULL);
    if (!s)
        s = api->copy_data_from_to(dev, (gpuc_copy_end){.buffer = b, .offset = 256},
                                   (gpuc_copy_end){.host = zeros}, sizeof zeros, NULL);
    if (plan) api->plan_destroy(plan);
    if (m) api->module_release(dev, m);
    if (b) api->free_data_space(dev, b);
    gpuc_runtime_release(rt);
    return s;
}

static void test_failing_allocator(void **state)
{
    (void)state;
    size_t size;
    const gpuc_kernel *kernel = &vk_vadd;
    void *blob = vk_blob(&kernel, 1, &size);
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        failing a = {.left = n};
        gpuc_status s = pass(&a, blob, size);
        done = !s;
        if (s && gpuc_status_code(s) != GPUC_OUT_OF_MEMORY) vk_ok(s);
        gpuc_status_release(s);
        assert_int_equal(a.live, 0);
        assert_true(n < 1000);
    }
    free(blob);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suballocation),
        cmocka_unit_test(test_own_block),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_failing_allocator),
    };
    return vk_run_tests(argc, argv, tests);
}
