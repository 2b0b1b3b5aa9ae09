/* SPDX-License-Identifier: Apache-2.0 */
/* What a package asks of a physical device, in the words of Vulkan. */
#include <string.h>

#include "abi/package.h"
#include "base/file.h"
#include "base/require.h"
#include "runtime_vulkan/device.h"

/* What must be enabled for a feature of gpuc: an extension, unless the version has it, and members of structures. */
static const struct {
    uint32_t bits; /* a program that has all of them needs it */
    gpuc_vulkan_need_kind kind;
    uint32_t core; /* the version that needs no extension; 0: all do */
    const char *extension, *name, *buys;
} features[] = {
    {GPUC_FEATURE_FLOAT16, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_2, "VK_KHR_shader_float16_int8",
     "shaderFloat16", "float16 arithmetic"},
    {GPUC_FEATURE_FLOAT64, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_0, "", "shaderFloat64", "float64"},
    {GPUC_FEATURE_INT8, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_2, "VK_KHR_shader_float16_int8",
     "shaderInt8", "8-bit arithmetic"},
    {GPUC_FEATURE_INT16, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_0, "", "shaderInt16", "16-bit integers"},
    {GPUC_FEATURE_INT64, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_0, "", "shaderInt64", "64-bit integers"},
    {GPUC_FEATURE_STORAGE8, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_2, "VK_KHR_8bit_storage",
     "storageBuffer8BitAccess", "8-bit elements in memory"},
    {GPUC_FEATURE_STORAGE16, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_1, "", "storageBuffer16BitAccess",
     "16-bit elements in memory"},
    {GPUC_FEATURE_SUBGROUP, GPUC_VULKAN_NEED_PROPERTY, VK_API_VERSION_1_0, "",
     "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT", "sums within a subgroup"},
    {GPUC_FEATURE_SUBGROUP_SHUFFLE, GPUC_VULKAN_NEED_PROPERTY, VK_API_VERSION_1_0, "",
     "VK_SUBGROUP_FEATURE_SHUFFLE_BIT", "exchange within a subgroup"},
    {GPUC_FEATURE_DOT_PRODUCT, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_3,
     "VK_KHR_shader_integer_dot_product", "shaderIntegerDotProduct", "fast 8-bit products"},
    {GPUC_FEATURE_COOPMAT, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_2, "VK_KHR_vulkan_memory_model",
     "vulkanMemoryModel", "cooperative matrices"},
    {GPUC_FEATURE_COOPMAT, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_2, "VK_KHR_vulkan_memory_model",
     "vulkanMemoryModelDeviceScope", "cooperative matrices"},
    {GPUC_FEATURE_COOPMAT, GPUC_VULKAN_NEED_FEATURE, 0, "VK_KHR_cooperative_matrix", "cooperativeMatrix",
     "cooperative matrices"},
    {GPUC_FEATURE_ATOMIC_FLOAT, GPUC_VULKAN_NEED_FEATURE, 0, "VK_EXT_shader_atomic_float",
     "shaderBufferFloat32AtomicAdd", "sums by atomic operations"},
    {GPUC_FEATURE_FLOAT_CONTROLS, GPUC_VULKAN_NEED_PROPERTY, VK_API_VERSION_1_2,
     "VK_KHR_shader_float_controls", "shaderSignedZeroInfNanPreserveFloat32",
     "signs of zeros, infinities and NaN"},
    {GPUC_FEATURE_FLOAT_CONTROLS | GPUC_FEATURE_FLOAT16, GPUC_VULKAN_NEED_PROPERTY, VK_API_VERSION_1_2,
     "VK_KHR_shader_float_controls", "shaderRoundingModeRTEFloat16", "float16 to the nearest"},
    {GPUC_FEATURE_IMAGE_ANY_FORMAT, GPUC_VULKAN_NEED_FEATURE, VK_API_VERSION_1_0, "",
     "shaderStorageImageWriteWithoutFormat", "output images of any format, B8G8R8A8_UNORM among them"},
};

