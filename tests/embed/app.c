/* SPDX-License-Identifier: Apache-2.0 */
/* The application of the tests, and a count of what is called on its device. */
#include "app.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/gpuc/sanitize.h"
#include "../best_practices.h"

app_counts app_counted;

#define CHECK(call) assert_int_equal((call), VK_SUCCESS)
#define LAYER "VK_LAYER_KHRONOS_validation"

void ok(gpuc_status status)
{
    if (!status) return;
    char text[1024];
    snprintf(text, sizeof text, "%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
             gpuc_status_line(status));
    gpuc_status_release(status);
    fail_msg("%s", text);
}

void fails(gpuc_status status, gpuc_code code, const char *text)
{
    assert_non_null(status);
    char message[1024];
    snprintf(message, sizeof message, "%s", gpuc_status_message(status));
    gpuc_code got = gpuc_status_code(status);
    gpuc_status_release(status);
    if (got != code || !strstr(message, text))
        fail_msg("got %s: %s; wanted %s: ...%s...", gpuc_code_name(got), message, gpuc_code_name(code), text);
}

/* ---- What gpuc calls ------------------------------------------------------------------------- */

static PFN_vkGetInstanceProcAddr loader;
static PFN_vkGetDeviceProcAddr real_device_proc;

/* Counted functions: their real addresses, of the one device that is open. */
#define DEVICE_CREATE(X, name, type, object)                                                                 \
    X(creations, name,                                                                                       \
      (VkDevice d, const Vk##type##CreateInfo *i, const VkAllocationCallbacks *c, Vk##object *o),            \
      (d, i, c, o))
#define COUNTED(X)                                                                                           \
    X(submits, QueueSubmit, (VkQueue q, uint32_t n, const VkSubmitInfo *i, VkFence f), (q, n, i, f))         \
    X(waits, WaitForFences, (VkDevice d, uint32_t n, const VkFence *f, VkBool32 all, uint64_t t),            \
      (d, n, f, all, t))                                                                                     \
    X(waits, QueueWaitIdle, (VkQueue q), (q))                                                                \
    DEVICE_CREATE(X, CreateDescriptorPool, DescriptorPool, DescriptorPool)                                   \
    DEVICE_CREATE(X, CreateBufferView, BufferView, BufferView)                                               \
    DEVICE_CREATE(X, CreateImage, Image, Image)                                                              \
    DEVICE_CREATE(X, CreateImageView, ImageView, ImageView)                                                  \
    DEVICE_CREATE(X, CreateFence, Fence, Fence)                                                              \
    DEVICE_CREATE(X, CreateCommandPool, CommandPool, CommandPool)                                            \
    DEVICE_CREATE(X, CreateQueryPool, QueryPool, QueryPool)                                                  \
    DEVICE_CREATE(X, CreateShaderModule, ShaderModule, ShaderModule)                                         \
    DEVICE_CREATE(X, CreateDescriptorSetLayout, DescriptorSetLayout, DescriptorSetLayout)                    \
    DEVICE_CREATE(X, CreatePipelineLayout, PipelineLayout, PipelineLayout)                                   \
    DEVICE_CREATE(X, CreatePipelineCache, PipelineCache, PipelineCache)                                      \
    X(creations, CreateComputePipelines,                                                                     \
      (VkDevice d, VkPipelineCache p, uint32_t n, const VkComputePipelineCreateInfo *i,                      \
       const VkAllocationCallbacks *c, VkPipeline *o),                                                       \
      (d, p, n, i, c, o))                                                                                    \
    X(creations, AllocateDescriptorSets,                                                                     \
      (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o))                     \
    X(creations, AllocateCommandBuffers,                                                                     \
      (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o))                     \
    X(others, BeginCommandBuffer, (VkCommandBuffer b, const VkCommandBufferBeginInfo *i), (b, i))            \
    X(others, BindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))    \
    X(others, BindImageMemory, (VkDevice d, VkImage i, VkDeviceMemory m, VkDeviceSize o), (d, i, m, o))      \
    X(others, MapMemory,                                                                                     \
      (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize n, VkMemoryMapFlags f, void **p),          \
      (d, m, o, n, f, p))                                                                                    \
    X(others, FlushMappedMemoryRanges, (VkDevice d, uint32_t n, const VkMappedMemoryRange *r), (d, n, r))    \
    X(others, InvalidateMappedMemoryRanges, (VkDevice d, uint32_t n, const VkMappedMemoryRange *r),          \
      (d, n, r))                                                                                             \
    X(others, ResetFences, (VkDevice d, uint32_t n, const VkFence *f), (d, n, f))                            \
    X(others, GetFenceStatus, (VkDevice d, VkFence f), (d, f))                                               \
    X(others, GetQueryPoolResults,                                                                           \
      (VkDevice d, VkQueryPool q, uint32_t i, uint32_t n, size_t s, void *o, VkDeviceSize t,                 \
       VkQueryResultFlags f),                                                                                \
      (d, q, i, n, s, o, t, f))                                                                              \
    X(others, GetPipelineCacheData, (VkDevice d, VkPipelineCache p, size_t * n, void *o), (d, p, n, o))      \
    X(others, GetMemoryHostPointerPropertiesEXT,                                                             \
      (VkDevice d, VkExternalMemoryHandleTypeFlagBits t, const void *m,                                      \
       VkMemoryHostPointerPropertiesEXT *o),                                                                 \
      (d, t, m, o))

