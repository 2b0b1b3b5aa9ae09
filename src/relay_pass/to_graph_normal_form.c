/* SPDX-License-Identifier: Apache-2.0 */
/* Puts values in the place of the variables of lets, so that a program without branches is a graph. */
#include "relay/solve.h"
#include "relay_pass/common/util.h"

typedef struct graph {
    gpuc_map value_of; /* variable of a let -> its value before */
    gpuc_map made;     /* value of a let, before -> what it became; NULL: it was not come to */
    gpuc_map sizes;    /* size that the type of a variable that goes names -> what it is in the value */
} graph;

/* What stands for a variable; NULL: it stays. */
static gpuc_rexpr *made_of(const graph *g, const gpuc_rexpr *var)
{
    const gpuc_rexpr *value = gpuc_map_get(&g->value_of, var);
    return value ? gpuc_map_get(&g->made, value) : NULL;
}

/* A function that calls itself keeps its let: the walk comes to the variable before the value. So does a let whose type
 * says what nothing else may say. */
static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    graph *g = arg;
    gpuc_rexpr *stands = made_of(g, old->kind == GPUC_REXPR_LET ? gpuc_as_rlet(old)->var : old);
    if (stands && old->kind == GPUC_REXPR_VAR) {
        e = stands;
        gpuc_relay_note_named_sizes(&g->sizes, old->type, e->type);
    }
    gpuc_rexpr *named = e;
    e = gpuc_relay_pass_put_sizes(ctx, named, &g->sizes);
    if (e != named) {
        e->type_before = named->type;
        gpuc_relay_infer_node(ctx, NULL, e);
    }
    /* gpuc_relay_rewrite keeps a let whose variable became another variable */
    if (stands && old->kind == GPUC_REXPR_LET && stands->kind == GPUC_REXPR_VAR) e = gpuc_as_rlet(e)->body;
    if (gpuc_map_has(&g->made, old)) gpuc_map_set(&g->made, old, e);
    return e;
}

void gpuc_relay_pass_to_graph_normal_form(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_ptrs order = {0};
        graph g;
        gpuc_map_init(&g.value_of, p->ctx);
        gpuc_map_init(&g.made, p->ctx);
        gpuc_map_init(&g.sizes, p->ctx);
        gpuc_relay_post_order(p->ctx, functions->entries[i].value, true, &order);
        for (size_t k = 0; k < order.count; k++) {
            const gpuc_rexpr *e = order.at[k];
            if (e->kind != GPUC_REXPR_LET) continue;
            const gpuc_rvar *var = gpuc_as_rvar(gpuc_as_rlet(e)->var);
            if (var->annotation && gpuc_relay_pass_is_generic(var->annotation)) continue;
            gpuc_map_set(&g.value_of, var, gpuc_as_rlet(e)->value);
            gpuc_map_set(&g.made, gpuc_as_rlet(e)->value, NULL);
        }
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, rewrite, &g);
    }
}
