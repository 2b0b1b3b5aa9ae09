/* SPDX-License-Identifier: Apache-2.0 */
/* Has what several schedule rules need: knobs, products of extents, thread bindings, facts about tensors. */
#include "autoschedule/rules.h"
#include "tir/intern.h"

#include <string.h>

gpuc_rules gpuc_rules_of(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs)
{
    return (gpuc_rules){.ctx = ctx,
                        .target = target,
                        .knobs = knobs,
                        .kind = gpuc_target_classify(target),
                        .constants = target->constants};
}

int64_t gpuc_rules_knob(const gpuc_rules *r, const char *name, int64_t own, int64_t max, int n,
                        const int64_t *candidates)
{
    enum { MAX = 32 };
    int64_t list[MAX];
    int count = 0;
    for (int i = 0; i < n && count < MAX; i++)
        if (candidates[i] <= max) list[count++] = candidates[i];
    return gpuc_knob(r->knobs, name, own, count, list);
}

int64_t gpuc_rules_divisor_knob(const gpuc_rules *r, const char *name, int64_t own, int64_t max,
                                int64_t extent)
{
    enum { MAX = 32 };
    int64_t list[MAX];
    int count = 0;
    for (int64_t i = 1; i <= max && i <= extent && count < MAX; i++)
        if (extent % i == 0) list[count++] = i;
    return gpuc_knob(r->knobs, name, own, count, list);
}

int64_t gpuc_rules_extent(const gpuc_iter *iter)
{
    int64_t n;
    return gpuc_expr_is_int(gpuc_iter_extent(iter), &n) ? n : 0;
}

static int64_t product(int n, gpuc_iter *const *iters, int64_t symbolic)
{
    int64_t count = 1, extent;
    for (int i = 0; i < n; i++) {
        if (!gpuc_expr_is_int(gpuc_iter_extent(iters[i]), &extent)) extent = symbolic;
        if (extent <= 0 || count > INT64_MAX / extent) return 0;
        count *= extent;
    }
    return count;
}

int64_t gpuc_rules_product(int n, gpuc_iter *const *iters)
{
    return product(n, iters, 0);
}

int64_t gpuc_rules_likely_product(int n, gpuc_iter *const *iters)
{
    return product(n, iters, GPUC_COMMON_symbolic);
}

gpuc_iter *gpuc_rules_fuse(gpuc_stage *st, int n, gpuc_iter *const *loops)
{
    gpuc_iter *out = n ? loops[0] : NULL;
    for (int i = 1; i < n; i++) out = gpuc_stage_fuse(st, out, loops[i]);
    return out;
}

/* Groups of whole subgroups without a tail, if there are such that are not much smaller: the driver tests for each lane of each access whether it is in a tail, and compiles that for long. */
static int64_t even_groups(const gpuc_rules *r, int64_t extent, int64_t threads)
{
    int64_t step = r->target->thread_warp_size;
    for (int64_t t = threads / step * step; extent > 0 && t > 0 && t >= threads / r->constants->spread_even;
         t -= step)
        if (extent % t == 0) return t;
    return threads;
}

gpuc_iter *gpuc_rules_spread(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *loop)
{
    gpuc_iter *block, *thread;
    const gpuc_constants *c = r->constants;
    int64_t threads = c->spread_threads, extent = gpuc_rules_extent(loop);
    switch (r->kind) {
    case GPUC_CLASS_C: gpuc_stage_parallel(st, loop); return loop;
    case GPUC_CLASS_SIMD_CPU: gpuc_stage_bind(st, loop, "blockIdx.x"); return loop;
    case GPUC_CLASS_GPU: break;
    }
    if (extent >= c->spread_many && r->target->max_num_threads >= c->spread_many_threads)
        threads = c->spread_many_threads;
    while (extent > 0 && threads / 2 >= extent && threads > c->spread_min_threads) threads /= 2;
    static const int64_t sizes[] = {8, 16, 32, 64, 128, 256, 512, 1024};
    int64_t max = r->target->max_num_threads;
    if (r->target->max_threads_x < max) max = r->target->max_threads_x;
    if (threads > max) threads = max;
    if (gpuc_target_lanes_are_threads(r->target)) threads = even_groups(r, extent, threads);
    threads = gpuc_rules_knob(r, "threads", threads, max, sizeof sizes / sizeof *sizes, sizes);
    gpuc_stage_split(st, loop, threads, &block, &thread);
    gpuc_stage_bind(st, block, "blockIdx.x");
    gpuc_stage_bind(st, thread, "threadIdx.x");
    return thread;
}

