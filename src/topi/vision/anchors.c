/* SPDX-License-Identifier: Apache-2.0 */
/* What detectors are made of: anchors (Liu et al., "SSD", 2016), YOLO's region and reorg layers (Darknet). */
#include <math.h>
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

static void check_image(const gpuc_op_call *call)
{
    if (call->in[0].ndim != 4) gpuc_topi_fail(call, "takes data of 4 dimensions, not %d", call->in[0].ndim);
}

/* ---- yolo_reorg: blocks of stride x stride pixels become channels, by Darknet's linear order ---- */

static int64_t reorg_stride(const gpuc_op_call *call)
{
    int64_t s = gpuc_attrs_get_int(call->attrs, "stride", 1), c = gpuc_topi_static_dim(call, 0, 1),
            h = gpuc_topi_static_dim(call, 0, 2), w = gpuc_topi_static_dim(call, 0, 3);
    if (s < 1 || s > INT16_MAX) gpuc_topi_fail(call, "stride is %lld", (long long)s);
    if (c % (s * s) || h % s || w % s)
        gpuc_topi_fail(call, "[%lld, %lld, %lld] does not divide into blocks of %lld", (long long)c,
                       (long long)h, (long long)w, (long long)s);
    return s;
}

static void infer_reorg(gpuc_op_call *call)
{
    check_image(call);
    int64_t s = reorg_stride(call);
    gpuc_expr dims[4] = {call->in[0].dims[0]};
    dims[1] = gpuc_int(call->ctx, gpuc_topi_static_dim(call, 0, 1) * s * s);
    for (int i = 2; i < 4; i++) dims[i] = gpuc_int(call->ctx, gpuc_topi_static_dim(call, 0, i) / s);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 4, dims);
}

/* Index of an element from its linear position in an image. */
static void unravel(gpuc_ctx *ctx, gpuc_expr at, const int64_t *dims, gpuc_expr *x)
{
    for (int i = 2; i > 0; i--) {
        x[i] = gpuc_floormod_(ctx, at, gpuc_int(ctx, dims[i]));
        at = gpuc_floordiv_(ctx, at, gpuc_int(ctx, dims[i]));
    }
    x[0] = at;
}

static gpuc_expr linear(gpuc_ctx *ctx, const gpuc_expr *x, const int64_t *dims)
{
    gpuc_expr at = x[0];
    for (int i = 1; i < 3; i++) at = gpuc_add(ctx, gpuc_mul(ctx, at, gpuc_int(ctx, dims[i])), x[i]);
    return at;
}

static void reorg_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t s = reorg_stride(call), in[3], out[3];
    for (int i = 0; i < 3; i++) in[i] = gpuc_topi_static_dim(call, 0, 1 + i);
    out[0] = in[0] * s * s;
    out[1] = in[1] / s;
    out[2] = in[2] / s;
    gpuc_expr vars[4], x[3], index[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    /* The result's bytes in the shape of the data, [k, j, i]: of an image that is stride times as large with
     * channels k % (C/stride^2), pixel (j, i) of the block k / (C/stride^2). */
    unravel(ctx, linear(ctx, vars + 1, out), in, x);
    int64_t channels = in[0] / (s * s);
    gpuc_expr part = gpuc_int(ctx, channels > 0 ? channels : 1), stride = gpuc_int(ctx, s);
    gpuc_expr block = gpuc_floordiv_(ctx, x[0], part);
    gpuc_expr wide[] = {gpuc_floormod_(ctx, x[0], part),
                        gpuc_add(ctx, gpuc_mul(ctx, x[1], stride), gpuc_floordiv_(ctx, block, stride)),
                        gpuc_add(ctx, gpuc_mul(ctx, x[2], stride), gpuc_floormod_(ctx, block, stride))};
    int64_t large[] = {channels, in[1] * s, in[2] * s};
    index[0] = vars[0];
    unravel(ctx, linear(ctx, wide, large), in, index + 1);
    outs[0] = gpuc_topi_compute(ctx, "T", "injective", 4, axes, gpuc_te_read(ctx, ins[0], 4, index));
}

/* ---- yolo_region: n boxes of coords + 1 + classes channels; logistic positions and objectness, softmax of
 * the classes ---- */

typedef struct region {
    int64_t classes, boxes, coords, each;
    bool background, softmax;
} region;

static region region_of(const gpuc_op_call *call)
{
    region r = {.classes = gpuc_attrs_get_int(call->attrs, "num_classes", 1),
                .boxes = gpuc_attrs_get_int(call->attrs, "n", 1),
                .coords = gpuc_attrs_get_int(call->attrs, "coords", 4),
                .background = gpuc_attrs_get_int(call->attrs, "background", 0),
                .softmax = gpuc_attrs_get_int(call->attrs, "softmax", 1)};
    if (r.classes < 1 || r.boxes < 1 || r.coords < 2)
        gpuc_topi_fail(call, "num_classes=%lld, n=%lld, coords=%lld", (long long)r.classes,
                       (long long)r.boxes, (long long)r.coords);
    r.each = r.coords + 1 + r.classes;
    return r;
}

