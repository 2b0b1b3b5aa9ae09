/* SPDX-License-Identifier: Apache-2.0 */
/* A stencil in two steps, across and down, whose schedule leaves tiles, order, vectors, and the place of the first step
 * to the tuner. */
#include "blur.h"

/* (t[y][x] + t[y + down][x + across] + t[y + 2 down][x + 2 across]) / 3 */
static gpuc_tensor *mean_of_three(gpuc_ctx *ctx, gpuc_tensor *t, const char *name, int64_t rows,
                                  int64_t columns, int down, int across)
{
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, gpuc_int(ctx, rows), "y"),
                         gpuc_te_axis(ctx, gpuc_int(ctx, columns), "x")};
    gpuc_expr sum = NULL;
    for (int i = 0; i < 3; i++) {
        gpuc_expr at[] = {gpuc_add(ctx, gpuc_iter_var(axes[0]), gpuc_int(ctx, i * down)),
                          gpuc_add(ctx, gpuc_iter_var(axes[1]), gpuc_int(ctx, i * across))};
        gpuc_expr element = gpuc_te_read(ctx, t, 2, at);
        sum = sum ? gpuc_add(ctx, sum, element) : element;
    }
    gpuc_expr third = gpuc_imm(ctx, GPUC_FLOAT32, 1.0 / 3);
    return gpuc_te_compute(ctx, name, 2, axes, gpuc_mul(ctx, sum, third));
}

/* Where the first step is computed: as a whole before, at a loop of the second one, or in its body. */
static void place(gpuc_knobs *knobs, gpuc_stage *first, gpuc_stage *second, int n, gpuc_iter *const *loops)
{
    int at = gpuc_knob_choice(knobs, "first_step", 0, n + 2);
    if (at == 1) gpuc_stage_compute_inline(first);
    if (at > 1) gpuc_stage_compute_at(first, second, loops[at - 2]);
}

static void schedule_for_cpu(gpuc_knobs *knobs, gpuc_stage *first, gpuc_stage *second)
{
    static const gpuc_split_options tile = {.policy = GPUC_SPLIT_VERBOSE, .max_factor = 256};
    gpuc_iter *y[2], *x[2], *order[3];
    gpuc_knob_split(knobs, "tile_y", second, gpuc_stage_axis(second, 0), &tile, 2, y);
    gpuc_knob_split(knobs, "tile_x", second, gpuc_stage_axis(second, 1), &tile, 2, x);
    gpuc_knob_reorder(knobs, "order", second, 3, (gpuc_iter *[]){y[0], y[1], x[0]}, NULL, order);
    gpuc_knob_annotate(knobs, "outer", second, 1, order, GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_PARALLEL, 0);
    gpuc_knob_annotate(knobs, "inner", second, 1, &x[1],
                       GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_VECTORIZE | GPUC_ANNOTATE_UNROLL, 32);
    place(knobs, first, second, 2, order);
}

static void bind_plainly(gpuc_stage *stage)
{
    gpuc_iter *block, *thread;
    gpuc_stage_split(stage, gpuc_stage_axis(stage, 1), 16, &block, &thread);
    gpuc_stage_bind(stage, gpuc_stage_axis(stage, 0), "blockIdx.y");
    gpuc_stage_bind(stage, block, "blockIdx.x");
    gpuc_stage_bind(stage, thread, "threadIdx.x");
}

static void schedule_for_gpu(gpuc_knobs *knobs, gpuc_stage *first, gpuc_stage *second)
{
    static const int64_t own_threads[] = {16};
    static const gpuc_split_options rows = {.policy = GPUC_SPLIT_FACTORS, .max_factor = 32},
                                    threads = {.policy = GPUC_SPLIT_POWER2, .max_factor = 128, .own = own_threads};
    gpuc_iter *y[2], *x[2];
    gpuc_knob_split(knobs, "rows", second, gpuc_stage_axis(second, 0), &rows, 2, y);
    gpuc_knob_split(knobs, "threads", second, gpuc_stage_axis(second, 1), &threads, 2, x);
    gpuc_stage_reorder(second, 4, (gpuc_iter *[]){y[0], x[0], x[1], y[1]});
    gpuc_stage_bind(second, y[0], "blockIdx.y");
    gpuc_stage_bind(second, x[0], "blockIdx.x");
    gpuc_stage_bind(second, x[1], "threadIdx.x");
    gpuc_knob_annotate(knobs, "unroll", second, 1, &y[1], GPUC_ANNOTATE_NONE | GPUC_ANNOTATE_UNROLL, 16);
    place(knobs, first, second, 1, &x[1]);
    if (gpuc_stage_get(first).attach == GPUC_ATTACH_ROOT) bind_plainly(first);
}

static void blur(gpuc_tune_call *t)
{
    gpuc_ctx *ctx = t->ctx;
    int64_t rows = gpuc_attrs_get_int(t->params, "rows", 0), columns = gpuc_attrs_get_int(t->params, "columns", 0);
    gpuc_expr shape[] = {gpuc_int(ctx, rows + 2), gpuc_int(ctx, columns + 2)};
    gpuc_tensor *in = gpuc_te_placeholder(ctx, "in", 2, shape, GPUC_FLOAT32);
    gpuc_tensor *across = mean_of_three(ctx, in, "across", rows + 2, columns, 0, 1);
    gpuc_tensor *out = mean_of_three(ctx, across, "out", rows, columns, 1, 0);
    t->num_in = t->num_out = 1;
    t->in[0] = in;
    t->out[0] = out;

    t->schedule = gpuc_schedule_create(ctx, 1, &out);
    gpuc_stage *first = gpuc_schedule_stage(t->schedule, across), *second = gpuc_schedule_stage(t->schedule, out);
    if (gpuc_target_device_type(t->target) == GPUC_DEVICE_CPU)
        schedule_for_cpu(t->knobs, first, second);
    else
        schedule_for_gpu(t->knobs, first, second);
}

static const gpuc_attr_spec params[] = {
    {.name = "rows", .kind = GPUC_ATTR_INT, .i = 768},
    {.name = "columns", .kind = GPUC_ATTR_INT, .i = 1024},
    {0},
};

const gpuc_tune_template blur_template = {.name = "example.blur", .params = params, .body = blur};
