/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the shape of an output that tiles are cut from. */
#include "arith/arith.h"
#include "autoschedule/tile/tile.h"

/* A number that an extent known only at run time is a multiple of. */
static int64_t step_of(const gpuc_rules *r, gpuc_expr extent)
{
    gpuc_analyzer *a = gpuc_arith_analyzer_create(r->ctx);
    int64_t step = 16; /* the longest vector of any target */
    while (step > 1 && !gpuc_arith_prove_equal(a, gpuc_floormod_(r->ctx, extent, gpuc_int(r->ctx, step)),
                                               gpuc_int(r->ctx, 0)))
        step /= 2;
    return step;
}

static int64_t rows_of_group(const gpuc_tensor *conv, int64_t rows)
{
    int64_t channels, in_group = gpuc_rules_extent(conv->op->reduce[0]);
    if (!gpuc_expr_is_int(gpuc_te_shape(conv->op->inputs[0])[1], &channels) || in_group == 0) return 1;
    return channels == in_group ? 0 : rows / (channels / in_group);
}

static void find_axes(const gpuc_tensor *reduction, int n, gpuc_tile_shape *s)
{
    gpuc_rules_tag tag = gpuc_rules_tag_of(reduction);
    bool last = gpuc_rules_channels_last(reduction);
    s->conv = tag == GPUC_TAG_CONV && !last;
    s->matmul = tag == GPUC_TAG_MATMUL && !last;
    s->depthwise = (tag == GPUC_TAG_DEPTHWISE && !last) || tag == GPUC_TAG_WINDOW;
    s->product = tag == GPUC_TAG_MATMUL && last;
    s->taps = tag == GPUC_TAG_DEPTHWISE && last;
    s->channels_last = s->taps || s->product || (tag == GPUC_TAG_CONV && last);
    s->row_axis = s->conv || s->depthwise ? 1 : n - 2;
    s->line_axis = n <= 3 || s->matmul || s->product ? -1 : s->channels_last ? n - 3 : n - 2;
}

/* Rows of one element follow the next axis out that the columns do not depend on: all of its rows share them. */
static void pass_single_rows(const gpuc_rules *r, const gpuc_tensor *reduction, gpuc_tile_shape *s)
{
    const gpuc_te_op *op = reduction->op;
    while (s->product && s->row_axis > 0 && gpuc_rules_extent(op->axes[s->row_axis]) == 1 &&
           gpuc_rules_dimension_of(r, op, op->inputs[1], op->axes[s->row_axis - 1]) < 0)
        s->row_axis--;
}

/* Tiles for an extent that is not known have guards. */
static bool find_extents(const gpuc_rules *r, const gpuc_tensor *reduction, int n, gpuc_tile_shape *s)
{
    for (int i = 0; i < n; i++) {
        bool tiled = i == n - 1 || i == s->row_axis || i == s->line_axis;
        int64_t d = tiled ? GPUC_COMMON_symbolic : 1;
        bool known = gpuc_expr_is_int(gpuc_te_shape(reduction)[i], &d);
        if (known && d < 1) return false;
        if (i == n - 1) {
            s->row_length = d;
            s->open = !known;
            s->step = known ? 1 : step_of(r, gpuc_te_shape(reduction)[i]);
        } else if (i == s->row_axis) {
            s->rows = d;
        } else if (i == s->line_axis) {
            s->lines = d;
        } else {
            s->others *= d;
        }
    }
    return true;
}

/* How many lines of the data the windows of neighbouring lines share: the window's extent along lines. */
static int64_t window_lines(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tile_shape *s)
{
    int n = reduction->op->num_reduce;
    if (!s->depthwise || s->line_axis < 0 || n < 2 || r->kind == GPUC_CLASS_GPU) return 0;
    int64_t lines = gpuc_rules_extent(reduction->op->reduce[n - 2]);
    return lines > 1 && lines <= r->constants->tile_window ? lines : 0;
}

/* Whether what it reads and writes is known to have more bytes than the last level of the target's caches. */
static bool exceeds_caches(const gpuc_rules *r, const gpuc_tensor *reduction)
{
    double bytes = 0, max = (double)r->target->last_level_cache;
    for (int i = -1; i < reduction->op->num_inputs; i++) {
        const gpuc_tensor *t = i < 0 ? reduction : reduction->op->inputs[i];
        double size = (double)gpuc_dtype_bytes(gpuc_te_dtype(t));
        for (int k = 0; k < gpuc_te_ndim(t); k++) {
            int64_t extent = 0;
            size *= gpuc_expr_is_int(gpuc_te_shape(t)[k], &extent) ? (double)extent : 0;
        }
        bytes += size;
    }
    return max > 0 && bytes > max;
}

