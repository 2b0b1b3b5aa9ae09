/* SPDX-License-Identifier: Apache-2.0 */
#include "evaluate.h"

#include "lower/lower.h"
#include "relay_pass/passes.h"
#include "op/op.h"

enum { MAX_SYMBOLS = 32, MAX_BUFFERS = 96 };

typedef struct evaluation {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    gpuc_map values; /* expr -> constant, or TUPLE of them */
    int num_symbols;
    gpuc_expr symbols[MAX_SYMBOLS], sizes[MAX_SYMBOLS];
} evaluation;

static gpuc_rexpr *value_of(evaluation *v, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_CONSTANT) return e;
    gpuc_rexpr *out = gpuc_map_get(&v->values, e);
    if (!out) gpuc_raise(v->ctx, GPUC_INTERNAL, "an expression of kind %d has no value", (int)e->kind);
    return out;
}

static int64_t number(const evaluation *v, gpuc_expr e)
{
    int64_t n;
    if (gpuc_expr_is_int(gpuc_tir_substitute(v->ctx, e, v->num_symbols, v->symbols, v->sizes), &n)) return n;
    gpuc_raise(v->ctx, GPUC_UNSUPPORTED, "the size %s is computed by the run", gpuc_expr_text(v->ctx, e));
}

/* The extents of an argument are what the symbols of its parameter stand for. */
static void bind(evaluation *v, const gpuc_rtype *parameter, const gpuc_rtype *argument)
{
    const gpuc_tensor_type *t = &parameter->tensor;
    for (int d = 0; d < t->ndim; d++) {
        bool known = t->dims[d]->kind != GPUC_EXPR_VAR;
        for (int i = 0; i < v->num_symbols; i++) known |= v->symbols[i] == t->dims[d];
        if (known) continue;
        GPUC_CHECK(v->num_symbols < MAX_SYMBOLS);
        v->symbols[v->num_symbols] = t->dims[d];
        v->sizes[v->num_symbols++] = argument->tensor.dims[d];
    }
}

/* ---- One function ---- */

static gpuc_op_schedule_fn schedule_of(const gpuc_rfunction *f)
{
    const gpuc_op *op = gpuc_relay_call_op(f->body);
    const gpuc_rcall *c = op ? gpuc_as_rcall(f->body) : NULL;
    for (int i = 0; op && i < c->n; i++)
        if (c->args[i]->kind == GPUC_REXPR_CALL) op = NULL;
    return op && op->schedule ? op->schedule : gpuc_topi_schedule;
}

/* The evaluator's accesses may be as wide as a vector. */
static gpuc_tir_arg buffer(evaluation *v, size_t bytes)
{
    size_t size = (bytes + 15) / 16 * 16;
    return (gpuc_tir_arg){gpuc_ctx_alloc(v->ctx, size + 1), size};
}

static void run_kernels(evaluation *v, const gpuc_tir_func *f, const gpuc_tir_program *p, gpuc_tir_arg *all)
{
    for (int i = 0; i < p->num_workspaces; i++) {
        int64_t n = number(v, p->workspaces[i]->shape[0]);
        all[f->num_buffers + i] =
            buffer(v, (size_t)(n > 0 ? n : 0) * gpuc_dtype_bytes(p->workspaces[i]->dtype));
    }
    for (int i = 0; i < p->num_kernels; i++) {
        const gpuc_tir_func *k = p->kernels[i];
        gpuc_tir_arg own[MAX_BUFFERS];
        int64_t scalars[MAX_SYMBOLS];
        gpuc_tir_validate(v->ctx, k, "lower");
        for (int b = 0; b < k->num_buffers; b++) own[b] = all[p->args[i].buffers[b]];
        for (int s = 0; s < k->num_scalars; s++) scalars[s] = number(v, f->scalars[p->args[i].scalars[s]]);
        gpuc_status status = gpuc_ev_run(v->ctx, k, own, scalars, true);
        if (status)
            gpuc_raise(v->ctx, GPUC_INTERNAL, "%s\n%s", gpuc_status_message(status),
                       gpuc_tir_text(v->ctx, k));
    }
}

