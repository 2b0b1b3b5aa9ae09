/* SPDX-License-Identifier: Apache-2.0 */
#include "coopmat_product.h"

#include "te/te.h"

const coopmat_product coopmat_products[] = {
    {.rows = 64, .columns = 32, .depth = 48, .sum = GPUC_FLOAT32, .lanes = 8},
    {.rows = 41, .columns = 53, .depth = 16, .sum = GPUC_FLOAT32, .lanes = 32},
    {.rows = 32, .columns = 37, .depth = 32, .transposed = true, .sum = GPUC_FLOAT32, .lanes = 16},
    {.rows = 33, .columns = 64, .depth = 32, .transposed = true, .sum = GPUC_FLOAT16, .lanes = 8},
    {.rows = 40, .columns = 32, .depth = 16, .sum = GPUC_FLOAT16, .lanes = 24}, /* 256 is no multiple */
};
const int num_coopmat_products = sizeof coopmat_products / sizeof *coopmat_products;

enum { SIDE = 16, BLOCK = 32, WARPS = 2 };

static void define(const coopmat_product *p, expr_graph *g)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr m = num(g, p->rows), n = num(g, p->columns), depth = num(g, p->depth);
    gpuc_tensor *a = input(g, "A", GPUC_FLOAT16, 2, EXPRS(m, depth)),
                *b = input(g, "B", GPUC_FLOAT16, 2, p->transposed ? EXPRS(n, depth) : EXPRS(depth, n));
    gpuc_iter *ij[] = {axis(g, m, "i"), axis(g, n, "j")}, *k = raxis(g, depth, "k");
    gpuc_expr y = p->transposed ? AT2(g, b, V(ij[1]), V(k)) : AT2(g, b, V(k), V(ij[1]));
    gpuc_expr product =
        gpuc_mul(ctx, gpuc_cast(ctx, p->sum, AT2(g, a, V(ij[0]), V(k))), gpuc_cast(ctx, p->sum, y));
    output(g, gpuc_te_compute(ctx, "C", 2, ij, gpuc_te_reduce(ctx, "sum", product, 1, &k)));
}

/* All threads of the group, over all loops of the stage. */
static void share_out(const coopmat_product *p, gpuc_stage *st, gpuc_iter *y, gpuc_iter *x)
{
    gpuc_iter *turn, *row, *lane;
    gpuc_stage_split(st, gpuc_stage_fuse(st, y, x), p->lanes, &row, &lane);
    gpuc_stage_split(st, row, WARPS, &turn, &row);
    gpuc_stage_bind(st, row, "threadIdx.y");
    gpuc_stage_bind(st, lane, "threadIdx.x");
}

/* Blocks of 16 x 16, one after the other. Returns the first loop inside of a block, in *outer those around. */
static gpuc_iter *in_blocks(gpuc_stage *st, gpuc_iter **outer)
{
    gpuc_iter *yi, *xi;
    gpuc_stage_tile(st, gpuc_stage_axis(st, 0), gpuc_stage_axis(st, 1), SIDE, SIDE, &outer[0], &outer[1], &yi,
                    &xi);
    return yi;
}

static void load(gpuc_ctx *ctx, const coopmat_product *p, gpuc_schedule *s, gpuc_tensor *t,
                 gpuc_stage *reader, gpuc_iter *step)
{

    gpuc_iter *outer[2];
    gpuc_tensor *shared = gpuc_cache_read(s, t, "shared", 1, &reader),
                *matrix = gpuc_cache_read(s, shared, "coopmat", 1, &reader);
    gpuc_stage *copy = gpuc_schedule_stage(s, shared), *held = gpuc_schedule_stage(s, matrix);
    gpuc_stage_compute_at(copy, reader, step);
    gpuc_stage_round_up(copy);
    gpuc_stage_storage_align(copy, 0, SIDE, 8);
    share_out(p, copy, gpuc_stage_axis(copy, 0), gpuc_stage_axis(copy, 1));
    gpuc_stage_compute_at(held, reader, step);
    gpuc_stage_round_up(held);
    gpuc_stage_transform_layout(held, "AB16a16b");
    gpuc_iter *first = in_blocks(held, outer);
    for (int i = 0; i < 2; i++) gpuc_stage_unroll(held, outer[i]);
    gpuc_stage_tensorize(held, first, gpuc_tensor_intrin_find(ctx, "coopmat_load_f16"));
}

gpuc_schedule *coopmat_schedule(gpuc_ctx *ctx, const coopmat_product *p, expr_graph *g)
{
    *g = (expr_graph){.ctx = ctx};
    define(p, g);
    bool wide = p->sum.bits == 32;
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &g->args[2]);
    gpuc_tensor *shared = gpuc_cache_write(s, g->args[2], "shared"),
                *sum = gpuc_cache_write(s, shared, "coopmat");
    gpuc_stage *out = gpuc_schedule_stage(s, g->args[2]), *copy = gpuc_schedule_stage(s, shared),
               *held = gpuc_schedule_stage(s, sum);
    gpuc_iter *by, *bx, *yi, *xi, *outer[2], *step, *k;
    gpuc_stage_tile(out, gpuc_stage_axis(out, 0), gpuc_stage_axis(out, 1), BLOCK, BLOCK, &by, &bx, &yi, &xi);
    gpuc_stage_bind(out, by, "blockIdx.y");
    gpuc_stage_bind(out, bx, "blockIdx.x");
    share_out(p, out, yi, xi);

    gpuc_stage_compute_at(copy, out, bx);
    gpuc_stage_round_up(copy);
    gpuc_iter *first = in_blocks(copy, outer);
    gpuc_stage_bind(copy, outer[0], "threadIdx.y");
    gpuc_stage_tensorize(copy, first,
                         gpuc_tensor_intrin_find(ctx, wide ? "coopmat_store_f32" : "coopmat_store_f16"));
    gpuc_stage_compute_at(held, copy, outer[0]);
    gpuc_stage_round_up(held);
    gpuc_stage_transform_layout(held, "AB16a16b");
    gpuc_stage_split(held, gpuc_stage_reduce_axis(held, 0), SIDE, &step, &k);
    gpuc_stage_tile(held, gpuc_stage_axis(held, 0), gpuc_stage_axis(held, 1), SIDE, SIDE, &outer[0],
                    &outer[1], &yi, &xi);
    gpuc_stage_reorder(held, 6, ITERS(step, outer[0], outer[1], yi, xi, k));
    for (int i = 0; i < 2; i++) gpuc_stage_unroll(held, outer[i]);
    gpuc_stage_tensorize(held, yi, gpuc_tensor_intrin_find(ctx, wide ? "coopmat_f16_f32" : "coopmat_f16"));
    for (int i = 0; i < 2; i++) load(ctx, p, s, g->args[i], held, step);
    return s;
}
