/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a function over tensors. */

#include "te/internal.h"

typedef struct symbol_walk {
    gpuc_ctx *ctx;
    gpuc_te_params *p;
    gpuc_map bound, seen;
    bool in_extent;
    gpuc_map extents;
} symbol_walk;

static bool note_symbol(gpuc_expr e, void *arg)
{
    symbol_walk *w = arg;
    if (e->kind != GPUC_EXPR_VAR || gpuc_map_has(&w->bound, e)) return true;
    if (w->in_extent && gpuc_is_integer(e->dtype) && !gpuc_map_has(&w->extents, e)) {
        gpuc_map_set(&w->extents, e, (void *)e);
        gpuc_ptrs_push(w->ctx, &w->p->extents, e);
    }
    if (gpuc_map_has(&w->seen, e)) return true;
    gpuc_dtype t = e->dtype;
    if (!gpuc_dtype_equal(t, GPUC_INT64) && !gpuc_dtype_equal(t, GPUC_INT32) &&
        !gpuc_dtype_equal(t, GPUC_FLOAT32)) {
        char name[24];
        gpuc_raise(w->ctx, GPUC_INVALID_ARGUMENT,
                   "variable '%s' is of type %s; a scalar parameter is int32, int64 or float32",
                   gpuc_as_var(e)->name, gpuc_dtype_name(t, name));
    }
    gpuc_map_set(&w->seen, e, (void *)e);
    gpuc_ptrs_push(w->ctx, &w->p->scalars, e);
    return true;
}

static void note_bound(gpuc_stmt s, void *arg)
{
    symbol_walk *w = arg;
    if (s->kind == GPUC_STMT_FOR) gpuc_map_set(&w->bound, gpuc_as_for(s)->var, (void *)gpuc_as_for(s)->var);
    if (s->kind == GPUC_STMT_LET) gpuc_map_set(&w->bound, gpuc_as_let(s)->var, (void *)gpuc_as_let(s)->var);
}

static void note_shape(symbol_walk *w, const gpuc_tensor *t)
{
    w->in_extent = true;
    for (int i = 0; i < t->ndim; i++) gpuc_tir_visit(w->ctx, t->shape[i], note_symbol, w);
    if (t->view) gpuc_tir_visit(w->ctx, t->view->size, note_symbol, w);
    w->in_extent = false;
    for (int i = 0; t->view && i < t->ndim; i++) gpuc_tir_visit(w->ctx, t->view->strides[i], note_symbol, w);
    if (t->view) gpuc_tir_visit(w->ctx, t->view->offset, note_symbol, w);
}

static void note_op(symbol_walk *w, const gpuc_te_op *op)
{
    for (int i = 0; i < op->num_outputs; i++) note_shape(w, op->outputs[i]);
    for (int i = 0; i < op->num_axes; i++)
        gpuc_map_set(&w->bound, op->axes[i]->var, (void *)op->axes[i]->var);
    for (int i = 0; i < op->num_reduce; i++)
        gpuc_map_set(&w->bound, op->reduce[i]->var, (void *)op->reduce[i]->var);
    w->in_extent = true;
    for (int i = 0; i < op->num_reduce; i++) gpuc_tir_visit(w->ctx, op->reduce[i]->extent, note_symbol, w);
    w->in_extent = false;
    if (op->kind == GPUC_TE_COMPUTE)
        for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(w->ctx, op->bodies[i], note_symbol, w);
    if (op->kind == GPUC_TE_EXTERN && op->extern_body) {
        gpuc_tir_visit_stmt(w->ctx, op->extern_body, note_bound, NULL, w);
        gpuc_tir_visit_stmt(w->ctx, op->extern_body, NULL, note_symbol, w);
    }
}

void gpuc_te_params_init(gpuc_ctx *ctx, gpuc_te_params *p, int num_args, gpuc_tensor *const *args,
                         const gpuc_ptrs *ops)
{
    *p = (gpuc_te_params){.num_buffers = num_args};
    p->buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, num_args);
    gpuc_map tensors;
    gpuc_map_init(&tensors, ctx);
    for (int i = 0; i < num_args; i++) {
        const gpuc_tensor *t = args[i];
        if (gpuc_map_has(&tensors, t))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "tensor '%s' is twice among the arguments", t->name);
        p->buffers[i] =
            t->view ? gpuc_tir_buffer_make(ctx, t->name, t->dtype, 1, &t->view->size, GPUC_SCOPE_GLOBAL)
                    : gpuc_tir_buffer_make(ctx, t->name, t->dtype, t->ndim, t->shape, GPUC_SCOPE_GLOBAL);
        gpuc_map_set(&tensors, t, p->buffers[i]);
    }
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *op = ops->at[i];
        if (op->kind == GPUC_TE_PLACEHOLDER && !gpuc_map_has(&tensors, op->outputs[0]))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "placeholder '%s' is read but is not among the arguments",
                       op->name);
    }
    symbol_walk w = {.ctx = ctx, .p = p};
    gpuc_map_init(&w.bound, ctx);
    gpuc_map_init(&w.seen, ctx);
    gpuc_map_init(&w.extents, ctx);
    for (int i = 0; i < num_args; i++) note_shape(&w, args[i]);
    for (size_t i = 0; i < ops->count; i++) note_op(&w, ops->at[i]);
}

gpuc_tir_func *gpuc_te_params_func(gpuc_ctx *ctx, const gpuc_te_params *p, const char *name, gpuc_stmt body)
{
    return gpuc_tir_func_new(ctx, name, p->num_buffers, p->buffers, (int)p->scalars.count,
                             (const gpuc_expr *)p->scalars.at, body);
}
