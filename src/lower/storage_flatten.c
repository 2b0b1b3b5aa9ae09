/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every buffer one-dimensional, with row-major or strided indices. */
#include "lower/common/util.h"

enum { MAX_BOUND = 1 << 16 /* max elements of storage whose exact size is not known */ };

typedef struct flattener {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    const gpuc_tir_func *f;
    const gpuc_target *target;
    gpuc_map buffers; /* original -> flat */
} flattener;

static gpuc_expr index_of(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_cast(ctx, gpuc_dtype_with_lanes(GPUC_INDEX, e->dtype.lanes), e);
}

static gpuc_expr element_count(gpuc_ctx *ctx, const gpuc_tir_buffer *b)
{
    if (b->ndim == 0) return gpuc_int(ctx, 1);
    if (b->strides) return gpuc_mul(ctx, index_of(ctx, b->shape[0]), index_of(ctx, b->strides[0]));
    gpuc_expr n = index_of(ctx, b->shape[0]);
    for (int i = 1; i < b->ndim; i++) n = gpuc_mul(ctx, n, index_of(ctx, b->shape[i]));
    return n;
}

/* Storage inside of a kernel has a size known now: if not exactly, then its largest. */
static gpuc_expr fixed_size(flattener *t, const gpuc_tir_buffer *b, gpuc_expr size)
{
    if (gpuc_scope_is_global(b->scope) || size->kind == GPUC_EXPR_INT) return size;
    size = gpuc_arith_simplify(t->a, size);
    if (size->kind == GPUC_EXPR_INT) return size;
    int64_t max = gpuc_arith_analyzer_bounds(t->a, size).max;
    if (max > MAX_BOUND)
        gpuc_raise(
            t->m.ctx, GPUC_UNSUPPORTED,
            "function '%s': the %s buffer '%s' has a size that is not known when compiling (%s elements); "
            "split the loops that it covers by constant factors, or compute it at another loop",
            t->f->name, gpuc_scope_name(b->scope), b->name, gpuc_expr_text(t->m.ctx, size));
    return gpuc_int(t->m.ctx, max);
}

/* An image, where the target has them; else the same in plain memory. */
static gpuc_tir_buffer *flat_image(flattener *t, const gpuc_tir_buffer *b, gpuc_expr size)
{
    gpuc_ctx *ctx = t->m.ctx;
    bool parameter = false;
    for (int i = 0; i < t->f->num_buffers; i++) parameter |= t->f->buffers[i] == b;
    const char *why = gpuc_tir_not_image(b->dtype, b->ndim, b->shape);
    if (!parameter) why = "it is none of the function's parameters";
    if (why)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "function '%s': '%s' cannot be in global.texture: %s", t->f->name,
                   b->name, why);
    if (!t->target->images) return gpuc_lower_buffer_like(ctx, b, b->dtype, size, GPUC_SCOPE_GLOBAL);
    gpuc_tir_buffer *r = gpuc_lower_buffer_like(ctx, b, b->dtype, size, b->scope);
    r->image = b->shape;
    return r;
}

static gpuc_tir_buffer *flat(flattener *t, const gpuc_tir_buffer *b)
{
    gpuc_tir_buffer *r = gpuc_map_get(&t->buffers, b);
    if (r) return r;
    gpuc_expr size = fixed_size(t, b, element_count(t->m.ctx, b));
    if (b->scope == GPUC_SCOPE_TEXTURE)
        r = flat_image(t, b, size);
    else if (b->ndim == 1 && !b->strides && size == b->shape[0])
        r = (gpuc_tir_buffer *)b;
    else
        r = gpuc_lower_buffer_like(t->m.ctx, b, b->dtype, size, b->scope);
    gpuc_map_set(&t->buffers, b, r);
    return r;
}

/* The index that is a ramp where all others are scalars; else -1. */
static int only_ramp(int n, const gpuc_expr *index)
{
    int at = -1;
    for (int i = 0; i < n; i++) {
        if (index[i]->dtype.lanes == 1) continue;
        if (at >= 0 || index[i]->kind != GPUC_EXPR_RAMP) return -1;
        at = i;
    }
    return at;
}

