/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that take the shape or the type of another tensor, and of layout_transform. */
#include <string.h>

#include "relay_pass/common/rules.h"

/* The attributes shape, and dtype, of the type of e; NULL: it has a size that the build does not know. */
static const gpuc_attrs *shape_of(gpuc_ctx *ctx, const gpuc_rexpr *e, bool dtype)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t dims[GPUC_OP_MAX_DIMS];
    if (!gpuc_relay_tensor_type_static(t, dims)) return NULL;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "shape", t->ndim, dims);
    return dtype ? gpuc_attrs_dtype(ctx, a, "dtype", t->dtype) : a;
}

static gpuc_rexpr *with_shape(gpuc_ctx *ctx, gpuc_rexpr *e, const char *op, bool dtype, int n,
                              gpuc_rexpr *const *args)
{
    const gpuc_attrs *a = shape_of(ctx, e, dtype);
    return a ? gpuc_relay_op(ctx, op, a, n, args) : NULL;
}

static gpuc_rexpr *zeros_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return with_shape(ctx, e, "zeros", true, 0, NULL);
}

static gpuc_rexpr *ones_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return with_shape(ctx, e, "ones", true, 0, NULL);
}

static gpuc_rexpr *full_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return with_shape(ctx, e, "full", true, 1, &gpuc_as_rcall(e)->args[1]);
}

static gpuc_rexpr *broadcast_to_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return with_shape(ctx, e, "broadcast_to", false, 1, gpuc_as_rcall(e)->args);
}

static gpuc_rexpr *collapse_sum_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return with_shape(ctx, e, "collapse_sum_to", false, 1, gpuc_as_rcall(e)->args);
}

static gpuc_rexpr *reshape_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t dims[GPUC_OP_MAX_DIMS];
    if (!gpuc_relay_tensor_type_static(t, dims)) return NULL;
    return gpuc_relay_pass_reshape(ctx, gpuc_as_rcall(e)->args[0], t->ndim, t->dims);
}

static gpuc_rexpr *cast_like(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return gpuc_relay_pass_cast(ctx, gpuc_as_rcall(e)->args[0], gpuc_relay_tensor_type(e)->dtype);
}

/* ---- layout_transform ---- */

enum { MAX_LAYOUT = 32 };

static const char *layout(const gpuc_rexpr *e, const char *name)
{
    return gpuc_attrs_get_string(gpuc_as_rcall((gpuc_rexpr *)e)->attrs, name, "");
}

/* Without blocks: a letter for each dimension. */
static bool is_plain(const char *s)
{
    size_t n = strlen(s);
    return n < MAX_LAYOUT && strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
}

static gpuc_rexpr *transformed(gpuc_ctx *ctx, gpuc_rexpr *x, const char *from, const char *to)
{
    if (!strcmp(from, to)) return x;
    const gpuc_attrs *a = gpuc_attrs_string(ctx, NULL, "src_layout", from);
    return gpuc_relay_op1(ctx, "layout_transform", gpuc_attrs_string(ctx, a, "dst_layout", to), x);
}

static gpuc_rexpr *layout_of_layout(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *inner = gpuc_as_rcall(e)->args[0];
    if (!gpuc_relay_is_op(inner, "layout_transform") ||
        strcmp(layout(inner, "dst_layout"), layout(e, "src_layout")) != 0)
        return NULL;
    return transformed(ctx, gpuc_as_rcall(inner)->args[0], layout(inner, "src_layout"),
                       layout(e, "dst_layout"));
}

/* Reads axes of a transposition; false: not of so many. */
static bool read_axes(const gpuc_rexpr *transpose, size_t n, size_t *perm)
{
    const gpuc_attr *axes = gpuc_attrs_find(gpuc_as_rcall((gpuc_rexpr *)transpose)->attrs, "axes");
    if (axes->n && (size_t)axes->n != n) return false;
    for (size_t i = 0; i < n; i++)
        perm[i] = !axes->n ? n - 1 - i : (size_t)(axes->ints[i] + (axes->ints[i] < 0 ? axes->n : 0));
    return true;
}

static gpuc_rexpr *layout_of_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *inner = gpuc_as_rcall(e)->args[0];
    const char *from = layout(e, "src_layout");
    char before[MAX_LAYOUT] = "";
    size_t perm[MAX_LAYOUT];
    if (!gpuc_relay_is_op(inner, "transpose") || !is_plain(from) || !read_axes(inner, strlen(from), perm))
        return NULL;
    for (size_t i = 0; i < strlen(from); i++) before[perm[i]] = from[i];
    return transformed(ctx, gpuc_as_rcall(inner)->args[0], before, layout(e, "dst_layout"));
}

static gpuc_rexpr *transpose_of_layout(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    gpuc_rexpr *inner = gpuc_as_rcall(e)->args[0];
    char after[MAX_LAYOUT] = "";
    size_t perm[MAX_LAYOUT];
    if (!gpuc_relay_is_op(inner, "layout_transform")) return NULL;
    const char *to = layout(inner, "dst_layout");
    if (!is_plain(to) || !read_axes(e, strlen(to), perm)) return NULL;
    for (size_t i = 0; i < strlen(to); i++) after[i] = to[perm[i]];
    return transformed(ctx, gpuc_as_rcall(inner)->args[0], layout(inner, "src_layout"), after);
}

static gpuc_rexpr *layout_is_transpose(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const char *from = layout(e, "src_layout"), *to = layout(e, "dst_layout");
    int64_t perm[MAX_LAYOUT];
    if (!is_plain(from) || !is_plain(to) || strlen(from) != strlen(to)) return NULL;
    for (size_t i = 0; to[i]; i++) perm[i] = strchr(from, to[i]) - from;
    return gpuc_relay_pass_transpose(ctx, gpuc_as_rcall(e)->args[0], perm);
}

static const gpuc_relay_pass_rule rules[] = {
    {"zeros_like", "zeros_like", zeros_like},
    {"ones_like", "ones_like", ones_like},
    {"full_like", "full_like", full_like},
    {"broadcast_to_like", "broadcast_to_like", broadcast_to_like},
    {"collapse_sum_like", "collapse_sum_like", collapse_sum_like},
    {"reshape_like", "reshape_like", reshape_like},
    {"cast_like", "cast_like", cast_like},
    {"layout_of_layout", "layout_transform", layout_of_layout},
    {"layout_of_transpose", "layout_transform", layout_of_transpose},
    {"transpose_of_layout", "transpose", transpose_of_layout},
    {"layout_is_transpose", "layout_transform", layout_is_transpose},
};

const gpuc_rule_table gpuc_relay_pass_rules_of_shapes = GPUC_RULE_TABLE(rules);
