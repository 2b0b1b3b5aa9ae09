/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules elementwise work: axes along which all tensors are contiguous are fused into one row, which is
 * cut into vectors; rows, or pieces of them, are distributed over threads. */
#include "autoschedule/rules.h"

#include <limits.h>

/* On a CPU: [outer..., row] -> tasks of about a chunk of elements, vectors inside. */
static void cpu(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *outer, gpuc_iter *row, int lanes)
{
    int64_t extent = gpuc_rules_extent(row), rows = gpuc_rules_likely_product(outer != NULL, &outer);
    const gpuc_constants *c = r->constants;
    int64_t tasks = c->injective_tasks + c->injective_tasks_of_core * r->target->num_cores;
    int64_t chunk = extent ? c->injective_chunk : c->injective_open_chunk;
    gpuc_iter *piece, *vector;
    while (extent > 0 && chunk > c->injective_min_vectors * lanes && extent * rows / chunk < tasks)
        chunk /= 2;
    static const int64_t chunks[] = {256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    chunk = gpuc_rules_knob(r, "chunk", chunk, INT64_MAX, sizeof chunks / sizeof *chunks, chunks);
    if (extent > chunk || extent == 0) {
        gpuc_stage_split(st, row, chunk, &piece, &row);
        gpuc_iter *both[] = {outer, piece};
        outer = outer ? gpuc_rules_fuse(st, 2, both) : piece;
    } else if (outer && extent > 0 && rows > tasks && r->kind == GPUC_CLASS_SIMD_CPU && extent * 2 <= chunk) {
        int64_t per_task = chunk / extent;
        while (per_task > 1 && rows / per_task < tasks) per_task /= 2;
        gpuc_iter *inner;
        gpuc_stage_split(st, outer, per_task, &outer, &inner);
    }
    if (lanes > 1 && gpuc_rules_extent(row) >= lanes) {
        gpuc_stage_split(st, row, lanes, &row, &vector);
        gpuc_stage_vectorize(st, vector);
    }
    if (outer) gpuc_rules_spread(r, st, outer);
}

static bool wants_several(const gpuc_rules *r, const gpuc_stage *st)
{
    const gpuc_te_op *op = gpuc_stage_tensor(st, 0)->op;
    if (op->num_axes == 0) return false;
    int lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(op->outputs[0]));
    int64_t row = gpuc_rules_extent(op->axes[op->num_axes - 1]), count = 1;
    for (int i = 0; i < op->num_axes; i++) {
        int64_t extent = gpuc_rules_extent(op->axes[i]);
        count *= extent ? extent : 1;
    }
    return r->target->texel && lanes > 1 && op->num_outputs == 1 && gpuc_rules_contiguous_axes(r, op) == 1 &&
           row > 0 && row % (r->constants->injective_several * lanes) == 0 &&
           count >= r->constants->injective_many;
}

/* Loads several vectors before the first is stored, where loads through texels are calls that wait for
 * memory. The row is one axis of the output. */
static void several_vectors(const gpuc_rules *r, gpuc_stage *st, int lanes)
{
    gpuc_tensor *copy = gpuc_cache_write(r->s, gpuc_stage_tensor(st, 0), "local");
    gpuc_stage *loads = gpuc_schedule_stage(r->s, copy);
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *loops[64], *piece, *vector;
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(st, i);
    gpuc_stage_split(st, loops[n - 1], r->constants->injective_several * lanes, &loops[n - 1], &piece);
    gpuc_stage_split(st, piece, lanes, &piece, &vector);
    gpuc_stage_unroll(st, piece);
    gpuc_stage_vectorize(st, vector);
    gpuc_stage_compute_at(loads, st, gpuc_rules_spread(r, st, gpuc_rules_fuse(st, n, loops)));
    gpuc_stage_split(loads, gpuc_stage_axis(loads, n - 1), lanes, &piece, &vector);
    gpuc_stage_unroll(loads, piece);
    gpuc_stage_vectorize(loads, vector);
}

/* On a CPU, many rows shorter than a vector (pixels): the innermost loop around them stays a loop, so that what depends
 * on the loops outside of it is computed there. Returns false, having changed nothing, where those are too few. */
static bool short_rows(const gpuc_rules *r, gpuc_stage *st, int n, gpuc_iter *const *outer,
                       const gpuc_iter *row, int lanes)
{
    const gpuc_constants *c = r->constants;
    int64_t extent = gpuc_rules_extent(row);
    int64_t tasks = c->injective_tasks + c->injective_tasks_of_core * r->target->num_cores;
    if (n < 2 || extent == 0 || extent >= lanes || gpuc_rules_likely_product(n - 1, outer) < tasks)
        return false;
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, n - 1, outer));
    return true;
}

