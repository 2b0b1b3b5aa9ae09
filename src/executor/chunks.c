/* SPDX-License-Identifier: Apache-2.0 */
/* Places slots in chunks no larger than what the device can allocate and bind. */
#include "executor/chunks.h"

#include <string.h>

#include <gpuc/runtime.h>

#include "abi/scope.h"
#include "base/size.h"

/* Element offsets are 32-bit in kernels, and elements may be bytes. */
#define LARGEST_CHUNK ((uint64_t)INT32_MAX / GPUC_SLOT_ALIGN * GPUC_SLOT_ALIGN)

static uint64_t limit_of(gpuc_device *dev, gpuc_device_attr attr)
{
    gpuc_attr_value v = gpuc_device_get_attr(dev, attr);
    return v.known && v.i > 0 ? (uint64_t)v.i : UINT64_MAX;
}

void gpuc_executor_chunks_init(gpuc_chunks *chunks, gpuc_arena *arena, gpuc_device *dev)
{
    uint64_t range = limit_of(dev, GPUC_ATTR_MAX_BUFFER_RANGE);
    uint64_t max_slot = limit_of(dev, GPUC_ATTR_MAX_ALLOC_BYTES);
    if (range > max_slot) range = max_slot;
    if (range > LARGEST_CHUNK) range = LARGEST_CHUNK;
    *chunks = (gpuc_chunks){.arena = arena, .limit = range, .max_slot = max_slot};
}

static gpuc_status add_chunk(gpuc_chunks *c)
{
    if (c->count == c->capacity) {
        uint32_t capacity = c->capacity ? 2 * c->capacity : 8;
        uint64_t *sizes = gpuc_arena_alloc_array(c->arena, capacity, sizeof *sizes);
        if (!sizes) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a memory plan");
        if (c->count) memcpy(sizes, c->sizes, c->count * sizeof *sizes);
        c->sizes = sizes;
        c->capacity = capacity;
    }
    c->sizes[c->count++] = 0;
    return NULL;
}

gpuc_status gpuc_executor_chunks_add(gpuc_chunks *c, uint64_t size, gpuc_place *out)
{
    *out = (gpuc_place){.size = size};
    if (size > c->max_slot || size > PTRDIFF_MAX - GPUC_SLOT_ALIGN)
        return gpuc_fail(GPUC_OUT_OF_DEVICE_MEMORY,
                         "%llu bytes exceed the device's largest allocation of %llu",
                         (unsigned long long)size, (unsigned long long)c->max_slot);
    uint64_t need = gpuc_align_up(size ? size : 1, GPUC_SLOT_ROUND);
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t at = gpuc_align_up(c->sizes[i], GPUC_SLOT_ALIGN);
        if (at > c->limit || need > c->limit - at) continue;
        out->chunk = i;
        out->offset = at;
        c->sizes[i] = at + need;
        return NULL;
    }
    GPUC_TRY(add_chunk(c));
    out->chunk = c->count - 1;
    c->sizes[out->chunk] = need;
    return NULL;
}

uint64_t gpuc_executor_chunks_total(const gpuc_chunks *c)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < c->count; i++) total += c->sizes[i];
    return total;
}
