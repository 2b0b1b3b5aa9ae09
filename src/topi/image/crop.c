/* SPDX-License-Identifier: Apache-2.0 */
/* crop_and_resize: boxes of images, resized, as in TensorFlow; and dilation2d: the largest sum of an element and a
 * weight under a window. Data is [N, C, H, W] or [N, H, W, C]. */
#include <string.h>

#include "op/rows.h"
#include "topi/families.h"
#include "topi/util.h"

/* ---- crop_and_resize: data, boxes [n, 4] of y1, x1, y2, x2 between 0 and 1, numbers of images [n] ---- */

static void infer_crop(gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0], *boxes = &call->in[1], *images = &call->in[2];
    const char *method = gpuc_attrs_get_string(call->attrs, "method", "linear");
    if (data->ndim != 4 || boxes->ndim != 2 || images->ndim != 1)
        gpuc_topi_fail(call, "takes data of 4 dimensions, boxes of 2 and images of 1, not %d, %d and %d",
                       data->ndim, boxes->ndim, images->ndim);
    if (strcmp(method, "linear") && strcmp(method, "nearest"))
        gpuc_topi_fail(call, "method '%s' is neither linear nor nearest", method);
    if (gpuc_topi_static_dim(call, 1, 1) != 4) gpuc_topi_fail(call, "a box must have 4 numbers");
    gpuc_topi_layout at = gpuc_topi_layout_of(call, 4);
    const int64_t *size = gpuc_topi_ints(call, "crop_size", 2);
    gpuc_expr dims[4], one = gpuc_int(call->ctx, 1);
    dims[0] = gpuc_topi_same_dim(call, boxes->dims[0], images->dims[0], "boxes and images");
    dims[at.channel] = data->dims[at.channel];
    gpuc_topi_require(call, gpuc_ge(call->ctx, data->dims[0], one), "there is no image");
    for (int i = 0; i < 2; i++) {
        if (size[i] < 0) gpuc_topi_fail(call, "crop_size has %lld", (long long)size[i]);
        gpuc_topi_require(call, gpuc_ge(call->ctx, data->dims[at.space + i], one),
                          "the image has no elements");
        dims[at.space + i] = gpuc_int(call->ctx, size[i]);
    }
    gpuc_topi_set_out(call, 0, data->dtype, 4, dims);
}

typedef struct crop {
    const gpuc_op_call *call;
    gpuc_tensor *const *ins;
    gpuc_dtype t; /* of positions */
    gpuc_topi_layout at;
    gpuc_expr *vars, image, inside;
} crop;

static gpuc_expr clamp(gpuc_ctx *ctx, gpuc_expr i, gpuc_expr extent)
{
    return gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, i, gpuc_sub(ctx, extent, gpuc_int(ctx, 1))));
}

/* The position in the image along spatial dimension i, as a real. */
static gpuc_expr position(crop *c, int i)
{
    gpuc_ctx *ctx = c->call->ctx;
    gpuc_expr low[] = {c->vars[0], gpuc_int(ctx, i)}, high[] = {c->vars[0], gpuc_int(ctx, 2 + i)};
    gpuc_expr from = gpuc_cast(ctx, c->t, gpuc_te_read(ctx, c->ins[1], 2, low)),
              to = gpuc_cast(ctx, c->t, gpuc_te_read(ctx, c->ins[1], 2, high));
    gpuc_expr in = c->call->in[0].dims[c->at.space + i], one = gpuc_int(ctx, 1);
    gpuc_expr last = gpuc_cast(ctx, c->t, gpuc_sub(ctx, in, one));
    int64_t out = gpuc_topi_ints(c->call, "crop_size", 2)[i];
    gpuc_expr x;
    if (out > 1) {
        gpuc_expr step = gpuc_div(ctx, gpuc_mul(ctx, gpuc_sub(ctx, to, from), last),
                                  gpuc_imm(ctx, c->t, (double)(out - 1)));
        x = gpuc_add(ctx, gpuc_mul(ctx, from, last),
                     gpuc_mul(ctx, gpuc_cast(ctx, c->t, c->vars[c->at.space + i]), step));
    } else {
        gpuc_expr middle = gpuc_mul(ctx, gpuc_add(ctx, from, to), gpuc_imm(ctx, c->t, 0.5));
        x = gpuc_mul(ctx, middle, last);
    }
    gpuc_expr ok = gpuc_and(ctx, gpuc_ge(ctx, x, gpuc_imm(ctx, c->t, 0)), gpuc_le(ctx, x, last));
    c->inside = c->inside ? gpuc_and(ctx, c->inside, ok) : ok;
    return x;
}

