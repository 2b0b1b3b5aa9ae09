/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of data [N, C, space] at the places of a grid [N, places, coordinates], the last axis of the data's
 * space first (ONNX GridSample-20), in any number of dimensions. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/image/taps.h"

enum {
    MAX_RANK = GPUC_TAPS_AXES,
    FAR = 4, /* elements beyond the data, where no tap of a coordinate is on it */
};

static const char *text_attr(const gpuc_op_call *call, const char *name, const char *const *known)
{
    const char *text = gpuc_attrs_get_string(call->attrs, name, "");
    for (; *known; known++)
        if (!strcmp(text, *known)) return text;
    gpuc_topi_fail(call, "%s '%s' is not known", name, text);
}

static void infer_grid_sample(gpuc_op_call *call)
{
    static const char *const methods[] = {"nearest", "linear", "cubic", NULL};
    static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
    const gpuc_tensor_type *x = &call->in[0], *grid = &call->in[1];
    int rank = x->ndim - 2;
    gpuc_expr dims[MAX_RANK + 2];
    text_attr(call, "method", methods);
    text_attr(call, "padding_mode", paddings);
    if (rank < 1 || rank > MAX_RANK || grid->ndim != x->ndim)
        gpuc_topi_fail(call, "data of %d dimensions, a grid of %d; both need 3 to %d", x->ndim, grid->ndim,
                       MAX_RANK + 2);
    if (gpuc_topi_static_dim(call, 1, grid->ndim - 1) != rank)
        gpuc_topi_fail(call, "the last dimension of the grid is not %d, the axes of the data's space", rank);
    if (x->dims[0] && grid->dims[0] && x->dims[0] != grid->dims[0])
        gpuc_topi_require(call, gpuc_eq(call->ctx, x->dims[0], grid->dims[0]),
                          "the data and the grid have other batches");
    for (int i = 0; i < rank; i++) {
        dims[2 + i] = grid->dims[1 + i];
        if (x->dims[2 + i])
            gpuc_topi_require(call, gpuc_ge(call->ctx, x->dims[2 + i], gpuc_int(call->ctx, 1)),
                              "dimension %d of the data has nothing to take from", 2 + i);
    }
    gpuc_topi_taps_check(call);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    gpuc_topi_set_out(call, 0, x->dtype, x->ndim, dims);
}

/* One axis of the data's space. */
typedef struct axis {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    gpuc_dtype work;
    gpuc_expr extent, length;      /* an index; a real number */
    bool aligned, reflects, stays; /* at the border */
} axis;

static gpuc_expr real(const axis *a, double v)
{
    return gpuc_imm(a->ctx, a->work, v);
}

/* A coordinate of -1 is the middle of the first element or, unless corners are aligned, its outer edge. */
static gpuc_expr denormalized(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr half = real(a, 0.5), one = real(a, 1);
    x = gpuc_add(ctx, x, one);
    if (a->aligned) return gpuc_mul(ctx, gpuc_mul(ctx, x, half), gpuc_sub(ctx, a->length, one));
    return gpuc_mul(ctx, gpuc_sub(ctx, gpuc_mul(ctx, x, a->length), one), half);
}

/* Back and forth between the borders, the middles of the outer elements or their outer edges. */
static gpuc_expr reflected(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr min = real(a, a->aligned ? 0 : -0.5), one = real(a, 1), zero = real(a, 0), two = real(a, 2);
    gpuc_expr range = a->aligned ? gpuc_sub(ctx, a->length, one) : a->length;
    gpuc_expr over = gpuc_call1(ctx, "abs", gpuc_sub(ctx, x, min));
    gpuc_expr empty = gpuc_eq(ctx, range, zero), by = gpuc_select(ctx, empty, one, range);
    gpuc_expr times = gpuc_call1(ctx, "floor", gpuc_div(ctx, over, by));
    gpuc_expr rest = gpuc_sub(ctx, over, gpuc_mul(ctx, times, by));
    gpuc_expr odd =
        gpuc_sub(ctx, times, gpuc_mul(ctx, two, gpuc_call1(ctx, "floor", gpuc_div(ctx, times, two))));
    gpuc_expr at =
        gpuc_add(ctx, min, gpuc_select(ctx, gpuc_eq(ctx, odd, zero), rest, gpuc_sub(ctx, range, rest)));
    return gpuc_select(ctx, empty, zero, at);
}

