/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation with mark and rewind. Alloc functions return NULL when out of memory. */
#ifndef GPUC_BASE_ARENA_H
#define GPUC_BASE_ARENA_H

#include <gpuc/base.h>

typedef struct gpuc_arena_block gpuc_arena_block;

typedef struct gpuc_arena {
    gpuc_allocator allocator;
    gpuc_arena_block *block; /* newest first */
    size_t used;             /* in the newest block */
    size_t total;            /* bytes of all blocks */
} gpuc_arena;

typedef struct gpuc_arena_mark {
    gpuc_arena_block *block;
    size_t used;
} gpuc_arena_mark;

void gpuc_arena_init(gpuc_arena *arena, gpuc_allocator allocator);
void gpuc_arena_deinit(gpuc_arena *arena);
/* Zeroed, aligned to 16. */
void *gpuc_arena_alloc(gpuc_arena *arena, size_t size);
gpuc_arena_mark gpuc_arena_save(const gpuc_arena *arena);
void gpuc_arena_restore(gpuc_arena *arena, gpuc_arena_mark mark);

/* The allocator's three calls, with a zeroed struct meaning the C library. */
void *gpuc_mem_alloc(gpuc_allocator a, size_t size); /* zeroed; NULL when out of memory */
void *gpuc_mem_resize(gpuc_allocator a, void *ptr, size_t old_size, size_t new_size);
void gpuc_mem_free(gpuc_allocator a, void *ptr, size_t size);

#endif