static const app *current;

/* True for the call that is to fail. */
static bool fails_now(const char *name)
{
    if (__atomic_add_fetch(&app_counted.calls, 1, __ATOMIC_RELAXED) != app_counted.fail_at) return false;
    app_counted.failed = name;
    return true;
}

bool app_failed(gpuc_status status, bool *out_complete)
{
    const char *name = app_counted.failed;
    *out_complete = !status;
    if (!name) {
        ok(status);
        return false;
    }
    if (!status && app_counted.fail_with == VK_ERROR_OUT_OF_DEVICE_MEMORY) return true;
    if (!status) fail_msg("the failure of %s (call %d) was lost", name, app_counted.fail_at);
    if (!strstr(gpuc_status_message(status), name))
        fail_msg("%s (call %d) failed, but the message is: %s", name, app_counted.fail_at,
                 gpuc_status_message(status));
    gpuc_status_release(status);
    return true;
}

void app_fail_each_call(bool (*play)(int at, bool plain, VkResult error), int min)
{
    static const VkResult errors[] = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY};
    for (int i = 0; i < 4; i++) {
        int at = 1;
        while (play(at, i % 2, errors[i / 2])) at++;
        assert_true(at > min);
    }
}

void app_make_package(char path[64], void (*build)(gpuc_ctx *ctx, void *arg), void *arg)
{
    strcpy(path, "/tmp/gpuc-embed-XXXXXX");
    int fd = mkstemp(path);
    gpuc_ctx *ctx;
    assert_true(fd >= 0);
    close(fd);
    ok(gpuc_ctx_create(NULL, &ctx));
    ok(gpuc_ctx_protect(ctx, build, arg));
    gpuc_ctx_destroy(ctx);
}

static bool is_lost(const char *count)
{
    if (!app_counted.lose_after || (strcmp(count, "submits") && strcmp(count, "waits"))) return false;
    if (app_counted.submits + app_counted.waits < app_counted.lose_after) return false;
    current->QueueWaitIdle(current->queue); /* a lost device runs nothing */
    return true;
}

