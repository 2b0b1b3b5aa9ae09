/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on constants, through the host evaluator: the same definitions that kernels come from. The
 * definition is built in a context of its own, which takes the IR with it. */
#include "relay/evaluate.h"

#include <string.h>

enum { MAX_DIMS = 64 };

typedef struct evaluation {
    const gpuc_rcall *call;
    gpuc_op_call op_call;
    gpuc_const_data **outs;
    int64_t *work; /* element operations that are left */
    bool too_long;
} evaluation;

/* The number of stores that the body of an extern operation runs; a loop of unknown extent counts as one
 * iteration. */
static int64_t stores_of(gpuc_stmt s)
{
    int64_t n = 0, extent = 1;
    if (!s) return 0;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        n = stores_of(gpuc_as_for(s)->body);
        gpuc_expr_is_int(gpuc_as_for(s)->extent, &extent);
        return __builtin_mul_overflow(n, extent, &n) ? INT64_MAX / 4 : n;
    case GPUC_STMT_IF: return stores_of(gpuc_as_if(s)->then_body) + stores_of(gpuc_as_if(s)->else_body);
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++)
            if (__builtin_add_overflow(n, stores_of(gpuc_as_seq(s)->at[i]), &n)) return INT64_MAX / 4;
        return n;
    case GPUC_STMT_ALLOC: return stores_of(gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: return stores_of(gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return stores_of(gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return 1;
}

/* The number of evaluations of an element that computing these tensors takes. */
static int64_t work_of(gpuc_ctx *ctx, int n, gpuc_tensor *const *outs)
{
    gpuc_ptrs ops = {0};
    int64_t total = 0;
    gpuc_te_post_order(ctx, n, outs, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        int64_t count = 1, d;
        for (int k = 0; k < op->num_axes + op->num_reduce; k++) {
            const gpuc_iter *axis = k < op->num_axes ? op->axes[k] : op->reduce[k - op->num_axes];
            if (gpuc_expr_is_int(gpuc_iter_extent(axis), &d) && __builtin_mul_overflow(count, d, &count))
                return INT64_MAX;
        }
        if (op->kind == GPUC_TE_PLACEHOLDER) continue;
        if (op->kind == GPUC_TE_EXTERN) count = stores_of(op->extern_body);
        if (__builtin_add_overflow(total, count, &total)) return INT64_MAX;
    }
    return total;
}

static void run(gpuc_ctx *ctx, evaluation *e)
{
    const gpuc_rcall *call = e->call;
    int num_out = e->op_call.num_out, n = 0;
    gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, call->n);
    gpuc_tensor **outs = gpuc_new_array(ctx, gpuc_tensor *, num_out);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, call->n + num_out);
    gpuc_tir_arg *buffers = gpuc_new_array(ctx, gpuc_tir_arg, call->n + num_out);
    for (int i = 0; i < call->n; i++) {
        const gpuc_tensor_type *t = &e->op_call.in[i];
        ins[i] = gpuc_te_placeholder(ctx, gpuc_ctx_printf(ctx, "in%d", i), t->ndim, t->dims, t->dtype);
        const gpuc_const_data *data = gpuc_as_rconstant(call->args[i])->data;
        buffers[n] = (gpuc_tir_arg){.data = data->bytes, .size = data->size};
        args[n++] = ins[i];
    }
    e->op_call.op->compute(&e->op_call, ins, outs);
    int64_t work = work_of(ctx, num_out, outs);
    if (work > *e->work) {
        e->too_long = true;
        return;
    }
    *e->work -= work;
    for (int i = 0; i < num_out; i++) {
        buffers[n] = (gpuc_tir_arg){.data = e->outs[i]->bytes, .size = e->outs[i]->size};
        args[n++] = outs[i];
    }
    const gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "fold", n, args);
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, buffers, NULL, false));
}

static gpuc_tensor_type move_type(gpuc_ctx *child, const gpuc_tensor_type *from)
{
    gpuc_expr *dims = gpuc_new_array(child, gpuc_expr, from->ndim);
    for (int k = 0; k < from->ndim; k++) {
        int64_t d = 0;
        gpuc_expr_is_int(from->dims[k], &d);
        dims[k] = gpuc_int(child, d);
    }
    return (gpuc_tensor_type){.dtype = from->dtype, .ndim = from->ndim, .dims = dims};
}

static const gpuc_expr *move_values(gpuc_ctx *child, const gpuc_rexpr *constant)
{
    if (!constant->values) return NULL;
    size_t item = gpuc_dtype_bytes(constant->type->tensor.dtype);
    size_t count = gpuc_as_rconstant(constant)->data->size / item;
    gpuc_expr *copy = gpuc_new_array(child, gpuc_expr, count + 1);
    for (size_t k = 0; k < count; k++) {
        int64_t v = 0;
        gpuc_expr_is_int(constant->values[k], &v);
        copy[k] = gpuc_int(child, v);
    }
    return copy;
}

static const gpuc_rtype *output_type(const gpuc_rtype *t, int i)
{
    return t->kind == GPUC_RTYPE_TUPLE ? t->at[i] : t;
}