static bool check_index(gpuc_expr e, void *arg)
{
    const gpuc_te_op **pad = arg; /* NULL: an element is from another place */
    if (e->kind != GPUC_EXPR_READ || !*pad) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    for (int i = 0; i < read->n && *pad; i++)
        if (read->n != (*pad)->num_axes || !gpuc_rules_is_axis(read->index[i], (*pad)->axes[i])) *pad = NULL;
    return true;
}

/* Whether it reads a copy that differs from its source beyond the end only: rounded-up rows read these elements. */
static bool reads_rounded_copy(const gpuc_rules *r, const gpuc_te_op *op)
{
    bool any = false;
    for (int i = 0; i < op->num_inputs; i++) {
        const gpuc_te_op *in = op->inputs[i]->op;
        if (in->kind != GPUC_TE_COMPUTE || gpuc_rules_tag_of(op->inputs[i]) != GPUC_TAG_PAD) continue;
        gpuc_tir_visit(r->ctx, in->bodies[0], check_index, &in);
        any |= in != NULL;
    }
    return any;
}

/* Whether padding costs less in registers than as a copy in memory: short windows of rows of whole vectors. */
static bool pads_in_registers(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tile_shape *s)
{
    const gpuc_te_op *op = reduction->op;
    int lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    int64_t width;
    if (!s->depthwise || !r->target->texel || !gpuc_target_lanes_are_threads(r->target) || lanes < 2)
        return false;
    const gpuc_te_op *pad = op->inputs[0]->op;
    if (pad->kind != GPUC_TE_COMPUTE || gpuc_rules_tag_of(op->inputs[0]) != GPUC_TAG_PAD ||
        pad->num_inputs != 1)
        return false;
    const gpuc_tensor *from = pad->inputs[0];
    if (from->op->kind != GPUC_TE_PLACEHOLDER || gpuc_te_ndim(from) < 2) return false;
    for (int i = 0; i < op->num_reduce; i++)
        if (gpuc_rules_extent(op->reduce[i]) > r->constants->tile_padded_window) return false;
    return gpuc_expr_is_int(gpuc_te_shape(from)[gpuc_te_ndim(from) - 1], &width) && width % lanes == 0;
}

bool gpuc_rules_tile_find_shape(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out,
                                gpuc_tile_shape *s)
{
    int n = gpuc_te_ndim(out);
    *s = (gpuc_tile_shape){.rows = 1, .lines = 1, .others = 1};
    find_axes(reduction, n, s);
    s->line_vectors = s->conv || s->depthwise;
    s->stream = s->channels_last;
    if ((!s->conv && !s->depthwise && !s->matmul && !s->channels_last) || n < 1) return false;
    if (s->matmul && gpuc_te_ndim(reduction) != n) return false;
    if (gpuc_te_ndim(reduction) == n) pass_single_rows(r, reduction, s);
    if (!find_extents(r, reduction, n, s)) return false;
    if (s->matmul && s->rows == 1 && gpuc_target_lanes_are_threads(r->target))
        return false; /* no reuse to gain from */
    if (!gpuc_expr_is_int(gpuc_te_shape(out)[n - 1], &s->used)) s->used = s->row_length;
    s->window = window_lines(r, reduction, s);
    s->past_caches = exceeds_caches(r, reduction);
    s->inside = gpuc_rules_tile_shifts(r, s) && reads_rounded_copy(r, reduction->op) &&
                s->used >= gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    s->packs = s->matmul && n > 1 && s->rows >= r->constants->tile_often && reduction->op->num_inputs == 2;
    if (s->conv) s->group = rows_of_group(reduction, s->rows);
    s->pads = pads_in_registers(r, reduction, s);
    return true;
}

bool gpuc_rules_tile_pads(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    gpuc_tile_shape s;
    return gpuc_rules_tile_find_shape(r, reduction, out, &s) && s.pads;
}

bool gpuc_rules_tile_stays_inside(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    gpuc_tile_shape s;
    return r->kind != GPUC_CLASS_GPU && gpuc_rules_tile_find_shape(r, reduction, out, &s) && s.inside;
}
