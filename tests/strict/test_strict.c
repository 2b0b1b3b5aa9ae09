/* SPDX-License-Identifier: Apache-2.0 */
/* The strict device itself: what is right passes, and each wrong thing is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../tools/gpuc/sanitize.h"
#include "state.h"

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static PFN_vkGetInstanceProcAddr get_proc;

#define FN(name) ((PFN_vk##name)get_proc(instance, "vk" #name))

static VkResult open_device(const void *chain, uint32_t num_extensions, const char *const *extensions)
{
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = chain,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = num_extensions,
                               .ppEnabledExtensionNames = extensions};
    return FN(CreateDevice)(physical, &info, NULL, &device);
}

static int begin(void **state)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    uint32_t count = 1;
    (void)state;
    *(void **)&get_proc = strict_begin(dlsym(library, "vkGetInstanceProcAddr"), NULL);
    assert_int_equal(FN(CreateInstance)(&info, NULL, &instance), VK_SUCCESS);
    assert_true(FN(EnumeratePhysicalDevices)(instance, &count, &physical) >= 0);
    assert_int_equal(open_device(NULL, 0, NULL), VK_SUCCESS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cli_keep_drivers_loaded();
    FN(DestroyDevice)(device, NULL);
    FN(DestroyInstance)(instance, NULL);
    instance = VK_NULL_HANDLE;
    return 0;
}

static bool there(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    PFN_vkGetInstanceProcAddr real;
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    VkInstance probe;
    uint32_t count = 0;
    if (!library) return false;
    *(void **)&real = dlsym(library, "vkGetInstanceProcAddr");
    if (((PFN_vkCreateInstance)real(NULL, "vkCreateInstance"))(&info, NULL, &probe) < 0) return false;
    ((PFN_vkEnumeratePhysicalDevices)real(probe, "vkEnumeratePhysicalDevices"))(probe, &count, NULL);
    cli_keep_drivers_loaded();
    ((PFN_vkDestroyInstance)real(probe, "vkDestroyInstance"))(probe, NULL);
    return count > 0;
}

/* One more violation than before. */
#define REFUSED(...)                                                                                         \
    do {                                                                                                     \
        int before = strict_violations();                                                                    \
        (void)(__VA_ARGS__);                                                                                 \
        assert_int_equal(strict_violations(), before + 1);                                                   \
    } while (0)
#define REFUSED_VOID(...)                                                                                    \
    do {                                                                                                     \
        int before = strict_violations();                                                                    \
        __VA_ARGS__;                                                                                         \
        assert_int_equal(strict_violations(), before + 1);                                                   \
    } while (0)

static void functions(void **state)
{
    (void)state;
    assert_non_null(get_proc(instance, "vkCmdDispatch"));
    assert_null(get_proc(instance, "vkCmdPushDescriptorSetKHR"));
    assert_null(FN(GetDeviceProcAddr)(device, "vkCmdPipelineBarrier2"));
    assert_null(FN(GetDeviceProcAddr)(device, "vkSetDebugUtilsObjectNameEXT"));
}

static void features_and_extensions(void **state)
{
    const char *extension = VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
    VkPhysicalDeviceFeatures2 core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDevice16BitStorageFeatures half = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, .storageBuffer16BitAccess = true};
    VkPhysicalDevice8BitStorageFeatures byte = {.sType =
                                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    VkDevice kept = device;
    (void)state;
    core.features.shaderInt64 = VK_TRUE;
    REFUSED(open_device(NULL, 1, &extension));
    REFUSED(open_device(&core, 0, NULL));
    REFUSED(open_device(&half, 0, NULL));
    REFUSED(open_device(&byte, 0, NULL));
    device = kept;
    core.pNext = &byte;
    REFUSED_VOID(FN(GetPhysicalDeviceFeatures2)(physical, &core));
    assert_false(core.features.shaderInt64);
}