#define X(count, name, parameters, arguments)                                                                \
    static PFN_vk##name real_##name;                                                                         \
    static VKAPI_ATTR VkResult VKAPI_CALL counted_##name parameters                                          \
    {                                                                                                        \
        __atomic_fetch_add(&app_counted.count, 1, __ATOMIC_RELAXED);                                         \
        if (fails_now("vk" #name)) return app_counted.fail_with;                                             \
        return is_lost(#count) ? VK_ERROR_DEVICE_LOST : real_##name arguments;                               \
    }
COUNTED(X)
#undef X

/* The command buffer is ended all the same: neither the driver nor the layer knows of the failure. */
static PFN_vkEndCommandBuffer real_EndCommandBuffer;
static VKAPI_ATTR VkResult VKAPI_CALL counted_EndCommandBuffer(VkCommandBuffer cb)
{
    VkResult r = real_EndCommandBuffer(cb);
    return fails_now("vkEndCommandBuffer") ? app_counted.fail_with : r;
}

static PFN_vkUpdateDescriptorSets real_UpdateDescriptorSets;
static VKAPI_ATTR void VKAPI_CALL counted_UpdateDescriptorSets(VkDevice d, uint32_t n,
                                                               const VkWriteDescriptorSet *w, uint32_t m,
                                                               const VkCopyDescriptorSet *c)
{
    __atomic_fetch_add(&app_counted.descriptor_writes, 1, __ATOMIC_RELAXED);
    real_UpdateDescriptorSets(d, n, w, m, c);
}

static PFN_vkCmdDispatch real_CmdDispatch;
static VKAPI_ATTR void VKAPI_CALL counted_CmdDispatch(VkCommandBuffer cb, uint32_t x, uint32_t y, uint32_t z)
{
    __atomic_fetch_add(&app_counted.dispatches, 1, __ATOMIC_RELAXED);
    real_CmdDispatch(cb, x, y, z);
}

static PFN_vkCmdBeginDebugUtilsLabelEXT real_CmdBeginDebugUtilsLabelEXT;
static VKAPI_ATTR void VKAPI_CALL counted_CmdBeginDebugUtilsLabelEXT(VkCommandBuffer cb,
                                                                     const VkDebugUtilsLabelEXT *l)
{
    if (!app_counted.labels++)
        snprintf(app_counted.first_label, sizeof app_counted.first_label, "%s", l->pLabelName);
    snprintf(app_counted.last_label, sizeof app_counted.last_label, "%s", l->pLabelName);
    real_CmdBeginDebugUtilsLabelEXT(cb, l);
}

static uint32_t own_family;

/* Counts a barrier that moves something between families, which the device does not have. */
static void count_move(uint32_t *from, uint32_t *to)
{
    uint32_t a = *from, b = *to;
    if (a == b) return;
    assert_true((a == own_family) != (b == own_family));
    app_counted.other_family = a == own_family ? b : a;
    app_counted.taken += b == own_family;
    app_counted.given += a == own_family;
    *from = *to = VK_QUEUE_FAMILY_IGNORED;
}

static PFN_vkCmdPipelineBarrier real_CmdPipelineBarrier;
static VKAPI_ATTR void VKAPI_CALL counted_CmdPipelineBarrier(VkCommandBuffer cb, VkPipelineStageFlags from,
                                                             VkPipelineStageFlags to, VkDependencyFlags flags,
                                                             uint32_t n, const VkMemoryBarrier *memory,
                                                             uint32_t m, const VkBufferMemoryBarrier *buffers,
                                                             uint32_t k, const VkImageMemoryBarrier *images)
{
    VkBufferMemoryBarrier same[8];
    VkImageMemoryBarrier same_images[8];
    assert_true(m <= 8 && k <= 8);
    app_counted.waited_stages |= from;
    for (uint32_t i = 0; i < n; i++) app_counted.waited_accesses |= memory[i].srcAccessMask;
    for (uint32_t i = 0; i < m; i++) {
        same[i] = buffers[i];
        count_move(&same[i].srcQueueFamilyIndex, &same[i].dstQueueFamilyIndex);
    }
    for (uint32_t i = 0; i < k; i++) {
        same_images[i] = images[i];
        count_move(&same_images[i].srcQueueFamilyIndex, &same_images[i].dstQueueFamilyIndex);
    }
    real_CmdPipelineBarrier(cb, from, to, flags, n, memory, m, same, k, same_images);
}

/* ---- Sharing: the mock stands on opaque descriptors of memory ---- */

static bool mock_sharing;

/* The structures that may hang at the call, with dma-bufs as opaque descriptors. */
typedef struct unmocked {
    VkExportMemoryAllocateInfo exported;
    VkImportMemoryFdInfoKHR imported;
    VkExternalMemoryBufferCreateInfo external;
} unmocked;

static const void *without_dma_bufs(const void *next, unmocked *u)
{
    const VkBaseInStructure *s = next;
    if (!mock_sharing || !s) return next;
    switch ((int)s->sType) {
    case VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO:
        u->exported = *(const VkExportMemoryAllocateInfo *)next;
        if (u->exported.handleTypes == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
            u->exported.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        return &u->exported;
    case VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR:
        u->imported = *(const VkImportMemoryFdInfoKHR *)next;
        if (u->imported.handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
            u->imported.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        return &u->imported;
    case VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO:
        u->external = *(const VkExternalMemoryBufferCreateInfo *)next;
        if (u->external.handleTypes == VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
            u->external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
        return &u->external;
    default: return next;
    }
}

static PFN_vkAllocateMemory real_AllocateMemory;
static VKAPI_ATTR VkResult VKAPI_CALL counted_AllocateMemory(VkDevice d, const VkMemoryAllocateInfo *i,
                                                             const VkAllocationCallbacks *c,
                                                             VkDeviceMemory *m)
{
    unmocked u;
    VkMemoryAllocateInfo info = *i;
    __atomic_fetch_add(&app_counted.allocations, 1, __ATOMIC_RELAXED);
    if (fails_now("vkAllocateMemory")) return app_counted.fail_with;
    info.pNext = without_dma_bufs(i->pNext, &u);
    return real_AllocateMemory(d, &info, c, m);
}

static PFN_vkCreateBuffer real_CreateBuffer;
static VKAPI_ATTR VkResult VKAPI_CALL counted_CreateBuffer(VkDevice d, const VkBufferCreateInfo *i,
                                                           const VkAllocationCallbacks *c, VkBuffer *b)
{
    unmocked u;
    VkBufferCreateInfo info = *i;
    __atomic_fetch_add(&app_counted.creations, 1, __ATOMIC_RELAXED);
    if (fails_now("vkCreateBuffer")) return app_counted.fail_with;
    info.pNext = without_dma_bufs(i->pNext, &u);
    return real_CreateBuffer(d, &info, c, b);
}

static PFN_vkGetMemoryFdKHR real_GetMemoryFdKHR;
static VKAPI_ATTR VkResult VKAPI_CALL counted_GetMemoryFdKHR(VkDevice d, const VkMemoryGetFdInfoKHR *i,
                                                             int *fd)
{
    VkMemoryGetFdInfoKHR info = *i;
    if (fails_now("vkGetMemoryFdKHR")) return app_counted.fail_with;
    if (mock_sharing) info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    return real_GetMemoryFdKHR(d, &info, fd);
}

static PFN_vkCreateSemaphore real_CreateSemaphore;
static VKAPI_ATTR VkResult VKAPI_CALL counted_CreateSemaphore(VkDevice d, const VkSemaphoreCreateInfo *i,
                                                              const VkAllocationCallbacks *c, VkSemaphore *s)
{
    VkSemaphoreCreateInfo info = *i;
    if (fails_now("vkCreateSemaphore")) return app_counted.fail_with;
    if (mock_sharing) info.pNext = NULL; /* it is to be exported */
    return real_CreateSemaphore(d, &info, c, s);
}

static VKAPI_ATTR VkResult VKAPI_CALL mock_GetSemaphoreFdKHR(VkDevice d, const VkSemaphoreGetFdInfoKHR *i,
                                                             int *fd)
{
    (void)d, (void)i;
    if (fails_now("vkGetSemaphoreFdKHR")) return app_counted.fail_with;
    *fd = open("/dev/null", O_RDONLY);
    return VK_SUCCESS;
}

/* It takes the descriptor, as a driver does. */
static VKAPI_ATTR VkResult VKAPI_CALL mock_ImportSemaphoreFdKHR(VkDevice d,
                                                                const VkImportSemaphoreFdInfoKHR *i)
{
    (void)d;
    if (fails_now("vkImportSemaphoreFdKHR")) return app_counted.fail_with;
    app_counted.imported_semaphores++;
    close(i->fd);
    return VK_SUCCESS;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice device, const char *name)
{
    PFN_vkVoidFunction f = real_device_proc(device, name);
    if (mock_sharing && !strcmp(name, "vkGetSemaphoreFdKHR"))
        return (PFN_vkVoidFunction)mock_GetSemaphoreFdKHR;
    if (mock_sharing && !strcmp(name, "vkImportSemaphoreFdKHR"))
        return (PFN_vkVoidFunction)mock_ImportSemaphoreFdKHR;
#define COUNT(fn)                                                                                            \
    if (f && !strcmp(name, "vk" #fn)) {                                                                      \
        real_##fn = (PFN_vk##fn)f;                                                                           \
        return (PFN_vkVoidFunction)counted_##fn;                                                             \
    }
#define X(count, name, parameters, arguments) COUNT(name)
    COUNTED(X)
#undef X
    COUNT(EndCommandBuffer)
    COUNT(AllocateMemory)
    COUNT(CreateBuffer)
    COUNT(GetMemoryFdKHR)
    COUNT(CreateSemaphore)
    COUNT(UpdateDescriptorSets)
    COUNT(CmdDispatch)
    COUNT(CmdPipelineBarrier)
    COUNT(CmdBeginDebugUtilsLabelEXT)
    return f;
}

/* The entry that gpuc gets. */
static gpuc_vulkan_function instance_proc(VkInstance instance, const char *name)
{
    if (!strcmp(name, "vkGetDeviceProcAddr")) {
        real_device_proc = (PFN_vkGetDeviceProcAddr)loader(instance, name);
        return (gpuc_vulkan_function)device_proc;
    }
    return (gpuc_vulkan_function)loader(instance, name);
}

/* ---- The application ------------------------------------------------------------------------- */

static uint32_t layer_version;

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    app *a = user;
    (void)severity;
    if (data->pMessageIdName && best_practices_meant(layer_version, data->pMessageIdName, types))
        return VK_FALSE;
    a->messages++;
    fprintf(stderr, "%s: %s\n", data->pMessageIdName ? data->pMessageIdName : "", data->pMessage);
    return VK_FALSE;
}

bool app_available(void)
{
    const char *name = getenv("GPUC_VULKAN_LOADER");
    void *library = dlopen(name ? name : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *lacks = NULL;
    if (library) *(void **)&loader = dlsym(library, "vkGetInstanceProcAddr");
    cli_keep_drivers_loaded();
    setenv("VK_LAYER_ENABLES", "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT", 1);
    if (!loader) {
        lacks = "there is no Vulkan loader";
    } else {
        layer_version = best_practices_layer(loader);
        if (!layer_version) lacks = "the validation layer is not installed";
        if (!lacks && !best_practices_meant(layer_version, NULL, 0))
            printf("without best practices: best_practices.def does not know %u.%u.%u of the layer\n",
                   VK_API_VERSION_MAJOR(layer_version), VK_API_VERSION_MINOR(layer_version),
                   VK_API_VERSION_PATCH(layer_version));
    }
    if (lacks) printf("skipped: %s\n", lacks);
    return !lacks;
}

void app_register(gpuc_runtime *rt)
{
    ok(gpuc_vulkan_register_with(rt, (void *)(uintptr_t)loader));
}

static void make_instance(app *a)
{
    static const char *const layers[] = {LAYER}, *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    static const VkValidationFeatureEnableEXT checks[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
        VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT};
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)loader(NULL, "vkCreateInstance");
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity =
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType =
            VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = a};
    VkValidationFeaturesEXT features = {.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                        .enabledValidationFeatureCount =
                                            1 + best_practices_meant(layer_version, NULL, 0),
                                        .pEnabledValidationFeatures = checks};
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)loader(NULL, "vkEnumerateInstanceVersion");
    CHECK(version(&a->api_version));
    if (a->api_version > VK_API_VERSION_1_3) a->api_version = VK_API_VERSION_1_3;
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = a->api_version};
    VkInstanceCreateInfo create_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                        .pNext = &features,
                                        .pApplicationInfo = &info,
                                        .enabledLayerCount = 1,
                                        .ppEnabledLayerNames = layers,
                                        .enabledExtensionCount = 1,
                                        .ppEnabledExtensionNames = extensions};
    CHECK(create(&create_info, NULL, &a->instance));
    cli_keep_drivers_loaded(); /* layers are loaded with an instance */
    PFN_vkCreateDebugUtilsMessengerEXT listen =
        (PFN_vkCreateDebugUtilsMessengerEXT)loader(a->instance, "vkCreateDebugUtilsMessengerEXT");
    CHECK(listen(a->instance, &messages, NULL, &a->messenger));
}

#define INSTANCE(name) ((PFN_vk##name)loader(a->instance, "vk" #name))

static void find_device(app *a)
{
    uint32_t count = 1;
    VkQueueFamilyProperties families[32];
    assert_true(INSTANCE(EnumeratePhysicalDevices)(a->instance, &count, &a->physical) >= 0 && count == 1);
    INSTANCE(GetPhysicalDeviceQueueFamilyProperties)(a->physical, &count, NULL);
    assert_true(count <= 32);
    INSTANCE(GetPhysicalDeviceQueueFamilyProperties)(a->physical, &count, families);
    while (!(families[a->family].queueFlags & VK_QUEUE_GRAPHICS_BIT)) a->family++;
    a->timestamps = families[a->family].timestampValidBits > 0;
    INSTANCE(GetPhysicalDeviceMemoryProperties)(a->physical, &a->memory);
    VkMemoryPropertyFlags want = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, coherent = 0;
    for (uint32_t i = 0; i < a->memory.memoryTypeCount; i++)
        coherent |= a->memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    want |= coherent;
    while ((a->memory.memoryTypes[a->host_type].propertyFlags & want) != want) a->host_type++;
}

/* All extensions that an application may have, and all features. */
static void choose_features(app *a, bool plain)
{
    static const char *const wanted[] = {"VK_KHR_push_descriptor", "VK_EXT_shader_atomic_float",
                                         "VK_EXT_memory_budget", "VK_KHR_external_memory_fd",
                                         "VK_EXT_external_memory_host"};
    uint32_t count = 256;
    a->features12 = (VkPhysicalDeviceVulkan12Features){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = VK_TRUE};
    a->features = (VkPhysicalDeviceFeatures2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                              .pNext = &a->features12};
    VkPhysicalDeviceProperties properties;
    INSTANCE(GetPhysicalDeviceProperties)(a->physical, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2) {
        a->features12.timelineSemaphore = VK_FALSE;
        a->features.pNext = NULL;
        return;
    }
    if (plain) return;
    a->features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    a->features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    a->features11.pNext = &a->features13;
    a->features12.pNext = &a->features11;
    INSTANCE(GetPhysicalDeviceFeatures2)(a->physical, &a->features);
    a->features.features.robustBufferAccess = VK_FALSE;
    a->features13.robustImageAccess = VK_FALSE;
    INSTANCE(EnumerateDeviceExtensionProperties)(a->physical, NULL, &count, a->available);
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
        for (uint32_t i = 0; i < count; i++)
            if (!strcmp(a->available[i].extensionName, wanted[w]))
                a->extensions[a->num_extensions++] = wanted[w];
}

static void make_device(app *a)
{
    float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = a->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &a->features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue,
                               .enabledExtensionCount = a->num_extensions,
                               .ppEnabledExtensionNames = a->extensions};
    CHECK(INSTANCE(CreateDevice)(a->physical, &info, NULL, &a->device));
    PFN_vkGetDeviceProcAddr get = INSTANCE(GetDeviceProcAddr);
#define X(name) a->name = (PFN_vk##name)get(a->device, "vk" #name);
    APP_FUNCTIONS(X)
#undef X
    a->GetDeviceQueue(a->device, a->family, 0, &a->queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = a->family};
    CHECK(a->CreateCommandPool(a->device, &pool, NULL, &a->pool));
}

void app_open(app *a, app_options options)
{
    memset(a, 0, sizeof *a);
    make_instance(a);
    find_device(a);
    choose_features(a, options.plain);
    make_device(a);
    mock_sharing = options.mock_sharing;
    if (mock_sharing) { /* the device does not know of these */
        a->extensions[a->num_extensions++] = "VK_EXT_external_memory_dma_buf";
        a->extensions[a->num_extensions++] = "VK_KHR_external_semaphore_fd";
    }
    own_family = a->family;
    current = a;
    memset(&app_counted, 0, sizeof app_counted);
}

void app_close(app *a)
{
    a->QueueWaitIdle(a->queue);
    a->DestroyCommandPool(a->device, a->pool, NULL);
    a->DestroyDevice(a->device, NULL);
    INSTANCE(DestroyDebugUtilsMessengerEXT)(a->instance, a->messenger, NULL);
    INSTANCE(DestroyInstance)(a->instance, NULL);
    assert_int_equal(a->messages, 0);
}

gpuc_vulkan_device_desc app_desc(const app *a)
{
    gpuc_vulkan_device_desc d = GPUC_VULKAN_DEVICE_DESC_INIT;
    d.get_instance_proc_addr = instance_proc;
    d.instance = a->instance;
    d.api_version = a->api_version;
    d.debug_utils = true;
    d.physical_device = a->physical;
    d.device = a->device;
    d.queue = a->queue;
    d.queue_family = a->family;
    d.extensions = a->extensions;
    d.num_extensions = a->num_extensions;
    d.features = &a->features;
    return d;
}

app_buffer app_buffer_make(app *a, VkDeviceSize size, VkBufferUsageFlags usage)
{
    app_buffer b = {.size = size, .usage = usage};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    VkMemoryRequirements need;
    CHECK(a->CreateBuffer(a->device, &info, NULL, &b.handle));
    a->GetBufferMemoryRequirements(a->device, b.handle, &need);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = need.size,
                                   .memoryTypeIndex = a->host_type};
    CHECK(a->AllocateMemory(a->device, &memory, NULL, &b.memory));
    CHECK(a->BindBufferMemory(a->device, b.handle, b.memory, 0));
    CHECK(a->MapMemory(a->device, b.memory, 0, VK_WHOLE_SIZE, 0, (void **)&b.floats));
    memset(b.floats, 0, size);
    app_flush(a, &b);
    return b;
}