/* Types and values are copied over: expressions belong to one context. */
static void prepare_and_run(gpuc_ctx *child, void *arg)
{
    evaluation *e = arg;
    gpuc_op_call *c = &e->op_call;
    const gpuc_rcall *call = e->call;
    c->ctx = child;
    c->op = gpuc_as_rop(call->callee)->op;
    c->attrs = call->attrs;
    c->num_in = call->n;
    gpuc_tensor_type *in = gpuc_new_array(child, gpuc_tensor_type, call->n);
    const gpuc_expr **values = gpuc_new_array(child, const gpuc_expr *, call->n);
    for (int i = 0; i < call->n; i++) {
        in[i] = move_type(child, &call->args[i]->type->tensor);
        values[i] = move_values(child, call->args[i]);
    }
    c->in = in;
    c->in_values = values;
    c->out = gpuc_new_array(child, gpuc_tensor_type, c->num_out);
    c->out_values = gpuc_new_array(child, const gpuc_expr *, c->num_out);
    for (int i = 0; i < c->num_out; i++)
        c->out[i] = move_type(child, &output_type(call->base.type, i)->tensor);
    run(child, e);
}

static void destroy_ctx(void *ctx)
{
    gpuc_ctx_destroy(ctx);
}

/* The constant of values that inference knows, such as shapes: these need no evaluation. */
static gpuc_rexpr *from_values(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    const gpuc_tensor_type *t = &e->type->tensor;
    int64_t dims[MAX_DIMS], count = 1, v;
    if (t->ndim > MAX_DIMS || !gpuc_relay_tensor_type_static(t, dims)) return NULL;
    for (int i = 0; i < t->ndim; i++) count *= dims[i];
    for (int64_t i = 0; i < count; i++)
        if (!gpuc_expr_is_int(e->values[i], &v)) return NULL;
    size_t item = gpuc_dtype_bytes(t->dtype);
    gpuc_const_data *data = gpuc_relay_const_data_create(ctx, (size_t)count * item);
    for (int64_t i = 0; i < count; i++) {
        gpuc_expr_is_int(e->values[i], &v);
        memcpy((char *)data->bytes + (size_t)i * item, &v, item); /* little-endian: the low bytes */
    }
    return gpuc_relay_constant(ctx, e->type, data);
}

static bool constant_args(const gpuc_rcall *call)
{
    for (int i = 0; i < call->n; i++)
        if (call->args[i]->kind != GPUC_REXPR_CONSTANT) return false;
    return true;
}

/* Bytes of all results; -1: not known, or beyond 63 bits. */
static int64_t result_bytes(const gpuc_rtype *t, int num_out)
{
    int64_t total = 0;
    for (int i = 0; i < num_out; i++) {
        const gpuc_tensor_type *out = &output_type(t, i)->tensor;
        int64_t bytes = (int64_t)gpuc_dtype_bytes(out->dtype), dims[MAX_DIMS];
        if (out->ndim > MAX_DIMS || !gpuc_relay_tensor_type_static(out, dims)) return -1;
        for (int k = 0; k < out->ndim; k++)
            if (__builtin_mul_overflow(bytes, dims[k], &bytes)) return -1;
        if (__builtin_add_overflow(total, bytes, &total)) return -1;
    }
    return total;
}

gpuc_rexpr *gpuc_relay_evaluate_call(gpuc_ctx *ctx, gpuc_rexpr *e, gpuc_relay_budget *budget)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    if (!op) return NULL;
    const gpuc_rcall *call = gpuc_as_rcall(e);
    if (e->values) {
        gpuc_rexpr *known = from_values(ctx, e);
        if (known) return known;
    }
    int64_t dims[MAX_DIMS];
    bool tensor = e->type->kind == GPUC_RTYPE_TENSOR;
    if (!constant_args(call) || gpuc_attrs_symbolic(call->attrs)) return NULL;
    if (tensor && !gpuc_relay_tensor_type_static(&e->type->tensor, dims)) return NULL;
    if (op->alias) {
        gpuc_const_data *data = gpuc_as_rconstant(call->args[0])->data;
        return gpuc_relay_constant(ctx, e->type, gpuc_relay_const_data_retain(data));
    }
    if (!op->compute) return NULL;
    const gpuc_rtype *t = e->type;
    int num_out = t->kind == GPUC_RTYPE_TUPLE ? t->n : 1;
    int64_t bytes = result_bytes(t, num_out);
    if (bytes < 0) return NULL;
    if (bytes > budget->bytes) {
        budget->exceeded = bytes;
        return NULL;
    }
    evaluation ev = {
        .call = call, .outs = gpuc_new_array(ctx, gpuc_const_data *, num_out), .work = &budget->work};
    ev.op_call.num_out = num_out;
    for (int i = 0; i < num_out; i++)
        ev.outs[i] = gpuc_relay_const_data_create(
            ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &output_type(t, i)->tensor));
    gpuc_ctx *child;
    GPUC_RAISE_IF(ctx, gpuc_ctx_create_child(ctx, &child));
    gpuc_ctx_push_cleanup(ctx, destroy_ctx, child);
    gpuc_status status = gpuc_ctx_protect(child, prepare_and_run, &ev);
    gpuc_ctx_pop_cleanup(ctx, true);
    if (status)
        gpuc_ctx_raise_status(
            ctx, gpuc_error_prefix(status, "folding %s%s%s", op->name, *e->source ? " of " : "", e->source));
    if (ev.too_long) {
        for (int i = 0; i < num_out; i++) gpuc_relay_const_data_release(ev.outs[i]);
        return NULL;
    }
    budget->bytes -= bytes;
    if (t->kind != GPUC_RTYPE_TUPLE) return gpuc_relay_constant(ctx, t, ev.outs[0]);
    gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, num_out);
    for (int i = 0; i < num_out; i++) fields[i] = gpuc_relay_constant(ctx, t->at[i], ev.outs[i]);
    return gpuc_relay_tuple(ctx, num_out, fields);
}
