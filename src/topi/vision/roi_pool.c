/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling of regions of interest: data [N, C, H, W] or [N, H, W, C], rois [R, 4] (x1, y1, x2, y2), the image of each
 * [R]. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"
#include "topi/parallel.h"
#include "target/target.h"

typedef struct roi_attrs {
    gpuc_topi_layout at;     /* of the data and the result */
    gpuc_expr height, width; /* of the data */
    int64_t rows, columns;   /* of the result */
    double scale;
} roi_attrs;

static roi_attrs attrs_of(const gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0], *rois = &call->in[1], *image = &call->in[2];
    if (data->ndim != 4) gpuc_topi_fail(call, "takes data of 4 dimensions, not %d", data->ndim);
    if (rois->ndim != 2 || gpuc_topi_static_dim(call, 1, 1) != 4)
        gpuc_topi_fail(call, "rois must be [number, 4]");
    if (image->ndim != 1) gpuc_topi_fail(call, "the images of the rois must be a list");
    gpuc_expr num = rois->dims[0], images = image->dims[0];
    if (num && images && num != images)
        gpuc_topi_require(call, gpuc_eq(call->ctx, num, images), "%s rois, %s images of them",
                          gpuc_expr_text(call->ctx, num), gpuc_expr_text(call->ctx, images));
    const int64_t *size = gpuc_topi_ints(call, "pooled_size", 2);
    gpuc_topi_layout layout = gpuc_topi_layout_of(call, data->ndim);
    roi_attrs r = {.at = layout,
                   .height = data->dims[layout.space],
                   .width = data->dims[layout.space + 1],
                   .rows = size[0],
                   .columns = size[1],
                   .scale = gpuc_attrs_get_float(call->attrs, "spatial_scale", 1)};
    if (r.rows < 1 || r.columns < 1)
        gpuc_topi_fail(call, "pooled_size is %lld, %lld", (long long)r.rows, (long long)r.columns);
    gpuc_expr some = gpuc_imm_int(call->ctx, GPUC_BOOL, 1), extents[] = {data->dims[0], r.height, r.width};
    for (int i = 0; i < 3; i++)
        if (extents[i])
            some = gpuc_and(call->ctx, some, gpuc_ge(call->ctx, extents[i], gpuc_int(call->ctx, 1)));
    gpuc_topi_require(call, some, "the data has no elements");
    return r;
}

static void infer_pooled(gpuc_op_call *call, const roi_attrs *r)
{
    gpuc_expr dims[] = {call->in[1].dims[0], call->in[0].dims[r->at.channel], gpuc_int(call->ctx, r->rows),
                        gpuc_int(call->ctx, r->columns)};
    gpuc_topi_to_layout(r->at, 4, dims);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 4, dims);
}

/* The number of an image, kept inside of the batch. */
static gpuc_expr inside(const gpuc_op_call *call, gpuc_expr image)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr last = gpuc_sub(ctx, call->in[0].dims[0], gpuc_int(ctx, 1));
    return gpuc_topi_par_clamp(ctx, gpuc_cast(ctx, GPUC_INDEX, image), gpuc_int(ctx, 0), last);
}

static gpuc_expr image_of(const gpuc_op_call *call, gpuc_tensor *images, gpuc_expr roi)
{
    return inside(call, gpuc_te_read(call->ctx, images, 1, &roi));
}

static gpuc_expr real(const gpuc_op_call *call, double v)
{
    return gpuc_imm(call->ctx, gpuc_topi_accumulator(call->in[0].dtype), v);
}

static gpuc_expr corner(const gpuc_op_call *call, gpuc_tensor *rois, gpuc_expr roi, int which)
{
    gpuc_expr at[] = {roi, gpuc_int(call->ctx, which)};
    return gpuc_topi_widen(call->ctx, gpuc_te_read(call->ctx, rois, 2, at));
}

static gpuc_expr real_of(const gpuc_op_call *call, gpuc_expr size)
{
    return gpuc_cast(call->ctx, gpuc_topi_accumulator(call->in[0].dtype), size);
}

/* A float as an index in [0, max]; a NaN is 0. */
static gpuc_expr index_of(const gpuc_op_call *call, gpuc_expr x, gpuc_expr max)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr i = gpuc_topi_int_of(ctx, x, real(call, 0), real_of(call, max));
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, gpuc_cast(ctx, GPUC_INDEX, i), max));
}

