/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the compiler's context: protect and raise, cleanups, allocation, developer switches. */
#include "base/ctx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pending.h"
#include "base/size.h"

typedef struct gpuc_cleanup {
    void (*fn)(void *data);
    void *data;
    struct gpuc_cleanup *older;
} gpuc_cleanup;

typedef struct gpuc_at_destroy {
    void (*fn)(gpuc_ctx *ctx, void *data);
    void *data;
    struct gpuc_at_destroy *older;
} gpuc_at_destroy;

typedef struct gpuc_trap {
    jmp_buf env;
    struct gpuc_trap *outer;
    const gpuc_cleanup *cleanup; /* the newest when the trap was set */
} gpuc_trap;

static const struct {
    const char *name;
    gpuc_debug_flag flag;
    const char *help;
} debug_flags[] = {
    {"print", GPUC_DEBUG_PRINT, "loop IR after each pass that changed it"},
    {"validate", GPUC_DEBUG_VALIDATE, "validate after each pass (always on in debug builds)"},
    {"source", GPUC_DEBUG_SOURCE, "generated source or SPIR-V listing"},
    {"time", GPUC_DEBUG_TIME, "time per pass"},
    {"relay", GPUC_DEBUG_RELAY, "relay after each pass that changed it"},
    {"rules", GPUC_DEBUG_RULES, "how often each rewrite rule fired, per function"},
};
#define NUM_DEBUG_FLAGS (sizeof debug_flags / sizeof debug_flags[0])

gpuc_status gpuc_ctx_create(const gpuc_allocator *allocator, gpuc_ctx **out_ctx)
{
    *out_ctx = NULL;
    gpuc_allocator a = allocator ? *allocator : (gpuc_allocator){0};
    gpuc_ctx *ctx = gpuc_mem_alloc(a, sizeof *ctx);
    if (!ctx) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a context");
    ctx->allocator = a;
    gpuc_arena_init(&ctx->arena, a);
#ifndef NDEBUG
    ctx->debug = GPUC_DEBUG_VALIDATE;
#endif
    *out_ctx = ctx;
    return NULL;
}

/* Takes the record off the list before it runs: a cleanup runs once whatever happens. */
static void run_newest_cleanup(gpuc_ctx *ctx, bool run)
{
    gpuc_cleanup *c = ctx->cleanup, copy = *c;
    ctx->cleanup = c->older;
    c->older = ctx->free_cleanups;
    ctx->free_cleanups = c;
    if (run) copy.fn(copy.data);
}

static void unwind_cleanups(gpuc_ctx *ctx, const gpuc_cleanup *until)
{
    while (ctx->cleanup != until) run_newest_cleanup(ctx, true);
}

void gpuc_ctx_destroy(gpuc_ctx *ctx)
{
    if (!ctx) return;
    unwind_cleanups(ctx, NULL);
    for (const gpuc_at_destroy *d = ctx->at_destroy; d; d = d->older) d->fn(ctx, d->data);
    gpuc_arena_deinit(&ctx->arena);
    gpuc_mem_free(ctx->allocator, ctx, sizeof *ctx);
}

gpuc_status gpuc_ctx_protect(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_trap trap = {.outer = ctx->trap, .cleanup = ctx->cleanup};
    ctx->trap = &trap;
    if (setjmp(trap.env) == 0) {
        body(ctx, arg);
        ctx->trap = trap.outer;
        return NULL;
    }
    ctx->trap = trap.outer;
    gpuc_status status = ctx->raised;
    ctx->raised = NULL;
    return status;
}

void gpuc_ctx_raise_status(gpuc_ctx *ctx, gpuc_status status)
{
    gpuc_trap *trap = ctx->trap;
    if (!status) status = gpuc_fail(GPUC_INTERNAL, "success was raised as an error");
    if (!trap) {
        fprintf(stderr, "gpuc: an error was raised outside of gpuc_ctx_protect: %s (%s:%d)\n",
                gpuc_status_message(status), gpuc_status_file(status), gpuc_status_line(status));
        abort();
    }
    unwind_cleanups(ctx, trap->cleanup);
    ctx->raised = status;
    longjmp(trap->env, 1);
}

void gpuc_ctx_raise_at(gpuc_ctx *ctx, gpuc_code code, const char *file, int line, const char *fmt, ...)
{
    char small[512], *text = small;
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (length >= (int)sizeof small && (text = malloc((size_t)length + 1))) {
        va_start(args, fmt);
        vsnprintf(text, (size_t)length + 1, fmt, args);
        va_end(args);
    }
    gpuc_status status = gpuc_error_make(code, file, line, "%s", text ? text : small);
    if (text != small) free(text);
    gpuc_ctx_raise_status(ctx, status);
}

void gpuc_ctx_at_destroy(gpuc_ctx *ctx, void (*fn)(gpuc_ctx *ctx, void *data), void *data)
{
    gpuc_at_destroy *d = gpuc_new(ctx, gpuc_at_destroy);
    *d = (gpuc_at_destroy){.fn = fn, .data = data, .older = ctx->at_destroy};
    ctx->at_destroy = d;
}

