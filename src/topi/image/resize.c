/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of any rank (ONNX Resize-19): nearest, linear, cubic, axis by axis. Rounding "outward" is that of
 * Resize-10: down, or up where the result is smaller. Antialiased kernels are as wide as what becomes one
 * element. A scale of 0 is that of the sizes. */
#include <math.h>
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/image/resize.h"

static void check_name(const gpuc_op_call *call, const char *attr, const char *const *names)
{
    const char *name = gpuc_attrs_get_string(call->attrs, attr, "");
    while (*names && strcmp(*names, name)) names++;
    if (!*names) gpuc_topi_fail(call, "%s '%s' is not known", attr, name);
}

static bool is_cubic(const gpuc_op_call *call)
{
    return !strcmp(gpuc_attrs_get_string(call->attrs, "method", ""), "cubic");
}

/* Whether the scale leaves the axis as it is. */
static bool is_same(const gpuc_op_call *call, int axis)
{
    const gpuc_attr *sizes = gpuc_attrs_find(call->attrs, "sizes");
    double scale = gpuc_attrs_find(call->attrs, "scales")->floats[axis];
    return gpuc_attr_size(call->ctx, sizes, axis) == call->in[0].dims[axis] && (scale == 0 || scale == 1);
}

/* Indices of symbolic extents are computed in 32 bits: what a scale makes of them must fit. */
static void check_fits(const gpuc_op_call *call, int axis, gpuc_expr in, gpuc_expr out)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_scale s = gpuc_op_scale(gpuc_topi_resize_scale_of(call, axis));
    int64_t a, b;
    if (gpuc_expr_is_int(in, &a) && gpuc_expr_is_int(out, &b)) return;
    gpuc_expr from = gpuc_mul(ctx, in, gpuc_int(ctx, 4 * s.p)),
              to = gpuc_mul(ctx, out, gpuc_int(ctx, 4 * s.q));
    gpuc_topi_require(call, gpuc_le(ctx, gpuc_add(ctx, from, to), gpuc_int(ctx, INT32_MAX)),
                      "dimension %d is too large for the scale %lld/%lld", axis, (long long)s.p,
                      (long long)s.q);
}

static void infer_resize(gpuc_op_call *call)
{
    static const char *const methods[] = {"nearest", "linear", "cubic", NULL};
    static const char *const coordinates[] = {
        "half_pixel",           "asymmetric",           "align_corners",      "pytorch_half_pixel",
        "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "outward", NULL};
    gpuc_ctx *ctx = call->ctx;
    check_name(call, "method", methods);
    check_name(call, "coordinate", coordinates);
    check_name(call, "rounding", roundings);
    const gpuc_tensor_type *in = &call->in[0];
    const gpuc_attr *scales = gpuc_attrs_find(call->attrs, "scales");
    const gpuc_attr *roi = gpuc_attrs_find(call->attrs, "roi");
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], zero = gpuc_int(ctx, 0);
    gpuc_topi_sizes(call, "sizes", in->ndim, dims);
    if (gpuc_topi_resize_crops(call) && roi->n != 2 * in->ndim)
        gpuc_topi_fail(call, "roi has %d entries for %d dimensions", roi->n, in->ndim);
    if (scales->n != in->ndim)
        gpuc_topi_fail(call, "scales has %d entries for %d dimensions", scales->n, in->ndim);
    for (int i = 0; i < in->ndim; i++) {
        double scale = scales->floats[i];
        gpuc_expr none = gpuc_eq(ctx, dims[i], zero), some = gpuc_gt(ctx, in->dims[i], zero);
        if (!(scale >= 0) || scale > 0x1p30) gpuc_topi_fail(call, "dimension %d has the scale %g", i, scale);
        gpuc_topi_require(call, gpuc_ge(ctx, dims[i], zero), "dimension %d has the size %s", i,
                          gpuc_expr_text(ctx, dims[i]));
        gpuc_topi_require(call, gpuc_or(ctx, none, some), "dimension %d has nothing to take from", i);
        if (scale > 0 && !is_same(call, i)) check_fits(call, i, in->dims[i], dims[i]);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static gpuc_expr clamp(gpuc_ctx *ctx, gpuc_expr i, gpuc_expr extent)
{
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, i, gpuc_sub(ctx, extent, gpuc_int(ctx, 1))));
}