static const char channels_last[] = "_nsc";

gpuc_rules_tag gpuc_rules_tag_of(const gpuc_tensor *t)
{
    static const char *const names[GPUC_TAG_COUNT] = {
        [GPUC_TAG_CONV] = "conv",
        [GPUC_TAG_DEPTHWISE] = "depthwise",
        [GPUC_TAG_WINDOW] = "window",
        [GPUC_TAG_MATMUL] = "matmul",
        [GPUC_TAG_PAD] = "pad",
        [GPUC_TAG_TABLE] = "table",
        [GPUC_TAG_SHARED_TABLE] = "shared_table",
        [GPUC_TAG_WINOGRAD_DATA] = "winograd_data",
        [GPUC_TAG_WINOGRAD_PART] = "winograd_part",
        [GPUC_TAG_WINOGRAD] = "winograd",
    };
    const char *text = gpuc_te_get_attr(t, "tag");
    for (int tag = GPUC_TAG_NONE + 1; text && tag < GPUC_TAG_COUNT; tag++) {
        size_t n = strlen(names[tag]);
        if (!strncmp(text, names[tag], n) && (!text[n] || !strcmp(text + n, channels_last)))
            return (gpuc_rules_tag)tag;
    }
    return GPUC_TAG_NONE;
}

bool gpuc_rules_channels_last(const gpuc_tensor *t)
{
    const char *text = gpuc_te_get_attr(t, "tag");
    return text && strstr(text, channels_last);
}

bool gpuc_rules_is_matmul(const gpuc_tensor *t)
{
    return gpuc_rules_tag_of(t) == GPUC_TAG_MATMUL && !gpuc_rules_channels_last(t);
}

bool gpuc_rules_is_inlined(gpuc_target_class kind, const gpuc_te_op *op)
{
    if (op->kind != GPUC_TE_COMPUTE || op->num_reduce) return false;
    gpuc_rules_tag tag = gpuc_rules_tag_of(op->outputs[0]);
    if (tag == GPUC_TAG_SHARED_TABLE) return kind == GPUC_CLASS_GPU;
    return tag != GPUC_TAG_PAD && tag != GPUC_TAG_TABLE && !gpuc_rules_winograd_part(op);
}

bool gpuc_rules_is_axis(gpuc_expr index, const gpuc_iter *axis)
{
    return index == axis->var || (gpuc_tir_is_const(index, 0) && gpuc_tir_is_const(axis->extent, 1));
}

typedef struct contiguity {
    const gpuc_rules *r;
    gpuc_map *known; /* op -> contiguity */
    const gpuc_te_op *op;
    int axes;
} contiguity;

static int contiguous_axes(const gpuc_rules *r, gpuc_map *known, const gpuc_te_op *op);

/* How many of the last dimensions of a read are in step with the last axes, behind numbers if there are any. */
static int axes_in_step(const gpuc_tir_read_node *read, const gpuc_te_op *op)
{
    int numbers = 0, n = 0;
    int64_t number;
    while (numbers < read->n &&
           !gpuc_rules_is_axis(read->index[read->n - 1 - numbers], op->axes[op->num_axes - 1]) &&
           gpuc_expr_is_int(read->index[read->n - 1 - numbers], &number))
        numbers++;
    while (numbers + n < read->n && n < op->num_axes &&
           gpuc_rules_is_axis(read->index[read->n - 1 - numbers - n], op->axes[op->num_axes - 1 - n]))
        n++;
    return n;
}

typedef struct direct_use {
    const gpuc_rules *r;
    const gpuc_te_op *op;
    gpuc_map seen;
    int absent; /* of the last axes */
} direct_use;

static void note_use(direct_use *d, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_READ || gpuc_map_has(&d->seen, e)) return;
    gpuc_map_set(&d->seen, e, (void *)e);
    for (int i = 0; e->kind == GPUC_EXPR_VAR && i < d->absent; i++)
        if (d->op->axes[d->op->num_axes - 1 - i]->var == e) d->absent = i;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(d->r->ctx, e, &operands);
    for (int i = 0; i < operands.n; i++) note_use(d, operands.at[i]);
}

/* How many of the last axes does a read not depend on, but through what it reads elsewhere? */
static int absent_axes(const gpuc_rules *r, const gpuc_tir_read_node *read, const gpuc_te_op *op)
{
    direct_use d = {.r = r, .op = op, .absent = op->num_axes};
    gpuc_map_init(&d.seen, r->ctx);
    for (int i = 0; i < read->n; i++) note_use(&d, read->index[i]);
    return d.absent;
}

