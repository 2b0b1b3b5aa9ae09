/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operators whose extents are tensors as those that have them as attributes. */
#include "relay_pass/common/dynamic.h"

#include "relay/infer.h"
#include "tir/tir.h"

const gpuc_op_dynamic *gpuc_relay_pass_dynamic(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    return op ? gpuc_op_dynamic_find(op->name) : NULL;
}

const gpuc_expr *gpuc_relay_pass_elements(gpuc_ctx *ctx, const gpuc_rexpr *e, int n)
{
    if (e->values) return e->values;
    if (e->kind != GPUC_REXPR_CONSTANT) return NULL;
    gpuc_expr *out = gpuc_new_array(ctx, gpuc_expr, n + 1);
    for (int i = 0; i < n; i++) out[i] = gpuc_relay_const_element(ctx, gpuc_as_rconstant(e), i);
    return out;
}

gpuc_rexpr *gpuc_relay_pass_static_call(gpuc_ctx *ctx, const gpuc_rexpr *e, const gpuc_expr *const *elements)
{
    const gpuc_op_dynamic *d = gpuc_relay_pass_dynamic(e);
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_rexpr **args = gpuc_new_array(ctx, gpuc_rexpr *, c->n + 1);
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n + 1);
    int n = 0;
    for (int i = 0, k = 0; i < c->n; i++) {
        bool extents = k < d->n && d->from[k].input == i;
        in[i] = *gpuc_relay_tensor_type(c->args[i]);
        k += extents;
        if (!extents) args[n++] = c->args[i];
    }
    return gpuc_relay_op(ctx, d->of, gpuc_op_dynamic_attrs(ctx, d, c->attrs, in, elements), n, args);
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
    for (int k = 0; d && k < d->n; k++) {
        const gpuc_rexpr *arg = gpuc_as_rcall(e)->args[d->from[k].input];
        int n = gpuc_op_dynamic_count(ctx, d, k, gpuc_relay_tensor_type(arg));
        elements[k] = gpuc_relay_pass_elements(ctx, arg, n);
        if (!elements[k] || has_any(n, elements[k]) || !gpuc_op_dynamic_takes(&d->from[k], n, elements[k]))
            return NULL;
    }
    return d ? gpuc_relay_pass_static_call(ctx, e, elements) : NULL;
}

/* ---- Sizes that become known ---- */

static void note_type(gpuc_relay_pass_sizes *s, const gpuc_rtype *old, const gpuc_rtype *new)
{
    if (!old || !new || old == new || old->kind != new->kind || old->n != new->n) return;
    for (int i = 0; old->kind == GPUC_RTYPE_TUPLE && i < old->n; i++) note_type(s, old->at[i], new->at[i]);
    for (int i = 0; old->kind == GPUC_RTYPE_TENSOR && i < old->tensor.ndim && i < new->tensor.ndim; i++) {
        gpuc_expr was = old->tensor.dims[i], is = new->tensor.dims[i];
        if (was != is && was->kind == GPUC_EXPR_VAR && gpuc_relay_is_any_dim(was))
            gpuc_map_set(&s->by, was, (void *)(uintptr_t)is);
    }
}

void gpuc_relay_pass_note_sizes(gpuc_relay_pass_sizes *s, const gpuc_rexpr *old, const gpuc_rexpr *new)
{
    note_type(s, old->type, new->type);
}

gpuc_rexpr *gpuc_relay_pass_put_sizes(gpuc_ctx *ctx, const gpuc_relay_pass_sizes *s, gpuc_rexpr *e)
{
    if (!s->by.count || !gpuc_relay_call_op(e) || !gpuc_attrs_symbolic(gpuc_as_rcall(e)->attrs)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(ctx, c->attrs, &s->by);
    if (attrs == c->attrs) return e;
    gpuc_rexpr *out = gpuc_relay_call(ctx, c->callee, attrs, c->n, c->args);
    bool typed = true;
    for (int i = 0; i < c->n; i++) typed &= c->args[i]->type != NULL;
    if (typed) gpuc_relay_infer_call(ctx, out);
    return out;
}
