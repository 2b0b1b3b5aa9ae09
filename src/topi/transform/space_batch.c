/* SPDX-License-Identifier: Apache-2.0 */
/* Space cut into blocks and windows, and put together again. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

enum { MAX_RANK = 8 };

/* ---- space_to_batch_nd and batch_to_space_nd: [N, space, rest], blocks of the space go to the batch ---- */

typedef struct blocks {
    int rank;
    const int64_t *shape, *before, *after; /* after and before: padding or crops */
} blocks;

static blocks blocks_of(const gpuc_op_call *call, const char *before, const char *after)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "block_shape");
    blocks b = {.rank = shape->n, .shape = shape->ints};
    if (b.rank < 1 || b.rank > MAX_RANK || b.rank >= call->in[0].ndim)
        gpuc_topi_fail(call, "block_shape has %d entries for data of %d dimensions", b.rank,
                       call->in[0].ndim);
    b.before = gpuc_topi_ints(call, before, b.rank);
    b.after = gpuc_topi_ints(call, after, b.rank);
    for (int i = 0; i < b.rank; i++)
        if (b.shape[i] < 1 || b.before[i] < 0 || b.after[i] < 0)
            gpuc_topi_fail(call, "block %lld with %s %lld and %s %lld in dimension %d", (long long)b.shape[i],
                           before, (long long)b.before[i], after, (long long)b.after[i], 1 + i);
    return b;
}

/* Elements of a block, checked against overflow. */
static int64_t block_size(const gpuc_op_call *call, const blocks *b)
{
    int64_t n = 1;
    for (int i = 0; i < b->rank; i++)
        if (__builtin_mul_overflow(n, b->shape[i], &n) || n > INT64_MAX / 4)
            gpuc_topi_fail(call, "the size of a block does not fit 63 bits");
    return n;
}

static void infer_space_to_batch(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call, "pad_before", "pad_after");
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    dims[0] = gpuc_mul(ctx, in->dims[0], gpuc_int(ctx, block_size(call, &b)));
    for (int i = 0; i < b.rank; i++) {
        int64_t padded = gpuc_topi_static_dim(call, 0, 1 + i) + b.before[i] + b.after[i];
        if (padded % b.shape[i])
            gpuc_topi_fail(call, "the padded dimension %d (%lld) does not divide by its block (%lld)", 1 + i,
                           (long long)padded, (long long)b.shape[i]);
        dims[1 + i] = gpuc_int(ctx, padded / b.shape[i]);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void space_to_batch_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call, "pad_before", "pad_after");
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS], inside = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(x, vars, sizeof *x * (size_t)ndim);
    gpuc_expr n = call->in[0].dims[0], rest = gpuc_floordiv_(ctx, vars[0], n);
    x[0] = gpuc_floormod_(ctx, vars[0], n);
    for (int i = b.rank - 1; i >= 0; i--) {
        gpuc_expr size = gpuc_int(ctx, b.shape[i]), in_block = i ? gpuc_floormod_(ctx, rest, size) : rest;
        rest = gpuc_floordiv_(ctx, rest, size);
        gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[1 + i], size), in_block);
        x[1 + i] = gpuc_sub(ctx, at, gpuc_int(ctx, b.before[i]));
        gpuc_expr ok = NULL;
        if (b.before[i] > 0) ok = gpuc_ge(ctx, x[1 + i], gpuc_int(ctx, 0));
        if (ok) inside = inside ? gpuc_and(ctx, inside, ok) : ok;
        if (b.after[i] == 0) continue;
        ok = gpuc_lt(ctx, x[1 + i], call->in[0].dims[1 + i]);
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, x);
    gpuc_expr fill = gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "pad_value", 0));
    outs[0] = gpuc_topi_compute(ctx, "T", "injective", ndim, axes,
                                inside ? gpuc_if_then_else(ctx, inside, value, fill) : value);
}

static void infer_batch_to_space(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call, "crop_begin", "crop_end");
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t size = block_size(call, &b);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    gpuc_topi_require(call,
                      gpuc_eq(ctx, gpuc_floormod_(ctx, in->dims[0], gpuc_int(ctx, size)), gpuc_int(ctx, 0)),
                      "the batch (%s) does not divide by the size of a block (%lld)",
                      gpuc_expr_text(ctx, in->dims[0]), (long long)size);
    dims[0] = gpuc_floordiv_(ctx, in->dims[0], gpuc_int(ctx, size));
    for (int i = 0; i < b.rank; i++) {
        int64_t extent = gpuc_topi_static_dim(call, 0, 1 + i) * b.shape[i] - b.before[i] - b.after[i];
        if (extent < 0) gpuc_topi_fail(call, "the crops are larger than dimension %d", 1 + i);
        dims[1 + i] = gpuc_int(ctx, extent);
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void batch_to_space_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call, "crop_begin", "crop_end");
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS], block = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(x, vars, sizeof *x * (size_t)ndim);
    for (int i = 0; i < b.rank; i++) {
        gpuc_expr at = gpuc_add(ctx, vars[1 + i], gpuc_int(ctx, b.before[i])),
                  size = gpuc_int(ctx, b.shape[i]);
        x[1 + i] = gpuc_floordiv_(ctx, at, size);
        block = gpuc_add(ctx, gpuc_mul(ctx, block, size), gpuc_floormod_(ctx, at, size));
    }
    x[0] = gpuc_add(ctx, gpuc_mul(ctx, block, call->out[0].dims[0]), vars[0]);
    outs[0] = gpuc_topi_compute(ctx, "T", "injective", ndim, axes, gpuc_te_read(ctx, ins[0], ndim, x));
}