/* ---- ONNX RoiAlign-16: means (or maxima) of bilinear samples; sampling_ratio 0: about one a pixel ----
 *
 * Where a sample lies along an axis depends on its region, its bin and its number, but on no channel. Tables
 * hold that; the sums go along channels, of data that has them last unless copying it costs more. */

/* One axis of the samples of a bin. */
typedef struct samples {
    gpuc_expr count; /* how many there are */
    gpuc_expr left;  /* how many there are from the first one on the data */
    gpuc_expr low;   /* of sample k: the pixel before it, -1: it is not on the data */
    gpuc_expr over;  /* how far it is from there: the weight of the next pixel */
} samples;

static samples along(const gpuc_op_call *call, gpuc_expr from, gpuc_expr to, gpuc_expr bin, gpuc_expr number,
                     int64_t bins, gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t ratio = gpuc_attrs_get_int(call->attrs, "sampling_ratio", 0);
    bool aligned = gpuc_attrs_get_int(call->attrs, "aligned", 1);
    gpuc_expr shift = real(call, aligned ? -0.5 : 0),
              scale = real(call, gpuc_attrs_get_float(call->attrs, "spatial_scale", 1));
    from = gpuc_add(ctx, gpuc_mul(ctx, from, scale), shift);
    gpuc_expr length = gpuc_sub(ctx, gpuc_add(ctx, gpuc_mul(ctx, to, scale), shift), from);
    if (!aligned) length = gpuc_max(ctx, length, real(call, 1));
    gpuc_expr size = gpuc_div(ctx, length, real(call, (double)bins));
    gpuc_expr start = gpuc_add(ctx, from, gpuc_mul(ctx, gpuc_cast(ctx, gpuc_expr_dtype(size), bin), size));
    samples s = {.count = ratio > 0 ? real(call, (double)ratio) : gpuc_call1(ctx, "ceil", size)};
    s.left = s.count;
    gpuc_expr step = gpuc_div(ctx, size, s.count), zero = real(call, 0), half = real(call, 0.5);
    gpuc_expr k = gpuc_cast(ctx, gpuc_expr_dtype(size), number);
    if (ratio <= 0) { /* from the first one on the data */
        gpuc_expr before =
            gpuc_call1(ctx, "floor", gpuc_div(ctx, gpuc_sub(ctx, real(call, -1.5), start), step));
        before = gpuc_select(ctx, gpuc_gt(ctx, before, zero), before, zero);
        k = gpuc_add(ctx, k, before);
        s.left = gpuc_sub(ctx, s.count, before);
    }
    gpuc_expr x = gpuc_add(ctx, start, gpuc_mul(ctx, gpuc_add(ctx, k, half), step));
    gpuc_expr valid = gpuc_and(ctx, gpuc_ge(ctx, x, real(call, -1)), gpuc_le(ctx, x, real_of(call, extent)));
    valid = gpuc_and(ctx, valid, gpuc_lt(ctx, k, s.count));
    x = gpuc_max(ctx, x, zero);
    gpuc_expr last = gpuc_sub(ctx, extent, gpuc_int(ctx, 1)), low = index_of(call, x, last),
              over = gpuc_sub(ctx, x, gpuc_cast(ctx, gpuc_expr_dtype(size), low));
    s.over = gpuc_select(ctx, gpuc_ge(ctx, low, last), zero, over);
    s.low = gpuc_cast(ctx, GPUC_INT32, gpuc_select(ctx, valid, low, gpuc_int(ctx, -1)));
    return s;
}

/* What along says of all regions, bins and samples of the axis of the regions' corners `first` and first + 2. */
typedef struct table {
    gpuc_expr extent; /* of the data */
    int64_t max;      /* of the samples */
    gpuc_tensor *low, *over;
} table;

static table tabulate(const gpuc_op_call *call, gpuc_tensor *rois, int first, int64_t bins, gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    table t = {.extent = extent, .max = gpuc_attrs_get_int(call->attrs, "sampling_ratio", 0)};
    gpuc_tensor_type type = {
        .ndim = 3, .dims = (gpuc_expr[]){call->in[1].dims[0], gpuc_int(ctx, bins), gpuc_int(ctx, t.max)}};
    for (int i = 0; i < 2; i++) {
        gpuc_expr v[3];
        gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v);
        samples s = along(call, corner(call, rois, v[0], first), corner(call, rois, v[0], first + 2), v[1],
                          v[2], bins, extent);
        *(i ? &t.over : &t.low) =
            gpuc_topi_compute(ctx, i ? "over" : "low", "table", 3, axes, i ? s.over : s.low);
    }
    return t;
}

