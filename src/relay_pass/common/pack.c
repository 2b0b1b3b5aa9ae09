/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the reshapes and transpositions that pack weights into the order in which schedules read them. */
#include "relay_pass/common/pack.h"

#include <string.h>

#include "relay_pass/common/util.h"

enum { MAX_RANK = 10 };

gpuc_rexpr *gpuc_relay_pass_filled_up(gpuc_ctx *ctx, gpuc_rexpr *e, int axis, int64_t to)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t size, none[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    gpuc_expr_is_int(t->dims[axis], &size);
    if (size % to == 0) return e;
    after[axis] = to - size % to;
    const gpuc_attrs *pads = gpuc_attrs_ints(ctx, NULL, "pad_before", t->ndim, none);
    return gpuc_relay_op1(ctx, "nn.pad", gpuc_attrs_ints(ctx, pads, "pad_after", t->ndim, after), e);
}

gpuc_rexpr *gpuc_relay_pass_first(gpuc_ctx *ctx, gpuc_rexpr *e, int axis, int64_t count)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t size, begin[MAX_RANK] = {0}, strides[MAX_RANK];
    gpuc_expr sizes[MAX_RANK];
    int n = t->ndim;
    if (gpuc_expr_is_int(t->dims[axis], &size) && size == count) return e;
    memcpy(sizes, t->dims, sizeof *sizes * (size_t)n);
    sizes[axis] = gpuc_int(ctx, count);
    for (int i = 0; i < n; i++) strides[i] = 1;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", n, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", n, sizes), "strides", n, strides);
    return gpuc_relay_op1(ctx, "strided_slice", a, e);
}

gpuc_rexpr *gpuc_relay_pass_pack_weights(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(w);
    int64_t dims[MAX_RANK], perm[MAX_RANK];
    int n = t->ndim;
    w = gpuc_relay_pass_filled_up(ctx, w, 0, block);
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(w), dims);
    memmove(dims + 2, dims + 1, sizeof *dims * (size_t)(n - 1));
    dims[0] /= block;
    dims[1] = block;
    w = gpuc_relay_pass_reshape_static(ctx, w, n + 1, dims);
    for (int i = 1; i < n - 1; i++) perm[i] = i + 2;
    perm[0] = 0;
    perm[n - 1] = 2;
    perm[n] = 1;
    return gpuc_relay_pass_transpose(ctx, w, perm);
}

gpuc_rexpr *gpuc_relay_pass_turn_weights(gpuc_ctx *ctx, gpuc_rexpr *w)
{
    int64_t perm[MAX_RANK];
    int n = gpuc_relay_tensor_type(w)->ndim;
    for (int i = 0; i < n; i++) perm[i] = (i + 1) % n;
    return gpuc_relay_pass_transpose(ctx, w, perm);
}

gpuc_rexpr *gpuc_relay_pass_pack_sides(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block, int64_t side)
{
    int64_t dims[MAX_RANK], perm[MAX_RANK];
    w = gpuc_relay_pass_filled_up(ctx, gpuc_relay_pass_filled_up(ctx, w, 0, block), 1, side);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(w);
    int n = t->ndim;
    gpuc_relay_tensor_type_static(t, dims);
    memmove(dims + 4, dims + 2, sizeof *dims * (size_t)(n - 2));
    dims[2] = dims[1] / side;
    dims[3] = side;
    dims[0] /= block;
    dims[1] = block;
    w = gpuc_relay_pass_reshape_static(ctx, w, n + 2, dims);
    perm[0] = 0;
    for (int i = 1; i < n - 1; i++) perm[i] = i + 3;
    perm[n - 1] = 2;
    perm[n] = 1;
    perm[n + 1] = 3;
    return gpuc_relay_pass_transpose(ctx, w, perm);
}

gpuc_rexpr *gpuc_relay_pass_pack_points(gpuc_ctx *ctx, gpuc_rexpr *w, int64_t block)
{
    int64_t dims[MAX_RANK], perm[MAX_RANK];
    int n = gpuc_relay_tensor_type(w)->ndim;
    w = gpuc_relay_pass_filled_up(ctx, w, n - 1, block);
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(w), dims);
    dims[n - 1] /= block;
    dims[n] = block;
    for (int i = 0; i <= n; i++) perm[i] = i;
    perm[n - 2] = n - 1;
    perm[n - 1] = n - 2;
    return gpuc_relay_pass_transpose(ctx, gpuc_relay_pass_reshape_static(ctx, w, n + 1, dims), perm);
}