static gpuc_expr clamped(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    return gpuc_max(ctx, real(a, 0), gpuc_min(ctx, x, gpuc_sub(ctx, a->length, real(a, 1))));
}

/* Maps a coordinate beyond the borders by the padding mode. Coordinates farther out than any tap are all
 * alike, so they are clamped. */
static gpuc_expr bordered(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    if (a->stays) return clamped(a, x);
    if (!a->reflects)
        return gpuc_max(ctx, real(a, -FAR), gpuc_min(ctx, x, gpuc_add(ctx, a->length, real(a, FAR))));
    gpuc_expr edge = real(a, a->aligned ? 0 : -0.5),
              last = gpuc_sub(ctx, gpuc_sub(ctx, a->length, real(a, 1)), edge);
    gpuc_expr within = gpuc_and(ctx, gpuc_ge(ctx, x, edge), gpuc_le(ctx, x, last));
    return gpuc_select(ctx, within, x, reflected(a, x));
}

/* Keys' kernel with a = -0.75, of a distance in [0, 1] or [1, 2]. */
static gpuc_expr cubic_near(const axis *a, gpuc_expr d)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr inner = gpuc_sub(ctx, gpuc_mul(ctx, real(a, 1.25), d), real(a, 2.25));
    return gpuc_add(ctx, gpuc_mul(ctx, gpuc_mul(ctx, inner, d), d), real(a, 1));
}

static gpuc_expr cubic_far(const axis *a, gpuc_expr d)
{
    gpuc_ctx *ctx = a->ctx;
    gpuc_expr p = gpuc_add(ctx, gpuc_mul(ctx, real(a, -0.75), d), real(a, 3.75));
    p = gpuc_sub(ctx, gpuc_mul(ctx, p, d), real(a, 6));
    return gpuc_add(ctx, gpuc_mul(ctx, p, d), real(a, 3));
}

/* The element before a place, as an index that may be a little outside of the data. */
static gpuc_expr element_of(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    return gpuc_topi_int_of(ctx, x, real(a, -FAR), gpuc_add(ctx, a->length, real(a, FAR)));
}

static gpuc_taps axis_taps(const axis *a, gpuc_expr x)
{
    gpuc_ctx *ctx = a->ctx;
    const char *method = gpuc_attrs_get_string(a->call->attrs, "method", "linear");
    gpuc_taps t = {.count = 1};
    gpuc_expr one = real(a, 1), first;
    if (!strcmp(method, "nearest")) {
        first = bordered(a, gpuc_call1(ctx, "round", x));
    } else {
        x = bordered(a, x);
        first = gpuc_call1(ctx, "floor", x);
        gpuc_expr part = gpuc_sub(ctx, x, first), rest = gpuc_sub(ctx, one, part);
        bool cubic = !strcmp(method, "cubic");
        gpuc_expr linear[] = {rest, part},
                  keys[] = {cubic_far(a, gpuc_add(ctx, part, one)), cubic_near(a, part), cubic_near(a, rest),
                            cubic_far(a, gpuc_add(ctx, rest, one))};
        t.count = cubic ? 4 : 2;
        memcpy(t.weight, cubic ? keys : linear, sizeof *keys * (size_t)t.count);
        if (cubic) first = gpuc_sub(ctx, first, one);
    }
    gpuc_expr zero = gpuc_imm_int(ctx, GPUC_INT32, 0), unit = gpuc_imm_int(ctx, GPUC_INT32, 1),
              last = gpuc_sub(ctx, gpuc_cast(ctx, GPUC_INT32, a->extent), unit);
    for (int k = 0; k < t.count; k++) {
        gpuc_expr at;
        if (a->reflects) {
            /* One half where the reflection is at an edge: the element is the one before it. */
            at = element_of(a, gpuc_call1(ctx, "trunc", bordered(a, gpuc_add(ctx, first, real(a, k)))));
        } else {
            at = gpuc_add(ctx, element_of(a, first), gpuc_imm_int(ctx, GPUC_INT32, k));
        }
        if (!a->reflects && !a->stays)
            t.inside[k] = gpuc_and(ctx, gpuc_ge(ctx, at, zero), gpuc_le(ctx, at, last));
        t.index[k] = gpuc_max(ctx, zero, gpuc_min(ctx, at, last));
    }
    return t;
}

