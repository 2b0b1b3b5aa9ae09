/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of any rank (ONNX Resize-19): nearest, linear, cubic, axis by axis. Rounding "outward" is that of
 * Resize-10: down, or up where the result is smaller. */
#include <math.h>
#include <string.h>

#include "topi/families.h"
#include "topi/util.h"

static void check_name(const gpuc_op_call *call, const char *attr, const char *const *names)
{
    const char *name = gpuc_attrs_get_string(call->attrs, attr, "");
    while (*names && strcmp(*names, name)) names++;
    if (!*names) gpuc_topi_fail(call, "%s '%s' is not known", attr, name);
}

static void infer_resize(gpuc_op_call *call)
{
    static const char *const methods[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coordinates[] = {
        "half_pixel",           "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric",
        "tf_half_pixel_for_nn", NULL};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "outward", NULL};
    check_name(call, "method", methods);
    check_name(call, "coordinate", coordinates);
    check_name(call, "rounding", roundings);
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *sizes = gpuc_topi_ints(call, "sizes", in->ndim);
    const gpuc_attr *scales = gpuc_attrs_find(call->attrs, "scales");
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (scales->n != in->ndim)
        gpuc_topi_fail(call, "scales has %d entries for %d dimensions", scales->n, in->ndim);
    for (int i = 0; i < in->ndim; i++) {
        int64_t extent = gpuc_topi_static_dim(call, 0, i);
        if (sizes[i] < 0 || !(scales->floats[i] > 0))
            gpuc_topi_fail(call, "dimension %d has the size %lld and the scale %g", i, (long long)sizes[i],
                           scales->floats[i]);
        if (extent == 0 && sizes[i] > 0) gpuc_topi_fail(call, "dimension %d has nothing to take from", i);
        dims[i] = gpuc_int(call->ctx, sizes[i]);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

/* The type in which positions and sums are computed. */
static gpuc_dtype work_type(const gpuc_op_call *call)
{
    return gpuc_dtype_equal(call->in[0].dtype, GPUC_FLOAT64) ? GPUC_FLOAT64 : GPUC_FLOAT32;
}

static gpuc_expr real(const gpuc_op_call *call, double v)
{
    return gpuc_imm(call->ctx, work_type(call), v);
}

/* Positions are ratios of integers, exact, so that ties are where they should be and indices need no floats.
 */
typedef struct ratio {
    int64_t p, q;
} ratio;

static ratio reduced(int64_t p, int64_t q)
{
    int64_t a = p < 0 ? -p : p, b = q;
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (ratio){p / (a ? a : 1), q / (a ? a : 1)};
}

/* The ratio of sizes that a scale stands for, else the simplest one that float32 does not tell from it: a
 * convergent of its continued fraction. */
static ratio scale_ratio(int64_t in, int64_t out, double scale)
{
    if (in > 0 && scale == (double)out / (double)in) return reduced(out, in);
    double rest = scale;
    ratio before = {0, 1}, r = {1, 0};
    for (int i = 0; i < 64; i++) {
        double whole = floor(rest);
        if (whole * (double)r.p + (double)before.p > 1e9 || whole * (double)r.q + (double)before.q > 1e9)
            break;
        ratio next = {(int64_t)whole * r.p + before.p, (int64_t)whole * r.q + before.q};
        before = r;
        r = next;
        if (r.p > 0 && fabs((double)r.p / (double)r.q - scale) <= scale * 0x1p-25) break;
        rest = 1 / (rest - whole);
    }
    return r.p > 0 && r.q > 0 ? r : (ratio){1, 1};
}

/* Where an output position comes from, in input coordinates: numerator / denominator. */
typedef struct position {
    gpuc_expr numerator;
    int64_t denominator;
} position;

/* (factor * y + plus) / denominator */
static position linear_in(gpuc_ctx *ctx, gpuc_expr y, int64_t factor, int64_t plus, int64_t denominator)
{
    ratio shared = reduced(factor, denominator);
    int64_t by = shared.p ? factor / shared.p : denominator;
    if (plus % by == 0) {
        factor /= by;
        plus /= by;
        denominator /= by;
    }
    gpuc_expr n = gpuc_add(ctx, gpuc_mul(ctx, y, gpuc_int(ctx, factor)), gpuc_int(ctx, plus));
    return (position){n, denominator};
}

static position source(const gpuc_op_call *call, gpuc_expr y, int64_t in, int64_t out, double scale)
{
    gpuc_ctx *ctx = call->ctx;
    const char *mode = gpuc_attrs_get_string(call->attrs, "coordinate", "half_pixel");
    ratio s = scale_ratio(in, out, scale);
    if (!strcmp(mode, "align_corners")) {
        double wide = (double)in * scale; /* the width before it was rounded down to out */
        if (fabs(wide - (double)out) < 1e-5 * wide) s = reduced(out, in);
        if (out == 1 || in * s.p == s.q) return linear_in(ctx, y, 0, 0, 1);
        return linear_in(ctx, y, (in - 1) * s.q, 0, in * s.p - s.q);
    }
    if (!strcmp(mode, "asymmetric")) return linear_in(ctx, y, s.q, 0, s.p);
    if (!strcmp(mode, "pytorch_half_pixel") && out <= 1) return linear_in(ctx, y, 0, 0, 1);
    if (!strcmp(mode, "tf_half_pixel_for_nn")) return linear_in(ctx, y, 2 * s.q, s.q, 2 * s.p);
    int64_t shift =
        strcmp(mode, "half_pixel_symmetric") ? 0 : in * s.p - out * s.q; /* the middle stays in the middle */
    return linear_in(ctx, y, 2 * s.q, s.q - s.p + shift, 2 * s.p);
}

static gpuc_expr clamp(gpuc_ctx *ctx, gpuc_expr i, int64_t extent)
{
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, i, gpuc_int(ctx, extent - 1)));
}

