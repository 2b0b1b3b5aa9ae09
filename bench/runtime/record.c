/* SPDX-License-Identifier: Apache-2.0 */
/* A network of 100 dispatches: recorded into a command buffer of the application, and run again, beside a command buffer
 * of as many dispatches that is written by hand. Host time only: what the calls take until they return. */
#include <stdio.h>

#include <gpuc/vulkan.h>

#include "launches.h"
#include "relay/relay.h"
#include "runtime_vulkan/device.h"

enum { LAYERS = 100, WIDTH = 8, FRAMES = 300 };

typedef struct frames {
    gpuc_vk_device *dev;
    bench_network net;
    gpuc_ndarray *in[2], *out;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
} frames;

/* A chain of products with one matrix, so that each is a dispatch that waits for the one before. */
static gpuc_rmodule *make_network(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    const int64_t dims[2][2] = {{1, WIDTH}, {WIDTH, WIDTH}};
    gpuc_rexpr *in[2];
    for (int i = 0; i < 2; i++)
        in[i] =
            gpuc_relay_var(ctx, i ? "w" : "x", gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 2, dims[i]));
    gpuc_rexpr *y = in[0];
    for (int i = 0; i < LAYERS; i++) y = gpuc_relay_op2(ctx, "nn.dense", NULL, y, in[1]);
    gpuc_rexpr *function = gpuc_relay_function(ctx, 2, in, y, NULL);
    gpuc_relay_infer_type(ctx, m, function);
    gpuc_strmap_set(&m->functions, "main", function);
    return m;
}

static gpuc_status load(frames *f)
{
    gpuc_device *dev = &f->dev->base;
    GPUC_TRY(bench_network_open(dev, "vulkan", make_network, NULL, &f->net));
    const int64_t dims[2] = {WIDTH, WIDTH}, row[2] = {1, WIDTH};
    for (int i = 0; i < 2; i++) {
        GPUC_TRY(gpuc_ndarray_create(dev->runtime, dev, GPUC_FLOAT32, 2, i ? dims : row, &f->in[i]));
        GPUC_TRY(gpuc_session_bind_input(f->net.session, i, f->in[i]));
    }
    GPUC_TRY(gpuc_ndarray_create(dev->runtime, dev, GPUC_FLOAT32, 2, row, &f->out));
    GPUC_TRY(gpuc_session_bind_output(f->net.session, 0, f->out));
    GPUC_TRY(gpuc_session_run(f->net.session));
    return gpuc_session_sync(f->net.session);
}

static gpuc_status open_commands(frames *f)
{
    gpuc_vk_device *dev = f->dev;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = dev->caps.queue_family};
    GPUC_VK_TRY("vkCreateCommandPool", dev->fn.CreateCommandPool(dev->handle, &pool, NULL, &f->pool));
    VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = f->pool,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 1};
    GPUC_VK_TRY("vkAllocateCommandBuffers",
                dev->fn.AllocateCommandBuffers(dev->handle, &buffers, &f->commands));
    return NULL;
}

/* Seconds to record a frame. */
static gpuc_status record(frames *f, double *out)
{
    gpuc_vk_device *dev = f->dev;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                     .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    double from = bench_now();
    GPUC_VK_TRY("vkBeginCommandBuffer", dev->fn.BeginCommandBuffer(f->commands, &info));
    GPUC_TRY(gpuc_session_record(f->net.session, f->commands, NULL));
    GPUC_VK_TRY("vkEndCommandBuffer", dev->fn.EndCommandBuffer(f->commands));
    *out = bench_now() - from;
    return NULL;
}

static gpuc_status replay(frames *f, double *out)
{
    double from = bench_now();
    GPUC_TRY(gpuc_session_run(f->net.session));
    *out = bench_now() - from;
    return gpuc_session_sync(f->net.session);
}

/* By hand: the same number of dispatches, recorded. */
static gpuc_status bare_record(const bare *b, void *self, double *out)
{
    double from = bench_now();
    GPUC_TRY(b->begin(self));
    GPUC_TRY(b->append(self, LAYERS));
    *out = bench_now() - from;
    GPUC_TRY(b->submit(self));
    return b->wait(self);
}

/* And submitted again, as it is. */
static gpuc_status bare_replay(const bare *b, void *self, double *out)
{
    double from = bench_now();
    GPUC_TRY(b->again(self));
    *out = bench_now() - from;
    return b->wait(self);
}

static gpuc_status measure(frames *f, const bare *b, void *self)
{
    static double seconds[4][FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        GPUC_TRY(bare_record(b, self, &seconds[0][i]));
        GPUC_TRY(record(f, &seconds[1][i]));
        for (int k = 0; k < 2; k++) /* in turn */
            GPUC_TRY(k == i % 2 ? bare_replay(b, self, &seconds[2][i]) : replay(f, &seconds[3][i]));
    }
    double m[4];
    for (int i = 0; i < 4; i++) m[i] = bench_median(seconds[i], FRAMES);
    uint64_t launches = gpuc_session_get_stats(f->net.session).launches_device;
    printf(" a network of %llu dispatches, host time (medians of %d frames; in brackets: of %d by hand)\n",
           (unsigned long long)launches, FRAMES, LAYERS);
    printf("  %-22s %9.3f us a dispatch (%.3f), %.2f of it\n", "gpuc_session_record",
           1e6 * m[1] / (double)launches, 1e6 * m[0] / LAYERS, m[1] / (double)launches / (m[0] / LAYERS));
    printf("  %-22s %9.3f us a run (%.3f: vkResetFences and vkQueueSubmit), %.2f of it\n", "gpuc_session_run",
           1e6 * m[3], 1e6 * m[2], m[3] / m[2]);
    return NULL;
}

gpuc_status frames_of_network(launches *l, const bare *b)
{
    frames f = {.dev = (gpuc_vk_device *)l->dev};
    void *self = NULL;
    gpuc_status status = load(&f);
    if (!status) status = open_commands(&f);
    if (!status) status = b->open(l, &self);
    if (!status) status = measure(&f, b, self);
    if (self) b->close(self);
    if (f.pool) f.dev->fn.DestroyCommandPool(f.dev->handle, f.pool, NULL);
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(f.in[i]);
    gpuc_ndarray_release(f.out);
    bench_network_close(&f.net);
    return status;
}