static void infer_region(gpuc_op_call *call)
{
    check_image(call);
    region r = region_of(call);
    int64_t channels = gpuc_topi_static_dim(call, 0, 1), want;
    if (__builtin_mul_overflow(r.boxes, r.each, &want) || want != channels)
        gpuc_topi_fail(call, "%lld channels are not n=%lld boxes of %lld", (long long)channels,
                       (long long)r.boxes, (long long)r.each);
    call->out[0] = call->in[0];
}

/* A reduction over the classes of each box: [N, boxes, H, W]. */
static gpuc_tensor *over_classes(const gpuc_op_call *call, const region *r, gpuc_tensor *x, gpuc_tensor *max)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int64_t first = r->background ? r->coords : r->coords + 1; /* of the channels that softmax takes */
    gpuc_expr dims[] = {in->dims[0], gpuc_int(ctx, r->boxes), in->dims[2], in->dims[3]}, vars[4];
    gpuc_tensor_type t = {.ndim = 4, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars),
              *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, r->each - first), "k");
    gpuc_expr channel = gpuc_add(ctx, gpuc_mul(ctx, vars[1], gpuc_int(ctx, r->each)), gpuc_int(ctx, first));
    gpuc_expr at[] = {vars[0], gpuc_add(ctx, channel, gpuc_iter_var(k)), vars[2], vars[3]};
    gpuc_expr value = gpuc_topi_widen(ctx, gpuc_te_read(ctx, x, 4, at));
    if (max) value = gpuc_call1(ctx, "exp", gpuc_sub(ctx, value, gpuc_te_read(ctx, max, 4, vars)));
    return gpuc_topi_compute(ctx, max ? "sum" : "most", "reduce", 4, axes,
                             gpuc_te_reduce(ctx, max ? "sum" : "max", value, 1, &k));
}

static void region_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    region r = region_of(call);
    gpuc_expr vars[4];
    gpuc_tensor *max = r.softmax ? over_classes(call, &r, ins[0], NULL) : NULL,
                *sum = r.softmax ? over_classes(call, &r, ins[0], max) : NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr box = gpuc_floordiv_(ctx, vars[1], gpuc_int(ctx, r.each)),
              k = gpuc_floormod_(ctx, vars[1], gpuc_int(ctx, r.each));
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 4, vars)),
              one = gpuc_imm(ctx, gpuc_expr_dtype(x), 1), minus = gpuc_imm(ctx, gpuc_expr_dtype(x), 0);
    gpuc_expr logistic =
        gpuc_div(ctx, one, gpuc_add(ctx, one, gpuc_call1(ctx, "exp", gpuc_sub(ctx, minus, x))));
    gpuc_expr objectness = r.background ? x : logistic, classes = logistic;
    if (r.softmax) {
        gpuc_expr at[] = {vars[0], box, vars[2], vars[3]};
        gpuc_expr e = gpuc_call1(ctx, "exp", gpuc_sub(ctx, x, gpuc_te_read(ctx, max, 4, at)));
        classes = gpuc_div(ctx, e, gpuc_te_read(ctx, sum, 4, at));
        if (r.background) objectness = classes;
    }
    gpuc_expr value = gpuc_select(
        ctx, gpuc_lt(ctx, k, gpuc_int(ctx, 2)), logistic,
        gpuc_select(ctx, gpuc_lt(ctx, k, gpuc_int(ctx, r.coords)), x,
                    gpuc_select(ctx, gpuc_eq(ctx, k, gpuc_int(ctx, r.coords)), objectness, classes)));
    outs[0] =
        gpuc_topi_compute(ctx, "region", "injective", 4, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

/* ---- multibox_prior: anchors of the pixels of data, [1, H*W*(sizes + ratios - 1), 4] ---- */

typedef struct prior {
    const gpuc_attr *sizes, *ratios;
    double steps[2], offsets[2]; /* y, x */
    int64_t height, width, boxes;
} prior;

static prior prior_of(const gpuc_op_call *call)
{
    prior p = {.sizes = gpuc_attrs_find(call->attrs, "sizes"),
               .ratios = gpuc_attrs_find(call->attrs, "ratios")};
    const gpuc_attr *steps = gpuc_attrs_find(call->attrs, "steps"),
                    *offsets = gpuc_attrs_find(call->attrs, "offsets");
    p.height = gpuc_topi_static_dim(call, 0, 2);
    p.width = gpuc_topi_static_dim(call, 0, 3);
    if (p.sizes->n < 1 || p.ratios->n < 1) gpuc_topi_fail(call, "sizes and ratios need one number each");
    for (int i = 0; i < p.ratios->n; i++)
        if (!(p.ratios->floats[i] > 0)) gpuc_topi_fail(call, "ratio %g", p.ratios->floats[i]);
    if ((steps->n && steps->n != 2) || (offsets->n && offsets->n != 2))
        gpuc_topi_fail(call, "steps and offsets have two numbers or none");
    for (int i = 0; i < 2; i++) {
        double own = 1.0 / (double)(i ? p.width : p.height);
        p.steps[i] = steps->n && steps->floats[i] > 0 ? steps->floats[i] : own;
        p.offsets[i] = offsets->n ? offsets->floats[i] : 0.5;
    }
    p.boxes = p.sizes->n + p.ratios->n - 1;
    return p;
}

static void infer_prior(gpuc_op_call *call)
{
    check_image(call);
    prior p = prior_of(call);
    int64_t count = p.boxes;
    if (__builtin_mul_overflow(count, p.height, &count) || __builtin_mul_overflow(count, p.width, &count))
        gpuc_topi_fail(call, "the number of anchors does not fit 63 bits");
    gpuc_expr dims[] = {gpuc_int(call->ctx, 1), gpuc_int(call->ctx, count), gpuc_int(call->ctx, 4)};
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 3, dims);
}

