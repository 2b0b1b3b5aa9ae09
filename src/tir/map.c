/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites expressions and statements bottom-up, keeping what does not change. */
#include <string.h>

#include "tir/intern.h"

#define FEW 4

void gpuc_tir_mapper_init(gpuc_tir_mapper *m, gpuc_ctx *ctx, gpuc_expr (*expr)(gpuc_tir_mapper *, gpuc_expr),
                          gpuc_stmt (*stmt)(gpuc_tir_mapper *, gpuc_stmt))
{
    m->ctx = ctx;
    m->expr = expr;
    m->stmt = stmt;
    gpuc_map_init(&m->memo, ctx);
}

void gpuc_tir_mapper_forget(gpuc_tir_mapper *m)
{
    if (m->memo.count == 0) return;
    memset(m->memo.slots, 0, m->memo.num_slots * sizeof *m->memo.slots);
    m->memo.count = 0;
}

gpuc_expr gpuc_tir_map(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_expr r = gpuc_map_get(&m->memo, e);
    if (r) return r;
    r = m->expr ? m->expr(m, e) : gpuc_tir_map_children(m, e);
    gpuc_map_set(&m->memo, e, (void *)r);
    return r;
}

/* Maps a list; NULL if no item changed. Short lists go to few. */
static const gpuc_expr *map_list(gpuc_tir_mapper *m, int n, const gpuc_expr *list, gpuc_expr few[FEW])
{
    gpuc_expr *out = NULL;
    for (int i = 0; i < n; i++) {
        gpuc_expr r = gpuc_tir_map(m, list[i]);
        if (!out && r != list[i]) {
            out = n <= FEW ? few : gpuc_new_array(m->ctx, gpuc_expr, n);
            memcpy(out, list, (size_t)i * sizeof *out);
        }
        if (out) out[i] = r;
    }
    return out;
}

gpuc_tir_buffer *gpuc_tir_map_buffer(gpuc_tir_mapper *m, const gpuc_tir_buffer *b)
{
    gpuc_expr few[FEW], few_strides[FEW], few_image[FEW];
    const gpuc_expr *shape = map_list(m, b->ndim, b->shape, few),
                    *strides = b->strides ? map_list(m, b->ndim, b->strides, few_strides) : NULL,
                    *image = b->image ? map_list(m, 3, b->image, few_image) : NULL;
    if (!shape && !strides && !image) return NULL;
    gpuc_tir_buffer *out = gpuc_ctx_memdup(m->ctx, b, sizeof *b);
    out->id = m->ctx->next_id++;
    if (shape) out->shape = gpuc_ctx_memdup(m->ctx, shape, (size_t)b->ndim * sizeof *shape);
    if (strides) out->strides = gpuc_ctx_memdup(m->ctx, strides, (size_t)b->ndim * sizeof *strides);
    if (image) out->image = gpuc_ctx_memdup(m->ctx, image, 3 * sizeof *image);
    return out;
}

gpuc_expr gpuc_tir_with_buffers(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *buffers)
{
    const gpuc_tir_buffer *b;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        return (b = gpuc_map_get(buffers, n->buffer)) ? gpuc_tir_load(ctx, b, n->n, n->index) : e;
    }
    if (e->kind == GPUC_EXPR_CALL) {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        b = n->buffer ? gpuc_map_get(buffers, n->buffer) : NULL;
        return b ? gpuc_tir_call(ctx, e->dtype, n->fn, n->name, b, n->n, n->args) : e;
    }
    return e;
}

static gpuc_expr map_op(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_expr a = gpuc_tir_map(m, n->a[0]);
    gpuc_expr b = n->a[1] ? gpuc_tir_map(m, n->a[1]) : NULL;
    gpuc_expr c = n->a[2] ? gpuc_tir_map(m, n->a[2]) : NULL;
    if (a == n->a[0] && b == n->a[1] && c == n->a[2]) return e;
    return gpuc_tir_make(m->ctx, n->op, a, b, c);
}

