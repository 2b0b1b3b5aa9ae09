/* SPDX-License-Identifier: Apache-2.0 */
/* Folds the width of a convolution into its channels (space to depth): windows then start, and end, between groups of
 * neighbours, which lie together already. What is left of a row behind its last whole group is in no window. */
#include "relay_pass/common/fold_width.h"

#include "relay_pass/common/pack.h"
#include "relay_pass/common/util.h"

enum { MAX_RANK = 10 };

typedef struct width {
    int rank; /* axes of space */
    int64_t stride, window, before, after;
    int64_t elements; /* of a row, with its padding */
    int64_t channels;
} width;

static bool describe(const gpuc_attrs *a, gpuc_rexpr *const *args, width *out)
{
    const gpuc_tensor_type *x = gpuc_relay_tensor_type(args[0]);
    int64_t dims[MAX_RANK], row;
    if (!gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(args[1]), dims)) return false;
    int rank = x->ndim - 2;
    const int64_t *padding = gpuc_attrs_find(a, "padding")->ints;
    width w = {.rank = rank,
               .stride = gpuc_attrs_find(a, "strides")->ints[rank - 1],
               .window = dims[rank + 1],
               .before = padding[rank - 1],
               .after = padding[2 * rank - 1],
               .channels = dims[1]};
    if (gpuc_attrs_find(a, "dilation")->ints[rank - 1] != 1 || !gpuc_expr_is_int(x->dims[rank], &row))
        return false;
    if (w.before == GPUC_ATTR_UNKNOWN || w.after == GPUC_ATTR_UNKNOWN || w.before < 0 || w.after < 0)
        return false;
    w.elements = row + w.before + w.after;
    *out = w;
    return w.elements >= w.window;
}

/* The least divisor for which the least part of the vectors stays empty. */
static int64_t factor_of(const width *w, int64_t each)
{
    int64_t best = 1, best_made = (w->channels + each - 1) / each * each;
    for (int64_t g = 2; g <= each; g++) {
        if (w->stride % g || w->window % g) continue;
        int64_t channels = g * w->channels, made = (channels + each - 1) / each * each;
        if (made * best >= best_made * g) continue;
        best = g;
        best_made = made;
    }
    return best;
}

/* Rows of whole groups, with their padding. */
static gpuc_rexpr *whole_groups(gpuc_ctx *ctx, const width *w, gpuc_rexpr *x, int64_t g)
{
    int64_t row, wanted = w->elements / g * g, before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    gpuc_expr_is_int(gpuc_relay_tensor_type(x)->dims[w->rank], &row);
    if (row + w->before > wanted) {
        row = wanted - w->before;
        x = gpuc_relay_pass_first(ctx, x, w->rank, row);
    }
    before[w->rank] = w->before;
    after[w->rank] = wanted - w->before - row;
    if (row == wanted) return x;
    const gpuc_attrs *pads = gpuc_attrs_ints(ctx, NULL, "pad_before", w->rank + 2, before);
    return gpuc_relay_op1(ctx, "nn.pad", gpuc_attrs_ints(ctx, pads, "pad_after", w->rank + 2, after), x);
}

/* [N, ..., W, I] as [N, ..., W/g, g*I]. */
static gpuc_rexpr *fold_data(gpuc_ctx *ctx, const width *w, gpuc_rexpr *x, int64_t g)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr dims[MAX_RANK];
    for (int i = 0; i < w->rank; i++) dims[i] = t->dims[i];
    dims[w->rank] = gpuc_int(ctx, w->elements / g);
    dims[w->rank + 1] = gpuc_int(ctx, g * w->channels);
    return gpuc_relay_pass_reshape(ctx, x, w->rank + 2, dims);
}

/* [O, I, ..., W] as [O, g*I, ..., W/g]. */
static gpuc_rexpr *fold_weights(gpuc_ctx *ctx, const width *w, gpuc_rexpr *weights, int64_t g)
{
    int64_t dims[MAX_RANK], perm[MAX_RANK];
    int n = w->rank + 2;
    gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(weights), dims);
    dims[n - 1] /= g;
    dims[n] = g;
    weights = gpuc_relay_pass_reshape_static(ctx, weights, n + 1, dims);
    for (int i = 2; i <= n; i++) perm[i] = i - 1;
    perm[0] = 0;
    perm[1] = n;
    weights = gpuc_relay_pass_transpose(ctx, weights, perm);
    dims[1] *= g;
    return gpuc_relay_pass_reshape_static(ctx, weights, n, dims);
}

static const gpuc_attrs *with_last(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int rank,
                                   int64_t value)
{
    const gpuc_attr *old = gpuc_attrs_find(a, name);
    int64_t values[2 * MAX_RANK];
    for (int i = 0; i < old->n; i++) values[i] = i % rank == rank - 1 ? value : old->ints[i];
    return gpuc_attrs_ints(ctx, a, name, old->n, values);
}

const gpuc_attrs *gpuc_relay_pass_fold_width(gpuc_ctx *ctx, const gpuc_attrs *a, gpuc_rexpr **args,
                                             int64_t each)
{
    width w;
    if (!describe(a, args, &w)) return a;
    int64_t g = factor_of(&w, each);
    if (g == 1 || w.elements / g * g <= w.before) return a;
    args[0] = fold_data(ctx, &w, whole_groups(ctx, &w, args[0], g), g);
    args[1] = fold_weights(ctx, &w, args[1], g);
    return with_last(ctx, with_last(ctx, a, "strides", w.rank, w.stride / g), "padding", w.rank, 0);
}
