/* SPDX-License-Identifier: Apache-2.0 */
/* How tensors hold images, and the operators that the conversions of inputs and outputs share. */
#include "compile/image.h"

#include <float.h>
#include <math.h>

#include "relay_pass/common/util.h"

gpuc_image_format gpuc_image_of(const gpuc_strmap *images, const char *name)
{
    return (gpuc_image_format)(uintptr_t)gpuc_strmap_get(images, name);
}

void gpuc_image_set(gpuc_strmap *images, const char *name, gpuc_image_format format)
{
    gpuc_strmap_set(images, name, (void *)(uintptr_t)format);
}

void gpuc_image_check_new(gpuc_ctx *ctx, const gpuc_strmap *images, const char *what, const char *name,
                          gpuc_image_format format)
{
    if (gpuc_image_format_channels(format) == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %d is no format of an image", what, (int)format);
    if (gpuc_strmap_has(images, name)) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s is one already", what);
}

bool gpuc_image_is_srgb(gpuc_image_format format)
{
    return format == GPUC_IMAGE_RGBA8_SRGB || format == GPUC_IMAGE_BGRA8_SRGB;
}

bool gpuc_image_is_bgr(gpuc_image_format format)
{
    return format == GPUC_IMAGE_BGRA8 || format == GPUC_IMAGE_BGRA8_SRGB;
}

/* ---- Places ---- */

static const char *type_text(gpuc_ctx *ctx, const gpuc_tensor_type *t)
{
    char dtype[24];
    const char *text = gpuc_ctx_printf(ctx, "%s[", gpuc_dtype_name(t->dtype, dtype));
    for (int i = 0; i < t->ndim; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%s", text, i ? "," : "", gpuc_expr_text(ctx, t->dims[i]));
    return gpuc_ctx_printf(ctx, "%s]", text);
}

/* Channels that stand at this position; 0: none do. */
static int channels_at(const gpuc_tensor_type *t, int position, gpuc_image_order order)
{
    int64_t n;
    if (position < 0 || !gpuc_expr_is_int(t->dims[position], &n)) return 0;
    if (n == 1) return order == GPUC_IMAGE_ORDER_AUTO || order == GPUC_IMAGE_ORDER_GRAY ? 1 : 0;
    return n == 3 && order != GPUC_IMAGE_ORDER_GRAY ? 3 : 0;
}

static void check_place(gpuc_ctx *ctx, const char *what, const gpuc_tensor_type *t, gpuc_image_layout layout,
                        gpuc_image_order order)
{
    int64_t batch = 1;
    if ((unsigned)layout > GPUC_IMAGE_LAYOUT_NHWC || (unsigned)order > GPUC_IMAGE_ORDER_GRAY)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: layout %d or order %d does not exist", what, (int)layout,
                   (int)order);
    if (t->ndim < 3 || t->ndim > 4)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: the network's tensor is %s; an image needs rows, columns and channels, and perhaps a "
                   "batch of 1 in front",
                   what, type_text(ctx, t));
    if (t->ndim == 4 && (!gpuc_expr_is_int(t->dims[0], &batch) || batch != 1))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: the network's tensor is %s; one image needs a batch of 1: fix it with --shape", what,
                   type_text(ctx, t));
}

