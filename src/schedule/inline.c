/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of inlined stages become the expressions that these compute. */
#include "schedule/nest.h"

typedef struct inliner {
    gpuc_tir_mapper m;
    const gpuc_map *inlined; /* stage->op -> operation whose bodies are inlined themselves */
} inliner;

static gpuc_expr inline_read(gpuc_tir_mapper *m, gpuc_expr e)
{
    e = gpuc_tir_map_children(m, e);
    if (e->kind != GPUC_EXPR_READ) return e;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    const gpuc_te_op *op = gpuc_map_get(((inliner *)m)->inlined, r->tensor->op);
    if (!op) return e;
    return gpuc_te_inlined(m->ctx, op, r);
}

static const gpuc_te_op *inline_into(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_map *inlined)
{
    bool any = false;
    for (int i = 0; i < op->num_inputs; i++) any |= gpuc_map_has(inlined, op->inputs[i]->op);
    if (!any || op->kind != GPUC_TE_COMPUTE) return op;
    inliner in = {.inlined = inlined};
    gpuc_tir_mapper_init(&in.m, ctx, inline_read, NULL);
    gpuc_expr *bodies = gpuc_new_array(ctx, gpuc_expr, op->num_outputs);
    for (int i = 0; i < op->num_outputs; i++) bodies[i] = gpuc_tir_map(&in.m, op->bodies[i]);
    return gpuc_te_op_with_bodies(ctx, op, bodies);
}

void gpuc_schedule_lowering_make_nests(gpuc_lowering *l)
{
    gpuc_map inlined;
    gpuc_map_init(&inlined, l->ctx);
    const gpuc_ptrs *stages = &l->schedule->stages;
    for (size_t i = 0; i < stages->count; i++) {
        gpuc_stage *st = stages->at[i];
        if (st->op->kind == GPUC_TE_PLACEHOLDER) continue;
        const gpuc_te_op *op = inline_into(l->ctx, st->op, &inlined);
        if (st->attach == GPUC_ATTACH_INLINE) {
            gpuc_map_set(&inlined, st->op, (void *)op);
            continue;
        }
        for (int k = 0; k < op->num_inputs; k++)
            if (gpuc_map_has(&inlined, op->inputs[k]->op))
                gpuc_stage_fail(st, "it reads '%s' from memory, so that cannot be inlined",
                                op->inputs[k]->name);
        gpuc_nest *n = gpuc_new(l->ctx, gpuc_nest);
        n->stage = st;
        n->op = op;
        gpuc_map_init(&n->dom, l->ctx);
        gpuc_ptrs_push(l->ctx, &l->nests, n);
        gpuc_map_set(&l->of_op, st->op, n);
    }
}
