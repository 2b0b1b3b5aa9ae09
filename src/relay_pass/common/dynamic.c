/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operators whose extents are tensors as those that have them as attributes. */
#include "relay_pass/common/dynamic.h"

#include <string.h>

#include "relay/infer.h"
#include "tir/tir.h"

const gpuc_op_dynamic *gpuc_relay_pass_dynamic(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    return op ? gpuc_op_dynamic_find(op->name, gpuc_as_rcall(e)->attrs) : NULL;
}

/* The call of another row with the arguments that have no extents. */
static gpuc_rexpr *without_extents(gpuc_ctx *ctx, const gpuc_op_dynamic *d, const gpuc_rcall *c,
                                   const gpuc_attrs *attrs)
{
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n + 1);
    int n = 0;
    for (int i = 0; i < c->n; i++)
        if (gpuc_op_dynamic_at(d, i) < 0) args[n++] = c->args[i];
    return gpuc_relay_op(ctx, d->of, attrs, n, args);
}

gpuc_rexpr *gpuc_relay_pass_sized_call(gpuc_ctx *ctx, const gpuc_rexpr *e, int n, const gpuc_expr *extents)
{
    const gpuc_op_dynamic *d = gpuc_relay_pass_dynamic(e);
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = gpuc_op_dynamic_sized(ctx, d, c->attrs, n, extents);
    return d->own ? gpuc_relay_op(ctx, d->name, attrs, c->n, c->args) : without_extents(ctx, d, c, attrs);
}

gpuc_rexpr *gpuc_relay_pass_static_call(gpuc_ctx *ctx, const gpuc_rexpr *e, const gpuc_expr *const *elements)
{
    const gpuc_op_dynamic *d = gpuc_relay_pass_dynamic(e);
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (!strcmp(d->of, d->name)) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
        return gpuc_relay_pass_sized_call(ctx, e, t->ndim, t->dims);
    }
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n + 1);
    for (int i = 0; i < c->n; i++) in[i] = *gpuc_relay_tensor_type(c->args[i]);
    return without_extents(ctx, d, c, gpuc_op_dynamic_attrs(ctx, d, c->attrs, c->n, in, elements));
}

static bool has_any(int n, const gpuc_expr *elements)
{
    bool any = false;
    for (int i = 0; i < n; i++) any |= gpuc_relay_is_any_dim(elements[i]);
    return any;
}

gpuc_rexpr *gpuc_relay_pass_write_static(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    const gpuc_op_dynamic *d = gpuc_relay_pass_dynamic(e);
    const gpuc_expr *elements[GPUC_OP_EXTENTS];
    for (int k = 0; d && k < gpuc_op_dynamic_num(d, gpuc_as_rcall(e)->n); k++) {
        const gpuc_rexpr *arg = gpuc_as_rcall(e)->args[d->from[k].input];
        int n = gpuc_op_dynamic_count(ctx, d, k, gpuc_relay_tensor_type(arg));
        elements[k] = gpuc_relay_elements(ctx, arg);
        if (!elements[k] || has_any(n, elements[k]) || !gpuc_op_dynamic_takes(&d->from[k], n, elements[k]))
            return NULL;
    }
    return d ? gpuc_relay_pass_static_call(ctx, e, elements) : NULL;
}
