/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates from arenas: blocks that are freed together, or back to a mark. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/size.h"

/* Under AddressSanitizer the free part of blocks is poisoned, and allocations are kept apart. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE 16
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define RED_ZONE 0
#endif

#define ALIGNMENT 16
#define FIRST_BLOCK ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct gpuc_arena_block {
    alignas(ALIGNMENT) gpuc_arena_block *older;
    size_t size; /* with this head */
};

static uint8_t *block_bytes(gpuc_arena_block *block)
{
    return (uint8_t *)(block + 1);
}

void *gpuc_mem_alloc(gpuc_allocator a, size_t size)
{
    if (size == 0) size = 1;
    if (!a.resize) return calloc(1, size);
    void *p = a.resize(a.user, NULL, 0, size);
    if (p) memset(p, 0, size);
    return p;
}

void *gpuc_mem_resize(gpuc_allocator a, void *ptr, size_t old_size, size_t new_size)
{
    if (new_size == 0) {
        gpuc_mem_free(a, ptr, old_size);
        return NULL;
    }
    if (!a.resize) return realloc(ptr, new_size);
    return a.resize(a.user, ptr, ptr && old_size == 0 ? 1 : old_size, new_size);
}

void gpuc_mem_free(gpuc_allocator a, void *ptr, size_t size)
{
    if (!ptr) return;
    if (a.resize)
        a.resize(a.user, ptr, size ? size : 1, 0);
    else
        free(ptr);
}

void gpuc_arena_init(gpuc_arena *arena, gpuc_allocator allocator)
{
    *arena = (gpuc_arena){.allocator = allocator};
}

static void free_blocks(gpuc_arena *arena, gpuc_arena_block **list, const gpuc_arena_block *until)
{
    while (*list != until) {
        gpuc_arena_block *block = *list;
        *list = block->older;
        arena->total -= block->size;
        ASAN_UNPOISON_MEMORY_REGION(block, block->size);
        gpuc_mem_free(arena->allocator, block, block->size);
    }
}

void gpuc_arena_deinit(gpuc_arena *arena)
{
    free_blocks(arena, &arena->block, arena->given);
    free_blocks(arena, &arena->large, NULL);
    if (arena->given) ASAN_UNPOISON_MEMORY_REGION(arena->given, arena->given->size);
    gpuc_arena_init(arena, arena->allocator);
}

static gpuc_arena_block *add_block(gpuc_arena *arena, gpuc_arena_block **list, void *memory, size_t size)
{
    gpuc_arena_block *block = memory;
    if (!block) return NULL;
    *block = (gpuc_arena_block){.older = *list, .size = size};
    arena->total += size;
    return *list = block;
}

void gpuc_arena_init_at(gpuc_arena *arena, gpuc_allocator allocator, void *memory, size_t size)
{
    gpuc_arena_init(arena, allocator);
    arena->given = add_block(arena, &arena->block, memory, size);
    ASAN_POISON_MEMORY_REGION(block_bytes(arena->block), size - sizeof(gpuc_arena_block));
}

void *gpuc_arena_alloc(gpuc_arena *arena, size_t size)
{
    size_t need;
    if (!gpuc_size_add(size ? size : 1, ALIGNMENT - 1 + RED_ZONE, &need)) return NULL;
    need &= ~(size_t)(ALIGNMENT - 1);

    if (!arena->block || need > arena->block->size - sizeof(gpuc_arena_block) - arena->used) {
        size_t next = arena->block == arena->given         ? FIRST_BLOCK
                      : arena->block->size < LARGEST_BLOCK ? arena->block->size * 2
                                                           : LARGEST_BLOCK;
        if (need > next / 4) {
            size_t total;
            if (!gpuc_size_add(need, sizeof(gpuc_arena_block), &total)) return NULL;
            void *memory = gpuc_mem_alloc(arena->allocator, total);
            if (!add_block(arena, &arena->large, memory, total)) return NULL;
            return block_bytes(arena->large);
        }
        void *memory = gpuc_mem_resize(arena->allocator, NULL, 0, next);
        if (!add_block(arena, &arena->block, memory, next)) return NULL;
        arena->used = 0;
        ASAN_POISON_MEMORY_REGION(block_bytes(arena->block), next - sizeof(gpuc_arena_block));
    }
    uint8_t *p = block_bytes(arena->block) + arena->used;
    arena->used += need;
    ASAN_UNPOISON_MEMORY_REGION(p, size ? size : 1);
    return memset(p, 0, size);
}

void *gpuc_arena_alloc_array(gpuc_arena *arena, size_t count, size_t item_size)
{
    size_t bytes;
    return gpuc_size_mul(count, item_size, &bytes) ? gpuc_arena_alloc(arena, bytes) : NULL;
}

char *gpuc_arena_strdup(gpuc_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = gpuc_arena_alloc(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

gpuc_arena_mark gpuc_arena_save(const gpuc_arena *arena)
{
    return (gpuc_arena_mark){.block = arena->block, .large = arena->large, .used = arena->used};
}

void gpuc_arena_restore(gpuc_arena *arena, gpuc_arena_mark mark)
{
    free_blocks(arena, &arena->block, mark.block);
    free_blocks(arena, &arena->large, mark.large);
    arena->used = mark.used;
    if (arena->block)
        ASAN_POISON_MEMORY_REGION(block_bytes(arena->block) + mark.used,
                                  arena->block->size - sizeof(gpuc_arena_block) - mark.used);
}

void gpuc_mem_ask_huge_pages(void *ptr, size_t size)
{
    uintptr_t begin = gpuc_align_up((uintptr_t)ptr, GPUC_HUGE_PAGE),
              end = ((uintptr_t)ptr + size) / GPUC_HUGE_PAGE * GPUC_HUGE_PAGE;
    if (size >= 2 * GPUC_HUGE_PAGE && begin < end) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
