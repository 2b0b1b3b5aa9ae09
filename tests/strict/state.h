/* SPDX-License-Identifier: Apache-2.0 */
/* The strict device from inside. */
#ifndef GPUC_TESTS_STRICT_STATE_H
#define GPUC_TESTS_STRICT_STATE_H

#define VK_NO_PROTOTYPES 1
#include "runtime_vulkan/khr.h"

#include <gpuc/base.h>

#include "strict.h"

#define STRICT_ATOM 256
#define STRICT_MAX_ALLOCATION ((VkDeviceSize)1 << 30)

enum { STRICT_TYPE_DEVICE, STRICT_TYPE_HOST, STRICT_TYPE_COUNT };

/* What is known of a handle. */
typedef enum strict_kind { STRICT_MEMORY, STRICT_BUFFER, STRICT_SET_LAYOUT, STRICT_KIND_COUNT } strict_kind;

typedef struct strict_object {
    struct strict_object *next;
    strict_kind kind;
    uint64_t handle;
    VkDeviceSize size;      /* memory, buffer */
    uint32_t type;          /* memory */
    uint8_t *real, *shadow; /* memory: the host sees the shadow, the device the real bytes */
    bool mapped;            /* memory */
    uint32_t storage, uniform, sampled, written; /* descriptors of a set layout */
} strict_object;

/* Functions of the system's loader that ours call. They serve any instance and device. */
typedef struct strict_real {
#define STRICT_OURS(name, function) PFN_vk##name name;
#include "functions.def"
    PFN_vkDeviceWaitIdle DeviceWaitIdle;
} strict_real;

typedef struct strict_state {
    strict_options options;
    PFN_vkGetInstanceProcAddr get_instance;
    VkInstance instance; /* the latest */
    strict_real real;
    uint64_t in_use;
    uint32_t memory_type; /* of the real device, for all that is allocated: the host must see it */
    int violations, submits, waits, creations;
    bool lost;
} strict_state;

extern strict_state strict;
extern const VkPhysicalDeviceLimits strict_limits; /* those that matter to compute; the rest is 0 */

/* Prints and counts it; returns the error that the caller may refuse with. */
VkResult strict_violation(const char *format, ...) GPUC_PRINTF(1, 2);
/* The same in a call without a result: the device is lost. */
void strict_fatal(const char *format, ...) GPUC_PRINTF(1, 2);
/* True for the call that is to run out of memory. */
bool strict_fails(void);

strict_object *strict_add(strict_kind kind, uint64_t handle); /* NULL: out of memory */
strict_object *strict_find(strict_kind kind, uint64_t handle);
void strict_remove(strict_kind kind, uint64_t handle);
#define STRICT_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

/* Capabilities, version, extensions, work-group and shared memory of a module. */
VkResult strict_check_spirv(const uint32_t *words, size_t count);

#define STRICT_OURS(name, function) extern __typeof__(*(PFN_vk##name)NULL) function;
#include "functions.def"

#endif
