/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation with mark and rewind. Alloc functions return NULL when out of memory. */
#ifndef GPUC_BASE_ARENA_H
#define GPUC_BASE_ARENA_H

#include <gpuc/base.h>

typedef struct gpuc_arena_block gpuc_arena_block;

typedef struct gpuc_arena {
    gpuc_allocator allocator;
    gpuc_arena_block *block; /* newest first */
    gpuc_arena_block *given; /* the first one, if it is the caller's memory */
    gpuc_arena_block *large; /* requests with a block of their own, newest first */
    size_t used;             /* in the newest block */
    size_t total;            /* bytes of all blocks */
} gpuc_arena;

typedef struct gpuc_arena_mark {
    gpuc_arena_block *block, *large;
    size_t used;
} gpuc_arena_mark;

void gpuc_arena_init(gpuc_arena *arena, gpuc_allocator allocator);
/* The same with a first block that is the caller's, such as an array of the stack; aligned to 16, and at least 64
 * bytes. It must live until gpuc_arena_deinit, which does not free it. */
void gpuc_arena_init_at(gpuc_arena *arena, gpuc_allocator allocator, void *memory, size_t size);
void gpuc_arena_deinit(gpuc_arena *arena); /* frees everything; the arena is as after gpuc_arena_init */
/* Zeroed, aligned to 16. Size 0 gives an address that nothing else has. */
void *gpuc_arena_alloc(gpuc_arena *arena, size_t size);
void *gpuc_arena_alloc_array(gpuc_arena *arena, size_t count, size_t item_size); /* checked product */
char *gpuc_arena_strdup(gpuc_arena *arena, const char *text);
/* Marks nest: restoring one makes those taken after it invalid. */
gpuc_arena_mark gpuc_arena_save(const gpuc_arena *arena);
void gpuc_arena_restore(gpuc_arena *arena, gpuc_arena_mark mark);

/* The allocator's three calls, with a zeroed struct meaning the C library. Size 0 counts as 1, so
 * that NULL always means out of memory; but resizing to 0 frees and gives NULL. */
void *gpuc_mem_alloc(gpuc_allocator a, size_t size); /* zeroed; NULL when out of memory */
/* The old block stays when this gives NULL; the bytes that are new are not set. */
void *gpuc_mem_resize(gpuc_allocator a, void *ptr, size_t old_size, size_t new_size);
void gpuc_mem_free(gpuc_allocator a, void *ptr, size_t size); /* NULL is fine */
/* Asks for huge pages in a large block that nobody has touched: fewer faults, and fewer misses of the TLB later.
 * Failure does no harm. */
#define GPUC_HUGE_PAGE ((size_t)2 << 20)
void gpuc_mem_ask_huge_pages(void *ptr, size_t size);

#endif
