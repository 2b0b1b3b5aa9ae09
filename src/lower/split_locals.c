/* SPDX-License-Identifier: Apache-2.0 */
/* Parts a local array whose vectors have several sizes, or lie across their multiples, all at constant places, into an
 * array for each size. A generator then declares each as an array of vectors, which compilers hold in registers; in an array of elements,
 * they (LLVM 14) take such vectors apart and put them together again. */
#include <stdlib.h>

#include "lower/common/lanes.h"
#include "lower/common/util.h"

typedef struct slice {
    int64_t start;
    int lanes;
    int64_t to; /* where it begins in the new array */
} slice;

typedef struct local {
    const gpuc_tir_buffer *buffer;
    slice *slices; /* by start, once they are planned */
    size_t count, capacity;
    bool uneven;       /* lanes differ, or a vector is not at a multiple of its lanes */
    bool anywhere;     /* some accesses are not understood */
    gpuc_ptrs buffers; /* the new ones */
    const gpuc_tir_buffer **of_slice;
} local;

typedef struct splitter {
    gpuc_tir_mapper m; /* first: callbacks cast back */
    gpuc_map locals;   /* buffer -> local */
    gpuc_ptrs order;
} splitter;

static bool place_of(gpuc_expr index, int64_t *start)
{
    gpuc_expr first = index->dtype.lanes == 1 ? index : gpuc_lower_contiguous(index);
    return first && gpuc_expr_is_int(first, start);
}

static void find_local(gpuc_stmt s, void *arg)
{
    splitter *sp = arg;
    if (s->kind != GPUC_STMT_ALLOC) return;
    const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
    if (b->scope != GPUC_SCOPE_LOCAL || gpuc_map_has(&sp->locals, b)) return;
    local *l = gpuc_new(sp->m.ctx, local);
    l->buffer = b;
    gpuc_map_set(&sp->locals, b, l);
    gpuc_ptrs_push(sp->m.ctx, &sp->order, l);
}

static void note(const gpuc_lower_access *access, void *arg)
{
    splitter *sp = arg;
    local *l = gpuc_map_get(&sp->locals, access->buffer);
    if (!l || l->anywhere) return;
    slice at = {0};
    if (!access->index || access->atomic || !place_of(access->index, &at.start)) {
        l->anywhere = true;
        return;
    }
    at.lanes = access->index->dtype.lanes;
    l->uneven |= at.start % at.lanes != 0 || (l->count > 0 && at.lanes != l->slices[0].lanes);
    if (l->count == l->capacity)
        l->slices = gpuc_ctx_grow(sp->m.ctx, l->slices, l->count, &l->capacity, sizeof *l->slices);
    l->slices[l->count++] = at;
}

static int by_start(const void *pa, const void *pb)
{
    const slice *a = pa, *b = pb;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return a->lanes - b->lanes;
}

/* Keeps one of equal slices. false: some overlap without being equal. */
static bool tell_apart(local *l)
{
    size_t n = 0;
    qsort(l->slices, l->count, sizeof *l->slices, by_start);
    for (size_t i = 0; i < l->count; i++) {
        const slice *last = n > 0 ? &l->slices[n - 1] : NULL;
        if (last && last->start == l->slices[i].start && last->lanes == l->slices[i].lanes) continue;
        if (last && last->start + last->lanes > l->slices[i].start) return false;
        l->slices[n++] = l->slices[i];
    }
    l->count = n;
    return true;
}

static void make_buffers(gpuc_ctx *ctx, local *l)
{
    l->of_slice = gpuc_new_array(ctx, const gpuc_tir_buffer *, l->count);
    for (size_t i = 0; i < l->count; i++) {
        if (l->of_slice[i]) continue;
        int lanes = l->slices[i].lanes;
        int64_t size = 0;
        for (size_t k = i; k < l->count; k++)
            if (l->slices[k].lanes == lanes) l->slices[k].to = size, size += lanes;
        gpuc_tir_buffer *b =
            gpuc_lower_buffer_like(ctx, l->buffer, l->buffer->dtype, gpuc_int(ctx, size), l->buffer->scope);
        for (size_t k = i; k < l->count; k++)
            if (l->slices[k].lanes == lanes) l->of_slice[k] = b;
        gpuc_ptrs_push(ctx, &l->buffers, b);
    }
}

static const gpuc_tir_buffer *moved(splitter *sp, const gpuc_tir_buffer *b, gpuc_expr *index)
{
    const local *l = gpuc_map_get(&sp->locals, b);
    if (!l || !l->of_slice) return NULL;
    slice key = {.lanes = (*index)->dtype.lanes};
    GPUC_CHECK(place_of(*index, &key.start));
    const slice *at = bsearch(&key, l->slices, l->count, sizeof key, by_start);
    GPUC_CHECK(at);
    gpuc_ctx *ctx = sp->m.ctx;
    gpuc_dtype type = (*index)->dtype;
    type.lanes = 1;
    gpuc_expr start = gpuc_imm_int(ctx, type, at->to);
    *index = at->lanes == 1 ? start : gpuc_tir_ramp(ctx, start, gpuc_imm_int(ctx, type, 1), at->lanes);
    return l->of_slice[at - l->slices];
}

static gpuc_expr move_load(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    if (e->kind != GPUC_EXPR_LOAD) return e;
    gpuc_expr index = gpuc_as_load(e)->index[0];
    const gpuc_tir_buffer *b = moved((splitter *)m, gpuc_as_load(e)->buffer, &index);
    return b ? gpuc_tir_load1(m->ctx, b, index) : e;
}

static gpuc_stmt move_store(gpuc_tir_mapper *m, gpuc_stmt s)
{
    splitter *sp = (splitter *)m;
    s = gpuc_tir_map_stmt_children(m, s);
    if (s && s->kind == GPUC_STMT_ALLOC) {
        const local *l = gpuc_map_get(&sp->locals, gpuc_as_alloc(s)->buffer);
        if (!l || !l->of_slice) return s;
        s = gpuc_as_alloc(s)->body;
        for (size_t i = l->buffers.count; i > 0; i--) s = gpuc_tir_alloc(m->ctx, l->buffers.at[i - 1], s);
    } else if (s && s->kind == GPUC_STMT_STORE) {
        gpuc_expr index = gpuc_as_store(s)->index[0];
        const gpuc_tir_buffer *b = moved(sp, gpuc_as_store(s)->buffer, &index);
        if (b) return gpuc_tir_store1(m->ctx, b, index, gpuc_as_store(s)->value);
    }
    return s;
}

gpuc_tir_func *gpuc_lower_split_locals(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    splitter sp = {0};
    gpuc_tir_mapper_init(&sp.m, ctx, move_load, move_store);
    gpuc_map_init(&sp.locals, ctx);
    gpuc_tir_visit_stmt(ctx, f->body, find_local, NULL, &sp);
    if (sp.order.count == 0) return f;
    gpuc_lower_accesses(ctx, f->body, note, &sp);
    bool any = false;
    for (size_t i = 0; i < sp.order.count; i++) {
        local *l = sp.order.at[i];
        if (l->anywhere || !l->uneven || !tell_apart(l)) continue;
        make_buffers(ctx, l);
        any = true;
    }
    if (!any) return f;
    return gpuc_lower_with_body(ctx, f, gpuc_tir_map_stmt(&sp.m, f->body), f->stage);
}
