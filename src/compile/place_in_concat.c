/* SPDX-License-Identifier: Apache-2.0 */
/* A function that stores its result into a part of a larger tensor. */
#include "compile/lowered.h"

typedef struct placer {
    gpuc_tir_mapper m;
    const gpuc_tir_buffer *from;
    gpuc_tir_buffer *to;
    int axis;
    int64_t begin;
} placer;

static const gpuc_expr *moved(placer *p, int n, const gpuc_expr *index)
{
    gpuc_ctx *ctx = p->m.ctx;
    gpuc_expr *out = gpuc_new_array(ctx, gpuc_expr, n);
    for (int i = 0; i < n; i++) out[i] = gpuc_tir_map(&p->m, index[i]);
    gpuc_expr *at = &out[p->axis];
    *at =
        gpuc_add(ctx, *at,
                 gpuc_tir_broadcast(ctx, gpuc_imm_int(ctx, gpuc_dtype_with_lanes((*at)->dtype, 1), p->begin),
                                    (*at)->dtype.lanes));
    return out;
}

static gpuc_expr move_load(gpuc_tir_mapper *m, gpuc_expr e)
{
    placer *p = (placer *)m;
    if (e->kind == GPUC_EXPR_LOAD && gpuc_as_load(e)->buffer == p->from)
        return gpuc_tir_load(m->ctx, p->to, gpuc_as_load(e)->n,
                             moved(p, gpuc_as_load(e)->n, gpuc_as_load(e)->index));
    GPUC_CHECK(e->kind != GPUC_EXPR_CALL || gpuc_as_call(e)->buffer != p->from);
    return gpuc_tir_map_children(m, e);
}

static gpuc_stmt move_store(gpuc_tir_mapper *m, gpuc_stmt s)
{
    placer *p = (placer *)m;
    if (s->kind != GPUC_STMT_STORE || gpuc_as_store(s)->buffer != p->from)
        return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    return gpuc_tir_store(m->ctx, p->to, n->n, moved(p, n->n, n->index), gpuc_tir_map(m, n->value));
}

gpuc_tir_func *gpuc_compile_place_output(gpuc_ctx *ctx, const gpuc_tir_func *f, int output,
                                         const gpuc_relay_place *place)
{
    const gpuc_tir_buffer *from = f->buffers[output];
    gpuc_expr *shape = gpuc_ctx_memdup(ctx, from->shape, sizeof *shape * (size_t)from->ndim);
    shape[place->axis] = gpuc_imm_int(ctx, shape[place->axis]->dtype, place->extent);
    placer p = {.from = from, .axis = place->axis, .begin = place->begin};
    p.to = gpuc_tir_buffer_make(ctx, from->name, from->dtype, from->ndim, shape, from->scope);
    p.to->non_temporal = from->non_temporal;
    gpuc_tir_mapper_init(&p.m, ctx, move_load, move_store);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->body = gpuc_tir_map_stmt(&p.m, f->body);
    gpuc_tir_buffer **buffers = gpuc_ctx_memdup(ctx, f->buffers, sizeof *buffers * (size_t)f->num_buffers);
    buffers[output] = p.to;
    out->buffers = buffers;
    return out;
}