/* floor((factor * x + plus) / factor), of a position x; plus is in denominators. */
static gpuc_expr floor_of(gpuc_ctx *ctx, position x, int64_t factor, int64_t plus)
{
    gpuc_expr n = gpuc_add(ctx, gpuc_mul(ctx, x.numerator, gpuc_int(ctx, factor)), gpuc_int(ctx, plus));
    return gpuc_floordiv_(ctx, n, gpuc_int(ctx, factor * x.denominator));
}

static gpuc_expr nearest(const gpuc_op_call *call, position x, double scale)
{
    gpuc_ctx *ctx = call->ctx;
    const char *rounding = gpuc_attrs_get_string(call->attrs, "rounding", "round_prefer_floor");
    int64_t d = x.denominator;
    if (!strcmp(rounding, "outward")) rounding = scale < 1 ? "ceil" : "floor";
    if (!strcmp(rounding, "floor")) return floor_of(ctx, x, 1, 0);
    if (!strcmp(rounding, "ceil")) return floor_of(ctx, x, 1, d - 1);
    if (!strcmp(rounding, "round_prefer_floor")) return floor_of(ctx, x, 2, d - 1); /* ceil(x - 1/2) */
    return floor_of(ctx, x, 2, d);                                                  /* floor(x + 1/2) */
}

/* Taps along one axis: input positions and weights. */
typedef struct taps {
    int count;
    gpuc_expr index[4], weight[4];
} taps;

static gpuc_expr cubic_near(const gpuc_op_call *call, gpuc_expr t, double a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr inner = gpuc_sub(ctx, gpuc_mul(ctx, real(call, a + 2), t), real(call, a + 3));
    return gpuc_add(ctx, gpuc_mul(ctx, inner, gpuc_mul(ctx, t, t)), real(call, 1));
}

static gpuc_expr cubic_far(const gpuc_op_call *call, gpuc_expr t, double a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr p = gpuc_sub(ctx, gpuc_mul(ctx, real(call, a), t), real(call, 5 * a));
    p = gpuc_add(ctx, gpuc_mul(ctx, p, t), real(call, 8 * a));
    return gpuc_sub(ctx, gpuc_mul(ctx, p, t), real(call, 4 * a));
}

/* Taps outside of the input weigh nothing, the others add up to one. */
static void exclude_outside(const gpuc_op_call *call, taps *t, gpuc_expr i, int64_t extent)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr sum = real(call, 0);
    for (int k = 0; k < t->count; k++) {
        gpuc_expr at = gpuc_add(ctx, i, gpuc_int(ctx, k - 1));
        gpuc_expr inside =
            gpuc_and(ctx, gpuc_ge(ctx, at, gpuc_int(ctx, 0)), gpuc_lt(ctx, at, gpuc_int(ctx, extent)));
        t->weight[k] = gpuc_select(ctx, inside, t->weight[k], real(call, 0));
        sum = gpuc_add(ctx, sum, t->weight[k]);
    }
    for (int k = 0; k < t->count; k++) t->weight[k] = gpuc_div(ctx, t->weight[k], sum);
}

