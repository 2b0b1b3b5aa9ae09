/* SPDX-License-Identifier: Apache-2.0 */
/* What an image can be, and which elements a texel holds. */
#include "tir/tir.h"

const char *gpuc_tir_not_image(gpuc_dtype dtype, int ndim, const gpuc_expr *shape)
{
    int64_t channels;
    if (ndim != 3) return "an image has three dimensions: height, width and channels";
    if (!gpuc_expr_is_int(shape[2], &channels) || (channels != 1 && channels != 4))
        return "an image has 1 or 4 channels, the last of its dimensions";
    if (!gpuc_dtype_equal(dtype, GPUC_UINT8) && !gpuc_dtype_equal(dtype, GPUC_FLOAT16) &&
        !gpuc_dtype_equal(dtype, GPUC_FLOAT32))
        return "an image has elements of uint8, float16 or float32";
    return NULL;
}

int gpuc_tir_image_channels(const gpuc_tir_buffer *b)
{
    int64_t channels = 0;
    if (b->scope == GPUC_SCOPE_TEXTURE && b->image) gpuc_expr_is_int(b->image[2], &channels);
    return (int)channels;
}

bool gpuc_tir_is_texture_call(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_CALL) return false;
    gpuc_tir_intrin fn = gpuc_as_call(e)->fn;
    return fn == GPUC_TIR_CALL_TEXTURE2D_LOAD || fn == GPUC_TIR_CALL_TEXTURE2D_STORE;
}

gpuc_expr gpuc_tir_texture_index(gpuc_ctx *ctx, gpuc_expr e)
{
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    int channels = gpuc_tir_image_channels(n->buffer);
    gpuc_expr width = gpuc_cast(ctx, GPUC_INDEX, n->buffer->image[1]);
    gpuc_expr y = gpuc_cast(ctx, GPUC_INDEX, n->args[0]), x = gpuc_cast(ctx, GPUC_INDEX, n->args[1]);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, y, width), x);
    at = gpuc_mul(ctx, at, gpuc_int(ctx, channels));
    return channels == 1 ? at : gpuc_tir_ramp(ctx, at, gpuc_int(ctx, 1), channels);
}