/* ---- dilate: strides[i] - 1 fillers between neighbours ---- */

static void infer_dilate(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    const int64_t *strides = gpuc_topi_ints(call, "strides", in->ndim);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS], one = gpuc_int(ctx, 1);
    for (int i = 0; i < in->ndim; i++) {
        if (strides[i] < 1) gpuc_topi_fail(call, "stride %d is below 1", i);
        gpuc_expr gaps = gpuc_mul(ctx, gpuc_sub(ctx, in->dims[i], one), gpuc_int(ctx, strides[i]));
        dims[i] = strides[i] == 1 ? in->dims[i] : gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_add(ctx, gaps, one));
    }
    gpuc_topi_set_out(call, 0, in->dtype, in->ndim, dims);
}

static void dilate_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim;
    const int64_t *strides = gpuc_topi_ints(call, "strides", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS], inside = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    for (int i = 0; i < ndim; i++) {
        gpuc_expr s = gpuc_int(ctx, strides[i]);
        x[i] = gpuc_floordiv_(ctx, vars[i], s);
        if (strides[i] == 1) continue;
        gpuc_expr ok = gpuc_eq(ctx, gpuc_floormod_(ctx, vars[i], s), gpuc_int(ctx, 0));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, x);
    gpuc_expr fill =
        gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "dilation_value", 0));
    outs[0] = gpuc_topi_compute(ctx, "T", "injective", ndim, axes,
                                inside ? gpuc_if_then_else(ctx, inside, value, fill) : value);
}

/* ---- col2im: windows [N, C*kernel, number of windows] added up to an image [N, C, space] ---- */

typedef struct columns {
    int rank;
    const int64_t *image, *block, *strides, *padding, *dilation;
    int64_t across[MAX_RANK]; /* windows along each axis */
    int64_t volume;           /* of a window */
} columns;

static columns columns_of(const gpuc_op_call *call)
{
    const gpuc_attr *image = gpuc_attrs_find(call->attrs, "image_shape");
    columns c = {.rank = image->n, .image = image->ints, .volume = 1};
    if (c.rank < 1 || c.rank > MAX_RANK) gpuc_topi_fail(call, "image_shape has %d entries", c.rank);
    c.block = gpuc_topi_ints(call, "block_shape", c.rank);
    c.strides = gpuc_topi_ints(call, "strides", c.rank);
    c.padding = gpuc_topi_ints(call, "padding", 2 * c.rank);
    c.dilation = gpuc_topi_ints(call, "dilation", c.rank);
    int64_t windows = 1;
    for (int i = 0; i < c.rank; i++) {
        if (c.image[i] < 0 || c.block[i] < 1 || c.strides[i] < 1 || c.dilation[i] < 1 || c.padding[i] < 0 ||
            c.padding[c.rank + i] < 0)
            gpuc_topi_fail(call, "image_shape, block_shape, strides, dilation or padding %d is too small", i);
        int64_t span =
            c.image[i] + c.padding[i] + c.padding[c.rank + i] - (c.block[i] - 1) * c.dilation[i] - 1;
        c.across[i] = span < 0 ? 0 : span / c.strides[i] + 1;
        if (__builtin_mul_overflow(windows, c.across[i], &windows) ||
            __builtin_mul_overflow(c.volume, c.block[i], &c.volume))
            gpuc_topi_fail(call, "the windows do not fit 63 bits");
    }
    if (call->in[0].ndim != 3)
        gpuc_topi_fail(call, "takes [N, C*block, windows], not %d dimensions", call->in[0].ndim);
    if (gpuc_topi_static_dim(call, 0, 2) != windows)
        gpuc_topi_fail(call, "dimension 2 is %lld, image_shape and block_shape make %lld windows",
                       (long long)gpuc_topi_static_dim(call, 0, 2), (long long)windows);
    if (gpuc_topi_static_dim(call, 0, 1) % c.volume)
        gpuc_topi_fail(call, "dimension 1 (%lld) does not divide by the size of a block (%lld)",
                       (long long)gpuc_topi_static_dim(call, 0, 1), (long long)c.volume);
    return c;
}