/* A sample's two pixels along an axis, and their weights. */
typedef struct pair {
    gpuc_expr valid, at[2], weight[2];
} pair;

static pair pair_of(const gpuc_op_call *call, const table *t, gpuc_expr roi, gpuc_expr bin,
                    const gpuc_iter *k)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr where[] = {roi, bin, gpuc_iter_var(k)}, zero = gpuc_int(ctx, 0),
              last = gpuc_sub(ctx, t->extent, gpuc_int(ctx, 1));
    gpuc_expr low = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, t->low, 3, where));
    pair p = {.valid = gpuc_ge(ctx, low, zero)};
    p.at[0] = gpuc_max(ctx, zero, gpuc_min(ctx, low, last));
    p.at[1] = gpuc_min(ctx, gpuc_add(ctx, p.at[0], gpuc_int(ctx, 1)), last);
    p.weight[1] = gpuc_te_read(ctx, t->over, 3, where);
    p.weight[0] = gpuc_sub(ctx, real(call, 1), p.weight[1]);
    return p;
}

static bool takes_max(const gpuc_op_call *call)
{
    return !strcmp(gpuc_attrs_get_string(call->attrs, "mode", "avg"), "max");
}

/* What sums or maxima begin with. */
static gpuc_expr no_sample(const gpuc_op_call *call)
{
    gpuc_expr zero = real(call, 0);
    return takes_max(call) ? gpuc_tir_min_value(call->ctx, gpuc_expr_dtype(zero)) : zero;
}

static void infer_align(gpuc_op_call *call)
{
    roi_attrs r = attrs_of(call);
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "avg");
    if (strcmp(mode, "avg") && strcmp(mode, "max"))
        gpuc_topi_fail(call, "mode '%s' is neither avg nor max", mode);
    infer_pooled(call, &r);
}

/* Do the samples read more than the data has? Then a copy of it with channels last costs less than it saves. */
static bool is_read_often(const gpuc_op_call *call, const roi_attrs *r, int64_t samples)
{
    int64_t rois, images, height, width, reads, pixels;
    if (!gpuc_expr_is_int(call->in[1].dims[0], &rois) || !gpuc_expr_is_int(call->in[0].dims[0], &images) ||
        !gpuc_expr_is_int(r->height, &height) || !gpuc_expr_is_int(r->width, &width))
        return true;
    if (!gpuc_i64_mul(r->rows * r->columns, samples, &reads) || !gpuc_i64_mul(reads, 4 * rois, &reads))
        return true;
    return !gpuc_i64_mul(height * width, images, &pixels) || reads >= pixels;
}

static bool has_channels_last(const gpuc_op_call *call)
{
    return gpuc_topi_layout_of(call, 4).space == 1;
}

static gpuc_tensor *channels_last(const gpuc_op_call *call, gpuc_tensor *data)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_expr *d = call->in[0].dims;
    if (has_channels_last(call)) return data;
    gpuc_tensor_type type = {.ndim = 4, .dims = (gpuc_expr[]){d[0], d[2], d[3], d[1]}};
    gpuc_expr v[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v);
    gpuc_expr at[] = {v[0], v[3], v[1], v[2]};
    return gpuc_topi_compute(ctx, "last", "table", 4, axes, gpuc_te_read(ctx, data, 4, at));
}

/* [roi, channel, y, x] in the order of the sums: channels last, or as they are. */
static void ordered(bool last, const gpuc_expr *from, gpuc_expr *to)
{
    static const int moved[] = {0, 2, 3, 1};
    for (int i = 0; i < 4; i++) to[i] = from[last ? moved[i] : i];
}

/* The extents of what is summed, in that order. */
static void ordered_dims(const gpuc_op_call *call, bool last, gpuc_expr *to)
{
    gpuc_expr dims[4];
    memcpy(dims, call->out[0].dims, sizeof dims);
    gpuc_topi_from_layout(gpuc_topi_layout_of(call, 4), 4, dims);
    ordered(last, dims, to);
}

