/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of gpuc_ctx, and allocation in it. */
#ifndef GPUC_BASE_CTX_H
#define GPUC_BASE_CTX_H

#include <gpuc/ctx.h>

#include "base/arena.h"

/* Layers that keep one object per context (the intern table of tir, ...) own a slot each. */
typedef enum gpuc_ctx_slot {
    GPUC_CTX_TIR,
    GPUC_CTX_TE,
    GPUC_CTX_RELAY,
    GPUC_CTX_RELAY_PASS, /* what is called as passes run */
    GPUC_CTX_OPS,
    GPUC_CTX_OP_NAMES, /* what names of operators stand for (op/names.c) */
    GPUC_CTX_SYMBOLS,  /* what topi knows of symbolic sizes */
    GPUC_CTX_RULES,    /* how often rewrite rules fired (tir/rules.h) */
    GPUC_CTX_SLOT_COUNT
} gpuc_ctx_slot;

typedef enum gpuc_debug_flag {
    GPUC_DEBUG_PRINT = 1 << 0,      /* loop IR after each pass that changed it, to stderr */
    GPUC_DEBUG_VALIDATE = 1 << 1,   /* validate after each pass (always on in debug builds) */
    GPUC_DEBUG_SOURCE = 1 << 2,     /* generated source or SPIR-V listing */
    GPUC_DEBUG_TIME = 1 << 3,       /* time per pass */
    GPUC_DEBUG_RELAY = 1 << 4,      /* relay after each pass that changed it */
    GPUC_DEBUG_RULES = 1 << 5,      /* how often each rewrite rule fired, per function */
    GPUC_DEBUG_RULE_COUNTS = 1 << 6 /* counts without printing, for tests: no name sets it */
} gpuc_debug_flag;

struct gpuc_ctx {
    gpuc_allocator allocator;
    gpuc_arena arena; /* never rewound: IR, interned nodes */
    void *slots[GPUC_CTX_SLOT_COUNT];
    struct gpuc_trap *trap;             /* innermost */
    gpuc_status raised;                 /* on its way to the trap */
    struct gpuc_cleanup *cleanup;       /* newest */
    struct gpuc_cleanup *free_cleanups; /* records to use again */
    uint32_t debug;                     /* gpuc_debug_flag bits */
    const char *temporary;              /* folder; NULL: /tmp */
    gpuc_pending *pending;              /* may be NULL */
    struct gpuc_runtime *runtime;       /* may be NULL */
    uint32_t next_id;                   /* for names of variables and nodes: deterministic */
    struct gpuc_at_destroy *at_destroy; /* newest */
};

/* Whether programs are checked after each pass. */
static inline bool gpuc_ctx_validates(const gpuc_ctx *ctx)
{
#ifdef NDEBUG
    return (ctx->debug & GPUC_DEBUG_VALIDATE) != 0;
#else
    (void)ctx;
    return true;
#endif
}

/* Creates a context for a part of the work, with the parent's allocator, runtime and places for files. */
GPUC_NODISCARD gpuc_status gpuc_ctx_create_child(const gpuc_ctx *parent, gpuc_ctx **out_ctx);

/* Zeroed memory that lives as long as the context. Raises when out of memory. */
void *gpuc_ctx_alloc(gpuc_ctx *ctx, size_t size);
void *gpuc_ctx_alloc_array(gpuc_ctx *ctx, size_t count, size_t item_size); /* checked product */
char *gpuc_ctx_strdup(gpuc_ctx *ctx, const char *text);
char *gpuc_ctx_printf(gpuc_ctx *ctx, const char *fmt, ...) GPUC_PRINTF(2, 3);
void *gpuc_ctx_memdup(gpuc_ctx *ctx, const void *data, size_t size);
/* Calls fn(ctx, data) when the context is destroyed, newest first: for what a layer holds outside of the
 * arenas for as long as the context lives. */
void gpuc_ctx_at_destroy(gpuc_ctx *ctx, void (*fn)(gpuc_ctx *ctx, void *data), void *data);
/* Makes room for one more item in an arena array that doubles: returns the (moved) array. */
void *gpuc_ctx_grow(gpuc_ctx *ctx, void *array, size_t count, size_t *capacity, size_t item_size);

#define gpuc_new(ctx, T) ((T *)gpuc_ctx_alloc((ctx), sizeof(T)))
#define gpuc_new_array(ctx, T, n) ((T *)gpuc_ctx_alloc_array((ctx), (size_t)(n), sizeof(T)))

/* A growing array of pointers in the context's arena; most lists of the compiler are this. */
typedef struct gpuc_ptrs {
    void **at;
    size_t count, capacity;
} gpuc_ptrs;

void gpuc_ptrs_push(gpuc_ctx *ctx, gpuc_ptrs *list, const void *item);

/* A broken invariant of our own, in compiler code only: prints and aborts. */
#define GPUC_CHECK(cond) ((cond) ? (void)0 : gpuc_check_failed(#cond, __FILE__, __LINE__))
GPUC_NORETURN void gpuc_check_failed(const char *what, const char *file, int line);

#endif