/* Taps along one axis: input positions and weights; a condition (or NULL) outside of which the result is the
 * extrapolation value. */
typedef struct taps {
    int count;
    gpuc_expr index[4], weight[4], inside;
} taps;

static gpuc_expr cubic_near(const gpuc_op_call *call, gpuc_expr t, double a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr inner = gpuc_sub(ctx, gpuc_mul(ctx, gpuc_topi_resize_real(call, a + 2), t),
                               gpuc_topi_resize_real(call, a + 3));
    return gpuc_add(ctx, gpuc_mul(ctx, inner, gpuc_mul(ctx, t, t)), gpuc_topi_resize_real(call, 1));
}

static gpuc_expr cubic_far(const gpuc_op_call *call, gpuc_expr t, double a)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr p =
        gpuc_sub(ctx, gpuc_mul(ctx, gpuc_topi_resize_real(call, a), t), gpuc_topi_resize_real(call, 5 * a));
    p = gpuc_add(ctx, gpuc_mul(ctx, p, t), gpuc_topi_resize_real(call, 8 * a));
    return gpuc_sub(ctx, gpuc_mul(ctx, p, t), gpuc_topi_resize_real(call, 4 * a));
}

/* Taps outside of the input weigh nothing, the others add up to one. */
static void exclude_outside(const gpuc_op_call *call, taps *t, gpuc_expr i, gpuc_expr extent)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr sum = gpuc_topi_resize_real(call, 0);
    for (int k = 0; k < t->count; k++) {
        gpuc_expr at = gpuc_add(ctx, i, gpuc_int(ctx, k - 1));
        gpuc_expr inside = gpuc_and(ctx, gpuc_ge(ctx, at, gpuc_int(ctx, 0)), gpuc_lt(ctx, at, extent));
        t->weight[k] = gpuc_select(ctx, inside, t->weight[k], gpuc_topi_resize_real(call, 0));
        sum = gpuc_add(ctx, sum, t->weight[k]);
    }
    for (int k = 0; k < t->count; k++) t->weight[k] = gpuc_div(ctx, t->weight[k], sum);
}

/* Whether the axis keeps its elements. */
static bool stays(const gpuc_op_call *call, int axis)
{
    const double *roi = gpuc_attrs_find(call->attrs, "roi")->floats;
    bool whole = !gpuc_topi_resize_crops(call) || (roi[axis] == 0 && roi[call->in[0].ndim + axis] == 1);
    return whole && is_same(call, axis);
}

/* The condition that a position of a crop lies inside of the input; NULL: always. */
static gpuc_expr inside_of(const gpuc_op_call *call, gpuc_resize_position x, int axis)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr last = gpuc_topi_resize_as_real(call, gpuc_sub(ctx, call->in[0].dims[axis], gpuc_int(ctx, 1)));
    if (!x.real) return NULL;
    return gpuc_and(ctx, gpuc_ge(ctx, x.real, gpuc_topi_resize_real(call, 0)), gpuc_le(ctx, x.real, last));
}

static taps axis_taps(const gpuc_op_call *call, gpuc_expr y, int axis, const char *method)
{
    gpuc_ctx *ctx = call->ctx;
    taps t = {.count = 1, .index = {y}, .weight = {gpuc_topi_resize_real(call, 1)}};
    if (stays(call, axis)) return t;
    gpuc_expr in = call->in[0].dims[axis];
    gpuc_resize_position x = gpuc_topi_resize_source(call, y, axis);
    t.inside = inside_of(call, x, axis);
    if (!strcmp(method, "nearest")) {
        t.index[0] = clamp(ctx, gpuc_topi_resize_nearest(call, x, axis), in);
        return t;
    }
    gpuc_expr i, part;
    gpuc_topi_resize_split(call, x, &i, &part);
    gpuc_expr rest = gpuc_sub(ctx, gpuc_topi_resize_real(call, 1), part);
    if (!strcmp(method, "linear")) {
        t.count = 2;
        t.weight[0] = rest;
        t.weight[1] = part;
        for (int k = 0; k < 2; k++) t.index[k] = clamp(ctx, gpuc_add(ctx, i, gpuc_int(ctx, k)), in);
        return t;
    }
    double a = gpuc_attrs_get_float(call->attrs, "cubic_a", -0.75);
    t.count = 4;
    t.weight[0] = cubic_far(call, gpuc_add(ctx, part, gpuc_topi_resize_real(call, 1)), a);
    t.weight[1] = cubic_near(call, part, a);
    t.weight[2] = cubic_near(call, rest, a);
    t.weight[3] = cubic_far(call, gpuc_add(ctx, rest, gpuc_topi_resize_real(call, 1)), a);
    if (gpuc_attrs_get_int(call->attrs, "exclude_outside", 0)) exclude_outside(call, &t, i, in);
    for (int k = 0; k < 4; k++) t.index[k] = clamp(ctx, gpuc_add(ctx, i, gpuc_int(ctx, k - 1)), in);
    return t;
}