/* Sums or maxima of the samples of each bin. */
static gpuc_tensor *pool_samples(const gpuc_op_call *call, gpuc_tensor *const *ins, const table *y,
                                 const table *x, bool last)
{
    gpuc_ctx *ctx = call->ctx;
    bool maximum = takes_max(call);
    gpuc_tensor_type type = {.ndim = 4, .dims = gpuc_new_array(ctx, gpuc_expr, 4)};
    gpuc_expr v[4], value = NULL;
    ordered_dims(call, last, (gpuc_expr *)type.dims);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, v);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, gpuc_int(ctx, y->max), "ky"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, x->max), "kx")};
    pair py = pair_of(call, y, v[0], v[last ? 1 : 2], over[0]),
         px = pair_of(call, x, v[0], v[last ? 2 : 3], over[1]);
    gpuc_tensor *data = last ? channels_last(call, ins[0]) : ins[0];
    gpuc_expr image = image_of(call, ins[2], v[0]);
    for (int k = 0; k < 4; k++) {
        gpuc_expr from[] = {image, v[last ? 3 : 1], py.at[k / 2], px.at[k % 2]}, at[4];
        ordered(last, from, at);
        gpuc_expr weight = gpuc_mul(ctx, py.weight[k / 2], px.weight[k % 2]);
        gpuc_expr one = gpuc_mul(ctx, weight, gpuc_topi_widen(ctx, gpuc_te_read(ctx, data, 4, at)));
        value = !value ? one : maximum ? gpuc_max(ctx, value, one) : gpuc_add(ctx, value, one);
    }
    gpuc_expr nothing = no_sample(call);
    value = gpuc_if_then_else(ctx, gpuc_and(ctx, py.valid, px.valid), value, nothing);
    return gpuc_topi_compute(ctx, "samples", "pool", 4, axes,
                             gpuc_te_reduce(ctx, maximum ? "max" : "sum", value, 2, over));
}

/* ---- Bins that have as many samples as there are pixels: the loops over these end where a bin's do ---- */

/* The samples of all regions and bins along an axis, in memory. */
typedef struct adaptive_axis {
    int first; /* the first of the regions' corners */
    int64_t bins;
    gpuc_expr extent, max;
    gpuc_tir_buffer *count, *low, *over; /* count[roi, bin], low[roi, bin, max] */
} adaptive_axis;

static adaptive_axis adaptive_axis_of(const gpuc_op_call *call, int first, int64_t bins, gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    /* Samples of a bin that is larger than a pixel are at least half a pixel apart. */
    gpuc_expr max = gpuc_add(ctx, gpuc_mul(ctx, extent, gpuc_int(ctx, 2)), gpuc_int(ctx, 6));
    adaptive_axis a = {.first = first, .bins = bins, .extent = extent, .max = max};
    gpuc_expr n = gpuc_mul(ctx, call->in[1].dims[0], gpuc_int(ctx, bins)), all = gpuc_mul(ctx, n, max);
    a.count = gpuc_topi_par_workspace(ctx, "count", GPUC_INT32, n);
    a.low = gpuc_topi_par_workspace(ctx, "low", GPUC_INT32, all);
    a.over = gpuc_topi_par_workspace(ctx, "over", gpuc_topi_accumulator(call->in[0].dtype), all);
    return a;
}

static gpuc_stmt find_samples(const gpuc_op_call *call, const gpuc_tir_buffer *rois, const adaptive_axis *a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX),
              bins = gpuc_int(ctx, a->bins), max = a->max, n = gpuc_var(ctx, "n", GPUC_INT32), corners[2];
    for (int i = 0; i < 2; i++) {
        gpuc_expr at[] = {gpuc_floordiv_(ctx, e, bins), gpuc_int(ctx, a->first + 2 * i)};
        corners[i] = gpuc_topi_widen(ctx, gpuc_tir_load(ctx, rois, 2, at));
    }
    gpuc_expr bin = gpuc_floormod_(ctx, e, bins), at = gpuc_add(ctx, gpuc_mul(ctx, e, max), k);
    samples s = along(call, corners[0], corners[1], bin, k, a->bins, a->extent);
    gpuc_expr left = gpuc_topi_par_to_i32(ctx, index_of(call, s.left, a->max));
    gpuc_stmt each = gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, a->low, at, s.low),
                                   gpuc_tir_store1(ctx, a->over, at, s.over));
    each = gpuc_topi_par_serial(ctx, k, gpuc_min(ctx, gpuc_topi_par_index(ctx, n), max), each);
    each = gpuc_tir_let(ctx, n, left, gpuc_tir_seq2(ctx, gpuc_tir_store1(ctx, a->count, e, n), each));
    return gpuc_topi_par_loop(ctx, e, gpuc_mul(ctx, call->in[1].dims[0], bins), each);
}

