/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a resized axis come from. Positions are ratios of integers, exact, so that ties are
 * where they should be and indices need no floats. */
#include <math.h>
#include <string.h>

#include "topi/image/resize.h"

bool gpuc_topi_resize_crops(const gpuc_op_call *call)
{
    return !strcmp(gpuc_attrs_get_string(call->attrs, "coordinate", ""), "tf_crop_and_resize");
}

double gpuc_topi_resize_scale_of(const gpuc_op_call *call, int axis)
{
    return gpuc_attrs_find(call->attrs, "scales")->floats[axis];
}

gpuc_dtype gpuc_topi_resize_type(const gpuc_op_call *call)
{
    return gpuc_dtype_equal(call->in[0].dtype, GPUC_FLOAT64) ? GPUC_FLOAT64 : GPUC_FLOAT32;
}

gpuc_expr gpuc_topi_resize_real(const gpuc_op_call *call, double v)
{
    return gpuc_imm(call->ctx, gpuc_topi_resize_type(call), v);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Positions that may be negative are lifted by this many elements where they are unsigned. */
enum { LIFT = 128 };

/* Whether the bounds of the extents show that positions, in halves, fit 32 bits. */
static bool fits_index(gpuc_ctx *ctx, gpuc_expr in, gpuc_expr out)
{
    gpuc_expr four = gpuc_int(ctx, 4), one = gpuc_int(ctx, 1);
    gpuc_expr max = gpuc_mul(ctx, gpuc_mul(ctx, gpuc_add(ctx, in, one), gpuc_add(ctx, out, one)), four);
    return gpuc_op_max_size(ctx, in) <= INT32_MAX && gpuc_op_max_size(ctx, out) <= INT32_MAX &&
           gpuc_op_max_size(ctx, max) <= INT32_MAX;
}

gpuc_resize_scale gpuc_topi_resize_scaling(const gpuc_op_call *call, int axis)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_resize_scale s = {.in = call->in[0].dims[axis], .out = call->out[0].dims[axis], .t = GPUC_INDEX};
    double scale = gpuc_topi_resize_scale_of(call, axis);
    bool corners = !strcmp(gpuc_attrs_get_string(call->attrs, "coordinate", ""), "align_corners");
    int64_t in = 0, out = 0;
    bool known = gpuc_expr_is_int(s.in, &in) && gpuc_expr_is_int(s.out, &out);
    if (known && (in == 0 || out == 0)) {
        s.p = s.q = gpuc_int(ctx, 1); /* of no element */
    } else if (known && (scale == 0 || scale == (double)out / (double)in)) {
        int64_t by = common_divisor(out, in);
        s.p = gpuc_int(ctx, out / by);
        s.q = gpuc_int(ctx, in / by);
    } else if (scale > 0) {
        gpuc_scale r = gpuc_op_scale(scale);
        s.p = gpuc_int(ctx, r.p);
        s.q = gpuc_int(ctx, r.q);
    } else {
        s.p = s.out;
        s.q = s.in;
    }
    if (!known && (scale == 0 || corners) && (scale > 0 || !fits_index(ctx, s.in, s.out))) s.t = GPUC_UINT64;
    return s;
}

static gpuc_expr times(gpuc_ctx *ctx, gpuc_expr a, int64_t by)
{
    return gpuc_mul(ctx, a, gpuc_imm_int(ctx, gpuc_expr_dtype(a), by));
}

/* (factor * y + plus - minus) / denominator */
static gpuc_resize_position linear_in(gpuc_ctx *ctx, const gpuc_resize_scale *s, gpuc_expr y,
                                      gpuc_expr factor, gpuc_expr plus, gpuc_expr minus,
                                      gpuc_expr denominator)
{
    int64_t f, add, sub, d;
    if (gpuc_expr_is_int(factor, &f) && gpuc_expr_is_int(plus, &add) && gpuc_expr_is_int(minus, &sub) &&
        gpuc_expr_is_int(denominator, &d)) {
        int64_t by = common_divisor(common_divisor(f, d), add - sub);
        gpuc_expr n = gpuc_add(ctx, times(ctx, y, f / by), gpuc_int(ctx, (add - sub) / by));
        return (gpuc_resize_position){.numerator = n, .denominator = gpuc_int(ctx, d / by)};
    }
    gpuc_expr *parts[] = {&y, &factor, &plus, &minus, &denominator}, none = gpuc_imm_int(ctx, s->t, 0);
    for (int i = 0; i < 5; i++) *parts[i] = gpuc_cast(ctx, s->t, *parts[i]);
    int64_t lift = minus == none || gpuc_dtype_equal(s->t, GPUC_INDEX) ? 0 : LIFT;
    gpuc_expr n = gpuc_add(ctx, gpuc_mul(ctx, y, factor), gpuc_add(ctx, plus, times(ctx, denominator, lift)));
    return (gpuc_resize_position){
        .numerator = gpuc_sub(ctx, n, minus), .denominator = denominator, .lift = lift};
}