/* max: of the last axes that may be one row. */
static void in_step(const gpuc_rules *r, gpuc_stage *st, int max)
{
    const gpuc_tensor *t = gpuc_stage_tensor(st, 0);
    int n = gpuc_stage_num_leaves(st), inner = gpuc_rules_contiguous_axes(r, t->op);
    gpuc_iter *loops[64], *vector;
    if (n == 0) return;
    if (inner > max) inner = max;
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_leaf(st, i);
    gpuc_iter *row = gpuc_rules_fuse(st, inner, loops + n - inner);
    int lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(t));
    if (r->kind != GPUC_CLASS_GPU && short_rows(r, st, n - inner, loops, row, lanes)) return;
    gpuc_iter *outer = gpuc_rules_fuse(st, n - inner, loops);
    if (r->kind != GPUC_CLASS_GPU) {
        cpu(r, st, outer, row, lanes);
        return;
    }
    bool whole = gpuc_rules_extent(row) > 0 && gpuc_rules_extent(row) % lanes == 0,
         open = gpuc_iter_extent(row)->kind != GPUC_EXPR_INT,
         on_lanes = gpuc_target_lanes_are_threads(r->target);
    bool odd = !outer && on_lanes && gpuc_rules_extent(row) > lanes;
    /* Rows of any length may start inside of a vector; then neighbouring threads should load neighbouring
     * elements. But the number of the row takes divisions, which several elements per thread share. */
    if (lanes > 1 && (whole || odd || (open && (!outer || on_lanes)))) {
        gpuc_stage_split(st, row, lanes, &row, &vector);
        gpuc_stage_vectorize(st, vector);
    }
    gpuc_iter *both[] = {outer, row};
    gpuc_rules_spread(r, st, outer ? gpuc_rules_fuse(st, 2, both) : row);
}

void gpuc_rules_injective(const gpuc_rules *r, gpuc_stage *st)
{
    if (!gpuc_rules_transpose(r, st)) in_step(r, st, INT_MAX);
}

void gpuc_rules_injective_output(const gpuc_rules *r, gpuc_stage *st)
{
    if (gpuc_rules_transpose(r, st)) return;
    if (wants_several(r, st))
        several_vectors(r, st, gpuc_target_lanes(r->target, gpuc_te_dtype(gpuc_stage_tensor(st, 0))));
    else
        in_step(r, st, INT_MAX);
}

bool gpuc_rules_is_image(const gpuc_tensor *t)
{
    return gpuc_te_get_attr(t, "image") != NULL;
}

void gpuc_rules_image(const gpuc_rules *r, gpuc_stage *st)
{
    gpuc_iter *pixel[] = {gpuc_stage_leaf(st, 0), gpuc_stage_leaf(st, 1)};
    gpuc_stage_vectorize(st, gpuc_stage_leaf(st, 2));
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, 2, pixel));
}

/* Computes the last vector of a row as a whole; elements beyond the row are not used. phases: a vector of each row of the
 * last axis but one, which are from the same vectors of the input. */
static void whole_vectors(const gpuc_rules *r, gpuc_stage *st, int lanes, bool phases)
{
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *loops[64], *vector;
    const char *layout = "";
    for (int i = 0; i < n; i++) {
        layout = gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + i);
        loops[i] = gpuc_stage_axis(st, i);
    }
    gpuc_stage_transform_layout(st, gpuc_ctx_printf(r->ctx, "%s%d%c", layout, lanes, 'a' + n - 1));
    gpuc_stage_round_up(st);
    gpuc_stage_split(st, loops[n - 1], lanes, &loops[n - 1], &vector);
    gpuc_stage_vectorize(st, vector);
    if (phases) {
        gpuc_iter *order[] = {loops[n - 1], loops[n - 2], vector};
        gpuc_stage_reorder(st, 3, order);
        gpuc_stage_unroll(st, loops[n - 2]);
        loops[n - 2] = loops[n - 1];
        n--;
    }
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, n, loops));
}

void gpuc_rules_copy_rows(const gpuc_rules *r, gpuc_stage *st)
{
    int n = gpuc_stage_num_axes(st),
        lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(gpuc_stage_tensor(st, 0)));
    bool wide = r->kind == GPUC_CLASS_GPU && n > 1 && lanes > 1 &&
                gpuc_rules_extent(gpuc_stage_axis(st, n - 1)) >= lanes,
         phases = wide && r->target->texel && gpuc_rules_has_phases(r, st);
    bool moved = !phases && gpuc_rules_transpose(r, st);
    if (wide && !moved) {
        whole_vectors(r, st, lanes, phases);
        return;
    }
    /* rows that fill less than half of a vector, such as the channels of a pixel, lie together */
    bool aligned = n > 1 && lanes > 1 && 2 * gpuc_rules_extent(gpuc_stage_axis(st, n - 1)) >= lanes;
    if (aligned) gpuc_stage_storage_align(st, n - 2, lanes, 0);
    if (!moved) in_step(r, st, aligned && r->kind != GPUC_CLASS_GPU ? 1 : INT_MAX);
}