static bool limit_axes(gpuc_expr e, void *arg)
{
    contiguity *c = arg;
    int n = c->op->num_axes;
    if (e->kind != GPUC_EXPR_READ || n == 0) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    const gpuc_te_op *in = read->tensor->op;
    int in_step = axes_in_step(read, c->op), absent = absent_axes(c->r, read, c->op);
    bool whole = in_step == read->n && in_step == n, inlined = gpuc_rules_is_inlined(c->r->kind, in);
    int axes = in_step > absent ? in_step : absent;
    if (inlined && !whole && axes < n && axes > 1) axes = 1; /* its own reads are not in step with ours */
    if (inlined && whole) {
        int below = contiguous_axes(c->r, c->known, in);
        if (below < axes) axes = below;
    }
    if (axes < c->axes) c->axes = axes;
    return true;
}

static int contiguous_axes(const gpuc_rules *r, gpuc_map *known, const gpuc_te_op *op)
{
    contiguity *c = gpuc_map_get(known, op);
    if (c) return c->axes;
    c = gpuc_new(r->ctx, contiguity);
    *c = (contiguity){.r = r, .known = known, .op = op, .axes = op->num_axes};
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(r->ctx, op->bodies[i], limit_axes, c);
    if (c->axes < 1 && op->num_axes > 0) c->axes = 1;
    gpuc_map_set(known, op, c);
    return c->axes;
}

int gpuc_rules_contiguous_axes(const gpuc_rules *r, const gpuc_te_op *op)
{
    gpuc_map known;
    gpuc_map_init(&known, r->ctx);
    return contiguous_axes(r, &known, op);
}

void gpuc_rules_compute_in_registers(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *at, int lanes)
{
    gpuc_stage_compute_at(st, parent, at);
    gpuc_stage_set_scope(st, "local");
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *last = gpuc_stage_axis(st, n - 1), *vector;
    for (int i = 0; i < n - 1; i++) gpuc_stage_unroll(st, gpuc_stage_axis(st, i));
    gpuc_stage_split(st, last, lanes, &last, &vector);
    gpuc_stage_unroll(st, last);
    gpuc_stage_vectorize(st, vector);
}

gpuc_stage *gpuc_rules_load_to_registers(const gpuc_rules *r, gpuc_stage *reader, gpuc_tensor *operand,
                                         gpuc_stage *parent, gpuc_iter *at, int lanes)
{
    gpuc_tensor *copy = gpuc_cache_read(r->s, operand, "local", 1, &reader);
    gpuc_stage *st = gpuc_schedule_stage(r->s, copy);
    gpuc_rules_compute_in_registers(st, parent, at, lanes);
    return st;
}

bool gpuc_rules_starts_rows_at_vectors(gpuc_tensor *t, int lanes)
{
    int n = gpuc_te_ndim(t);
    int64_t length;
    return t->op->kind == GPUC_TE_COMPUTE ||
           (gpuc_expr_is_int(gpuc_te_shape(t)[n - 1], &length) && length % lanes == 0);
}

typedef struct find_axis {
    const gpuc_tensor *of;
    const gpuc_iter *axis;
    int at; /* -1: not found */
} find_axis;

static bool note_axis(gpuc_expr e, void *arg)
{
    find_axis *f = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    for (int i = 0; read->tensor == f->of && i < read->n; i++)
        if (gpuc_rules_is_axis(read->index[i], f->axis)) f->at = i;
    return true;
}

int gpuc_rules_dimension_of(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_tensor *operand,
                            const gpuc_iter *axis)
{
    find_axis f = {.of = operand, .axis = axis, .at = -1};
    gpuc_tir_visit(r->ctx, op->bodies[0], note_axis, &f);
    return f.at;
}

int gpuc_rules_panels(const gpuc_rules *r, gpuc_stage *copy, int across, int along, int64_t width,
                      int64_t steps, gpuc_iter **order)
{
    const char *layout = "";
    int m = 0, n = gpuc_stage_num_axes(copy);
    for (int i = 0; i < n; i++) {
        if (i == across || i == along) continue;
        layout = gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + i);
        order[m++] = gpuc_stage_axis(copy, i);
    }
    layout = gpuc_ctx_printf(r->ctx, "%s%c%c%lld%c", layout, 'A' + across, 'A' + along, (long long)width,
                             'a' + across);
    if (steps > 1) layout = gpuc_ctx_printf(r->ctx, "%s%lld%c", layout, (long long)steps, 'a' + along);
    gpuc_stage_transform_layout(copy, layout);
    return m;
}