/* A loop over the samples of a bin of a region along an axis, which gives each that is on the data. */
typedef struct sample_loop {
    gpuc_expr k, low, over;
    gpuc_expr at[2], weight[2];
} sample_loop;

static sample_loop sample_loop_of(const gpuc_op_call *call, const adaptive_axis *a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    sample_loop l = {
        gpuc_var(ctx, "k", GPUC_INDEX), gpuc_var(ctx, "low", GPUC_INT32), gpuc_var(ctx, "over", t), {0}, {0}};
    gpuc_expr last = gpuc_sub(ctx, a->extent, gpuc_int(ctx, 1)), low = gpuc_topi_par_index(ctx, l.low);
    l.at[0] = gpuc_topi_par_clamp(ctx, low, gpuc_int(ctx, 0), last);
    l.at[1] = gpuc_min(ctx, gpuc_add(ctx, l.at[0], gpuc_int(ctx, 1)), last);
    l.weight[0] = gpuc_sub(ctx, real(call, 1), l.over);
    l.weight[1] = l.over;
    return l;
}

static gpuc_stmt over_samples(gpuc_ctx *ctx, const adaptive_axis *a, const sample_loop *l, gpuc_expr roi,
                              gpuc_expr bin, gpuc_stmt body)
{
    gpuc_expr e = gpuc_add(ctx, gpuc_mul(ctx, roi, gpuc_int(ctx, a->bins)), bin), max = a->max,
              at = gpuc_add(ctx, gpuc_mul(ctx, e, max), l->k);
    body = gpuc_tir_let(ctx, l->over, gpuc_tir_load1(ctx, a->over, at), body);
    body = gpuc_tir_if_(ctx, gpuc_ge(ctx, l->low, gpuc_topi_par_i32(ctx, 0)), body, NULL);
    body = gpuc_tir_let(ctx, l->low, gpuc_tir_load1(ctx, a->low, at), body);
    gpuc_expr n = gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, a->count, e));
    return gpuc_topi_par_serial(ctx, l->k, gpuc_min(ctx, n, max), body);
}

/* A loop over channels, as vectors where the target has them. */
static gpuc_stmt over_channels(gpuc_ctx *ctx, const gpuc_target *cpu, gpuc_dtype t, gpuc_expr n, gpuc_expr c,
                               gpuc_stmt body)
{
    int lanes = gpuc_target_lanes(cpu, t);
    gpuc_expr step = gpuc_int(ctx, lanes), whole = gpuc_floordiv_(ctx, n, step),
              v = gpuc_var(ctx, "v", GPUC_INDEX), lane = gpuc_var(ctx, "lane", GPUC_INDEX),
              tail = gpuc_var(ctx, "c", GPUC_INDEX);
    if (lanes == 1) return gpuc_topi_par_serial(ctx, c, n, body);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, v, step), lane),
              rest = gpuc_add(ctx, gpuc_mul(ctx, whole, step), tail);
    gpuc_stmt vector = gpuc_tir_for_(ctx, lane, gpuc_int(ctx, 0), step, GPUC_LOOP_VECTORIZED,
                                     GPUC_THREAD_NONE, gpuc_tir_substitute_stmt(ctx, body, 1, &c, &at));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_serial(ctx, v, whole, vector),
                         gpuc_topi_par_serial(ctx, tail, gpuc_floormod_(ctx, n, step),
                                              gpuc_tir_substitute_stmt(ctx, body, 1, &c, &rest)));
}