static VkMappedMemoryRange whole(const app_buffer *b)
{
    return (VkMappedMemoryRange){
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = b->memory, .size = VK_WHOLE_SIZE};
}

void app_flush(const app *a, const app_buffer *b)
{
    VkMappedMemoryRange range = whole(b);
    CHECK(a->FlushMappedMemoryRanges(a->device, 1, &range));
}

void app_fetch(const app *a, const app_buffer *b)
{
    VkMappedMemoryRange range = whole(b);
    CHECK(a->InvalidateMappedMemoryRanges(a->device, 1, &range));
}

void app_buffer_destroy(app *a, app_buffer *b)
{
    a->DestroyBuffer(a->device, b->handle, NULL);
    a->FreeMemory(a->device, b->memory, NULL);
}

gpuc_vulkan_buffer app_wrap(const app_buffer *b, VkDeviceSize offset, VkDeviceSize size)
{
    return (gpuc_vulkan_buffer){.buffer = b->handle,
                                .offset = offset,
                                .size = size,
                                .usage = b->usage,
                                .owner_family = GPUC_VULKAN_SAME_FAMILY};
}

app_image app_image_make(app *a, VkFormat format, uint32_t width, uint32_t height, VkImageUsageFlags usage)
{
    app_image i = {.format = format, .width = width, .height = height, .usage = usage};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {width, height, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = usage};
    VkMemoryRequirements need;
    CHECK(a->CreateImage(a->device, &info, NULL, &i.handle));
    a->GetImageMemoryRequirements(a->device, i.handle, &need);
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .allocationSize = need.size};
    while (!(need.memoryTypeBits >> memory.memoryTypeIndex & 1)) memory.memoryTypeIndex++;
    CHECK(a->AllocateMemory(a->device, &memory, NULL, &i.memory));
    CHECK(a->BindImageMemory(a->device, i.handle, i.memory, 0));
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .image = i.handle,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = format,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    if (usage & (VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT))
        CHECK(a->CreateImageView(a->device, &view, NULL, &i.view));
    return i;
}