/* Casts keep the type of a lane; their lanes follow the operand's. */
static gpuc_expr map_cast(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_expr a = gpuc_tir_map(m, gpuc_as_cast(e)->a);
    return a == gpuc_as_cast(e)->a ? e
                                   : gpuc_cast(m->ctx, gpuc_dtype_with_lanes(e->dtype, a->dtype.lanes), a);
}

static gpuc_expr map_ramp(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_ramp_node *n = gpuc_as_ramp(e);
    gpuc_expr start = gpuc_tir_map(m, n->start), stride = gpuc_tir_map(m, n->stride);
    if (start == n->start && stride == n->stride) return e;
    return gpuc_tir_ramp(m->ctx, start, stride, e->dtype.lanes);
}

static gpuc_expr map_load(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    gpuc_expr few[FEW];
    const gpuc_expr *index = map_list(m, n->n, n->index, few);
    return index ? gpuc_tir_load(m->ctx, n->buffer, n->n, index) : e;
}

static gpuc_expr map_vector(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_expr few[FEW];
    const gpuc_expr *a = map_list(m, e->dtype.lanes, gpuc_as_vector(e)->a, few);
    return a ? gpuc_tir_vector(m->ctx, e->dtype.lanes, a) : e;
}

static gpuc_expr map_call(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    gpuc_expr few[FEW];
    const gpuc_expr *args = map_list(m, n->n, n->args, few);
    return args ? gpuc_tir_call(m->ctx, e->dtype, n->fn, n->name, n->buffer, n->n, args) : e;
}

static gpuc_expr map_read(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_read_node *n = gpuc_as_read(e);
    gpuc_expr few[FEW];
    const gpuc_expr *index = map_list(m, n->n, n->index, few);
    return index ? gpuc_tir_read(m->ctx, gpuc_dtype_with_lanes(e->dtype, 1), n->tensor, n->n, index) : e;
}

/* Axes whose range changed become new iterations of the same variable. */
static gpuc_iter *const *map_axes(gpuc_tir_mapper *m, int n, gpuc_iter *const *axes)
{
    gpuc_iter **out = NULL;
    for (int i = 0; i < n; i++) {
        gpuc_expr min = gpuc_tir_map(m, axes[i]->min), extent = gpuc_tir_map(m, axes[i]->extent);
        if (min == axes[i]->min && extent == axes[i]->extent) continue;
        if (!out) out = gpuc_ctx_memdup(m->ctx, axes, (size_t)n * sizeof *out);
        out[i] = gpuc_ctx_memdup(m->ctx, axes[i], sizeof *axes[i]);
        out[i]->min = min;
        out[i]->extent = extent;
    }
    return out ? out : axes;
}

static gpuc_expr map_reduce(gpuc_tir_mapper *m, gpuc_expr e)
{
    const gpuc_tir_reduce_node *n = gpuc_as_reduce(e);
    gpuc_expr few[FEW];
    const gpuc_expr *source = map_list(m, n->reducer->count, n->source, few);
    gpuc_expr condition = n->condition ? gpuc_tir_map(m, n->condition) : NULL;
    gpuc_iter *const *axes = map_axes(m, n->num_axes, n->axes);
    if (!source && condition == n->condition && axes == n->axes) return e;
    return gpuc_tir_reduce(m->ctx, n->reducer, source ? source : n->source, n->num_axes, axes, condition,
                           n->value_index);
}

gpuc_expr gpuc_tir_map_children(gpuc_tir_mapper *m, gpuc_expr e)
{
    gpuc_expr a;
    switch (e->kind) {
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_KIND_COUNT: return e;
    case GPUC_EXPR_CAST: return map_cast(m, e);
    case GPUC_EXPR_OP: return map_op(m, e);
    case GPUC_EXPR_LOAD: return map_load(m, e);
    case GPUC_EXPR_RAMP: return map_ramp(m, e);
    case GPUC_EXPR_BROADCAST:
        a = gpuc_tir_map(m, gpuc_as_broadcast(e)->a);
        return a == gpuc_as_broadcast(e)->a ? e : gpuc_tir_broadcast(m->ctx, a, e->dtype.lanes);
    case GPUC_EXPR_LANE:
        a = gpuc_tir_map(m, gpuc_as_lane(e)->a);
        return a == gpuc_as_lane(e)->a ? e : gpuc_tir_lane(m->ctx, a, gpuc_as_lane(e)->lane);
    case GPUC_EXPR_VECTOR: return map_vector(m, e);
    case GPUC_EXPR_CALL: return map_call(m, e);
    case GPUC_EXPR_READ: return map_read(m, e);
    case GPUC_EXPR_REDUCE: return map_reduce(m, e);
    }
    return e;
}

