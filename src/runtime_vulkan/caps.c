/* SPDX-License-Identifier: Apache-2.0 */
/* What a physical device can do, and what of it is switched on. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime_vulkan/device.h"

/* The extensions that there are; for an adopted device, those that it was made with. */
typedef struct ext_list {
    VkExtensionProperties *items;
    uint32_t count;
    const gpuc_vk_enabled *enabled; /* NULL: items */
} ext_list;

static bool listed(const ext_list *list, const char *name)
{
    const gpuc_vk_enabled *e = list->enabled;
    for (uint32_t i = 0; i < (e ? e->num_extensions : list->count); i++)
        if (strcmp(e ? e->extensions[i] : list->items[i].extensionName, name) == 0) return true;
    return false;
}

/* True if the extension may be used: in the core version in use, or listed (then it is enabled). */
static bool use(gpuc_vk_caps *caps, const ext_list *list, const char *name, uint32_t core_version)
{
    if (core_version && caps->api_version >= core_version) return true;
    if (!listed(list, name) || caps->num_extensions == GPUC_VK_MAX_EXTENSIONS) return false;
    caps->extensions[caps->num_extensions++] = name;
    return true;
}

/* Puts a structure in front of the chain that hangs at *head. */
static void chain(void **head, void *structure)
{
    ((VkBaseOutStructure *)structure)->pNext = *head;
    *head = structure;
}

/* An older validation layer takes the structures of this extension for mistakes. */
static bool knows_matrices(const gpuc_vk *vk)
{
    return !vk->layer_version || vk->layer_version >= VK_MAKE_API_VERSION(0, 1, 3, 255);
}

static void query_features(const gpuc_vk *vk, VkPhysicalDevice physical, gpuc_vk_caps *caps,
                           const ext_list *list, gpuc_vk_features *f)
{
    *f = (gpuc_vk_features){
        .core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
        .storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
        .float16_int8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        .size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        .dot_product.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
        .atomic_float.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
        .memory_model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
        .coopmat.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
    };
    void **head = &f->core.pNext;
    chain(head, &f->storage16);
    if (use(caps, list, VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_2)) chain(head, &f->storage8);
    if (use(caps, list, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_API_VERSION_1_2))
        chain(head, &f->float16_int8);
    if (use(caps, list, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3))
        chain(head, &f->size_control);
    if (use(caps, list, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, VK_API_VERSION_1_3))
        chain(head, &f->dot_product);
    if (use(caps, list, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, 0)) chain(head, &f->atomic_float);
    bool matrices = listed(list, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) && knows_matrices(vk) &&
                    use(caps, list, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2);
    if (matrices) chain(head, &f->memory_model);
    if (matrices && use(caps, list, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, 0)) chain(head, &f->coopmat);
    vk->fn.GetPhysicalDeviceFeatures2(physical, &f->core);

    /* What is enabled is what a kernel may need; robustness stays off. */
    f->core.features = (VkPhysicalDeviceFeatures){
        .shaderFloat64 = f->core.features.shaderFloat64,
        .shaderInt64 = f->core.features.shaderInt64,
        .shaderInt16 = f->core.features.shaderInt16,
        .shaderStorageImageWriteWithoutFormat = f->core.features.shaderStorageImageWriteWithoutFormat,
    };
    f->storage16.storagePushConstant16 = f->storage16.storageInputOutput16 = VK_FALSE;
    f->storage8.storagePushConstant8 = VK_FALSE;
    f->atomic_float.shaderImageFloat32Atomics = f->atomic_float.shaderImageFloat32AtomicAdd = VK_FALSE;
    f->memory_model.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
    f->coopmat.cooperativeMatrixRobustBufferAccess = VK_FALSE;
    f->atomic_float.sparseImageFloat32Atomics = f->atomic_float.sparseImageFloat32AtomicAdd = VK_FALSE;
    if (list->enabled) gpuc_vk_features_restrict(f, list->enabled->features);
}