/* The taps of all places of the grid, whose axes are those of the result without the channels. */
static gpuc_taps_table *tabulate(const gpuc_op_call *call, gpuc_tensor *grid)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, rank = ndim - 2;
    const char *padding = gpuc_attrs_get_string(call->attrs, "padding_mode", "zeros");
    bool wide = gpuc_dtype_equal(call->in[0].dtype, GPUC_FLOAT64) ||
                gpuc_dtype_equal(call->in[1].dtype, GPUC_FLOAT64);
    axis a = {.call = call, .ctx = ctx, .work = wide ? GPUC_FLOAT64 : GPUC_FLOAT32};
    a.aligned = gpuc_attrs_get_int(call->attrs, "align_corners", 0);
    a.reflects = !strcmp(padding, "reflection");
    a.stays = !strcmp(padding, "border");
    gpuc_tensor_type places = {.ndim = ndim - 1, .dims = call->in[1].dims};
    gpuc_expr at[MAX_RANK + 2];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &places, at);
    gpuc_taps taps[MAX_RANK];
    for (int i = 0; i < rank; i++) {
        a.extent = call->in[0].dims[2 + i];
        a.length = gpuc_cast(ctx, a.work, a.extent);
        at[ndim - 1] = gpuc_int(ctx, rank - 1 - i);
        gpuc_expr x = gpuc_cast(ctx, a.work, gpuc_te_read(ctx, grid, ndim, at));
        if (gpuc_attrs_get_int(call->attrs, "normalized", 1)) x = denormalized(&a, x);
        taps[i] = axis_taps(&a, x);
    }
    return gpuc_topi_taps_tabulate(ctx, ndim - 1, axes, rank, taps, call->in[0].dims + 2, a.work);
}

static void grid_sample_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    const gpuc_taps_table *table = tabulate(call, ins[1]);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], place[MAX_RANK + 1];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    place[0] = vars[0];
    for (int i = 2; i < ndim; i++) place[i - 1] = vars[i];
    gpuc_expr value =
        gpuc_topi_taps_sum(ctx, table, ins[0], gpuc_topi_layout_of(call, ndim), vars[0], vars[1], place);
    outs[0] =
        gpuc_topi_compute(ctx, "sample", "injective", ndim, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

ATTRS(sample_attrs, STRING("method", "linear"), STRING("padding_mode", "zeros"), INT("align_corners", 1),
      NCHW_ONLY("layout"), VALUES("method", "method|bilinear=linear,bicubic=cubic"),
      INT("normalized", 1) /* else coordinates count elements */)

const gpuc_op gpuc_topi_ops_grid_sample[] = {
    {.name = "image.grid_sample",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS, GPUC_T_FLOATS},
     .attrs = sample_attrs,
     .infer = infer_grid_sample,
     .compute = grid_sample_compute,
     .pattern = GPUC_FUSE_INJECTIVE,
     .topi = "grid_sample,bilinear_sample",
     .nnvm = "",
     .onnx = "GridSample"},
};
const size_t gpuc_topi_ops_grid_sample_count =
    sizeof gpuc_topi_ops_grid_sample / sizeof gpuc_topi_ops_grid_sample[0];