static gpuc_rexpr *constant_of(evaluation *v, const gpuc_tensor_type *t, const gpuc_tir_arg *from)
{
    gpuc_expr dims[64];
    for (int d = 0; d < t->ndim; d++) dims[d] = gpuc_int(v->ctx, number(v, t->dims[d]));
    gpuc_tensor_type type = *t;
    type.dims = dims;
    const gpuc_rtype *known = gpuc_relay_rtype_tensor(v->ctx, t->dtype, t->ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(v->ctx, (size_t)gpuc_relay_tensor_type_bytes(v->ctx, &type));
    memcpy(data->bytes, from->data, data->size);
    return gpuc_relay_constant(v->ctx, known, data);
}

/* Leaves out the arguments of which no more than the shape is used; how many are left. */
static int drop_unread(gpuc_ctx *ctx, int n, int num_outputs, gpuc_tensor **tensors, gpuc_rexpr **args)
{
    gpuc_ptrs ops = {0};
    int kept = 0;
    gpuc_te_post_order(ctx, num_outputs, tensors + n, &ops);
    for (int i = 0; i < n; i++) {
        bool read = false;
        for (size_t k = 0; k < ops.count; k++) read |= ops.at[k] == tensors[i]->op;
        if (!read) continue;
        args[kept] = args[i];
        tensors[kept++] = tensors[i];
    }
    memmove(tensors + kept, tensors + n, sizeof *tensors * (size_t)num_outputs);
    return kept;
}

static gpuc_rexpr *run_function(evaluation *v, const gpuc_rexpr *fn, int n, gpuc_rexpr **args)
{
    gpuc_ctx *ctx = v->ctx;
    const gpuc_rfunction *f = gpuc_as_rfunction(fn);
    int num_outputs;
    gpuc_tensor **tensors = gpuc_relay_tensors(ctx, f, NULL, &num_outputs);
    n = drop_unread(ctx, n, num_outputs, tensors, args);
    gpuc_schedule *s = schedule_of(f)(ctx, v->target, NULL, num_outputs, tensors + n);
    const gpuc_tir_func *func = gpuc_schedule_lower(s, "f", n + num_outputs, tensors);
    const gpuc_tir_program *p = gpuc_lower(ctx, func, v->target);
    const gpuc_rtype *type = f->body->type;
    bool tuple = type->kind == GPUC_RTYPE_TUPLE;
    gpuc_tir_arg all[MAX_BUFFERS];
    GPUC_CHECK(n + num_outputs + p->num_workspaces <= MAX_BUFFERS);
    for (int i = 0; i < n; i++) {
        const gpuc_const_data *data = gpuc_as_rconstant(args[i])->data;
        all[i] = buffer(v, data->size);
        memcpy(all[i].data, data->bytes, data->size);
    }
    gpuc_rexpr **out = gpuc_new_array(ctx, gpuc_rexpr *, num_outputs);
    for (int i = 0; i < num_outputs; i++) {
        const gpuc_tensor_type *t = tuple ? &type->at[i]->tensor : &type->tensor;
        int64_t elements = 1;
        for (int d = 0; d < t->ndim; d++) elements *= number(v, t->dims[d]);
        all[n + i] = buffer(v, (size_t)elements * gpuc_dtype_bytes(t->dtype));
    }
    run_kernels(v, func, p, all);
    for (int i = 0; i < num_outputs; i++)
        out[i] = constant_of(v, tuple ? &type->at[i]->tensor : &type->tensor, &all[n + i]);
    return tuple ? gpuc_relay_tuple(ctx, num_outputs, out) : out[0];
}

/* ---- The module ---- */

static gpuc_rexpr *run_call(evaluation *v, const gpuc_rcall *c)
{
    gpuc_rexpr **args = gpuc_new_array(v->ctx, gpuc_rexpr *, c->n);
    for (int i = 0; i < c->n; i++) args[i] = value_of(v, c->args[i]);
    if (c->callee->kind != GPUC_REXPR_FUNCTION) gpuc_raise(v->ctx, GPUC_INTERNAL, "main calls no function");
    return run_function(v, c->callee, c->n, args);
}

static void run_main(evaluation *v, gpuc_rexpr *body)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(v->ctx, body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i], *value = NULL;
        if (e->kind == GPUC_REXPR_CALL) value = run_call(v, gpuc_as_rcall(e));
        if (e->kind == GPUC_REXPR_GET)
            value = gpuc_relay_get(v->ctx, value_of(v, gpuc_as_rget(e)->tuple), gpuc_as_rget(e)->index);
        if (e->kind == GPUC_REXPR_TUPLE) {
            const gpuc_rtuple *t = gpuc_as_rtuple(e);
            gpuc_rexpr **fields = gpuc_new_array(v->ctx, gpuc_rexpr *, t->n);
            for (int k = 0; k < t->n; k++) fields[k] = value_of(v, t->fields[k]);
            value = gpuc_relay_tuple(v->ctx, t->n, fields);
        }
        if (value) gpuc_map_set(&v->values, e, value);
    }
}

void evaluate_module(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target, gpuc_rexpr *const *args,
                     gpuc_ptrs *outs)
{
    /* these two put tensors into others, which is the business of memory plans */
    static const char *const disabled[] = {"concat_in_place", "share_bindings"};
    gpuc_relay_pass_ctx passes = {.ctx = ctx,
                                  .module = m,
                                  .opt_level = 3,
                                  .disabled = disabled,
                                  .num_disabled = 2,
                                  .fold_limit = 1 << 24};
    gpuc_relay_pass_optimize(&passes);
    passes.target = target;
    gpuc_relay_pass_optimize_for_target(&passes);
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    evaluation v = {.ctx = ctx, .target = target};
    gpuc_map_init(&v.values, ctx);
    for (int i = 0; i < f->n; i++) {
        bind(&v, f->params[i]->type, args[i]->type);
        gpuc_map_set(&v.values, f->params[i], args[i]);
    }
    run_main(&v, f->body);
    gpuc_rexpr *result = value_of(&v, f->body);
    if (result->kind != GPUC_REXPR_TUPLE)
        gpuc_ptrs_push(ctx, outs, result);
    else
        for (int i = 0; i < gpuc_as_rtuple(result)->n; i++)
            gpuc_ptrs_push(ctx, outs, gpuc_as_rtuple(result)->fields[i]);
}
