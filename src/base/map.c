/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most two thirds full. Growing allocates first and changes
 * the table afterwards, so that running out of memory leaves it as it was. */
#include "base/map.h"

#include <string.h>

#define FIRST_SLOTS 16

static uint32_t hash_pointer(const void *key)
{
    return gpuc_hash_mix(0, (uint64_t)(uintptr_t)key);
}

static uint32_t hash_string(const void *key)
{
    return (uint32_t)gpuc_hash_bytes(key, strlen(key), 0);
}

static bool equal_pointers(const void *a, const void *b)
{
    return a == b;
}

static bool equal_strings(const void *a, const void *b)
{
    return strcmp(a, b) == 0;
}

typedef struct key_ops {
    uint32_t (*hash)(const void *key);
    bool (*equal)(const void *a, const void *b);
} key_ops;

static const key_ops pointer_keys = {.hash = hash_pointer, .equal = equal_pointers};
static const key_ops string_keys = {.hash = hash_string, .equal = equal_strings};

void gpuc_map_init(gpuc_map *map, gpuc_ctx *ctx)
{
    *map = (gpuc_map){.ctx = ctx};
}

static gpuc_map_entry *find(const gpuc_map *map, const void *key, const key_ops *ops)
{
    if (map->count == 0) return NULL;
    uint32_t mask = map->num_slots - 1;
    for (uint32_t i = ops->hash(key) & mask; map->slots[i]; i = (i + 1) & mask) {
        gpuc_map_entry *entry = &map->entries[map->slots[i] - 1];
        if (ops->equal(entry->key, key)) return entry;
    }
    return NULL;
}

static void enter_slot(uint32_t *slots, uint32_t num_slots, uint32_t hash, uint32_t number)
{
    uint32_t mask = num_slots - 1, i = hash & mask;
    while (slots[i]) i = (i + 1) & mask;
    slots[i] = number;
}

static void grow(gpuc_map *map, const key_ops *ops)
{
    size_t capacity = map->capacity;
    map->entries = gpuc_ctx_grow(map->ctx, map->entries, map->count, &capacity, sizeof *map->entries);
    map->capacity = (uint32_t)capacity;
    if (map->count < map->num_slots - map->num_slots / 3) return;
    if (map->num_slots > UINT32_MAX / 2)
        gpuc_raise(map->ctx, GPUC_OUT_OF_MEMORY, "a table of %u entries cannot grow", map->count);
    uint32_t num_slots = map->num_slots ? map->num_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = gpuc_new_array(map->ctx, uint32_t, num_slots);
    for (uint32_t i = 0; i < map->count; i++)
        enter_slot(slots, num_slots, ops->hash(map->entries[i].key), i + 1);
    map->slots = slots;
    map->num_slots = num_slots;
}

static void insert(gpuc_map *map, const void *key, void *value, const key_ops *ops)
{
    grow(map, ops);
    map->entries[map->count++] = (gpuc_map_entry){.key = key, .value = value};
    enter_slot(map->slots, map->num_slots, ops->hash(key), map->count);
}

void *gpuc_map_get(const gpuc_map *map, const void *key)
{
    const gpuc_map_entry *entry = find(map, key, &pointer_keys);
    return entry ? entry->value : NULL;
}

bool gpuc_map_has(const gpuc_map *map, const void *key)
{
    return find(map, key, &pointer_keys) != NULL;
}

void gpuc_map_set(gpuc_map *map, const void *key, void *value)
{
    gpuc_map_entry *entry = find(map, key, &pointer_keys);
    if (entry)
        entry->value = value;
    else
        insert(map, key, value, &pointer_keys);
}

void gpuc_strmap_init(gpuc_strmap *map, gpuc_ctx *ctx)
{
    gpuc_map_init(&map->map, ctx);
}

void *gpuc_strmap_get(const gpuc_strmap *map, const char *key)
{
    const gpuc_map_entry *entry = find(&map->map, key, &string_keys);
    return entry ? entry->value : NULL;
}

bool gpuc_strmap_has(const gpuc_strmap *map, const char *key)
{
    return find(&map->map, key, &string_keys) != NULL;
}

void gpuc_strmap_set(gpuc_strmap *map, const char *key, void *value)
{
    gpuc_map_entry *entry = find(&map->map, key, &string_keys);
    if (entry)
        entry->value = value;
    else
        insert(&map->map, gpuc_ctx_strdup(map->map.ctx, key), value, &string_keys);
}

void gpuc_intern_init(gpuc_intern *table, gpuc_ctx *ctx, bool (*equal)(const void *, const void *))
{
    *table = (gpuc_intern){.ctx = ctx, .equal = equal};
}

/* Callers' hashes may differ in their high bits only. */
static uint32_t intern_start(const gpuc_intern *table, uint32_t hash)
{
    return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (table->num_slots - 1);
}

const void *gpuc_intern_find(const gpuc_intern *table, const void *probe, uint32_t hash)
{
    if (table->count == 0) return NULL;
    uint32_t mask = table->num_slots - 1;
    for (uint32_t i = intern_start(table, hash); table->slots[i]; i = (i + 1) & mask)
        if (table->hashes[i] == hash && table->equal(table->slots[i], probe)) return table->slots[i];
    return NULL;
}

static void intern_enter(gpuc_intern *table, const void *node, uint32_t hash)
{
    uint32_t mask = table->num_slots - 1, i = intern_start(table, hash);
    while (table->slots[i]) i = (i + 1) & mask;
    table->slots[i] = node;
    table->hashes[i] = hash;
}

void gpuc_intern_add(gpuc_intern *table, const void *node, uint32_t hash)
{
    if (table->count >= table->num_slots - table->num_slots / 3) {
        if (table->num_slots > UINT32_MAX / 2)
            gpuc_raise(table->ctx, GPUC_OUT_OF_MEMORY, "a table of %u nodes cannot grow", table->count);
        gpuc_intern bigger = *table;
        bigger.num_slots = table->num_slots ? table->num_slots * 2 : FIRST_SLOTS;
        bigger.slots = gpuc_new_array(table->ctx, const void *, bigger.num_slots);
        bigger.hashes = gpuc_new_array(table->ctx, uint32_t, bigger.num_slots);
        for (uint32_t i = 0; i < table->num_slots; i++)
            if (table->slots[i]) intern_enter(&bigger, table->slots[i], table->hashes[i]);
        *table = bigger;
    }
    intern_enter(table, node, hash);
    table->count++;
}