/* A module of these instructions and no more. */
static VkResult shader(const uint32_t *instructions, size_t count, uint32_t version)
{
    uint32_t words[64] = {0x07230203, version, 0, 16, 0};
    memcpy(words + 5, instructions, count * sizeof *words);
    return strict_check_spirv(words, 5 + count);
}
#define OP(length, op) ((uint32_t)(length) << 16 | (op))
#define SHADER(version, ...)                                                                                 \
    shader((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (version))
/* uint a[n] in the work-group: types 1 to 4 and the variable 5. */
#define SHARED(n)                                                                                            \
    OP(4, 21), 1, 32, 0, OP(4, 43), 1, 2, (n), OP(4, 28), 3, 1, 2, OP(4, 32), 4, 4, 3, OP(4, 59), 4, 5, 4

static void shaders(void **state)
{
    const uint32_t v13 = 0x00010300;
    (void)state;
    assert_int_equal(SHADER(v13, OP(2, 17), 1, OP(6, 16), 9, 17, 128, 1, 1), VK_SUCCESS);
    assert_int_equal(SHADER(v13, SHARED(4096)), VK_SUCCESS);
    REFUSED(SHADER(v13, SHARED(4097)));
    REFUSED(SHADER(v13, OP(2, 17), 11));               /* Int64 */
    REFUSED(SHADER(v13, OP(2, 17), 4433));             /* StorageBuffer16BitAccess */
    REFUSED(SHADER(v13, OP(2, 17), 63));               /* GroupNonUniformArithmetic */
    REFUSED(SHADER(v13, OP(2, 10), 0x5f565053));       /* an extension */
    REFUSED(SHADER(v13, OP(6, 16), 9, 17, 129, 1, 1)); /* LocalSize */
    REFUSED(SHADER(v13, OP(6, 16), 9, 17, 64, 4, 1));  /* all together */
    REFUSED(SHADER(v13, OP(6, 16), 9, 17, 1, 1, 65));  /* in z */
    REFUSED(SHADER(0x00010400, OP(2, 17), 1));         /* too new */
    REFUSED(SHADER(v13, OP(7, 17), 1));                /* cut off */
}

static VkResult pipeline_layout(uint32_t storage, uint32_t push)
{
    VkDescriptorSetLayoutBinding bindings[8];
    for (uint32_t i = 0; i < storage; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                     VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = storage,
                                           .pBindings = bindings};
    VkDescriptorSetLayout layout;
    assert_int_equal(FN(CreateDescriptorSetLayout)(device, &set, NULL, &layout), VK_SUCCESS);
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, push};
    VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &layout,
                                       .pushConstantRangeCount = push ? 1 : 0,
                                       .pPushConstantRanges = &range};
    VkPipelineLayout out;
    VkResult r = FN(CreatePipelineLayout)(device, &info, NULL, &out);
    if (r >= 0) FN(DestroyPipelineLayout)(device, out, NULL);
    FN(DestroyDescriptorSetLayout)(device, layout, NULL);
    return r;
}

static void layouts(void **state)
{
    (void)state;
    assert_int_equal(pipeline_layout(4, 128), VK_SUCCESS);
    REFUSED(pipeline_layout(5, 0));
    REFUSED(pipeline_layout(1, 132));
}

typedef struct piece {
    VkBuffer buffer;
    VkDeviceMemory memory;
} piece;

static piece make(VkDeviceSize size, VkBufferUsageFlags usage, uint32_t type)
{
    piece p;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    VkMemoryRequirements need;
    assert_int_equal(FN(CreateBuffer)(device, &info, NULL, &p.buffer), VK_SUCCESS);
    FN(GetBufferMemoryRequirements)(device, p.buffer, &need);
    assert_int_equal(need.alignment % STRICT_ATOM, 0);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = need.size,
                                   .memoryTypeIndex = type};
    assert_int_equal(FN(AllocateMemory)(device, &memory, NULL, &p.memory), VK_SUCCESS);
    assert_int_equal(FN(BindBufferMemory)(device, p.buffer, p.memory, 0), VK_SUCCESS);
    return p;
}

static void drop(piece p)
{
    FN(DestroyBuffer)(device, p.buffer, NULL);
    FN(FreeMemory)(device, p.memory, NULL);
}

static VkResult view(VkBuffer buffer, VkFormat format, VkDeviceSize offset, VkDeviceSize range)
{
    VkBufferViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
                                   .buffer = buffer,
                                   .format = format,
                                   .offset = offset,
                                   .range = range};
    VkBufferView out;
    VkResult r = FN(CreateBufferView)(device, &info, NULL, &out);
    if (r >= 0) FN(DestroyBufferView)(device, out, NULL);
    return r;
}

static void views(void **state)
{
    const VkFormat vec4 = VK_FORMAT_R32G32B32A32_SFLOAT;
    piece p = make(2 << 20, VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, STRICT_TYPE_DEVICE);
    (void)state;
    assert_int_equal(view(p.buffer, vec4, 256, 1 << 20), VK_SUCCESS);
    REFUSED(view(p.buffer, vec4, 64, 1024));
    REFUSED(view(p.buffer, vec4, 0, (1 << 20) + 16));
    REFUSED(view(p.buffer, VK_FORMAT_R32G32B32_SFLOAT, 0, 1200));
    drop(p);
}

static void memory_is_seen_when_moved(void **state)
{
    piece p = make(4096, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, STRICT_TYPE_HOST);
    piece local = make(4096, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, STRICT_TYPE_DEVICE);
    const strict_object *m = strict_find(STRICT_MEMORY, STRICT_HANDLE(p.memory));
    VkMappedMemoryRange range = {.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = p.memory};
    uint8_t *host;
    (void)state;
    REFUSED(FN(MapMemory)(device, local.memory, 0, VK_WHOLE_SIZE, 0, (void **)&host));
    assert_int_equal(FN(MapMemory)(device, p.memory, 0, VK_WHOLE_SIZE, 0, (void **)&host), VK_SUCCESS);
    memset(host, 7, 512);
    assert_int_not_equal(m->real[0], 7);
    range.offset = 256;
    range.size = 256;
    assert_int_equal(FN(FlushMappedMemoryRanges)(device, 1, &range), VK_SUCCESS);
    assert_int_not_equal(m->real[255], 7);
    assert_int_equal(m->real[256], 7);
    m->real[300] = 9; /* by the device */
    assert_int_equal(host[300], 7);
    assert_int_equal(FN(InvalidateMappedMemoryRanges)(device, 1, &range), VK_SUCCESS);
    assert_int_equal(host[300], 9);
    range.offset = 16;
    REFUSED(FN(FlushMappedMemoryRanges)(device, 1, &range));
    range.offset = 0;
    range.size = 100;
    REFUSED(FN(InvalidateMappedMemoryRanges)(device, 1, &range));
    drop(p);
    drop(local);
}

