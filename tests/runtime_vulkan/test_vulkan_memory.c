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

typedef struct pass_objects {
    gpuc_buffer *in, *out;
    gpuc_code_module *module;
    gpuc_plan *plan;
    gpuc_stream *stream;
} pass_objects;

/* One pass through every kind of object; the first failure ends it. */
static gpuc_status use_all(gpuc_device *dev, const void *blob, size_t size, pass_objects *o)
{
    const gpuc_device_api *api = dev->api;
    const gpuc_kernel *kernels[] = {&vk_vadd_uniform, &vk_texel_copy};
    gpuc_step_tensor add[] = {{0, 1, 0, 256, NULL}, {0, 1, 256, 256, NULL}, {1, 2, 0, 256, NULL}};
    gpuc_step_tensor copy[] = {{1, 1, 0, 256, NULL}, {0, 2, 0, 256, NULL}};
    int64_t n = 64;
    float values[128];
    for (int i = 0; i < 128; i++) values[i] = (float)i;
    gpuc_copy_end host = {.host = values};
    gpuc_vk_set_push_descriptors(dev, false);
    gpuc_vk_set_force_staging(dev, true);
    gpuc_vk_set_cut_cost(dev, 1);
    GPUC_TRY(api->alloc_data_space(dev, sizeof values, 0, &o->in));
    GPUC_TRY(api->alloc_data_space(dev, sizeof values, 0, &o->out));
    GPUC_TRY(api->copy_data_from_to(dev, host, (gpuc_copy_end){.buffer = o->in}, sizeof values, NULL));
    GPUC_TRY(api->module_load(dev, "spirv", blob, size, kernels, 2, &o->module));
    gpuc_step steps[] = {{o->module, 0, 3, 1, add, &n, {1, 1, 1}, NULL},
                         {o->module, 1, 2, 1, copy, &n, {1, 1, 1}, NULL}};
    GPUC_TRY(api->plan_create(dev, steps, 2, GPUC_PLAN_PROFILING, &o->plan));
    gpuc_binding slots[] = {{o->in, 0, sizeof values}, {o->out, 0, sizeof values}};
    const gpuc_bindings bindings = {.slots = slots, .count = 2};
    GPUC_TRY(api->plan_run(o->plan, &bindings, NULL));
    GPUC_TRY(api->create_stream(dev, &o->stream));
    for (int i = 0; i < 2; i++) GPUC_TRY(api->launch(dev, o->stream, &steps[i], &bindings));
    static float later[128]; /* it may be read into until the device closes */
    GPUC_TRY(api->read_later(dev, (gpuc_copy_end){.buffer = o->in}, later, sizeof later, o->stream));
    uint64_t ticket;
    bool done;
    GPUC_TRY(api->stream_signal(dev, o->stream, &ticket));
    GPUC_TRY(api->ticket_wait(dev, ticket, GPUC_FOREVER, &done));
    assert_true(later[10] == 10 + 74 + 74);
    GPUC_TRY(api->stream_sync(dev, NULL));
    double ns[2];
    GPUC_TRY(api->plan_profile(o->plan, ns, 2));
    GPUC_TRY(api->copy_data_from_to(dev, (gpuc_copy_end){.buffer = o->in}, host, sizeof values, NULL));
    assert_true(values[10] == 10 + 74 + 74);
    return NULL;
}

static gpuc_status pass(gpuc_runtime *rt, const void *blob, size_t size)
{
    gpuc_device *dev;
    pass_objects o = {0};
    GPUC_TRY(gpuc_device_open(rt, GPUC_DEVICE_VULKAN, 0, &dev));
    gpuc_status s = use_all(dev, blob, size, &o);
    if (o.plan) dev->api->plan_destroy(o.plan);
    if (o.stream) dev->api->free_stream(dev, o.stream);
    if (o.module) dev->api->module_release(dev, o.module);
    if (o.in) dev->api->free_data_space(dev, o.in);
    if (o.out) dev->api->free_data_space(dev, o.out);
    return s;
}

static bool ended(gpuc_status s)
{
    if (s && gpuc_status_code(s) != GPUC_OUT_OF_MEMORY) vk_ok(s);
    gpuc_status_release(s);
    return !s;
}

/* The allocator fails at the n-th call, for every n: an error each time, and nothing stays behind. */
static void test_failing_allocator(void **state)
{
    (void)state;
    size_t size;
    const gpuc_kernel *kernels[] = {&vk_vadd_uniform, &vk_texel_copy};
    void *blob = vk_blob(kernels, 2, &size);
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        failing a = {.left = n};
        gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
        desc.allocator = (gpuc_allocator){failing_resize, &a};
        desc.num_threads = 1;
        gpuc_runtime *rt;
        gpuc_status s = gpuc_runtime_create(&desc, &rt);
        if (!s) s = gpuc_vulkan_register(rt);
        if (!s) s = pass(rt, blob, size);
        gpuc_runtime_release(rt);
        done = ended(s);
        assert_int_equal(a.live, 0);
        assert_true(n < 1000);
    }
    free(blob);
}

/* The same for every call of Vulkan that makes something; the layer sees what is not destroyed. */
static void test_failing_driver(void **state)
{
    (void)state;
    size_t size;
    const gpuc_kernel *kernels[] = {&vk_vadd_uniform, &vk_texel_copy};
    void *blob = vk_blob(kernels, 2, &size);
    bool done = false;
    int n = 1;
    for (; !done; n++) {
        vk_fixture f;
        vk_init(&f);
        f.strict = true;
        f.options.fail_at = n;
        f.desc.num_threads = 1;
        vk_ok(gpuc_runtime_create(&f.desc, &f.rt));
        vk_ok(gpuc_vulkan_register_with(f.rt, strict_begin(vk_system_loader(), &f.options)));
        done = ended(pass(f.rt, blob, size));
        vk_close(&f);
        assert_true(n < 1000);
    }
    assert_true(n > 30);
    free(blob);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suballocation),  cmocka_unit_test(test_own_block),
        cmocka_unit_test(test_out_of_memory),  cmocka_unit_test(test_failing_allocator),
        cmocka_unit_test(test_failing_driver),
    };
    return vk_run_tests(argc, argv, tests);
}