static gpuc_expr pixel(const crop *c, gpuc_expr y, gpuc_expr x)
{
    gpuc_ctx *ctx = c->call->ctx;
    const gpuc_tensor_type *in = &c->call->in[0];
    gpuc_expr index[4] = {c->image};
    index[c->at.channel] = c->vars[c->at.channel];
    index[c->at.space] = clamp(ctx, y, in->dims[c->at.space]);
    index[c->at.space + 1] = clamp(ctx, x, in->dims[c->at.space + 1]);
    return gpuc_te_read(ctx, c->ins[0], 4, index);
}

/* a + (b - a) * part */
static gpuc_expr between(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b, gpuc_expr part)
{
    gpuc_dtype t = gpuc_expr_dtype(part);
    a = gpuc_cast(ctx, t, a);
    return gpuc_add(ctx, a, gpuc_mul(ctx, gpuc_sub(ctx, gpuc_cast(ctx, t, b), a), part));
}

static void crop_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[4], real[2], whole[2], part[2], value;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    bool nearest = !strcmp(gpuc_attrs_get_string(call->attrs, "method", "linear"), "nearest");
    crop c = {.call = call, .ins = ins, .vars = vars, .at = gpuc_topi_layout_of(call, 4)};
    c.t = gpuc_dtype_equal(call->in[0].dtype, GPUC_FLOAT64) ? GPUC_FLOAT64 : GPUC_FLOAT32;
    c.image = clamp(ctx, gpuc_cast(ctx, GPUC_INDEX, gpuc_te_read(ctx, ins[2], 1, vars)), call->in[0].dims[0]);
    for (int i = 0; i < 2; i++) {
        real[i] = position(&c, i);
        /* Positions outside are not used; brought near, they fit an integer. */
        gpuc_expr at =
            gpuc_max(ctx, gpuc_imm(ctx, c.t, -1), gpuc_min(ctx, real[i], gpuc_imm(ctx, c.t, 0x1p30)));
        if (nearest) at = gpuc_add(ctx, at, gpuc_imm(ctx, c.t, 0.5));
        gpuc_expr below = gpuc_call1(ctx, "floor", at);
        whole[i] = gpuc_cast(ctx, GPUC_INDEX, below);
        part[i] = gpuc_sub(ctx, at, below);
    }
    if (nearest) {
        value = pixel(&c, whole[0], whole[1]);
    } else {
        gpuc_expr one = gpuc_int(ctx, 1), y = gpuc_add(ctx, whole[0], one), x = gpuc_add(ctx, whole[1], one);
        gpuc_expr top = between(ctx, pixel(&c, whole[0], whole[1]), pixel(&c, whole[0], x), part[1]),
                  bottom = between(ctx, pixel(&c, y, whole[1]), pixel(&c, y, x), part[1]);
        value = gpuc_cast(ctx, call->out[0].dtype, between(ctx, top, bottom, part[0]));
    }
    gpuc_expr outside =
        gpuc_imm(ctx, call->out[0].dtype, gpuc_attrs_get_float(call->attrs, "extrapolation_value", 0));
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_select(ctx, c.inside, value, outside));
}

/* ---- dilation2d: data, weight [C, kernel] or [kernel, C]; the padding is 0 ---- */

typedef struct dilation {
    gpuc_topi_layout at;
    int weight_channel, weight_space;
    const int64_t *strides, *dilations;
    gpuc_expr padding[4], kernel[2];
} dilation;

static dilation dilation_of(const gpuc_op_call *call)
{
    dilation d = {.at = gpuc_topi_layout_of(call, 4)};
    if (call->in[0].ndim != 4 || call->in[1].ndim != 3)
        gpuc_topi_fail(call, "takes data of 4 and a weight of 3 dimensions, not %d and %d", call->in[0].ndim,
                       call->in[1].ndim);
    bool last = d.at.space == 1;
    d.weight_channel = last ? 2 : 0;
    d.weight_space = last ? 0 : 1;
    d.strides = gpuc_topi_ints(call, "strides", 2);
    d.dilations = gpuc_topi_ints(call, "dilations", 2);
    gpuc_topi_sizes(call, "padding", 4, d.padding);
    for (int i = 0; i < 2; i++) {
        if (d.strides[i] < 1 || d.dilations[i] < 1)
            gpuc_topi_fail(call, "stride or dilation %d is below 1", i);
        d.kernel[i] = call->in[1].dims[d.weight_space + i];
    }
    return d;
}