/* On a CPU an iteration takes a bin, else an element of it. */
static gpuc_stmt adaptive_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                               const gpuc_target *target, gpuc_knobs *knobs)
{
    const gpuc_op_call *call = arg;
    roi_attrs r = attrs_of(call);
    adaptive_axis y = adaptive_axis_of(call, 1, r.rows, r.height),
                  x = adaptive_axis_of(call, 0, r.columns, r.width);
    sample_loop ly = sample_loop_of(call, &y), lx = sample_loop_of(call, &x);
    const gpuc_tir_buffer *data = op->input_buffers[0], *rois = op->input_buffers[1];
    const gpuc_target *cpu = gpuc_topi_par_cpu(target);
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), c = gpuc_var(ctx, "c", GPUC_INDEX), at[4], value = NULL,
              image = gpuc_var(ctx, "image", GPUC_INDEX);
    const gpuc_expr *dims = gpuc_te_shape(op->outputs[0]);
    gpuc_topi_par_unravel(ctx, cpu ? 3 : 4, dims, e, at);
    if (cpu) at[3] = c;
    for (int k = 0; k < 4; k++) {
        gpuc_expr from[] = {image, ly.at[k / 2], lx.at[k % 2], at[3]},
                  weight = gpuc_mul(ctx, ly.weight[k / 2], lx.weight[k % 2]);
        gpuc_expr one = gpuc_mul(ctx, weight, gpuc_topi_widen(ctx, gpuc_tir_load(ctx, data, 4, from)));
        value = !value ? one : takes_max(call) ? gpuc_max(ctx, value, one) : gpuc_add(ctx, value, one);
    }
    gpuc_tir_buffer *cell = cpu ? NULL : gpuc_topi_par_cell(ctx, "all", gpuc_expr_dtype(value));
    gpuc_expr all = cpu ? gpuc_tir_load(ctx, op->output_buffers[0], 4, at) : gpuc_topi_par_get(ctx, cell);
    all = takes_max(call) ? gpuc_max(ctx, all, value) : gpuc_add(ctx, all, value);
    gpuc_stmt begin, take, end = NULL;
    (void)knobs;
    if (cpu) {
        gpuc_dtype t = gpuc_expr_dtype(value);
        begin = over_channels(ctx, cpu, t, dims[3], c,
                              gpuc_tir_store(ctx, op->output_buffers[0], 4, at, no_sample(call)));
        take = over_channels(ctx, cpu, t, dims[3], c, gpuc_tir_store(ctx, op->output_buffers[0], 4, at, all));
    } else {
        begin = gpuc_topi_par_set(ctx, cell, no_sample(call));
        take = gpuc_topi_par_set(ctx, cell, all);
        end = gpuc_tir_store(ctx, op->output_buffers[0], 4, at, gpuc_topi_par_get(ctx, cell));
    }
    take = over_samples(ctx, &y, &ly, at[0], at[1], over_samples(ctx, &x, &lx, at[0], at[2], take));
    gpuc_stmt steps[] = {begin, take, end};
    gpuc_stmt bin = gpuc_tir_let(ctx, image, inside(call, gpuc_tir_load1(ctx, op->input_buffers[2], at[0])),
                                 gpuc_tir_seq(ctx, 3, steps));
    gpuc_expr n = gpuc_int(ctx, 1);
    for (int i = 0; i < (cpu ? 3 : 4); i++) n = gpuc_mul(ctx, n, dims[i]);
    gpuc_stmt parts[] = {find_samples(call, rois, &y), find_samples(call, rois, &x),
                         cpu ? gpuc_topi_par_tasks(ctx, cpu, e, n, bin)
                             : gpuc_topi_par_loop(ctx, e, n, gpuc_tir_alloc(ctx, cell, bin))};
    gpuc_stmt body = gpuc_tir_seq(ctx, 3, parts);
    gpuc_tir_buffer *spaces[] = {y.count, y.low, y.over, x.count, x.low, x.over};
    for (int i = 0; i < 6; i++) body = gpuc_tir_alloc(ctx, spaces[i], body);
    return body;
}

/* The sums or maxima of as many samples as there are in each bin. */
static gpuc_tensor *pool_adaptive(const gpuc_op_call *call, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_tensor *from[] = {channels_last(call, ins[0]), ins[1], ins[2]};
    gpuc_expr dims[4];
    ordered_dims(call, true, dims);
    gpuc_tensor_type type = gpuc_topi_par_type(ctx, gpuc_topi_accumulator(call->in[0].dtype), 4, dims);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "samples", 3, from, 1, &type);
    gpuc_topi_par_set_body(ctx, op, adaptive_body, gpuc_topi_par_keep_call(call));
    return op->outputs[0];
}