gpuc_expr gpuc_topi_resize_as_real(const gpuc_op_call *call, gpuc_expr e)
{
    return gpuc_cast(call->ctx, gpuc_topi_resize_type(call), e);
}

/* Crops to the region [start, end] of the axis, of which 1 is the last element. */
static gpuc_resize_position cropped(const gpuc_op_call *call, const gpuc_resize_scale *s, gpuc_expr y,
                                    int axis)
{
    gpuc_ctx *ctx = call->ctx;
    const double *roi = gpuc_attrs_find(call->attrs, "roi")->floats;
    double start = roi[axis], end = roi[call->in[0].ndim + axis];
    gpuc_expr one = gpuc_int(ctx, 1), last = gpuc_topi_resize_as_real(call, gpuc_sub(ctx, s->in, one));
    gpuc_expr steps = gpuc_topi_resize_as_real(call, gpuc_max(ctx, gpuc_sub(ctx, s->out, one), one));
    gpuc_expr middle = gpuc_mul(ctx, last, gpuc_topi_resize_real(call, (start + end) / 2));
    gpuc_expr step = gpuc_div(ctx, gpuc_mul(ctx, last, gpuc_topi_resize_real(call, end - start)), steps);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, gpuc_topi_resize_as_real(call, y), step),
                            gpuc_mul(ctx, last, gpuc_topi_resize_real(call, start)));
    return (gpuc_resize_position){.real = gpuc_select(ctx, gpuc_eq(ctx, s->out, one), middle, at)};
}

/* Positions from the first element to the last. p / q may be the scale of a width before it was rounded down
 * to out. */
static gpuc_resize_position between_corners(const gpuc_op_call *call, const gpuc_resize_scale *s, gpuc_expr y,
                                            int axis)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr p = s->p, q = s->q, one = gpuc_int(ctx, 1);
    int64_t in, out;
    if (gpuc_expr_is_int(s->in, &in) && gpuc_expr_is_int(s->out, &out)) {
        double wide = (double)in * gpuc_topi_resize_scale_of(call, axis);
        if (fabs(wide - (double)out) < 1e-5 * wide) {
            p = s->out;
            q = s->in;
        }
    }
    bool reduces = p == s->out && q == s->in; /* the factor in common goes */
    gpuc_dtype t = s->t;
    gpuc_expr have = gpuc_cast(ctx, t, s->in), unit = gpuc_imm_int(ctx, t, 1), none = gpuc_imm_int(ctx, t, 0);
    p = reduces ? gpuc_cast(ctx, t, p) : gpuc_mul(ctx, have, gpuc_cast(ctx, t, p));
    q = reduces ? unit : gpuc_cast(ctx, t, q);
    gpuc_expr alone = gpuc_or(ctx, gpuc_eq(ctx, s->out, one), gpuc_eq(ctx, p, q));
    gpuc_expr factor = gpuc_select(ctx, alone, none, gpuc_mul(ctx, gpuc_sub(ctx, have, unit), q)),
              width = gpuc_select(ctx, alone, unit, gpuc_sub(ctx, p, q));
    return linear_in(ctx, s, y, factor, none, none, width);
}

gpuc_resize_position gpuc_topi_resize_source(const gpuc_op_call *call, gpuc_expr y, int axis)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_resize_scale s = gpuc_topi_resize_scaling(call, axis);
    const char *mode = gpuc_attrs_get_string(call->attrs, "coordinate", "half_pixel");
    gpuc_expr zero = gpuc_int(ctx, 0), p = s.p, q = s.q, plus = q, minus = p;
    if (gpuc_topi_resize_crops(call)) return cropped(call, &s, y, axis);
    if (!strcmp(mode, "align_corners")) return between_corners(call, &s, y, axis);
    if (!strcmp(mode, "asymmetric")) return linear_in(ctx, &s, y, q, zero, zero, p);
    gpuc_expr factor = times(ctx, q, 2), width = times(ctx, p, 2);
    if (!strcmp(mode, "tf_half_pixel_for_nn")) return linear_in(ctx, &s, y, factor, q, zero, width);
    if (!strcmp(mode, "pytorch_half_pixel")) { /* one element is the first one */
        gpuc_expr many = gpuc_gt(ctx, s.out, gpuc_int(ctx, 1));
        factor = gpuc_select(ctx, many, factor, zero);
        plus = gpuc_select(ctx, many, plus, zero);
        minus = gpuc_select(ctx, many, minus, zero);
    }
    if (!strcmp(mode, "half_pixel_symmetric") && (p != s.out || q != s.in)) {
        plus = gpuc_add(ctx, plus, gpuc_mul(ctx, s.in, p)); /* the middle stays in the middle */
        minus = gpuc_add(ctx, minus, gpuc_mul(ctx, s.out, q));
    }
    return linear_in(ctx, &s, y, factor, plus, minus, width);
}

