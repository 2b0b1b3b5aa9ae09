/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the registry of functions as a sorted array: lookups need no lock, and iteration is in the order
 * of names. */
#include <string.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

/* Place of the first entry whose name is not below name. */
static size_t lower_bound(const gpuc_runtime *rt, const char *name)
{
    size_t low = 0, high = rt->num_entries;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(rt->entries[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool has_name(const gpuc_runtime *rt, size_t i, const char *name)
{
    return i < rt->num_entries && strcmp(rt->entries[i].name, name) == 0;
}

static gpuc_status make_room(gpuc_runtime *rt)
{
    if (rt->num_entries < rt->entry_capacity) return NULL;
    size_t capacity = rt->entry_capacity ? rt->entry_capacity * 2 : 16;
    gpuc_registry_entry *entries = gpuc_mem_resize(
        rt->allocator, rt->entries, rt->entry_capacity * sizeof *entries, capacity * sizeof *entries);
    if (!entries) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for %zu functions", capacity);
    rt->entries = entries;
    rt->entry_capacity = capacity;
    return NULL;
}

/* ---- Changes that may be undone ---- */

/* Before the entry of that name changes. */
static gpuc_status note_change(gpuc_runtime *rt, const char *name, gpuc_function *before)
{
    if (!rt->loading) return NULL;
    size_t length = strlen(name) + 1, size = sizeof(gpuc_registry_change) + length;
    gpuc_registry_change *c = gpuc_mem_alloc(rt->allocator, size);
    if (!c) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the name '%s'", name);
    *c = (gpuc_registry_change){.next = rt->changes, .before = gpuc_function_retain(before), .size = size};
    memcpy(c->name, name, length);
    rt->changes = c;
    return NULL;
}

static bool remove_entry(gpuc_runtime *rt, const char *name)
{
    size_t i = lower_bound(rt, name);
    if (!has_name(rt, i, name)) return false;
    /* Without memory to note it, it is gone for good. */
    gpuc_status_release(note_change(rt, name, rt->entries[i].function));
    gpuc_registry_entry gone = rt->entries[i];
    memmove(&rt->entries[i], &rt->entries[i + 1], (rt->num_entries - i - 1) * sizeof *rt->entries);
    rt->num_entries--;
    gpuc_mem_free(rt->allocator, gone.name, strlen(gone.name) + 1);
    gpuc_function_release(gone.function);
    return true;
}

gpuc_registry_change *gpuc_registry_begin_changes(gpuc_runtime *rt)
{
    rt->loading++;
    return rt->changes;
}

void gpuc_registry_end_changes(gpuc_runtime *rt, gpuc_registry_change *mark, bool undo)
{
    int loading = rt->loading - 1;
    gpuc_registry_change *c, *end = undo || loading == 0 ? mark : rt->changes; /* those of outer ones stay */
    rt->loading = 0;                                                           /* undoing is no change */
    while ((c = rt->changes) != end) {
        rt->changes = c->next;
        if (undo && c->before) /* where there is no memory for it, it is lost */
            gpuc_status_release(gpuc_registry_set(rt, c->name, c->before, true));
        else if (undo)
            remove_entry(rt, c->name);
        gpuc_function_release(c->before);
        gpuc_mem_free(rt->allocator, c, c->size);
    }
    rt->loading = loading;
}

/* ---- Entries ---- */

gpuc_status gpuc_registry_set(gpuc_runtime *rt, const char *name, gpuc_function *f, bool replace)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(name);
    if (!f || !*name)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "cannot register '%s': %s", name,
                         f ? "the name is empty" : "there is no function");
    size_t i = lower_bound(rt, name);
    if (has_name(rt, i, name)) {
        if (!replace)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "a function named '%s' is registered already; pass replace to "
                             "put another in its place",
                             name);
        gpuc_function *old = rt->entries[i].function;
        GPUC_TRY(note_change(rt, name, old));
        rt->entries[i].function = gpuc_function_retain(f);
        gpuc_function_release(old);
        return NULL;
    }
    GPUC_TRY(make_room(rt));
    GPUC_TRY(note_change(rt, name, NULL)); /* undone, too, if there is no memory for the name */
    size_t size = strlen(name) + 1;
    char *copy = gpuc_mem_alloc(rt->allocator, size);
    if (!copy) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the name '%s'", name);
    memcpy(copy, name, size);
    memmove(&rt->entries[i + 1], &rt->entries[i], (rt->num_entries - i) * sizeof *rt->entries);
    rt->entries[i] = (gpuc_registry_entry){.name = copy, .function = gpuc_function_retain(f)};
    rt->num_entries++;
    return NULL;
}

gpuc_status gpuc_registry_set_fn(gpuc_runtime *rt, const char *name, gpuc_packed_fn fn, void *self,
                                 void (*free_self)(void *self), bool replace)
{
    gpuc_function *f;
    gpuc_status status = gpuc_function_create(rt, fn, self, free_self, NULL, &f);
    if (status) {
        if (free_self) free_self(self);
        return status;
    }
    status = gpuc_registry_set(rt, name, f, replace);
    gpuc_function_release(f);
    return status;
}

bool gpuc_registry_remove(gpuc_runtime *rt, const char *name)
{
    return remove_entry(rt, name);
}

gpuc_function *gpuc_registry_get(gpuc_runtime *rt, const char *name)
{
    size_t i = lower_bound(rt, name);
    return has_name(rt, i, name) ? rt->entries[i].function : NULL;
}

size_t gpuc_registry_count(gpuc_runtime *rt)
{
    return rt->num_entries;
}

const char *gpuc_registry_name(gpuc_runtime *rt, size_t i)
{
    return i < rt->num_entries ? rt->entries[i].name : NULL;
}

void gpuc_registry_clear(gpuc_runtime *rt)
{
    /* A function's free_self may look names up: an entry leaves before its function does. */
    while (rt->num_entries > 0) {
        gpuc_registry_entry last = rt->entries[--rt->num_entries];
        gpuc_mem_free(rt->allocator, last.name, strlen(last.name) + 1);
        gpuc_function_release(last.function);
    }
    gpuc_mem_free(rt->allocator, rt->entries, rt->entry_capacity * sizeof *rt->entries);
    rt->entries = NULL;
    rt->entry_capacity = 0;
}