/* How many samples the bins of each region have. */
static gpuc_tensor *numbers_of_samples(const gpuc_op_call *call, gpuc_tensor *rois, const roi_attrs *r)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_tensor_type type = {.ndim = 1, .dims = call->in[1].dims};
    gpuc_expr roi, c[4], zero = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, &roi);
    for (int i = 0; i < 4; i++) c[i] = corner(call, rois, roi, i);
    gpuc_expr rows = along(call, c[1], c[3], zero, zero, r->rows, r->height).count,
              columns = along(call, c[0], c[2], zero, zero, r->columns, r->width).count;
    return gpuc_topi_compute(ctx, "number", "table", 1, axes,
                             gpuc_max(ctx, gpuc_mul(ctx, rows, columns), real(call, 1)));
}

static void align_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    roi_attrs r = attrs_of(call);
    bool maximum = takes_max(call);
    int64_t ratio = gpuc_attrs_get_int(call->attrs, "sampling_ratio", 0);
    bool last = ratio <= 0 || has_channels_last(call) || is_read_often(call, &r, ratio * ratio);
    gpuc_tensor *pooled = NULL;
    if (ratio > 0) {
        table y = tabulate(call, ins[1], 1, r.rows, r.height),
              x = tabulate(call, ins[1], 0, r.columns, r.width);
        pooled = pool_samples(call, ins, &y, &x, last);
    } else {
        pooled = pool_adaptive(call, ins);
    }
    gpuc_expr v[4], at[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], v);
    gpuc_topi_from_layout(r.at, 4, v);
    ordered(last, v, at);
    gpuc_expr result = gpuc_te_read(ctx, pooled, 4, at);
    if (maximum) { /* no sample on the data counts as 0 */
        gpuc_expr nothing = gpuc_tir_min_value(ctx, gpuc_expr_dtype(result));
        result = gpuc_select(ctx, gpuc_eq(ctx, result, nothing), real(call, 0), result);
    } else {
        gpuc_expr number = ratio > 0 ? real(call, (double)(ratio * ratio))
                                     : gpuc_te_read(ctx, numbers_of_samples(call, ins[1], &r), 1, v);
        result = gpuc_div(ctx, result, number);
    }
    outs[0] =
        gpuc_topi_compute(ctx, "align", "elemwise", 4, axes, gpuc_cast(ctx, call->out[0].dtype, result));
}

/* ---- ONNX MaxRoiPool (Girshick, "Fast R-CNN", 2015): maxima of bins of whole pixels ---- */

/* Halves away from zero. */
static gpuc_expr rounded(const gpuc_op_call *call, gpuc_expr x)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr size = gpuc_call1(ctx, "floor", gpuc_add(ctx, gpuc_call1(ctx, "abs", x), real(call, 0.5)));
    return gpuc_select(ctx, gpuc_lt(ctx, x, real(call, 0)), gpuc_sub(ctx, real(call, 0), size), size);
}

typedef struct pixels {
    gpuc_expr from, to; /* of a bin, cut to the data */
} pixels;

static pixels bin_of(const gpuc_op_call *call, gpuc_expr from, gpuc_expr to, gpuc_expr bin, int64_t bins,
                     gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr scale = real(call, gpuc_attrs_get_float(call->attrs, "spatial_scale", 1)), one = real(call, 1);
    from = rounded(call, gpuc_mul(ctx, from, scale));
    to = rounded(call, gpuc_mul(ctx, to, scale));
    gpuc_expr length = gpuc_max(ctx, gpuc_add(ctx, gpuc_sub(ctx, to, from), one), one);
    gpuc_expr size = gpuc_div(ctx, length, real(call, (double)bins)),
              b = gpuc_cast(ctx, gpuc_expr_dtype(size), bin);
    gpuc_expr start = gpuc_call1(ctx, "floor", gpuc_mul(ctx, b, size)),
              end = gpuc_call1(ctx, "ceil", gpuc_mul(ctx, gpuc_add(ctx, b, one), size));
    return (pixels){index_of(call, gpuc_add(ctx, start, from), extent),
                    index_of(call, gpuc_add(ctx, end, from), extent)};
}

static void infer_pool(gpuc_op_call *call)
{
    roi_attrs r = attrs_of(call);
    infer_pooled(call, &r);
}

