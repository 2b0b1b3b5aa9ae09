/* SPDX-License-Identifier: Apache-2.0 */
/* Images: whole texels are fetched without a sampler, and written. */
#include "codegen_spirv/emit.h"

static SpvImageFormat format_of(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, int channels)
{
    bool four = channels == 4;
    if (k->meta->features & GPUC_FEATURE_IMAGE_ANY_FORMAT) {
        gpuc_spv_capability(&k->m, SpvCapabilityStorageImageWriteWithoutFormat);
        return SpvImageFormatUnknown;
    }
    if (b->dtype.bits == 32) return four ? SpvImageFormatRgba32f : SpvImageFormatR32f;
    if (four) return b->dtype.bits == 16 ? SpvImageFormatRgba16f : SpvImageFormatRgba8;
    gpuc_raise(
        k->ctx, GPUC_UNSUPPORTED,
        "kernel '%s': it writes the image '%s' of one channel of %s, whose format a kernel may only leave "
        "open: build for a target with image_any_format (-image_any_format=1), or write float32",
        k->func->name, b->name, b->dtype.bits == 16 ? "float16" : "uint8");
}

static void declare(gpuc_spv_kernel *k, int tensor, bool write)
{
    gpuc_spv *m = &k->m;
    gpuc_spv_param *p = &k->params[tensor];
    const gpuc_tir_buffer *b = k->func->buffers[tensor];
    uint32_t single = gpuc_spv_type_float(m, 32), format = SpvImageFormatUnknown, set = 0;
    if (write) format = format_of(k, b, gpuc_tir_image_channels(b));
    p->texel_type = gpuc_spv_type_vector(m, single, 4);
    p->image_type = gpuc_spv_global(m, SpvOpTypeImage, 0, 7,
                                    (uint32_t[]){single, SpvDim2D, 0, 0, 0, write ? 2 : 1, format}, 0, NULL);
    p->image = gpuc_spv_variable(m, SpvStorageClassUniformConstant, p->image_type);
    gpuc_spv_decorate(m, p->image, SpvDecorationDescriptorSet, 1, &set);
    gpuc_spv_decorate(m, p->image, SpvDecorationBinding, 1, &k->meta->tensors[tensor].binding);
    if (write) gpuc_spv_decorate(m, p->image, SpvDecorationNonReadable, 0, NULL);
    gpuc_spv_name(m, p->image, b->name);
}

static uint32_t coordinates(gpuc_spv_kernel *k, const gpuc_tir_call_node *n)
{
    gpuc_dtype pair = gpuc_dtype_with_lanes(GPUC_INT32, 2);
    uint32_t y = gpuc_spv_cast(k, GPUC_INT32, n->args[0]->dtype, gpuc_spv_expr(k, n->args[0]));
    uint32_t x = gpuc_spv_cast(k, GPUC_INT32, n->args[1]->dtype, gpuc_spv_expr(k, n->args[1]));
    return gpuc_spv_calc(&k->m, SpvOpCompositeConstruct, gpuc_spv_type(k, pair), x, y);
}

static gpuc_spv_param *image_of(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, bool write)
{
    int tensor = gpuc_spv_tensor_of(k, b);
    if (!k->params[tensor].image) declare(k, tensor, write);
    return &k->params[tensor];
}

static uint32_t load(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    int lanes = e->dtype.lanes;
    gpuc_dtype single = gpuc_dtype_with_lanes(GPUC_FLOAT32, lanes),
               word = gpuc_dtype_with_lanes(GPUC_UINT32, lanes);
    const gpuc_spv_param *p = image_of(k, n->buffer, false);
    uint32_t at = coordinates(k, n), image = gpuc_spv_calc(m, SpvOpLoad, p->image_type, p->image);
    uint32_t id = gpuc_spv_calc(m, SpvOpImageFetch, p->texel_type, image, at, SpvImageOperandsLodMask,
                                gpuc_spv_const_u32(m, 0));
    if (lanes == 1) id = gpuc_spv_calc(m, SpvOpCompositeExtract, gpuc_spv_type(k, single), id, 0);
    if (gpuc_is_float(e->dtype)) return gpuc_spv_cast(k, e->dtype, single, id);
    uint32_t type = gpuc_spv_type(k, single);
    id = gpuc_spv_calc(m, SpvOpFMul, type, id, gpuc_spv_float_const(k, single, 255));
    id = gpuc_spv_calc(m, SpvOpFAdd, type, id, gpuc_spv_float_const(k, single, 0.5));
    id = gpuc_spv_calc(m, SpvOpConvertFToU, gpuc_spv_type(k, word), id);
    return gpuc_spv_cast(k, e->dtype, word, id);
}

static uint32_t store(gpuc_spv_kernel *k, gpuc_expr e)
{
    gpuc_spv *m = &k->m;
    const gpuc_tir_call_node *n = gpuc_as_call(e);
    int lanes = e->dtype.lanes;
    gpuc_dtype single = gpuc_dtype_with_lanes(GPUC_FLOAT32, lanes);
    uint32_t value = gpuc_spv_expr(k, n->args[2]), at = coordinates(k, n);
    uint32_t texel = gpuc_spv_cast(k, single, e->dtype, value);
    if (!gpuc_is_float(e->dtype))
        texel = gpuc_spv_calc(m, SpvOpFDiv, gpuc_spv_type(k, single), texel,
                              gpuc_spv_float_const(k, single, 255));
    const gpuc_spv_param *p = image_of(k, n->buffer, true);
    if (lanes == 1) {
        uint32_t zero = gpuc_spv_float_const(k, GPUC_FLOAT32, 0),
                 one = gpuc_spv_float_const(k, GPUC_FLOAT32, 1);
        texel = gpuc_spv_calc(m, SpvOpCompositeConstruct, p->texel_type, texel, zero, zero, one);
    }
    uint32_t image = gpuc_spv_calc(m, SpvOpLoad, p->image_type, p->image);
    gpuc_spv_emit(m, &m->code, SpvOpImageWrite, image, at, texel);
    return value;
}

uint32_t gpuc_spv_texture(gpuc_spv_kernel *k, gpuc_expr e)
{
    return gpuc_as_call(e)->fn == GPUC_TIR_CALL_TEXTURE2D_LOAD ? load(k, e) : store(k, e);
}
