/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of operations as statements over buffers. */
#include "te/internal.h"

static const gpuc_te_place *place_of(const gpuc_map *places, const gpuc_tensor *t)
{
    const gpuc_te_place *p = gpuc_map_get(places, t);
    GPUC_CHECK(p);
    return p;
}

static gpuc_expr *place_index(gpuc_ctx *ctx, const gpuc_te_place *p, int n, const gpuc_expr *index)
{
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, n + 1);
    if (p->view) {
        at[0] = p->view->offset;
        for (int i = 0; i < n; i++)
            at[0] = gpuc_add(ctx, at[0], gpuc_mul(ctx, index[i], p->view->strides[i]));
        return at;
    }
    for (int i = 0; i < n; i++) at[i] = p->origin ? gpuc_sub(ctx, index[i], p->origin[i]) : index[i];
    if (p->rolling) at[p->rolling_axis] = gpuc_floormod_(ctx, index[p->rolling_axis], p->rolling);
    if (!p->layout) return at;
    gpuc_expr *laid = gpuc_new_array(ctx, gpuc_expr, p->layout->n);
    gpuc_te_layout_index(ctx, p->layout, at, laid);
    return laid;
}

static gpuc_expr load_element(gpuc_ctx *ctx, const gpuc_te_place *p, int n, const gpuc_expr *index)
{
    return gpuc_tir_load(ctx, p->buffer, p->buffer->ndim, place_index(ctx, p, n, index));
}

static gpuc_stmt store_element(gpuc_ctx *ctx, const gpuc_te_place *p, int n, const gpuc_expr *index,
                               gpuc_expr value)
{
    return gpuc_tir_store(ctx, p->buffer, p->buffer->ndim, place_index(ctx, p, n, index), value);
}

gpuc_stmt gpuc_te_emit_prefetch(gpuc_ctx *ctx, const gpuc_te_place *p, int n, const gpuc_expr *index)
{
    return gpuc_tir_eval(ctx, gpuc_tir_call(ctx, GPUC_BOOL, GPUC_TIR_CALL_PREFETCH, NULL, p->buffer,
                                            p->buffer->ndim, place_index(ctx, p, n, index)));
}

typedef struct load_reads {
    gpuc_tir_mapper m;
    const gpuc_map *places;
} load_reads;

static gpuc_expr load_read(gpuc_tir_mapper *m, gpuc_expr e)
{
    e = gpuc_tir_map_children(m, e);
    if (e->kind != GPUC_EXPR_READ) return e;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    const gpuc_te_place *p = place_of(((load_reads *)m)->places, r->tensor);
    return load_element(m->ctx, p, r->n, r->index);
}

gpuc_expr gpuc_te_emit_expr(gpuc_ctx *ctx, const gpuc_te_emit *e, gpuc_expr x)
{
    load_reads l = {.places = e->places};
    gpuc_tir_mapper_init(&l.m, ctx, load_read, NULL);
    return gpuc_tir_map(&l.m, gpuc_tir_substitute(ctx, x, e->n, e->vars, e->with));
}

static gpuc_expr load_output(gpuc_ctx *ctx, const gpuc_te_emit *e, int k)
{
    const gpuc_tensor *t = e->op->outputs[k];
    const gpuc_te_place *p = place_of(e->places, t);
    return load_element(ctx, p, t->ndim, e->index);
}

gpuc_stmt gpuc_te_emit_store(gpuc_ctx *ctx, const gpuc_te_emit *e, int k, gpuc_expr value)
{
    const gpuc_tensor *t = e->op->outputs[k];
    const gpuc_te_place *p = place_of(e->places, t);
    return store_element(ctx, p, t->ndim, e->index, value);
}

