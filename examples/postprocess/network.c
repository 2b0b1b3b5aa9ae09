/* SPDX-License-Identifier: Apache-2.0 */
/* A network of gpuc on this application's device, in its command buffers. */
#include <gpuc/devices.h>

#include "postprocess.h"

#include <string.h>

/* ---- Before the device is made --------------------------------------------------------------- */

static void enable_extension(gpu *g, const char *name)
{
    for (uint32_t i = 0; i < g->num_extensions; i++)
        if (!strcmp(g->extensions[i], name)) return;
    if (g->num_extensions < sizeof g->extensions / sizeof *g->extensions)
        g->extensions[g->num_extensions++] = name;
}

/* The features that this application knows; the others stay off, and kernels that want them are not used. */
static void enable_feature(gpu *g, const char *name)
{
    const struct {
        const char *name;
        VkBool32 *member;
    } known[] = {
        {"shaderInt64", &g->features.features.shaderInt64},
        {"shaderInt16", &g->features.features.shaderInt16},
        {"shaderFloat64", &g->features.features.shaderFloat64},
        {"storageBuffer16BitAccess", &g->features11.storageBuffer16BitAccess},
        {"shaderFloat16", &g->features12.shaderFloat16},
        {"shaderInt8", &g->features12.shaderInt8},
        {"storageBuffer8BitAccess", &g->features12.storageBuffer8BitAccess},
        {"vulkanMemoryModel", &g->features12.vulkanMemoryModel},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) *known[i].member = VK_TRUE;
}

static gpuc_status ask(network *n, gpu *g, const char *package)
{
    const gpuc_vulkan_question question = {.get_instance_proc_addr =
                                               (gpuc_vulkan_get_proc)vkGetInstanceProcAddr,
                                           .instance = g->instance,
                                           .api_version = API_VERSION,
                                           .physical_device = g->physical,
                                           .path = package};
    gpuc_vulkan_need needs[256];
    uint32_t count = 256;
    gpuc_runtime_desc runtime = GPUC_RUNTIME_DESC_INIT;
    runtime.allocator = counting_allocator;
    GPUC_TRY(gpuc_runtime_create(&runtime, &n->runtime));
    GPUC_TRY(gpuc_vulkan_register(n->runtime));
    GPUC_TRY(gpuc_vulkan_requirements(n->runtime, &question, needs, &count));
    for (uint32_t i = 0; i < count && i < 256; i++) {
        if (!needs[i].present) continue; /* if it must be there, loading the package tells */
        if (needs[i].kind == GPUC_VULKAN_NEED_EXTENSION) enable_extension(g, needs[i].name);
        if (needs[i].kind == GPUC_VULKAN_NEED_FEATURE) enable_feature(g, needs[i].name);
    }
    return NULL;
}

void network_ask(network *n, gpu *g, const char *package)
{
    *n = (network){0};
    gpuc_check(ask(n, g, package));
}

/* ---- The network on the device --------------------------------------------------------------- */

/* The device stays the application's; gpuc uses no extension or feature that it was made without. */
static gpuc_status adopt(network *n, const gpu *g)
{
    gpuc_vulkan_device_desc desc = GPUC_VULKAN_DEVICE_DESC_INIT;
    desc.get_instance_proc_addr = counting_instance_proc; /* elsewhere simply vkGetInstanceProcAddr */
    desc.instance = g->instance;
    desc.api_version = API_VERSION;
    desc.debug_utils = g->debug_utils;
    desc.physical_device = g->physical;
    desc.device = g->device;
    desc.queue = g->queue;
    desc.queue_family = g->family;
    desc.extensions = g->extensions;
    desc.num_extensions = g->num_extensions;
    desc.features = &g->features;
    return gpuc_vulkan_adopt(n->runtime, &desc, &n->device);
}

/* The extents of a tensor; an open first one (the batch) is 1. */
static gpuc_status extents(gpuc_tensor_info info, int64_t channels, int64_t out[4])
{
    if (info.ndim != 4 || info.dims[1] != channels || !gpuc_dtype_equal(info.dtype, GPUC_FLOAT32))
        return gpuc_fail(GPUC_UNSUPPORTED, "%s is not float32 [1, %d, height, width]", info.name,
                         (int)channels);
    for (int i = 0; i < 4; i++) {
        out[i] = i == 0 && info.dims[i] < 0 ? 1 : info.dims[i];
        if (out[i] < 1)
            return gpuc_fail(GPUC_UNSUPPORTED, "dimension %d of %s is open: gpuc build --shape %s=1,%d,H,W",
                             i, info.name, info.name, (int)channels);
    }
    return NULL;
}

/* An array over a buffer of the application: nothing is copied. */
static gpuc_status wrap(network *n, const buffer *b, const int64_t dims[4], gpuc_ndarray **out)
{
    gpuc_vulkan_buffer v = {
        .buffer = b->handle, .size = b->size, .usage = b->usage, .owner_family = GPUC_VULKAN_SAME_FAMILY};
    return gpuc_vulkan_wrap_buffer(n->device, &v, GPUC_FLOAT32, 4, dims, NULL, NULL, out);
}

/* The session reads and writes the buffers from now on. */
static gpuc_status bind(network *n)
{
    gpuc_ndarray *in = NULL, *out = NULL;
    gpuc_status status = wrap(n, &n->input, n->in, &in);
    if (!status) status = wrap(n, &n->output, n->out, &out);
    if (!status) status = gpuc_session_bind_input(n->session, 0, in);
    if (!status) status = gpuc_session_bind_output(n->session, 0, out);
    gpuc_ndarray_release(in); /* the session has its own reference */
    gpuc_ndarray_release(out);
    return status;
}

static gpuc_status create(network *n, gpu *g, const char *package, network_kind kind)
{
    gpuc_model_desc model = GPUC_MODEL_DESC_INIT;
    GPUC_TRY(adopt(n, g));
    model.path = package;
    model.device = n->device;
    GPUC_TRY(gpuc_model_load(n->runtime, &model, &n->model));
    GPUC_TRY(gpuc_session_create(n->model, &n->session));
    GPUC_TRY(extents(gpuc_model_input(n->model, 0), kind == STYLE ? 3 : 1, n->in));
    GPUC_TRY(extents(gpuc_model_output(n->model, 0), kind == STYLE ? 3 : 1, n->out));

    const VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    n->input = buffer_create(g, (VkDeviceSize)(n->in[1] * n->in[2] * n->in[3] * 4), usage, false);
    n->output = buffer_create(g, (VkDeviceSize)(n->out[1] * n->out[2] * n->out[3] * 4), usage, false);
    return bind(n);
}

void network_create(network *n, gpu *g, const char *package, network_kind kind)
{
    gpuc_check(create(n, g, package, kind));
}

/* ---- In each frame --------------------------------------------------------------------------- */

void network_record(network *n, VkCommandBuffer commands)
{
    const gpuc_vulkan_sync sync = {.src_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   .src_access = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dst_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   .dst_access = VK_ACCESS_SHADER_READ_BIT};
    gpuc_check(gpuc_session_record(n->session, commands, &sync));
}

void network_destroy(network *n, gpu *g)
{
    gpuc_session_release(n->session);
    gpuc_model_release(n->model);
    gpuc_check(gpuc_device_close(n->device));
    gpuc_runtime_release(n->runtime);
    buffer_destroy(g, &n->input);
    buffer_destroy(g, &n->output);
}
