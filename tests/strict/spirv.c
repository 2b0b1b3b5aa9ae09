/* SPDX-License-Identifier: Apache-2.0 */
/* A module against what Vulkan 1.1 gives without any feature. That the module is valid is for spirv-val. */
#include <stdlib.h>

#include "state.h"

#define HEADER 5
#define MAX_IDS (1u << 20)

enum {
    OP_EXTENSION = 10,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_VARIABLE = 59,
    OP_DECORATE = 71
};
enum { MODE_LOCAL_SIZE = 17, STORAGE_WORKGROUP = 4, DECORATION_BUILTIN = 11, BUILTIN_WORKGROUP_SIZE = 25 };

/* Those that need no feature and no extension. */
static const struct {
    uint32_t number;
    const char *name;
} capabilities[] = {{0, "Matrix"},         {1, "Shader"},       {43, "Sampled1D"},  {44, "Image1D"},
                    {46, "SampledBuffer"}, {47, "ImageBuffer"}, {50, "ImageQuery"}, {61, "GroupNonUniform"}};

/* What an id stands for: bytes of a type, the number of a constant, the pointee of a pointer. */
typedef struct ids {
    uint64_t *value;
    uint32_t bound;
} ids;

static uint64_t get(const ids *v, uint32_t id)
{
    return id < v->bound ? v->value[id] : 0;
}

static VkResult check_capability(uint32_t number)
{
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
        if (capabilities[i].number == number) return VK_SUCCESS;
    return strict_violation("SPIR-V capability %u, which no enabled feature allows", number);
}

static VkResult check_local_size(const uint32_t *size)
{
    const VkPhysicalDeviceLimits *l = &strict_limits;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (size[i] > l->maxComputeWorkGroupSize[i])
            return strict_violation("a work-group of %u threads in %c", size[i], "xyz"[i]);
        threads *= size[i];
    }
    if (threads > l->maxComputeWorkGroupInvocations)
        return strict_violation("a work-group of %llu threads", (unsigned long long)threads);
    return VK_SUCCESS;
}

/* The bytes of a type, as compact as its members: the min that an implementation needs. */
static uint64_t type_bytes(const ids *v, const uint32_t *at, uint32_t length)
{
    uint64_t sum = 0;
    switch (*at & 0xffff) {
    case OP_TYPE_BOOL: return 4;
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT: return at[2] / 8;
    case OP_TYPE_VECTOR: return get(v, at[2]) * at[3];
    case OP_TYPE_ARRAY: return get(v, at[2]) * get(v, at[3]);
    case OP_TYPE_STRUCT:
        for (uint32_t i = 2; i < length; i++) sum += get(v, at[i]);
        return sum;
    default: return 0;
    }
}

static VkResult check_instruction(ids *v, const uint32_t *at, uint32_t length, uint64_t *shared)
{
    uint32_t op = *at & 0xffff;
    switch (op) {
    case OP_CAPABILITY: return check_capability(at[1]);
    case OP_EXTENSION:
        return strict_violation("SPIR-V extension %.*s", (int)(4 * length - 4), (char *)(at + 1));
    case OP_EXECUTION_MODE:
        return length >= 6 && at[2] == MODE_LOCAL_SIZE ? check_local_size(at + 3) : VK_SUCCESS;
    case OP_DECORATE:
        if (length >= 4 && at[2] == DECORATION_BUILTIN && at[3] == BUILTIN_WORKGROUP_SIZE)
            return strict_violation("a work-group size from a specialization constant");
        return VK_SUCCESS;
    case OP_CONSTANT:
        if (length >= 4 && at[2] < v->bound) v->value[at[2]] = at[3];
        return VK_SUCCESS;
    case OP_TYPE_POINTER:
        if (length >= 4 && at[1] < v->bound) v->value[at[1]] = at[3];
        return VK_SUCCESS;
    case OP_VARIABLE:
        if (length >= 4 && at[3] == STORAGE_WORKGROUP) *shared += get(v, (uint32_t)get(v, at[1]));
        return VK_SUCCESS;
    default:
        if (op >= OP_TYPE_BOOL && op < OP_TYPE_POINTER && length >= 2 && at[1] < v->bound)
            v->value[at[1]] = type_bytes(v, at, length);
        return VK_SUCCESS;
    }
}

VkResult strict_check_spirv(const uint32_t *words, size_t count)
{
    if (count < HEADER || words[1] > 0x00010300 || words[3] > MAX_IDS)
        return strict_violation("code that is not SPIR-V 1.3 or older");
    ids v = {calloc(words[3], sizeof *v.value), words[3]};
    if (!v.value) return VK_ERROR_OUT_OF_HOST_MEMORY;
    uint64_t shared = 0;
    VkResult r = VK_SUCCESS;
    for (size_t at = HEADER; r >= 0 && at < count;) {
        uint32_t length = words[at] >> 16;
        if (!length || length > count - at) {
            r = strict_violation("a SPIR-V instruction at word %zu is cut off", at);
            break;
        }
        r = check_instruction(&v, words + at, length, &shared);
        at += length;
    }
    free(v.value);
    if (r >= 0 && shared > strict_limits.maxComputeSharedMemorySize)
        return strict_violation("%llu bytes of shared memory", (unsigned long long)shared);
    return r;
}