/* Vulkan has no query for multiprocessors; vendors have. */
static void query_multiprocessors(const gpuc_vk *vk, VkPhysicalDevice physical, gpuc_vk_caps *caps,
                                  const ext_list *list)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceShaderCoreProperties2AMD amd = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
    VkPhysicalDeviceProperties2 props = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    if (listed(list, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) chain(&props.pNext, &nvidia);
    if (listed(list, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) chain(&props.pNext, &amd);
    if (props.pNext) vk->fn.GetPhysicalDeviceProperties2(physical, &props);
    caps->multiprocessors = nvidia.shaderSMCount + amd.activeComputeUnitCount; /* no device has both */
    if (caps->props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
        caps->multiprocessors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* What of the device others can have, and what it can have of others. */
static void query_shares(const gpuc_vk *vk, VkPhysicalDevice physical, gpuc_vk_caps *caps,
                         const ext_list *list)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 props = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &host};
    if (use(caps, list, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, 0)) {
        caps->shares |= GPUC_VULKAN_SHARE_FD;
        if (use(caps, list, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, 0))
            caps->shares |= GPUC_VULKAN_SHARE_DMA_BUF;
    }
    if (use(caps, list, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, 0))
        caps->shares |= GPUC_VULKAN_SHARE_SEMAPHORE;
    if (!use(caps, list, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, 0)) return;
    vk->fn.GetPhysicalDeviceProperties2(physical, &props);
    caps->shares |= GPUC_VULKAN_SHARE_HOST;
    caps->host_align = host.minImportedHostPointerAlignment;
}

static void query_properties(const gpuc_vk *vk, VkPhysicalDevice physical, gpuc_vk_caps *caps,
                             const ext_list *list, const gpuc_vk_features *f,
                             VkPhysicalDeviceSubgroupProperties *subgroup)
{
    VkPhysicalDeviceMaintenance3Properties maintenance3 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties size_control = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDevicePushDescriptorPropertiesKHR push = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR};
    bool has_size_control = f->size_control.subgroupSizeControl && f->size_control.computeFullSubgroups;
    VkPhysicalDeviceProperties2 props = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    subgroup->sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    chain(&props.pNext, subgroup);
    chain(&props.pNext, &maintenance3);
    chain(&props.pNext, &id);
    bool has_driver = use(caps, list, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, VK_API_VERSION_1_2);
    if (has_driver) chain(&props.pNext, &driver);
    if (has_size_control) chain(&props.pNext, &size_control);
    if (use(caps, list, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2))
        chain(&props.pNext, &floats);
    caps->push_descriptors = use(caps, list, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, 0);
    if (caps->push_descriptors) chain(&props.pNext, &push);
    vk->fn.GetPhysicalDeviceProperties2(physical, &props);

    bool preserved = floats.shaderSignedZeroInfNanPreserveFloat32 &&
                     (!f->float16_int8.shaderFloat16 || (floats.shaderSignedZeroInfNanPreserveFloat16 &&
                                                         floats.shaderRoundingModeRTEFloat16)) &&
                     (!f->core.features.shaderFloat64 || floats.shaderSignedZeroInfNanPreserveFloat64);
    caps->features = preserved ? GPUC_FEATURE_FLOAT_CONTROLS : 0;
    caps->max_allocation = maintenance3.maxMemoryAllocationSize;
    memcpy(caps->device_uuid, id.deviceUUID, VK_UUID_SIZE);
    memcpy(caps->driver_uuid, id.driverUUID, VK_UUID_SIZE);
    caps->max_push_descriptors = push.maxPushDescriptors;
    caps->min_subgroup_size = size_control.minSubgroupSize;
    caps->max_subgroup_size = size_control.maxSubgroupSize;
    caps->max_subgroups = size_control.maxComputeWorkgroupSubgroups;
    caps->size_control =
        has_size_control && (size_control.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    if (has_driver)
        snprintf(caps->driver, sizeof(caps->driver), "%s %s", driver.driverName, driver.driverInfo);
    else
        snprintf(caps->driver, sizeof(caps->driver), "version 0x%x", caps->props.driverVersion);
}

static uint32_t feature_bits(const gpuc_vk_features *f, const VkPhysicalDeviceSubgroupProperties *subgroup)
{
    const VkSubgroupFeatureFlags arithmetic =
        VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    bool compute = (subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    VkSubgroupFeatureFlags ops = compute ? subgroup->supportedOperations : 0;
    uint32_t bits = GPUC_FEATURE_IMAGES;
    if (f->core.features.shaderStorageImageWriteWithoutFormat) bits |= GPUC_FEATURE_IMAGE_ANY_FORMAT;
    if (f->float16_int8.shaderFloat16) bits |= GPUC_FEATURE_FLOAT16;
    if (f->core.features.shaderFloat64) bits |= GPUC_FEATURE_FLOAT64;
    if (f->float16_int8.shaderInt8) bits |= GPUC_FEATURE_INT8;
    if (f->core.features.shaderInt16) bits |= GPUC_FEATURE_INT16;
    if (f->core.features.shaderInt64) bits |= GPUC_FEATURE_INT64;
    if (f->storage8.storageBuffer8BitAccess) bits |= GPUC_FEATURE_STORAGE8;
    if (f->storage16.storageBuffer16BitAccess) bits |= GPUC_FEATURE_STORAGE16;
    if ((ops & arithmetic) == arithmetic) bits |= GPUC_FEATURE_SUBGROUP;
    if ((ops & VK_SUBGROUP_FEATURE_BASIC_BIT) && (ops & VK_SUBGROUP_FEATURE_SHUFFLE_BIT))
        bits |= GPUC_FEATURE_SUBGROUP_SHUFFLE;
    if (f->dot_product.shaderIntegerDotProduct) bits |= GPUC_FEATURE_DOT_PRODUCT;
    if (f->atomic_float.shaderBufferFloat32AtomicAdd) bits |= GPUC_FEATURE_ATOMIC_FLOAT;
    return bits;
}

static gpuc_status list_extensions(const gpuc_vk *vk, VkPhysicalDevice physical, ext_list *list)
{
    GPUC_VK_TRY("vkEnumerateDeviceExtensionProperties",
                vk->fn.EnumerateDeviceExtensionProperties(physical, NULL, &list->count, NULL));
    list->items = gpuc_mem_alloc(vk->allocator, list->count * sizeof(VkExtensionProperties) + 1);
    if (!list->items) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing device extensions");
    return NULL;
}

static gpuc_status query_all(const gpuc_vk *vk, VkPhysicalDevice physical, const ext_list *list,
                             gpuc_vk_caps *caps, gpuc_vk_features *features)
{
    VkPhysicalDeviceSubgroupProperties subgroup = {0};
    query_features(vk, physical, caps, list, features);
    query_properties(vk, physical, caps, list, features, &subgroup);
    query_multiprocessors(vk, physical, caps, list);
    caps->memory_budget = use(caps, list, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, 0);
    query_shares(vk, physical, caps, list);
    caps->global_priority = !list->enabled && gpuc_runtime_get_desc(vk->rt)->queue_priority &&
                            (use(caps, list, VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, 0) ||
                             use(caps, list, VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME, 0));
    caps->features |= feature_bits(features, &subgroup);
    bool in_compute = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    caps->subgroup_size = in_compute && subgroup.subgroupSize ? subgroup.subgroupSize : 1;
    return gpuc_vk_coopmat_query(vk, physical, features, &caps->features);
}

gpuc_status gpuc_vk_caps_query(const gpuc_vk *vk, VkPhysicalDevice physical, const gpuc_vk_enabled *enabled,
                               gpuc_vk_caps *caps, gpuc_vk_features *features)
{
    *caps = (gpuc_vk_caps){0};
    vk->fn.GetPhysicalDeviceProperties(physical, &caps->props);
    vk->fn.GetPhysicalDeviceMemoryProperties(physical, &caps->memory);
    caps->queue_family = enabled ? enabled->queue_family : gpuc_vk_compute_family(vk, physical);
    caps->timestamp_bits = gpuc_vk_timestamp_bits(vk, physical, caps->queue_family);
    uint32_t version = caps->props.apiVersion;
    snprintf(caps->api_text, sizeof(caps->api_text), "%u.%u.%u", VK_API_VERSION_MAJOR(version),
             VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    caps->api_version = version < vk->api_version ? version : vk->api_version;
    ext_list list = {.enabled = enabled};
    if (enabled) return query_all(vk, physical, &list, caps, features);
    GPUC_TRY(list_extensions(vk, physical, &list));
    size_t bytes = list.count * sizeof(VkExtensionProperties) + 1;
    VkResult r = vk->fn.EnumerateDeviceExtensionProperties(physical, NULL, &list.count, list.items);
    gpuc_status status = r < 0
                             ? gpuc_vk_error_at(r, "vkEnumerateDeviceExtensionProperties", __FILE__, __LINE__)
                             : query_all(vk, physical, &list, caps, features);
    gpuc_mem_free(vk->allocator, list.items, bytes);
    return status;
}

/* The heap that tensors come from. */
static uint32_t tensor_heap(const gpuc_vk_device *dev)
{
    return dev->caps.memory.memoryTypes[dev->memory.ranking[GPUC_VK_USE_TENSOR][0]].heapIndex;
}

void gpuc_vk_memory_budget(const gpuc_vk_device *dev, VkPhysicalDeviceMemoryBudgetPropertiesEXT *out)
{
    *out = (VkPhysicalDeviceMemoryBudgetPropertiesEXT){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = out};
    if (dev->caps.memory_budget) dev->vk->fn.GetPhysicalDeviceMemoryProperties2(dev->physical, &memory);
}

static int64_t available_bytes(const gpuc_vk_device *dev)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget;
    gpuc_vk_memory_budget(dev, &budget);
    uint32_t heap = tensor_heap(dev);
    VkDeviceSize all = budget.heapBudget[heap], used = budget.heapUsage[heap];
    return (int64_t)(all > used ? all - used : 0);
}

static bool tensors_are_mapped(const gpuc_vk_device *dev)
{
    uint32_t type = dev->memory.ranking[GPUC_VK_USE_TENSOR][0];
    return !dev->force_staging && gpuc_vk_is_unified(dev, dev->caps.memory.memoryTypes[type].propertyFlags);
}

gpuc_status gpuc_vk_get_attr(gpuc_device *device, gpuc_device_attr attr, gpuc_attr_value *out)
{
    const gpuc_vk_device *dev = (gpuc_vk_device *)device;
    const VkPhysicalDeviceLimits *limits = &dev->caps.props.limits;
    uint64_t align = limits->minStorageBufferOffsetAlignment;
    bool software = dev->caps.props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    *out = (gpuc_attr_value){.known = true};
    switch (attr) {
    case GPUC_ATTR_EXISTS: out->i = 1; break;
    case GPUC_ATTR_NAME: out->s = dev->caps.props.deviceName; break;
    case GPUC_ATTR_DRIVER: out->s = dev->caps.driver; break;
    case GPUC_ATTR_IS_SOFTWARE: out->i = software; break;
    case GPUC_ATTR_COMPUTE_VERSION:
    case GPUC_ATTR_API_VERSION: out->s = dev->caps.api_text; break;
    case GPUC_ATTR_MAX_THREADS_PER_BLOCK: out->i = limits->maxComputeWorkGroupInvocations; break;
    case GPUC_ATTR_MAX_BLOCK_X: out->i = limits->maxComputeWorkGroupSize[0]; break;
    case GPUC_ATTR_MAX_BLOCK_Y: out->i = limits->maxComputeWorkGroupSize[1]; break;
    case GPUC_ATTR_MAX_BLOCK_Z: out->i = limits->maxComputeWorkGroupSize[2]; break;
    case GPUC_ATTR_MAX_GRID_X: out->i = limits->maxComputeWorkGroupCount[0]; break;
    case GPUC_ATTR_MAX_GRID_Y: out->i = limits->maxComputeWorkGroupCount[1]; break;
    case GPUC_ATTR_MAX_GRID_Z: out->i = limits->maxComputeWorkGroupCount[2]; break;
    case GPUC_ATTR_MAX_SHARED_BYTES: out->i = limits->maxComputeSharedMemorySize; break;
    case GPUC_ATTR_WARP_SIZE: out->i = dev->caps.subgroup_size; break;
    case GPUC_ATTR_MULTI_PROCESSOR_COUNT:
        out->known = dev->caps.multiprocessors > 0;
        out->i = dev->caps.multiprocessors;
        break;
    case GPUC_ATTR_TOTAL_GLOBAL_BYTES:
        out->i = (int64_t)dev->caps.memory.memoryHeaps[tensor_heap(dev)].size;
        break;
    case GPUC_ATTR_AVAILABLE_GLOBAL_BYTES:
        out->known = dev->caps.memory_budget;
        out->i = out->known ? available_bytes(dev) : 0;
        break;
    case GPUC_ATTR_MAX_ALLOC_BYTES:
        out->i = dev->caps.max_allocation > INT64_MAX ? INT64_MAX : (int64_t)dev->caps.max_allocation;
        break;
    case GPUC_ATTR_MAX_BUFFER_RANGE: out->i = limits->maxStorageBufferRange; break;
    case GPUC_ATTR_MAX_STORAGE_BUFFERS: out->i = limits->maxPerStageDescriptorStorageBuffers; break;
    case GPUC_ATTR_MAX_PUSH_BYTES: out->i = limits->maxPushConstantsSize; break;
    case GPUC_ATTR_MAX_TEXELS: out->i = limits->maxTexelBufferElements; break;
    case GPUC_ATTR_MAX_IMAGE_WIDTH:
    case GPUC_ATTR_MAX_IMAGE_HEIGHT: out->i = limits->maxImageDimension2D; break;
    case GPUC_ATTR_BUFFER_ALIGN:
        if (align < limits->minTexelBufferOffsetAlignment) align = limits->minTexelBufferOffsetAlignment;
        out->i = (int64_t)align;
        break;
    case GPUC_ATTR_UNIFIED_MEMORY: out->i = tensors_are_mapped(dev); break;
    case GPUC_ATTR_FEATURES: out->i = dev->caps.features; break;
    case GPUC_ATTR_SUBGROUP_SIZE_CONTROL: out->i = dev->caps.size_control; break;
    case GPUC_ATTR_MAX_CLOCK_RATE:
    case GPUC_ATTR_MAX_THREAD_DIMENSIONS:
    case GPUC_ATTR_MAX_REGISTERS:
    case GPUC_ATTR_GCN_ARCH:
    case GPUC_ATTR_L2_CACHE_BYTES:
    case GPUC_ATTR_INSTRUCTION_SETS:
    case GPUC_ATTR_VECTOR_BITS: out->known = false; break;
    case GPUC_ATTR_MAX_ITERATIONS:
        /* LP_MAX_TGSI_LOOP_ITERATIONS of Mesa's llvmpipe, which no query tells. */
        out->known = strstr(dev->caps.props.deviceName, "llvmpipe") != NULL;
        out->i = out->known ? 65535 : 0;
        break;
    case GPUC_ATTR_COUNT: out->known = false; break;
    }
    return NULL;
}
