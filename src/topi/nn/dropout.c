/* SPDX-License-Identifier: Apache-2.0 */
/* nn.dropout_mask: true with probability 1 - ratio. Position and seed give the draw, by the last step of
 * MurmurHash3. */
#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

static void infer_mask(gpuc_op_call *call)
{
    const gpuc_attr *shape = gpuc_attrs_find(call->attrs, "shape");
    if (shape->n > GPUC_OP_MAX_DIMS) gpuc_topi_fail(call, "the shape has %d dimensions", shape->n);
    if (call->in[0].ndim) gpuc_topi_fail(call, "the ratio is no scalar");
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, shape->n);
    gpuc_topi_sizes(call, "shape", shape->n, dims);
    for (int i = 0; i < shape->n; i++)
        gpuc_topi_require(call, gpuc_ge(call->ctx, dims[i], gpuc_topi_num(call, 0)), "dimension %s",
                          gpuc_expr_text(call->ctx, dims[i]));
    gpuc_topi_set_out(call, 0, GPUC_BOOL, shape->n, dims);
}

static gpuc_expr word(gpuc_ctx *ctx, uint32_t v)
{
    return gpuc_imm_int(ctx, GPUC_UINT32, v);
}

static gpuc_expr fold_down(gpuc_ctx *ctx, gpuc_expr h, uint32_t by)
{
    return gpuc_call2(ctx, "bitxor", h, gpuc_call2(ctx, "shr", h, word(ctx, by)));
}

static void mask_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *out = &call->out[0];
    uint64_t seed = (uint64_t)gpuc_attrs_get_int(call->attrs, "seed", 0);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], h = word(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, out, vars);
    for (int i = 0; i < out->ndim; i++) {
        gpuc_expr extent = gpuc_cast(ctx, GPUC_UINT32, out->dims[i]);
        h = gpuc_add(ctx, gpuc_mul(ctx, h, extent), gpuc_cast(ctx, GPUC_UINT32, vars[i]));
    }
    h = gpuc_add(ctx, gpuc_mul(ctx, h, word(ctx, 0x9e3779b9u)), word(ctx, (uint32_t)(seed ^ seed >> 32)));
    h = gpuc_mul(ctx, fold_down(ctx, h, 16), word(ctx, 0x85ebca6bu));
    h = gpuc_mul(ctx, fold_down(ctx, h, 13), word(ctx, 0xc2b2ae35u));
    h = gpuc_call2(ctx, "shr", fold_down(ctx, h, 16), word(ctx, 8));
    gpuc_expr draw = gpuc_mul(ctx, gpuc_cast(ctx, GPUC_FLOAT32, h), gpuc_imm(ctx, GPUC_FLOAT32, 0x1p-24));
    gpuc_expr keep = gpuc_ge(ctx, draw, gpuc_te_read(ctx, ins[0], 0, NULL));
    outs[0] = gpuc_topi_compute(ctx, "mask", "injective", out->ndim, axes, keep);
}

ATTRS(mask, SIZES("shape"), INT("seed", 0))

const gpuc_op gpuc_topi_ops_dropout[] = {
    INJECTIVE("nn.dropout_mask", 1, 1, mask, infer_mask, mask_compute, "dropout_mask", "", "Dropout",
              GPUC_T_FLOAT32),
};
const size_t gpuc_topi_ops_dropout_count = sizeof gpuc_topi_ops_dropout / sizeof gpuc_topi_ops_dropout[0];
