/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables in the shape that the compiler needs: open addressing, insertion order kept in
 * a dense array, so that iteration order never depends on addresses. */
#ifndef GPUC_BASE_MAP_H
#define GPUC_BASE_MAP_H

#include "base/ctx.h"
#include "base/hash.h"

/* Pointer or integer to pointer. Keys are compared by value. Lives in the context's arena. */
typedef struct gpuc_map_entry {
    const void *key;
    void *value;
} gpuc_map_entry;

typedef struct gpuc_map {
    gpuc_ctx *ctx;
    gpuc_map_entry *entries; /* count of them, in insertion order */
    uint32_t *slots;         /* entry number + 1, 0 is free */
    uint32_t count, capacity, num_slots;
} gpuc_map;

void gpuc_map_init(gpuc_map *map, gpuc_ctx *ctx);
void *gpuc_map_get(const gpuc_map *map, const void *key); /* NULL if absent */
bool gpuc_map_has(const gpuc_map *map, const void *key);
void gpuc_map_set(gpuc_map *map, const void *key, void *value); /* inserts or replaces */

/* The same with string keys (copied). */
typedef struct gpuc_strmap {
    gpuc_map map;
} gpuc_strmap;

void gpuc_strmap_init(gpuc_strmap *map, gpuc_ctx *ctx);
void *gpuc_strmap_get(const gpuc_strmap *map, const char *key);
bool gpuc_strmap_has(const gpuc_strmap *map, const char *key);
void gpuc_strmap_set(gpuc_strmap *map, const char *key, void *value);

/* Interning: find an equal node or insert this one. */
typedef struct gpuc_intern {
    gpuc_ctx *ctx;
    const void **slots;
    uint32_t *hashes;
    uint32_t count, num_slots;
    bool (*equal)(const void *a, const void *b);
} gpuc_intern;

void gpuc_intern_init(gpuc_intern *table, gpuc_ctx *ctx, bool (*equal)(const void *, const void *));
/* Returns the node equal to probe, or NULL; then gpuc_intern_add enters a node (arena memory). */
const void *gpuc_intern_find(const gpuc_intern *table, const void *probe, uint32_t hash);
void gpuc_intern_add(gpuc_intern *table, const void *node, uint32_t hash);

#endif
