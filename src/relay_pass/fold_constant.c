/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding through the host evaluator: the same definitions that kernels come from. */
#include <string.h>

#include "relay_pass/util.h"

/* The values that inference already knows (shapes) need no evaluation. */
static gpuc_rexpr *from_values(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = &e->type->tensor;
    int64_t dims[64], count = 1;
    if (t->ndim > 64 || !gpuc_tensor_type_static(t, dims)) return NULL;
    for (int i = 0; i < t->ndim; i++) count *= dims[i];
    for (int64_t i = 0; i < count; i++)
        if (!gpuc_expr_is_int(e->values[i], &(int64_t){0})) return NULL;
    size_t size = gpuc_dtype_bytes(t->dtype);
    gpuc_const_data *data = gpuc_const_data_create(ctx, (size_t)count * size);
    for (int64_t i = 0; i < count; i++) {
        int64_t v;
        gpuc_expr_is_int(e->values[i], &v);
        memcpy((char *)data->bytes + (size_t)i * size, &v, size);
    }
    return gpuc_relay_constant(ctx, e->type, data);
}

typedef struct run_arg {
    gpuc_ctx *ctx;
    const gpuc_rcall *call;
    gpuc_op_call op_call;
    gpuc_const_data **outs;
} run_arg;

/* Builds the operator's definition and runs it, in a context of its own that takes the IR with it. */
static void evaluate(gpuc_ctx *ctx, void *arg)
{
    run_arg *r = arg;
    const gpuc_rcall *call = r->call;
    int num_out = r->op_call.num_out, n = 0;
    gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, call->n);
    gpuc_tensor **outs = gpuc_new_array(ctx, gpuc_tensor *, num_out);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, call->n + num_out);
    gpuc_tir_arg *buffers = gpuc_new_array(ctx, gpuc_tir_arg, call->n + num_out);
    for (int i = 0; i < call->n; i++) {
        const gpuc_tensor_type *t = &r->op_call.in[i];
        ins[i] = gpuc_te_placeholder(ctx, gpuc_ctx_printf(ctx, "in%d", i), t->ndim, t->dims, t->dtype);
        const gpuc_const_data *data = gpuc_as_rconstant(call->args[i])->data;
        buffers[n] = (gpuc_tir_arg){.data = data->bytes, .size = data->size};
        args[n++] = ins[i];
    }
    r->op_call.op->compute(&r->op_call, ins, outs);
    for (int i = 0; i < num_out; i++) {
        buffers[n] = (gpuc_tir_arg){.data = r->outs[i]->bytes, .size = r->outs[i]->size};
        args[n++] = outs[i];
    }
    const gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "fold", n, args);
    GPUC_RAISE_IF(ctx, gpuc_tir_run(ctx, f, buffers, NULL, false));
}

static void move_types(gpuc_ctx *child, int n, const gpuc_tensor_type *from, gpuc_tensor_type *to)
{
    for (int i = 0; i < n; i++) {
        gpuc_expr *dims = gpuc_new_array(child, gpuc_expr, from[i].ndim);
        for (int k = 0; k < from[i].ndim; k++) {
            int64_t d = 0;
            gpuc_expr_is_int(from[i].dims[k], &d);
            dims[k] = gpuc_int(child, d);
        }
        to[i] = (gpuc_tensor_type){.dtype = from[i].dtype, .ndim = from[i].ndim, .dims = dims};
    }
}

/* Types and values are copied over: expressions belong to one context. */
static void prepare(gpuc_ctx *child, void *arg)
{
    run_arg *r = arg;
    gpuc_op_call *c = &r->op_call;
    const gpuc_rcall *call = r->call;
    const gpuc_rtype *t = call->base.type;
    c->ctx = child;
    c->op = gpuc_as_rop(call->callee)->op;
    c->attrs = call->attrs;
    c->num_in = call->n;
    c->num_out = t->kind == GPUC_RTYPE_TUPLE ? t->n : 1;
    gpuc_tensor_type *in = gpuc_new_array(child, gpuc_tensor_type, call->n);
    const gpuc_expr **values = gpuc_new_array(child, const gpuc_expr *, call->n);
    for (int i = 0; i < call->n; i++) {
        const gpuc_rexpr *a = call->args[i];
        move_types(child, 1, &a->type->tensor, &in[i]);
        if (!a->values) continue;
        int64_t count = (int64_t)(gpuc_as_rconstant(a)->data->size / gpuc_dtype_bytes(in[i].dtype)), v = 0;
        gpuc_expr *copy = gpuc_new_array(child, gpuc_expr, count ? count : 1);
        for (int64_t k = 0; k < count; k++) {
            gpuc_expr_is_int(a->values[k], &v);
            copy[k] = gpuc_int(child, v);
        }
        values[i] = copy;
    }
    c->in = in;
    c->in_values = values;
    c->out = gpuc_new_array(child, gpuc_tensor_type, c->num_out);
    c->out_values = gpuc_new_array(child, const gpuc_expr *, c->num_out);
    for (int i = 0; i < c->num_out; i++)
        move_types(child, 1, t->kind == GPUC_RTYPE_TUPLE ? &t->at[i]->tensor : &t->tensor, &c->out[i]);
    evaluate(child, arg);
}