/* Whether positions need no division but by a small number that is known. */
static bool is_enlarged_evenly(const gpuc_op_call *call, int axis)
{
    gpuc_resize_scale s = gpuc_topi_resize_scaling(call, axis);
    bool corners = !strcmp(gpuc_attrs_get_string(call->attrs, "coordinate", ""), "align_corners");
    return gpuc_tir_is_const(s.q, 1) && s.p->kind == GPUC_EXPR_INT && !corners &&
           !gpuc_topi_resize_crops(call);
}

/* The taps of the last axis at its position y. Where positions need divisions, which take longer than to load an index,
 * a table has them. Other axes have one position for a loop over the last. */
static taps last_taps(const gpuc_op_call *call, gpuc_expr y, const char *method)
{
    gpuc_ctx *ctx = call->ctx;
    int axis = call->in[0].ndim - 1;
    bool known =
        call->in[0].dims[axis]->kind == GPUC_EXPR_INT && call->out[0].dims[axis]->kind == GPUC_EXPR_INT;
    if (stays(call, axis) || is_enlarged_evenly(call, axis) || (known && !strcmp(method, "nearest")))
        return axis_taps(call, y, axis, method);
    gpuc_tensor_type type = {.ndim = 1, .dims = &call->out[0].dims[axis]};
    gpuc_expr v, bodies[8];
    gpuc_tensor *outs[8];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, &v);
    taps t = axis_taps(call, v, axis, method);
    int n = t.count, own = t.count == 4 ? 0 : 1; /* the first that has a weight of its own */
    /* infer checks that indices of a scaled axis fit */
    bool fits = gpuc_topi_resize_scale_of(call, axis) > 0 ||
                gpuc_op_max_size(ctx, call->in[0].dims[axis]) <= INT32_MAX;
    for (int k = 0; k < n; k++) bodies[k] = gpuc_cast(ctx, fits ? GPUC_INT32 : GPUC_INDEX, t.index[k]);
    for (int k = own; k < t.count; k++) bodies[n++] = t.weight[k];
    gpuc_te_compute_n(ctx, "taps", 1, axes, n, bodies, outs);
    gpuc_te_set_attr(ctx, outs[0], "tag", "shared_table");
    for (int k = 0; k < t.count; k++)
        t.index[k] = gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, outs[k], 1, &y));
    for (int k = own; k < t.count; k++) t.weight[k] = gpuc_te_read(ctx, outs[t.count + k - own], 1, &y);
    if (t.count == 2) t.weight[0] = gpuc_sub(ctx, gpuc_topi_resize_real(call, 1), t.weight[1]);
    if (t.inside) t.inside = inside_of(call, gpuc_topi_resize_source(call, y, axis), axis);
    return t;
}

/* The weighted sum over the taps of axes [axis, end), at an index of the others. */
static gpuc_expr combine(const gpuc_op_call *call, gpuc_tensor *x, const taps *t, int axis, int end,
                         gpuc_expr *index)
{
    gpuc_ctx *ctx = call->ctx;
    if (axis == end)
        return gpuc_cast(ctx, gpuc_topi_resize_type(call), gpuc_te_read(ctx, x, call->in[0].ndim, index));
    gpuc_expr sum = NULL;
    for (int k = 0; k < t[axis].count; k++) {
        index[axis] = t[axis].index[k];
        gpuc_expr v = gpuc_mul(ctx, combine(call, x, t, axis + 1, end, index), t[axis].weight[k]);
        sum = sum ? gpuc_add(ctx, sum, v) : v;
    }
    return sum;
}

