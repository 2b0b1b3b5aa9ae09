/* SPDX-License-Identifier: Apache-2.0 */
/* Signs packed 32 to a word, the first in the highest bit, and products of them. */
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/elemwise/bitpack.h"

enum { WORD = 32 };

static void infer_pack(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t extent = gpuc_topi_static_dim(call, 0, axis);
    if (extent % WORD)
        gpuc_topi_fail(call, "dimension %d (%lld) does not divide by %d", axis, (long long)extent, WORD);
    memcpy(dims, in->dims, sizeof *dims * (size_t)in->ndim);
    dims[axis] = gpuc_int(call->ctx, extent / WORD);
    gpuc_topi_set_out(call, 0, GPUC_UINT32, in->ndim, dims);
}

static void pack_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->in[0].ndim, axis = gpuc_topi_axis(call, "axis", ndim);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS], word = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    memcpy(x, vars, sizeof *x * (size_t)ndim);
    for (int bit = 0; bit < WORD; bit++) {
        x[axis] = gpuc_add(ctx, gpuc_mul(ctx, vars[axis], gpuc_int(ctx, WORD)), gpuc_int(ctx, bit));
        gpuc_expr value = gpuc_te_read(ctx, ins[0], ndim, x);
        gpuc_expr set = gpuc_imm_int(ctx, GPUC_UINT32, (int64_t)1 << (WORD - 1 - bit));
        gpuc_expr one = gpuc_select(ctx, gpuc_ge(ctx, value, gpuc_imm(ctx, gpuc_expr_dtype(value), 0)), set,
                                    gpuc_imm_int(ctx, GPUC_UINT32, 0));
        word = word ? gpuc_call2(ctx, "bitor", word, one) : one;
    }
    outs[0] = gpuc_topi_compute(ctx, "packed", "injective", ndim, axes, word);
}

static gpuc_expr word_op(gpuc_ctx *ctx, const char *op, gpuc_expr x, uint32_t by)
{
    return gpuc_call2(ctx, op, x, gpuc_imm_int(ctx, GPUC_UINT32, by));
}

/* Set bits of a word: sums of neighbouring 2, 4, then 8 bits; the product adds the bytes up. */
gpuc_expr gpuc_topi_count_bits(gpuc_ctx *ctx, gpuc_expr x)
{
    x = gpuc_sub(ctx, x, word_op(ctx, "bitand", word_op(ctx, "shr", x, 1), 0x55555555u));
    gpuc_expr high = word_op(ctx, "bitand", word_op(ctx, "shr", x, 2), 0x33333333u);
    x = gpuc_add(ctx, word_op(ctx, "bitand", x, 0x33333333u), high);
    x = word_op(ctx, "bitand", gpuc_add(ctx, x, word_op(ctx, "shr", x, 4)), 0x0f0f0f0fu);
    return word_op(ctx, "shr", gpuc_mul(ctx, x, gpuc_imm_int(ctx, GPUC_UINT32, 0x01010101u)), 24);
}

static void infer_dense(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0], *w = &call->in[1];
    if (x->ndim != 2 || w->ndim != 2)
        gpuc_topi_fail(call, "takes matrices, not %d and %d dimensions", x->ndim, w->ndim);
    int64_t a = gpuc_topi_static_dim(call, 0, 1), b = gpuc_topi_static_dim(call, 1, 1);
    if (a != b) gpuc_topi_fail(call, "inner dimensions %lld and %lld differ", (long long)a, (long long)b);
    gpuc_expr dims[] = {x->dims[0], w->dims[0]};
    gpuc_topi_set_out(call, 0, GPUC_FLOAT32, 2, dims);
}

/* Products of signs: 1 where bits agree, -1 where they differ. */
static void dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr vars[2];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars),
              *k = gpuc_te_reduce_axis(ctx, call->in[0].dims[1], "k");
    gpuc_expr x[] = {vars[0], gpuc_iter_var(k)}, w[] = {vars[1], gpuc_iter_var(k)};
    gpuc_expr differ =
        gpuc_call2(ctx, "bitxor", gpuc_te_read(ctx, ins[0], 2, x), gpuc_te_read(ctx, ins[1], 2, w));
    gpuc_expr bits = gpuc_cast(ctx, GPUC_INT32, gpuc_topi_count_bits(ctx, differ));
    gpuc_tensor *sum =
        gpuc_topi_compute(ctx, "differ", "matmul", 2, axes, gpuc_te_reduce(ctx, "sum", bits, 1, &k));
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr twice = gpuc_mul(ctx, gpuc_te_read(ctx, sum, 2, vars), gpuc_imm_int(ctx, GPUC_INT32, 2));
    gpuc_expr all = gpuc_imm_int(ctx, GPUC_INT32, WORD * gpuc_topi_static_dim(call, 0, 1));
    outs[0] = gpuc_topi_compute(ctx, "dense", "elemwise", 2, axes,
                                gpuc_cast(ctx, GPUC_FLOAT32, gpuc_sub(ctx, all, twice)));
}

ATTRS(axis, INT("axis", -1))

const gpuc_op gpuc_topi_ops_binary[] = {
    INJECTIVE("nn.binarize_pack", 1, 1, axis, infer_pack, pack_compute, "binarize_pack", "", "",
              GPUC_T_SINTS | GPUC_T_FLOATS),
    ANCHOR("nn.binary_dense", 2, 2, NULL, infer_dense, dense_compute, "binary_dense", "", "", GPUC_T_UINT32),
};
const size_t gpuc_topi_ops_binary_count = sizeof gpuc_topi_ops_binary / sizeof gpuc_topi_ops_binary[0];