/* ---- Statements -------------------------------------------------------------------------------------- */

gpuc_stmt gpuc_tir_map_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    if (!s) return NULL;
    return m->stmt ? m->stmt(m, s) : gpuc_tir_map_stmt_children(m, s);
}

static gpuc_stmt map_for(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    gpuc_expr min = gpuc_tir_map(m, n->min), extent = gpuc_tir_map(m, n->extent);
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    if (min == n->min && extent == n->extent && body == n->body) return s;
    return gpuc_tir_for_(m->ctx, n->var, min, extent, n->loop, n->tag, body);
}

static gpuc_stmt map_store(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_expr few[FEW];
    const gpuc_expr *index = map_list(m, n->n, n->index, few);
    gpuc_expr value = gpuc_tir_map(m, n->value);
    if (!index && value == n->value) return s;
    return gpuc_tir_store(m->ctx, n->buffer, n->n, index ? index : n->index, value);
}

static gpuc_stmt map_if(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    gpuc_expr cond = gpuc_tir_map(m, n->cond);
    gpuc_stmt then_body = gpuc_tir_map_stmt(m, n->then_body), else_body = gpuc_tir_map_stmt(m, n->else_body);
    if (cond == n->cond && then_body == n->then_body && else_body == n->else_body) return s;
    return gpuc_tir_if_(m->ctx, cond, then_body, else_body);
}

static gpuc_stmt map_seq(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_stmt *out = NULL;
    for (int i = 0; i < n->n; i++) {
        gpuc_stmt r = gpuc_tir_map_stmt(m, n->at[i]);
        if (!out && r != n->at[i]) {
            out = gpuc_new_array(m->ctx, gpuc_stmt, n->n);
            memcpy(out, n->at, (size_t)i * sizeof *out);
        }
        if (out) out[i] = r;
    }
    return out ? gpuc_tir_seq(m->ctx, n->n, out) : s;
}

static gpuc_stmt map_let(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_expr value = gpuc_tir_map(m, n->value);
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    return value == n->value && body == n->body ? s : gpuc_tir_let(m->ctx, n->var, value, body);
}

static gpuc_stmt map_attr(gpuc_tir_mapper *m, gpuc_stmt s)
{
    const gpuc_tir_attr_node *n = gpuc_as_attr(s);
    gpuc_expr value = n->value ? gpuc_tir_map(m, n->value) : NULL;
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    if (value == n->value && body == n->body) return s;
    return gpuc_tir_attr(m->ctx, n->key, n->text, value, n->reducer, body);
}

gpuc_stmt gpuc_tir_map_stmt_children(gpuc_tir_mapper *m, gpuc_stmt s)
{
    if (!s) return NULL;
    switch (s->kind) {
    case GPUC_STMT_FOR: return map_for(m, s);
    case GPUC_STMT_STORE: return map_store(m, s);
    case GPUC_STMT_IF: return map_if(m, s);
    case GPUC_STMT_SEQ: return map_seq(m, s);
    case GPUC_STMT_ALLOC: {
        gpuc_stmt body = gpuc_tir_map_stmt(m, gpuc_as_alloc(s)->body);
        return body == gpuc_as_alloc(s)->body ? s : gpuc_tir_alloc(m->ctx, gpuc_as_alloc(s)->buffer, body);
    }
    case GPUC_STMT_LET: return map_let(m, s);
    case GPUC_STMT_EVAL: {
        gpuc_expr value = gpuc_tir_map(m, gpuc_as_eval(s)->value);
        return value == gpuc_as_eval(s)->value ? s : gpuc_tir_eval(m->ctx, value);
    }
    case GPUC_STMT_ATTR: return map_attr(m, s);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}