static void prior_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    prior p = prior_of(call);
    gpuc_dtype t = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_expr vars[3], half[2] = {gpuc_imm(ctx, t, 0), gpuc_imm(ctx, t, 0)};
    (void)ins; /* only its shape counts */
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr boxes = gpuc_int(ctx, p.boxes), box = gpuc_floormod_(ctx, vars[1], boxes),
              pixel = gpuc_floordiv_(ctx, vars[1], boxes), width = gpuc_int(ctx, p.width > 0 ? p.width : 1);
    gpuc_expr at[] = {gpuc_floordiv_(ctx, pixel, width), gpuc_floormod_(ctx, pixel, width)};
    for (int64_t k = p.boxes - 1; k >= 0; k--) {
        bool sized = k < p.sizes->n;
        double size = p.sizes->floats[sized ? k : 0],
               ratio = sized ? 1 : sqrt(p.ratios->floats[k - p.sizes->n + 1]);
        double h = size / ratio / 2, w = size * (double)p.height / (double)p.width * ratio / 2;
        gpuc_expr this = gpuc_eq(ctx, box, gpuc_int(ctx, k));
        half[0] = gpuc_select(ctx, this, gpuc_imm(ctx, t, h), half[0]);
        half[1] = gpuc_select(ctx, this, gpuc_imm(ctx, t, w), half[1]);
    }
    gpuc_expr value = NULL;
    for (int k = 3; k >= 0; k--) { /* x1, y1, x2, y2 */
        int i = k % 2 ? 0 : 1;
        gpuc_expr centre = gpuc_add(ctx, gpuc_cast(ctx, t, at[i]), gpuc_imm(ctx, t, p.offsets[i]));
        centre = gpuc_mul(ctx, centre, gpuc_imm(ctx, t, p.steps[i]));
        gpuc_expr edge = k < 2 ? gpuc_sub(ctx, centre, half[i]) : gpuc_add(ctx, centre, half[i]);
        value = value ? gpuc_select(ctx, gpuc_eq(ctx, vars[2], gpuc_int(ctx, k)), edge, value) : edge;
    }
    if (gpuc_attrs_get_int(call->attrs, "clip", 0))
        value = gpuc_max(ctx, gpuc_imm(ctx, t, 0), gpuc_min(ctx, gpuc_imm(ctx, t, 1), value));
    outs[0] =
        gpuc_topi_compute(ctx, "anchors", "injective", 3, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

#define FLOATS(nm, def)                                                                                      \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_FLOATS, .s = def                                                       \
    }
ATTRS(reorg, WINDOW_INT("stride", 1))
ATTRS(region_specs, WINDOW_INT("num_classes", 1), WINDOW_INT("n", 1), WINDOW_INT("coords", 4),
      INT("background", 0), INT("softmax", 1))
ATTRS(prior_specs, FLOATS("sizes", "[1]"), FLOATS("ratios", "[1]"), FLOATS("steps", NULL),
      FLOATS("offsets", NULL), INT("clip", 0))

const gpuc_op gpuc_topi_ops_detect[] = {
    INJECTIVE("vision.yolo_reorg", 1, 1, reorg, infer_reorg, reorg_compute, "yolo_reorg,vision.reorg,reorg",
              "yolo_reorg", "", GPUC_T_ANY),
    ALONE("vision.yolo_region", 1, 1, region_specs, infer_region, region_compute, "yolo_region,region",
          "yolo_region", "", GPUC_T_FLOATS),
    ALONE("vision.multibox_prior", 1, 1, prior_specs, infer_prior, prior_compute, "multibox_prior",
          "multibox_prior", "", GPUC_T_FLOATS),
};
const size_t gpuc_topi_ops_detect_count = sizeof gpuc_topi_ops_detect / sizeof gpuc_topi_ops_detect[0];