static void pool_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    roi_attrs r = attrs_of(call);
    gpuc_expr vars[4], c[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_topi_from_layout(r.at, 4, vars);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, r.height, "ky"), gpuc_te_reduce_axis(ctx, r.width, "kx")};
    for (int i = 0; i < 4; i++) c[i] = corner(call, ins[1], vars[0], i);
    pixels y = bin_of(call, c[1], c[3], vars[2], r.rows, r.height),
           x = bin_of(call, c[0], c[2], vars[3], r.columns, r.width);
    gpuc_expr at[] = {image_of(call, ins[2], vars[0]), vars[1], gpuc_add(ctx, y.from, gpuc_iter_var(over[0])),
                      gpuc_add(ctx, x.from, gpuc_iter_var(over[1]))};
    gpuc_expr inside = gpuc_and(ctx, gpuc_lt(ctx, at[2], y.to), gpuc_lt(ctx, at[3], x.to));
    gpuc_expr nothing = gpuc_tir_min_value(ctx, call->in[0].dtype);
    gpuc_topi_to_layout(r.at, 4, at);
    gpuc_expr value = gpuc_if_then_else(ctx, inside, gpuc_te_read(ctx, ins[0], 4, at), nothing);
    gpuc_tensor *max =
        gpuc_topi_compute(ctx, "most", "pool", 4, axes, gpuc_te_reduce(ctx, "max", value, 2, over));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr result = gpuc_te_read(ctx, max, 4, vars); /* an empty bin is 0 */
    result = gpuc_select(ctx, gpuc_eq(ctx, result, nothing), gpuc_imm(ctx, call->out[0].dtype, 0), result);
    outs[0] = gpuc_topi_compute(ctx, "pooled", "elemwise", 4, axes, result);
}

/* TVM: input 1 is [n, 5], of which the first column is the image, and there is no input 2; boxes are not moved by half
 * a pixel. */
static void take_boxes(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    (void)spec;
    (void)value;
    if (!w->in || w->num_written != 2 || w->in[1].ndim != 2) return;
    w->inputs[1] = (gpuc_op_input){.from = 1, .first = 1, .columns = 4};
    w->inputs[2] = (gpuc_op_input){.from = 1, .columns = 1, .cast = GPUC_INT64};
    gpuc_op_reshape_input(w, 2, 1, &w->in[1].dims[0]);
    gpuc_op_must_be(w, "the number of columns", 5, 1, 1);
    w->num_in = 3;
    bool aligns = !strcmp(w->op->name, "vision.roi_align");
    if (aligns && !gpuc_attrs_find(w->given, "aligned"))
        gpuc_op_set_attr(w, "aligned", &(gpuc_attr){.name = "aligned", .kind = GPUC_ATTR_INT});
}

/* TVM: -1 is as many as the box needs. */
static void take_sample_ratio(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_attr ratio = *value;
    if (ratio.kind == GPUC_ATTR_INT && ratio.i < 0) ratio.i = 0;
    gpuc_op_set_attr(w, spec->to, &ratio);
}

#define ONE_BOX_INPUT                                                                                        \
    {                                                                                                        \
        .name = "layout", .kind = GPUC_ATTR_STRING, .take = take_layout, .always = true,                     \
        .about = "as data_layout"                                                                            \
    }
static void take_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const gpuc_attr_spec either = {.name = spec->name, .to = "data_layout|" LAYOUTS};
    if (value) gpuc_op_take_value(w, &either, value);
    take_boxes(w, spec, value);
}

ATTRS(align_specs, WINDOW_INTS("pooled_size"), FLOAT("spatial_scale", 1), WINDOW_INT("sampling_ratio", 0),
      INT("aligned", 1), STRING("mode", "avg"), GPUC_TOPI_DATA_LAYOUT, ONE_BOX_INPUT,
      SPELLED("sample_ratio", INT, take_sample_ratio, "sampling_ratio", "-1 is 0"))
ATTRS(pool_specs, WINDOW_INTS("pooled_size"), FLOAT("spatial_scale", 1), GPUC_TOPI_DATA_LAYOUT, ONE_BOX_INPUT)

const gpuc_op gpuc_topi_ops_roi[] = {
    ANCHOR_BY(gpuc_topi_par_schedule, "vision.roi_align", 3, 3, align_specs, infer_align, align_compute,
              "roi_align", "", "RoiAlign", GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_INT32 | GPUC_T_INT64),
    ANCHOR("vision.roi_pool", 3, 3, pool_specs, infer_pool, pool_compute, "roi_pool", "", "MaxRoiPool",
           GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_INT32 | GPUC_T_INT64),
};
const size_t gpuc_topi_ops_roi_count = sizeof gpuc_topi_ops_roi / sizeof gpuc_topi_ops_roi[0];