static const struct {
    const char *target, *name; /* attribute of the target; member of VkPhysicalDeviceLimits */
    gpuc_device_attr attr;
} limits[] = {
    {"max_num_threads", "maxComputeWorkGroupInvocations", GPUC_ATTR_MAX_THREADS_PER_BLOCK},
    {"max_threads_x", "maxComputeWorkGroupSize[0]", GPUC_ATTR_MAX_BLOCK_X},
    {"max_threads_y", "maxComputeWorkGroupSize[1]", GPUC_ATTR_MAX_BLOCK_Y},
    {"max_threads_z", "maxComputeWorkGroupSize[2]", GPUC_ATTR_MAX_BLOCK_Z},
    {"max_grid_x", "maxComputeWorkGroupCount[0]", GPUC_ATTR_MAX_GRID_X},
    {"max_grid_y", "maxComputeWorkGroupCount[1]", GPUC_ATTR_MAX_GRID_Y},
    {"max_grid_z", "maxComputeWorkGroupCount[2]", GPUC_ATTR_MAX_GRID_Z},
    {"max_shared_memory", "maxComputeSharedMemorySize", GPUC_ATTR_MAX_SHARED_BYTES},
    {"max_storage_buffers", "maxPerStageDescriptorStorageBuffers", GPUC_ATTR_MAX_STORAGE_BUFFERS},
    {"max_push_constants", "maxPushConstantsSize", GPUC_ATTR_MAX_PUSH_BYTES},
    {"max_buffer_range", "maxStorageBufferRange", GPUC_ATTR_MAX_BUFFER_RANGE},
    {"max_texels", "maxTexelBufferElements", GPUC_ATTR_MAX_TEXELS},
    {"max_image_width", "maxImageDimension2D", GPUC_ATTR_MAX_IMAGE_WIDTH},
    {"max_image_height", "maxImageDimension2D", GPUC_ATTR_MAX_IMAGE_HEIGHT},
};

/* Of every program, by all that there is. */
static const struct {
    const char *name, *buys;
} extensions[] = {
    {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, "recording with new buffers without allocating descriptors"},
    {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, "gpuc_vulkan_report_memory knows what memory is free"},
    {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, "arrays shared as file descriptors"},
    {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, "arrays shared as dma-bufs"},
    {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, "arrays over memory of the host"},
    {VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, "semaphores shared as file descriptors"},
};

typedef struct answer {
    const gpuc_vk_device *dev; /* that would be made */
    gpuc_vulkan_need *out;
    uint32_t room, count, program, first; /* first: row of the program */
} answer;

static void add(answer *a, gpuc_vulkan_need row)
{
    row.program = a->program;
    if (!row.buys || !row.optional) row.buys = "";
    for (uint32_t i = a->first; i < a->count && i < a->room; i++) /* two may need one */
        if (a->out[i].kind == row.kind && strcmp(a->out[i].name, row.name) == 0) {
            a->out[i].optional = a->out[i].optional && row.optional;
            if (!a->out[i].optional) a->out[i].buys = "";
            a->out[i].present = a->out[i].present && row.present;
            if (a->out[i].needs < row.needs) a->out[i].needs = row.needs;
            return;
        }
    if (a->count < a->room) a->out[a->count] = row;
    a->count++;
}

static bool is_enabled(const gpuc_vk_caps *caps, const char *extension)
{
    for (uint32_t i = 0; i < caps->num_extensions; i++)
        if (strcmp(caps->extensions[i], extension) == 0) return true;
    return false;
}

static void add_features(answer *a, uint32_t bits, bool optional)
{
    const gpuc_vk_caps *caps = &a->dev->caps;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if ((bits & features[i].bits) != features[i].bits) continue;
        bool present = (caps->features & features[i].bits) == features[i].bits;
        if (features[i].extension[0] && (!features[i].core || caps->api_version < features[i].core))
            add(a, (gpuc_vulkan_need){.kind = GPUC_VULKAN_NEED_EXTENSION,
                                      .name = features[i].extension,
                                      .optional = optional,
                                      .buys = features[i].buys,
                                      .present = present || is_enabled(caps, features[i].extension)});
        add(a, (gpuc_vulkan_need){.kind = features[i].kind,
                                  .name = features[i].name,
                                  .optional = optional,
                                  .buys = features[i].buys,
                                  .present = present});
    }
}

/* Kernels that only run with subgroups of one size. */
static void add_size_control(answer *a)
{
    static const char *const names[] = {"subgroupSizeControl", "computeFullSubgroups"};
    const gpuc_vk_caps *caps = &a->dev->caps;
    gpuc_vulkan_need row = {
        .optional = true, .buys = "kernels for the device's subgroup size", .present = caps->size_control};
    if (caps->api_version < VK_API_VERSION_1_3) {
        row.kind = GPUC_VULKAN_NEED_EXTENSION;
        row.name = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
        add(a, row);
    }
    row.kind = GPUC_VULKAN_NEED_FEATURE;
    for (int i = 0; i < 2; i++) {
        row.name = names[i];
        add(a, row);
    }
}

static void add_limit(answer *a, const gpuc_requirement *r)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        gpuc_attr_value have;
        if (strcmp(r->name, limits[i].target) != 0) continue;
        gpuc_status_release(gpuc_vk_get_attr((gpuc_device *)&a->dev->base, limits[i].attr, &have));
        add(a, (gpuc_vulkan_need){.kind = GPUC_VULKAN_NEED_LIMIT,
                                  .name = limits[i].name,
                                  .needs = (uint64_t)r->at_least,
                                  .has = (uint64_t)have.i,
                                  .present = have.i >= r->at_least});
    }
}