gpuc_image_place gpuc_image_place_of(gpuc_ctx *ctx, const char *what, const gpuc_rtype *type,
                                     gpuc_image_layout layout, gpuc_image_order order)
{
    if (!type || type->kind != GPUC_RTYPE_TENSOR)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the network has no tensor there; an image needs one",
                   what);
    const gpuc_tensor_type *t = &type->tensor;
    check_place(ctx, what, t, layout, order);
    int first = t->ndim - 3, nchw = channels_at(t, first, order), nhwc = channels_at(t, t->ndim - 1, order);
    if (layout == GPUC_IMAGE_LAYOUT_NCHW) nhwc = 0;
    if (layout == GPUC_IMAGE_LAYOUT_NHWC) nchw = 0;
    if (nchw && nhwc)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: the channels of %s can be its first or its last dimension; say layout=nchw or "
                   "layout=nhwc",
                   what, type_text(ctx, t));
    if (!nchw && !nhwc) {
        const char *want = order == GPUC_IMAGE_ORDER_GRAY   ? "1 channel"
                           : order == GPUC_IMAGE_ORDER_AUTO ? "3 channels, or 1"
                                                            : "3 channels";
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s does not have %s%s; change order= or layout=", what,
                   type_text(ctx, t), want,
                   layout == GPUC_IMAGE_LAYOUT_NCHW   ? " before rows and columns"
                   : layout == GPUC_IMAGE_LAYOUT_NHWC ? " behind rows and columns"
                                                      : "");
    }
    int space = nchw ? first + 1 : first;
    return (gpuc_image_place){
        .channels_last = nhwc != 0,
        .bgr = order == GPUC_IMAGE_ORDER_BGR,
        .channels = nchw ? nchw : nhwc,
        .height = t->dims[space],
        .width = t->dims[space + 1],
    };
}

/* ---- Numbers of channels ---- */

double gpuc_image_number(int n, const double *list, int i, double otherwise)
{
    return n == 0 ? otherwise : list[n == 1 ? 0 : i];
}

void gpuc_image_check_list(gpuc_ctx *ctx, const char *what, const char *key, int n, const double *list,
                           int channels)
{
    if (n != 0 && n != 1 && n != channels)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: %s has %d numbers; give one for all channels, or one for each of the network's %d",
                   what, key, n, channels);
    for (int i = 0; i < n; i++)
        if (!isfinite(list[i]))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: number %d of %s is not finite", what, i, key);
}

void gpuc_image_check_scaled(gpuc_ctx *ctx, const char *what, int channels, const double *factor,
                             const double *term)
{
    for (int i = 0; i < channels; i++)
        if (!(fabs(factor[i]) <= FLT_MAX && fabs(term[i]) <= FLT_MAX))
            gpuc_raise(
                ctx, GPUC_INVALID_ARGUMENT,
                "%s: channel %d is multiplied by %g, then %g is added: float32 does not hold such numbers",
                what, i, factor[i], term[i]);
}

/* ---- Operators ---- */

/* One number, or one for each element of the last axis. */
static gpuc_rexpr *constant(gpuc_ctx *ctx, int channels, const double *v)
{
    float values[4];
    bool same = true;
    int64_t n = channels;
    for (int i = 0; i < channels; i++) {
        values[i] = (float)v[i];
        same &= values[i] == values[0];
    }
    return gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, same ? 0 : 1, same ? NULL : &n, values);
}

gpuc_rexpr *gpuc_image_scaled(gpuc_ctx *ctx, gpuc_rexpr *x, int channels, const double *factor,
                              const double *term)
{
    bool scales = false, shifts = false;
    for (int i = 0; i < channels; i++) {
        scales |= (float)factor[i] != 1;
        shifts |= (float)term[i] != 0;
    }
    if (scales) x = gpuc_relay_op2(ctx, "multiply", NULL, x, constant(ctx, channels, factor));
    if (shifts) x = gpuc_relay_op2(ctx, "add", NULL, x, constant(ctx, channels, term));
    return x;
}

gpuc_rexpr *gpuc_image_channels(gpuc_ctx *ctx, gpuc_rexpr *x, int begin, int count, int step)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    const int64_t begins[] = {0, 0, begin}, strides[] = {1, 1, step};
    const gpuc_expr sizes[] = {t->dims[0], t->dims[1], gpuc_int(ctx, count)};
    int64_t have;
    if (gpuc_expr_is_int(t->dims[2], &have) && have == count && step == 1) return x;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", 3, begins);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", 3, sizes), "strides", 3, strides);
    return gpuc_relay_op1(ctx, "strided_slice", a, x);
}

gpuc_rexpr *gpuc_image_repeated(gpuc_ctx *ctx, gpuc_rexpr *x, int count)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    const gpuc_expr shape[] = {t->dims[0], t->dims[1], gpuc_int(ctx, count)};
    if (count == 1) return x;
    return gpuc_relay_op1(ctx, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 3, shape), x);
}