void app_image_destroy(app *a, app_image *i)
{
    a->DestroyImageView(a->device, i->view, NULL);
    a->DestroyImage(a->device, i->handle, NULL);
    a->FreeMemory(a->device, i->memory, NULL);
}

static VkAccessFlags access_in(VkImageLayout layout)
{
    switch ((int)layout) {
    case VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL: return VK_ACCESS_TRANSFER_WRITE_BIT;
    case VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL: return VK_ACCESS_TRANSFER_READ_BIT;
    case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL: return VK_ACCESS_SHADER_READ_BIT;
    case VK_IMAGE_LAYOUT_GENERAL: return VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    default: return 0;
    }
}

void app_image_move(app *a, VkCommandBuffer cb, app_image *i, VkImageLayout layout)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = access_in(i->layout),
                                    .dstAccessMask = access_in(layout),
                                    .oldLayout = i->layout,
                                    .newLayout = layout,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .image = i->handle,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    a->CmdPipelineBarrier(cb, stages, stages, 0, 0, NULL, 0, NULL, 1, &barrier);
    i->layout = layout;
}

static void arena_make(app_arena *m, uint32_t type)
{
    VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = m->size, .memoryTypeIndex = type};
    VkMemoryPropertyFlags flags = m->a->memory.memoryTypes[type].propertyFlags;
    assert_int_equal(m->a->AllocateMemory(m->a->device, &info, NULL, &m->types[type].memory), VK_SUCCESS);
    if (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
        m->a->MapMemory(m->a->device, m->types[type].memory, 0, VK_WHOLE_SIZE, 0,
                        (void **)&m->types[type].mapped);
}

