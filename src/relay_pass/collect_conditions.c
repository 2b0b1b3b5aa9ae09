/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the conditions that the operators of a model impose on sizes that are known only at run time. It
 * runs before any rewriting, which adds no conditions. */
#include "arith/arith.h"
#include "relay/infer.h"
#include "relay_pass/passes.h"

static bool listed(const gpuc_ptrs *conditions, gpuc_expr cond)
{
    for (size_t i = 0; i < conditions->count; i++)
        if (((const gpuc_op_condition *)conditions->at[i])->cond == cond) return true;
    return false;
}

static void collect(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    gpuc_ptrs found = {0};
    gpuc_relay_conditions(p->ctx, e, &found);
    for (size_t i = 0; i < found.count; i++) {
        gpuc_op_condition *c = found.at[i];
        if (listed(&p->module->conditions, c->cond)) continue;
        if (*e->source) c->text = gpuc_ctx_printf(p->ctx, "node '%s': %s", e->source, c->text);
        gpuc_ptrs_push(p->ctx, &p->module->conditions, c);
    }
}

void gpuc_relay_pass_collect_conditions(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        gpuc_ptrs order = {0};
        gpuc_relay_post_order(p->ctx, functions->entries[i].value, true, &order);
        for (size_t k = 0; k < order.count; k++)
            if (gpuc_relay_call_op(order.at[k])) collect(p, order.at[k]);
    }
}