static void infer_dilation(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    dilation d = dilation_of(call);
    gpuc_expr dims[4], one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    dims[0] = call->in[0].dims[0];
    dims[d.at.channel] =
        gpuc_topi_same_dim(call, call->in[0].dims[d.at.channel], call->in[1].dims[d.weight_channel],
                           "channels of data and weight");
    for (int i = 0; i < 2; i++) {
        gpuc_expr reach = gpuc_mul(ctx, gpuc_sub(ctx, d.kernel[i], one), gpuc_int(ctx, d.dilations[i]));
        gpuc_expr span =
            gpuc_add(ctx, call->in[0].dims[d.at.space + i], gpuc_add(ctx, d.padding[i], d.padding[2 + i]));
        span = gpuc_sub(ctx, gpuc_sub(ctx, span, reach), one);
        gpuc_topi_require(call, gpuc_and(ctx, gpuc_ge(ctx, span, zero), gpuc_ge(ctx, d.kernel[i], one)),
                          "the kernel is larger than the padded input in dimension %d, or empty",
                          d.at.space + i);
        dims[d.at.space + i] = gpuc_add(ctx, gpuc_floordiv_(ctx, span, gpuc_int(ctx, d.strides[i])), one);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 4, dims);
}

static void dilation_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    dilation d = dilation_of(call);
    gpuc_expr vars[4], x[4], w[3], inside = NULL, zero = gpuc_int(ctx, 0);
    gpuc_iter *over[2], **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    x[0] = vars[0];
    x[d.at.channel] = w[d.weight_channel] = vars[d.at.channel];
    for (int i = 0; i < 2; i++) {
        over[i] = gpuc_te_reduce_axis(ctx, d.kernel[i], i ? "kx" : "ky");
        gpuc_expr k = w[d.weight_space + i] = gpuc_iter_var(over[i]);
        gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[d.at.space + i], gpuc_int(ctx, d.strides[i])),
                                gpuc_mul(ctx, k, gpuc_int(ctx, d.dilations[i])));
        x[d.at.space + i] = at = gpuc_sub(ctx, at, d.padding[i]);
        gpuc_expr ok =
            gpuc_and(ctx, gpuc_ge(ctx, at, zero), gpuc_lt(ctx, at, call->in[0].dims[d.at.space + i]));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr value = gpuc_te_read(ctx, ins[0], 4, x);
    value = gpuc_if_then_else(ctx, inside, value, gpuc_imm(ctx, gpuc_expr_dtype(value), 0));
    value = gpuc_add(ctx, value, gpuc_te_read(ctx, ins[1], 3, w));
    outs[0] = gpuc_topi_compute(ctx, "dilated", "pool", 4, axes, gpuc_te_reduce(ctx, "max", value, 2, over));
}

ATTRS(crop_attrs, WINDOW_INTS("crop_size"), STRING("method", "linear"), FLOAT("extrapolation_value", 0),
      GPUC_TOPI_DATA_LAYOUT, DATA_LAYOUTS,
      VALUES("method", "method|bilinear=linear,nearest_neighbor=nearest,BILINEAR=linear"),
      SPELLED("out_dtype", DTYPE, gpuc_op_take_out_type, NULL, "the result is cast to it"))
/* The weight has the layout that goes with the data's. */
static void take_weight_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    const char *want =
        !strcmp(gpuc_attrs_get_string(w->attrs, "data_layout", "NCHW"), "NHWC") ? "HWI" : "IHW";
    gpuc_op_take_only(w, &(gpuc_attr_spec){.name = spec->name, .to = want}, value);
}
ATTRS(dilation_attrs, SPACE_INTS("strides", 1), SIDE_SIZES("padding"), SPACE_INTS("dilations", 1),
      GPUC_TOPI_DATA_LAYOUT, DATA_LAYOUTS,
      SPELLED("kernel_layout", STRING, take_weight_layout, NULL, "IHW, or HWI for NHWC"),
      SPELLED("out_dtype", DTYPE, gpuc_op_take_out_type, NULL, "the result is cast to it"))

const gpuc_op gpuc_topi_ops_crop[] = {
    INJECTIVE("image.crop_and_resize", 3, 3, crop_attrs, infer_crop, crop_compute, "crop_and_resize", "", "",
              GPUC_T_NUMBERS, GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64),
    ANCHOR("image.dilation2d", 2, 2, dilation_attrs, infer_dilation, dilation_compute, "dilation2d", "", "",
           GPUC_T_NUMBERS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_crop_count = sizeof gpuc_topi_ops_crop / sizeof gpuc_topi_ops_crop[0];