void app_arena_destroy(app_arena *m)
{
    assert_int_equal(m->live, 0);
    for (uint32_t i = 0; i < VK_MAX_MEMORY_TYPES; i++)
        m->a->FreeMemory(m->a->device, m->types[i].memory, NULL);
}

/* What the host flushes of a buffer is nothing of its neighbour. */
static void check_atoms(const app *a, const struct VkMemoryRequirements *need, uint32_t type)
{
    const VkMemoryPropertyFlags both =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceProperties p;
    if ((a->memory.memoryTypes[type].propertyFlags & both) != VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) return;
    INSTANCE(GetPhysicalDeviceProperties)(a->physical, &p);
    assert_int_equal(need->alignment % p.limits.nonCoherentAtomSize, 0);
    assert_int_equal(need->size % p.limits.nonCoherentAtomSize, 0);
}

static int arena_allocate(void *user, const struct VkMemoryRequirements *need, const uint32_t *preferred,
                          uint32_t count, VkDeviceMemory *out_memory, uint64_t *out_offset,
                          uint32_t *out_type, void **out_mapped, void **out_id)
{
    app_arena *m = user;
    m->calls++;
    assert_true(count > 0 && need->memoryTypeBits >> preferred[0] & 1);
    uint32_t type = preferred[0];
    if (!m->types[type].memory) arena_make(m, type);
    check_atoms(m->a, need, type);
    uint64_t at = (m->types[type].used + need->alignment - 1) / need->alignment * need->alignment;
    if (m->refuse || at + need->size > m->size) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    m->types[type].used = at + need->size;
    m->live += !m->empty;
    *out_memory = m->empty ? VK_NULL_HANDLE : m->types[type].memory;
    *out_offset = at;
    *out_type = m->wrong_type ? 31 : type;
    *out_mapped = m->types[type].mapped ? m->types[type].mapped + at : NULL;
    *out_id = m;
    return VK_SUCCESS;
}

