/* SPDX-License-Identifier: Apache-2.0 */
/* The definition run as it is written: what schedules are compared with. */
#include "te/internal.h"

static gpuc_stmt wrap_loops(gpuc_ctx *ctx, int n, gpuc_iter *const *axes, gpuc_stmt body)
{
    for (int i = n - 1; i >= 0; i--)
        body = gpuc_tir_for_(ctx, axes[i]->var, axes[i]->min, axes[i]->extent, GPUC_LOOP_SERIAL,
                             GPUC_THREAD_NONE, body);
    return body;
}

static gpuc_stmt plain_compute(gpuc_ctx *ctx, const gpuc_te_emit *e)
{
    const gpuc_te_op *op = e->op;
    if (op->num_reduce == 0) return gpuc_te_emit_plain(ctx, e);
    gpuc_stmt update = wrap_loops(ctx, op->num_reduce, op->reduce, gpuc_te_emit_update(ctx, e));
    return gpuc_tir_seq2(ctx, gpuc_te_emit_init(ctx, e), update);
}

gpuc_stmt gpuc_te_plain_rows(gpuc_ctx *ctx, const gpuc_map *places, const gpuc_te_op *op, gpuc_expr row)
{
    gpuc_expr *index = gpuc_new_array(ctx, gpuc_expr, op->num_axes);
    for (int i = 0; i < op->num_axes; i++) index[i] = op->axes[i]->var;
    gpuc_te_emit e = {.places = places, .op = op, .index = index};
    if (row) {
        e.n = 1;
        e.vars = gpuc_ctx_memdup(ctx, index, sizeof *index);
        e.with = gpuc_ctx_memdup(ctx, &row, sizeof row);
        index[0] = row;
    }
    int first = row ? 1 : 0;
    return wrap_loops(ctx, op->num_axes - first, op->axes + first, plain_compute(ctx, &e));
}

gpuc_tir_func *gpuc_te_lower_plain(gpuc_ctx *ctx, const char *name, int num_args, gpuc_tensor *const *args)
{
    gpuc_ptrs ops = {0}, local = {0};
    gpuc_te_post_order(ctx, num_args, args, &ops);
    gpuc_te_params p;
    gpuc_te_params_init(ctx, &p, num_args, args, &ops);

    gpuc_map places;
    gpuc_map_init(&places, ctx);
    for (int i = 0; i < num_args; i++) {
        gpuc_te_place *place = gpuc_new(ctx, gpuc_te_place);
        place->buffer = p.buffers[i];
        place->view = args[i]->view;
        gpuc_map_set(&places, args[i], place);
    }
    gpuc_stmt *parts = gpuc_new_array(ctx, gpuc_stmt, ops.count);
    int n = 0;
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        if (op->kind == GPUC_TE_PLACEHOLDER) continue;
        for (int k = 0; k < op->num_outputs; k++) {
            const gpuc_tensor *t = op->outputs[k];
            if (gpuc_map_has(&places, t)) continue;
            gpuc_te_place *place = gpuc_new(ctx, gpuc_te_place);
            place->buffer =
                gpuc_tir_buffer_make(ctx, t->name, t->dtype, t->ndim, t->shape, GPUC_SCOPE_GLOBAL);
            gpuc_map_set(&places, t, place);
            gpuc_ptrs_push(ctx, &local, place->buffer);
        }
        parts[n++] = op->kind == GPUC_TE_EXTERN ? gpuc_te_emit_extern(ctx, &places, op)
                                                : gpuc_te_plain_rows(ctx, &places, op, NULL);
    }
    gpuc_stmt body = gpuc_tir_seq(ctx, n, parts);
    for (size_t i = local.count; i > 0; i--) body = gpuc_tir_alloc(ctx, local.at[i - 1], body);
    return gpuc_te_params_func(ctx, &p, name, body);
}
