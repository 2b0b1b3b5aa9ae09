/* SPDX-License-Identifier: Apache-2.0 */
/* A stencil whose schedule leaves tiles, the order of loops, vectors and the use of shared memory to the tuner. What it
 * chooses by itself is a first guess. */
#include "stencil.h"

/* in and weights -> out[y, x] = sum of in[y + i, x + j] * weights[i, j] */
static void define(gpuc_tune_call *t)
{
    gpuc_ctx *ctx = t->ctx;
    int64_t rows = gpuc_attrs_get_int(t->params, "rows", 0),
            columns = gpuc_attrs_get_int(t->params, "columns", 0);
    gpuc_expr size = gpuc_int(ctx, STENCIL_SIZE);
    gpuc_expr shape[] = {gpuc_int(ctx, rows + STENCIL_SIZE - 1), gpuc_int(ctx, columns + STENCIL_SIZE - 1)};
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, gpuc_int(ctx, rows), "y"),
                         gpuc_te_axis(ctx, gpuc_int(ctx, columns), "x")};
    gpuc_iter *sums[] = {gpuc_te_reduce_axis(ctx, size, "i"), gpuc_te_reduce_axis(ctx, size, "j")};
    gpuc_expr y = gpuc_iter_var(axes[0]), x = gpuc_iter_var(axes[1]);
    gpuc_expr step[] = {gpuc_iter_var(sums[0]), gpuc_iter_var(sums[1])};
    gpuc_expr at[] = {gpuc_add(ctx, y, step[0]), gpuc_add(ctx, x, step[1])};
    t->num_in = 2;
    t->in[0] = gpuc_te_placeholder(ctx, "in", 2, shape, GPUC_FLOAT32);
    t->in[1] = gpuc_te_placeholder(ctx, "weights", 2, (gpuc_expr[]){size, size}, GPUC_FLOAT32);
    gpuc_expr product =
        gpuc_mul(ctx, gpuc_te_read(ctx, t->in[0], 2, at), gpuc_te_read(ctx, t->in[1], 2, step));
    t->num_out = 1;
    t->out[0] = gpuc_te_compute(ctx, "out", 2, axes, gpuc_te_reduce(ctx, "sum", product, 2, sums));
}

/* The sums are computed for as many elements at a time as the loop has iterations. */
static gpuc_iter *elements_of(gpuc_stage *sums, int axis, const gpuc_iter *loop)
{
    int64_t extent = 1;
    gpuc_iter *outer, *inner;
    gpuc_expr_is_int(gpuc_iter_extent(loop), &extent);
    gpuc_stage_split(sums, gpuc_stage_axis(sums, axis), extent, &outer, &inner);
    return inner;
}

/* The order of the sum's steps and of the elements; i stays outside of j. */
static void order_sums(gpuc_knobs *knobs, gpuc_stage *sums, gpuc_iter *elements)
{
    static const int chains[] = {0, 1, 1};
    static const gpuc_reorder_options interleave = {.chains = chains};
    gpuc_iter *loops[] = {elements, gpuc_stage_reduce_axis(sums, 0), gpuc_stage_reduce_axis(sums, 1)},
              *order[3];
    gpuc_knob_reorder(knobs, "order", sums, 3, loops, &interleave, order);
    gpuc_knob_annotate(knobs, "unroll_j", sums, 1, &loops[2], GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_UNROLL, 0);
    gpuc_knob_annotate(knobs, "elements", sums, 1, &elements,
                       GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_VECTORIZE | GPUC_ANNOTATE_UNROLL, 0);
}