void gpuc_ctx_push_cleanup(gpuc_ctx *ctx, void (*fn)(void *data), void *data)
{
    gpuc_cleanup *c = ctx->free_cleanups;
    if (c)
        ctx->free_cleanups = c->older;
    else
        c = gpuc_arena_alloc(&ctx->arena, sizeof *c);
    if (!c) {
        fn(data);
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for a cleanup record");
    }
    *c = (gpuc_cleanup){.fn = fn, .data = data, .older = ctx->cleanup};
    ctx->cleanup = c;
}

void gpuc_ctx_pop_cleanup(gpuc_ctx *ctx, bool run)
{
    GPUC_CHECK(ctx->cleanup && (!ctx->trap || ctx->cleanup != ctx->trap->cleanup));
    run_newest_cleanup(ctx, run);
}

static gpuc_status unknown_debug_flag(const char *word, size_t length)
{
    gpuc_buf text;
    gpuc_buf_init(&text, (gpuc_allocator){0});
    bool help = length == 4 && memcmp(word, "help", 4) == 0;
    if (help)
        gpuc_buf_str(&text, "debug flags, separated by commas:");
    else
        gpuc_buf_printf(&text, "unknown debug flag '%.*s'; there are:", (int)length, word);
    for (size_t i = 0; i < NUM_DEBUG_FLAGS; i++)
        gpuc_buf_printf(&text, "\n  %-10s %s", debug_flags[i].name, debug_flags[i].help);
    gpuc_status status = gpuc_fail(GPUC_INVALID_ARGUMENT, "%s", gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return status;
}

gpuc_status gpuc_ctx_set_temporary(gpuc_ctx *ctx, const char *folder)
{
    size_t n = strlen(folder);
    if (folder[0] != '/' || n > GPUC_TEMPORARY_LENGTH)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "the folder for temporary files '%.80s' must be an absolute path of at most %d characters",
            folder, GPUC_TEMPORARY_LENGTH);
    char *copy = gpuc_arena_alloc(&ctx->arena, n + 1);
    if (!copy) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    memcpy(copy, folder, n + 1);
    ctx->temporary = copy;
    return NULL;
}

gpuc_status gpuc_ctx_set_debug(gpuc_ctx *ctx, const char *flags)
{
    uint32_t debug = ctx->debug;
    for (const char *p = flags; *p;) {
        size_t length = strcspn(p, ","), i = 0;
        while (i < NUM_DEBUG_FLAGS &&
               !(strlen(debug_flags[i].name) == length && memcmp(debug_flags[i].name, p, length) == 0))
            i++;
        if (i < NUM_DEBUG_FLAGS)
            debug |= debug_flags[i].flag;
        else if (length > 0)
            return unknown_debug_flag(p, length);
        p += length + (p[length] == ',');
    }
    ctx->debug = debug;
    return NULL;
}

void *gpuc_ctx_alloc(gpuc_ctx *ctx, size_t size)
{
    void *p = gpuc_arena_alloc(&ctx->arena, size);
    if (!p)
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory: %zu bytes asked for, %zu in use by the context",
                   size, ctx->arena.total);
    return p;
}

void *gpuc_ctx_alloc_array(gpuc_ctx *ctx, size_t count, size_t item_size)
{
    size_t bytes;
    if (!gpuc_size_mul(count, item_size, &bytes))
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "an array of %zu items of %zu bytes exceeds the address space",
                   count, item_size);
    return gpuc_ctx_alloc(ctx, bytes);
}

char *gpuc_ctx_strdup(gpuc_ctx *ctx, const char *text)
{
    return gpuc_ctx_memdup(ctx, text, strlen(text) + 1);
}

char *gpuc_ctx_printf(gpuc_ctx *ctx, const char *fmt, ...)
{
    char small[256];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (length < 0) gpuc_raise(ctx, GPUC_INTERNAL, "cannot format text with '%s'", fmt);
    if ((size_t)length < sizeof small) return gpuc_ctx_memdup(ctx, small, (size_t)length + 1);
    char *text = gpuc_ctx_alloc(ctx, (size_t)length + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)length + 1, fmt, args);
    va_end(args);
    return text;
}

void *gpuc_ctx_memdup(gpuc_ctx *ctx, const void *data, size_t size)
{
    void *copy = gpuc_ctx_alloc(ctx, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

void *gpuc_ctx_grow(gpuc_ctx *ctx, void *array, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity) return array;
    size_t larger = count < 4 ? 4 : count;
    if (count >= 4 && !gpuc_size_mul(count, 2, &larger))
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "an array of %zu items cannot grow", count);
    void *moved = gpuc_ctx_alloc_array(ctx, larger, item_size);
    if (count) memcpy(moved, array, count * item_size);
    *capacity = larger;
    return moved;
}

void gpuc_ptrs_push(gpuc_ctx *ctx, gpuc_ptrs *list, const void *item)
{
    list->at = gpuc_ctx_grow(ctx, list->at, list->count, &list->capacity, sizeof *list->at);
    list->at[list->count++] = (void *)item;
}

void gpuc_check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "gpuc: internal error: %s does not hold (%s:%d)\n", what, file, line);
    abort();
}

void gpuc_ctx_set_pending(gpuc_ctx *ctx, gpuc_pending *pending)
{
    ctx->pending = pending;
}

void gpuc_ctx_set_runtime(gpuc_ctx *ctx, struct gpuc_runtime *rt)
{
    ctx->runtime = rt;
}
