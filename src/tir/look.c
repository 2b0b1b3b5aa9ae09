/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the loop IR as plain data, for code outside. */
#include "tir/tir.h"

static void set_operands(gpuc_tir_expr_info *out, int n, const gpuc_expr *operands)
{
    out->num_operands = n;
    out->operands = operands;
}

static void get_call(gpuc_expr e, gpuc_tir_expr_info *out)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    out->name = gpuc_tir_intrins[n->fn].text;
    if (n->name) out->function = n->name;
    out->buffer = n->buffer;
    set_operands(out, n->n, n->args);
}

static void get_reduce(gpuc_expr e, gpuc_tir_expr_info *out)
{
    const gpuc_tir_reduce_node *n = gpuc_as_reduce(e);
    out->name = n->reducer->name;
    out->num_axes = n->num_axes;
    out->axes = n->axes;
    out->condition = n->condition;
    out->i = n->value_index;
    set_operands(out, n->reducer->count, n->source);
}

gpuc_tir_expr_info gpuc_tir_expr_get(gpuc_expr e)
{
    gpuc_tir_expr_info out = {.kind = e->kind, .dtype = e->dtype, .name = "", .function = ""};
    switch (e->kind) {
    case GPUC_EXPR_VAR: out.name = gpuc_as_var(e)->name; break;
    case GPUC_EXPR_INT: out.i = gpuc_as_int(e)->value; break;
    case GPUC_EXPR_FLOAT: out.f = gpuc_as_float(e)->value; break;
    case GPUC_EXPR_CAST: set_operands(&out, 1, &gpuc_as_cast(e)->a); break;
    case GPUC_EXPR_OP:
        out.name = gpuc_tir_ops[gpuc_as_op(e)->op].text;
        set_operands(&out, gpuc_tir_ops[gpuc_as_op(e)->op].arity, gpuc_as_op(e)->a);
        break;
    case GPUC_EXPR_LOAD:
        out.buffer = gpuc_as_load(e)->buffer;
        set_operands(&out, gpuc_as_load(e)->n, gpuc_as_load(e)->index);
        break;
    case GPUC_EXPR_RAMP: set_operands(&out, 2, gpuc_as_ramp(e)->a); break;
    case GPUC_EXPR_BROADCAST: set_operands(&out, 1, &gpuc_as_broadcast(e)->a); break;
    case GPUC_EXPR_LANE:
        out.i = gpuc_as_lane(e)->lane;
        set_operands(&out, 1, &gpuc_as_lane(e)->a);
        break;
    case GPUC_EXPR_VECTOR: set_operands(&out, e->dtype.lanes, gpuc_as_vector(e)->a); break;
    case GPUC_EXPR_CALL: get_call(e, &out); break;
    case GPUC_EXPR_READ:
        out.tensor = gpuc_as_read(e)->tensor;
        set_operands(&out, gpuc_as_read(e)->n, gpuc_as_read(e)->index);
        break;
    case GPUC_EXPR_REDUCE: get_reduce(e, &out); break;
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return out;
}

static void set_bodies(gpuc_tir_stmt_info *out, int n, const gpuc_stmt *bodies)
{
    out->num_bodies = n;
    out->bodies = bodies;
}

static void get_for(gpuc_stmt s, gpuc_tir_stmt_info *out)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    out->var = n->var;
    out->min = n->min;
    out->extent = n->extent;
    out->loop = n->loop;
    out->tag = n->tag;
    set_bodies(out, 1, &n->body);
}

static void get_store(gpuc_stmt s, gpuc_tir_stmt_info *out)
{
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    out->buffer = n->buffer;
    out->num_index = n->n;
    out->index = n->index;
    out->value = n->value;
}

static void get_let(gpuc_stmt s, gpuc_tir_stmt_info *out)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    out->var = n->var;
    out->value = n->value;
    set_bodies(out, 1, &n->body);
}

static void get_attr(gpuc_stmt s, gpuc_tir_stmt_info *out)
{
    const gpuc_tir_attr_node *n = gpuc_as_attr(s);
    out->key = n->key;
    out->text = n->text;
    out->value = n->value;
    set_bodies(out, 1, &n->body);
}

gpuc_tir_stmt_info gpuc_tir_stmt_get(gpuc_stmt s)
{
    gpuc_tir_stmt_info out = {.kind = s->kind};
    switch (s->kind) {
    case GPUC_STMT_FOR: get_for(s, &out); break;
    case GPUC_STMT_STORE: get_store(s, &out); break;
    case GPUC_STMT_IF:
        out.value = gpuc_as_if(s)->cond;
        set_bodies(&out, 2, gpuc_as_if(s)->bodies);
        break;
    case GPUC_STMT_SEQ: set_bodies(&out, gpuc_as_seq(s)->n, gpuc_as_seq(s)->at); break;
    case GPUC_STMT_ALLOC:
        out.buffer = gpuc_as_alloc(s)->buffer;
        set_bodies(&out, 1, &gpuc_as_alloc(s)->body);
        break;
    case GPUC_STMT_LET: get_let(s, &out); break;
    case GPUC_STMT_EVAL: out.value = gpuc_as_eval(s)->value; break;
    case GPUC_STMT_ATTR: get_attr(s, &out); break;
    case GPUC_STMT_KIND_COUNT: break;
    }
    return out;
}

gpuc_tir_buffer_info gpuc_tir_buffer_get(const gpuc_tir_buffer *b)
{
    return (gpuc_tir_buffer_info){.name = b->name,
                                  .dtype = b->dtype,
                                  .scope = b->scope,
                                  .ndim = b->ndim,
                                  .shape = b->shape,
                                  .strides = b->strides,
                                  .non_temporal = b->non_temporal};
}

gpuc_tir_func_info gpuc_tir_func_get(const gpuc_tir_func *f)
{
    return (gpuc_tir_func_info){.name = f->name,
                                .label = f->label ? f->label : "",
                                .stage = f->stage,
                                .num_buffers = f->num_buffers,
                                .num_scalars = f->num_scalars,
                                .num_threads = f->num_threads,
                                .buffers = f->buffers,
                                .scalars = f->scalars,
                                .threads = f->threads,
                                .aliased = f->aliased,
                                .subgroup_size = f->subgroup_size,
                                .body = f->body};
}