/* Resizes all axes but the last one, along which loops are contiguous. CPUs keep that, and then load one element for
 * each tap of the last axis, GPUs inline it. NULL: there are no such axes, the last one stays, or
 * more elements than now would be computed to be read. */
static gpuc_tensor *resize_rows(const gpuc_op_call *call, gpuc_tensor *x, const char *method)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, last = ndim - 1;
    bool any = false;
    for (int i = 0; i < last; i++) any |= !stays(call, i);
    if (!any || stays(call, last)) return NULL;
    bool computed = x->op->kind == GPUC_TE_COMPUTE && !x->op->num_reduce; /* where it is read */
    bool grows = gpuc_topi_proves(ctx, gpuc_le(ctx, call->in[0].dims[last], call->out[0].dims[last]));
    if (computed && !grows) return NULL;
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    memcpy(dims, call->out[0].dims, sizeof *dims * (size_t)ndim);
    dims[last] = call->in[0].dims[last];
    gpuc_tensor_type type = {.ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, vars);
    taps t[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < last; i++) t[i] = axis_taps(call, vars[i], i, method);
    index[last] = vars[last];
    return gpuc_topi_compute(ctx, "rows", "shared_table", ndim, axes, combine(call, x, t, 0, last, index));
}

/* The value, or that for places outside of the input. */
static gpuc_expr extrapolated(const gpuc_op_call *call, const taps *t, gpuc_expr value)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr outside =
        gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "extrapolation_value", 0));
    for (int i = 0; i < call->out[0].ndim; i++)
        if (t[i].inside) value = gpuc_select(ctx, t[i].inside, value, outside);
    return value;
}

static void resize_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS];
    taps t[GPUC_TOPI_MAX_DIMS];
    const char *method = gpuc_attrs_get_string(call->attrs, "method", "nearest");
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++)
        t[i] = i == ndim - 1 ? last_taps(call, vars[i], method) : axis_taps(call, vars[i], i, method);
    gpuc_expr value;
    if (!strcmp(method, "nearest")) {
        for (int i = 0; i < ndim; i++) index[i] = t[i].index[0];
        value = gpuc_te_read(ctx, ins[0], ndim, index);
    } else {
        gpuc_tensor *rows = resize_rows(call, ins[0], method);
        memcpy(index, vars, sizeof *index * (size_t)ndim);
        value = combine(call, rows ? rows : ins[0], t, rows ? ndim - 1 : 0, ndim, index);
        value = gpuc_cast(ctx, call->out[0].dtype, value);
    }
    outs[0] = gpuc_topi_compute(ctx, "resize", "injective", ndim, axes, extrapolated(call, t, value));
}

/* ---- Antialiasing: axis by axis, a mean of the elements under a kernel as wide as what is made one ---- */

/* The kernel of the method at a distance. */
static gpuc_expr kernel(const gpuc_op_call *call, gpuc_expr distance)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr d = gpuc_call1(ctx, "abs", distance), one = gpuc_topi_resize_real(call, 1),
              zero = gpuc_topi_resize_real(call, 0);
    if (!is_cubic(call)) return gpuc_max(ctx, zero, gpuc_sub(ctx, one, d));
    double a = gpuc_attrs_get_float(call->attrs, "cubic_a", -0.75);
    gpuc_expr far =
        gpuc_select(ctx, gpuc_lt(ctx, d, gpuc_topi_resize_real(call, 2)), cubic_far(call, d, a), zero);
    return gpuc_select(ctx, gpuc_le(ctx, d, one), cubic_near(call, d, a), far);
}

