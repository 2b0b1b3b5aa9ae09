/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds index expressions over loop variables and lets; data that is loaded may have any value. */
#include "lower/common/ranges.h"

static gpuc_expr hide_data(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_LOAD && e->kind != GPUC_EXPR_CALL) return gpuc_tir_map_children(m, e);
    gpuc_expr any = gpuc_var(m->ctx, "data", e->dtype);
    gpuc_lower_ranges_set((gpuc_ranges *)m, any, (gpuc_interval){NULL, NULL});
    return any;
}

void gpuc_lower_ranges_init(gpuc_ranges *r, gpuc_ctx *ctx, gpuc_analyzer *a)
{
    r->a = a;
    gpuc_tir_mapper_init(&r->m, ctx, hide_data, NULL);
    gpuc_map_init(&r->of, ctx);
}

gpuc_interval gpuc_lower_ranges_eval(gpuc_ranges *r, gpuc_expr e)
{
    return gpuc_arith_eval_interval(r->a, gpuc_tir_map(&r->m, e), &r->of);
}

void gpuc_lower_ranges_set(gpuc_ranges *r, gpuc_expr var, gpuc_interval values)
{
    gpuc_map_set(&r->of, var, gpuc_ctx_memdup(r->m.ctx, &values, sizeof values));
}

void gpuc_lower_ranges_set_loop(gpuc_ranges *r, gpuc_expr var, gpuc_expr min, gpuc_expr extent)
{
    gpuc_ctx *ctx = r->m.ctx;
    gpuc_interval from = gpuc_lower_ranges_eval(r, min),
                  end = gpuc_lower_ranges_eval(r, gpuc_add(ctx, min, extent));
    gpuc_expr last = end.max ? gpuc_sub(ctx, end.max, gpuc_imm_int(ctx, end.max->dtype, 1)) : NULL;
    gpuc_lower_ranges_set(r, var, (gpuc_interval){from.min, last});
}

void gpuc_lower_ranges_set_let(gpuc_ranges *r, const gpuc_tir_let_node *let)
{
    gpuc_lower_ranges_set(r, let->var, gpuc_lower_ranges_eval(r, let->value));
}
