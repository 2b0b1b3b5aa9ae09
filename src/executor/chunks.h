/* SPDX-License-Identifier: Apache-2.0 */
/* Where slots lie: a running sum over chunks of device memory, none larger than one binding of the
 * device may be. Weights are laid out once, arenas whenever shapes change. */
#ifndef GPUC_EXECUTOR_CHUNKS_H
#define GPUC_EXECUTOR_CHUNKS_H

#include <gpuc/device.h>

#include "base/arena.h"

typedef struct gpuc_place {
    uint32_t chunk;
    uint64_t offset, size; /* size as asked for */
} gpuc_place;

typedef struct gpuc_chunks {
    gpuc_arena *arena;
    uint64_t limit;    /* of a chunk, unless a single slot is larger */
    uint64_t max_slot; /* largest allocation of the device */
    uint64_t *sizes;
    uint32_t count, capacity;
} gpuc_chunks;

/* Asks the device for its limits. */
void gpuc_executor_chunks_init(gpuc_chunks *chunks, gpuc_arena *arena, gpuc_device *dev);
/* Places size bytes at a multiple of GPUC_SLOT_ALIGN in the first chunk with room. A slot without
 * bytes gets an address too. */
GPUC_NODISCARD gpuc_status gpuc_executor_chunks_add(gpuc_chunks *chunks, uint64_t size, gpuc_place *out);
uint64_t gpuc_executor_chunks_total(const gpuc_chunks *chunks);

#endif
