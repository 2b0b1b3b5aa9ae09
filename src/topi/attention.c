/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding (Su et al., "RoFormer", 2021; ONNX RotaryEmbedding-23): x [N, heads, S, D], cos
 * and sin [N, S, R/2] of the R first elements of each head. Pairs are halves of them, or neighbours. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/rows.h"

static void infer_rotary(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0];
    if (x->ndim != 4)
        gpuc_topi_fail(call, "takes [N, heads, sequence, head size], not %d dimensions", x->ndim);
    if (call->in[1].ndim != 3) gpuc_topi_fail(call, "the angles have %d dimensions, not 3", call->in[1].ndim);
    int64_t head = gpuc_topi_static_dim(call, 0, 3), half = gpuc_topi_static_dim(call, 1, 2), a, b;
    if (2 * half > head)
        gpuc_topi_fail(call, "%lld angles for heads of %lld elements", (long long)half, (long long)head);
    for (int i = 1; i < 3; i++) {
        const gpuc_tensor_type *t = &call->in[i];
        if (t->ndim != 3 || gpuc_topi_static_dim(call, i, 2) != half)
            gpuc_topi_fail(call, "input %d must be [N, sequence, %lld]", i, (long long)half);
        for (int k = 0; k < 2; k++)
            if (gpuc_expr_is_int(t->dims[k], &a) && gpuc_expr_is_int(x->dims[2 * k], &b) && a != b &&
                (a != 1 || k))
                gpuc_topi_fail(call, "dimension %d of input %d is %lld, of the data %lld", k, i, (long long)a,
                               (long long)b);
    }
    call->out[0] = call->in[0];
}

static void rotary_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    bool neighbours = gpuc_attrs_get_int(call->attrs, "interleaved", 0);
    int64_t half = gpuc_topi_static_dim(call, 1, 2), head = gpuc_topi_static_dim(call, 0, 3);
    gpuc_expr vars[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 4, vars)), value = x,
              h = gpuc_int(ctx, half), two = gpuc_int(ctx, 2), d = vars[3];
    if (half > 0) {
        gpuc_expr first =
            neighbours ? gpuc_eq(ctx, gpuc_floormod_(ctx, d, two), gpuc_int(ctx, 0)) : gpuc_lt(ctx, d, h);
        gpuc_expr step = neighbours ? gpuc_int(ctx, 1) : h;
        gpuc_expr mate = gpuc_select(ctx, first, gpuc_add(ctx, d, step), gpuc_sub(ctx, d, step));
        gpuc_expr angle =
            neighbours ? gpuc_floordiv_(ctx, d, two) : gpuc_select(ctx, first, d, gpuc_sub(ctx, d, h));
        gpuc_expr at[] = {vars[0], vars[1], vars[2], mate}, a[] = {vars[0], vars[2], angle};
        gpuc_expr other = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 4, at));
        const gpuc_expr *d4 = call->out[0].dims, angles[] = {d4[0], d4[2], h};
        const gpuc_tensor_type t = {.ndim = 3, .dims = angles};
        gpuc_expr c = gpuc_topi_widen(ctx, gpuc_topi_read_broadcast(ctx, ins[1], &t, a)),
                  s = gpuc_topi_widen(ctx, gpuc_topi_read_broadcast(ctx, ins[2], &t, a));
        gpuc_expr zero = gpuc_imm(ctx, gpuc_expr_dtype(s), 0);
        s = gpuc_select(ctx, first, gpuc_sub(ctx, zero, s), s);
        gpuc_expr turned = gpuc_add(ctx, gpuc_mul(ctx, x, c), gpuc_mul(ctx, other, s));
        value = 2 * half == head
                    ? turned
                    : gpuc_if_then_else(ctx, gpuc_lt(ctx, d, gpuc_int(ctx, 2 * half)), turned, x);
    }
    outs[0] =
        gpuc_topi_compute(ctx, "rotary", "injective", 4, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

ATTRS(rotary, INT("interleaved", 0))

const gpuc_op gpuc_ops_attention[] = {
    INJECTIVE("nn.rotary_embedding", 3, 3, rotary, infer_rotary, rotary_compute, "rotary_embedding", "",
              "RotaryEmbedding", GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_ops_attention_count = sizeof gpuc_ops_attention / sizeof gpuc_ops_attention[0];
