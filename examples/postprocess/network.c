/* SPDX-License-Identifier: Apache-2.0 */
/* A network of gpuc on this application's device, in its command buffers. */
#include <gpuc/devices.h>

#include "postprocess.h"

#include <stdio.h>
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
static void enable_feature(gpu *g, const gpuc_vulkan_need *need)
{
    const struct {
        const char *name;
        VkBool32 *member;
    } known[] = {
        {"shaderInt64", &g->features.features.shaderInt64},
        {"shaderInt16", &g->features.features.shaderInt16},
        {"shaderFloat64", &g->features.features.shaderFloat64},
        {"shaderStorageImageWriteWithoutFormat", &g->features.features.shaderStorageImageWriteWithoutFormat},
        {"storageBuffer16BitAccess", &g->features11.storageBuffer16BitAccess},
        {"shaderFloat16", &g->features12.shaderFloat16},
        {"shaderInt8", &g->features12.shaderInt8},
        {"storageBuffer8BitAccess", &g->features12.storageBuffer8BitAccess},
        {"vulkanMemoryModel", &g->features12.vulkanMemoryModel},
        {"subgroupSizeControl", &g->features13.subgroupSizeControl},
        {"computeFullSubgroups", &g->features13.computeFullSubgroups},
        {"shaderIntegerDotProduct", &g->features13.shaderIntegerDotProduct},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, need->name)) {
            *known[i].member = VK_TRUE;
            return;
        }
    if (need->optional)
        fprintf(stderr, "postprocess: %s stays off, which is for %s\n", need->name, need->buys);
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
        if (needs[i].kind == GPUC_VULKAN_NEED_FEATURE) enable_feature(g, &needs[i]);
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

/* An input or output that is an image. */
static gpuc_status extents(gpuc_tensor_info info, const char *option, uint32_t *out_width,
                           uint32_t *out_height)
{
    if (info.image != GPUC_IMAGE_RGBA8)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s is not an image: gpuc build --%s %s=rgba8", info.name, option,
                         info.name);
    *out_height = info.dims[0] < 0 ? 0 : (uint32_t)info.dims[0];
    *out_width = info.dims[1] < 0 ? 0 : (uint32_t)info.dims[1];
    return NULL;
}

static gpuc_status create(network *n, const gpu *g, const char *package)
{
    gpuc_model_desc model = GPUC_MODEL_DESC_INIT;
    GPUC_TRY(adopt(n, g));
    model.path = package;
    model.device = n->device;
    GPUC_TRY(gpuc_model_load(n->runtime, &model, &n->model));
    GPUC_TRY(gpuc_session_create(n->model, &n->session));
    gpuc_tensor_info out = gpuc_model_output(n->model, 0);
    GPUC_TRY(extents(gpuc_model_input(n->model, 0), "input-image", &n->in_width, &n->in_height));
    GPUC_TRY(extents(out, "output-image", &n->out_width, &n->out_height));
    if (n->out_width && n->out_height) return NULL;
    return gpuc_fail(GPUC_UNSUPPORTED, "the size of %s is open: gpuc build --shape", out.name);
}

void network_create(network *n, const gpu *g, const char *package)
{
    gpuc_check(create(n, g, package));
}

/* ---- Its images ------------------------------------------------------------------------------ */

/* An array that is an image of the application: nothing is copied. */
static gpuc_status wrap(network *n, const image *i, gpuc_ndarray **out)
{
    const gpuc_vulkan_image v = {.view = i->view,
                                 .format = (uint32_t)i->format,
                                 .layout = (uint32_t)i->layout,
                                 .width = i->width,
                                 .height = i->height,
                                 .usage = i->usage,
                                 .owner_family = GPUC_VULKAN_SAME_FAMILY};
    return gpuc_vulkan_wrap_image(n->device, &v, NULL, NULL, out);
}

void network_bind(network *n, const image *in, const image *out)
{
    gpuc_ndarray *x, *y;
    gpuc_check(wrap(n, in, &x));
    gpuc_check(wrap(n, out, &y));
    gpuc_check(gpuc_session_bind_input(n->session, 0, x));
    gpuc_check(gpuc_session_bind_output(n->session, 0, y));
    gpuc_ndarray_release(x); /* the session has its own reference */
    gpuc_ndarray_release(y);
}

/* ---- In each frame --------------------------------------------------------------------------- */

void network_record(network *n, VkCommandBuffer commands)
{
    const gpuc_vulkan_sync sync = {.src_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   .src_access = VK_ACCESS_SHADER_WRITE_BIT,
                                   .dst_stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   .dst_access = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    gpuc_check(gpuc_session_record(n->session, commands, &sync));
}

void network_destroy(network *n)
{
    gpuc_session_release(n->session);
    gpuc_model_release(n->model);
    gpuc_check(gpuc_device_close(n->device));
    gpuc_runtime_release(n->runtime);
}
