/* SPDX-License-Identifier: Apache-2.0 */
#define VK_NO_PROTOTYPES 1
#include <vulkan/vulkan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strict.h"

#define ATOM 256
#define MAX_MEMORIES 256

enum { TYPE_DEVICE, TYPE_NON_COHERENT, TYPE_COUNT };

typedef struct memory {
    VkDeviceMemory handle;
    uint32_t type;
    VkDeviceSize size;
    uint8_t *real, *shadow; /* the host sees the shadow, the device the real bytes */
    bool mapped;
} memory;

static struct {
    strict_options options;
    PFN_vkGetInstanceProcAddr get_instance;
    PFN_vkGetDeviceProcAddr get_device;
    VkInstance instance;
    memory memories[MAX_MEMORIES];
    uint64_t in_use;
    int violations, submits, waits, creations;
    bool lost;
} s;

static void violation(const char *what)
{
    fprintf(stderr, "strict device: %s\n", what);
    s.violations++;
}

static PFN_vkVoidFunction real_instance(const char *name)
{
    return s.get_instance(s.instance, name);
}

static PFN_vkVoidFunction real_device(VkDevice device, const char *name)
{
    return s.get_device(device, name);
}

static bool fails(void)
{
    return ++s.creations == s.options.fail_at;
}

/* ---- What it reports ------------------------------------------------------------------------- */

static void lower_limits(VkPhysicalDeviceProperties *p)
{
    p->apiVersion = VK_API_VERSION_1_1;
    p->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    VkPhysicalDeviceLimits *l = &p->limits;
    l->maxTexelBufferElements = 65536;
    l->maxUniformBufferRange = 16384;
    l->maxStorageBufferRange = 1 << 27;
    l->maxPushConstantsSize = 128;
    l->maxPerStageDescriptorUniformBuffers = 12;
    l->maxPerStageDescriptorStorageBuffers = 4;
    l->maxPerStageDescriptorSampledImages = 16;
    l->maxComputeSharedMemorySize = 16384;
    l->maxComputeWorkGroupInvocations = 128;
    l->maxComputeWorkGroupSize[0] = l->maxComputeWorkGroupSize[1] = 128;
    l->maxComputeWorkGroupSize[2] = 64;
    for (int i = 0; i < 3; i++) l->maxComputeWorkGroupCount[i] = 65535;
    l->minTexelBufferOffsetAlignment = l->minUniformBufferOffsetAlignment =
        l->minStorageBufferOffsetAlignment = 256;
    l->nonCoherentAtomSize = ATOM;
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties *out)
{
    ((PFN_vkGetPhysicalDeviceProperties)real_instance("vkGetPhysicalDeviceProperties"))(physical, out);
    lower_limits(out);
}

static VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
    ((PFN_vkGetPhysicalDeviceProperties2)real_instance("vkGetPhysicalDeviceProperties2"))(physical, out);
    lower_limits(&out->properties);
    for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
            ((VkPhysicalDeviceSubgroupProperties *)at)->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
        else if (at->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES &&
                 at->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES)
            violation("a property structure beyond Vulkan 1.1 was chained");
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out)
{
    (void)physical;
    out->features = (VkPhysicalDeviceFeatures){0};
    for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES)
            memset(&((VkPhysicalDevice16BitStorageFeatures *)at)->storageBuffer16BitAccess, 0,
                   4 * sizeof(VkBool32));
        else
            violation("a feature structure beyond Vulkan 1.1 was chained");
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate_extensions(VkPhysicalDevice physical, const char *layer,
                                                           uint32_t *count, VkExtensionProperties *out)
{
    (void)physical;
    (void)layer;
    (void)out;
    *count = 0;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL get_memory_properties(VkPhysicalDevice physical,
                                                        VkPhysicalDeviceMemoryProperties *out)
{
    (void)physical;
    *out = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = TYPE_COUNT, .memoryHeapCount = 2};
    out->memoryTypes[TYPE_DEVICE] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    out->memoryTypes[TYPE_NON_COHERENT] =
        (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1};
    out->memoryHeaps[0] = (VkMemoryHeap){s.options.heap_bytes, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    out->memoryHeaps[1] = (VkMemoryHeap){(uint64_t)1 << 30, 0};
}

/* ---- Device ---------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkDevice *out)
{
    static const VkPhysicalDeviceFeatures none;
    if (info->enabledExtensionCount) return VK_ERROR_EXTENSION_NOT_PRESENT;
    for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 &&
            memcmp(&((const VkPhysicalDeviceFeatures2 *)at)->features, &none, sizeof none) != 0)
            return VK_ERROR_FEATURE_NOT_PRESENT;
    return ((PFN_vkCreateDevice)real_instance("vkCreateDevice"))(physical, info, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (++s.submits == s.options.lose_at_submit) s.lost = true;
    if (s.lost) return VK_ERROR_DEVICE_LOST;
    return ((PFN_vkQueueSubmit)real_instance("vkQueueSubmit"))(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                                      VkBool32 all, uint64_t timeout)
{
    if (++s.waits == s.options.lose_at_wait) {
        /* A lost device executes nothing any more: the real one must be done before objects go. */
        ((PFN_vkDeviceWaitIdle)real_device(device, "vkDeviceWaitIdle"))(device);
        s.lost = true;
    }
    if (s.lost) return VK_ERROR_DEVICE_LOST;
    return ((PFN_vkWaitForFences)real_device(device, "vkWaitForFences"))(device, count, fences, all, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_fence_status(VkDevice device, VkFence fence)
{
    if (s.lost) return VK_ERROR_DEVICE_LOST;
    return ((PFN_vkGetFenceStatus)real_device(device, "vkGetFenceStatus"))(device, fence);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static VKAPI_ATTR void VKAPI_CALL get_requirements(VkDevice device, VkBuffer buffer,
                                                   VkMemoryRequirements *out)
{
    ((PFN_vkGetBufferMemoryRequirements)real_device(device, "vkGetBufferMemoryRequirements"))(device, buffer,
                                                                                              out);
    out->memoryTypeBits = (1u << TYPE_COUNT) - 1;
    if (out->alignment < ATOM) out->alignment = ATOM;
}

static memory *find(VkDeviceMemory handle)
{
    for (int i = 0; i < MAX_MEMORIES; i++)
        if (s.memories[i].handle == handle) return &s.memories[i];
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                      const VkAllocationCallbacks *callbacks,
                                                      VkDeviceMemory *out)
{
    uint32_t type = info->memoryTypeIndex;
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (type >= TYPE_COUNT) violation("memory of a type that was not reported");
    if (type == TYPE_DEVICE && s.in_use + info->allocationSize > s.options.heap_bytes)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    memory *m = find(VK_NULL_HANDLE);
    if (!m) return VK_ERROR_TOO_MANY_OBJECTS;
    VkMemoryAllocateInfo real = *info;
    real.memoryTypeIndex = 0;
    VkResult r =
        ((PFN_vkAllocateMemory)real_device(device, "vkAllocateMemory"))(device, &real, callbacks, out);
    if (r < 0) return r;
    *m = (memory){.handle = *out, .type = type, .size = info->allocationSize};
    r = ((PFN_vkMapMemory)real_device(device, "vkMapMemory"))(device, *out, 0, VK_WHOLE_SIZE, 0,
                                                              (void **)&m->real);
    if (r < 0) return r;
    if (type == TYPE_DEVICE) {
        s.in_use += m->size;
    } else {
        m->shadow = malloc(m->size);
        memset(m->shadow, 0xa5, m->size);
        memset(m->real, 0x5a, m->size);
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory handle,
                                              const VkAllocationCallbacks *callbacks)
{
    memory *m = handle ? find(handle) : NULL;
    if (m) {
        if (m->type == TYPE_DEVICE) s.in_use -= m->size;
        free(m->shadow);
        *m = (memory){0};
    }
    ((PFN_vkFreeMemory)real_device(device, "vkFreeMemory"))(device, handle, callbacks);
}

static VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset,
                                                 VkDeviceSize size, VkMemoryMapFlags flags, void **out)
{
    memory *m = find(handle);
    (void)device;
    (void)size;
    (void)flags;
    if (!m || m->type == TYPE_DEVICE || m->mapped) {
        violation("memory that the host cannot map, or that is mapped, was mapped");
        return VK_ERROR_MEMORY_MAP_FAILED;
    }
    m->mapped = true;
    *out = m->shadow + offset;
    return VK_SUCCESS;
}

static void move(uint32_t count, const VkMappedMemoryRange *ranges, bool to_device)
{
    for (uint32_t i = 0; i < count; i++) {
        memory *m = find(ranges[i].memory);
        VkDeviceSize size = ranges[i].size;
        if (m && size == VK_WHOLE_SIZE) size = m->size - ranges[i].offset;
        if (!m || !m->mapped || ranges[i].offset % ATOM ||
            (size % ATOM && ranges[i].offset + size != m->size)) {
            violation("a range was flushed or invalidated that is not mapped or not aligned to atoms");
            continue;
        }
        if (to_device)
            memcpy(m->real + ranges[i].offset, m->shadow + ranges[i].offset, size);
        else
            memcpy(m->shadow + ranges[i].offset, m->real + ranges[i].offset, size);
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL flush(VkDevice device, uint32_t count,
                                            const VkMappedMemoryRange *ranges)
{
    (void)device;
    move(count, ranges, true);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL invalidate(VkDevice device, uint32_t count,
                                                 const VkMappedMemoryRange *ranges)
{
    (void)device;
    move(count, ranges, false);
    return VK_SUCCESS;
}

/* ---- Calls that can fail --------------------------------------------------------------------- */

#define CREATION(name, info_type, out_type)                                                                  \
    static VKAPI_ATTR VkResult VKAPI_CALL may_##name(VkDevice device, const info_type *info,                 \
                                                     const VkAllocationCallbacks *callbacks, out_type *out)  \
    {                                                                                                        \
        if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;                                                     \
        return ((PFN_vk##name)real_device(device, "vk" #name))(device, info, callbacks, out);                \
    }
#define ALLOCATION(name, info_type, out_type)                                                                \
    static VKAPI_ATTR VkResult VKAPI_CALL may_##name(VkDevice device, const info_type *info, out_type *out)  \
    {                                                                                                        \
        if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;                                                     \
        return ((PFN_vk##name)real_device(device, "vk" #name))(device, info, out);                           \
    }

CREATION(CreateBuffer, VkBufferCreateInfo, VkBuffer)
CREATION(CreateBufferView, VkBufferViewCreateInfo, VkBufferView)
CREATION(CreateFence, VkFenceCreateInfo, VkFence)
CREATION(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
CREATION(CreateQueryPool, VkQueryPoolCreateInfo, VkQueryPool)
CREATION(CreateShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
CREATION(CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
CREATION(CreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
CREATION(CreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache)
CREATION(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
ALLOCATION(AllocateCommandBuffers, VkCommandBufferAllocateInfo, VkCommandBuffer)
ALLOCATION(AllocateDescriptorSets, VkDescriptorSetAllocateInfo, VkDescriptorSet)

static VKAPI_ATTR VkResult VKAPI_CALL may_CreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                                 uint32_t count,
                                                                 const VkComputePipelineCreateInfo *infos,
                                                                 const VkAllocationCallbacks *callbacks,
                                                                 VkPipeline *out)
{
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return ((PFN_vkCreateComputePipelines)real_device(device, "vkCreateComputePipelines"))(
        device, cache, count, infos, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL may_BindBufferMemory(VkDevice device, VkBuffer buffer,
                                                           VkDeviceMemory memory, VkDeviceSize offset)
{
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return ((PFN_vkBindBufferMemory)real_device(device, "vkBindBufferMemory"))(device, buffer, memory,
                                                                               offset);
}

static VKAPI_ATTR VkResult VKAPI_CALL may_BeginCommandBuffer(VkCommandBuffer cb,
                                                             const VkCommandBufferBeginInfo *info)
{
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return ((PFN_vkBeginCommandBuffer)real_instance("vkBeginCommandBuffer"))(cb, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL may_EndCommandBuffer(VkCommandBuffer cb)
{
    if (fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return ((PFN_vkEndCommandBuffer)real_instance("vkEndCommandBuffer"))(cb);
}

/* ---- Lookup ---------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks, VkInstance *out)
{
    VkResult r =
        ((PFN_vkCreateInstance)s.get_instance(VK_NULL_HANDLE, "vkCreateInstance"))(info, callbacks, out);
    if (r >= 0) {
        s.instance = *out;
        s.get_device = (PFN_vkGetDeviceProcAddr)s.get_instance(*out, "vkGetDeviceProcAddr");
    }
    return r;
}

static PFN_vkVoidFunction ours(const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction f = ours(name);
    return f ? f : s.get_device(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction f = ours(name);
    return f ? f : s.get_instance(instance, name);
}

static PFN_vkVoidFunction ours(const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } table[] = {
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc},
        {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)get_properties},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties2},
        {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features2},
        {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)get_memory_properties},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)enumerate_extensions},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
        {"vkQueueSubmit", (PFN_vkVoidFunction)queue_submit},
        {"vkWaitForFences", (PFN_vkVoidFunction)wait_for_fences},
        {"vkGetFenceStatus", (PFN_vkVoidFunction)get_fence_status},
        {"vkGetBufferMemoryRequirements", (PFN_vkVoidFunction)get_requirements},
        {"vkAllocateMemory", (PFN_vkVoidFunction)allocate_memory},
        {"vkFreeMemory", (PFN_vkVoidFunction)free_memory},
        {"vkMapMemory", (PFN_vkVoidFunction)map_memory},
        {"vkFlushMappedMemoryRanges", (PFN_vkVoidFunction)flush},
        {"vkInvalidateMappedMemoryRanges", (PFN_vkVoidFunction)invalidate},
        {"vkCreateBuffer", (PFN_vkVoidFunction)may_CreateBuffer},
        {"vkCreateBufferView", (PFN_vkVoidFunction)may_CreateBufferView},
        {"vkCreateFence", (PFN_vkVoidFunction)may_CreateFence},
        {"vkCreateCommandPool", (PFN_vkVoidFunction)may_CreateCommandPool},
        {"vkCreateQueryPool", (PFN_vkVoidFunction)may_CreateQueryPool},
        {"vkCreateShaderModule", (PFN_vkVoidFunction)may_CreateShaderModule},
        {"vkCreateDescriptorSetLayout", (PFN_vkVoidFunction)may_CreateDescriptorSetLayout},
        {"vkCreatePipelineLayout", (PFN_vkVoidFunction)may_CreatePipelineLayout},
        {"vkCreatePipelineCache", (PFN_vkVoidFunction)may_CreatePipelineCache},
        {"vkCreateDescriptorPool", (PFN_vkVoidFunction)may_CreateDescriptorPool},
        {"vkAllocateCommandBuffers", (PFN_vkVoidFunction)may_AllocateCommandBuffers},
        {"vkAllocateDescriptorSets", (PFN_vkVoidFunction)may_AllocateDescriptorSets},
        {"vkCreateComputePipelines", (PFN_vkVoidFunction)may_CreateComputePipelines},
        {"vkBindBufferMemory", (PFN_vkVoidFunction)may_BindBufferMemory},
        {"vkBeginCommandBuffer", (PFN_vkVoidFunction)may_BeginCommandBuffer},
        {"vkEndCommandBuffer", (PFN_vkVoidFunction)may_EndCommandBuffer},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].name, name) == 0) return table[i].function;
    return NULL;
}

void *strict_begin(void *system, const strict_options *options)
{
    memset(&s, 0, sizeof s);
    if (options) s.options = *options;
    if (!s.options.heap_bytes) s.options.heap_bytes = (uint64_t)512 << 20;
    *(void **)&s.get_instance = system;
    return (void *)(uintptr_t)get_instance_proc;
}

uint64_t strict_heap_in_use(void)
{
    return s.in_use;
}

int strict_violations(void)
{
    return s.violations;
}
