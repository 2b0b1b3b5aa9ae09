/* SPDX-License-Identifier: Apache-2.0 */
/* The function table, what is known of handles, submissions, and the calls that only may fail. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define BUCKETS 1024

strict_state strict;
static strict_object *objects[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Refusals --------------------------------------------------------------------------------- */

static void tell(const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "strict device refuses: %s\n", text);
    __atomic_add_fetch(&strict.violations, 1, __ATOMIC_RELAXED);
}

VkResult strict_violation(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(format, args);
    va_end(args);
    return VK_ERROR_UNKNOWN;
}

void strict_fatal(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(format, args);
    va_end(args);
    __atomic_store_n(&strict.lost, true, __ATOMIC_RELAXED);
}

bool strict_fails(void)
{
    return __atomic_add_fetch(&strict.creations, 1, __ATOMIC_RELAXED) == strict.options.fail_at;
}

/* ---- Handles ---------------------------------------------------------------------------------- */

static strict_object **place(strict_kind kind, uint64_t handle)
{
    strict_object **at = &objects[(handle >> 4 ^ handle) % BUCKETS];
    while (*at && ((*at)->kind != kind || (*at)->handle != handle)) at = &(*at)->next;
    return at;
}

strict_object *strict_add(strict_kind kind, uint64_t handle)
{
    strict_object *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->kind = kind;
    o->handle = handle;
    pthread_mutex_lock(&lock);
    *place(kind, handle) = o;
    pthread_mutex_unlock(&lock);
    return o;
}

strict_object *strict_find(strict_kind kind, uint64_t handle)
{
    pthread_mutex_lock(&lock);
    strict_object *o = handle ? *place(kind, handle) : NULL;
    pthread_mutex_unlock(&lock);
    return o;
}

void strict_remove(strict_kind kind, uint64_t handle)
{
    pthread_mutex_lock(&lock);
    strict_object **at = place(kind, handle), *o = *at;
    if (o) *at = o->next;
    pthread_mutex_unlock(&lock);
    free(o);
}

/* ---- Submissions ------------------------------------------------------------------------------ */

static bool is_lost(void)
{
    return __atomic_load_n(&strict.lost, __ATOMIC_RELAXED);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                             VkFence fence)
{
    if (strict_fails()) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if (++strict.submits == strict.options.lose_at_submit) strict.lost = true;
    if (is_lost()) return VK_ERROR_DEVICE_LOST;
    return strict.real.QueueSubmit(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_wait_for_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                                      VkBool32 all, uint64_t timeout)
{
    if (__atomic_add_fetch(&strict.waits, 1, __ATOMIC_RELAXED) == strict.options.lose_at_wait)
        __atomic_store_n(&strict.lost, true, __ATOMIC_RELAXED);
    if (!is_lost()) return strict.real.WaitForFences(device, count, fences, all, timeout);
    /* A lost device executes nothing any more: the real one must be done before objects go. */
    strict.real.DeviceWaitIdle(device);
    return VK_ERROR_DEVICE_LOST;
}

VKAPI_ATTR VkResult VKAPI_CALL strict_fence_status(VkDevice device, VkFence fence)
{
    return is_lost() ? VK_ERROR_DEVICE_LOST : strict.real.GetFenceStatus(device, fence);
}

/* ---- Calls that may fail ---------------------------------------------------------------------- */

#define MAY_FAIL(function, name, parameters, arguments)                                                      \
    VKAPI_ATTR VkResult VKAPI_CALL function parameters                                                       \
    {                                                                                                        \
        return strict_fails() ? VK_ERROR_OUT_OF_HOST_MEMORY : strict.real.name arguments;                    \
    }
#define MAY_CREATE(function, type)                                                                           \
    MAY_FAIL(function, Create##type,                                                                         \
             (VkDevice device, const Vk##type##CreateInfo *info, const VkAllocationCallbacks *callbacks,     \
              Vk##type *out),                                                                                \
             (device, info, callbacks, out))

MAY_CREATE(strict_create_fence, Fence)
MAY_CREATE(strict_create_semaphore, Semaphore)
MAY_CREATE(strict_create_command_pool, CommandPool)
MAY_CREATE(strict_create_query_pool, QueryPool)
MAY_CREATE(strict_create_cache, PipelineCache)
MAY_CREATE(strict_create_descriptor_pool, DescriptorPool)
MAY_FAIL(strict_allocate_commands, AllocateCommandBuffers,
         (VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out),
         (device, info, out))
MAY_FAIL(strict_allocate_sets, AllocateDescriptorSets,
         (VkDevice device, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *out),
         (device, info, out))
MAY_FAIL(strict_begin_commands, BeginCommandBuffer,
         (VkCommandBuffer cb, const VkCommandBufferBeginInfo *info), (cb, info))
MAY_FAIL(strict_end_commands, EndCommandBuffer, (VkCommandBuffer cb), (cb))

/* ---- Lookup ----------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL strict_version(uint32_t *out)
{
    *out = VK_API_VERSION_1_1;
    return VK_SUCCESS;
}

static bool is_for_validation(const char *extension)
{
    return !strcmp(extension, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) ||
           !strcmp(extension, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME) ||
           !strcmp(extension, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
}

VKAPI_ATTR VkResult VKAPI_CALL strict_create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *callbacks, VkInstance *out)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        if (!info->enabledLayerCount || !is_for_validation(info->ppEnabledExtensionNames[i])) {
            strict_violation("instance extension %s was enabled", info->ppEnabledExtensionNames[i]);
            return VK_ERROR_EXTENSION_NOT_PRESENT;
        }
    }
    PFN_vkCreateInstance create =
        (PFN_vkCreateInstance)strict.get_instance(VK_NULL_HANDLE, "vkCreateInstance");
    VkResult r = create(info, callbacks, out);
    if (r < 0) return r;
    strict.instance = *out;
#define STRICT_OURS(name, function) strict.real.name = (PFN_vk##name)strict.get_instance(*out, "vk" #name);
#include "functions.def"
    strict.real.DeviceWaitIdle = (PFN_vkDeviceWaitIdle)strict.get_instance(*out, "vkDeviceWaitIdle");
    return r;
}

static PFN_vkVoidFunction lookup(VkInstance instance, const char *name)
{
    static const struct {
        const char *name;
        PFN_vkVoidFunction
            function; /* NULL: the system's, which has those of extensions where they are enabled */
    } table[] = {
#define STRICT_OURS(name, function) {"vk" #name, (PFN_vkVoidFunction)(function)},
#define STRICT_PASS(name) {"vk" #name, NULL},
#define STRICT_DEBUG(name) {"vk" #name, NULL},
#include "functions.def"
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) != 0) continue;
        return table[i].function ? table[i].function : strict.get_instance(instance, name);
    }
    return NULL;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL strict_get_instance_proc(VkInstance instance, const char *name)
{
    return lookup(instance, name);
}

/* The system's functions are those of its loader, which serve any device. */
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL strict_get_device_proc(VkDevice device, const char *name)
{
    (void)device;
    return lookup(strict.instance, name);
}

void *strict_begin(void *system, const strict_options *options)
{
    memset(&strict, 0, sizeof strict);
    if (options) strict.options = *options;
    if (!strict.options.heap_bytes) strict.options.heap_bytes = (uint64_t)2 << 30;
    *(void **)&strict.get_instance = system;
    return (void *)(uintptr_t)strict_get_instance_proc;
}

uint64_t strict_heap_in_use(void)
{
    return strict.in_use;
}

int strict_violations(void)
{
    return strict.violations;
}