static void infer_col2im(gpuc_op_call *call)
{
    columns c = columns_of(call);
    gpuc_expr dims[MAX_RANK + 2] = {call->in[0].dims[0]};
    dims[1] = gpuc_int(call->ctx, gpuc_topi_static_dim(call, 0, 1) / c.volume);
    for (int i = 0; i < c.rank; i++) dims[2 + i] = gpuc_int(call->ctx, c.image[i]);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, c.rank + 2, dims);
}

static void col2im_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    columns c = columns_of(call);
    gpuc_expr vars[MAX_RANK + 2], seen = NULL, zero = gpuc_int(ctx, 0), window = zero;
    gpuc_iter *over[MAX_RANK], **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr row = vars[1];
    for (int i = 0; i < c.rank; i++) {
        over[i] = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c.block[i]), i == c.rank - 1 ? "kx" : "ky");
        gpuc_expr k = gpuc_iter_var(over[i]), s = gpuc_int(ctx, c.strides[i]);
        gpuc_expr padded = gpuc_add(ctx, vars[2 + i], gpuc_int(ctx, c.padding[i]));
        gpuc_expr start = gpuc_sub(ctx, padded, gpuc_mul(ctx, k, gpuc_int(ctx, c.dilation[i])));
        gpuc_expr at = gpuc_floordiv_(ctx, start, s), ok = gpuc_ge(ctx, start, zero);
        ok = gpuc_and(ctx, ok, gpuc_lt(ctx, at, gpuc_int(ctx, c.across[i])));
        ok = gpuc_and(ctx, ok, gpuc_eq(ctx, gpuc_floormod_(ctx, start, s), zero));
        seen = seen ? gpuc_and(ctx, seen, ok) : ok;
        row = gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_int(ctx, c.block[i])), k);
        window = gpuc_add(ctx, gpuc_mul(ctx, window, gpuc_int(ctx, c.across[i])), at);
    }
    gpuc_expr x[] = {vars[0], row, window};
    gpuc_expr value = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 3, x));
    value = gpuc_if_then_else(ctx, seen, value, gpuc_imm(ctx, gpuc_expr_dtype(value), 0));
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "image", "pool", c.rank + 2, axes,
                                                        gpuc_te_reduce(ctx, "sum", value, c.rank, over)));
}

#define PAIRS(nm, to) SPELLED(nm, INTS, gpuc_op_take_pairs, to, "pairs of before and after")
/* TVM: of two dimensions, 1 each, where it is not given. */
static void take_block_shape(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    static const int64_t ones[] = {1, 1};
    if (value)
        gpuc_op_set_attr(w, spec->name, value);
    else
        gpuc_op_set_ints(w, spec->name, 2, ones);
}
#define BLOCK_SHAPE                                                                                          \
    WINDOW_INTS("block_shape"),                                                                              \
    {                                                                                                        \
        .name = "block_shape", .kind = GPUC_ATTR_INTS, .take = take_block_shape, .always = true,             \
        .about = "[1, 1] where it is not given"                                                              \
    }
ATTRS(space_to_batch, BLOCK_SHAPE, WINDOW_INTS("pad_before"), WINDOW_INTS("pad_after"), FLOAT("pad_value", 0),
      PAIRS("paddings", "pad_before,pad_after"))
ATTRS(batch_to_space, BLOCK_SHAPE, WINDOW_INTS("crop_begin"), WINDOW_INTS("crop_end"),
      PAIRS("crops", "crop_begin,crop_end"))
ATTRS(dilate, AXIS_INTS("strides", 1), FLOAT("dilation_value", 0))
ATTRS(col2im, WINDOW_INTS("image_shape"), WINDOW_INTS("block_shape"), WINDOW_INTS("strides"),
      WINDOW_INTS("padding"), WINDOW_INTS("dilation"))

const gpuc_op gpuc_topi_ops_window[] = {
    MOVES("nn.space_to_batch_nd", 1, 1, space_to_batch, infer_space_to_batch, space_to_batch_compute,
          "space_to_batch_nd", "", ""),
    MOVES("nn.batch_to_space_nd", 1, 1, batch_to_space, infer_batch_to_space, batch_to_space_compute,
          "batch_to_space_nd", "", ""),
    MOVES("nn.dilate", 1, 1, dilate, infer_dilate, dilate_compute, "dilate", "", ""),
    ANCHOR("nn.col2im", 1, 1, col2im, infer_col2im, col2im_compute, "col2im", "", "Col2Im", GPUC_T_NUMBERS),
};
const size_t gpuc_topi_ops_window_count = sizeof gpuc_topi_ops_window / sizeof gpuc_topi_ops_window[0];