/* Row-major: ((i0 * d1 + i1) * d2 + i2), or with strides. Indices are mapped already. */
static gpuc_expr flat_index(flattener *t, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    gpuc_ctx *ctx = t->m.ctx;
    int lanes = 1;
    for (int i = 0; i < n; i++)
        if (index[i]->dtype.lanes > lanes) lanes = index[i]->dtype.lanes;
    if (n == 1 && !b->strides) return index[0];
    int at_ramp = only_ramp(n, index);
    if (at_ramp >= 0) {
        const gpuc_tir_ramp_node *ramp = gpuc_as_ramp(index[at_ramp]);
        gpuc_expr few[GPUC_LOWER_FEW], *starts = gpuc_lower_indices(ctx, n, few);
        gpuc_expr step = index_of(ctx, ramp->stride);
        for (int i = 0; i < n; i++) starts[i] = i == at_ramp ? ramp->start : index[i];
        if (b->strides)
            step = gpuc_mul(ctx, step, index_of(ctx, b->strides[at_ramp]));
        else
            for (int i = at_ramp + 1; i < n; i++) step = gpuc_mul(ctx, step, index_of(ctx, b->shape[i]));
        return gpuc_tir_ramp(ctx, flat_index(t, b, n, starts), step, lanes);
    }
    gpuc_expr sum = gpuc_tir_broadcast(ctx, gpuc_int(ctx, 0), lanes);
    for (int i = 0; i < n; i++) {
        gpuc_expr at = index_of(ctx, index[i]);
        if (at->dtype.lanes < lanes) at = gpuc_tir_broadcast(ctx, at, lanes);
        gpuc_expr step = index_of(ctx, b->strides ? b->strides[i] : b->shape[i]);
        step = gpuc_tir_broadcast(ctx, step, lanes);
        sum = b->strides ? gpuc_add(ctx, sum, gpuc_mul(ctx, at, step))
                         : gpuc_add(ctx, gpuc_mul(ctx, sum, step), at);
    }
    return sum;
}

static gpuc_expr flatten_call(flattener *t, const gpuc_tir_call_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_buffer *b = n->buffer;
    bool element = n->fn == GPUC_TIR_CALL_PREFETCH || n->fn == GPUC_TIR_CALL_ADDRESS ||
                   n->fn == GPUC_TIR_CALL_CONST_ADDRESS;
    int values = n->fn == GPUC_TIR_CALL_ATOMIC_CAS ? 2 : element ? 0 : 1;
    if (n->fn == GPUC_TIR_CALL_STRIDE) return gpuc_tir_expand(ctx, &n->base);
    if (n->fn == GPUC_TIR_CALL_EXTERN)
        return gpuc_tir_call(ctx, n->base.dtype, n->fn, n->name, flat(t, b), n->n, n->args);
    gpuc_expr args[3] = {flat_index(t, b, n->n - values, n->args)};
    for (int i = 0; i < values; i++) args[1 + i] = n->args[n->n - values + i];
    return gpuc_tir_call(ctx, n->base.dtype, n->fn, n->name, flat(t, b), 1 + values, args);
}

static gpuc_expr flatten_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    flattener *t = (flattener *)m;
    if (!(e->flags & GPUC_TIR_HAS_LOAD)) return e;
    e = gpuc_tir_map_children(m, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        return gpuc_tir_load1(m->ctx, flat(t, n->buffer), flat_index(t, n->buffer, n->n, n->index));
    }
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer) return flatten_call(t, gpuc_as_call(e));
    return e;
}

static gpuc_stmt flatten_store(flattener *t, const gpuc_tir_store_node *n)
{
    gpuc_expr few[GPUC_LOWER_FEW], *index = gpuc_lower_indices(t->m.ctx, n->n, few);
    for (int i = 0; i < n->n; i++) index[i] = gpuc_tir_map(&t->m, n->index[i]);
    gpuc_expr value = gpuc_tir_map(&t->m, n->value);
    if (flat(t, n->buffer) == n->buffer && value == n->value && n->n == 1 && index[0] == n->index[0])
        return &n->base;
    return gpuc_tir_store1(t->m.ctx, flat(t, n->buffer), flat_index(t, n->buffer, n->n, index), value);
}

static gpuc_stmt flatten_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    flattener *t = (flattener *)m;
    if (s->kind == GPUC_STMT_STORE) return flatten_store(t, gpuc_as_store(s));
    if (s->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
        gpuc_tir_buffer *b = flat(t, n->buffer);
        gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
        return b == n->buffer && body == n->body ? s : gpuc_tir_alloc(m->ctx, b, body);
    }
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return s;
}

gpuc_tir_func *gpuc_lower_storage_flatten(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    flattener t = {.f = f, .target = p->target};
    gpuc_tir_mapper_init(&t.m, p->ctx, flatten_expr, flatten_stmt);
    gpuc_map_init(&t.buffers, p->ctx);
    t.a = gpuc_lower_analyzer(p->ctx, f);
    gpuc_tir_buffer **buffers = gpuc_new_array(p->ctx, gpuc_tir_buffer *, f->num_buffers);
    bool same = true;
    for (int i = 0; i < f->num_buffers; i++) {
        buffers[i] = flat(&t, f->buffers[i]);
        same = same && buffers[i] == f->buffers[i];
    }
    gpuc_tir_func *out =
        gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), GPUC_TIR_STAGE_FLAT);
    if (same) return out;
    if (out == f) out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    out->buffers = buffers;
    return out;
}