static taps axis_taps(const gpuc_op_call *call, gpuc_expr y, int axis, const char *method)
{
    gpuc_ctx *ctx = call->ctx;
    int64_t in = gpuc_topi_static_dim(call, 0, axis), out = gpuc_attrs_find(call->attrs, "sizes")->ints[axis];
    double scale = gpuc_attrs_find(call->attrs, "scales")->floats[axis];
    taps t = {.count = 1, .index = {y}, .weight = {real(call, 1)}};
    if (in == out && scale == 1) return t;
    position x = source(call, y, in, out, scale);
    if (!strcmp(method, "nearest")) {
        t.index[0] = clamp(ctx, nearest(call, x, scale), in);
        return t;
    }
    gpuc_expr d = gpuc_int(ctx, x.denominator), i = gpuc_floordiv_(ctx, x.numerator, d);
    gpuc_expr over = gpuc_cast(ctx, work_type(call), gpuc_floormod_(ctx, x.numerator, d));
    gpuc_expr part = gpuc_div(ctx, over, real(call, (double)x.denominator));
    gpuc_expr rest = gpuc_sub(ctx, real(call, 1), part);
    if (!strcmp(method, "linear")) {
        t.count = 2;
        t.weight[0] = rest;
        t.weight[1] = part;
        for (int k = 0; k < 2; k++) t.index[k] = clamp(ctx, gpuc_add(ctx, i, gpuc_int(ctx, k)), in);
        return t;
    }
    double a = gpuc_attrs_get_float(call->attrs, "cubic_a", -0.75);
    t.count = 4;
    t.weight[0] = cubic_far(call, gpuc_add(ctx, part, real(call, 1)), a);
    t.weight[1] = cubic_near(call, part, a);
    t.weight[2] = cubic_near(call, rest, a);
    t.weight[3] = cubic_far(call, gpuc_add(ctx, rest, real(call, 1)), a);
    if (gpuc_attrs_get_int(call->attrs, "exclude_outside", 0)) exclude_outside(call, &t, i, in);
    for (int k = 0; k < 4; k++) t.index[k] = clamp(ctx, gpuc_add(ctx, i, gpuc_int(ctx, k - 1)), in);
    return t;
}

/* The weighted sum over the taps of axes [axis, ndim). */
static gpuc_expr combine(const gpuc_op_call *call, gpuc_tensor *x, const taps *t, int axis, gpuc_expr *index)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    if (axis == ndim) return gpuc_cast(ctx, work_type(call), gpuc_te_read(ctx, x, ndim, index));
    gpuc_expr sum = NULL;
    for (int k = 0; k < t[axis].count; k++) {
        index[axis] = t[axis].index[k];
        gpuc_expr v = gpuc_mul(ctx, combine(call, x, t, axis + 1, index), t[axis].weight[k]);
        sum = sum ? gpuc_add(ctx, sum, v) : v;
    }
    return sum;
}

static void resize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    taps t[GPUC_TOPI_MAX_DIMS];
    const char *method = gpuc_attrs_get_string(call->attrs, "method", "nearest");
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) t[i] = axis_taps(call, vars[i], i, method);
    gpuc_expr value;
    if (!strcmp(method, "nearest")) {
        for (int i = 0; i < ndim; i++) index[i] = t[i].index[0];
        value = gpuc_te_read(ctx, ins[0], ndim, index);
    } else {
        value = gpuc_cast(ctx, call->out[0].dtype, combine(call, ins[0], t, 0, index));
    }
    outs[0] = gpuc_topi_compute(ctx, "resize", "injective", ndim, axes, value);
}

#define STR(nm, def)                                                                                         \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_STRING, .s = def                                                       \
    }
static const gpuc_attr_spec resize_attrs[] = {
    {.name = "sizes", .kind = GPUC_ATTR_INTS, .required = true},
    {.name = "scales", .kind = GPUC_ATTR_FLOATS, .required = true},
    STR("method", "nearest"),
    STR("coordinate", "half_pixel"),
    STR("rounding", "round_prefer_floor"),
    {.name = "cubic_a", .kind = GPUC_ATTR_FLOAT, .f = -0.75},
    {.name = "exclude_outside", .kind = GPUC_ATTR_INT}, /* of cubic */
    {0}};

const gpuc_op gpuc_ops_resize[] = {
    {.name = "image.resize",
     .min_in = 1,
     .max_in = 1,
     .attrs = resize_attrs,
     .infer = infer_resize,
     .compute = resize_compute,
     .pattern = GPUC_FUSE_INJECTIVE,
     .topi = "resize",
     .nnvm = "resize,upsampling",
     .onnx = "Resize,Upsample"},
};
const size_t gpuc_ops_resize_count = sizeof gpuc_ops_resize / sizeof gpuc_ops_resize[0];
