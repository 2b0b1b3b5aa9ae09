/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operators whose extents follow from tensors as those that have them as attributes, where the elements of these
 * tensors are known, or follow from extents: dyn.NAME as NAME, arange with its length. */
#include "relay_pass/common/dynamic.h"

typedef struct writer {
    gpuc_relay_pass_sizes sizes;
    bool changed;
} writer;

/* Element i of input k is a number. */
static bool number_at(const gpuc_rcall *c, int k, int64_t i, int64_t *out)
{
    return c->args[k]->values && gpuc_expr_is_int(c->args[k]->values[i], out);
}

/* Bounds as Python has them: negative ones count from the end, and all are clamped. NULL: they are not known. */
static gpuc_rexpr *slice(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]), *out = gpuc_relay_tensor_type(e);
    int64_t *begin = gpuc_new_array(ctx, int64_t, t->ndim), *strides = gpuc_new_array(ctx, int64_t, t->ndim),
            n;
    if (!gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[1])->dims[0], &n)) return NULL;
    for (int i = 0; i < t->ndim; i++) {
        int64_t d, size;
        strides[i] = 1;
        if (i >= n) continue;
        if (!gpuc_expr_is_int(t->dims[i], &d) || !gpuc_expr_is_int(out->dims[i], &size)) return NULL;
        if (!number_at(c, 1, i, &begin[i]) || (c->n > 3 && !number_at(c, 3, i, &strides[i]))) return NULL;
        if (begin[i] < 0) begin[i] += d;
        if (begin[i] < 0) begin[i] = 0;
        if (begin[i] >= d) begin[i] = d > 0 ? d - 1 : 0;
        if (strides[i] > d) strides[i] = d > 0 ? d : 1; /* as far as beyond the end */
        if (strides[i] < -d) strides[i] = d > 0 ? -d : -1;
        __int128 last = begin[i] + (__int128)strides[i] * (size - 1);
        if (size > 0 && (last < 0 || last >= d))
            return NULL; /* of sizes that it was given: it stops at the end */
    }
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", t->ndim, begin);
    a = gpuc_attrs_sizes(ctx, a, "sizes", t->ndim, out->dims);
    return gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", t->ndim, strides),
                          c->args[0]);
}

/* arange with its length, if that depends on no size that nobody knows; NULL. */
static gpuc_rexpr *range(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_expr *dims = gpuc_relay_tensor_type(e)->dims;
    if (gpuc_attrs_find(c->attrs, "length")->n || gpuc_relay_is_any_dim(dims[0])) return NULL;
    return gpuc_relay_op(ctx, "arange", gpuc_attrs_sizes(ctx, c->attrs, "length", 1, dims), c->n, c->args);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    writer *w = arg;
    e = gpuc_relay_pass_put_sizes(ctx, &w->sizes, e);
    gpuc_rexpr *out = gpuc_relay_is_op(e, "dyn.strided_slice") ? slice(ctx, e)
                      : gpuc_relay_is_op(e, "arange")          ? range(ctx, e)
                                                               : gpuc_relay_pass_write_static(ctx, e);
    if (!out) return e;
    w->changed = true;
    gpuc_relay_pass_note_sizes(&w->sizes, old, out);
    return out;
}

void gpuc_relay_pass_dynamic_to_static(gpuc_relay_pass_ctx *p)
{
    writer w;
    do { /* what became known may be what others are computed of */
        gpuc_relay_pass_fold_constant(p);
        gpuc_map_init(&w.sizes.by, p->ctx);
        w.changed = false;
        gpuc_relay_pass_rewrite_module(p, rewrite, &w);
    } while (w.changed);
}
