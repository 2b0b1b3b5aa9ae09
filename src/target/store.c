/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps rows of programs in a runtime's registry, and finds them again. */
#include "target/store.h"

#include <stdio.h>
#include <string.h>

#include "runtime/services.h"
#include "target/private.h"

enum { MAX_NAME = 128 }; /* of a function in the registry */

static void destroy(gpuc_object *object)
{
    gpuc_target_held *held = (gpuc_target_held *)object;
    gpuc_allocator allocator = held->arena.allocator;
    gpuc_arena_deinit(&held->arena);
    gpuc_mem_free(allocator, held, sizeof *held);
}

/* The type key is what stands in front of names. */
const gpuc_object_ops gpuc_target_held_kind = {.type_key = "target.kind.", .destroy = destroy};
const gpuc_object_ops gpuc_target_held_tag = {.type_key = "target.tag.", .destroy = destroy};

gpuc_target_held *gpuc_target_held_create(gpuc_runtime *rt, const gpuc_object_ops *ops)
{
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    gpuc_target_held *held = gpuc_mem_alloc(allocator, sizeof *held);
    if (!held) return NULL;
    gpuc_object_init(&held->base, ops);
    gpuc_arena_init(&held->arena, allocator);
    return held;
}

static gpuc_status give(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    gpuc_target_held *held = self;
    if (num_args)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s<name> takes no arguments", held->base.ops->type_key);
    ret->kind = GPUC_VALUE_OBJECT;
    ret->as.object = gpuc_object_retain(&held->base);
    return NULL;
}

static void release(void *self)
{
    gpuc_object_release(self);
}

gpuc_status gpuc_target_held_enter(gpuc_runtime *rt, const char *name, gpuc_target_held *held)
{
    char full[MAX_NAME];
    gpuc_function *f;
    snprintf(full, sizeof full, "%s%s", held->base.ops->type_key, name);
    gpuc_status status = gpuc_function_create(rt, give, gpuc_object_retain(&held->base), release, NULL, &f);
    if (status) {
        gpuc_object_release(&held->base);
        return status;
    }
    status = gpuc_registry_set(rt, full, f, false);
    gpuc_function_release(f);
    return status;
}

/* The function may be of others, who use the name for something else. */
static const void *row_of(gpuc_runtime *rt, const gpuc_object_ops *ops, const char *full)
{
    gpuc_value value = {0};
    gpuc_function *f = gpuc_registry_get(rt, full);
    if (!f) return NULL;
    gpuc_status status = gpuc_function_call(f, NULL, 0, &value);
    bool fits = !status && value.kind == GPUC_VALUE_OBJECT && value.as.object->ops == ops;
    const void *row = fits ? ((gpuc_target_held *)value.as.object)->row : NULL;
    gpuc_status_release(status);
    gpuc_value_clear(rt, &value);
    return row;
}

const void *gpuc_target_held_find(const gpuc_ctx *ctx, const gpuc_object_ops *ops, const char *name)
{
    char full[MAX_NAME];
    if (!ctx || !ctx->runtime) return NULL;
    int n = snprintf(full, sizeof full, "%s%s", ops->type_key, name);
    return n < (int)sizeof full ? row_of(ctx->runtime, ops, full) : NULL;
}

/* Counts rows, up to row number limit, and gives that one. */
static const void *walk(const gpuc_ctx *ctx, const gpuc_object_ops *ops, size_t limit, size_t *count)
{
    const void *row = NULL;
    gpuc_runtime *rt = ctx ? ctx->runtime : NULL;
    *count = 0;
    for (size_t i = 0; rt && i < gpuc_registry_count(rt); i++) {
        const char *full = gpuc_registry_name(rt, i);
        if (strncmp(full, ops->type_key, strlen(ops->type_key)) != 0) continue;
        row = row_of(rt, ops, full);
        if (row && (*count)++ == limit) return row;
    }
    return NULL;
}

const void *gpuc_target_held_at(const gpuc_ctx *ctx, const gpuc_object_ops *ops, size_t i)
{
    size_t count;
    return walk(ctx, ops, i, &count);
}

size_t gpuc_target_held_count(const gpuc_ctx *ctx, const gpuc_object_ops *ops)
{
    size_t count;
    walk(ctx, ops, SIZE_MAX, &count);
    return count;
}

bool gpuc_target_is_name(const char *name, const char *others, size_t max)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (i == 0 || !strchr(others, c))) return false;
    }
    return n > 0 && n <= max;
}

const char *gpuc_target_held_text(gpuc_target_held *held, const char *text)
{
    return gpuc_arena_strdup(&held->arena, text ? text : "");
}

gpuc_status gpuc_target_try(gpuc_runtime *rt, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    gpuc_allocator allocator = gpuc_runtime_allocator(rt);
    GPUC_TRY(gpuc_ctx_create(&allocator, &ctx));
    gpuc_ctx_set_runtime(ctx, rt);
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    gpuc_ctx_destroy(ctx);
    return status;
}

typedef struct free_name {
    const char *what, *name;
} free_name;

static void check_free(gpuc_ctx *ctx, void *arg)
{
    const free_name *f = arg;
    bool kind = gpuc_target_kind_find(ctx, f->name) != NULL;
    if (kind || gpuc_target_tag_find(ctx, f->name))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target %s '%s': there is a %s of that name", f->what, f->name,
                   kind ? "kind" : "tag");
}

gpuc_status gpuc_target_check_free(gpuc_runtime *rt, const char *what, const char *name)
{
    free_name f = {.what = what, .name = name};
    return gpuc_target_try(rt, check_free, &f);
}
