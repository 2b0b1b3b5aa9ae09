/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a plan in an application's command buffer: the application's own pool, fence and queue calls. */
#define VK_NO_PROTOTYPES 1
#include <vulkan/vulkan.h>

#include <string.h>

#include "fixture.h"

#define N 500
#define into(cb) ((gpuc_recording){.commands = (cb), .query = UINT32_MAX})

typedef struct app {
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkFence fence;
    PFN_vkCreateCommandPool create_pool;
    PFN_vkDestroyCommandPool destroy_pool;
    PFN_vkAllocateCommandBuffers allocate;
    PFN_vkBeginCommandBuffer begin;
    PFN_vkEndCommandBuffer end;
    PFN_vkCmdPipelineBarrier barrier;
    PFN_vkQueueSubmit submit;
    PFN_vkCreateFence create_fence;
    PFN_vkDestroyFence destroy_fence;
    PFN_vkWaitForFences wait;
    PFN_vkResetFences reset;
} app;

static void app_init(app *a, gpuc_device *dev)
{
    uint32_t family;
    *a = (app){.device = gpuc_vk_get_handle(dev, &family), .queue = gpuc_vk_get_queue(dev)};
    *(void **)&a->create_pool = gpuc_vk_get_proc(dev, "vkCreateCommandPool");
    *(void **)&a->destroy_pool = gpuc_vk_get_proc(dev, "vkDestroyCommandPool");
    *(void **)&a->allocate = gpuc_vk_get_proc(dev, "vkAllocateCommandBuffers");
    *(void **)&a->begin = gpuc_vk_get_proc(dev, "vkBeginCommandBuffer");
    *(void **)&a->end = gpuc_vk_get_proc(dev, "vkEndCommandBuffer");
    *(void **)&a->barrier = gpuc_vk_get_proc(dev, "vkCmdPipelineBarrier");
    *(void **)&a->submit = gpuc_vk_get_proc(dev, "vkQueueSubmit");
    *(void **)&a->create_fence = gpuc_vk_get_proc(dev, "vkCreateFence");
    *(void **)&a->destroy_fence = gpuc_vk_get_proc(dev, "vkDestroyFence");
    *(void **)&a->wait = gpuc_vk_get_proc(dev, "vkWaitForFences");
    *(void **)&a->reset = gpuc_vk_get_proc(dev, "vkResetFences");
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    assert_int_equal(a->create_pool(a->device, &pool, NULL, &a->pool), VK_SUCCESS);
    assert_int_equal(a->create_fence(a->device, &fence, NULL, &a->fence), VK_SUCCESS);
}

static VkCommandBuffer app_begin(app *a)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = a->pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer cb;
    assert_int_equal(a->allocate(a->device, &info, &cb), VK_SUCCESS);
    assert_int_equal(a->begin(cb, &begin), VK_SUCCESS);
    return cb;
}

static void app_submit(app *a, VkCommandBuffer cb)
{
    /* What the application owes before it reads on the host. */
    VkMemoryBarrier host = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                            .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    a->barrier(cb, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &host, 0, NULL, 0,
               NULL);
    assert_int_equal(a->end(cb), VK_SUCCESS);
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &cb};
    assert_int_equal(a->submit(a->queue, 1, &info, a->fence), VK_SUCCESS);
    assert_int_equal(a->wait(a->device, 1, &a->fence, VK_TRUE, UINT64_MAX), VK_SUCCESS);
    assert_int_equal(a->reset(a->device, 1, &a->fence), VK_SUCCESS);
}

static void record(bool push)
{
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_vk_set_push_descriptors(f.dev, push);
    const gpuc_kernel *kernels[] = {&vk_affine, &vk_vadd_uniform};
    gpuc_code_module *m = vk_module(&f, kernels, 2);
    double one = 1.0;
    int64_t affine_args[2] = {0, N}, n = N;
    memcpy(&affine_args[0], &one, 8);
    gpuc_step_tensor t0[] = {{0, 1, 0, 4 * N, NULL}, {1, 2, 0, 4 * N, NULL}};
    gpuc_step_tensor t1[] = {{1, 1, 0, 4 * N, NULL}, {0, 2, 0, 4 * N, NULL}};
    gpuc_step_tensor t2[] = {{0, 1, 0, 4 * N, NULL}, {1, 1, 0, 4 * N, NULL}, {2, 2, 0, 4 * N, NULL}};
    gpuc_step steps[] = {{m, 0, 2, 2, t0, affine_args, {8, 1, 1}, NULL},
                         {m, 0, 2, 2, t1, affine_args, {8, 1, 1}, NULL},
                         {m, 1, 3, 1, t2, &n, {8, 1, 1}, NULL}};
    gpuc_plan *plan;
    vk_ok(f.api->plan_create(f.dev, steps, 3, 0, &plan));
    gpuc_buffer *x = vk_buffer(&f, 4 * N), *y = vk_buffer(&f, 4 * N), *z = vk_buffer(&f, 4 * N);
    float values[N] = {0};
    vk_write(&f, x, 0, values, sizeof values);
    vk_ok(f.api->stream_sync(f.dev, NULL));
    gpuc_binding slots[] = {{x, 0, 4 * N}, {y, 0, 4 * N}, {z, 0, 4 * N}};
    gpuc_bindings bindings = {.slots = slots, .count = 3};

    app a;
    app_init(&a, f.dev);
    uint64_t before = f.dev->launches;
    for (int frame = 0; frame < 3; frame++) {
        VkCommandBuffer cb = app_begin(&a);
        vk_ok(f.api->plan_record(plan, &bindings, 0, 3, &into(cb)));
        app_submit(&a, cb);
    }
    assert_int_equal(f.dev->launches - before, 9);
    vk_read(&f, z, 0, values, sizeof values);
    for (int i = 0; i < N; i++) assert_true(values[i] == 6 + 5);

    /* In slices over several frames, mixed with a run of its own. */
    for (uint32_t step = 0; step < 3; step++) {
        VkCommandBuffer cb = app_begin(&a);
        vk_ok(f.api->plan_record(plan, &bindings, step, 1, &into(cb)));
        app_submit(&a, cb);
    }
    vk_ok(f.api->plan_run(plan, &bindings, NULL));
    vk_read(&f, z, 0, values, sizeof values);
    for (int i = 0; i < N; i++) assert_true(values[i] == 10 + 9);

    VkCommandBuffer cb = app_begin(&a);
    vk_fails(f.api->plan_record(plan, &bindings, 2, 2, &into(cb)), GPUC_INVALID_ARGUMENT,
             "steps 2 to 4 of 3");
    vk_fails(f.api->plan_record(plan, &bindings, 0, 1, &into(NULL)), GPUC_INVALID_ARGUMENT,
             "no command buffer");
    a.destroy_fence(a.device, a.fence, NULL);
    a.destroy_pool(a.device, a.pool, NULL);
    f.api->plan_destroy(plan);
    f.api->free_data_space(f.dev, x);
    f.api->free_data_space(f.dev, y);
    f.api->free_data_space(f.dev, z);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

static void test_record(void **state)
{
    (void)state;
    record(false);
    record(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_record)};
    return vk_run_tests(argc, argv, tests);
}