/* What is wrong in a call without a result loses the device. */
static void commands(void **state)
{
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool;
    VkCommandBuffer cb;
    VkQueue queue;
    (void)state;
    assert_int_equal(FN(CreateCommandPool)(device, &pool_info, NULL, &pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo start = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(FN(AllocateCommandBuffers)(device, &info, &cb), VK_SUCCESS);
    assert_int_equal(FN(BeginCommandBuffer)(cb, &start), VK_SUCCESS);
    FN(GetDeviceQueue)(device, 0, 0, &queue);
    FN(CmdDispatch)(cb, 0, 65535, 1);
    assert_false(strict.lost);
    REFUSED_VOID(FN(CmdDispatch)(cb, 0, 65536, 1));
    assert_true(strict.lost);
    assert_int_equal(FN(EndCommandBuffer)(cb), VK_SUCCESS);
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &cb};
    assert_int_equal(FN(QueueSubmit)(queue, 1, &submit, VK_NULL_HANDLE), VK_ERROR_DEVICE_LOST);
    FN(DestroyCommandPool)(device, pool, NULL);
}

static void write_set(VkDescriptorType type, VkDescriptorBufferInfo info)
{
    VkDescriptorSetLayoutBinding binding = {0, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo layout_info = {.sType =
                                                       VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                   .bindingCount = 1,
                                                   .pBindings = &binding};
    VkDescriptorPoolSize size = {type, 1};
    VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                            .maxSets = 1,
                                            .poolSizeCount = 1,
                                            .pPoolSizes = &size};
    VkDescriptorSetLayout layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    assert_int_equal(FN(CreateDescriptorSetLayout)(device, &layout_info, NULL, &layout), VK_SUCCESS);
    assert_int_equal(FN(CreateDescriptorPool)(device, &pool_info, NULL, &pool), VK_SUCCESS);
    VkDescriptorSetAllocateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &layout};
    assert_int_equal(FN(AllocateDescriptorSets)(device, &set_info, &set), VK_SUCCESS);
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = set,
                                  .descriptorCount = 1,
                                  .descriptorType = type,
                                  .pBufferInfo = &info};
    FN(UpdateDescriptorSets)(device, 1, &write, 0, NULL);
    FN(DestroyDescriptorPool)(device, pool, NULL);
    FN(DestroyDescriptorSetLayout)(device, layout, NULL);
}

static void descriptors(void **state)
{
    const VkDescriptorType storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                           uniform = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    const VkDeviceSize big = (VkDeviceSize)129 << 20;
    piece p = make(big, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                   STRICT_TYPE_DEVICE);
    (void)state;
    write_set(storage, (VkDescriptorBufferInfo){p.buffer, 256, (VkDeviceSize)128 << 20});
    write_set(uniform, (VkDescriptorBufferInfo){p.buffer, 512, 16384});
    assert_int_equal(strict_violations(), 0);
    REFUSED_VOID(write_set(storage, (VkDescriptorBufferInfo){p.buffer, 16, 64}));
    REFUSED_VOID(write_set(uniform, (VkDescriptorBufferInfo){p.buffer, 64, 64}));
    REFUSED_VOID(write_set(storage, (VkDescriptorBufferInfo){p.buffer, 0, VK_WHOLE_SIZE}));
    REFUSED_VOID(write_set(uniform, (VkDescriptorBufferInfo){p.buffer, 0, 16388}));
    REFUSED_VOID(write_set(storage, (VkDescriptorBufferInfo){p.buffer, big - 256, 512}));
    drop(p);
}

static void memory_has_an_end(void **state)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .allocationSize = STRICT_MAX_ALLOCATION + 1};
    VkDeviceMemory out;
    (void)state;
    REFUSED(FN(AllocateMemory)(device, &info, NULL, &out));
    info.allocationSize = 4096;
    info.memoryTypeIndex = STRICT_TYPE_COUNT;
    REFUSED(FN(AllocateMemory)(device, &info, NULL, &out));
    assert_int_equal(strict_heap_in_use(), 0);
}

int main(void)
{
    if (!there()) {
        printf("skipped: there is no Vulkan device\n");
        return 77;
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(functions),
        CASE(features_and_extensions),
        CASE(shaders),
        CASE(layouts),
        CASE(views),
        CASE(memory_is_seen_when_moved),
        CASE(commands),
        CASE(descriptors),
        CASE(memory_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