static void destroy_ctx(void *ctx)
{
    gpuc_ctx_destroy(ctx);
}

static gpuc_rexpr *alias_of(gpuc_ctx *ctx, gpuc_rexpr *call)
{
    gpuc_const_data *data = gpuc_as_rconstant(gpuc_as_rcall(call)->args[0])->data;
    return gpuc_relay_constant(ctx, call->type, gpuc_const_data_retain(data));
}

gpuc_rexpr *gpuc_relay_evaluate_call(gpuc_ctx *ctx, gpuc_rexpr *e, int64_t limit)
{
    const gpuc_rcall *call = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_as_rop(call->callee)->op;
    if (op->alias) return alias_of(ctx, e);
    if (!op->compute) return NULL;
    const gpuc_rtype *t = e->type;
    int num_out = t->kind == GPUC_RTYPE_TUPLE ? t->n : 1;
    const gpuc_rtype *const *types = t->kind == GPUC_RTYPE_TUPLE ? t->at : &t;
    for (int i = 0; i < num_out; i++) {
        int64_t dims[64];
        if (types[i]->tensor.ndim > 64 || !gpuc_tensor_type_static(&types[i]->tensor, dims)) return NULL;
        if (gpuc_tensor_type_bytes(ctx, &types[i]->tensor) > limit) return NULL;
    }
    run_arg r = {.ctx = ctx, .call = call, .outs = gpuc_new_array(ctx, gpuc_const_data *, num_out)};
    for (int i = 0; i < num_out; i++)
        r.outs[i] = gpuc_const_data_create(ctx, (size_t)gpuc_tensor_type_bytes(ctx, &types[i]->tensor));
    gpuc_ctx *child;
    GPUC_RAISE_IF(ctx, gpuc_ctx_create(&ctx->allocator, &child));
    gpuc_ctx_push_cleanup(ctx, destroy_ctx, child);
    gpuc_status status = gpuc_ctx_protect(child, prepare, &r);
    gpuc_ctx_pop_cleanup(ctx, true);
    if (status)
        gpuc_ctx_raise_status(ctx, gpuc_error_prefix(status, "folding %s%s%s", op->name, *e->source ? " of " : "",
                                                     e->source));
    if (t->kind != GPUC_RTYPE_TUPLE) return gpuc_relay_constant(ctx, t, r.outs[0]);
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, num_out);
    for (int i = 0; i < num_out; i++) fields[i] = gpuc_relay_constant(ctx, types[i], r.outs[i]);
    return gpuc_relay_tuple(ctx, num_out, fields);
}

typedef struct folder {
    gpuc_relay_pass_ctx *p;
    gpuc_map uses; /* of the expressions before folding */
} folder;

/* One use less of what a folded call consumed; memory that nothing else needs is given back. */
static void consume(folder *f, const gpuc_rcall *before, const gpuc_rcall *after)
{
    for (int i = 0; i < before->n; i++) {
        uintptr_t uses = gpuc_relay_uses(&f->uses, before->args[i]);
        gpuc_map_set(&f->uses, before->args[i], (void *)(uses - 1));
        if (uses == 1) gpuc_const_data_release(gpuc_as_rconstant(after->args[i])->data);
    }
}

static gpuc_rexpr *fold(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    folder *f = arg;
    if (!gpuc_relay_call_op(e)) return e;
    if (e->values) {
        gpuc_rexpr *known = from_values(ctx, e);
        if (known) return known;
    }
    const gpuc_rcall *call = gpuc_as_rcall(e);
    for (int i = 0; i < call->n; i++)
        if (call->args[i]->kind != GPUC_REXPR_CONSTANT) return e;
    gpuc_rexpr *folded = gpuc_relay_evaluate_call(ctx, e, f->p->fold_limit);
    if (!folded) return e;
    if (!f->p->keep_constants) consume(f, gpuc_as_rcall(old), call);
    return folded;
}

void gpuc_relay_fold_constant(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) {
        folder f = {.p = p};
        gpuc_relay_count_uses(p->ctx, functions->entries[i].value, &f.uses);
        functions->entries[i].value = gpuc_relay_rewrite(p->ctx, functions->entries[i].value, fold, &f);
    }
}