static void schedule_for_cpu(gpuc_knobs *knobs, gpuc_stage *out, gpuc_stage *sums)
{
    static const int64_t own[] = {8};
    static const gpuc_split_options tile = {.policy = GPUC_SPLIT_FACTORS, .max_factor = 64, .own = own};
    gpuc_iter *rows = gpuc_stage_axis(out, 0), *x[2];
    gpuc_knob_split(knobs, "tile_x", out, gpuc_stage_axis(out, 1), &tile, 2, x);
    gpuc_knob_annotate(knobs, "rows", out, 1, &rows, GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_PARALLEL, 0);
    gpuc_knob_annotate(knobs, "store", out, 1, &x[1], GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_VECTORIZE, 64);
    gpuc_stage_compute_at(sums, out, x[0]);
    order_sums(knobs, sums, elements_of(sums, 1, x[1]));
}

/* The threads of a group bring the part of the input that they read. */
static void load_together(gpuc_stage *part, gpuc_stage *out, gpuc_iter *block, int64_t threads)
{
    gpuc_iter *step, *thread;
    gpuc_stage_compute_at(part, out, block);
    gpuc_iter *all = gpuc_stage_fuse(part, gpuc_stage_axis(part, 0), gpuc_stage_axis(part, 1));
    gpuc_stage_split(part, all, threads, &step, &thread);
    gpuc_stage_bind(part, thread, "threadIdx.x");
}

static void schedule_for_gpu(gpuc_knobs *knobs, gpuc_stage *out, gpuc_stage *sums, gpuc_stage *part)
{
    static const int64_t own[] = {16};
    static const gpuc_split_options rows = {.policy = GPUC_SPLIT_FACTORS, .max_factor = 16},
                                    threads = {.policy = GPUC_SPLIT_POWER2, .max_factor = 128, .own = own};
    gpuc_iter *y[2], *x[2];
    int64_t width = 1;
    gpuc_knob_split(knobs, "rows", out, gpuc_stage_axis(out, 0), &rows, 2, y);
    gpuc_knob_split(knobs, "threads", out, gpuc_stage_axis(out, 1), &threads, 2, x);
    gpuc_stage_reorder(out, 4, (gpuc_iter *[]){y[0], x[0], x[1], y[1]});
    gpuc_stage_bind(out, y[0], "blockIdx.y");
    gpuc_stage_bind(out, x[0], "blockIdx.x");
    gpuc_stage_bind(out, x[1], "threadIdx.x");
    gpuc_stage_compute_at(sums, out, x[1]);
    gpuc_iter *elements = elements_of(sums, 0, y[1]);
    gpuc_stage_reorder(sums, 4,
                       (gpuc_iter *[]){gpuc_stage_axis(sums, 1), gpuc_stage_reduce_axis(sums, 0),
                                       gpuc_stage_reduce_axis(sums, 1), elements});
    gpuc_knob_annotate(knobs, "elements", sums, 1, &elements, GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_UNROLL, 16);
    gpuc_expr_is_int(gpuc_iter_extent(x[1]), &width);
    if (part) load_together(part, out, x[0], width);
}

static void stencil(gpuc_tune_call *t)
{
    define(t);
    gpuc_schedule *s = t->schedule = gpuc_schedule_create(t->ctx, 1, t->out);
    gpuc_stage *sums = gpuc_schedule_stage(s, gpuc_cache_write(s, t->out[0], "local")), *part = NULL;
    if (gpuc_target_device_type(t->target) == GPUC_DEVICE_CPU) {
        schedule_for_cpu(t->knobs, gpuc_schedule_stage(s, t->out[0]), sums);
        return;
    }
    if (gpuc_knob_choice(t->knobs, "shared", 0, 2))
        part = gpuc_schedule_stage(s, gpuc_cache_read(s, t->in[0], "shared", 1, &sums));
    schedule_for_gpu(t->knobs, gpuc_schedule_stage(s, t->out[0]), sums, part);
}

static const gpuc_attr_spec params[] = {
    {.name = "rows", .kind = GPUC_ATTR_INT, .i = 384},
    {.name = "columns", .kind = GPUC_ATTR_INT, .i = 512},
    {0},
};

const gpuc_tune_template stencil_template = {.name = "example.stencil", .params = params, .body = stencil};