gpuc_stmt gpuc_te_emit_stores(gpuc_ctx *ctx, const gpuc_te_emit *e, const gpuc_expr *values)
{
    int count = e->op->num_outputs;
    if (count == 1) return gpuc_te_emit_store(ctx, e, 0, values[0]);
    gpuc_expr *names = gpuc_new_array(ctx, gpuc_expr, count);
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    for (int k = 0; k < count; k++) {
        names[k] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s.new", e->op->outputs[k]->name), values[k]->dtype);
        stores[k] = gpuc_te_emit_store(ctx, e, k, names[k]);
    }
    gpuc_stmt body = gpuc_tir_seq(ctx, count, stores);
    for (int k = count - 1; k >= 0; k--) body = gpuc_tir_let(ctx, names[k], values[k], body);
    return body;
}

gpuc_stmt gpuc_te_emit_plain(gpuc_ctx *ctx, const gpuc_te_emit *e)
{
    int count = e->op->num_outputs;
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    for (int k = 0; k < count; k++)
        stores[k] = gpuc_te_emit_store(ctx, e, k, gpuc_te_emit_expr(ctx, e, e->op->bodies[k]));
    return gpuc_tir_seq(ctx, count, stores);
}

gpuc_stmt gpuc_te_emit_init(gpuc_ctx *ctx, const gpuc_te_emit *e)
{
    int count = e->op->num_outputs;
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    const gpuc_tir_reducer *r = gpuc_as_reduce(e->op->bodies[0])->reducer;
    for (int k = 0; k < count; k++) stores[k] = gpuc_te_emit_store(ctx, e, k, r->identity[k]);
    return gpuc_tir_seq(ctx, count, stores);
}

void gpuc_te_combine(gpuc_ctx *ctx, const gpuc_tir_reducer *r, const gpuc_expr *lhs, const gpuc_expr *rhs,
                     gpuc_expr *out)
{
    int n = r->count;
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, 2 * n), *with = gpuc_new_array(ctx, gpuc_expr, 2 * n);
    for (int i = 0; i < n; i++) {
        vars[i] = r->lhs[i];
        with[i] = lhs[i];
        vars[n + i] = r->rhs[i];
        with[n + i] = rhs[i];
    }
    for (int i = 0; i < n; i++) out[i] = gpuc_tir_substitute(ctx, r->result[i], 2 * n, vars, with);
}

gpuc_stmt gpuc_te_emit_update(gpuc_ctx *ctx, const gpuc_te_emit *e)
{
    int count = e->op->num_outputs;
    const gpuc_tir_reduce_node *r = gpuc_as_reduce(e->op->bodies[0]);
    gpuc_expr *lhs = gpuc_new_array(ctx, gpuc_expr, count), *rhs = gpuc_new_array(ctx, gpuc_expr, count);
    gpuc_expr *result = gpuc_new_array(ctx, gpuc_expr, count);
    for (int k = 0; k < count; k++) {
        lhs[k] = load_output(ctx, e, k);
        rhs[k] = gpuc_te_emit_expr(ctx, e, r->source[k]);
    }
    gpuc_te_combine(ctx, r->reducer, lhs, rhs, result);
    gpuc_stmt body = gpuc_te_emit_stores(ctx, e, result);
    return r->condition ? gpuc_tir_if_(ctx, gpuc_te_emit_expr(ctx, e, r->condition), body, NULL) : body;
}

/* ---- Extern: its own buffers become those of the places ------------------------------------------- */

typedef struct swap_buffers {
    gpuc_tir_mapper m;
    const gpuc_te_op *op;
    gpuc_map to;      /* buffer -> gpuc_te_place */
    gpuc_map strided; /* buffers whose strides the body asks for */
} swap_buffers;

static bool find_stride(gpuc_expr e, void *arg)
{
    swap_buffers *s = arg;
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_STRIDE)
        gpuc_map_set(&s->strided, gpuc_as_call(e)->buffer, s);
    return true;
}