/* The sums over the kernel at each place of the axis: of x times the weights, or (x NULL) of the weights. */
static gpuc_tensor *axis_sums(const gpuc_op_call *call, gpuc_tensor *x, int axis)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = x ? gpuc_te_ndim(x) : 1, own = x ? axis : 0;
    gpuc_resize_scale s = gpuc_topi_resize_scaling(call, axis);
    gpuc_expr in = s.in, min = gpuc_min(ctx, s.p, s.q), two = gpuc_int(ctx, 2);
    gpuc_expr shrink =
        gpuc_div(ctx, gpuc_topi_resize_as_real(call, min), gpuc_topi_resize_as_real(call, s.q));
    gpuc_expr reach = gpuc_floordiv_(ctx, gpuc_mul(ctx, s.q, gpuc_int(ctx, is_cubic(call) ? -2 : -1)), min);
    gpuc_expr first = gpuc_add(ctx, reach, gpuc_int(ctx, 1));
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], dims[GPUC_TOPI_MAX_DIMS], i, part;
    for (int k = 0; x && k < ndim; k++) dims[k] = gpuc_te_shape(x)[k];
    dims[own] = call->out[0].dims[axis];
    gpuc_tensor_type t = {.ndim = ndim, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars),
              *tap = gpuc_te_reduce_axis(ctx, gpuc_sub(ctx, two, gpuc_mul(ctx, two, first)), "tap");
    gpuc_topi_resize_split(call, gpuc_topi_resize_source(call, vars[own], axis), &i, &part);
    gpuc_expr offset = gpuc_add(ctx, gpuc_iter_var(tap), first), at = gpuc_add(ctx, i, offset);
    gpuc_expr distance = gpuc_sub(ctx, gpuc_cast(ctx, gpuc_topi_resize_type(call), offset), part);
    gpuc_expr body = kernel(call, gpuc_mul(ctx, distance, shrink));
    if (gpuc_attrs_get_int(call->attrs, "exclude_outside", 0)) {
        gpuc_expr inside = gpuc_and(ctx, gpuc_ge(ctx, at, gpuc_int(ctx, 0)), gpuc_lt(ctx, at, in));
        body = gpuc_select(ctx, inside, body, gpuc_topi_resize_real(call, 0));
    }
    if (x) {
        gpuc_expr index[GPUC_TOPI_MAX_DIMS];
        memcpy(index, vars, sizeof *index * (size_t)ndim);
        index[own] = clamp(ctx, at, in);
        body = gpuc_mul(ctx, body,
                        gpuc_cast(ctx, gpuc_topi_resize_type(call), gpuc_te_read(ctx, x, ndim, index)));
    }
    return gpuc_topi_compute(ctx, x ? "sums" : "weights", "", ndim, axes,
                             gpuc_te_reduce(ctx, "sum", body, 1, &tap));
}

static gpuc_tensor *quotient(const gpuc_op_call *call, gpuc_tensor *sums, gpuc_tensor *weights, int axis)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_tensor_type t = {.ndim = gpuc_te_ndim(sums), .dims = gpuc_te_shape(sums)};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_expr value =
        gpuc_div(ctx, gpuc_te_read(ctx, sums, t.ndim, vars), gpuc_te_read(ctx, weights, 1, &vars[axis]));
    return gpuc_topi_compute(ctx, "mean", "elemwise", t.ndim, axes, value);
}

static void antialiased_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    gpuc_tensor *x = ins[0];
    taps t[GPUC_TOPI_MAX_DIMS];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) {
        t[i] = (taps){0};
        if (stays(call, i)) continue;
        t[i].inside = inside_of(call, gpuc_topi_resize_source(call, vars[i], i), i);
        x = quotient(call, axis_sums(call, x, i), axis_sums(call, NULL, i), i);
    }
    gpuc_expr value = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, x, ndim, vars));
    outs[0] = gpuc_topi_compute(ctx, "resize", "injective", ndim, axes, extrapolated(call, t, value));
}

/* ---- Other spellings ---- */

/* The first spatial dimension of data in the layout that the call names; -1: the data is not known. */
static int space_of(gpuc_op_written *w, int *rank)
{
    const char *layout = gpuc_attrs_get_string(w->given, "layout", "NCHW");
    static const char *const known[] = {"NCHW", "NCW", "NCDHW", "NHWC", "NWC", "NDHWC"};
    int i = 0;
    while (i < 6 && strcmp(known[i], layout)) i++;
    if (i == 6)
        gpuc_op_written_fail(w, "layout is '%s'; known are NCHW and NHWC, of 1 to 3 spatial dimensions",
                             layout);
    if (!w->in || w->num_written < 1 || w->in[0].ndim < 3) return -1;
    *rank = w->in[0].ndim - 2;
    return i < 3 ? 2 : 1;
}