static void arena_free(void *user, void *id)
{
    assert_ptr_equal(user, id);
    ((app_arena *)user)->live--;
}

gpuc_vulkan_memory_hook app_arena_hook(app_arena *m)
{
    return (gpuc_vulkan_memory_hook){arena_allocate, arena_free, m};
}

void app_count_release(void *user)
{
    ++*(int *)user;
}

VkCommandBuffer app_begin(app *a)
{
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = a->pool,
                                        .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer cb;
    CHECK(a->AllocateCommandBuffers(a->device, &info, &cb));
    CHECK(a->BeginCommandBuffer(cb, &begin));
    return cb;
}

VkFence app_submit(app *a, VkCommandBuffer cb)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &cb};
    VkFence fence;
    CHECK(a->CreateFence(a->device, &info, NULL, &fence));
    CHECK(a->EndCommandBuffer(cb));
    CHECK(a->QueueSubmit(a->queue, 1, &submit, fence));
    return fence;
}

void app_finish(app *a, VkFence fence)
{
    CHECK(a->WaitForFences(a->device, 1, &fence, VK_TRUE, UINT64_MAX));
    a->DestroyFence(a->device, fence, NULL);
}

void app_run(app *a, VkCommandBuffer cb)
{
    app_finish(a, app_submit(a, cb));
}
