/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function in the evaluator: its memory, arguments and results. */
#include "tir_eval/eval.h"

#include "base/size.h"

/* ---- Memory ------------------------------------------------------------------------------------------- */

typedef struct ev_held {
    struct ev_held *next;
    size_t size; /* with this header */
} ev_held;
enum { HELD_HEADER = 64 };

void *gpuc_ev_alloc(ev_machine *m, size_t size)
{
    void *p = gpuc_arena_alloc(&m->arena, size);
    if (!p) gpuc_raise(m->ctx, GPUC_OUT_OF_MEMORY, "out of memory: the evaluator asked for %zu bytes", size);
    return p;
}

void *gpuc_ev_grow(ev_machine *m, void *array, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity) return array;
    size_t larger = count < 4 ? 4 : count * 2;
    void *moved = gpuc_ev_alloc(m, larger * item_size);
    if (count) memcpy(moved, array, count * item_size);
    *capacity = larger;
    return moved;
}

void *gpuc_ev_hold(ev_machine *m, size_t size)
{
    size_t bytes;
    ev_held *h =
        gpuc_size_add(size, HELD_HEADER + 16, &bytes) ? gpuc_mem_alloc(m->ctx->allocator, bytes) : NULL;
    if (!h) gpuc_raise(m->ctx, GPUC_OUT_OF_MEMORY, "out of memory: the evaluator asked for %zu bytes", size);
    *h = (ev_held){.next = m->held, .size = bytes};
    m->held = h;
    return (char *)h + HELD_HEADER;
}

static void release_all(void *data)
{
    ev_machine *m = data;
    gpuc_allocator a = m->ctx->allocator;
    while (m->held) {
        ev_held *h = m->held;
        m->held = h->next;
        gpuc_mem_free(a, h, h->size);
    }
    gpuc_arena_deinit(&m->arena);
}

/* ---- Maps -------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const ev_map *map, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(h >> 32) & (map->capacity - 1);
    while (map->keys[i] && map->keys[i] != key) i = (i + 1) & (map->capacity - 1);
    return i;
}

void *gpuc_ev_map_get(const ev_map *map, const void *key)
{
    return map->count ? map->values[slot_of(map, key)] : NULL;
}

void gpuc_ev_map_set(ev_machine *m, ev_map *map, const void *key, void *value)
{
    if (map->count >= map->capacity / 2) {
        ev_map larger = {.capacity = map->capacity ? map->capacity * 2 : 8};
        larger.keys = ev_new_array(m, const void *, larger.capacity);
        larger.values = ev_new_array(m, void *, larger.capacity);
        for (uint32_t i = 0; i < map->capacity; i++) {
            if (!map->keys[i]) continue;
            uint32_t at = slot_of(&larger, map->keys[i]);
            larger.keys[at] = map->keys[i];
            larger.values[at] = map->values[i];
        }
        larger.count = map->count;
        *map = larger;
    }
    uint32_t i = slot_of(map, key);
    map->count += !map->keys[i];
    map->keys[i] = key;
    map->values[i] = value;
}

/* ---- A run --------------------------------------------------------------------------------------------- */

typedef struct call {
    const gpuc_tir_func *f;
    const gpuc_tir_arg *buffers;
    const int64_t *scalars;
    bool check;
} call;

static void bind_scalars(ev_compiler *c, const gpuc_tir_func *f, const int64_t *scalars)
{
    for (int i = 0; i < f->num_scalars; i++) {
        gpuc_dtype t = f->scalars[i]->dtype;
        gpuc_tir_value v = {.i = scalars[i]};
        if (gpuc_is_float(t))
            v.f = gpuc_tir_round(t, v.f);
        else
            v.i = gpuc_tir_wrap(t, v.i);
        ev_var *var = ev_new(c->m, ev_var);
        *var = (ev_var){.reg = gpuc_ev_const(c, t, v), .constant = !gpuc_is_float(t), .value = v.i};
        gpuc_ev_map_set(c->m, &c->vars, f->scalars[i], var);
    }
}

static void bind_buffers(ev_machine *m, const gpuc_tir_func *f, const gpuc_tir_arg *args)
{
    for (int i = 0; i < f->num_buffers; i++) {
        ev_buffer *b = gpuc_ev_map_get(&m->buffers, f->buffers[i]);
        size_t bytes;
        if (!gpuc_size_mul((size_t)b->size, gpuc_ev_mem_bytes[b->type], &bytes) || args[i].size < bytes)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "%s: the buffer '%s' needs %zu bytes and was given %zu",
                       f->name, b->b->name, bytes, args[i].size);
        if (bytes && !args[i].data)
            gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "%s: the buffer '%s' was given no memory", f->name,
                       b->b->name);
        b->data = args[i].data;
        if ((m->races || m->watches) && b->stored) {
            b->shadow = gpuc_ev_hold(m, (size_t)b->size * sizeof *b->shadow);
            b->wide_shadow = true;
        }
    }
}

static bool is_no_barrier(gpuc_expr e, void *arg)
{
    (void)arg;
    return !(e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER);
}

typedef struct search {
    gpuc_ctx *ctx;
    bool found;
} search;

static void find_barrier(gpuc_stmt s, void *arg)
{
    search *f = arg;
    if (s->kind == GPUC_STMT_EVAL && !gpuc_tir_visit(f->ctx, gpuc_as_eval(s)->value, is_no_barrier, NULL))
        f->found = true;
}

/* Until thread_sync has run barriers are missing rightly. */
static bool looks_for_races(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    if (f->stage != GPUC_TIR_STAGE_KERNEL) return f->stage == GPUC_TIR_STAGE_TARGET;
    search s = {.ctx = ctx};
    gpuc_tir_visit_stmt(ctx, f->body, find_barrier, NULL, &s);
    return s.found;
}

static void execute(gpuc_ctx *ctx, void *arg)
{
    const call *a = arg;
    ev_machine machine = {.ctx = ctx, .func = a->f, .check = a->check, .n = 1, .mask = {NULL, 1}},
               *m = &machine;
    gpuc_arena_init(&m->arena, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, release_all, m);
    m->races = a->check && looks_for_races(ctx, a->f);
    ev_compiler c = {.m = m};
    ev_block code = {0};
    bind_scalars(&c, a->f, a->scalars);
    gpuc_ev_compile(&c, &code);
    bind_buffers(m, a->f, a->buffers);
    m->mask_width = EV_MAX_GROUP;
    m->masks = gpuc_ev_alloc(m, m->mask_width * (size_t)(m->max_masks + 1));
    m->index = gpuc_ev_alloc(m, sizeof *m->index * (m->max_index + 1));
    gpuc_ev_run_block(m, &code);
    gpuc_ctx_pop_cleanup(ctx, true);
}

gpuc_status gpuc_ev_run(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_arg *buffers,
                        const int64_t *scalars, bool check)
{
    call a = {.f = f, .buffers = buffers, .scalars = scalars, .check = check};
    return gpuc_ctx_protect(ctx, execute, &a);
}
