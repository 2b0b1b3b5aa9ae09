/* SPDX-License-Identifier: Apache-2.0 */
/* Makes axes, and finds the axis of a variable. */
#include "te/internal.h"

/* The context's te slot: variable -> gpuc_te_axis_info. */
static gpuc_map *axis_table(gpuc_ctx *ctx)
{
    gpuc_map *table = ctx->slots[GPUC_CTX_TE];
    if (!table) {
        table = gpuc_new(ctx, gpuc_map);
        gpuc_map_init(table, ctx);
        ctx->slots[GPUC_CTX_TE] = table;
    }
    return table;
}

gpuc_te_axis_info *gpuc_te_axis_find(gpuc_ctx *ctx, gpuc_expr var)
{
    return gpuc_map_get(axis_table(ctx), var);
}

static gpuc_iter *axis_make(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent, const char *name,
                            gpuc_iter_kind kind)
{
    gpuc_iter *iter = gpuc_tir_iter(ctx, name && name[0] ? name : "i", min, extent, kind, GPUC_THREAD_NONE);
    gpuc_te_axis_info *info = gpuc_new(ctx, gpuc_te_axis_info);
    info->iter = iter;
    gpuc_map_set(axis_table(ctx), iter->var, info);
    return iter;
}

static gpuc_iter *axis_of(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent, const char *name,
                          gpuc_iter_kind kind)
{
    const char *owner = name ? name : "axis";
    int64_t first, n, end;
    min = min ? gpuc_te_check_place(ctx, min, owner, "the minimum") : gpuc_int(ctx, 0);
    extent = gpuc_te_check_dim(ctx, extent, owner, 0);
    if (gpuc_expr_is_int(min, &first) && gpuc_expr_is_int(extent, &n) &&
        __builtin_add_overflow(first, n, &end))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "'%s': it runs from %lld on, and its %lld iterations pass 2^63", owner, (long long)first,
                   (long long)n);
    return axis_make(ctx, min, extent, name, kind);
}

gpuc_iter *gpuc_te_axis(gpuc_ctx *ctx, gpuc_expr extent, const char *name)
{
    return axis_of(ctx, NULL, extent, name, GPUC_ITER_DATA);
}

gpuc_iter *gpuc_te_reduce_axis(gpuc_ctx *ctx, gpuc_expr extent, const char *name)
{
    return axis_of(ctx, NULL, extent, name, GPUC_ITER_REDUCE);
}

gpuc_iter *gpuc_te_axis_from(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent, const char *name)
{
    gpuc_te_need(ctx, min, name ? name : "axis", "minimum");
    return axis_of(ctx, min, extent, name, GPUC_ITER_DATA);
}

gpuc_iter *gpuc_te_reduce_axis_from(gpuc_ctx *ctx, gpuc_expr min, gpuc_expr extent, const char *name)
{
    gpuc_te_need(ctx, min, name ? name : "axis", "minimum");
    return axis_of(ctx, min, extent, name, GPUC_ITER_REDUCE);
}

gpuc_iter *gpuc_te_axis_copy(gpuc_ctx *ctx, const gpuc_iter *axis)
{
    return axis_make(ctx, gpuc_int(ctx, 0), axis->extent, gpuc_as_var(axis->var)->name, axis->kind);
}

gpuc_expr gpuc_iter_var(const gpuc_iter *iter)
{
    return iter ? iter->var : NULL;
}

gpuc_expr gpuc_iter_min(const gpuc_iter *iter)
{
    return iter ? iter->min : NULL;
}

gpuc_expr gpuc_iter_extent(const gpuc_iter *iter)
{
    return iter ? iter->extent : NULL;
}