static GPUC_NORETURN void fail_call(const swap_buffers *s, const gpuc_tir_call_node *c, const char *why)
{
    gpuc_raise(s->m.ctx, GPUC_INVALID_ARGUMENT, "extern '%s': its body calls '%s' on '%s', %s", s->op->name,
               gpuc_tir_intrins[c->fn].text, c->buffer->name, why);
}

static gpuc_expr swap_address(const swap_buffers *s, const gpuc_tir_call_node *c, const gpuc_te_place *p)
{
    gpuc_ctx *ctx = s->m.ctx;
    if ((p->view || p->buffer->strides) && !gpuc_map_has(&s->strided, c->buffer))
        fail_call(s, c,
                  "whose rows are not stored side by side, and does not ask for its strides ('stride')");
    return gpuc_tir_call(ctx, GPUC_INT64, c->fn, NULL, p->buffer, p->buffer->ndim,
                         place_index(ctx, p, c->n, c->args));
}

static gpuc_expr swap_stride(const swap_buffers *s, const gpuc_tir_call_node *c, const gpuc_te_place *p)
{
    int64_t dim;
    if (c->n != 1 || !gpuc_expr_is_int(c->args[0], &dim) || dim < 0 || dim >= c->buffer->ndim)
        fail_call(s, c, "with what is none of its dimensions");
    if (p->view) return gpuc_cast(s->m.ctx, GPUC_INT64, p->view->strides[dim]);
    return gpuc_tir_stride(s->m.ctx, p->buffer, (int)dim);
}

static gpuc_expr swap_call(const swap_buffers *s, gpuc_expr e, const gpuc_te_place *p)
{
    const gpuc_tir_call_node *c = gpuc_as_call(e);
    if (p->layout || p->rolling) fail_call(s, c, "which is stored in blocks, or as a ring");
    if (c->fn == GPUC_TIR_CALL_STRIDE) return swap_stride(s, c, p);
    if (c->fn == GPUC_TIR_CALL_ADDRESS || c->fn == GPUC_TIR_CALL_CONST_ADDRESS) return swap_address(s, c, p);
    if (p->view) fail_call(s, c, "whose elements are not stored row by row");
    return gpuc_tir_call(s->m.ctx, e->dtype, c->fn, c->name, p->buffer, c->n, c->args);
}

static gpuc_expr swap_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    swap_buffers *s = (swap_buffers *)m;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *l = gpuc_as_load(e);
        const gpuc_te_place *p = gpuc_map_get(&s->to, l->buffer);
        return p ? load_element(m->ctx, p, l->n, l->index) : e;
    }
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer) {
        const gpuc_te_place *p = gpuc_map_get(&s->to, gpuc_as_call(e)->buffer);
        return p ? swap_call(s, e, p) : e;
    }
    return e;
}

static gpuc_stmt swap_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_STORE) return s;
    const gpuc_tir_store_node *st = gpuc_as_store(s);
    const gpuc_te_place *p = gpuc_map_get(&((swap_buffers *)m)->to, st->buffer);
    return p ? store_element(m->ctx, p, st->n, st->index, st->value) : s;
}

gpuc_stmt gpuc_te_emit_extern(gpuc_ctx *ctx, const gpuc_map *places, const gpuc_te_op *op)
{
    swap_buffers s;
    gpuc_tir_mapper_init(&s.m, ctx, swap_expr, swap_stmt);
    s.op = op;
    gpuc_map_init(&s.to, ctx);
    gpuc_map_init(&s.strided, ctx);
    if (op->extern_body) gpuc_tir_visit_stmt(ctx, op->extern_body, NULL, find_stride, &s);
    for (int i = 0; i < op->num_inputs; i++)
        gpuc_map_set(&s.to, op->input_buffers[i], (void *)place_of(places, op->inputs[i]));
    for (int i = 0; i < op->num_outputs; i++)
        gpuc_map_set(&s.to, op->output_buffers[i], (void *)place_of(places, op->outputs[i]));
    return gpuc_tir_map_stmt(&s.m, op->extern_body);
}
