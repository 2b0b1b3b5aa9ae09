/* SPDX-License-Identifier: Apache-2.0 */
/* A grid (X, Y, Z) with an extent above the target's limit is launched as (x', y', z') with at least X * Y * Z
 * groups, and each computes the numbers of the group that it stands for; those in excess do nothing. */
#include "lower/util.h"

typedef struct grid {
    gpuc_expr extent[3], var[3]; /* NULL: not used */
    int64_t limit[3];
} grid;

static gpuc_expr ceil_div(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    gpuc_expr one = gpuc_imm_int(ctx, a->dtype, 1);
    return gpuc_floordiv_(ctx, gpuc_sub(ctx, gpuc_add(ctx, a, b), one), b);
}

static bool must_fold(gpuc_analyzer *a, const grid *g)
{
    for (int i = 0; i < 3; i++)
        if (g->extent[i] && gpuc_analyzer_bounds(a, g->extent[i]).max > g->limit[i]) return true;
    return false;
}

gpuc_tir_func *gpuc_lower_fold_launch(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    if (p->target->kind == GPUC_TARGET_C) return f;
    grid g = {.limit = {p->target->max_grid_x, p->target->max_grid_y, p->target->max_grid_z}};
    gpuc_analyzer *a = gpuc_lower_analyzer(ctx, f);
    gpuc_expr total = gpuc_int(ctx, 1);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        if (!gpuc_is_block_tag(t->tag)) continue;
        g.extent[t->tag - GPUC_BLOCK_X] = t->extent;
        g.var[t->tag - GPUC_BLOCK_X] = t->var;
        total = gpuc_mul(ctx, total, gpuc_cast(ctx, GPUC_INDEX, t->extent));
    }
    if (!must_fold(a, &g)) return f;
    /* as even as it can be: few groups in excess */
    gpuc_expr size[3], id[3];
    static const char *const names[3] = {"bx", "by", "bz"};
    total = gpuc_simplify(a, total);
    gpuc_expr left = total;
    for (int i = 0; i < 3; i++) {
        gpuc_expr limit = gpuc_int(ctx, g.limit[i]), pieces = ceil_div(ctx, left, limit);
        size[i] = gpuc_simplify(a, i == 2 ? left : ceil_div(ctx, left, gpuc_max(ctx, pieces, gpuc_int(ctx, 1))));
        left = gpuc_simplify(a, pieces);
        id[i] = gpuc_var(ctx, names[i], GPUC_INDEX);
    }
    gpuc_expr flat = gpuc_add(ctx, gpuc_mul(ctx, gpuc_add(ctx, gpuc_mul(ctx, id[2], size[1]), id[1]), size[0]), id[0]);
    gpuc_expr group = gpuc_var(ctx, "group", GPUC_INDEX), rest = group;
    gpuc_stmt body = f->body;
    gpuc_expr value[3] = {NULL};
    int last = g.extent[2] ? 2 : g.extent[1] ? 1 : 0;
    for (int i = 0; i < 3; i++) {
        if (!g.extent[i]) continue;
        gpuc_expr extent = gpuc_cast(ctx, GPUC_INDEX, g.extent[i]);
        value[i] = gpuc_cast(ctx, g.var[i]->dtype, i == last ? rest : gpuc_floormod_(ctx, rest, extent));
        if (i < last) rest = gpuc_floordiv_(ctx, rest, extent);
    }
    for (int i = 0; i < 3; i++)
        if (g.extent[i]) body = gpuc_tir_substitute_stmt(ctx, body, 1, &g.var[i], &value[i]);
    body = gpuc_tir_if_(ctx, gpuc_lt(ctx, group, total), body, NULL);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    gpuc_tir_thread *threads = gpuc_new_array(ctx, gpuc_tir_thread, f->num_threads + 3);
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (!gpuc_tir_is_const(size[i], 1))
            threads[n++] = (gpuc_tir_thread){(gpuc_thread_tag)(GPUC_BLOCK_X + i), id[i], size[i]};
    for (int i = 0; i < 3; i++)
        if (gpuc_tir_is_const(size[i], 1)) flat = gpuc_tir_substitute(ctx, flat, 1, &id[i], (gpuc_expr[]){gpuc_int(ctx, 0)});
    for (int i = 0; i < f->num_threads; i++)
        if (gpuc_is_thread_tag(f->threads[i].tag)) threads[n++] = f->threads[i];
    out->body = gpuc_tir_let(ctx, group, flat, body);
    out->threads = threads;
    out->num_threads = n;
    return out;
}
