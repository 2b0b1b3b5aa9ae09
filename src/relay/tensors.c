/* SPDX-License-Identifier: Apache-2.0 */
/* A primitive function as tensor expressions. */
#include <string.h>

#include "relay/relay.h"
#include "op/op.h"

static gpuc_op_call op_call(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_op_call call = {.ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n};
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    const gpuc_expr **values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    for (int i = 0; i < c->n; i++) {
        in[i] = *gpuc_relay_tensor_type(c->args[i]);
        values[i] = c->args[i]->values;
    }
    call.in = in;
    call.in_values = values;
    const gpuc_rtype *t = e->type;
    call.num_out = t->kind == GPUC_RTYPE_TUPLE ? t->n : 1;
    call.out = gpuc_new_array(ctx, gpuc_tensor_type, call.num_out);
    for (int i = 0; i < call.num_out; i++)
        call.out[i] = t->kind == GPUC_RTYPE_TUPLE ? t->at[i]->tensor : t->tensor;
    call.out_values = gpuc_new_array(ctx, const gpuc_expr *, call.num_out);
    return call;
}

/* An immediate as a tensor without inputs, which is always inlined. */
static gpuc_tensor *constant_tensor(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    const gpuc_const_data *data = gpuc_as_rconstant(e)->data;
    size_t size = gpuc_dtype_bytes(t->dtype);
    if (data->size > size && memcmp(data->bytes, (const char *)data->bytes + size, data->size - size))
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "a constant of %lld values is no tensor expression: make it an input",
                   (long long)(data->size / size));
    gpuc_iter **axes = gpuc_new_array(ctx, gpuc_iter *, t->ndim);
    for (int i = 0; i < t->ndim; i++) axes[i] = gpuc_te_axis(ctx, t->dims[i], "c");
    gpuc_expr value = gpuc_relay_const_element(ctx, gpuc_as_rconstant(e), 0);
    return gpuc_te_compute(ctx, "constant", t->ndim, axes, value);
}

static bool same_extent(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b, bool own)
{
    int64_t m, n;
    if (!b || a == b) return true;
    if (gpuc_expr_is_int(a, &m) && gpuc_expr_is_int(b, &n)) return m == n;
    return own || gpuc_topi_proves(ctx, gpuc_eq(ctx, a, b));
}

/* What computes give must be what inference said; of those of programs (by: of an implementation) all must be proven. */
static void check_results(const gpuc_op_call *call, const gpuc_op_implementation *by,
                          gpuc_tensor *const *results)
{
    gpuc_ctx *ctx = call->ctx;
    bool own = !(by && by->compute) && gpuc_op_find(call->op->name) == call->op;
    for (int i = 0; i < call->num_out; i++) {
        const gpuc_tensor_type *want = &call->out[i];
        bool same = results[i] && gpuc_te_ndim(results[i]) == want->ndim &&
                    gpuc_dtype_equal(gpuc_te_dtype(results[i]), want->dtype);
        for (int k = 0; same && k < want->ndim; k++)
            same = same_extent(ctx, gpuc_te_shape(results[i])[k], want->dims[k], own);
        if (!same)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "%s: result %d of %s is not of the shape and type that its inference gives",
                       call->op->name, i,
                       by ? gpuc_ctx_printf(ctx, "its implementation '%s'", by->name) : "its compute");
    }
}

/* The results of a call, whose arguments are in tensors. */
static gpuc_tensor **compute_call(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_relay_chooser *chooser,
                                  const gpuc_map *tensors)
{
    gpuc_op_call call = op_call(ctx, e);
    if (!call.op->compute)
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "%s%s%s cannot run on a device: its result must be known when building", call.op->name,
                   *e->source ? " of " : "", e->source);
    gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, call.num_in);
    for (int i = 0; i < call.num_in; i++)
        ins[i] = ((gpuc_tensor **)gpuc_map_get(tensors, gpuc_as_rcall(e)->args[i]))[0];
    gpuc_tensor **results = gpuc_new_array(ctx, gpuc_tensor *, call.num_out);
    const gpuc_op_implementation *other = chooser ? chooser->choose(ctx, chooser->user, &call) : NULL;
    (other && other->compute ? other->compute : call.op->compute)(&call, ins, results);
    check_results(&call, other, results);
    return results;
}

static int num_results_of(const gpuc_rexpr *e)
{
    return e->type->kind == GPUC_RTYPE_TUPLE ? e->type->n : 1;
}

gpuc_tensor **gpuc_relay_results(gpuc_ctx *ctx, gpuc_rexpr *body, const gpuc_relay_chooser *chooser,
                                 gpuc_map *tensors, int *num_results)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        gpuc_tensor **results = NULL;
        if (e->kind == GPUC_REXPR_CONSTANT) {
            results = gpuc_new(ctx, gpuc_tensor *);
            results[0] = constant_tensor(ctx, e);
        } else if (e->kind == GPUC_REXPR_GET) {
            const gpuc_rget *get = (const gpuc_rget *)e;
            results = (gpuc_tensor **)gpuc_map_get(tensors, get->tuple) + get->index;
        } else if (e->kind == GPUC_REXPR_TUPLE) {
            const gpuc_rtuple *tuple = gpuc_as_rtuple(e);
            results = gpuc_new_array(ctx, gpuc_tensor *, tuple->n);
            for (int k = 0; k < tuple->n; k++)
                results[k] = ((gpuc_tensor **)gpuc_map_get(tensors, tuple->fields[k]))[0];
        } else if (e->kind == GPUC_REXPR_CALL) {
            results = compute_call(ctx, e, chooser, tensors);
        }
        if (results) gpuc_map_set(tensors, e, results);
    }
    *num_results = num_results_of(body);
    return gpuc_map_get(tensors, body);
}

gpuc_tensor **gpuc_relay_tensors(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_relay_chooser *chooser,
                                 int *num_results)
{
    gpuc_map tensors; /* expr -> gpuc_tensor ** (one per output) */
    gpuc_map_init(&tensors, ctx);
    gpuc_tensor **params = gpuc_new_array(ctx, gpuc_tensor *, f->n);
    for (int i = 0; i < f->n; i++) {
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(f->params[i]);
        params[i] = gpuc_te_placeholder(ctx, gpuc_as_rvar(f->params[i])->name, t->ndim, t->dims, t->dtype);
        gpuc_map_set(&tensors, f->params[i], &params[i]);
    }
    gpuc_tensor **results = gpuc_relay_results(ctx, f->body, chooser, &tensors, num_results);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, f->n + *num_results);
    for (int i = 0; i < f->n; i++) args[i] = params[i];
    for (int i = 0; i < *num_results; i++) args[f->n + i] = results[i];
    return args;
}