static gpuc_expr lifted_back(gpuc_ctx *ctx, gpuc_resize_position x, gpuc_expr i)
{
    return gpuc_sub(ctx, gpuc_cast(ctx, GPUC_INDEX, i), gpuc_int(ctx, x.lift));
}

/* floor((factor * x + plus) / factor), of a gpuc_resize_position x; plus is in denominators. */
static gpuc_expr floor_of(gpuc_ctx *ctx, gpuc_resize_position x, int64_t factor, gpuc_expr plus)
{
    gpuc_expr n = gpuc_add(ctx, times(ctx, x.numerator, factor), plus);
    return lifted_back(ctx, x, gpuc_floordiv_(ctx, n, times(ctx, x.denominator, factor)));
}

static gpuc_expr nearest_real(const gpuc_op_call *call, gpuc_expr x, const char *rounding)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr half = gpuc_topi_resize_real(call, 0.5);
    bool down = !strcmp(rounding, "floor") || !strcmp(rounding, "round_prefer_ceil");
    if (!strcmp(rounding, "round_prefer_floor")) x = gpuc_sub(ctx, x, half);
    if (!strcmp(rounding, "round_prefer_ceil")) x = gpuc_add(ctx, x, half);
    return gpuc_cast(ctx, GPUC_INDEX, gpuc_call1(ctx, down ? "floor" : "ceil", x));
}

static gpuc_expr nearest_by(const gpuc_op_call *call, gpuc_resize_position x, const char *rounding)
{
    gpuc_ctx *ctx = call->ctx;
    if (x.real) return nearest_real(call, x.real, rounding);
    gpuc_expr d = x.denominator, zero = gpuc_imm_int(ctx, gpuc_expr_dtype(d), 0),
              less = gpuc_sub(ctx, d, gpuc_imm_int(ctx, gpuc_expr_dtype(d), 1));
    if (!strcmp(rounding, "floor")) return floor_of(ctx, x, 1, zero);
    if (!strcmp(rounding, "ceil")) return floor_of(ctx, x, 1, less);
    if (!strcmp(rounding, "round_prefer_floor")) return floor_of(ctx, x, 2, less); /* ceil(x - 1/2) */
    return floor_of(ctx, x, 2, d);                                                 /* floor(x + 1/2) */
}

gpuc_expr gpuc_topi_resize_nearest(const gpuc_op_call *call, gpuc_resize_position x, int axis)
{
    const char *rounding = gpuc_attrs_get_string(call->attrs, "rounding", "round_prefer_floor");
    gpuc_resize_scale s = gpuc_topi_resize_scaling(call, axis);
    if (strcmp(rounding, "outward")) return nearest_by(call, x, rounding);
    return gpuc_select(call->ctx, gpuc_lt(call->ctx, s.p, s.q), nearest_by(call, x, "ceil"),
                       nearest_by(call, x, "floor"));
}

void gpuc_topi_resize_split(const gpuc_op_call *call, gpuc_resize_position x, gpuc_expr *element,
                            gpuc_expr *part)
{
    gpuc_ctx *ctx = call->ctx;
    if (x.real) {
        gpuc_expr below = gpuc_call1(ctx, "floor", x.real);
        *element = gpuc_cast(ctx, GPUC_INDEX, below);
        *part = gpuc_sub(ctx, x.real, below);
        return;
    }
    gpuc_expr over = gpuc_topi_resize_as_real(call, gpuc_floormod_(ctx, x.numerator, x.denominator));
    *element = lifted_back(ctx, x, gpuc_floordiv_(ctx, x.numerator, x.denominator));
    *part = gpuc_div(ctx, over, gpuc_topi_resize_as_real(call, x.denominator));
}