/* These sizes of the spatial dimensions. */
static void set_sizes(gpuc_op_written *w, const gpuc_expr *space)
{
    int rank, first = space_of(w, &rank), ndim = w->in[0].ndim;
    gpuc_expr *sizes = gpuc_new_array(w->ctx, gpuc_expr, ndim);
    double *scales = gpuc_new_array(w->ctx, double, ndim);
    for (int i = 0; i < ndim; i++) {
        bool inner = i >= first && i < first + rank;
        sizes[i] = inner ? space[i - first] : w->in[0].dims[i];
        scales[i] = inner ? 0 : 1;
    }
    gpuc_op_set_sizes(w, "sizes", ndim, sizes);
    gpuc_op_set_attr(w, "scales",
                     gpuc_attrs_find(gpuc_attrs_floats(w->ctx, NULL, "scales", ndim, scales), "scales"));
}

static void take_size(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int rank, first = space_of(w, &rank), n = value->kind == GPUC_ATTR_INT ? 1 : value->n;
    if (first < 0) return;
    if (n != 1 && n != rank)
        gpuc_op_written_fail(w, "%s has %d entries for %d dimensions", spec->name, n, rank);
    gpuc_expr *space = gpuc_new_array(w->ctx, gpuc_expr, rank);
    for (int i = 0; i < rank; i++)
        space[i] = value->kind == GPUC_ATTR_INT ? gpuc_int(w->ctx, value->i)
                                                : gpuc_attr_size(w->ctx, value, n == 1 ? 0 : i);
    set_sizes(w, space);
}

/* A dimension times a scale, to the nearest integer, halves up: the scale is the ratio that it stands for, so that this
 * holds whether the dimension is known or not. */
static gpuc_expr scaled(gpuc_ctx *ctx, gpuc_expr dim, double by)
{
    if (by == trunc(by)) return gpuc_mul(ctx, dim, gpuc_int(ctx, (int64_t)by));
    if (by < 0x1p-30) return gpuc_int(ctx, 0); /* of any dimension, and no ratio stands for it */
    gpuc_scale s = gpuc_op_scale(by);
    gpuc_expr twice = gpuc_mul(ctx, dim, gpuc_int(ctx, 2 * s.p));
    return gpuc_floordiv_(ctx, gpuc_add(ctx, twice, gpuc_int(ctx, s.q)), gpuc_int(ctx, 2 * s.q));
}

/* scale of all spatial dimensions, or scale_d, scale_h and scale_w of the last three. */
static void take_scale(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const char *const names[] = {"scale_w", "scale_h", "scale_d"};
    int rank, first = space_of(w, &rank);
    (void)value;
    if (first < 0) return;
    gpuc_expr *space = gpuc_new_array(w->ctx, gpuc_expr, rank);
    for (int i = 0; i < rank; i++) {
        const char *name = rank - 1 - i < 3 ? names[rank - 1 - i] : "scale";
        const gpuc_attr *a = gpuc_attrs_find(w->given, "scale");
        if (!a) a = gpuc_attrs_find(w->given, name);
        double by = !a                           ? 1
                    : a->kind == GPUC_ATTR_INT   ? (double)a->i
                    : a->kind == GPUC_ATTR_FLOAT ? a->f
                                                 : NAN;
        if (!(by >= 0 && by <= 0x1p30)) gpuc_op_written_fail(w, "%s must be a number from 0 on", a->name);
        space[i] = scaled(w->ctx, w->in[0].dims[first + i], by);
    }
    (void)spec;
    set_sizes(w, space);
}

static void take_corners(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    bool corners = value->i;
    gpuc_op_set_attr(w, spec->to,
                     &(gpuc_attr){.name = spec->to,
                                  .kind = GPUC_ATTR_STRING,
                                  .s = corners ? "align_corners" : "asymmetric"});
}

/* TVM: of the spatial dimensions only. */
static void take_roi(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int rank = 0, first = space_of(w, &rank);
    bool ints = value->kind == GPUC_ATTR_INTS;
    if ((!ints && value->kind != GPUC_ATTR_FLOATS) || first < 0 || value->n != 2 * rank) {
        gpuc_op_set_attr(w, spec->to, value);
        return;
    }
    int ndim = rank + 2;
    double *roi = gpuc_new_array(w->ctx, double, 2 * ndim);
    for (int i = 0; i < 2 * ndim; i++) {
        int k = i % ndim - first;
        bool inner = k >= 0 && k < rank;
        int at = k + (i >= ndim ? rank : 0);
        roi[i] = !inner ? i >= ndim : ints ? (double)value->ints[at] : value->floats[at];
    }
    gpuc_op_set_attr(w, spec->to,
                     gpuc_attrs_find(gpuc_attrs_floats(w->ctx, NULL, "roi", 2 * ndim, roi), "roi"));
}

