/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a grid that exceeds a limit of the target in another shape. Each work-group computes the indices
 * of the work-group that it stands for, and excess work-groups do nothing. A single long dimension is
 * continued in an unused one; else all dimensions are flattened and cut into rows. */
#include "lower/common/util.h"

typedef struct grid {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    gpuc_expr extent[3], var[3]; /* NULL: not used */
    int64_t limit[3];
    gpuc_tir_thread *threads;
    int num_threads;
} grid;

/* The max value of an extent. One that depends on symbols counts elements of a buffer, so it is below
 * 2^31. */
static int64_t max_groups(grid *g, gpuc_expr extent)
{
    int64_t max = gpuc_arith_analyzer_bounds(g->a, extent).max;
    return max > INT32_MAX && extent->kind != GPUC_EXPR_INT ? INT32_MAX : max;
}

static bool is_long(grid *g, int i)
{
    return g->extent[i] && max_groups(g, g->extent[i]) > g->limit[i];
}

static gpuc_expr ceil_div(grid *g, gpuc_expr a, int64_t b)
{
    gpuc_expr by = gpuc_int(g->ctx, b);
    return gpuc_arith_simplify(g->a,
                               gpuc_floordiv_(g->ctx, gpuc_add(g->ctx, a, gpuc_int(g->ctx, b - 1)), by));
}

static gpuc_expr launch(grid *g, int axis, gpuc_expr extent)
{
    static const char *const names[3] = {"bx", "by", "bz"};
    gpuc_expr var = gpuc_var(g->ctx, names[axis], GPUC_INDEX);
    g->threads[g->num_threads++] = (gpuc_tir_thread){(gpuc_thread_tag)(GPUC_BLOCK_X + axis), var, extent};
    return var;
}

static int64_t rows_of(int64_t max, int64_t width)
{
    return max / width + (max % width != 0);
}

/* Launches `total` groups, at most max, as rows along axis first, which are stacked along axis next, and
 * along axis last (-1: there is none). */
static gpuc_expr launch_rows(grid *g, gpuc_expr total, int64_t max, int first, int next, int last)
{
    gpuc_ctx *ctx = g->ctx;
    int64_t width = g->limit[first], count;
    if (gpuc_expr_is_int(total, &count)) { /* rows of equal length leave the fewest groups without work */
        width = rows_of(count, rows_of(count, width));
    }
    gpuc_expr rows = ceil_div(g, total, width);
    gpuc_expr x = launch(g, first, gpuc_arith_simplify(g->a, gpuc_min(ctx, total, gpuc_int(ctx, width)))), y;
    if (last >= 0 && rows_of(max, width) > g->limit[next])
        y = launch_rows(g, rows, rows_of(max, width), next, last, -1);
    else
        y = launch(g, next, rows);
    return gpuc_add(ctx, gpuc_mul(ctx, y, gpuc_int(ctx, width)), x);
}

static gpuc_stmt replace(grid *g, gpuc_stmt body, int axis, gpuc_expr value)
{
    value = gpuc_cast(g->ctx, g->var[axis]->dtype, value);
    return gpuc_tir_substitute_stmt(g->ctx, body, 1, &g->var[axis], &value);
}

static gpuc_stmt guarded(grid *g, gpuc_stmt body, gpuc_expr group, gpuc_expr flat, gpuc_expr total)
{
    return gpuc_tir_let(g->ctx, group, flat, gpuc_tir_if_(g->ctx, gpuc_lt(g->ctx, group, total), body, NULL));
}

/* Continues the only long dimension in the unused one. */
static gpuc_stmt fold_one(grid *g, gpuc_stmt body, int axis, int spare)
{
    gpuc_expr total = gpuc_cast(g->ctx, GPUC_INDEX, g->extent[axis]),
              group = gpuc_var(g->ctx, "group", GPUC_INDEX);
    gpuc_expr flat = launch_rows(g, total, max_groups(g, total), axis, spare, -1);
    for (int i = 0; i < 3; i++)
        if (g->extent[i] && i != axis)
            g->threads[g->num_threads++] =
                (gpuc_tir_thread){(gpuc_thread_tag)(GPUC_BLOCK_X + i), g->var[i], g->extent[i]};
    return guarded(g, replace(g, body, axis, group), group, flat, total);
}

static gpuc_stmt fold_all(grid *g, gpuc_stmt body)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr total = gpuc_int(ctx, 1), group = gpuc_var(ctx, "group", GPUC_INDEX), rest = group;
    int last = g->extent[2] ? 2 : g->extent[1] ? 1 : 0;
    for (int i = 0; i < 3; i++) {
        if (!g->extent[i]) continue;
        gpuc_expr extent = gpuc_cast(ctx, GPUC_INDEX, g->extent[i]);
        total = gpuc_mul(ctx, total, extent);
        body = replace(g, body, i, i == last ? rest : gpuc_floormod_(ctx, rest, extent));
        rest = gpuc_floordiv_(ctx, rest, extent);
    }
    total = gpuc_arith_simplify(g->a, total);
    return guarded(g, body, group, launch_rows(g, total, max_groups(g, total), 0, 1, 2), total);
}

gpuc_tir_func *gpuc_lower_fold_launch(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_target *target = p->target;
    if (!target->language->work_groups) return f;
    grid g = {.ctx = ctx, .limit = {target->max_grid_x, target->max_grid_y, target->max_grid_z}};
    g.a = gpuc_lower_analyzer(ctx, f);
    g.threads = gpuc_new_array(ctx, gpuc_tir_thread, f->num_threads + 3);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        if (!gpuc_is_block_tag(t->tag)) continue;
        g.extent[t->tag - GPUC_BLOCK_X] = t->extent;
        g.var[t->tag - GPUC_BLOCK_X] = t->var;
    }
    int num_long = 0, axis = 0, spare = -1;
    for (int i = 0; i < 3; i++) {
        if (is_long(&g, i)) {
            num_long++;
            axis = i;
        }
        if (!g.extent[i]) spare = i;
    }
    if (num_long == 0) return f;
    for (int i = 0; i < 3; i++)
        if (!g.extent[i] && i != axis && spare > i) spare = i;
    bool fits = spare >= 0 && rows_of(max_groups(&g, g.extent[axis]), g.limit[axis]) <= g.limit[spare];
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->body = num_long == 1 && fits ? fold_one(&g, f->body, axis, spare) : fold_all(&g, f->body);
    for (int i = 0; i < f->num_threads; i++)
        if (gpuc_is_thread_tag(f->threads[i].tag)) g.threads[g.num_threads++] = f->threads[i];
    out->threads = g.threads;
    out->num_threads = g.num_threads;
    return out;
}
