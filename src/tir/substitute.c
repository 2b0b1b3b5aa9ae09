/* SPDX-License-Identifier: Apache-2.0 */
/* Substitutes expressions for variables. */
#include "tir/intern.h"

static gpuc_expr keep(gpuc_tir_mapper *m, gpuc_expr e)
{
    return e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE) ? gpuc_tir_map_children(m, e) : e;
}

static void init(gpuc_tir_mapper *m, gpuc_ctx *ctx, int n, const gpuc_expr *vars, const gpuc_expr *with)
{
    gpuc_tir_mapper_init(m, ctx, keep, NULL);
    for (int i = 0; i < n; i++) {
        if (!gpuc_dtype_equal(vars[i]->dtype, with[i]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' of type %s cannot be replaced by %s of type %s",
                       gpuc_tir_short_text(ctx, vars[i]), gpuc_tir_type_text(ctx, vars[i]->dtype),
                       gpuc_tir_short_text(ctx, with[i]), gpuc_tir_type_text(ctx, with[i]->dtype));
        gpuc_map_set(&m->memo, vars[i], (void *)with[i]);
    }
}

gpuc_expr gpuc_tir_substitute(gpuc_ctx *ctx, gpuc_expr e, int n, const gpuc_expr *vars, const gpuc_expr *with)
{
    if (n == 0 || !(e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_TE))) return e;
    gpuc_tir_mapper m;
    init(&m, ctx, n, vars, with);
    return gpuc_tir_map(&m, e);
}

gpuc_stmt gpuc_tir_substitute_stmt(gpuc_ctx *ctx, gpuc_stmt s, int n, const gpuc_expr *vars,
                                   const gpuc_expr *with)
{
    if (n == 0) return s;
    gpuc_tir_mapper m;
    init(&m, ctx, n, vars, with);
    return gpuc_tir_map_stmt(&m, s);
}