static void take_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int rank;
    (void)spec;
    (void)value;
    space_of(w, &rank);
    if (gpuc_attrs_find(w->given, "sizes")) gpuc_op_written_fail(w, "layout goes with size, not with sizes");
}

#define METHODS                                                                                              \
    "nearest_neighbor=nearest,NEAREST_NEIGHBOR=nearest,bilinear=linear,BILINEAR=linear,trilinear=linear,"    \
    "bicubic=cubic"

#define STR(nm, def)                                                                                         \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_STRING, .s = def                                                       \
    }
static const gpuc_attr_spec resize_attrs[] = {
    {.name = "sizes", .kind = GPUC_ATTR_INTS, .required = true, .symbolic = true},
    {.name = "scales", .kind = GPUC_ATTR_FLOATS, .required = true},
    STR("method", "nearest"),
    STR("coordinate", "half_pixel"),
    STR("rounding", "round_prefer_floor"),
    {.name = "cubic_a", .kind = GPUC_ATTR_FLOAT, .f = -0.75},
    {.name = "exclude_outside", .kind = GPUC_ATTR_INT}, /* of cubic, and of what is antialiased */
    {.name = "roi", .kind = GPUC_ATTR_FLOATS},          /* of tf_crop_and_resize: starts, then ends */
    {.name = "extrapolation_value", .kind = GPUC_ATTR_FLOAT},
    SPELLED("size", INTS, take_size, "sizes", "of the spatial dimensions"),
    SPELLED("layout", STRING, take_layout, NULL, "with size: which dimensions are spatial"),
    SPELLED("scale", FLOAT, take_scale, "sizes", "of all spatial dimensions"),
    SPELLED("scale_h", FLOAT, take_scale, "sizes", NULL),
    SPELLED("scale_w", FLOAT, take_scale, "sizes", NULL),
    SPELLED("scale_d", FLOAT, take_scale, "sizes", NULL),
    SPELLED("align_corners", INT, take_corners, "coordinate", "0: asymmetric"),
    VALUES("method", "method|" METHODS),
    SAME("coordinate_transformation_mode", STRING, "coordinate"),
    VALUES("rounding_method", "rounding|round=round_prefer_ceil,=round_prefer_ceil,floor=floor,ceil=ceil,"
                              "round_prefer_floor=round_prefer_floor,round_prefer_ceil=round_prefer_ceil"),
    SAME("cubic_alpha", FLOAT, "cubic_a"),
    SAME("bicubic_alpha", FLOAT, "cubic_a"),
    SAME("cubic_exclude", INT, "exclude_outside"),
    SAME("bicubic_exclude", INT, "exclude_outside"),
    SPELLED("roi", FLOATS, take_roi, "roi", "or of the spatial dimensions only"),
    SPELLED("out_dtype", DTYPE, gpuc_op_take_out_type, NULL, "the result is cast to it"),
    {0}};

const gpuc_op gpuc_topi_ops_resize[] = {
    {.name = "image.resize",
     .min_in = 1,
     .max_in = 1,
     .attrs = resize_attrs,
     .infer = infer_resize,
     .compute = resize_compute,
     .pattern = GPUC_FUSE_INJECTIVE,
     .topi = "",
     .nnvm = "",
     .onnx = "Resize,Upsample"},
    {.name = "image.resize_antialiased",
     .min_in = 1,
     .max_in = 1,
     .types = {GPUC_T_FLOATS},
     .attrs = resize_attrs,
     .infer = infer_resize,
     .compute = antialiased_compute,
     .pattern = GPUC_FUSE_OPAQUE,
     .topi = "resize_antialiased",
     .nnvm = "",
     .onnx = "Resize"},
};
const size_t gpuc_topi_ops_resize_count = sizeof gpuc_topi_ops_resize / sizeof gpuc_topi_ops_resize[0];