static uint32_t feature_named(const char *name)
{
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (strcmp(gpuc_feature_name((gpuc_feature)(1 << i)), name) == 0) return 1u << i;
    return 0;
}

static void add_program(answer *a, const gpuc_program *p)
{
    const gpuc_vk_caps *caps = &a->dev->caps;
    uint32_t required = 0, optional = 0;
    bool sized = false;
    gpuc_attr_value heap;
    a->first = a->count;
    add(a, (gpuc_vulkan_need){.kind = GPUC_VULKAN_NEED_VERSION,
                              .name = "apiVersion",
                              .needs = VK_API_VERSION_1_1,
                              .has = caps->api_version,
                              .present = caps->api_version >= VK_API_VERSION_1_1});
    for (uint32_t i = 0; i < p->num_requirements; i++)
        if (p->requirements[i].at_least > 0) required |= feature_named(p->requirements[i].name);
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        optional |= p->kernels[k].features;
        sized = sized || p->kernels[k].subgroup_size;
    }
    add_features(a, required, false);
    for (uint32_t i = 0; i < p->num_requirements; i++) add_limit(a, &p->requirements[i]);
    gpuc_status_release(gpuc_vk_get_attr((gpuc_device *)&a->dev->base, GPUC_ATTR_TOTAL_GLOBAL_BYTES, &heap));
    add(a, (gpuc_vulkan_need){.kind = GPUC_VULKAN_NEED_MEMORY,
                              .name = "weights",
                              .needs = p->weights_size,
                              .has = (uint64_t)heap.i,
                              .present = (uint64_t)heap.i >= p->weights_size});
    add_features(a, optional & ~required, true);
    if (sized) add_size_control(a);
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        add(a, (gpuc_vulkan_need){.kind = GPUC_VULKAN_NEED_EXTENSION,
                                  .name = extensions[i].name,
                                  .optional = true,
                                  .buys = extensions[i].buys,
                                  .present = is_enabled(caps, extensions[i].name)});
}

static gpuc_status answer_all(answer *a, const gpuc_package *package)
{
    for (uint32_t i = 0; i < package->num_programs; i++) {
        a->program = i;
        if (package->programs[i].device_type == GPUC_DEVICE_VULKAN) add_program(a, &package->programs[i]);
    }
    return a->count ? NULL : gpuc_fail(GPUC_NOT_FOUND, "the package has no program for Vulkan");
}

/* The device that gpuc would make: what of it is of use is "enabled". */
static gpuc_status look(gpuc_vk_device *dev, const gpuc_vulkan_question *q)
{
    gpuc_vk_features found;
    gpuc_vk_borrow_instance(dev->vk, q->get_instance_proc_addr, q->instance, q->api_version);
    GPUC_TRY(gpuc_vk_load_instance(dev->vk));
    GPUC_TRY(gpuc_vk_caps_query(dev->vk, q->physical_device, NULL, &dev->caps, &found));
    if (dev->caps.queue_family == UINT32_MAX)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%s has no queue for compute", dev->caps.props.deviceName);
    gpuc_vk_memory_init(dev);
    return NULL;
}

static gpuc_status ask(gpuc_runtime *rt, const gpuc_vulkan_question *q, const void *bytes, size_t size,
                       gpuc_arena *arena, answer *a)
{
    gpuc_package package;
    gpuc_vk_device *dev;
    GPUC_TRY(gpuc_abi_package_read(bytes, size, false, arena, &package, NULL, NULL));
    GPUC_TRY(gpuc_vk_device_make_alone(rt, &dev));
    a->dev = dev;
    gpuc_status s = look(dev, q);
    if (!s) s = answer_all(a, &package);
    gpuc_vk_device_destroy(&dev->base);
    return s;
}

gpuc_status gpuc_vulkan_requirements(gpuc_runtime *rt, const gpuc_vulkan_question *q, gpuc_vulkan_need *out,
                                     uint32_t *in_out_count)
{
    GPUC_REQUIRE(in_out_count);
    answer a = {.out = out, .room = out ? *in_out_count : 0};
    *in_out_count = 0;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(q);
    GPUC_REQUIRE(q->get_instance_proc_addr);
    GPUC_REQUIRE(q->instance);
    GPUC_REQUIRE(q->physical_device);
    gpuc_mapping map = {.data = q->bytes, .size = q->size};
    gpuc_arena arena;
    if (q->path)
        GPUC_TRY(gpuc_file_map(q->path, &map));
    else
        GPUC_REQUIRE(q->bytes);
    gpuc_arena_init(&arena, gpuc_runtime_allocator(rt));
    gpuc_status s = ask(rt, q, map.data, map.size, &arena, &a);
    gpuc_arena_deinit(&arena);
    if (q->path) gpuc_file_unmap(&map);
    *in_out_count = s ? 0 : a.count;
    return s;
}
